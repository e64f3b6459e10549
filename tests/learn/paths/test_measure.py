"""What a path carries, from what was sent and what waits at the sender; and what actions are relative to."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from dstcc.engine import Stepper, _engine
from dstcc.engine.stepper import AUTOMATIC, EPISODE_VALUES, REPAIRABLE, SUBFLOW_VALUES
from dstcc.learn.algorithms.recipes import RECIPES
from dstcc.learn.env.deep_space import make_specs, to_episodes
from dstcc.learn.env.runner import Runner
from dstcc.learn.paths.captured import Captured
from dstcc.learn.paths.measure import Rates, Units
from dstcc.learn.spaces.measured_actions import MeasuredActions

WIRE = 1500
SLOT_S = 10.0


class Row(NamedTuple):
    """A subflow in a slot: packets sent, waiting, acknowledged and lost; its pace in packets a second."""

    sent: float = 0.0
    queue: float = 0.0
    pace: float = 10.0
    up: float = 1.0
    acked: float = 0.0
    lost: float = 0.0


def slot(*rows: Row) -> Any:
    """Ten seconds; a round trip takes 40."""

    def values(row: Row) -> list[float]:
        named = {
            "established": 1.0,
            "srtt_s": 40.0,
            "one_way_s": 20.0,
            "sent_segments": row.sent,
            "queue_bytes": row.queue * WIRE,
            "pacing_bps": 8 * WIRE * row.pace,
            "link_up": row.up,
            "delivered_bytes": row.acked * WIRE,
            "lost_segments": row.lost,
        }
        return [named.get(name, 0.0) for name in SUBFLOW_VALUES]

    own = [{"slot_s": SLOT_S, "time_s": 100.0}.get(name, 0.0) for name in EPISODE_VALUES]
    return SimpleNamespace(
        subflow_values=np.array([[values(row) for row in rows]]), episode_values=np.array([own])
    )


def rates_of(paths: int, need: float, *, probes: bool = False) -> Rates:
    """Of a source that captures `need` packets a second: by 100 s, two chunks in two seconds. No path is probed."""
    rates = Rates(1, paths)
    rates.packet_bytes[:], rates._paths[:] = WIRE, paths
    rates.pacing_limits[0] = [_engine.PacingLimit(WIRE) for _ in range(paths)]
    if not probes:
        rates.probing.left[:] = 0
    rates._sources[0] = Captured(np.array([0.0, 1.0]), np.array([need * WIRE, 2 * need * WIRE]))
    return rates


def measured(*slots: Row, need: float = 4.0) -> float:
    rates = rates_of(1, need)
    for one in slots:
        rates.update(slot(one))
    return float(rates.rate[0, 0]) / WIRE


def test_before_the_first_slot_it_is_what_the_video_needs() -> None:
    assert measured(Row()) == 4


def test_a_standing_queue_shows_what_left() -> None:
    # Need 8: of 100 packets 30 wait, so 70 left in 10 s. Of 60 and the 30 before, 20 wait: 70 again, and the queue was
    # not full. Then 58 left, so half of 7 and half of 5.8.
    assert measured(Row(), Row(100, 30), need=8) == pytest.approx(7)
    assert measured(Row(), Row(100, 30), Row(60, 20), need=8) == pytest.approx(7)
    assert measured(Row(), Row(100, 30), Row(60, 20), Row(60, 22), need=8) == pytest.approx(6.4)


def test_a_queue_that_ran_dry_shows_the_least_it_can_be() -> None:
    assert measured(Row(), Row(90, 0, 9), need=8) == 18
    assert measured(Row(), Row(110, 0, 11), need=8) == 20  # twice the pace that is allowed, which is 1.25 * 8
    assert measured(Row(), Row(100, 30), Row(10, 0, 7), need=8) == 7  # the pace was not used: nothing learned


def limits(rates: Rates) -> list[float]:
    """What each path may be asked for, in packets a second."""
    per_path: list[float] = (rates.limit[0] / WIRE).tolist()
    return per_path


def test_what_no_queue_has_shown_shares_what_the_source_needs_and_a_quarter_more() -> None:
    # A need of 8 and two paths: each 1.25 * 8 / 2 = 5, whatever their queues look like.
    rates = rates_of(2, 8)
    for one in (slot(Row(), Row()), slot(Row(40, 10, 4), Row(40, 0, 4))):
        rates.update(one)
    assert limits(rates) == [5, 5]
    # A queue of 30 packets after 40 were sent in a slot is deep: of 4 packets a second 1 left. It was not full in the
    # next slot, 12 after it, in which 0 were sent, so 1.8 left. The other gets 10 - 1.8.
    rates = rates_of(2, 8)
    for one in (slot(Row(), Row()), slot(Row(40, 30, 4), Row(40, 0, 4)), slot(Row(0, 12, 4), Row(40, 0, 4))):
        rates.update(one)
    assert rates.known.tolist() == [[True, False]]
    assert limits(rates) == pytest.approx([np.inf, 8.2])
    assert rates.rate[0] / WIRE == pytest.approx([1.8, 16])


def test_a_queue_at_its_deepest_may_have_dropped_and_can_only_lower_the_rate() -> None:
    # Need 4. Ten packets wait after whatever was sent, and "left" is what was dropped.
    rates = rates_of(1, 4)
    rates.update(slot(Row()))
    for _ in range(40):
        pace = 1.3 * rates.rate[0, 0] / WIRE
        rates.update(slot(Row(10 * pace, 10, pace)))
    assert rates.rate[0, 0] / WIRE == pytest.approx(4)
    assert not rates.known.any()
    rates.update(slot(Row(20, 10, 2)))  # less left: believed
    assert rates.rate[0, 0] / WIRE == pytest.approx(2)
    rates.update(slot(Row(49, 9, 4.9)))  # 9 are more than 0.8 of 10
    assert rates.rate[0, 0] / WIRE == pytest.approx(2)
    rates.update(slot(Row(49, 7, 4.9)))  # 7 are not: 49 + 2 left in 10 s
    assert rates.rate[0, 0] / WIRE == pytest.approx(5.1)


@pytest.mark.parametrize(("deep", "seen"), [(11, True), (9, False)])
def test_only_a_queue_that_holds_a_quarter_of_a_slot_shows_the_rate(deep: float, seen: bool) -> None:
    # At 4 packets a second a slot has 40, and a quarter of it is 10.
    rates = rates_of(1, 4)
    for one in (Row(), Row(40 + deep, deep, 5.0), Row(40, 5, 4)):
        rates.update(slot(one))
    assert rates.known.tolist() == [[seen]]


def test_a_queue_that_once_held_is_not_believed_while_full() -> None:
    # It held 30 packets and showed 7.5 a second. Full again at twice the pace it shows no more, until it has space; a
    # slot in which it ran dry at 9 shows 9.
    rates = rates_of(1, 8)
    for one in (Row(), Row(100, 30), Row(60, 15)):
        rates.update(slot(one))
    assert rates.known.all() and rates.rate[0, 0] / WIRE == pytest.approx((7 + 7.5) / 2 + 0.25)
    rates.update(slot(Row(165, 30, 16.5)))
    assert rates.rate[0, 0] / WIRE == pytest.approx(7.5)
    for one in (Row(90, 0, 9), Row(165, 30, 16.5)):
        rates.update(slot(one))
    assert rates.rate[0, 0] / WIRE == pytest.approx(9)


def test_a_shallow_queue_that_looks_dry_does_not_let_the_pace_run_away() -> None:
    # Ten slots at whatever pace, none acknowledged: 1.25 times what is needed. Then 5 a second are, without a loss, and
    # it gets no more; twice that is what it seems to carry.
    rates = rates_of(1, 4)
    rates.update(slot(Row()))
    for slots, acked in ((10, 0), (4, 50)):
        for _ in range(slots):
            pace = min(rates.rate[0, 0], rates.limit[0, 0]) / WIRE
            rates.update(slot(Row(10 * pace, 2, pace, acked=acked)))
    assert limits(rates) == pytest.approx([5])
    assert rates.rate[0, 0] / WIRE == pytest.approx(10)


def test_a_path_that_is_held_has_no_more_than_that() -> None:
    # 50 packets a slot are sent, and 25 come: 0.98 of them from the first quarter of a round trip on.
    rates = rates_of(1, 4)
    rates.update(slot(Row()))
    for _ in range(4):
        rates.update(slot(Row(50, 2, 5, acked=25, lost=25)))
    assert limits(rates) == pytest.approx([0.98 * 2.5])


def test_room_is_kept_for_paths_whose_handshake_is_under_way() -> None:
    # Of a need of 8 the other path is to begin with 4, so this one gets 1.25 * 8 - 4.
    rates = rates_of(2, 8)
    for _ in range(5):
        one = slot(Row(10, 0, 1), Row())
        one.subflow_values[0, 1] = 0
        rates.update(one)
    assert limits(rates)[0] == pytest.approx(6)
    assert rates.rate[0, 1] == 0


def test_each_path_gets_its_share_of_the_need_however_much_others_carry() -> None:
    # One was shown to carry 20 packets a second of a need of 8. The other is tried with 4 all the same.
    rates = rates_of(2, 8)
    for one in (Row(), Row(290, 90, 20), Row(180, 70, 20)):
        absent = slot(one, Row())
        absent.subflow_values[0, 1] = 0
        rates.update(absent)
    assert rates.known.tolist() == [[True, False]]
    rates.update(slot(Row(200, 60, 20), Row()))
    assert limits(rates)[1] == pytest.approx(4)


def test_a_source_without_a_clock_starts_from_the_window_and_fills_two_round_trips() -> None:
    # All 800 packets are there at once: 800 / 2 / 40 s = 10 packets a second before anything is acknowledged.
    rates = rates_of(1, 0)
    rates._sources[0] = Captured(np.array([0.0]), np.array([800.0 * WIRE]))
    first = slot(Row())
    first.subflow_values[0, 0, SUBFLOW_VALUES.index("cwnd_segments")] = 40
    rates.update(first)
    assert rates.rate[0, 0] / WIRE == pytest.approx(1)
    for _ in range(8):
        pace = min(rates.rate[0, 0], rates.limit[0, 0]) / WIRE
        rates.update(slot(Row(10 * pace, 0, pace)))
    assert limits(rates) == pytest.approx([10])


def test_nothing_is_learned_in_the_dark() -> None:
    assert measured(Row(), Row(100, 30), Row(100, 90, up=0.0), need=8) == pytest.approx(7)


def test_a_pace_is_told_as_a_share_of_the_rate() -> None:
    rates = rates_of(2, 8)
    rates.update(slot(Row(), Row()))
    assert rates.units(slot(Row(), Row())).limit.tolist() == [[1.25, 1.25]]


def test_windows_fill_the_queue_to_a_share_of_a_slot() -> None:
    spec = MeasuredActions(
        subflows=2, layers=3, windows=((0.0, 0.0), (1.0, 0.25)), orders=((0.05, 0.0), (1000.0, 0.5))
    )
    assert spec.branches == (2, 2, 4, 2)
    one = np.array([[400.0, 400.0]]), np.array([[0.05, 0.05]]), np.array([600.0])
    free = np.full((1, 2), np.inf)
    units = Units(*one, lossiest=np.array([0]), top_layer=np.array([1]), limit=free)
    decoded = spec.decode(np.array([[1, 0, 1, 0]]), units)
    assert not decoded.alpha_q16.any()
    assert decoded.beta.tolist() == [[round(400 * 1.2), 0]]
    assert decoded.layer_subflow.tolist() == [[AUTOMATIC, 0, AUTOMATIC]]  # the top of the trial's two
    assert decoded.order.tolist() == [[30.0, 0.0]]
    decoded = spec.decode(np.array([[1, 1, 1, 0]]), replace(units, limit=np.array([[0.9, 1.3]])))
    assert decoded.beta.tolist() == [[360, 480]]  # held to 0.9 of the rate; free to 1.2
    nowhere = Units(
        one[0], np.array([[5.0, 0.0]]), one[2], lossiest=np.array([-1]), top_layer=np.array([2]), limit=free
    )
    decoded = spec.decode(np.array([[1, 1, 1, 1]]), nowhere)
    assert decoded.beta[0, 0] == 40  # a tenth, however much waits
    assert decoded.layer_subflow.tolist() == [[AUTOMATIC] * 3]
    table = [spec.decode(np.array([[1, 1, place, 1]]), nowhere).layer_subflow[0].tolist() for place in (2, 3)]
    assert table == [[REPAIRABLE, AUTOMATIC, AUTOMATIC], [REPAIRABLE, REPAIRABLE, AUTOMATIC]]


def test_a_path_that_is_probed_is_asked_for_no_less_than_its_rate() -> None:
    """Probing concludes from a queue that drains at 2.5 times a path's share; at 0.7 of that it was asked for 1.75."""
    spec = MeasuredActions(
        subflows=2, layers=2, windows=((0.7, 0.0), (1.0, 0.5), (0.0, 0.0)), orders=((0.0, 0.0),)
    )
    units = Units(
        *(np.full((1, 2), 400.0), np.zeros((1, 2)), np.array([600.0])),
        lossiest=np.array([-1]),
        top_layer=np.array([1]),
        limit=np.full((1, 2), np.inf),
        probed=np.array([[True, False]]),
    )
    assert spec.decode(np.array([[0, 0, 0, 0]]), units).beta.tolist() == [[400, 280]]
    assert spec.decode(np.array([[1, 1, 0, 0]]), units).beta.tolist() == [
        [600, 600]
    ]  # more than its rate is no less
    assert spec.decode(np.array([[2, 2, 0, 0]]), units).beta.tolist() == [
        [0, 0]
    ]  # a path that rests is not probed
    held = replace(units, limit=np.array([[0.9, 0.9]]), queue=np.array([[0.3, 0.0]]))
    assert spec.decode(np.array([[0, 0, 0, 0]]), held).beta.tolist() == [[280, 280]]  # 1 - 0.3, and 0.7


