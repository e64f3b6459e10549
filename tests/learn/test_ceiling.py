"""The bound of a path's rate, against paths whose bottleneck no queue at the sender shows.

A path here carries `capacity` packets a second, drops what is beyond at once, loses a share of the rest, and tells a
round trip later. A round trip takes 16 slots of 10 s. The sender asks for whatever it is allowed, or `demand`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from dstcc.learn.ceiling import LAG, MOST, Ceiling, Heard

WIRE = 1500
ROUND = 16
SLOT_S = 10.0


@dataclass
class Path:
    """A sender that holds to the ceiling on one path; ``sent`` and ``lost`` are packets, slot by slot."""

    capacity: Callable[[int], float]
    loss: Callable[[int], float] = lambda _slot: 0.0
    demand: float = 1e9
    start: float = 10.0
    stands: bool = False
    """Whether a queue at the sender holds what is too much, and shows the capacity."""
    ceiling: Ceiling = field(default_factory=lambda: Ceiling(WIRE))
    sent: list[float] = field(default_factory=list)
    lost: list[float] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    def run(self, rounds: int) -> Path:
        rate = self.start
        for slot in range(rounds * ROUND):
            carried = self.capacity(slot)
            pace = min(rate, carried if self.stands else np.inf)
            self.sent.append(pace * SLOT_S)
            self.lost.append(pace * SLOT_S - min(pace, carried) * SLOT_S * (1 - self.loss(slot)))
            before = slot - ROUND
            there = before >= 0
            lost = self.lost[before] if there else 0.0
            acked = self.sent[before] - lost if there else 0.0
            shown = min(self.demand, 1.5 * rate if not self.stands or rate < carried else carried)
            self.ceiling.hear(Heard(SLOT_S, ROUND * SLOT_S, True, True, acked * WIRE, lost, shown * WIRE))
            bound = self.ceiling.bound / WIRE
            rate = min(shown, bound) if bound < np.inf else self.start
            self.limits.append(self.ceiling.limit / WIRE)
        return self

    def share_lost(self, first: int, last: int) -> float:
        """From one round to another."""
        part = slice(first * ROUND, last * ROUND)
        return sum(self.lost[part]) / sum(self.sent[part])

    def share_used(self, first: int, last: int) -> float:
        slots = range(first * ROUND, last * ROUND)
        got = sum(self.sent[s] - self.lost[s] for s in slots)
        return got / sum(self.capacity(s) * (1 - self.loss(s)) * SLOT_S for s in slots)


def constant(value: float) -> Callable[[int], float]:
    return lambda _slot: value


def test_nothing_is_bounded_before_something_is_acknowledged() -> None:
    assert Path(constant(50)).run(1).ceiling.bound == np.inf


def test_what_is_acknowledged_bounds_the_rate() -> None:
    # 10 packets a second arrive, and 12.5 are allowed; with room for more, 1.25 times that a round trip later.
    path = Path(constant(1e6)).run(2)
    assert path.ceiling.acknowledged == pytest.approx(10 * WIRE)
    assert path.ceiling.bound == pytest.approx(MOST * 10 * WIRE)
    path = Path(constant(1e6)).run(6)
    assert max(path.sent) <= 10 * SLOT_S * MOST**5
    assert max(path.sent) >= 10 * SLOT_S * MOST**4 * 0.99


@pytest.mark.parametrize("loss", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("start", [8.0, 20.0, 80.0])
def test_a_bottleneck_that_no_queue_shows_is_used_and_not_run_over(start: float, loss: float) -> None:
    # Asked for far more than the 10 packets a second that pass. From the fifth round trip on, of 40: held to 0.98 of
    # them, probed with 5 % more for half a round trip after 1, 2, 4 .. 16 of them, so less than 1 % beside the usual.
    path = Path(constant(10), constant(loss), start=start).run(40)
    assert path.share_lost(5, 40) <= loss + 0.01
    assert path.share_used(5, 40) >= 0.94
    assert max(path.sent[5 * ROUND :]) <= 10 * SLOT_S * 1.11


def test_the_first_overload_ends_with_the_first_acknowledgements() -> None:
    # Sent 8 times too fast: heard from round trip 1 on, believed an eighth of one later.
    path = Path(constant(10), start=80).run(3)
    assert min(s for s in range(ROUND, 3 * ROUND) if path.sent[s] <= 10 * SLOT_S) <= 1.25 * ROUND


@pytest.mark.parametrize("loss", [0.03, 0.1, 0.3])
def test_losses_that_the_sender_cannot_help_are_not_its_own(loss: float) -> None:
    # Below the bottleneck. Grave ones cost a trial at 1 - L of the pace for little more than two round trips, once;
    # slight ones half a round trip after 4, then 8 and more round trips.
    path = Path(constant(1e6), constant(loss), demand=10).run(60)
    assert path.ceiling.usual == pytest.approx(loss, abs=0.001)
    assert np.isinf(path.limits[-1])
    held = sum(np.isfinite(path.limits)) / ROUND
    assert 0 < held <= 3.0
    assert sum(path.sent) >= 0.97 * 60 * ROUND * 10 * SLOT_S


def test_a_path_that_carries_more_later_is_used_again() -> None:
    # Held to 10 packets a second, after 20 round trips 30 pass. Probes come 1, 2, 4 .. 16 round trips apart.
    path = Path(lambda slot: 10 if slot < 20 * ROUND else 30, start=20).run(80)
    assert path.share_used(60, 80) >= 0.9
    assert path.share_lost(60, 80) <= 0.02


def test_a_path_that_carries_less_later_is_not_run_over() -> None:
    path = Path(lambda slot: 30 if slot < 20 * ROUND else 10, start=20).run(40)
    # Heard at 21, taken for 6 % an eighth of a round trip later, for what it is 1.4 round trips after that.
    assert path.share_lost(23, 40) <= 0.02
    assert path.share_used(23, 40) >= 0.9


def test_where_a_queue_holds_what_is_too_much_a_probe_frees_the_path() -> None:
    # A burst of 40 % looks grave, and 0.98 * 0.6 of the pace is what came through. Probes that lose nothing, of 5, 10,
    # 20 and 25 % in 1.75 round trips each, bring it back: 1.03 * 1.08 * 1.18 * 1.23 * 1.23 = 1.98.
    burst = Path(constant(10), lambda slot: 0.4 if 2 * ROUND <= slot < 2.4 * ROUND else 0.0, stands=True).run(
        24
    )
    assert np.isfinite(burst.limits).any()
    assert np.isinf(burst.limits[16 * ROUND :]).all()
    assert burst.share_used(0, 24) >= 0.8


def hear(ceiling: Ceiling, slots: int, *, up: bool = True, acked: float = 100.0, lost: float = 0.0) -> None:
    for _ in range(slots):
        ceiling.hear(Heard(SLOT_S, ROUND * SLOT_S, up, up, acked * WIRE, lost, 1e9))


def test_losses_after_an_outage_are_the_outages() -> None:
    # For a round trip and a quarter what was under way when the link went away comes back as lost.
    ceiling = Ceiling(WIRE)
    hear(ceiling, 4 * ROUND)
    hear(ceiling, ROUND, up=False, acked=0)
    hear(ceiling, int(LAG * ROUND), acked=50, lost=50)
    hear(ceiling, 2 * ROUND)
    assert np.isinf(ceiling.limit)


def test_losses_at_a_rate_that_came_through_before_must_last() -> None:
    # 100 packets a slot came through. Half of them lost for a round trip and a half is a burst, for two it is not.
    ceiling = Ceiling(WIRE)
    hear(ceiling, 4 * ROUND + 1)
    hear(ceiling, ROUND + ROUND // 2, acked=50, lost=50)
    assert np.isinf(ceiling.limit)
    hear(ceiling, ROUND)
    hear(ceiling, 3 * ROUND, acked=50, lost=50)
    assert np.isfinite(ceiling.limit)


def test_losses_at_a_rate_that_never_came_through_are_believed_at_once() -> None:
    # 120 packets a slot where 100 came through: an eighth of a round trip with 100 packets will do.
    ceiling = Ceiling(WIRE)
    hear(ceiling, 4 * ROUND + 1)
    hear(ceiling, ROUND // 4, acked=90, lost=30)
    assert np.isfinite(ceiling.limit)


def test_a_few_losses_say_nothing() -> None:
    # 3 of 30 segments in a round trip: 10 %, but 0.05 * 30 + 2 * sqrt(2.5) = 4.7 may be lost by chance.
    ceiling = Ceiling(WIRE)
    for _ in range(20):
        hear(ceiling, ROUND - 1, acked=27 / 15)
        hear(ceiling, 1, acked=0, lost=3)
    assert np.isinf(ceiling.limit)


def test_what_a_path_once_carried_is_forgotten_after_16_round_trips_of_use() -> None:
    ceiling = Ceiling(WIRE)
    hear(ceiling, 4 * ROUND, acked=400)
    hear(ceiling, 8 * ROUND, acked=100)
    assert ceiling.acknowledged == pytest.approx(40 * WIRE)
    for _ in range(30 * ROUND):  # without use nothing is forgotten
        ceiling.hear(Heard(SLOT_S, ROUND * SLOT_S, True, False, 100 * WIRE, 0.0, 1e9))
    assert ceiling.acknowledged == pytest.approx(40 * WIRE)
    hear(ceiling, 9 * ROUND, acked=100)
    assert ceiling.acknowledged == pytest.approx(10 * WIRE)
