"""Histories as a sender receives them as feedback, made from loss models without a mission: packets and losses, slot by
slot.

A slot's packets are drawn about the rate of the history; each is lost with the loss model's probability of its slot, by
itself or (in some histories) in rows of a geometric length. In some histories there are gaps in which nothing is sent.
tests/forecast holds them against the histories of missions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float64Array

from . import laws
from .inputs import FIRST_SPAN
from .outlook import Outlook

SLOT_RTTS = (1 / 50, 1 / 4)
"""Slots in a round trip that are drawn, the other way round."""
PACKETS = (20.0, 4_000.0)
"""Packets of a slot that are drawn."""
ROWS = 0.15
"""Share of histories whose losses come in rows."""
GAPS = 0.15
"""Share of histories with gaps."""
AHEAD_RTTS = (0.5, 4.5)
"""How far ahead of the last feedback forecasts are trained."""


@dataclass(frozen=True)
class Batch:
    """B histories of T events, with A forecasts at each of some states; arrays of numbers a network can take.

    The states are that before any feedback, and those after each :attr:`every`-th event.
    """

    inputs: Float64Array
    """(B, T, inputs)."""
    features: Float64Array
    """(B, states, A, features): of the times that forecasts are for."""
    held: Float64Array
    """(B, states, A, points): the logarithm of the filter's belief of them."""
    chance: Float64Array
    """(B, states, A): the probability that the loss model has there."""
    every: int
    """Events between states."""


def history(
    draws: np.random.Generator, chance: Float64Array, packets: float
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Known, lost and rows by slot, of a loss model's probabilities."""
    heard = np.maximum(np.round(packets * draws.uniform(0.9, 1.1, len(chance))), 1)
    if draws.random() >= ROWS:
        lost = draws.binomial(heard.astype(np.int64), chance).astype(np.float64)
        # A row ends where the packet behind a lost one is not.
        ends = draws.binomial(np.maximum(lost - 1, 0).astype(np.int64), 1 - chance)
        return heard, lost, np.where(lost > 0, 1 + ends, 0).astype(np.float64)
    row = float(draws.uniform(1, 8))
    begun = draws.binomial(heard.astype(np.int64), np.clip(chance / row, 0, 1))
    more = draws.negative_binomial(np.maximum(begun, 1), 1 / row)
    lost = np.minimum(np.where(begun > 0, begun + more, 0), heard)
    return heard, lost, np.minimum(begun, lost).astype(np.float64)


def spoken(draws: np.random.Generator, events: int) -> NDArray[np.int64]:
    """(events,): the slots in which something is sent, from the first on."""
    if draws.random() >= GAPS:
        return np.arange(events)
    skipped = np.zeros(events, dtype=np.int64)
    for _ in range(int(draws.integers(1, 4))):
        skipped[int(draws.integers(1, events)) :] += int(draws.integers(1, max(events // 10, 2)))
    return np.arange(events) + skipped


def _log_uniform(draws: np.random.Generator, ends: tuple[float, float]) -> float:
    low, high = np.log(ends)
    return float(np.exp(draws.uniform(low, high)))


def batch(draws: np.random.Generator, count: int, events: int, forecasts: int, every: int = 1) -> Batch:
    """So many histories of so many events, with so many forecasts at every so many of them."""
    shape = (count, events)
    heard, lost, runs, span = (np.zeros(shape) for _ in range(4))
    states = np.arange(0, events + 1, every)
    low, high = np.log(AHEAD_RTTS)
    ahead = np.exp(draws.uniform(low, high, (count, len(states), forecasts)))
    chance = np.zeros_like(ahead)
    for b in range(count):
        slot = _log_uniform(draws, SLOT_RTTS)
        sent = spoken(draws, events)
        law = laws.draw(draws, int(sent[-1] + AHEAD_RTTS[1] / slot) + 3, slot)
        heard[b], lost[b], runs[b] = history(draws, law[sent], _log_uniform(draws, PACKETS))
        span[b] = np.diff(sent, prepend=sent[0]) * slot
        span[b, 0] = FIRST_SPAN
        at = np.concatenate([[0.0], (sent + 0.5) * slot])[states]
        chance[b] = np.interp(at[:, None] + ahead[b], (np.arange(len(law)) + 0.5) * slot, law)
    outlook = Outlook(count)
    inputs, shown = [], [outlook.ahead(ahead[:, 0])]
    for t in range(events):
        inputs.append(outlook.hear(heard[:, t], lost[:, t], runs[:, t], span[:, t]))
        if (t + 1) % every == 0:
            shown.append(outlook.ahead(ahead[:, (t + 1) // every]))
    features = np.stack([one.features for one in shown], axis=1)
    held = np.stack([one.held for one in shown], axis=1)
    return Batch(np.stack(inputs, axis=1), features, held, chance, every)
