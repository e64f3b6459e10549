"""Means over seeds and how much larger one is than another, with bootstrap intervals of 95 %.

At a seed all algorithms, and all points of a figure, meet the same draws. So a resample takes the same seeds of all of
them, as a paired difference does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.stats import BOOTSTRAP_SEED, CONFIDENCE, RESAMPLES, Estimate

PERCENT = 100.0
ACROSS: dict[str, Callable[[Float64Array], Float64Array]] = {
    "most": lambda values: values.max(axis=-1),
    "mean": lambda values: values.mean(axis=-1),
    "least": lambda values: values.min(axis=-1),
}
"""One value of those of several points, the last axis."""


def gain(ours: Float64Array, others: Float64Array) -> Float64Array:
    """By how many percent ours is above the other's; infinite where the other's is 0, and 0 where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Float64Array = PERCENT * (ours / others - 1)
    return np.where((ours == 0) & (others == 0), 0.0, ratio)


def cut(ours: Float64Array, others: Float64Array) -> Float64Array:
    """By how many percent ours is below the other's."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Float64Array = PERCENT * (1 - ours / others)
    return np.where((ours == 0) & (others == 0), 0.0, ratio)


def growth(last: Float64Array, first: Float64Array) -> Float64Array:
    """How many times as large the last is as the first; infinite after 0, and 1 where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Float64Array = last / first
    return np.where((last == 0) & (first == 0), 1.0, ratio)


def level(ours: Float64Array, _others: Float64Array) -> Float64Array:
    """The value itself."""
    return ours


def lead(ours: Float64Array, others: Float64Array) -> Float64Array:
    """The difference."""
    difference: Float64Array = ours - others
    return difference


KINDS: dict[str, Callable[[Float64Array, Float64Array], Float64Array]] = {
    "level": level,
    "gain": gain,
    "cut": cut,
    "lead": lead,
    "growth": growth,
    "rise": lead,
}


def estimate(kind: str, ours: Float64Array, others: Float64Array, across: str) -> Estimate | None:
    """A comparison of means; both arrays are (points, seeds), and NaN is a seed without a value, which is left out of
    all points. ``None`` where no seed has values."""
    there = ~(np.isnan(ours) | np.isnan(others)).any(axis=0)
    ours, others, n = ours[:, there], others[:, there], int(there.sum())
    if n == 0:
        return None
    compare, pick = KINDS[kind], ACROSS[across]
    value = float(pick(compare(ours.mean(axis=1), others.mean(axis=1))))
    if n == 1:
        return Estimate(value, None, None, n)
    counts = np.random.default_rng(BOOTSTRAP_SEED).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
    drawn = pick(compare(counts @ ours.T, counts @ others.T))
    tail = (1 - CONFIDENCE) / 2
    # Of infinite values no mean may be taken between two ranks.
    low, high = np.quantile(drawn, [tail, 1 - tail], method="inverted_cdf")
    return Estimate(value, float(low), float(high), n)
