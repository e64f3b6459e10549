"""`dstcc` beside its rivals, cell by cell.

    python -m experiments.rivals -o VALUES.jsonl [--seeds 10] [--first 701] [--only TEXT].. [--print]
        [--short] [--under TRANSPORT]..
    python -m experiments.rivals -o RULES.jsonl --tune

Cells are the missions, the demo at four playout delays and three uplinks, table 1 at three delays, what else a link
can do to a sender, and the sealed scenarios. Each is run without its own algorithms, settings and restarts, under
`dstcc`: told nothing, told the rates, and with uplinks of 2, 8 and 256 kbit/s on each link; and under rivals: coded
open-loop and `ltp`, told the rates (and `ltp` the contacts), `gru-mpc`, which plans the repair of coded open-loop,
CUBIC and `dstcc-lanes` on 16 lanes a link. The tuned rule steers coded open-loop, too: of constant shares of repair,
margins over the measured loss, the rules of `dstcc/coded/rules.json` and the engine's, the one that plays most over all
cells with seed 901, which `--tune` runs and prints. CUBIC has the scale and the initial window that `dstcc
tune` found for the demo.
Values go to VALUES.jsonl, a line a trial, seed by seed; what is there is not run again, so that the command goes on
where it was stopped. `--print` runs nothing, `--short` prints the cells that fail.

A row has the interquartile mean of `weighted_layers` of each with its 95 % bootstrap interval, and bytes sent over the
source's. A cell fails where a rival is more than 0.01 above `dstcc` that knows as much, by the mean of paired
differences (those that are told the rates are above both, `dstcc` untold and told); where `dstcc` plays less than 0.97
of what it plays when told; and where an uplink of 2 kbit/s costs it more than 0.01 of what it plays with 256.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from dstcc.coded.fleet import Fleet
from dstcc.coded.rules import CHOICES, Automatic, Constant, Margin
from dstcc.coded.seen import Sender
from dstcc.coded.stored import SHIPPED, load_rules
from dstcc.errors import DstccError
from dstcc.report.printed import heading, interval, line
from dstcc.run.trials import run_trials
from dstcc.scenario import Scenario

from .held_out import shallow
from .played import alone, mission

EXAMPLES = Path(__file__).parent.parent / "examples"
DEMO, TABLE_1 = EXAMPLES / "demo/mars-two-links.toml", EXAMPLES / "iodst/table-1.toml"
FURTHER_ON = EXAMPLES / "relays/further-on.toml"
SEALED = Path(__file__).parent / "sealed"
"""Written without knowledge of any transport; their hash was published before they were run
(docs/policies/dstcc.md)."""
MARGIN, TOLD_SHARE = 0.01, 0.97
UPLINKS = (2, 8, 256)
"""kbit/s."""
LANES = 'mode = "lanes", lanes_per_link = 16'
TUNED_ON = (901,)
TUNED = f'congestion = "cubic", {LANES}, initial_cwnd = 2500'
OURS = 'controller = "dstcc"'
RULE = "tuned rule, told"
BEST = "threshold, shipped"
"""Of :func:`rules`, by `--tune`."""
TOLD = ("dstcc, told", "coded, told", "gru-mpc, told", RULE, "ltp, told")
CODED = 'congestion = "open-loop", mode = "coded", handshake = false'
TRANSPORTS = {
    "dstcc": OURS,
    "dstcc, told": f"{OURS}, told_rates = true",
    **{f"dstcc, up {kbps}": OURS for kbps in UPLINKS},
    "coded, told": CODED,
    "gru-mpc, told": f'{CODED}, controller = "gru-mpc"',
    RULE: CODED,
    "ltp, told": f'congestion = "ltp", {LANES}',
    "cubic": TUNED,
    "dstcc-lanes": f'controller = "dstcc-lanes", controller_lanes = 16, {LANES}',
}
"""Each the whole `[transport]` but for the size of a packet."""


@dataclass(frozen=True)
class Cell:
    """A scenario with other settings."""

    name: str
    path: Path | None
    """None: two links with a shallow queue."""
    changed: tuple[str, ...] = ()
    queue_bytes: int = 0

    @property
    def transports(self) -> list[str]:
        """Those that it is run under: a cell with uplinks of its own needs no others."""
        return [name for name in TRANSPORTS if ", up " not in name or ", up " not in self.name]

    def plain(self) -> Scenario:
        """Without algorithms of its own."""
        if self.path is None:
            return shallow(240, self.queue_bytes, 1e-2)
        return mission(self.path, "variant=[]", "expect={}", *self.changed)

    def under(self, transport: str, seed: int) -> Scenario:
        """Under one of :data:`TRANSPORTS`."""
        plain, more = self.plain(), {}
        run = {"seed": seed, "seeds": 1} | ({"scale": 1} if transport == "cubic" else {})
        if ", up " in transport:
            up = {"up_rate_bps": 1000 * int(transport.rpartition(" ")[2])}
            more["link"] = [one | up for one in plain.model_dump(exclude_unset=True)["link"]]
        return alone(plain, TRANSPORTS[transport], run, **more)


def cells() -> Iterator[Cell]:
    """Of the table, in its order."""
    for path in sorted((EXAMPLES / "missions").glob("*.toml")):
        if path.stem != "new-horizons-dss43":
            yield Cell(path.stem, path)
    yield Cell("further-on", FURTHER_ON)
    for path in sorted(SEALED.glob("*.toml")):
        yield Cell(f"sealed {path.stem}", path)
    for rtts in (2.5, 1.5, 1.0, 0.75):
        for kbps in (2, 8, 256):
            up = tuple(f"link.{i}.up_rate_bps={kbps * 1000}" for i in (0, 1))
            yield Cell(f"demo {rtts:g} RTT, up {kbps} kbit/s", DEMO, (f"playout.delay_rtts={rtts}", *up))
    for rtts in (1.5, 1.0, 0.6):
        yield Cell(f"table 1, {rtts:g} RTT", TABLE_1, (f"playout.delay_rtts={rtts}",))
    for loss in ("3e-2", "1e-1"):
        both = tuple(f"link.{i}.loss={{packet = {loss}}}" for i in (0, 1))
        yield Cell(f"loss {loss}", TABLE_1, ("playout.delay_rtts=1.5", *both))
    yield Cell("bursts of 50", EXAMPLES / "iodst/held-out/bursts-50.toml")
    for name in ("tide", "sinking", "relief", "flares"):
        yield Cell(name, EXAMPLES / f"learning/held-out/{name}.toml")
    yield Cell(
        "overload", TABLE_1, ("playout.delay_rtts=1.5", "link.0.rate_bps=69120", "link.1.rate_bps=144000")
    )
    for queue in (3_000, 15_000):
        yield Cell(f"queues of {queue // 1000} kB", None, queue_bytes=queue)
    yield Cell("unequal links", DEMO, ("link.0.rate_bps=35500", "link.1.rate_bps=319700"))
    yield Cell("rate step", DEMO, ("link.1.rate_bps=[[0, 240000], [14400, 120000], [28800, 240000]]",))
    yield Cell("dark, unannounced", DEMO, ("link.1.unannounced_outages=[[9000, 10800], [20000, 23600]]",))
    pareto = '{rate_bps = 120000, on_s = 600, off_s = 1800, periods = "pareto"}'
    yield Cell("Pareto cross traffic", DEMO, (f"link.1.cross_traffic=[{pareto}]",))


def constant(layers: int, share: float) -> Sender:
    """The same share of repair for each layer."""
    return Constant((share,) * layers)


def margin(_layers: int, memory_rtts: float, kappa: float) -> Sender:
    """So many deviations over the measured loss."""
    return Margin({"memory_rtts": memory_rtts, "kappa": kappa, "decay": 1.0}, "margin")


def shipped(_layers: int, number: int) -> Sender:
    """One of the rules that the package has."""
    return load_rules(SHIPPED)[number]


def rules() -> dict[str, Callable[[int], Sender]]:
    """Of repair: those that are tried, made for a number of layers."""
    found: dict[str, Callable[[int], Sender]] = {"the engine's": lambda _layers: Automatic()}
    for i, rule in enumerate(load_rules(SHIPPED)):
        found[f"{rule.name}, shipped"] = partial(shipped, number=i)
    for share in CHOICES[::2]:
        found[f"constant {share:g}"] = partial(constant, share=share)
    for memory_rtts, kappa in product((0.5, 2.0), (1.0, 3.0)):
        name = f"margin {kappa:g} over {memory_rtts:g} RTT"
        found[name] = partial(margin, memory_rtts=memory_rtts, kappa=kappa)
    return found


def by_rule(cell: Cell, name: str, seed: int) -> dict[str, Any]:
    """What one of :func:`rules` plays of a cell."""
    fleet = Fleet(cell.under(RULE, seed), [seed], threads=1)
    (config,), (result,) = fleet.configs, fleet.results(rules()[name](fleet.layers))
    sent = result.totals.sent_payload_bytes / int(config.objects.payload_bytes.sum())
    return {"weight": fleet.value(config, result), "sent": sent}


def trial(cell: Cell, transport: str, seed: int) -> dict[str, Any]:
    """A line of the file."""
    about = {"cell": cell.name, "transport": transport, "seed": seed}
    try:
        if transport == RULE or transport in rules():
            return about | by_rule(cell, BEST if transport == RULE else transport, seed)
        # A policy's trial comes behind that of its congestion control alone.
        *_, done = run_trials(cell.under(transport, seed), quality=False, jobs=1)
    except DstccError as error:
        return about | {"error": str(error)}
    if done.metrics is None or done.outcome is None:
        return about | {"error": done.error}
    flat = done.metrics.flat()
    source = int(done.outcome.setup.objects.payload_bytes.sum())
    return about | {"weight": flat["weighted_layers"] or 0.0, "sent": (flat["sent_bytes"] or 0.0) / source}


def known(path: Path) -> list[dict[str, Any]]:
    """The lines that are there; half a line at the end, of a run that was killed, is none."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(one) for one in text.split("\n")[:-1]]


