"""The rows in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from statistics import median

from dstcc.outputs import Kind, beginning

from .cells import Cell
from .compare import CellRow, Pair, differs

HEADINGS = (
    *("control", "RTT s", "loss", "links", "BDP", "RTTs", "mode", "window", "Linux", "runs"),
    *("simulator", "kernel", "ratio", "95 %", "z"),
)
RETRANSMITTED = ("retransmitted simulated", "kernel", "ratio", "z")
PLAYED = ("throughput simulated", "kernel", "ratio", "z", *RETRANSMITTED)


BESIDE = ("RTT simulated", "kernel", *RETRANSMITTED)
OF_THE_RUNS = ", mean ± standard deviation of the runs"


def _no_page(path: Path) -> str | None:
    first = beginning(path).split("\n")[0]
    ours = first.startswith("**") and first.endswith(OF_THE_RUNS)
    return None if ours else "has no mark of a table of fidelity"


PAGE = Kind("a table of fidelity", _no_page)
"""``fidelity.md``."""


def tables(rows: Sequence[CellRow]) -> Iterator[str]:
    """All grids, each with its heading; two asterisks at ratios beyond their goal, one where a mission that keeps it
    differs by more than chance."""
    for grid in dict.fromkeys(row.cell.grid for row in rows):
        of_grid = [row for row in rows if row.cell.grid == grid]
        of = "`weighted_layers`" if of_grid[0].weighted_layers else "throughput, Mbit/s"
        yield f"**{grid}**: {of}{OF_THE_RUNS}"
        yield ""
        yield from table(of_grid)
        yield ""


def table(rows: Sequence[CellRow]) -> Iterator[str]:
    """A row a cell of one grid."""
    headings = (*HEADINGS, *(PLAYED if rows[0].weighted_layers else BESIDE))
    yield f"| {' | '.join(headings)} |"
    yield "|---" * len(headings) + "|"
    for row in rows:
        cells = [
            *_cell(row.cell),
            *_pair(row),
            *(_played(row) if row.weighted_layers else _comparison_cells(row)),
        ]
        yield f"| {' | '.join(cells)} |"


def summary(rows: Sequence[CellRow]) -> Iterator[str]:
    """A row a control, a column a round trip: median |ratio − 1| of throughput and, in brackets, the largest."""
    transfers = [row for row in rows if row.weighted_layers is None]
    if not transfers:
        return
    rtts = sorted({row.cell.rtt_s for row in transfers})
    yield f"| control | {' | '.join(f'RTT {rtt:g} s' for rtt in rtts)} | all | mean RTTs, all | cells with z beyond 3 |"
    yield "|---" * (len(rtts) + 4) + "|"
    for name in dict.fromkeys(row.cell.congestion for row in transfers):
        of_control = [row for row in transfers if row.cell.congestion == name]
        columns = [_spread([row.throughput for row in of_control if row.cell.rtt_s == rtt]) for rtt in rtts]
        columns += [
            _spread([row.throughput for row in of_control]),
            _spread([row.mean_rtt for row in of_control]),
        ]
        apart = sum(differs(row.throughput) for row in of_control)
        yield f"| {name} | {' | '.join(columns)} | {apart} of {len(of_control)} |"


def _spread(pairs: list[Pair]) -> str:
    off = [abs(pair.ratio - 1) for pair in pairs]
    return f"{median(off):.3f} ({max(off):.3f})" if off else ""


def _cell(cell: Cell) -> Iterator[str]:
    outage = f", {cell.outage_rtts} of them dark" if cell.outage_rtts else ""
    yield cell.congestion
    yield f"{cell.rtt_s:g}" + (f" and up to {2 * cell.longer_us:g} µs" if cell.longer_us else "")
    yield f"{cell.loss:g}" + (f", ACKs {cell.up_loss:g}" if cell.up_loss else "")
    yield f"{cell.links}"
    queue = f", queue {cell.queue_share:g}" if cell.queue_share != 1 else ""
    yield f"{cell.bdp_packets}{queue}" + (f" to {cell.queue_to:g}" if cell.queue_to else "")
    yield f"{cell.length_rtts}{outage}"
    yield f"{cell.lanes} lanes" if cell.mode == "lanes" else "stream"
    yield f"{cell.initial_cwnd}"
    yield cell.kernel


def _pair(row: CellRow) -> Iterator[str]:
    pair, unit = row.deciding, 1.0 if row.weighted_layers else 1e-6
    low, high = pair.interval
    yield f"{pair.simulated.n}, {pair.real.n}"
    for side in pair:
        yield f"{side.mean * unit:.4g} ± {side.sd * unit:.2g}"
    yield f"{pair.ratio:.3f}{' **' if row.beyond else ' *' if row.apart else ''}"
    yield f"{low:.3f} to {high:.3f}"
    yield _z(pair)


def _comparison_cells(row: CellRow) -> Iterator[str]:
    yield f"{row.mean_rtt.simulated.mean:.4g}"
    yield f"{row.mean_rtt.real.mean:.4g}"
    yield from _retransmitted(row)


def _retransmitted(row: CellRow) -> Iterator[str]:
    for side in row.retransmitted:
        yield f"{side.mean:.2e}"
    yield f"{row.retransmitted.ratio:.3f}"
    yield _z(row.retransmitted)


def _played(row: CellRow) -> Iterator[str]:
    for side in row.throughput:
        yield f"{side.mean * 1e-6:.4g}"
    yield f"{row.throughput.ratio:.3f}"
    yield _z(row.throughput)
    yield from _retransmitted(row)


def _z(pair: Pair) -> str:
    return "–" if isnan(pair.z) else f"{pair.z:+.1f}"
