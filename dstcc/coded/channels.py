"""The models of channels that change, and what who knows a loss model expects of a channel from its state some time
ago.

Chances of loss are on a grid, in straight lines of their logarithm between its points; a *belief* is a distribution
over it.

    packet   one probability, for ever                table    the probability at that time: the model is the table
    states   e_s exp(Q t), Q the chain's rates        ramp     of the starts that the draw allows, those that agree with
                                                               what the probability was
    row      a path over nodes: 1 - (1 - p) (1 - q) of its hops
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.engine.config import Link, Loss
from dstcc.errors import InputError
from dstcc.scenario import Scenario
from dstcc.scenario.changing import chain_until_s, follow_weights, stationary
from dstcc.scenario.draws import drawing
from dstcc.scenario.fields import Draw
from dstcc.scenario.losses import LossModel

LEAST, MOST, POINTS = 1e-5, 0.6, 40
GRID: Float64Array = np.geomspace(LEAST, MOST, POINTS)
"""Chances of loss."""
LAWS = ("packet", "table", "ramp", "states")
"""The kinds of loss whose model is known here."""
STARTS = 256
"""Of a ramp, evenly over its draw."""
TICKS = 50
"""Of the shortest dwell time: how finely time passes for a chain."""


def on_grid(chance: Float64Array) -> Float64Array:
    """(.., points): each probability as a distribution over the grid with the same mean logarithm."""
    place = (
        (np.log(np.clip(chance, LEAST, MOST)) - np.log(LEAST)) / (np.log(MOST) - np.log(LEAST)) * (POINTS - 1)
    )
    below = np.minimum(place.astype(int), POINTS - 2)
    share = place - below
    spread = np.zeros((*np.shape(chance), POINTS))
    np.put_along_axis(spread, below[..., None], (1 - share)[..., None], axis=-1)
    np.put_along_axis(spread, below[..., None] + 1, share[..., None], axis=-1)
    return spread


class Law(Protocol):
    """The loss model of one link in one trial."""

    @property
    def foretells(self) -> bool:
        """Whether the loss model holds every change to come: its beliefs of any later time are the truth."""

    def expect(self, known_s: float | None, times_s: Float64Array) -> Float64Array:
        """(times, points): a belief for each time, from the true state at ``known_s``; ``None`` knows the loss model
        alone."""


class Certain:
    """A probability that is known at any time."""

    def __init__(self, loss: Loss) -> None:
        self._t_s = np.array(loss.t_ns or (0,)) / 1e9
        self._chance = np.array(loss.rates or (loss.rate,))

    @property
    def foretells(self) -> bool:
        """A probability that changes by a table, and is known at any time; one that never changes has nothing to
        foretell."""
        return bool(np.ptp(self._chance) > 0)

    def expect(self, known_s: float | None, times_s: Float64Array) -> Float64Array:
        """The probability at each time."""
        return on_grid(np.interp(times_s, self._t_s, self._chance))


class Hidden:
    """A chain of hidden states."""

    def __init__(self, model: LossModel, t_ns: tuple[int, ...], state: tuple[int, ...]) -> None:
        assert model.states is not None
        states = model.states
        dwell = np.array([one.dwell_s for one in states])
        self._q = np.array(follow_weights(states)) / dwell[:, None]
        np.fill_diagonal(self._q, -1 / dwell)
        self._levels = on_grid(np.array([one.packet for one in states]))
        self._first = np.array(stationary(states))
        self._t_s, self._state = np.array(t_ns) / 1e9, np.array(state)
        from scipy.linalg import expm

        self._tick_s = float(dwell.min()) / TICKS
        self._tick = expm(self._q * self._tick_s)
        self._after = [np.eye(len(states))]
        """The probabilities of states after so many ticks."""

    @property
    def foretells(self) -> bool:
        """The next change is random."""
        return False

    def state_at(self, at_s: float) -> int:
        """The true one."""
        return int(self._state[max(int(np.searchsorted(self._t_s, at_s, side="right")) - 1, 0)])

    def after(self, span_s: float) -> Float64Array:
        """(states, states): the probability of each state a while later, to the nearest tick."""
        ticks = round(max(span_s, 0.0) / self._tick_s)
        while len(self._after) <= ticks:
            self._after.append(self._after[-1] @ self._tick)
        return self._after[ticks]

    def expect(self, known_s: float | None, times_s: Float64Array) -> Float64Array:
        """What the chain makes of its state at ``known_s``."""
        if known_s is None or known_s < 0:
            chances = np.tile(self._first, (len(times_s), 1))
        else:
            state = self.state_at(known_s)
            chances = np.array([self.after(at - known_s)[state] for at in times_s])
        return np.asarray(chances @ self._levels)


class Ramps:
    """A ramp whose beginning is drawn."""

    def __init__(self, model: LossModel, loss: Loss) -> None:
        assert model.ramp is not None
        self._truth = Certain(loss)
        self._chance = loss.rates
        even = (np.arange(STARTS) + 0.5) / STARTS
        # A length that is drawn goes through its draw in another order, so that both are spread alike.
        self._start = _spread(model.ramp.start_s, even)
        self._length = np.maximum(_spread(model.ramp.length_s, (even * 97) % 1), 1e-9)
        self._t_s, self._rates = np.array(loss.t_ns) / 1e9, np.array(loss.rates)

    @property
    def foretells(self) -> bool:
        """Where neither the start nor the length is drawn: then it is a table."""
        before, after = self._chance
        return bool(before != after and np.ptp(self._start) == 0 and np.ptp(self._length) == 0)

    def _at(self, times_s: Float64Array) -> Float64Array:
        before, after = self._chance
        part = np.clip((times_s - self._start[:, None]) / self._length[:, None], 0, 1)
        return np.asarray(before + part * (after - before))

    def expect(self, known_s: float | None, times_s: Float64Array) -> Float64Array:
        """The mean of those ramps that agree with the probability at ``known_s``."""
        agrees = np.ones(STARTS, dtype=bool)
        if known_s is not None and known_s >= 0:
            was = float(np.interp(known_s, self._t_s, self._rates))
            off = np.abs(self._at(np.array([known_s]))[:, 0] - was)
            agrees = off <= max(off.min(), 0.01 * abs(self._chance[1] - self._chance[0])) + 1e-12
        return np.asarray(on_grid(self._at(times_s)[agrees]).mean(axis=0))


def _spread(value: float | Draw, even: Float64Array) -> Float64Array:
    if not isinstance(value, Draw):
        return np.full(len(even), float(value))
    low, high = value.bounds
    return low + (high - low) * even if value.uniform is not None else low * (high / low) ** even


class Row:
    """A path over nodes: a packet passes where each hop lets it, which it meets a light time after the hop before."""

    def __init__(self, hops: Sequence[tuple[float, Law]]) -> None:
        """``hops``: how long after its sending a packet meets each, and its loss model."""
        self._hops = hops

    @property
    def foretells(self) -> bool:
        """Whether one of them does."""
        return any(law.foretells for _, law in self._hops)

    def expect(self, known_s: float | None, times_s: Float64Array) -> Float64Array:
        """Of chances that know nothing of each other."""
        beliefs = [
            law.expect(None if known_s is None else known_s + after_s, times_s + after_s)
            for after_s, law in self._hops
        ]
        whole = beliefs[0]
        for belief in beliefs[1:]:
            pairs = whole[..., :, None] * belief[..., None, :]
            whole = np.asarray(pairs.reshape(*whole.shape[:-1], POINTS * POINTS) @ BOTH)
        return whole


BOTH: Float64Array = on_grid(1 - np.multiply.outer(1 - GRID, 1 - GRID).ravel())
"""(points x points, points): the chance of a loss on either of two hops, by that on each."""


def laws_of(scenario: Scenario, seed: int, lines: Sequence[Link]) -> list[Law]:
    """The loss model of each link, or of each path over nodes; ``lines`` are the scenario's links as the seed drew
    them. Raises :class:`InputError` for a kind of loss whose model is not known here."""
    laws = [_law_of(scenario, seed, number, line.loss) for number, line in enumerate(lines)]
    rows: list[Law] = []
    for way in scenario.ways:
        light_s = np.cumsum([0.0, *(lines[i].delay_ns[0] / 1e9 for i in way.links)])
        hops = [(float(after_s), laws[i]) for after_s, i in zip(light_s, way.links, strict=False)]
        lossy = [hop for hop, i in zip(hops, way.links, strict=True) if lines[i].loss.kind != "none"]
        rows.append(hops[0][1] if len(hops) == 1 else Row(lossy or hops[:1]))
    return rows


def _law_of(scenario: Scenario, seed: int, number: int, loss: Loss) -> Law:
    link, model = scenario.link[number], scenario.link[number].loss
    if loss.kind not in ("none", "packet", "schedule"):
        raise InputError(
            f"{scenario.scenario.name}: link.{number}.loss: a ladder has loss models of the kinds {', '.join(LAWS)}"
        )
    if model is not None and model.states is not None:
        chain = model.chain(drawing(seed, link.name, "loss", chain_until_s(scenario)))
        assert chain is not None
        return Hidden(model, chain.t_ns, chain.state)
    if model is not None and model.ramp is not None:
        return Ramps(model, loss)
    return Certain(loss)