def carry_out(path: Path, wanted: list[Cell], seeds: Iterable[int], names: Iterable[str] = ()) -> None:
    """Run what is missing, seed by seed, under those named, or else under each of the cell's transports."""
    rows = known(path)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    there = {(row["cell"], row["transport"], row["seed"]) for row in rows}
    with path.open("a") as file:
        for seed in seeds:
            for cell in wanted:
                for transport in names or cell.transports:
                    if (cell.name, transport, seed) not in there:
                        file.write(json.dumps(trial(cell, transport, seed)) + "\n")
                        file.flush()


def by_seed(rows: list[dict[str, Any]], cell: Cell, transport: str) -> dict[int, dict[str, Any]]:
    """The trials of a cell that have a weight."""
    mine = (row for row in rows if (row["cell"], row["transport"]) == (cell.name, transport))
    return {row["seed"]: row for row in mine if "weight" in row}


def apart(one: dict[int, dict[str, Any]], other: dict[int, dict[str, Any]]) -> float | None:
    """The mean of paired differences of weight, one less the other; None without a pair."""
    pairs = [one[seed]["weight"] - other[seed]["weight"] for seed in one.keys() & other.keys()]
    return fmean(pairs) if pairs else None


def failures(rows: list[dict[str, Any]], cell: Cell) -> list[str]:
    """What fails in a cell, in words."""
    played = {name: by_seed(rows, cell, name) for name in TRANSPORTS}
    ours, told, found = played["dstcc"], played["dstcc, told"], []
    for name, of in played.items():
        if name.startswith("dstcc") and name != "dstcc-lanes":
            continue
        against = [apart(of, mine) for mine in ((ours, told) if name in TOLD else (ours,))]
        above = min((one for one in against if one is not None), default=0.0)
        if above > MARGIN:
            found.append(f"{above:.3f} below {name}")
    pairs = ours.keys() & told.keys()
    if pairs and fmean(ours[s]["weight"] for s in pairs) < TOLD_SHARE * fmean(
        told[s]["weight"] for s in pairs
    ):
        found.append(f"less than {TOLD_SHARE} of itself told")
    narrow, wide = (played[f"dstcc, up {kbps}"] for kbps in (UPLINKS[0], UPLINKS[-1]))
    lost = apart(wide, narrow)
    if lost is not None and lost > MARGIN:
        found.append(f"{lost:.3f} less with an uplink of {UPLINKS[0]} kbit/s than of {UPLINKS[-1]}")
    return found


