"""The bound of a path's pace, against paths whose bottleneck no queue at the sender shows.

A path here carries `capacity` packets a second, drops what is beyond at once, loses a share of the rest, and tells a
round trip later. A round trip takes 16 slots of 10 s. The sender uses whatever it is allowed, or `demand`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from dstcc.engine._testing import parts

from .pacing_reference import ReferenceLimit
from .pacing_slots import PacingLimit, Phase, SentThen, SlotReport, Turn

MARGIN, LAG = 0.98, 1.25
MIN_STEP, MAX_STEP = 0.05, 0.25
WIRE = 1500
ROUND = 16
SLOT_S = 10.0


@dataclass
class Path:
    """A sender that holds to the limit on one path; ``sent`` and ``lost`` are packets, slot by slot."""

    capacity: Callable[[int], float]
    loss: Callable[[int], float] = lambda _slot: 0.0
    demand: float = 1e9
    start: float = 10.0
    """The pace while nothing holds the path."""
    queue_seen: bool = False
    """Whether a queue at the sender holds what is too much, and shows the capacity."""
    pacing: PacingLimit = field(default_factory=lambda: PacingLimit(WIRE))
    sent: list[float] = field(default_factory=list)
    lost: list[float] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    def run(self, rounds: int) -> Path:
        for slot in range(rounds * ROUND):
            carried = self.capacity(slot)
            limit = self.pacing.limit / WIRE
            allowed = limit if limit < np.inf or self.queue_seen else self.start
            pace = min(self.demand, allowed, carried if self.queue_seen else np.inf)
            self.sent.append(pace * SLOT_S)
            self.turns.append(self.pacing.turn)
            self.lost.append(pace * SLOT_S - min(pace, carried) * SLOT_S * (1 - self.loss(slot)))
            before = slot - ROUND
            there = before >= 0
            lost = self.lost[before] if there else 0.0
            acked = self.sent[before] - lost if there else 0.0
            shown = carried if self.queue_seen else 2 * allowed
            report = (acked * WIRE, lost, allowed * WIRE, self.queue_seen, shown * WIRE, False)
            told = {
                turn: SentThen(acked * WIRE, lost, SLOT_S)
                if there and self.turns[before] is turn
                else SentThen()
                for turn in (Turn.SLOWER, Turn.FASTER)
            }
            self.pacing.update(SlotReport(SLOT_S, ROUND * SLOT_S, True, *report, *told.values()))
            self.limits.append(self.pacing.limit / WIRE)
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
    assert Path(constant(50)).run(1).pacing.limit == np.inf


def test_a_path_without_a_queue_gets_no_more_than_it_had_and_then_a_quarter_on_trial() -> None:
    # First heard in slot 17; that was sent in part of a slot, so what comes from 18 on counts: all well after a quarter
    # of a round trip, tried after two, from slot 50 on: 12.5 packets a second for half a round trip, back to 10 until
    # that was heard, a round trip and a half after it began. All came through, so 0.98 of it from slot 74 on.
    sent = Path(constant(1e6)).run(5).sent
    assert sent[:50] == [100] * 50 and sent[50:58] == [125] * 8
    assert sent[58:74] == [100] * 16 and sent[74] == pytest.approx(MARGIN * 125)


def test_a_trial_that_nobody_used_raises_nothing() -> None:
    path = Path(constant(1e6), demand=10).run(20)
    assert path.limits[-1] == 10 and max(path.limits[ROUND * 3 :]) == 10 * (1 + MAX_STEP)


def test_an_overload_shows_the_capacity() -> None:
    # 20 packets a second meet 10: from the first quarter of a round trip that is heard on, 0.98 of those that came.
    path = Path(constant(10), start=20).run(4)
    assert path.limits[-1] == pytest.approx(MARGIN * 10)
    # A trial of 12.5 on a path of 11 with 10 in use: 0.98 of the 11 that came.
    assert Path(constant(11)).run(5).limits[-1] == pytest.approx(MARGIN * 11)


def test_a_path_whose_queue_holds_what_is_too_much_is_free() -> None:
    path = Path(constant(10), constant(0.005), queue_seen=True).run(20)
    assert np.isinf(path.limits).all()


@pytest.mark.parametrize("loss", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("start", [8.0, 20.0, 80.0])
def test_a_bottleneck_that_no_queue_shows_is_used_and_not_run_over(start: float, loss: float) -> None:
    # 10 packets a second pass. From the fifth round trip on, of 40: held to 0.98 of them, tried with 5 % more for half
    # a round trip after 2, 4 .. 16 of them, so less than 1 % beside the usual. Who starts below tries a quarter more.
    path = Path(constant(10), constant(loss), start=start).run(40)
    assert path.share_lost(5, 40) <= loss + 0.01
    assert path.share_used(5, 40) >= 0.96
    assert max(path.sent[5 * ROUND :]) <= 10 * SLOT_S * (1 + (MAX_STEP if start < 10 else 0.08))


def test_the_first_overload_ends_with_the_first_acknowledgements() -> None:
    # Sent 8 times too fast: heard whole from slot 18 on, believed a quarter of a round trip later.
    path = Path(constant(10), start=80).run(3)
    assert min(s for s in range(ROUND, 3 * ROUND) if path.sent[s] <= 10 * SLOT_S) == 18 + ROUND // 4


@pytest.mark.parametrize("loss", [0.03, 0.1, 0.3])
def test_losses_that_the_sender_cannot_help_are_not_its_own(loss: float) -> None:
    # Below the bottleneck, where a queue would show it: one trial at 1 - L of the pace, for 1.75 round trips.
    path = Path(constant(10), constant(loss), queue_seen=True).run(60)
    assert path.pacing.base_loss == pytest.approx(loss, abs=0.001)
    assert np.isinf(path.limits[-1])
    assert sum(np.isfinite(path.limits)) / ROUND == 1.75
    assert sum(path.sent) >= 0.98 * 60 * ROUND * 10 * SLOT_S


def test_a_path_that_carries_more_later_is_used_again() -> None:
    # Held to 10 packets a second, after 20 round trips 30 pass. Trials come 2, 4 .. 16 round trips apart.
    path = Path(lambda slot: 10 if slot < 20 * ROUND else 30, start=20).run(80)
    assert path.share_used(60, 80) >= 0.95
    assert path.share_lost(60, 80) <= 0.01


def test_a_path_that_carries_less_later_is_not_run_over() -> None:
    path = Path(lambda slot: 30 if slot < 20 * ROUND else 10, start=20).run(40)
    # Acknowledged in slot 336. All 30 came through before, so it may be a burst until two round trips have shown it.
    assert path.share_lost(24, 40) <= 0.01
    assert path.share_used(24, 40) >= 0.95


def test_where_a_queue_holds_what_is_too_much_a_trial_frees_the_path() -> None:
    # What is sent in two round trips loses 40 %. Complete from slot 34 on, high in both, so the limit is 0.98 *
    # 0.6 of the rate. Trials that lose nothing, of 5, 10, 20 and 25 %, bring back a queue that stands.
    burst = Path(constant(10), lambda slot: 0.4 if 18 <= slot < 50 else 0.0, queue_seen=True).run(24)
    assert min(burst.limits) == pytest.approx(MARGIN * 6)
    assert np.isinf(burst.limits[20 * ROUND :]).all()
    assert burst.share_used(4, 24) >= 0.75


def test_a_path_that_lost_all_for_a_while_is_used_again() -> None:
    path = Path(constant(10), lambda slot: 1.0 if 2 * ROUND <= slot < 5 * ROUND else 0.0).run(60)
    assert min(path.limits) == pytest.approx(MARGIN * 0.1 * 10)
    assert path.share_used(55, 60) >= 0.9


def feed(
    pacing: PacingLimit, slots: int, *, up: bool = True, acked: float = 100.0, lost: float = 0.0
) -> None:
    for _ in range(slots):
        pacing.update(SlotReport(SLOT_S, ROUND * SLOT_S, up, acked * WIRE, lost, np.inf, True, 1e9, False))


def test_losses_after_an_outage_are_the_outages() -> None:
    # For a round trip and a quarter what was under way when the link went away comes back as lost.
    pacing = PacingLimit(WIRE)
    feed(pacing, 4 * ROUND)
    feed(pacing, ROUND, up=False, acked=0)
    feed(pacing, int(LAG * ROUND), acked=50, lost=50)
    feed(pacing, 2 * ROUND)
    assert np.isinf(pacing.limit)


def test_losses_at_a_rate_that_came_through_before_must_last() -> None:
    # 100 packets a slot came through. Half of them lost in one round trip is a burst, in two it is not.
    pacing = PacingLimit(WIRE)
    feed(pacing, 4 * ROUND + 2)
    feed(pacing, ROUND, acked=50, lost=50)
    feed(pacing, 2 * ROUND)
    assert pacing.phase is Phase.CRUISE and np.isinf(pacing.limit)
    feed(pacing, 2 * ROUND - 1, acked=50, lost=50)
    assert pacing.phase is Phase.CRUISE
    feed(pacing, 1, acked=50, lost=50)
    assert pacing.phase is Phase.TRIAL and pacing.limit == pytest.approx(MARGIN * 5 * WIRE)


def test_losses_at_a_rate_that_never_came_through_are_believed_at_once() -> None:
    # 120 packets a slot where 100 came through: a quarter of a round trip will do. At 105 it will not.
    pacing, burst = PacingLimit(WIRE), PacingLimit(WIRE)
    for each in (pacing, burst):
        feed(each, 4 * ROUND + 2)
    feed(pacing, ROUND // 4, acked=90, lost=30)
    feed(burst, ROUND // 4, acked=75, lost=30)
    assert pacing.limit == pytest.approx(MARGIN * 9 * WIRE)
    assert np.isinf(burst.limit)


def test_a_few_losses_say_nothing() -> None:
    # 3 of 30 segments in a round trip: 10 %, but 0.05 * 60 + 2 * sqrt(4) = 7 of 60 may be lost by chance.
    pacing = PacingLimit(WIRE)
    for _ in range(20):
        feed(pacing, ROUND - 1, acked=27 / 15)
        feed(pacing, 1, acked=0, lost=3)
    assert np.isinf(pacing.limit)


def test_slight_losses_are_asked_after_a_while() -> None:
    # 10 of 300: less than grave. Asked after four round trips, when five were heard whole: a trial at 0.98 * 290.
    pacing = PacingLimit(WIRE)
    feed(pacing, 4 * ROUND + 1, acked=290, lost=10)
    assert pacing.phase is Phase.CRUISE
    feed(pacing, 1, acked=290, lost=10)
    assert pacing.phase is Phase.TRIAL
    assert pacing.limit == pytest.approx(MARGIN * 29 * WIRE)


@pytest.mark.parametrize(
    ("lost", "deviations", "beyond"),
    # 0.05 of 100 is 5: 5 + 2 sqrt(6) = 9.9, and 5 + sqrt(6) = 7.4 by one deviation.
    [(9, 2.0, False), (10, 2.0, True), (7, 1.0, False), (8, 1.0, True)],
)
def test_more_than_a_share_is_more_by_its_deviations(lost: int, deviations: float, beyond: bool) -> None:
    count = parts.FateCount(segments=100.0, lost=float(lost), time_s=1.0)
    assert count.beyond(0.05, deviations=deviations) == beyond
    assert count.beyond(0.05, 4.0, deviations / 2) == beyond  # twice the standard deviation
    if deviations == 2.0:
        assert count.beyond(0.05) == beyond


@pytest.mark.parametrize(("segments", "time_s", "whole"), [(50, 4, True), (49, 4, False), (50, 3.9, False)])
def test_a_count_is_whole_with_fifty_segments_of_its_time(segments: int, time_s: float, whole: bool) -> None:
    assert parts.FateCount(float(segments), 0.0, time_s).complete(4.0) == whole


def test_trials_that_fail_are_made_ever_more_seldom_and_smaller() -> None:
    # The path carries what is sent and no more. A trial and its echo last 1.5 round trips; after a failed one 2, 4,
    # .. 64 go by. The first is of a quarter, those after a failure of a twentieth.
    path = Path(constant(10)).run(210)
    limits = path.limits
    trials = [slot for slot in range(1, len(limits)) if limits[slot] > 1.01 * limits[slot - 1]]
    assert (np.diff(trials) / ROUND - 1.5).tolist() == [2, 4, 8, 16, 32, 64, 64]
    assert [limits[slot] / 10 for slot in trials] == pytest.approx([1 + MAX_STEP] + [1 + MIN_STEP] * 7)


def test_a_trial_that_lost_a_hundredth_has_failed() -> None:
    # 12.5 packets a second for half a round trip, 1,000 in all, where 12.35 pass: 12 are lost, more than 5 + sqrt(6).
    # What came through is kept, but the next trial is of a twentieth.
    limits = Path(constant(12.35)).run(7).limits
    rises = [slot for slot in range(1, len(limits)) if limits[slot] > 1.001 * limits[slot - 1]]
    assert [limits[slot] for slot in rises] == pytest.approx(
        [12.5, MARGIN * 12.35, MARGIN * 12.35 * (1 + MIN_STEP)], rel=1e-3
    )


@pytest.mark.parametrize("clean", range(4 * ROUND + 2, 10 * ROUND, 7))
def test_two_whole_round_trips_of_grave_losses_are_enough(clean: int) -> None:
    # However long nothing was lost: one that the losses began in the midst of may count as well.
    pacing, slots = PacingLimit(WIRE), 0
    feed(pacing, clean)
    while pacing.phase is Phase.CRUISE and slots < 4 * ROUND:
        feed(pacing, 1, acked=50, lost=50)
        slots += 1
    assert slots <= 2 * ROUND


def test_losses_that_a_slower_pace_halves_are_its_own() -> None:
    # A tenth is lost whatever is sent. 30 % in two round trips: 0.98 * 70 / 0.9 on trial; of that 15 % are lost,
    # which is nearer to a tenth than to 30 %, so that pace stays.
    pacing = PacingLimit(WIRE)
    pacing.base_loss = 0.1
    feed(pacing, 4 * ROUND + 2, acked=90, lost=10)
    while pacing.phase is Phase.CRUISE:
        feed(pacing, 1, acked=70, lost=30)
    feed(pacing, int((LAG + 0.5) * ROUND), acked=85, lost=15)
    assert pacing.phase is Phase.CRUISE and pacing.base_loss == pytest.approx(0.15)
    held = pacing.limit
    assert held == pytest.approx(MARGIN * 7 / 0.9 * WIRE)
    # That much came through, and no more: grave losses at 10 packets a second are believed within a quarter.
    feed(pacing, ROUND // 4, acked=50, lost=50)
    assert pacing.phase is Phase.TRIAL and pacing.limit < held


def test_a_round_trip_of_less_than_a_second_is_one() -> None:
    pacing = PacingLimit(WIRE)
    for _ in range(20):
        pacing.update(SlotReport(0.1, 0.5, True, 100 * WIRE, 0.0, 2000.0 * WIRE, False, 1e9, False))
    assert pacing.limit < np.inf


def probe(
    *, carried: float, slots: int = 2, loud: float = 25.0, share: float = 10.0, seen: bool = False
) -> tuple[PacingLimit, int]:
    """A path that carries so many packets a second is probed in its first slots, and used at its share after that;
    heard until it is judged. Also in which slot."""
    pacing, slot = PacingLimit(WIRE), 0
    while slot <= 2 * ROUND and (slot < slots or pacing.phase is Phase.PROBE):
        before = slot - ROUND
        pace = 0.0 if before < 0 else loud if before < slots else share
        acked = min(pace, carried) * SLOT_S
        report = (acked * WIRE, pace * SLOT_S - acked, share * WIRE, seen, 1e9, slot < slots)
        pacing.update(SlotReport(SLOT_S, ROUND * SLOT_S, True, *report))
        slot += 1
    return pacing, slot


def test_the_fastest_slot_of_a_probes_echo_shows_what_a_path_carries() -> None:
    # Sounded in slots 0 and 1, at 25 packets a second of which 14 pass; at its share of 10 all do. Slot 17 tells of
    # slot 1; judged with the next but one, for acknowledgements that come in part of a slot: slot 19 is the twentieth.
    pacing, slot = probe(carried=14)
    assert slot == 2 + ROUND + 2
    assert pacing.phase is Phase.CRUISE and pacing.limit == pytest.approx(MARGIN * 14 * WIRE)
    # What was sent before that is not judged by the new bound: grave losses for a round trip and a quarter, and trials.
    feed(pacing, int(LAG * ROUND), acked=50, lost=50)
    assert pacing.phase is Phase.CRUISE
    # A round trip later it is tried, by a twentieth, since the echo told what it carries.
    while pacing.phase is Phase.CRUISE:
        feed(pacing, 1, acked=140)
    assert pacing.limit == pytest.approx(MARGIN * 14 * WIRE * (1 + MIN_STEP))


def test_a_path_that_carried_its_probe_is_tried_by_a_quarter() -> None:
    pacing, _ = probe(carried=1e6)
    assert pacing.limit == pytest.approx(MARGIN * 25 * WIRE)
    while pacing.phase is Phase.CRUISE:
        feed(pacing, 1, acked=245)
    assert pacing.limit == pytest.approx(MARGIN * 25 * WIRE * (1 + MAX_STEP))


def test_a_probed_path_whose_queue_showed_the_rate_is_free() -> None:
    pacing, _ = probe(carried=14, seen=True)
    assert pacing.phase is Phase.CRUISE and pacing.limit == np.inf


def test_more_than_came_through_in_a_probe_is_an_overload() -> None:
    # 14 packets a second came through. At 16 and grave losses a quarter of a round trip will do, at 15 it will not.
    for sent, phase in ((160, Phase.TRIAL), (150, Phase.CRUISE)):
        pacing, _ = probe(carried=14)
        feed(pacing, int(LAG * ROUND), acked=140)
        feed(pacing, ROUND // 4, acked=0.8 * sent, lost=0.2 * sent)
        assert pacing.phase is phase


def test_a_probe_whose_echo_is_lost_in_an_outage_shows_nothing() -> None:
    # What comes in at once after an outage of a round trip would look like a path of a thousand packets a second.
    pacing = PacingLimit(WIRE)
    pacing.update(SlotReport(SLOT_S, ROUND * SLOT_S, True, 0.0, 0.0, 10.0 * WIRE, False, 1e9, True))
    assert pacing.phase is Phase.PROBE
    down = (False, 0.0, 0.0, 10.0 * WIRE, False, 1e9, False)
    pacing.update(SlotReport(SLOT_S, ROUND * SLOT_S, *down))
    assert pacing.phase is Phase.CRUISE
    for slot in range(3 * ROUND):
        acked = 1e4 if slot == 3 else 100.0
        report = (acked * WIRE, 0.0, 10.0 * WIRE, False, 1e9, False)
        pacing.update(SlotReport(SLOT_S, ROUND * SLOT_S, True, *report))
    assert 9 * WIRE <= pacing.limit <= 10 * (1 + MAX_STEP) * WIRE


@pytest.mark.parametrize("queue_seen", [False, True])
def test_a_fade_that_passes_during_a_trial_leaves_the_rate_as_it_was(queue_seen: bool) -> None:
    # A quarter is lost for so long that a trial begins, and nothing of what is sent in it. Whoever takes the sender for
    # the cause has 7.5 packets a second and tries 5 % more at a time; whoever alternates loses of both turns alike, and
    # goes back to the rate of before.
    def fade(slot: int) -> float:
        return 0.25 if 10 * ROUND <= slot < int(13.3 * ROUND) else 0.0

    stays, back = (
        Path(constant(10), fade, demand=10, queue_seen=queue_seen, pacing=PacingLimit(WIRE, alternates)).run(
            24
        )
        for alternates in (False, True)
    )
    fallen = [min(path.limits[12 * ROUND : 16 * ROUND]) for path in (stays, back)]
    assert fallen == pytest.approx([MARGIN * 7.5] * 2)
    assert max(stays.sent[16 * ROUND : 20 * ROUND]) < 86
    assert min(back.sent[18 * ROUND :]) >= MARGIN * 100


def test_a_path_that_has_become_slower_is_held_to_what_it_carries_after_one_trial() -> None:
    # 10 of 20 packets a second pass. For half a round trip 0.98 of 10 and 20 take turns; 20, which came through once,
    # is gone on with until that was heard, a round trip and a quarter. Trials after that are of a twentieth.
    def capacity(slot: int) -> float:
        return 20.0 if slot < 10 * ROUND else 10.0

    path = Path(capacity, start=20, pacing=PacingLimit(WIRE, alternates=True)).run(40)
    slow = MARGIN * 10
    began = next(slot for slot in range(10 * ROUND, 40 * ROUND) if path.limits[slot] < 20)
    heard = began + ROUND // 2 + int(LAG * ROUND)
    assert path.limits[began:heard] == pytest.approx([slow, 20.0] * (ROUND // 4) + [20.0] * int(LAG * ROUND))
    assert path.limits[heard] == pytest.approx(slow)
    assert max(path.limits[heard:]) == pytest.approx(slow * (1 + MIN_STEP))
    assert path.share_lost(18, 40) < 0.01 and path.share_used(18, 40) > 0.95


def test_until_a_first_trial_is_heard_of_the_rate_of_before_is_gone_on_with() -> None:
    # A quarter is the channel's from the first packet on: no rate has come through without.
    path = Path(constant(20), constant(0.25), pacing=PacingLimit(WIRE, alternates=True)).run(3)
    assert path.turns.count(Turn.SLOWER) == path.turns.count(Turn.FASTER) == ROUND // 4
    for sent, turn in zip(path.sent, path.turns, strict=True):
        assert sent == pytest.approx(MARGIN * 75 if turn is Turn.SLOWER else 100)


@pytest.mark.parametrize("turn", [Turn.SLOWER, Turn.FASTER])
def test_a_rest_ends_a_trial_at_the_rate_of_before_it(turn: Turn) -> None:
    # 10 packets a second come through, then 12.5 are tried in turns with 10.
    pacing = PacingLimit(WIRE, alternates=True)
    while pacing.turn is not turn:
        pacing.update(
            SlotReport(SLOT_S, ROUND * SLOT_S, True, 100.0 * WIRE, 0.0, 10.0 * WIRE, False, 1e9, False)
        )
    assert pacing.limit == (12.5 if turn is Turn.FASTER else 10) * WIRE
    parts.rest(pacing, 1.1)
    assert (pacing.phase, pacing.turn) == (Phase.CRUISE, Turn.NONE)
    assert pacing.limit == pytest.approx(11 * WIRE)


@pytest.mark.parametrize("held", [False, True])
def test_who_causes_losses_loses_of_a_rate_what_is_beyond_the_path(held: bool) -> None:
    # A twentieth is the channel's, then 0.3 until a trial begins. A path that carried no more than its slower rate
    # would lose of the other the excess of what the channel leaves. Half of that is enough.
    def loss(slot: int) -> float:
        if slot < 12 * ROUND:
            return 0.05
        if path.turns[slot] is Turn.FASTER:
            slower = path.limits[path.turns.index(Turn.SLOWER, 12 * ROUND) - 1]
            return 0.05 + 0.95 * (1 - slower / 10) / 2 * (1.05 if held else 0.95)
        return 0.3 if Turn.SLOWER not in path.turns[12 * ROUND :] else 0.05

    limit = PacingLimit(WIRE, alternates=True)
    path = Path(constant(20), loss, demand=10, queue_seen=True, pacing=limit)
    path.run(18)
    assert (path.limits[-1] < 10) is held


def test_bursts_of_losses_leave_the_rate_as_it_was() -> None:
    # A slot of 100 packets loses 20 of them with probability a half, else none: 10 on average, with a variance of 100.
    # Who takes it for a Poisson count's, 10, takes chance for losses of its own.
    draws = np.random.default_rng(5)
    for _ in range(20):
        losses = 0.2 * (draws.random(200 * ROUND) < 0.5)
        path = Path(constant(10), losses.__getitem__, demand=10, pacing=PacingLimit(WIRE, alternates=True))
        path.run(200)
        assert np.mean(path.sent[60 * ROUND :]) >= 0.97 * 10 * SLOT_S


def test_a_rate_that_was_lost_comes_back_in_steps_that_double() -> None:
    # 20 packets a second pass, then 3, then 20 again. Trials go up by a twentieth, a tenth, 0.2, 0.4, 0.8, and to the
    # rate of before: six, of 2.75 round trips each. With steps of a quarter at most there are eleven.
    def capacity(slot: int) -> float:
        return 3.0 if 10 * ROUND <= slot < 25 * ROUND else 20.0

    path = Path(capacity, start=20, pacing=PacingLimit(WIRE, alternates=True)).run(80)
    assert min(path.limits[20 * ROUND : 30 * ROUND]) == pytest.approx(3 * MARGIN)
    first = next(slot for slot in range(25 * ROUND, 80 * ROUND) if path.limits[slot] > 3.2)
    steps = [path.limits[s + 1] / path.limits[s] for s in range(first, len(path.limits) - 1)]
    assert max(steps) > 1.5
    again = next(slot for slot in range(first, len(path.limits)) if path.limits[slot] > 18)
    assert (again - first) / ROUND < 7 * 2.75


@pytest.mark.parametrize(("burst", "times"), [(1, 1.0), (20, 20.0), (50, 50.0)])
def test_the_dispersion_of_bursts_is_their_length(burst: int, times: float) -> None:
    # Bursts of b packets, each begun by chance: the variance of a count is b times its mean.
    draws = np.random.default_rng(6)
    dispersion = parts.Dispersion()
    assert dispersion.times() == 1
    told = []
    for _ in range(4000):
        dispersion.add(1000.0, float(burst * draws.poisson(50 / burst)))
        told.append(dispersion.times())
    assert np.mean(told[200:]) == pytest.approx(times, rel=0.25, abs=0.3)


def test_a_step_of_losses_is_no_dispersion() -> None:
    dispersion = parts.Dispersion()
    for lost in [0.0] * 50 + [250.0] * 50 + [20.0] * 50:
        dispersion.add(1000.0, lost)
        assert dispersion.times() == 1
    # Every other slot: (0.25 - 0)^2 times 1000 of each three, over the mean share.
    dispersion = parts.Dispersion()
    for lost in (250.0, 0.0, 250.0):
        dispersion.add(1000.0, lost)
    assert dispersion.times() == pytest.approx((62.5 + 0.05) / (0.5 / 3 + 0.05))
    dispersion.skip()  # what comes next follows none of these, and 7 packets tell nothing
    before = dispersion.times()
    for segments, lost in ((1000.0, 0.0), (1000.0, 250.0), (7.0, 0.0), (1000.0, 250.0), (1000.0, 0.0)):
        dispersion.add(segments, lost)
        assert dispersion.times() == before


def random_slots(seed: int, rounds: int) -> list[SlotReport]:
    """A path whose capacity, losses, demand and outages change now and then; what comes back is a round trip old."""
    rng = np.random.default_rng(seed)
    capacity, loss, pace, up = 10.0, 0.0, 20.0, True
    queue_seen, probed = bool(rng.random() < 0.3), int(rng.integers(0, 4))
    sent: list[tuple[float, float]] = []
    slots = []
    for slot in range(rounds * ROUND):
        if rng.random() < 0.02:
            capacity, loss = float(rng.uniform(2, 40)), float(rng.choice([0.0, 0.004, 0.03, 0.2, 1.0]))
        if rng.random() < 0.05:
            pace = float(rng.uniform(1, 50))
        up = not up if rng.random() < (0.005 if up else 0.1) else up
        queue_seen ^= bool(rng.random() < 0.002)
        carried = min(pace, capacity) * (1 - loss)
        sent.append((carried * SLOT_S * WIRE, (pace - carried) * SLOT_S))
        acked, lost = sent[slot - ROUND] if slot >= ROUND else (0.0, 0.0)
        shown = float(rng.uniform(0.9, 1.1)) * capacity * WIRE
        slot_s = SLOT_S if rng.random() < 0.9 else float(rng.uniform(1, SLOT_S))
        srtt_s = (ROUND * SLOT_S if slot % 97 else SLOT_S / 2) if slot else 0.0
        report = (slot_s, srtt_s, up, acked, lost, pace * WIRE, queue_seen, shown, 0 < slot <= probed)
        # Turns of which one loses what the other does, or nothing; sometimes nothing is told of one.
        halves = [(acked / 2, lost / 2 * float(rng.integers(0, 2)), slot_s / 2) for _turn in range(2)]
        told = [SentThen(*half) if rng.random() < 0.9 else SentThen() for half in halves]
        slots.append(SlotReport(*report, *told))
    return slots


def test_every_slot_is_the_arithmetics_to_the_last_bit() -> None:
    phases, limits = set(), set()
    for seed in range(30):
        alternates = seed % 2 == 1
        ours, reference = PacingLimit(WIRE, alternates), ReferenceLimit(WIRE, alternates=alternates)
        for slot in random_slots(seed, 60):
            ours.update(slot)
            reference.update(slot)
            assert (ours.limit, ours.base_loss, ours.phase, ours.turn) == (
                reference.limit,
                reference.base_loss,
                reference.phase,
                reference.turn,
            )
            phases.add(ours.phase)
            limits.add(ours.limit)
    assert phases == set(Phase)
    assert len(limits) > 250
