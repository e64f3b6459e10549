"""Channels that change: loss probabilities and rates over mission time, and hidden states that a seed draws."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from dstcc.errors import InputError
from dstcc.frozen import dataclass

from .fields import (
    MAX_RATE_BPS,
    MIN_RATE_BPS,
    AsTuple,
    DrawableInstant,
    Instant,
    Probability,
    ScenarioTable,
    Seconds,
    broken,
    ns,
    rising,
)

if TYPE_CHECKING:
    import numpy as np

    from .model import Scenario

MOST_SOJOURNS = 100_000
"""Of a chain of hidden states in a run."""
MOST_RATIO = 1e6
"""Of the highest rate of a link to its least: a packet takes so many service slots at most."""

Rows = Annotated[
    tuple[Annotated[tuple[Instant, Probability], AsTuple], ...],
    AsTuple,
    Field(min_length=1),
    AfterValidator(rising),
]
"""A loss probability over time: rising times, straight lines between the rows, constant outside."""


def _from_the_start(rows: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    if rows[0][0] != 0:
        raise broken(f"a rate over time begins at 0 s, not at {rows[0][0]:g} s")
    try:
        check_ratio(rate for _, rate in rows)
    except InputError as error:
        raise broken(str(error)) from None
    return rows


RateRows = Annotated[
    tuple[
        Annotated[
            tuple[Instant, Annotated[float, Field(ge=MIN_RATE_BPS, le=MAX_RATE_BPS)]],
            AsTuple,
        ],
        ...,
    ],
    AsTuple,
    Field(min_length=1),
    AfterValidator(rising),
    AfterValidator(_from_the_start),
]
"""A rate over time: a row holds until the next."""


class Ramp(ScenarioTable):
    """``{before, after, start_s, length_s}``: a loss probability that goes in a straight line from one to another."""

    before: Probability
    after: Probability
    start_s: DrawableInstant
    length_s: DrawableInstant = 0.0


class State(ScenarioTable):
    """A hidden state of the channel."""

    packet: Probability
    """The probability that a packet is lost."""
    dwell_s: Seconds
    """The mean of its exponential dwell times."""
    rate: Annotated[float, Field(ge=1e-6, le=1)] = 1.0
    """What it leaves of the link's rate."""
    next: Annotated[tuple[Annotated[float, Field(ge=0)], ...], AsTuple] | None = None
    """The weights of the states that follow, its own 0; all others alike unless given."""


def _chain(states: tuple[State, ...]) -> tuple[State, ...]:
    for number, state in enumerate(states):
        if state.next is None:
            continue
        if len(state.next) != len(states):
            raise broken(f"state {number}: next has {len(state.next)} weights for {len(states)} states")
        if state.next[number] != 0 or sum(state.next) <= 0:
            raise broken(
                f"state {number}: next leads to another state: its own weight is 0, another's is not"
            )
    return states


States = Annotated[tuple[State, ...], AsTuple, Field(min_length=2, max_length=16), AfterValidator(_chain)]


@dataclass(frozen=True)
class Chain:
    """What a seed draws of hidden states: a row holds until the next, the last for good."""

    t_ns: tuple[int, ...]
    """From 0 on."""
    state: tuple[int, ...]


def follow_weights(states: tuple[State, ...]) -> list[list[float]]:
    """The probability of each next state, by the state that is left."""
    table = []
    for number, state in enumerate(states):
        weights = state.next or tuple(float(other != number) for other in range(len(states)))
        table.append([weight / sum(weights) for weight in weights])
    return table


