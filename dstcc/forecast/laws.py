"""The loss models that a forecaster is trained on: the loss probability over time, in round trips.

    steady    one probability, for ever
    chain     2 to 5 levels; after a dwell time, of which each level has its own mean, to any other level, all alike
    rise      from a low probability straight up to a higher one, once, and there it stays
    lines     straight lines of the probability's logarithm between levels, of lengths that are drawn one by one
    curves    half cosines of the probability between levels, likewise
    drift     the logarithm wanders and is drawn back to a mean (Ornstein-Uhlenbeck)

None of them is a wave (each level and each length is a draw of its own), none falls in a straight line of the
probability, and no chain has a direction: from each level all others are as likely. Tests hold the missions of
``examples/learning/held-out`` against these three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.reading import json_sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dstcc.arrays import Float64Array

LEAST, MOST = 1e-5, 0.5
"""Chances of loss that are drawn."""
PARTS = 4
"""Times within a slot, over whose probabilities its own is the mean."""

Draws = np.random.Generator


def _levels(draws: Draws, count: int) -> Float64Array:
    """Chances; a third of them below 1e-3, as a clear sky has, the others where repair is a question."""
    clear = draws.uniform(np.log(LEAST), np.log(2e-3), count)
    matters = draws.uniform(np.log(2e-3), np.log(MOST), count)
    return np.asarray(np.exp(np.where(draws.random(count) < 0.35, clear, matters)))


def _log_uniform(draws: Draws, low: float, high: float, count: int | None = None) -> Float64Array:
    return np.asarray(np.exp(draws.uniform(np.log(low), np.log(high), count)))


def steady(draws: Draws, t: Float64Array) -> Float64Array:
    """See above; ``t`` in round trips."""
    return np.full(len(t), _levels(draws, 1)[0])


def chain(draws: Draws, t: Float64Array) -> Float64Array:
    """See above."""
    count = int(draws.integers(2, 6))
    levels = _levels(draws, count)
    dwell = _log_uniform(draws, 0.3, 8.0) * _log_uniform(draws, 0.5, 2.0, count)
    at, state, ends, states = 0.0, int(draws.integers(count)), [], []
    while at < t[-1]:
        at += float(draws.exponential(dwell[state]))
        ends.append(at)
        states.append(state)
        state = int((state + draws.integers(1, count)) % count)
    return np.asarray(
        levels[np.array(states)[np.minimum(np.searchsorted(ends, t, side="right"), len(ends) - 1)]]
    )


def rise(draws: Draws, t: Float64Array) -> Float64Array:
    """See above."""
    low, high = np.sort(_levels(draws, 2))
    length = float(_log_uniform(draws, 0.3, 10.0))
    start = float(draws.uniform(-length, t[-1]))
    return np.asarray(low + (high - low) * np.clip((t - start) / length, 0, 1))


def _knots(draws: Draws, t: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Times before, between and after, and levels."""
    length = float(_log_uniform(draws, 1.0, 10.0))
    count = int(t[-1] / length * 2) + 4
    times = np.cumsum(length * _log_uniform(draws, 0.4, 2.5, count)) - 2 * length
    while times[-1] < t[-1]:
        times = np.append(times, times[-1] + length)
    return times, _levels(draws, len(times))


def lines(draws: Draws, t: Float64Array) -> Float64Array:
    """See above."""
    times, levels = _knots(draws, t)
    return np.asarray(np.exp(np.interp(t, times, np.log(levels))))


def curves(draws: Draws, t: Float64Array) -> Float64Array:
    """See above."""
    times, levels = _knots(draws, t)
    place = np.clip(np.searchsorted(times, t) - 1, 0, len(times) - 2)
    part = np.clip((t - times[place]) / (times[place + 1] - times[place]), 0, 1)
    return np.asarray(levels[place] + (levels[place + 1] - levels[place]) * (1 - np.cos(np.pi * part)) / 2)


def drift(draws: Draws, t: Float64Array) -> Float64Array:
    """See above; ``t`` in even steps."""
    from scipy.signal import lfilter

    span = float(_log_uniform(draws, 1.0, 20.0))
    mean, spread = float(np.log(_levels(draws, 1)[0])), float(draws.uniform(0.3, 2.0))
    keep = float(np.exp(-(t[1] - t[0]) / span))
    noise = draws.standard_normal(len(t)) * spread
    noise[1:] *= np.sqrt(1 - keep * keep)
    value = lfilter([1.0], [1.0, -keep], noise)
    return np.asarray(np.clip(np.exp(mean + value), LEAST, MOST))


FAMILIES: dict[str, tuple[float, Callable[[Draws, Float64Array], Float64Array]]] = {
    "steady": (0.06, steady),
    "chain": (0.30, chain),
    "rise": (0.12, rise),
    "lines": (0.16, lines),
    "curves": (0.28, curves),
    "drift": (0.08, drift),
}
"""By name: its share of the histories, and how one is drawn."""


def content_hash(settings: Mapping[str, Any]) -> str:
    """Of the families' shares and a training's settings: what a policy says that it was trained on."""
    about = {"families": {name: share for name, (share, _) in FAMILIES.items()}, **settings}
    return json_sha256(about)


def draw(draws: Draws, slots: int, slot_rtts: float) -> Float64Array:
    """(slots,): a loss model's loss probability in each slot."""
    shares = np.array([share for share, _ in FAMILIES.values()])
    pick = int(draws.choice(len(shares), p=shares / shares.sum()))
    _, family = list(FAMILIES.values())[pick]
    t = (np.arange(slots * PARTS) + 0.5) / PARTS * slot_rtts
    return np.asarray(family(draws, t).reshape(slots, PARTS).mean(axis=1))