def texts_of(rows: list[dict[str, Any]], cell: Cell, names: Iterable[str] = TRANSPORTS) -> list[str]:
    """Seeds, and what each plays and sends."""
    texts = [str(len(by_seed(rows, cell, "dstcc")))]
    for name in names:
        of = by_seed(rows, cell, name)
        there = any((row["cell"], row["transport"]) == (cell.name, name) for row in rows)
        if not of:
            texts.append("refused" if there else "not run")
            continue
        weight = interval([row["weight"] for row in of.values()])
        texts.append(f"{weight}, {fmean(row['sent'] for row in of.values()):.2f}")
    return texts


def print_table(
    rows: list[dict[str, Any]], wanted: list[Cell], *, short: bool = False, names: Iterable[str] = TRANSPORTS
) -> list[str]:
    """Print it, cells that fail alone if it is to be short; the names of cells that fail."""
    if short:
        heading("Cells that fail", ("cell", "dstcc", "fails by"))
    else:
        heading("Rivals", ("cell", "seeds", *(f"{name}: weight, bytes" for name in names), "fails by"))
    failing = []
    for cell in wanted:
        if not by_seed(rows, cell, "dstcc"):
            continue
        texts, found = texts_of(rows, cell, names), "; ".join(failures(rows, cell))
        failing += [cell.name] if found else []
        if not short:
            line(cell.name, *texts, found)
        elif found:
            line(cell.name, texts[1], found)
    return failing


