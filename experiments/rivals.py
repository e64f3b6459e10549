"""`dstcc` beside its rivals, cell by cell.

    python -m experiments.rivals -o VALUES.jsonl [--seeds 10] [--first 701] [--only TEXT].. [--print]

Cells are the missions, the demo at four playout delays and three uplinks, table 1 at three delays, and what else a link
can do to a sender. Each is run without its own algorithms, settings and restarts, under `dstcc`, which is told nothing,
and under rivals: coded open-loop and `ltp`, told the rates (and `ltp` the contacts), CUBIC and `dstcc-lanes` on 16
lanes a link. CUBIC has the scale and the initial window that `dstcc tune` found for the demo; no cell is tuned by
itself. The best tuned rule of repair is not among them. Values go to VALUES.jsonl, a line a trial, seed by seed; what
is there is not run again, so that the command goes on where it was stopped. `--print` runs nothing.

A row has the interquartile mean of `weighted_layers` of each with its 95 % bootstrap interval, and bytes sent over the
source's. `below` is the largest mean of paired differences by which a rival is above `dstcc`, and which; more than 0.01
is a cell that fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from dstcc.errors import DstccError
from dstcc.report.printed import heading, interval, line
from dstcc.run.trials import run_trials
from dstcc.scenario import Scenario, load_scenario, parse_override
from dstcc.scenario.model import Scenario as Model

from .held_out import shallow

EXAMPLES = Path(__file__).parent.parent / "examples"
DEMO, TABLE_1 = EXAMPLES / "demo/mars-two-links.toml", EXAMPLES / "iodst/table-1.toml"
FURTHER_ON = EXAMPLES / "relays/further-on.toml"
MARGIN = 0.01
LANES = 'mode = "lanes", lanes_per_link = 16'
TUNED = f'congestion = "cubic", {LANES}, initial_cwnd = 2500'
TRANSPORTS = {
    "dstcc": 'controller = "dstcc"',
    "dstcc, told": 'controller = "dstcc", told_rates = true',
    "coded, told": 'congestion = "open-loop", mode = "coded", handshake = false',
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

    def plain(self) -> Scenario:
        """Without algorithms of its own."""
        if self.path is None:
            return shallow(240, self.queue_bytes, 1e-2)
        keys = ["variant=[]", "expect={}", *self.changed]
        return load_scenario(self.path, [parse_override(one) for one in keys])

    def under(self, transport: str, seed: int) -> Scenario:
        """Under one of :data:`TRANSPORTS`."""
        scenario = self.plain()
        text = f"transport={{{TRANSPORTS[transport]}, mss_bytes = {scenario.transport.mss_bytes}}}"
        keys = parse_override(text).value
        changed = scenario.model_dump(exclude_unset=True, exclude={"transport", "coding"}) | {
            "transport": keys
        }
        changed["run"] = changed.get("run", {}) | {"seed": seed, "seeds": 1}
        if transport == "cubic":
            changed["run"]["scale"] = 1
        return Model.model_validate(changed)


def cells() -> Iterator[Cell]:
    """Of the table, in its order."""
    for path in sorted((EXAMPLES / "missions").glob("*.toml")):
        if path.stem != "new-horizons-dss43":
            yield Cell(path.stem, path)
    yield Cell("further-on", FURTHER_ON)
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


def trial(cell: Cell, transport: str, seed: int) -> dict[str, Any]:
    """A line of the file."""
    about = {"cell": cell.name, "transport": transport, "seed": seed}
    try:
        (done,) = run_trials(cell.under(transport, seed), quality=False, jobs=1)
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


def carry_out(path: Path, wanted: list[Cell], seeds: range) -> None:
    """Run what is missing, seed by seed."""
    rows = known(path)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    there = {(row["cell"], row["transport"], row["seed"]) for row in rows}
    with path.open("a") as file:
        for seed in seeds:
            for cell in wanted:
                for transport in TRANSPORTS:
                    if (cell.name, transport, seed) not in there:
                        file.write(json.dumps(trial(cell, transport, seed)) + "\n")
                        file.flush()


def print_table(rows: list[dict[str, Any]], wanted: list[Cell]) -> list[str]:
    """Print it; the names of cells that fail."""
    heading("Rivals", ("cell", "seeds", *(f"{name}: weight, bytes" for name in TRANSPORTS), "below"))
    failing = []
    for cell in wanted:
        mine = [row for row in rows if row["cell"] == cell.name]
        played = {
            name: {row["seed"]: row for row in mine if row["transport"] == name and "weight" in row}
            for name in TRANSPORTS
        }
        ours = played["dstcc"]
        if not ours:
            continue
        texts, above = [], {}
        for name, of in played.items():
            if not of:
                texts.append("refused" if any(row["transport"] == name for row in mine) else "not run")
                continue
            sent = fmean(row["sent"] for row in of.values())
            weights = [row["weight"] for row in of.values()]
            texts.append(f"{interval(weights) if len(weights) > 1 else f'{weights[0]:.3f}'}, {sent:.2f}")
            pairs = [of[seed]["weight"] - ours[seed]["weight"] for seed in of.keys() & ours.keys()]
            if name != "dstcc" and pairs:
                above[name] = fmean(pairs)
        worst = max(above, key=lambda name: above[name], default="")
        fails = bool(worst) and above[worst] > MARGIN
        failing += [cell.name] if fails else []
        below = f"**{above[worst]:.3f}, {worst}**" if fails else f"{max(above.values(), default=0.0):.3f}"
        line(cell.name, str(len(ours)), *texts, below)
    return failing


@click.command(help=__doc__)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Values, a line a trial."
)
@click.option("--seeds", default=10, show_default=True)
@click.option("--first", default=701, show_default=True, help="The first seed.")
@click.option("--only", default=("",), multiple=True, help="Cells whose name has this text.")
@click.option("--print", "printing", is_flag=True, help="Run nothing, print what is there.")
def main(output: Path, seeds: int, first: int, only: tuple[str, ...], *, printing: bool) -> None:
    """Run what is missing, and print the table."""
    wanted = [cell for cell in cells() if any(text in cell.name for text in only)]
    span = range(first, first + seeds)
    if not printing:
        carry_out(output, wanted, span)
    failing = print_table([row for row in known(output) if row["seed"] in span], wanted)
    print(f"\nMore than {MARGIN:g} below a rival in {len(failing)}: {', '.join(failing) or 'none'}.")


if __name__ == "__main__":
    main()
