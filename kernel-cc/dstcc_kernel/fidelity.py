"""The simulator beside the kernel: the same saturated transfers on both; throughput, RTT, repeats in a table.

    python -m dstcc_kernel.fidelity -o DIR [--congestion NAME].. [--rtt S].. [--loss P].. [--subflows N]..
        [--seeds N] [--longer N]

A cell is a control, a round trip, a loss of packets on the way down and a count of subflows, each on a link of its own,
of 100 full packets' bandwidth-delay product and a queue of one more. The rate follows from the round trip, so that
cells of one row differ by constants of seconds only (RTO_MIN, delayed ACK, HyStart, BBR's windows). Every finished
trial is kept in ``DIR/trials.json``; a run that was stopped goes on (remove the folder when dstcc has changed). The
table is ``DIR/fidelity.md``. Cells and medians beyond the goals are named at the end, and make the exit status 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

from dstcc import engine
from dstcc.atomic import atomic_write
from dstcc.engine import EngineResult
from dstcc.errors import DstccError
from dstcc.scenario import Scenario, engine_config, load_source, settle

from . import backend

CONTROLS = ("cubic", "newreno", "westwood", "vegas", "bbr", "fixed")
RTTS_S = (0.1, 1.0, 10.0)
LOSSES = (0.0, 1e-4, 1e-3, 1e-2)
SUBFLOWS = (1, 2)
BDP_PACKETS, WIRE_BYTES = 100, 1500
LENGTH_RTTS = {0.0: 150, 1e-4: 400, 1e-3: 600, 1e-2: 1500}
"""Longer where losses are many and windows small: a mean wants a hundred losses, the kernel's time goes by packets."""
SIMULATED_SEEDS = 20
"""The simulator is cheap, so that the kernel's noise is the table's."""
ALLOWED = {"bbr": 0.20}
ALLOWED_ELSE = 0.15
ALLOWED_MEDIAN = 0.05
"""Of |ratio − 1| of the throughputs; the first two for every cell, the last for a control's median. BBR's cells have
theirs alone."""
HEADINGS = (
    *("control", "RTT s", "loss", "subflows", "Mbit/s simulated", "kernel", "ratio", "±"),
    *("RTT simulated", "kernel", "repeats simulated", "kernel"),
)
LOOKS_PER_RTT = 20
"""A saturated sender needs only its buffer kept full."""


class Cell(NamedTuple):
    """A row of the table."""

    congestion: str
    rtt_s: float
    loss: float
    subflows: int
    longer: int = 1
    """How many times :data:`LENGTH_RTTS`."""


class Seen(NamedTuple):
    """What a trial came to."""

    throughput_bps: float
    mean_rtt_s: float
    retransmitted: float
    """Share of the payload sent."""


def scenario_of(cell: Cell) -> Scenario:
    """A cell as anybody could write it down; the source is more than its links carry."""
    rate = BDP_PACKETS * WIRE_BYTES * 8 / cell.rtt_s
    length_s = LENGTH_RTTS.get(cell.loss, 400) * cell.longer * cell.rtt_s
    link = {"rate_bps": rate, "delay_s": cell.rtt_s / 2, "queue_bytes": BDP_PACKETS * WIRE_BYTES}
    losses = {"loss": {"packet": cell.loss}, "up_loss": {"packet": 0.0}} if cell.loss else {}
    offered = 1.2 * rate * cell.subflows
    return Scenario.model_validate(
        {
            "scenario": {"name": "fidelity", "duration_s": length_s},
            "video": {
                "synthetic": {"chunk_s": length_s, "layer_bps": [offered]},
                "source": "stored",
                "loop_to_s": length_s,
            },
            "link": [{"name": f"link {i}", **link, **losses} for i in range(cell.subflows)],
            "transport": {"congestion": cell.congestion},
            "playout": {"mode": "stall"},
            "run": {"scale": 1, "slot_s": cell.rtt_s if cell.congestion == "fixed" else length_s / 20},
        }
    )


