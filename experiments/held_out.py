"""What a controller plays on missions it never saw, beside the project's algorithms: the tables of its model card.

    python -m experiments.held_out [--controller dstcc-lanes] [--seeds 10] [--first 301] [--only TEXT] [--tables TEXT]
        [--json FILE [--force]] [--again FILE] [FOLDER]

Held out: for every scenario of FOLDER (examples/iodst/held-out), and at four playout delays for table-1.toml, the
controller; its default action at every decision; the best algorithm without the rates; open-loop, which is given
them, with 16 lanes a link and with 1,024; ltp, which knows rates and passes; and the clairvoyant bound. Who the best
are is found on table-1.toml at a delay of 1.5, seeds 101 and up: every congestion control with minrtt in every mode,
then the best three controls with every scheduler in every mode; the best five of all run on each scenario's seeds, and
the one that plays most there counts. Equal lanes: the controller, open-loop and tp-planet on as many lanes a link, all
under one window a link. Passes: the controller beside ltp. Shallow queues: two links of table 1's rates with queues of
two packets and ten, and the bytes that were sent.

Values are interquartile means of `weighted_layers` with 95 % bootstrap intervals over the seeds. --again takes all but
the controller from an earlier --json.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from dstcc import algorithms
from dstcc.atomic import atomic_write
from dstcc.engine import AGENT, EngineConfig, clairvoyant_weight, simulate
from dstcc.errors import InputError
from dstcc.layers import layer_weights
from dstcc.learn.policies.drive import drive
from dstcc.learn.policies.policy import Policy, load_policy
from dstcc.learn.spaces.branched import branched
from dstcc.metrics import play_by_deadline
from dstcc.outputs import Kind, check_output
from dstcc.report.printed import heading, interval, line
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source
from dstcc.scenario.load import parse_override, parse_scenario
from dstcc.scenario.model import Scenario
from dstcc.scenario.variant import Variant, as_variant
from dstcc.stats import estimate

DELAYS = (1.0, 1.25, 1.5, 2.0)
KNOWS_RATES = ("fixed", "open-loop")
"""Controls that know the links' rates or bandwidth-delay products; ltp knows them too, but is no congestion control."""
TransportKeys = dict[str, Any]
"""Keys of ``[transport]``."""
Combination = tuple[str, str, TransportKeys]
"""Congestion control, scheduler, and settings of the transport."""
STREAM: TransportKeys = {"mode": "stream"}
SHARED: dict[int, TransportKeys] = {
    lanes: {"mode": "lanes", "lanes_per_link": lanes, "window": "link"} for lanes in (1, 16, 1024, 4096)
}
WINDOW_PER_LANE: TransportKeys = {"mode": "lanes", "lanes_per_link": 16, "window": "lane"}
"""As MPTCP connections side by side."""
MODES = (WINDOW_PER_LANE, SHARED[16], SHARED[1024], STREAM)
SCREENED = 101
"""The first seed of the search for the best."""
EQUAL = (("table-1", 1.0), ("table-1", 1.5), ("loss-3e-2", None), ("cross-traffic", None))
PASSES = (Path("examples/physics/mro-x-pass.toml"), Path("examples/iodst/held-out/rtt-80-min.toml"))
RTTS_S, QUEUES, LOSSES = (20, 200, 240, 1020), (3_000, 15_000), (0.0, 1e-2)


ROW = {"scenario", "delay_rtts", "controller", "best_name", "bound"}
"""Keys of a row of --json, by which such a file is known again."""


def _no_values(path: Path) -> str | None:
    try:
        rows = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        rows = None
    ours = isinstance(rows, list) and all(isinstance(row, dict) and row.keys() >= ROW for row in rows)
    return None if ours else "has no rows of held_out.py"


VALUES = Kind("a file of held-out values", _no_values)


def shared(lanes: int, control: str) -> Combination:
    """With minrtt, on lanes that share their link's window."""
    return control, "minrtt", SHARED[lanes]


def weight(config: EngineConfig, levels: NDArray[np.int64]) -> float:
    """``weighted_layers``."""
    layers = config.objects.layers
    weights = layer_weights(np.arange(layers), layers)
    return float((weights * (levels[:, None] >= np.arange(layers))).sum() / (weights.sum() * len(levels)))


def played(config: EngineConfig, policy: Policy | None = None) -> tuple[float, float, float]:
    """``weighted_layers``; the share of chunks not played at all of those after the longest link's first RTT; bytes."""
    result = simulate(config) if policy is None else drive(policy, config)
    levels = play_by_deadline(config.objects, result).levels
    round_trip_ns = 2 * max(max(link.delay_ns) for link in config.links)
    later = config.objects.release_ns[config.objects.layer == 0] > round_trip_ns
    return weight(config, levels), float((levels[later] < 0).mean()), result.totals.sent_wire_bytes