def test_what_goes_twice_is_nothing_or_base_layers_or_all() -> None:
    spec = MeasuredActions(subflows=1, layers=3, windows=((1.0, 0.0),), orders=((0.0, 0.0),), copies=True)
    assert spec.branches == (1, 3, 4, 1)
    units = Units(
        *(np.ones((1, 1)), np.zeros((1, 1)), np.ones(1)),
        lossiest=np.array([-1]),
        top_layer=np.array([2]),
        limit=np.full((1, 1), np.inf),
    )
    copied = [spec.decode(np.array([[0, spare, 0, 0]]), units).copied[0].tolist() for spare in range(3)]
    assert copied == [[0, 0, 0], [1, 0, 0], [1, 1, 1]]


def test_measured_actions_need_the_measured_observation(short: Any) -> None:
    episodes = to_episodes(short)
    _, action = make_specs(episodes, **RECIPES["dstcc-lanes"].environment)
    observation, _ = make_specs(episodes, observation="full")
    with pytest.raises(ValueError, match="need the observation 'measured'"):
        Runner(1, observation, action)


def test_the_rates_of_a_mission_are_found(short: Any) -> None:
    episodes = to_episodes(short)
    observation, action = make_specs(episodes, **RECIPES["dstcc-lanes"].environment)
    runner = Runner(1, observation, action)
    config = episodes.config(1, action)
    runner.begin(0, config)
    for _ in range(20):
        runner.step(np.array([[2, 2, 0, 0, 0]]))
    assert isinstance(runner.stepper, Stepper)
    learned = runner._observer.rates  # type: ignore[union-attr]
    for rate, link in zip(8 * learned.rate[0], config.links, strict=True):
        assert rate <= 2.0 * link.rate_bps
    assert 8 * learned.rate[0].sum() > 0.9 * 8 * learned.source_rate[0, 0]


def test_a_path_is_probed_while_slots_of_its_probing_are_left() -> None:
    rates = rates_of(4, 4.0, probes=True)
    rates.probing.left[:] = [[0, 1, 2, 20]]
    probed = rates.units(slot(*[Row()] * 4)).probed
    assert probed.tolist() == [[False, True, True, True]]
