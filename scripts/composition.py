"""Which capability works with which transport: every pair is run in a mission of a minute.

    python -m scripts.composition [--write]      print the tables; --write puts them into docs/composition.md

A pair is a transport's keys, a capability's keys and one seed. It works when its trial ends and a layer is at Earth in
time; on the kernel, when the backend takes it (`tests/kernel/test_composition.py` runs what it takes). What does not
work is refused with the command's own words, which the page lists. `make test` holds the page to it.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dstcc.api import emulate
from dstcc.errors import DstccError
from dstcc.run.asked import ask, read
from dstcc.run.trials import Judge, iter_trials
from dstcc.scenario.write import value_text

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "composition.md"
BEGIN = "<!-- python -m scripts.composition --write -->"

Keys = dict[str, Any]

PLACE = re.compile(r"^(pair\.toml: |pair: |run: trial '[^']*' )")
"""At the beginning of a message: what is the same in all, or differs where the reason does not."""
LATER = "Not built: "
EVERY = "Every transport supports: "
"""How the line begins that has the capabilities without an exception."""
NEVER = "With no capability: "
"""How the line begins of a transport that works with none, for one reason."""
OTHERS = "Every other transport supports: "
"""How the line of capabilities begins below such transports."""
BY_NATURE = ("plans repair by deadlines", "explain shows a controller's decisions")
"""Refusals that no version could lift, by words that they hold."""


def later(refusal: str) -> bool:
    """Whether it could be built."""
    return not any(words in refusal for words in BY_NATURE)


MISSION: Keys = {
    "scenario": {"name": "pair", "duration_s": 180.0},
    "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [20_000, 10_000, 10_000]}, "loop_to_s": 60},
    "link": [
        {"name": "relay", "rate_bps": 200_000, "up_rate_bps": 20_000, "delay_s": 8.0, "queue_bytes": 400_000},
        {
            "name": "direct",
            "rate_bps": 120_000,
            "up_rate_bps": 20_000,
            "delay_s": 10.0,
            "queue_bytes": 300_000,
        },
    ],
    "playout": {"delay_s": 80.0},
    "run": {"slot_s": 4.0},
}

TRANSPORTS: dict[str, Keys] = {
    "stream": {"transport": {"congestion": "cubic", "scheduler": "linux"}},
    "lanes": {"transport": {"congestion": "cubic", "mode": "lanes", "lanes_per_link": 4}},
    "`dstcc`": {"transport": {"congestion": [], "controller": "dstcc"}},
    "`dstcc-lanes`": {"transport": {"congestion": [], "controller": "dstcc-lanes"}},
    "coded, rates configured": {
        "transport": {"congestion": "open-loop", "mode": "coded", "handshake": False},
        "coding": {"repair": [0.2, 0.1], "block_s": 10},
    },
    "coded, rates measured": {
        "transport": {"congestion": "bbr-scaled", "mode": "coded"},
        "coding": {"block_s": 10},
    },
    "`gru-mpc`": {
        "transport": {
            "congestion": "open-loop",
            "mode": "coded",
            "handshake": False,
            "controller": "gru-mpc",
        },
        "coding": {"block_s": 10},
    },
    "`ltp`": {"transport": {"congestion": "ltp"}},
    "`ltp` coded": {
        "transport": {"congestion": "ltp"},
        "coding": {"repair": "delayed-feedback", "block_s": 10},
    },
}

STATES = [{"packet": 1e-3, "dwell_s": 40}, {"packet": 0.05, "dwell_s": 10, "rate": 0.7}]
FRAMES = {"ebn0_db": 0.4, "code": "ccsds-turbo-1/3-1784"}
PLAN = """a contact +0 +70 2 1 25000
a contact +80 +180 2 1 15000
a contact +0 +180 1 2 2500
a range +0 +180 1 2 8
"""
RESTART = {"at_s": [40], "boot_s": 5}


def on_first_link(**keys: Any) -> Keys:
    """The mission's links, the first of which has these keys."""
    first, *others = deepcopy(MISSION["link"])
    return {"link": [{key: value for key, value in (first | keys).items() if value is not None}, *others]}