class Mission:
    """A scenario's trials: all algorithms have the same draws."""

    def __init__(self, scenario: Scenario, seeds: Iterable[int], pool: ThreadPoolExecutor) -> None:
        self.scenario, self.pool = scenario, pool
        self.name = scenario.scenario.name.removeprefix("held-out ")
        self.delay = scenario.playout.delay_rtts
        source = load_source(scenario)
        self.layers, self.paths = source.layers, len(scenario.link)
        self.setups = [draw_trial(scenario, source, seed) for seed in seeds]

    @classmethod
    def of(cls, path: Path, delay: float | None, seeds: Iterable[int], pool: ThreadPoolExecutor) -> Mission:
        """The mission of a file, at a playout delay in round trips if one is given."""
        overrides = [] if delay is None else [parse_override(f"playout.delay_rtts={delay}")]
        return cls(load_scenario(path, overrides), seeds, pool)

    def configs(self, combination: Combination) -> list[EngineConfig]:
        """The trials of a combination; raises the errors of the scenario's model for an impossible one."""
        control, scheduler, where = combination
        scheduler = algorithms.schedulers_of(control, (scheduler,))[0]
        variant = as_variant(self.scenario, Variant(label="own", congestion=control, set=where))
        return [engine_config(variant, setup, control, scheduler) for setup in self.setups]

    def trials(self, combination: Combination) -> NDArray[np.float64]:
        """The results of :func:`played` for each seed, (seeds, 3)."""
        return np.array(list(self.pool.map(played, self.configs(combination))))

    def driven(self, policy: Policy) -> NDArray[np.float64]:
        """The same under a policy."""
        configs = [engine_config(self.scenario, setup, AGENT, AGENT) for setup in self.setups]
        return np.array(list(self.pool.map(lambda config: played(config, policy), configs)))

    def plays(self, combination: Combination) -> list[float]:
        """``weighted_layers`` seed by seed."""
        weights: list[float] = self.trials(combination)[:, 0].tolist()
        return weights

    def bound(self) -> list[float]:
        """``weighted_layers`` of a clairvoyant sender, seed by seed."""

        def one(config: EngineConfig) -> float:
            weights = layer_weights(config.objects.layer, self.layers)
            return float(clairvoyant_weight(config, weights) / weights.sum())

        return list(self.pool.map(one, self.configs(shared(16, "open-loop"))))

    def makes_sense(self, combination: Combination) -> bool:
        """Whether the algorithms of a combination work in this mission."""
        kinds = ((combination[0], "congestion"), (combination[1], "scheduler"))
        mode = str(combination[2]["mode"])
        if any(algorithms.unmet(n, k, paths=self.paths, mode=mode, layers=self.layers) for n, k in kinds):
            return False
        alone = combination[2].get("window") == "lane" and (
            combination[0] in algorithms.COUPLED or combination[1] == algorithms.REDUNDANT
        )
        return not alone

    def screen(self) -> list[Combination]:
        """The best five algorithms without the rates."""
        ranked: list[tuple[float, Combination]] = []

        def run(controls: Iterable[str], schedulers: Sequence[str]) -> None:
            tried = [combination for _, combination in ranked]
            every = [(c, s, where) for c in controls for s in schedulers for where in MODES]
            for combination in filter(self.makes_sense, every):
                if combination not in tried:
                    ranked.append((float(np.mean(self.plays(combination))), combination))
            ranked.sort(key=lambda one: -one[0])

        run([c for c in algorithms.CONGESTION if c not in (*KNOWS_RATES, *algorithms.TRANSFERS)], ["minrtt"])
        run(list(dict.fromkeys(combination[0] for _, combination in ranked))[:3], list(algorithms.SCHEDULERS))
        return [combination for _, combination in ranked[:5]]


def rivals(mission: Mission, finalists: list[Combination]) -> dict[str, Any]:
    """All but the controller."""
    tried = [(mission.plays(combination), combination) for combination in finalists]
    best, winner = max(tried, key=lambda one: estimate(one[0]).value)
    where = winner[2]
    lanes = (
        f"{where['lanes_per_link']} lanes, a window a {where['window']}" if where != STREAM else "a stream"
    )
    row: dict[str, Any] = {"scenario": mission.name, "delay_rtts": mission.delay}
    row |= {"best_name": f"{winner[0]}+{winner[1]}, {lanes}", "best": best}
    row |= {f"told_{lanes}": mission.plays(shared(lanes, "open-loop")) for lanes in (16, 1024)}
    shares = any(link.flows or link.mix for link in mission.scenario.link)  # ltp cannot, with others' TCP
    ltp = None if shares else mission.plays(("ltp", "none", SHARED[16]))
    return row | {"ltp": ltp, "bound": mission.bound()}


