"""Estimates over seeds: interquartile means, shares of trials and paired differences, each with its interval.

The interquartile mean (IQM) drops the lowest and the highest quarter of the values (rounded down to whole
values) and averages the rest, so one outlier changes it little; below four values it is the plain mean. A
performance profile is the share of trials with a value of τ or more, over τ. Intervals are 95 % expanded percentile
bootstraps; where several scenarios are pooled each is a stratum and is resampled within itself. How often they hold
for few values is measured by ``experiments/interval_coverage.py`` and printed in docs/metrics.md.

Whether two algorithms differ is a paired t test of their differences at the same seeds; of many such tests
:func:`holm` keeps the probability of one false claim or more at 5 %.

Sources: R. Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice", NeurIPS 2021;
T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015), section 3.3
(expanded percentiles); S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6 (1979).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Statistic = Callable[..., Any]

Key = TypeVar("Key", bound=Hashable)

CONFIDENCE = 0.95
SIGNIFICANT = 1 - CONFIDENCE
"""Below this an adjusted p-value is a claim."""
RESAMPLES = 4999
"""Enough for two digits of a 95 % bound."""
BOOTSTRAP_SEED = 20231121
"""Fixed: the same values give the same interval on every machine."""
FEW_SEEDS = 10
"""Below this an interval may hold much less often than in 95 % of cases; reports warn about it."""


def few_seeds(seeds: int) -> str:
    """What few seeds mean for a comparison, as a sentence; empty for enough of them."""
    if seeds >= FEW_SEEDS:
        return ""
    if seeds == 1:
        return "One seed: there are no intervals, and a difference may be random."
    return f"{seeds} seeds: an interval of so few holds less often than 95 % says."


SAME = 1e-9
"""Values this close are equal: neither side is ahead."""


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval, all in the unit of the samples; no interval where a stratum has one sample."""

    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def has_interval(self) -> bool:
        """Whether there were enough samples for an interval."""
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


@dataclass(frozen=True)
class Paired:
    """One algorithm minus another at the same seeds: the mean difference, and how often either was ahead."""

    mean: Estimate
    seeds: tuple[int, ...]
    differences: tuple[float, ...]
    """A value for each of ``seeds``."""

    @property
    def above(self) -> int:
        """Seeds at which the difference is positive."""
        return sum(value > SAME for value in self.differences)

    @property
    def below(self) -> int:
        """Seeds at which the difference is negative."""
        return sum(value < -SAME for value in self.differences)


@dataclass(frozen=True)
class Profile:
    """A performance profile: a step function of τ and its pointwise 95 % band.

    ``share[i]`` holds for ``tau[i - 1] < τ <= tau[i]``; above the last it is 0. Arrays of one length.
    """

    tau: NDArray[np.float64]
    share: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None

    @property
    def median(self) -> float:
        """The value that half of the trials reach."""
        return float(self.tau[self.share >= 0.5][-1])

    def at(self, tau: float) -> float:
        """The share of trials with a value of ``tau`` or more."""
        import numpy as np

        index = int(np.searchsorted(self.tau, tau, side="left"))
        return float(self.share[index]) if index < self.share.size else 0.0


def interquartile_mean(values: NDArray[np.float64] | Sequence[float], axis: int = -1) -> Any:
    """Mean of the middle half along ``axis``; ``floor(n / 4)`` values are dropped at either end."""
    import numpy as np

    last = np.moveaxis(np.asarray(values, dtype=np.float64), axis, -1)
    n = last.shape[-1]
    cut = n // 4
    return np.mean(np.partition(last, (cut, n - cut - 1), axis=-1)[..., cut : n - cut], axis=-1)


def estimate(values: Sequence[float]) -> Estimate:
    """IQM and bootstrap interval of ``values``; ValueError when none or not all are finite."""
    return _bootstrap([values], interquartile_mean)


def stratified_estimate(strata: Sequence[Sequence[float]]) -> Estimate:
    """IQM of all values of the strata together; the bootstrap resamples each stratum within itself.

    There is no interval if a stratum has one value only. ValueError as :func:`estimate`.
    """
    return _bootstrap(strata, interquartile_mean)


def mean_estimate(strata: Sequence[Sequence[float]]) -> Estimate:
    """As :func:`stratified_estimate`, of the plain mean."""
    import numpy as np

    return _bootstrap(strata, np.mean)


def paired_difference(a: Mapping[int, float], b: Mapping[int, float]) -> Paired | None:
    """``a − b`` over the seeds both have; None with fewer than two of them.

    At the same seed both had the same channel draws, so the variance that the draws have in common cancels.
    """
    common = tuple(sorted(a.keys() & b.keys()))
    if len(common) < 2:
        return None
    differences = tuple(a[seed] - b[seed] for seed in common)
    return Paired(mean_estimate([differences]), common, differences)