CAPABILITIES: dict[str, Keys] = {
    "outages": on_first_link(outages=[[20, 35]]),
    "bursts of losses": on_first_link(loss={"gilbert_elliott": {"p": 0.002, "r": 0.1}}),
    "hidden states": on_first_link(loss={"states": STATES}),
    "frames at Eb/N0": on_first_link(loss=FRAMES),
    "a node that stores": {
        "node": [
            {"name": "rover"},
            {"name": "orbiter", "storage_bytes": 1_000_000},
            {"name": "earth"},
        ],
        "link": [
            {
                "name": "uhf",
                "from": "rover",
                "to": "orbiter",
                "rate_bps": 200_000,
                "up_rate_bps": 20_000,
                "delay_s": 0.01,
                "outages": [[20, 35]],
            },
            {
                "name": "relay",
                "from": "orbiter",
                "to": "earth",
                "rate_bps": 200_000,
                "up_rate_bps": 20_000,
                "delay_s": 8.0,
                "outages": [[40, 50]],
            },
            {**MISSION["link"][1], "from": "rover", "to": "earth"},
        ],
        "path": [{"via": ["uhf", "relay"]}, {"via": ["direct"]}],
    },
    "others' datagrams": on_first_link(cross_traffic=[{"rate_bps": 20_000}]),
    "others' TCP flows": on_first_link(flows=[{"congestion": "cubic", "bytes": 100_000}]),
    "restarts with a spool": {"transport": {"restart": RESTART | {"spool": True}}},
    "restarts without a spool": {"transport": {"restart": RESTART | {"spool": False}}},
    "a delay that changes": on_first_link(delay_s=[[0, 8.0], [180, 9.0]]),
    "a contact plan": on_first_link(
        contacts="plan.txt", source=2, destination=1, rate_bps=None, delay_s=None
    ),
    "rates that change": on_first_link(rate_bps=[[0, 200_000], [30, 100_000], [60, 200_000]]),
    "stored video": {"video": {"source": "stored"}},
    "`stall` playout": {"playout": {"mode": "stall", "delay_s": 20.0}},
    "no `slot_s`": {"run": {}},
}
"""Keys beside the transport's."""


def scenario_of(transport: str, keys: Keys) -> Keys:
    """The mission with the transport's keys and these."""
    whole = deepcopy(MISSION)
    for given in (TRANSPORTS[transport], keys):
        for name, value in deepcopy(given).items():
            whole[name] = {**whole.get(name, {}), **value} if isinstance(value, dict) and value else value
    return whole


def as_variant(whole: Keys) -> Keys:
    """The transport as a variant, beside CUBIC in a stream."""
    mine, coding = whole.pop("transport"), whole.pop("coding", None)
    names = {
        key: value for key in ("congestion", "scheduler", "controller") if (value := mine.pop(key, None))
    }
    settings = mine | ({"coding": coding} if coding else {})
    whole["transport"] = {"congestion": "cubic", "scheduler": "linux"}
    whole["variant"] = [{"label": "it", **names, "set": settings}]
    return whole


def text_of(keys: Mapping[str, Any]) -> str:
    """A scenario's file."""
    return "".join(f"{name} = {value_text(value)}\n" for name, value in keys.items())


def check(trials: Iterable[Mapping[str, Any]]) -> None:
    """:class:`DstccError` for a trial that failed, or that brought nothing home in time."""
    for trial in trials:
        if trial["status"] != "ok":
            raise DstccError(f"fails: {trial['error']}")
        if not trial["weighted_layers"] > 0:
            raise DstccError("delivers nothing in time")


def emulated(scenario: Path, out: Path, **options: Any) -> None:
    """Run it into a folder."""
    check(emulate(scenario, out, quality=False, **options).trials.to_pylist())


def carried(scenario: Path) -> None:
    """Run it, and keep nothing."""
    asked = ask(read(scenario, []), "simulator")
    trials = iter_trials(asked.scenario, asked.source, Judge(asked.source, False), policies=asked.policies)
    check(
        [
            {"status": one.status, "error": one.error, **(one.metrics.values if one.metrics else {})}
            for one in trials
        ]
    )


def logged(transport: str, scenario: Path, out: Path) -> None:
    """Run it, and keep every packet."""
    emulated(write(transport, LOGS, scenario.parent), out, logs=("qlog", "pcapng"))
    if not any(out.glob("*.pcapng")):
        raise DstccError("no packet logs")


def explained(transport: str, scenario: Path, out: Path) -> None:
    """Run it, and explain its controller's trial, or its only one."""
    from dstcc.explain.explanation import explain
    from dstcc.run.directory import load_run

    scenario.write_text(text_of(scenario_of(transport, {})))
    emulated(scenario, out)
    run = load_run(out)
    explain(run, max(run.trials, key=lambda trial: trial["controller"] or "")["id"])


def varied(transport: str, scenario: Path, _out: Path) -> None:
    """Run it as a variant."""
    carried(write(transport, VARIANT, scenario.parent))