def shown(values: Any) -> str:
    """Interquartile mean and interval; a dash for what could not be run."""
    if values is None:
        return "–"
    return interval(list(values))


TITLES = (
    *("scenario", "delay", "controller", "default action", "best without the rates", "which: controller"),
    *("open-loop, 16 lanes", "open-loop, 1,024 lanes", "ltp", "oracle ratio", "not played after 1 RTT"),
)


def cells(row: dict[str, Any]) -> list[str]:
    """A line of the first table."""
    ours, best = np.array(row["controller"]), np.array(row["best"])
    low, high = (estimate(values.tolist()).bounds() for values in (ours, best))
    verdict = "wins" if low[0] > high[1] else "loses" if low[1] < high[0] else "ties"
    worst = float((ours / np.maximum(best, 1e-9)).min())
    parts = (row["told_16"], row["told_1024"], row["ltp"], ours / np.array(row["bound"]), row["silent"])
    return [
        *(row["scenario"], f"{row['delay_rtts']:g}", *map(shown, (ours, row["usual"], best))),
        f"{row['best_name']}: {verdict}, worst {worst:.2f}×",
        *map(shown, parts),
    ]


def always(policy: Policy, choice: Sequence[int]) -> Policy:
    """A policy with the same action at every decision: of every subflow, then of each other branch."""
    first, *rest = choice
    action = branched(policy.action)
    outputs = [np.eye(len(action.windows))[first]]
    outputs += [
        np.eye(count)[chosen] for count, chosen in zip(action.branches[-len(rest) :], rest, strict=True)
    ]
    tensors = {name: np.zeros_like(tensor) for name, tensor in policy.tensors.items()}
    tensors["window.out.bias"] = outputs[0].astype(np.float32)
    tensors["rest.out.bias"] = np.concatenate(outputs[1:]).astype(np.float32)
    return replace(policy, tensors=tensors)


class Card:
    """The tables of one controller."""

    def __init__(self, policy: Policy, usual: Policy, seeds: range, pool: ThreadPoolExecutor) -> None:
        self.policy, self.usual, self.seeds, self.pool = policy, usual, seeds, pool

    def held_out(self, folder: Path, only: str, before: dict[Any, Any], out: Path | None) -> None:
        """The first table; seed by seed values go to ``out``."""
        heading("Held out", TITLES)
        finalists: list[Combination] = []
        rows = []
        for path in sorted(folder.glob("*.toml"), key=lambda p: (p.stem != "table-1", p.stem)):
            for delay in DELAYS if path.stem == "table-1" else (None,):
                mission = Mission.of(path, delay, self.seeds, self.pool)
                if only not in f"{mission.name} {mission.delay:g}":
                    continue
                row = before.get((mission.name, mission.delay))
                if row is None:
                    screened = range(SCREENED, SCREENED + 2)
                    finalists = (
                        finalists or Mission.of(folder / "table-1.toml", 1.5, screened, self.pool).screen()
                    )
                    row = rivals(mission, finalists)
                ours = mission.driven(self.policy)
                row |= {"controller": ours[:, 0].tolist(), "silent": ours[:, 1].tolist()}
                row |= {"usual": mission.driven(self.usual)[:, 0].tolist()}
                rows.append(row)
                line(*cells(row))
                if out is not None:
                    atomic_write(out, json.dumps(rows, indent=1) + "\n", replaces=VALUES)

    def equal_lanes(self, folder: Path, only: str) -> None:
        """The controller beside others on as many lanes."""
        rivals = ("open-loop", "tp-planet")
        heading("Equal lanes", ("scenario", "delay", "lanes a link", self.policy.name, *rivals))
        for name, delay in EQUAL:
            mission = Mission.of(folder / f"{name}.toml", delay, self.seeds, self.pool)
            for lanes in (4096, 16, 1):
                if only not in f"{mission.name} {mission.delay:g} {lanes:,}":
                    continue
                ours = mission.driven(self.policy.on_lanes(lanes))[:, 0]
                others = (mission.plays(shared(lanes, control)) for control in rivals)
                line(mission.name, f"{mission.delay:g}", f"{lanes:,}", shown(ours), *map(shown, others))

    def passes(self, only: str) -> None:
        """Beside the practice of scheduled passes."""
        heading("Passes", ("scenario", self.policy.name, "ltp", "open-loop, 16 lanes"))
        for path in PASSES:
            mission = Mission.of(path, None, self.seeds, self.pool)
            if only not in mission.name:
                continue
            others = (mission.plays(one) for one in (("ltp", "none", SHARED[16]), shared(16, "open-loop")))
            line(mission.name, shown(mission.driven(self.policy)[:, 0]), *map(shown, others))

    def shallow(self, only: str) -> None:
        """Scenarios in which the sender's queue reveals nothing."""
        titles = ("RTT s", "queue bytes", "loss", self.policy.name, "tp-planet, 1,024 lanes")
        heading("Shallow queues", (*titles, "open-loop, 1,024 lanes", "bytes sent, of open-loop's"))
        for rtt_s in RTTS_S:
            for queue in QUEUES:
                for loss in LOSSES:
                    if only not in f"{rtt_s:,} {queue:,} {loss:g}":
                        continue
                    mission = Mission(shallow(rtt_s, queue, loss), self.seeds, self.pool)
                    ours, open_loop = mission.driven(self.policy), mission.trials(shared(1024, "open-loop"))
                    planet = mission.plays(shared(1024, "tp-planet"))
                    cost = shown(ours[:, 2] / open_loop[:, 2])
                    line(
                        *(f"{rtt_s:,}", f"{queue:,}", f"{loss:g}"),
                        *(shown(ours[:, 0]), shown(planet), shown(open_loop[:, 0]), cost),
                    )