def print_rules(rows: list[dict[str, Any]]) -> None:
    """What each rule plays, over all cells, the best first."""
    heading("Rules", ("rule", "trials", "mean weight"))
    means = {
        name: [row["weight"] for row in rows if row["transport"] == name and "weight" in row]
        for name in rules()
    }
    for name, weights in sorted(means.items(), key=lambda one: -fmean(one[1] or [0])):
        line(name, str(len(weights)), f"{fmean(weights or [0]):.4f}")


@click.command(help=__doc__)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Values, a line a trial."
)
@click.option("--seeds", default=10, show_default=True)
@click.option("--first", default=701, show_default=True, help="The first seed.")
@click.option("--only", default=("",), multiple=True, help="Cells whose name has this text.")
@click.option("--print", "printing", is_flag=True, help="Run nothing, print what is there.")
@click.option(
    "--under", multiple=True, type=click.Choice(list(TRANSPORTS)), help="These alone.  [default: all]"
)
@click.option("--tune", "tuning", is_flag=True, help="Run the rules of repair instead, and print them.")
@click.option("--short", is_flag=True, help="Print the cells that fail alone.")
def main(
    output: Path,
    seeds: int,
    first: int,
    only: tuple[str, ...],
    *,
    printing: bool,
    tuning: bool,
    under: tuple[str, ...],
    short: bool,
) -> None:
    """Run what is missing, and print the table."""
    wanted = [cell for cell in cells() if any(text in cell.name for text in only)]
    if tuning:
        carry_out(output, wanted, () if printing else TUNED_ON, rules())
        print_rules(known(output))
        return
    span = range(first, first + seeds)
    names = [name for name in TRANSPORTS if not under or name in under]
    if not printing:
        carry_out(output, wanted, span, under)
    rows = [row for row in known(output) if row["seed"] in span and row["transport"] in names]
    failing = print_table(rows, wanted, short=short, names=names)
    print(f"\n{len(failing)} of {len(wanted)} cells fail: {', '.join(failing) or 'none'}.")


if __name__ == "__main__":
    main()