def simulated(cell: Cell, seed: int) -> Seen:
    """A cell by the engine."""
    scenario = scenario_of(cell)
    setting = settle(scenario, load_source(scenario), seed)
    config = engine_config(scenario, setting, cell.congestion, "minrtt")
    constants = replace(config.transport.constants, jiffy_s=0.01)  # the guest's HZ is 100
    config = replace(config, transport=replace(config.transport, constants=constants))
    return _seen(engine.simulate(config))


def carried(cell: Cell, seed: int) -> Seen:
    """A cell by the kernel."""
    scenario = scenario_of(cell)
    source = load_source(scenario)
    setting = settle(scenario, source, seed)
    tick_ns = round(cell.rtt_s / LOOKS_PER_RTT * 1e9)
    return _seen(backend.run(scenario, source, setting, cell.congestion, "minrtt", tick_ns=tick_ns))


def _seen(result: EngineResult) -> Seen:
    totals = result.totals
    return Seen(
        8 * totals["delivered_payload_bytes"] / (result.end_ns / 1e9),
        totals["rtt_sum_s"] / totals["rtt_samples"],
        totals["retransmitted_payload_bytes"] / totals["sent_payload_bytes"],
    )


class Row(NamedTuple):
    """A cell by both."""

    cell: Cell
    simulated: Seen
    real: Seen
    error: float
    """The kernel's own standard error, relative; not a number from one trial."""

    @property
    def ratio(self) -> float:
        """Of the throughputs, the simulator's to the kernel's."""
        return self.simulated.throughput_bps / self.real.throughput_bps

    @property
    def beyond(self) -> bool:
        """Does it miss the goal of a cell?"""
        return abs(self.ratio - 1) > ALLOWED.get(self.cell.congestion, ALLOWED_ELSE)


def compare(trials: dict[Cell, list[Seen]]) -> list[Row]:
    """Simulate the cells of the kernel's trials; means of both."""
    rows = []
    for cell, kernel in sorted(trials.items(), key=lambda item: _order(item[0])):
        simulator = [simulated(cell, seed) for seed in range(1, SIMULATED_SEEDS + 1)]
        sim, real = (Seen(*map(fmean, zip(*seen, strict=True))) for seen in (simulator, kernel))
        rows.append(Row(cell, sim, real, _error([s.throughput_bps for s in kernel])))
    return rows


def table(rows: list[Row]) -> Iterator[str]:
    """Markdown: a row a cell, two asterisks at ratios beyond the goal."""
    yield f"| {' | '.join(HEADINGS)} |"
    yield "|---" * len(HEADINGS) + "|"
    for row in rows:
        cell, sim, real = row.cell, row.simulated, row.real
        yield (
            f"| {cell.congestion} | {cell.rtt_s:g} | {cell.loss:g} | {cell.subflows} "
            f"| {sim.throughput_bps / 1e6:.4g} | {real.throughput_bps / 1e6:.4g} "
            f"| {row.ratio:.3f}{' **' if row.beyond else ''} | {row.error:.3f} "
            f"| {sim.mean_rtt_s:.4g} | {real.mean_rtt_s:.4g} | {sim.retransmitted:.2e} | {real.retransmitted:.2e} |"
        )


def summary(rows: list[Row]) -> Iterator[str]:
    """Markdown: a row a control, a column a round trip: median |ratio − 1| and, in brackets, the largest."""
    rtts = sorted({row.cell.rtt_s for row in rows})
    yield f"| control | {' | '.join(f'RTT {rtt:g} s' for rtt in rtts)} | all | mean RTTs, all |"
    yield "|---" * (len(rtts) + 3) + "|"
    for name in dict.fromkeys(row.cell.congestion for row in rows):
        own = [row for row in rows if row.cell.congestion == name]
        cells = [_spread([row.ratio for row in own if row.cell.rtt_s == rtt]) for rtt in rtts]
        rtt_ratios = [row.simulated.mean_rtt_s / row.real.mean_rtt_s for row in own]
        yield f"| {name} | {' | '.join(cells)} | {_spread([row.ratio for row in own])} | {_spread(rtt_ratios)} |"