def shallow(rtt_s: float, queue_bytes: int, loss: float) -> Scenario:
    """Ten round trips, at least half an hour, over two links of table 1's rates; the second takes a fifth longer."""
    link = {"queue_bytes": queue_bytes, "loss": {"packet": loss}}
    document = {
        "scenario": {"name": "shallow"},
        "video": {
            "synthetic": {"chunk_s": 1.0, "layer_bps": [124_000, 109_000, 78_000]},
            "loop_to_s": max(1800, 10 * rtt_s),
        },
        "link": [
            {"name": "link 1", "rate_bps": 115_200, "delay_s": rtt_s / 2, **link},
            {"name": "link 2", "rate_bps": 240_000, "delay_s": 0.6 * rtt_s, **link},
        ],
        "transport": {"mode": "lanes", "lanes_per_link": 16},
        "playout": {"delay_rtts": 1.5},
    }
    return parse_scenario(document, source="shallow")


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path), default=Path("examples/iodst/held-out"))
@click.option(
    "--controller", default="dstcc-lanes", show_default=True, help="A shipped policy's name or a file."
)
@click.option(
    "--usual", default="1,2,0,1", show_default=True, help="The default action, used at every decision."
)
@click.option("--seeds", default=10, show_default=True)
@click.option("--first", default=301, show_default=True, help="The first seed.")
@click.option("--only", default="", help="Rows whose first cells contain this: `table-1 1.5`, `20 3,000 0`.")
@click.option(
    "--tables", default="held-out,equal,passes,shallow", show_default=True, help="Which, separated by commas."
)
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write the first table's values there.")
@click.option("--force", is_flag=True, help="Write them in the place of an earlier --json.")
@click.option("--again", type=click.Path(path_type=Path), help="An earlier --json.")
def main(
    folder: Path,
    *,
    controller: str,
    usual: str,
    seeds: int,
    first: int,
    only: str,
    tables: str,
    out: Path | None,
    force: bool,
    again: Path | None,
) -> None:
    """Print the tables."""
    if out is not None:
        read = [folder, Path(controller), *([again] if again else [])]
        try:
            check_output(out, VALUES, force=force, inputs=read)
        except InputError as error:
            raise click.UsageError(str(error)) from None
    began = time.monotonic()
    policy = load_policy(controller)
    before = {(r["scenario"], r["delay_rtts"]): r for r in json.loads(again.read_text())} if again else {}
    with ThreadPoolExecutor(2) as pool:
        card = Card(
            policy, always(policy, [int(n) for n in usual.split(",")]), range(first, first + seeds), pool
        )
        if "held-out" in tables:
            card.held_out(folder, only, before, out)
        if "equal" in tables:
            card.equal_lanes(folder, only)
        if "passes" in tables:
            card.passes(only)
        if "shallow" in tables:
            card.shallow(only)
    click.echo(f"took {time.monotonic() - began:,.0f} s", err=True)


if __name__ == "__main__":
    main()
