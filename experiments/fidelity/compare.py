"""Two samples of a cell to ratio, interval and z, and which cells miss their goals.

ratio     mean of the simulator's runs / mean of the kernel's
interval  ratio × exp(± t s),  s² = (sd / mean)² / n of the one + the same of the other, t of Student at 95 % with
          Welch's degrees of freedom (the logarithm of a ratio of means, to first order)
z         (mean of the one − mean of the other) / √(sd² / n + sd² / n)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, isfinite, isnan, nan, sqrt
from statistics import fmean, median, stdev
from typing import NamedTuple

from .cells import Cell
from .measure import Seen

ALLOWED = {"bbr": 0.20}
ALLOWED_ELSE = 0.15
"""Of |ratio − 1| of the throughputs, and of weighted_layers for missions."""
ALLOWED_MEDIAN = 0.05
"""Of |ratio − 1| of a control's cells without video. BBR's cells have their goal alone."""


SURE = 3.0
"""|z| from which two means are said to differ: by chance, one cell in 370."""
CONFIDENCE = 0.975


class Sample(NamedTuple):
    """Runs of one side."""

    mean: float
    sd: float
    """0 of a single run."""
    n: int

    @property
    def error(self) -> float:
        """The mean's standard error."""
        return self.sd / sqrt(self.n)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % by Student's t; the whole line from one run that could have come out otherwise."""
        if self.sd == 0.0:
            return self.mean, self.mean
        half = _student(self.n - 1) * self.error
        return self.mean - half, self.mean + half


def sample(values: Sequence[float]) -> Sample:
    """Mean and standard deviation of runs."""
    return Sample(fmean(values), stdev(values) if len(values) > 1 else 0.0, len(values))


class Pair(NamedTuple):
    """One quantity of a cell by both."""

    simulated: Sample
    real: Sample

    @property
    def ratio(self) -> float:
        """The simulator's mean to the kernel's."""
        if self.real.mean == 0.0:
            return 1.0 if self.simulated.mean == 0.0 else inf
        return self.simulated.mean / self.real.mean

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of the ratio; the ratio twice where neither side scatters."""
        parts = [
            ((side.sd / side.mean) ** 2 / side.n, side.n) for side in self if side.sd > 0 and side.mean > 0
        ]
        if not parts:
            return self.ratio, self.ratio
        variance = sum(part for part, _ in parts)
        freedom = variance**2 / sum(part**2 / (n - 1) for part, n in parts)
        factor = exp(_student(freedom) * sqrt(variance))
        return self.ratio / factor, self.ratio * factor

    @property
    def z(self) -> float:
        """Standard errors between the means; NaN where neither side scatters."""
        error = sqrt(self.simulated.error**2 + self.real.error**2)
        return (self.simulated.mean - self.real.mean) / error if error > 0 else nan

    @property
    def meet(self) -> bool:
        """Do the two means' intervals share a point?"""
        (low, high), (other_low, other_high) = self.simulated.interval, self.real.interval
        return low <= other_high and other_low <= high


class CellRow(NamedTuple):
    """A cell by both."""

    cell: Cell
    throughput: Pair
    mean_rtt: Pair
    retransmitted: Pair
    weighted_layers: Pair | None = None

    @property
    def deciding(self) -> Pair:
        """What the cell's goal is about."""
        return self.throughput if self.weighted_layers is None else self.weighted_layers

    @property
    def beyond(self) -> bool:
        """Does it miss its goal?"""
        return abs(self.deciding.ratio - 1) > ALLOWED.get(self.cell.congestion, ALLOWED_ELSE)

    @property
    def apart(self) -> bool:
        """Is it a mission that keeps its goal, but not by chance alone?"""
        played = self.weighted_layers
        return not self.beyond and played is not None and (differs(played) or not played.meet)


def row_of(cell: Cell, simulator: Sequence[Seen], kernel: Sequence[Seen]) -> CellRow:
    """The runs of one cell beside each other."""
    pairs = [
        Pair(sample(ours), sample(theirs))
        for ours, theirs in zip(zip(*simulator, strict=True), zip(*kernel, strict=True), strict=True)
        if None not in ours
    ]
    return CellRow(cell, *pairs)


def misses(rows: Sequence[CellRow]) -> list[str]:
    """Cells and medians beyond their goals, in words."""
    missed = [_in_words(row) for row in rows if row.beyond]
    for name in dict.fromkeys(row.cell.congestion for row in rows):
        off = [
            abs(row.deciding.ratio - 1) for row in rows if row.cell.congestion == name and not row.cell.judged
        ]
        if name not in ALLOWED and off and median(off) > ALLOWED_MEDIAN:
            missed.append(f"{name}: median |ratio − 1| {median(off):.3f}")
    return missed


def notices(rows: Sequence[CellRow]) -> list[str]:
    """Cells that a reader should look at though they fail nothing, in words."""
    return [f"within the goal, but not by chance alone: {_in_words(row)}" for row in rows if row.apart]


def _in_words(row: CellRow) -> str:
    low, high = row.deciding.interval
    z = "" if isnan(row.deciding.z) else f", z {row.deciding.z:+.1f}"
    return f"{row.cell.name}: ratio {row.deciding.ratio:.3f}, 95 % from {low:.3f} to {high:.3f}{z}"


def differs(pair: Pair) -> bool:
    """Are the two means apart by more than chance?"""
    return isfinite(pair.z) and abs(pair.z) > SURE


def _student(freedom: float) -> float:
    from scipy import stats

    return float(stats.t.ppf(CONFIDENCE, freedom))