def misses(rows: list[Row]) -> list[str]:
    """Cells and medians beyond their goals, in words."""
    found = [
        f"{_name(row.cell)}: ratio {row.ratio:.3f}, the kernel's standard error {row.error:.3f}"
        for row in rows
        if row.beyond
    ]
    for name in dict.fromkeys(row.cell.congestion for row in rows):
        middle = median(abs(row.ratio - 1) for row in rows if row.cell.congestion == name)
        if name not in ALLOWED and middle > ALLOWED_MEDIAN:
            found.append(f"{name}: median |ratio − 1| {middle:.3f}")
    return found


def _spread(ratios: list[float]) -> str:
    off = [abs(ratio - 1) for ratio in ratios]
    return f"{median(off):.3f} ({max(off):.3f})" if off else ""


def _error(values: list[float]) -> float:
    return stdev(values) / fmean(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")


def _order(cell: Cell) -> tuple[Any, ...]:
    return (CONTROLS.index(cell.congestion), cell.rtt_s, cell.loss, cell.subflows)


def run(cells: Iterable[Cell], seeds: int, folder: Path, jobs: int) -> dict[Cell, list[Seen]]:
    """The kernel's trials that ``folder`` lacks; all of them of these cells."""
    kept = folder / "trials.json"
    folder.mkdir(parents=True, exist_ok=True)
    done: dict[str, list[float]] = json.loads(kept.read_text()) if kept.exists() else {}
    wanted = [(cell, seed) for cell in cells for seed in range(1, seeds + 1)]
    missing = [pair for pair in wanted if _key(*pair) not in done]
    with ThreadPoolExecutor(jobs) as pool:
        for (cell, seed), seen in zip(missing, pool.map(lambda pair: carried(*pair), missing), strict=True):
            done[_key(cell, seed)] = list(seen)
            atomic_write(kept, json.dumps(done, indent=0) + "\n")
            told = f"{_key(cell, seed)}: {seen.throughput_bps:,.0f} bit/s"
            print(f"{told} ({len(done)} trials kept)", file=sys.stderr, flush=True)
    found: dict[Cell, list[Seen]] = {}
    for cell, seed in wanted:
        found.setdefault(cell, []).append(Seen(*done[_key(cell, seed)]))
    return found


def _key(cell: Cell, seed: int) -> str:
    return f"{_name(cell)} seed {seed}"


def _name(cell: Cell) -> str:
    times = f" {cell.longer} times as long" if cell.longer > 1 else ""
    return f"{cell.congestion} rtt {cell.rtt_s:g} loss {cell.loss:g} subflows {cell.subflows}{times}"


def main() -> int:
    """Command line: 0 where all goals are met, 1 where not or where a trial failed."""
    parser = argparse.ArgumentParser(
        prog="python -m dstcc_kernel.fidelity", description=__doc__.split("\n")[0]
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--congestion", action="append", choices=CONTROLS)
    parser.add_argument("--rtt", action="append", type=float)
    parser.add_argument("--loss", action="append", type=float)
    parser.add_argument("--subflows", action="append", type=int)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--longer", type=int, default=1, help="times the trials' usual length")
    parser.add_argument("--jobs", type=int, default=1)
    told = parser.parse_args()
    cells = [
        Cell(*values, told.longer)
        for values in product(
            told.congestion or CONTROLS, told.rtt or RTTS_S, told.loss or LOSSES, told.subflows or SUBFLOWS
        )
    ]
    try:
        rows = compare(run(cells, told.seeds, told.output, told.jobs))
        lines = [*table(rows), "", *summary(rows)]
        atomic_write(told.output / "fidelity.md", "\n".join(lines) + "\n")
    except (DstccError, OSError) as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print("\n".join(lines))
    missed = misses(rows)
    for line in missed:
        print(f"beyond the goal: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
