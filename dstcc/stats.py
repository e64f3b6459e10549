"""Estimates over seeds: interquartile means with bootstrap intervals.

The interquartile mean (IQM) drops the lowest and the highest quarter of the values (rounded down to whole
values) and averages the rest, so one lucky seed moves it little; below four values it is the plain mean. The
interval is the 95 % percentile bootstrap of the same statistic. Source: R. Agarwal et al., "Deep
Reinforcement Learning at the Edge of the Statistical Precipice", NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 4999
"""Enough for the second digit of a 95 % bound; odd, so that (n + 1)·0.025 is whole."""
BOOTSTRAP_SEED = 20231121
"""Fixed: the same values give the same interval on every machine."""
FEW_SEEDS = 5
"""Below this a percentile bootstrap covers clearly less than it says; texts warn about it."""


@dataclass(frozen=True)
class Estimate:
    """A value and, from two samples on, its 95 % interval, all in the unit of the samples."""

    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def has_interval(self) -> bool:
        """Whether there were samples enough to say how sure the value is."""
        return self.low is not None

    def overlaps(self, other: Estimate) -> bool:
        """Whether the two intervals share a point; an estimate without one counts as its value alone."""
        low, high = self.bounds()
        other_low, other_high = other.bounds()
        return low <= other_high and other_low <= high

    def bounds(self) -> tuple[float, float]:
        """The interval, or the value twice where there is none."""
        if self.low is None or self.high is None:
            return self.value, self.value
        return self.low, self.high


def interquartile_mean(values: NDArray[np.float64] | Sequence[float], axis: int = -1) -> Any:
    """Mean of the middle half along ``axis``; ``floor(n / 4)`` values are dropped at either end."""
    from scipy import stats

    return stats.trim_mean(values, 0.25, axis=axis)


def estimate(values: Sequence[float]) -> Estimate:
    """IQM and bootstrap interval of ``values``; ValueError when none or not all are finite."""
    import numpy as np
    from scipy import stats

    samples = np.asarray(values, dtype=np.float64)
    if samples.size == 0 or not np.isfinite(samples).all():
        raise ValueError(f"an estimate needs finite values, got {list(values)!r}")
    value = float(interquartile_mean(samples))
    if samples.size == 1:
        return Estimate(value, None, None, 1)
    if np.ptp(samples) == 0.0:
        return Estimate(value, value, value, int(samples.size))
    result = stats.bootstrap(
        (samples,),
        interquartile_mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(BOOTSTRAP_SEED),
    )
    interval = result.confidence_interval
    return Estimate(value, float(interval.low), float(interval.high), int(samples.size))


def paired_difference(a: Mapping[int, float], b: Mapping[int, float]) -> Estimate | None:
    """Estimate of ``a − b`` over the seeds both have; None with fewer than two of them.

    Both sides met the same channel draws at the same seed: the difference is free of what these do to both.
    """
    common = sorted(a.keys() & b.keys())
    if len(common) < 2:
        return None
    return estimate([a[seed] - b[seed] for seed in common])
