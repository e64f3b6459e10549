"""What relative actions are relative to, and the memory behind it: losses, queues, whose trial it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import _engine
from dstcc.engine.config import NEVER_NS
from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES
from dstcc.learn.paths.captured import Captured
from dstcc.learn.paths.measure import VIDEOS, Rates
from tests.made_results import objects

from .test_measure import WIRE, Row, rates_of, slot

S = 10**9


def after(*slots: Any, paths: int = 2, need: float = 8.0) -> Rates:
    rates = rates_of(paths, need)
    for one in slots:
        rates.update(one)
    return rates


def with_values(made: Any, name: str, *values: float) -> Any:
    made.subflow_values[0, :, SUBFLOW_VALUES.index(name)] = values
    return made


def beside(first: Any, second: Any) -> Any:
    """Two trials' slots as one stepper's."""
    pairs = ((getattr(first, name), getattr(second, name)) for name in ("subflow_values", "episode_values"))
    return SimpleNamespace(
        **dict(zip(("subflow_values", "episode_values"), map(np.concatenate, pairs), strict=True))
    )


def test_losses_are_a_share_of_what_came_to_be_known_and_fade() -> None:
    rates = after(slot(Row(lost=2, acked=8), Row(acked=10)))
    assert rates.loss()[0] == pytest.approx([2 / 10, 0])
    rates.update(slot(Row(), Row()))
    assert rates.loss()[0] == pytest.approx([2 / 10, 0]), "both counts fade alike"
    # the first slot counts 0.98² of itself: 1.9208 lost of 9.604; now 1 of 5 more
    rates.update(slot(Row(lost=1, acked=4), Row(lost=3, acked=7)))
    assert rates.loss()[0] == pytest.approx([2.9208 / 14.604, 3 / (9.604 + 10)])


def test_trials_side_by_side_do_not_mix() -> None:
    ours = [
        slot(Row(), Row()),
        slot(Row(40, 30, 4), Row(40, 0, 4)),
        slot(Row(9, 3, 1), Row(78, 0, 7.8, lost=3)),
    ]
    theirs = [
        slot(Row(), Row(up=0.0)),
        slot(Row(20, 0, 2), Row(3, 1, 2)),
        slot(Row(21, 1, 2.1), Row(9, 9, 1)),
    ]
    theirs[0].subflow_values[0, 1] = 0  # its second path is not there yet
    alone = after(*ours, need=8), after(*theirs, need=4)
    both = Rates(2, 2)
    both.probing.left[:] = 0
    for own, one in enumerate(alone):
        both.packet_bytes[own], both._paths[own] = one.packet_bytes[0], one._paths[0]
        both._sources[own] = one._sources[0]
    both.pacing_limits = [[_engine.PacingLimit(WIRE), _engine.PacingLimit(WIRE)] for _ in range(2)]
    for first, second in zip(ours, theirs, strict=True):
        both.update(beside(first, second))
    for own, one in enumerate(alone):
        assert both.rate[own] == pytest.approx(one.rate[0])
        assert both.loss()[own] == pytest.approx(one.loss()[0])
    now = slot(Row(), Row())
    together = both.units(beside(now, now))
    for own, one in enumerate(alone):
        units = one.units(now)
        for name in ("window", "queue", "round_trip_s", "lossiest", "limit"):
            assert getattr(together, name)[own] == pytest.approx(getattr(units, name)[0]), name


def test_without_a_clock_the_room_is_each_trials_own() -> None:
    # All 800 packets of a trial are there at once: 800 / 2 round trips. Of 40 s that is 10 a second, of 80 s 5.
    both = Rates(2, 1)
    both.probing.left[:] = 0
    both.packet_bytes[:] = WIRE
    both.pacing_limits = [[_engine.PacingLimit(WIRE)], [_engine.PacingLimit(WIRE)]]
    both._sources = [Captured(np.array([0.0]), np.array([800.0 * WIRE]))] * 2
    for pace in (0.0, 1.0, 2.0, 4.0, 8.0, 16.0):
        one = with_values(slot(Row(10 * pace, 0, pace)), "cwnd_segments", 40)
        slower = with_values(with_values(slot(Row(10 * pace, 0, pace)), "cwnd_segments", 80), "srtt_s", 80.0)
        both.update(beside(one, slower))
    assert both.limit.ravel() / WIRE == pytest.approx([10, 5])


def test_headers_count_in_what_a_source_needs() -> None:
    rates = rates_of(1, 4)
    rates._overhead[:] = 1.5  # bytes on the wire for one of payload
    rates.update(slot(Row()))
    assert rates.source_rate[0, 0] / WIRE == pytest.approx(6)
    assert rates.rate[0, 0] / WIRE == pytest.approx(6)


def test_a_path_without_a_round_trip_has_no_rate() -> None:
    assert after(with_values(slot(Row()), "srtt_s", 0.0), paths=1).rate[0, 0] == 0


def test_a_slot_may_last_less_than_a_second() -> None:
    # 4 packets in half a second, 3 of which wait: 1 left, 2 a second
    short = slot(Row(4, 3, 4))
    short.episode_values[0, EPISODE_VALUES.index("slot_s")] = 0.5
    assert after(slot(Row()), short, paths=1, need=4).rate[0, 0] / WIRE == pytest.approx(2)


def test_less_than_a_segment_known_is_no_share() -> None:
    # half a segment lost of half a segment known is not all
    assert after(slot(Row(lost=0.5), Row())).loss()[0] == pytest.approx([0.5, 0])


@pytest.mark.parametrize(
    ("first", "second", "worst"),
    [
        (Row(lost=2, acked=8), Row(lost=1, acked=9), 0),
        (Row(lost=1, acked=9), Row(lost=2, acked=8), 1),
        (Row(lost=1, acked=9), Row(lost=1, acked=9), -1),
        (Row(), Row(), -1),
        (Row(), Row(lost=1), 1),
    ],
)
def test_the_lossiest_path_is_one_that_loses_more_than_another(first: Row, second: Row, worst: int) -> None:
    rates = after(slot(first, second))
    assert rates.units(slot(Row(), Row())).lossiest.tolist() == [worst]


def test_a_path_without_a_handshake_is_no_other() -> None:
    # The first path is not there yet: that it has lost nothing says nothing.
    absent = with_values(slot(Row(), Row(lost=1, acked=9)), "established", 0.0, 1.0)
    rates = after(absent)
    assert rates.rate[0, 0] == 0
    assert rates.units(slot(Row(), Row())).lossiest.tolist() == [-1]


def test_windows_queues_and_round_trips_by_hand() -> None:
    # The first path shows 1 packet a second (40 sent in 10 s, 30 wait); the second starts at 4 and stays there.
    rates = after(slot(Row(), Row()), slot(Row(40, 30, 4), Row(20, 10, 4)))
    assert rates.rate[0] / WIRE == pytest.approx([1, 4])
    now = with_values(with_values(slot(Row(), Row()), "srtt_s", 40.0, 50.0), "one_way_s", 20.0, 22.5)
    units = rates.units(now)
    assert units.window[0] == pytest.approx([1 * 40, 4 * 50])
    # 30 packets are 3 slots of 10 s at 1 a second, 10 packets a quarter of one at 4 a second
    assert units.queue[0] == pytest.approx([3, 0.25])
    assert units.round_trip_s.tolist() == [45]
    assert units.top_layer.tolist() == [0]


def test_a_queue_is_counted_in_packets_where_a_slot_has_less_than_one() -> None:
    rates = after(slot(Row(queue=3), Row()), need=0.02)  # 0.01 a second each: a tenth of a packet in a slot
    assert rates.rate[0] / WIRE == pytest.approx([0.01, 0.01])
    assert rates.units(slot(Row(), Row())).queue[0] == pytest.approx([3, 0])


def test_two_packets_are_no_standing_queue() -> None:
    # of 40 sent at their pace 2 wait: dry, so twice their rate; of 40 with 2.1 waiting 37.9 left
    assert after(slot(Row()), slot(Row(40, 2, 4)), paths=1, need=4).rate[0, 0] / WIRE == pytest.approx(8)
    assert after(slot(Row()), slot(Row(40, 2.1, 4)), paths=1, need=4).rate[0, 0] / WIRE == pytest.approx(3.79)


def test_a_queue_stands_that_stood_before_or_was_fed_at_the_pace() -> None:
    def shown(*rows: Row) -> float:
        return float(after(slot(Row()), *map(slot, rows), paths=1).rate[0, 0]) / WIRE

    # 35 of 40 packets that the pace allows: not used, and the queue may have been dry in between
    assert shown(Row(35, 30, 4)) == 8
    assert shown(Row(36, 30, 4)) == 8, "0.9 is not more than 0.9"
    assert shown(Row(37, 30, 4)) == pytest.approx(0.7)
    # 3 packets waited before already
    assert shown(Row(3, 3, 4), Row(35, 30, 4)) == pytest.approx(0.8)


def test_an_unknown_path_is_probed_at_twice_what_it_carried() -> None:
    # A need of 9, 3 for each path. Two turn out to carry 1; the third ran dry at its pace.
    rates = after(
        slot(Row(), Row(), Row()), slot(Row(30, 20, 3), Row(30, 20, 3), Row(30, 0, 3)), paths=3, need=9
    )
    assert rates.rate[0] / WIRE == pytest.approx([1, 1, 6])
    # 27 packets of the 30 that the pace allows are nine tenths, and no more than that
    unused = after(
        slot(Row(), Row(), Row()), slot(Row(30, 20, 3), Row(30, 20, 3), Row(27, 0, 3)), paths=3, need=9
    )
    assert unused.rate[0] / WIRE == pytest.approx([1, 1, 3])


def test_a_known_path_that_ran_dry_twice_is_asked_for_half_as_much_again() -> None:
    # It showed 7 twice, and runs dry: first as much as left, 7.2, then half as much again as the 8 that left, whatever
    # the source needs.
    shown = Row(), Row(100, 30), Row(60, 20), Row(72, 0, 7.2)
    for need in (8.0, 1.0):
        assert after(*map(slot, shown), paths=1, need=need).rate[0, 0] / WIRE == pytest.approx(7.2)
        rates = after(*map(slot, shown), slot(Row(80, 0, 8)), paths=1, need=need)
        assert rates.rate[0, 0] / WIRE == pytest.approx(12)


def test_a_path_in_the_dark_shows_nothing() -> None:
    dark = after(slot(Row()), slot(Row(100, 30)), slot(Row(60, 20, up=0.0)), paths=1)
    assert not dark.known.any() and dark.rate[0, 0] / WIRE == pytest.approx(7)


def config(*subflows: int, **of_objects: Any) -> Any:
    made = objects(2, [100] * 4, [0, 10], [30, 35])
    for name, value in of_objects.items():
        object.__setattr__(made, name, value)
    links = [SimpleNamespace(subflows=count) for count in subflows]
    return SimpleNamespace(
        transport=SimpleNamespace(mss_bytes=1000, header_bytes=50), objects=made, links=links
    )


def test_a_trial_begins_with_nothing_known() -> None:
    rates = Rates(2, 3)
    state = rates._state
    flags = {"known", "has_drained"}
    memories = [rates.source_rate, *(state[name] for name in set(state.dtype.names) - flags - {"limit"})]
    for memory in (*memories, rates.limit):
        memory[:] = 7
    for name in flags:
        state[name] = True
    rates.begin(1, config(1, 2))
    assert rates.limit.tolist() == [[7] * 3, [np.inf] * 3]
    for memory in memories:
        assert (memory[0] == 7).all()
        assert (memory[1] == 0).all()
    for name in flags:
        assert state[name].tolist() == [[True] * 3, [False] * 3]
    assert rates.packet_bytes.ravel().tolist() == [1, 1050]
    assert rates._overhead.ravel().tolist() == [1, 1.05]
    assert rates._paths.ravel().tolist() == [1, 3]
    assert [len(one) for one in rates.pacing_limits] == [0, 3]
    assert rates.top_layer.tolist() == [0, 1]
    # the shortest of 30 − 0 and 35 − 10
    assert rates.delay_s.tolist() == [0, 25]


def test_without_deadlines_there_is_no_delay() -> None:
    rates = Rates(1, 1)
    some = np.array([NEVER_NS, NEVER_NS, 40 * S, NEVER_NS])
    rates.begin(0, config(1, deadline_ns=some))
    assert rates.delay_s.tolist() == [30]  # released at 10 s
    rates.begin(0, config(1, deadline_ns=np.full(4, NEVER_NS)))
    assert rates.delay_s.tolist() == [np.inf]


def test_one_video_is_asked_for_each_time() -> None:
    # A chunk a second: 2 chunks by 1.5 s, 4 by 3.5 s. The rate is that of the chunks so far.
    video = Captured(np.arange(4.0), 8.0 * WIRE * np.array([1.0, 2.0, 4.0, 8.0]))
    rates = Rates(3, 1)
    rates._sources = [video] * 3
    slots = [slot(Row()) for _ in range(3)]
    for one, time_s in zip(slots, (1.5, 3.5, 1.5), strict=True):
        one.episode_values[0, EPISODE_VALUES.index("time_s")] = time_s
    rates.update(beside(beside(slots[0], slots[1]), slots[2]))
    # 2 chunks of 16 packets took 2 seconds, 4 of 64 took 4.
    assert rates.source_rate.ravel() / WIRE == pytest.approx([8, 16, 8])


def test_trials_of_one_video_share_its_source_and_others_do_not() -> None:
    first, other = (objects(1, [size, size], [0, 1], [10, 11]) for size in (100, 200))
    rates = Rates(3, 1)
    for episode, given in enumerate((first, first, other)):
        begun = config(1)
        begun.objects = given
        rates.begin(episode, begun)
    assert rates._sources[0] is rates._sources[1]
    assert [source.by(5.0)[0] for source in rates._sources] == [200, 200, 400]


def test_a_video_that_made_room_for_others_is_known_again() -> None:
    rates = Rates(1, 1)
    given = [config(1) for _ in range(VIDEOS + 1)]
    for number, one in enumerate(given):
        one.objects = objects(1, [100 + number], [0], [10 + number])
    for _ in range(2):
        for number, one in enumerate(given):
            rates.begin(0, one)
            assert rates._sources[0].by(5.0)[0] == 100 + number
            assert rates.delay_s.tolist() == [10 + number]