LOGS, VARIANT = "packet logs", "a variant"
WAYS: dict[str, Callable[[str, Path, Path], None]] = {
    LOGS: logged,
    "`explain`": explained,
    VARIANT: varied,
}
"""Capabilities that are no keys of a scenario, and how each is tried."""


def write(transport: str, capability: str, folder: Path) -> Path:
    """Put a pair's scenario, and the plan that it may name, into a folder."""
    (folder / "plan.txt").write_text(PLAN)
    scenario = folder / "pair.toml"
    keys = scenario_of(transport, CAPABILITIES.get(capability, {}))
    scenario.write_text(text_of(as_variant(keys) if capability == VARIANT else keys))
    return scenario


def run(transport: str, capability: str, folder: Path) -> None:
    """Try a pair in the simulator."""
    scenario, out = folder / "pair.toml", folder / "run"
    if capability in WAYS:
        return WAYS[capability](transport, scenario, out)
    write(transport, capability, folder)
    carried(scenario)


def ask_kernel(transport: str, capability: str, folder: Path) -> None:
    """Ask the kernel's backend whether it would run a pair."""
    ask(
        read(write(transport, capability, folder), []),
        "kernel",
        logs=("pcapng",) if capability == LOGS else (),
    )


@dataclass(frozen=True)
class Pair:
    """What came of one."""

    transport: str
    capability: str
    refusal: str
    """Empty where it works."""


def pair(transport: str, capability: str, way: Callable[[str, str, Path], None] = run) -> Pair:
    """Try one."""
    with tempfile.TemporaryDirectory(prefix="dstcc-pair-") as folder:
        try:
            way(transport, capability, Path(folder))
        except DstccError as error:
            return Pair(transport, capability, PLACE.sub("", str(error).replace(f"{folder}/", "")))
    return Pair(transport, capability, "")


SIMULATOR = (*CAPABILITIES, *WAYS)
ON_KERNEL = (*CAPABILITIES, LOGS, VARIANT)


def pairs_of(capabilities: Iterable[str], way: Callable[[str, str, Path], None] = run) -> list[Pair]:
    """All transports with these capabilities."""
    return [pair(transport, capability, way) for transport in TRANSPORTS for capability in capabilities]


def table(pairs: Sequence[Pair], reasons: list[str], verb: str = "work") -> list[str]:
    """Transports that work with nothing, capabilities that work with all others, and a row for each other one; a number
    stands for one of ``reasons``, which grow by those that are new."""
    for one in pairs:
        if one.refusal and one.refusal not in reasons:
            reasons.append(one.refusal)
    cells = {(one.transport, one.capability): one.refusal for one in pairs}
    capabilities = list(dict.fromkeys(one.capability for one in pairs))
    never = {
        transport: [f"({reasons.index(cells[transport, one]) + 1})" for one in capabilities]
        for transport in TRANSPORTS
        if all(cells[transport, one] for one in capabilities)
    }
    others = [transport for transport in TRANSPORTS if transport not in never]
    lines = [f"| | {' | '.join(others)} |", f"|---|{'---|' * len(others)}"]
    everywhere = []
    for capability in capabilities:
        said = [cells[transport, capability] for transport in others]
        if any(said):
            row = [f"({reasons.index(one) + 1})" if one else "yes" for one in said]
            lines.append(f"| {capability} | {' | '.join(row)} |")
        else:
            everywhere.append(capability)
    works = sum(not one.refusal for one in pairs)
    none = []
    for transport, numbers in never.items():
        most = max(numbers, key=numbers.count)
        but = [f"; {one} {why}" for one, why in zip(capabilities, numbers, strict=True) if why != most]
        none.append(f"{NEVER}{transport} {most}{''.join(but)}")
    every = [f"{EVERY if not never else OTHERS}{'; '.join(everywhere)}"]
    head = [line for one in none + every for line in (f"{one}.", "")]
    return [*head, *lines, "", f"{works} of {len(pairs)} pairs {verb}."]


def page() -> list[str]:
    """Both tables, and below them why what is refused is refused."""
    reasons: list[str] = []
    simulator = table(pairs_of(SIMULATOR), reasons)
    kernel = table(pairs_of(ON_KERNEL, ask_kernel), reasons, "are accepted")
    because = [f"{number}. {LATER if later(text) else ''}`{text}`" for number, text in enumerate(reasons, 1)]
    return [
        "## In the simulator",
        "",
        *simulator,
        "",
        "## On the kernel",
        "",
        *kernel,
        "",
        "## Why not",
        "",
        *because,
    ]


def main(argv: list[str] | None = None) -> int:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(argv)
    lines = page()
    if options.write:
        before, _, _ = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join((f"{before}{BEGIN}", "", *lines, "")))
    else:
        print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