def paired_p(strata: Sequence[Sequence[float]]) -> float:
    """The p-value of a two-sided t test that the mean of all differences is zero; 1 where a stratum has one value only.

    The variance is that within the strata; with several the degrees of freedom are Welch and Satterthwaite's.
    """
    import numpy as np
    from scipy.special import stdtr

    samples = _samples(strata)
    mean = float(np.mean(np.concatenate(samples)))
    if abs(mean) <= SAME or min(one.size for one in samples) == 1:
        return 1.0
    total = sum(one.size for one in samples)
    parts = [one.size * float(np.var(one, ddof=1)) / total**2 for one in samples]
    variance = sum(parts)
    if variance <= SAME**2:
        return 0.0
    freedom = variance**2 / sum(part**2 / (one.size - 1) for part, one in zip(parts, samples, strict=True))
    return float(2 * stdtr(freedom, -abs(mean) / variance**0.5))


def holm(p_values: Mapping[Key, float], families: int = 1) -> dict[Key, float]:
    """The p-values adjusted for their number: of claims where they are below 5 %, one or more is false in 5 % of cases
    at most. With ``families`` such sets the 5 % are shared out evenly among them."""
    ordered = sorted(p_values, key=lambda key: p_values[key])
    adjusted: dict[Key, float] = {}
    least = 0.0
    for place, key in enumerate(ordered):
        least = max(least, min(1.0, families * (len(ordered) - place) * p_values[key]))
        adjusted[key] = least
    return adjusted


def performance_profile(strata: Sequence[Sequence[float]]) -> Profile:
    """Share of values of τ or more, over τ; every stratum has the same weight.

    The band is pointwise. Where every value or none is beyond τ it has no width, as a resample cannot contain other
    values. ValueError as :func:`estimate`.
    """
    import numpy as np

    samples = [np.sort(values) for values in _samples(strata)]
    tau = np.unique(np.concatenate(samples))
    share = np.zeros(tau.size)
    drawn = np.zeros((RESAMPLES, tau.size))
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    for values in samples:
        n = values.size
        first = np.searchsorted(values, tau)
        share += (n - first) / n
        counts = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
        beyond = np.cumsum(np.append(counts, np.zeros((RESAMPLES, 1), int), axis=1)[:, ::-1], axis=1)[:, ::-1]
        drawn += beyond[:, first] / n
    m = len(samples)
    low = high = None
    if min(values.size for values in samples) > 1:
        tails = (1 - CONFIDENCE) / 2
        low, high = np.quantile(drawn / m, [tails, 1 - tails], axis=0, method="inverted_cdf")
    return Profile(tau, share / m, low, high)


def _bootstrap(strata: Sequence[Sequence[float]], statistic: Statistic) -> Estimate:
    import numpy as np

    samples = _samples(strata)
    pooled = np.concatenate(samples)
    value, n = float(statistic(pooled)), int(pooled.size)
    if min(values.size for values in samples) == 1:
        return Estimate(value, None, None, n)
    if all(np.ptp(values) == 0.0 for values in samples):
        return Estimate(value, value, value, n)
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    drawn = [one[rng.integers(0, one.size, (RESAMPLES, one.size))] for one in samples]
    ordered = np.sort(statistic(np.concatenate(drawn, axis=-1), axis=-1))
    level = 1 - 2 * _tail(n, len(samples))
    low, high = (_quantile(ordered, share) for share in ((1 - level) / 2, 1 - (1 - level) / 2))
    return Estimate(value, low, high, n)


def _quantile(ordered: NDArray[np.float64], share: float) -> float:
    """Hyndman and Fan's seventh: linear between values."""
    place = share * ordered.size + (1 - share)
    below, part = int(place // 1) - 1, place % 1
    return float((1 - part) * ordered[below] + part * ordered[min(below + 1, ordered.size - 1)])


def _tail(n: int, strata: int) -> float:
    """The share of resamples beyond either end of an interval.

    A resample varies less than a sample, by (n − 1) / n, and its percentiles are a normal's and not Student's: so the
    percentiles further out are taken that make up for both.
    """
    from scipy.special import ndtr, stdtrit

    freedom = n - strata
    return float(ndtr(-((n / freedom) ** 0.5) * stdtrit(freedom, (1 + CONFIDENCE) / 2)))


def _samples(strata: Sequence[Sequence[float]]) -> list[NDArray[np.float64]]:
    import numpy as np

    samples = [np.asarray(values, dtype=np.float64) for values in strata]
    if not samples or any(one.size == 0 or not np.isfinite(one).all() for one in samples):
        raise ValueError(f"an estimate needs finite values, got {list(chain(*strata))!r}")
    return samples
