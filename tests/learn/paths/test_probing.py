"""Probing: in which slots a path is asked for more than its share, and when a queue counts as deep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dstcc.engine import _engine
from dstcc.engine._testing import parts
from dstcc.learn.paths.probing import Probing

from .test_measure import WIRE, Row, limits, rates_of, slot

UNKNOWN_GAIN, SOURCE_GAIN = _engine.RATE_GAINS
SHARE_GAIN, SLOTS, DEEP, STANDING_GAIN = _engine.PROBING
NEED = 8.0
SHARE = SOURCE_GAIN * NEED
"""Packets a second: of a source that needs 8, on its only path."""


def heard(*slots: tuple[bool, str, float], before: Any = None) -> Any:
    """Slots of one path: whether its pace was used, how its queue was, and how many slots it held."""
    probe = before or parts.Probe()
    for used, queue, held in slots:
        probe.update(used, queue == "stands", queue == "dry", held)
    return probe


def test_a_path_is_probed_until_it_is_dry_at_more_than_its_share() -> None:
    # The first slot is at its share and says nothing of more; the second was loud.
    assert heard().share_gain == SHARE_GAIN
    first = heard((True, "dry", 0.0))
    assert first.share_gain == SHARE_GAIN and first.probed
    second = heard((True, "dry", 0.0), before=first)
    assert second.share_gain == 1 and second.probed
    third = heard((True, "dry", 0.0), before=second)
    assert third.share_gain == 1 and not third.probed


def test_slots_whose_pace_nobody_used_do_not_count() -> None:
    unused = heard(*[(False, "dry", 0.0)] * 9)
    assert not unused.probed and heard((True, "dry", 0.0), before=unused).share_gain == SHARE_GAIN


def test_a_queue_that_stands_is_asked_for_half_as_much_again_until_it_is_deep() -> None:
    standing = heard((True, "stands", 0.1))
    assert standing.gain == STANDING_GAIN == 1.5 and not standing.deep
    assert standing.share_gain == SHARE_GAIN
    state = heard((True, "stands", 0.3), before=standing)
    assert state.deep and state.gain == 1 and state.share_gain == 1
    # DEEP itself is not more than DEEP; a queue that stands without being deep has three slots
    assert SLOTS == 3
    never = heard(*[(True, "stands", DEEP)] * 3)
    assert not never.deep and never.gain == 1 and never.share_gain == 1
    twice = heard(*[(True, "stands", DEEP)] * 2)
    assert twice.share_gain == SHARE_GAIN and twice.gain == STANDING_GAIN


def test_a_queue_may_turn_out_to_be_deep_at_any_time() -> None:
    later = heard(*[(True, "dry", 0.0)] * 2, (False, "stands", 0.3))
    assert later.deep
    assert heard((False, "dry", 0.0), before=later).deep, "for good"
    # what waits without standing was fed below the pace, and says nothing
    assert not heard((False, "waits", 9.0)).deep


def test_trials_are_probed_each_by_itself() -> None:
    probing = Probing(2, 1)
    probing.deep[:] = probing.probed[:] = True
    probing.gain[:], probing.left[:] = STANDING_GAIN, 0
    probing.begin(1)
    assert probing.state[1].tolist() == [(False, False, 1.0, SLOTS)]
    assert probing.state[0].tolist() == [(True, True, STANDING_GAIN, 0.0)]


def test_a_path_that_carries_twice_its_share_is_found_in_three_slots() -> None:
    # A need of 8: the share is 10, and the path carries 18. Dry at 9 it seems to carry 2.5 * 9, and may get 25.
    # At that 70 of 250 packets wait after a slot, of which 180 leave: more than a quarter. When it drained to 20 the
    # rate is known, and nothing holds the path.
    rates = rates_of(1, NEED, probes=True)
    rates.update(slot(Row()))
    assert limits(rates) == [SHARE_GAIN * SHARE] == [25]
    rates.update(slot(Row(90, 0, 9)))
    assert rates.rate[0, 0] / WIRE == pytest.approx(SHARE_GAIN * 9) and limits(rates) == [25]
    rates.update(slot(Row(250, 70, 25)))
    assert rates.rate[0, 0] / WIRE == pytest.approx(18) and limits(rates) == [SHARE]
    assert not rates.known.any()
    rates.update(slot(Row(130, 20, 13)))
    assert rates.known.all() and limits(rates) == [np.inf]
    assert rates.rate[0, 0] / WIRE == pytest.approx(18)


def test_a_deep_queue_that_is_dry_after_its_probing_keeps_the_rate_that_it_showed() -> None:
    # After the 70 packets above 10 a second are sent: 180 leave, and the queue is dry. 18 was shown; 36 was not.
    rates = rates_of(1, NEED, probes=True)
    for one in (Row(), Row(90, 0, 9), Row(250, 70, 25), Row(100, 0, 10)):
        rates.update(slot(one))
    assert rates.known.all() and rates.rate[0, 0] / WIRE == pytest.approx(18)


def test_actions_are_relative_to_what_a_probing_asks_for() -> None:
    # Of 9 packets a second 8 leave; half as much again would make the queue deep: 12 for a round trip of 40 s.
    rates = rates_of(1, NEED, probes=True)
    for one in (Row(), Row(90, 10, 9)):
        rates.update(slot(one))
    units = rates.units(slot(Row()))
    assert units.window[0, 0] == pytest.approx(1.5 * 8 * 40)
    assert units.limit[0, 0] == pytest.approx(25 / 12)


def test_a_shallow_queue_is_probed_in_two_slots_and_then_has_its_share() -> None:
    # Dry at whatever pace. Twice the share is what it may seem to carry.
    rates = rates_of(1, NEED, probes=True)
    rates.update(slot(Row()))
    paces = []
    for _ in range(6):
        pace = min(rates.rate[0, 0], rates.limit[0, 0]) / WIRE
        paces.append(pace)
        rates.update(slot(Row(10 * pace, 2, pace)))
    assert paces == pytest.approx([8, 20, 10, 10, 10, 10])
    assert rates.rate[0, 0] / WIRE == pytest.approx(UNKNOWN_GAIN * SHARE)
    # as much as came through in the fastest slot of the echo, 8 packets a second, 0.98 of it
    for _ in range(16):
        pace = min(rates.rate[0, 0], rates.limit[0, 0]) / WIRE
        rates.update(slot(Row(10 * pace, 2, pace, acked=80, lost=2)))
        if rates.pacing_limits[0][0].limit < np.inf:
            break
    assert limits(rates) == pytest.approx([0.98 * 8])
    assert rates.probing.left.tolist() == [[0]]