def stationary(states: tuple[State, ...]) -> list[float]:
    """The share of time that a long run spends in each state."""
    import numpy as np

    jumps = np.array(follow_weights(states))
    dwell = np.array([state.dwell_s for state in states])
    rates = jumps / dwell[:, None]
    np.fill_diagonal(rates, -1 / dwell)
    system = np.vstack([rates.T, np.ones(len(states))])
    share = np.linalg.lstsq(system, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    clipped = np.clip(share, 0, None)
    return [float(value) for value in clipped / clipped.sum()]


def walk(states: tuple[State, ...], generator: np.random.Generator, until_s: float) -> Chain:
    """Draw a chain up to ``until_s``, its first state by the share of time. A longer one begins with the same rows."""
    import numpy as np

    follows = np.cumsum(follow_weights(states), axis=1)
    state = _pick(np.cumsum(stationary(states)), generator.random())
    t_s, t_ns, visited = 0.0, [0], [state]
    while t_s < until_s:
        t_s += -np.log1p(-generator.random()) * states[state].dwell_s
        state = _pick(follows[state], generator.random())
        at = max(ns(t_s), t_ns[-1] + 2)
        t_ns.append(at)
        visited.append(state)
    return Chain(tuple(t_ns), tuple(visited))


def _pick(cumulated: np.ndarray, share: float) -> int:
    return int(min((cumulated <= share * cumulated[-1]).sum(), len(cumulated) - 1))


def lines(t_ns: tuple[int, ...], values: tuple[float, ...]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Steps as straight lines: the value before a step stands a nanosecond before it."""
    times, said = [t_ns[0]], [values[0]]
    for (_, at), (before, after) in zip(pairwise(t_ns), pairwise(values), strict=True):
        times += [at - 1, at]
        said += [before, after]
    return tuple(times), tuple(said)


Steps = tuple[tuple[int, ...], tuple[float, ...]]
"""Times from 0 on in ns, and what holds from each until the next. Of shares of a rate nothing means 1."""


def rate_rows(rows: Iterable[tuple[float, float]]) -> Steps:
    """A rate over time (seconds, bit/s) in steps of nanoseconds, without those that change nothing."""
    return _changes([(ns(t), float(rate)) for t, rate in rows])


def least(one: Steps, other: Steps) -> Steps:
    """The lesser of two rates over time."""
    times = sorted({*one[0], *other[0]})
    return _changes([(t, min(_value_at(one, t), _value_at(other, t))) for t in times])


def shares(rates: Steps) -> tuple[float, Steps]:
    """The highest of a rate over time, and its shares of it; none where it is constant."""
    highest = max(rates[1])
    if len(rates[0]) == 1:
        return highest, ((), ())
    return highest, (rates[0], tuple(rate / highest for rate in rates[1]))


def check_ratio(rates: Iterable[float]) -> None:
    """Raise :class:`InputError` for rates of one link that are too far apart for one clock of packets."""
    known = list(rates)
    if max(known) > MOST_RATIO * min(known):
        raise InputError(
            f"rates of {min(known):g} and {max(known):g} bit/s on one link; the highest is at most "
            f"{MOST_RATIO:g} times the least"
        )


def _changes(rows: list[tuple[int, float]]) -> Steps:
    kept = [row for before, row in zip([(0, -1.0), *rows], rows, strict=False) if row[1] != before[1]]
    return tuple(t for t, _ in kept), tuple(value for _, value in kept)


def _value_at(steps: Steps, t: int) -> float:
    return steps[1][bisect_right(steps[0], t) - 1]


def chain_until_s(scenario: Scenario) -> float:
    """How far the chains of hidden states are drawn; 0 where the scenario does not say how long it is."""
    if scenario.scenario.duration_s is not None:
        return scenario.scenario.duration_s
    return 2 * (scenario.video.loop_to_s or 0.0)


def check_changing(scenario: Scenario) -> None:
    """Raise pydantic's error for channels that cannot change as they should."""
    for number, link in enumerate(scenario.link):
        for key, loss in (("loss", link.loss), ("up_loss", link.up_loss)):
            if loss is None or loss.states is None:
                continue
            place = f"link.{number}.{key}.states"
            until_s = chain_until_s(scenario)
            if until_s <= 0:
                raise broken("needs duration_s in [scenario], or video.loop_to_s", key=place)
            sojourns = until_s / min(state.dwell_s for state in loss.states)
            if sojourns > MOST_SOJOURNS:
                raise broken(
                    f"dwell times so short that a run has some {sojourns:,.0f} of them; at most {MOST_SOJOURNS:,}",
                    key=place,
                )
            if key == "up_loss" and any(state.rate != 1 for state in loss.states):
                raise broken("states of acknowledgements leave the rate as it is", key=place)
