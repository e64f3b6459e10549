"""`paced` before nodes whose storage is small: what fills it, and for whom there is room."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import EngineResult, Link, Loss, Node, Objects
from dstcc.engine._testing import coding

from .net import MSS, WIRE, live, ns, relayed
from .test_paced import TOLD, far, in_time, trial

S = 10**9
LINE_BPS = 80e3
TURN_S = 400.0


def over_node(
    storage_bytes: int, *gaps_s: tuple[tuple[float, float], ...], rtt_s: float = 100.0
) -> tuple[Link, ...]:
    """Paths over one first line of 150 kbit/s and one node, whose later lines are away then."""
    paths: list[Link] = []
    for number, away in enumerate(gaps_s, start=1):
        one = relayed(far(150e3, rtt_s), LINE_BPS, storage_bytes, at=1e-3, number=number)
        (hop,) = one.onward
        line = replace(hop.line, outages_ns=tuple((ns(a), ns(b)) for a, b in away))
        node = Node("relay", 1, storage_bytes=storage_bytes)
        first = -1 if number == 1 else 0
        paths.append(replace(one, onward=(replace(hop, node=node, line=line),), first_hop_of=first))
    return tuple(paths)


def in_turns(turns: int) -> tuple[tuple[tuple[float, float], ...], ...]:
    """When the one line and the other are away."""
    spans = [(k * TURN_S, (k + 1) * TURN_S) for k in range(turns)]
    return tuple(spans[1::2]), tuple(spans[0::2])


def asks(load: float, seconds: int, playout_s: float) -> Objects:
    """Live video of three layers, with headers so many times what a line further on carries."""
    layer = int(load * LINE_BPS / 8 * MSS / WIRE / 3)
    return live(seconds, (layer, layer, layer), playout_s=playout_s)


def sent_while_away(result: EngineResult, gaps_s: tuple[tuple[tuple[float, float], ...], ...]) -> float:
    """Packets that left for lines while they were away, a slot after they went and until one before they are back."""
    samples, away = result.samples, 0
    for subflow, gaps in enumerate(gaps_s):
        for a, b in gaps:
            then = (samples.t_ns > ns(a + 10)) & (samples.t_ns < ns(b - 10)) & (samples.subflow == subflow)
            away += int(samples.sent_segments[then].sum())
    return away / int(samples.sent_segments.sum())


def test_nothing_waits_in_storage_for_a_line_while_another_brings_all_before_it_is_back() -> None:
    gaps = in_turns(8)
    result = trial(over_node(300_000, *gaps), objects := asks(0.6, 3000, 900.0))
    assert in_time(result, objects) == 1
    assert sent_while_away(result, gaps) < 0.01


@pytest.mark.parametrize("slot_s", [5.0, 90.0])
def test_nothing_is_sent_to_a_line_that_closed_within_a_slot(slot_s: float) -> None:
    """A slot fills a storage of 150 kB ten times, and it is full for 400 s then."""
    result = trial(over_node(150_000, *in_turns(8)), objects := asks(0.6, 3000, 900.0), slot_s=slot_s)
    assert in_time(result, objects) == 1
    assert result.nodes[0].dropped_packets == 0


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_lost_report_is_no_reason_to_fill_storage(seed: int) -> None:
    """One in three is lost, so that paths seem silent now and then."""
    paths = tuple(replace(path, up_loss=Loss("packet", 0.35)) for path in over_node(150_000, *in_turns(8)))
    result = trial(paths, objects := asks(0.6, 3000, 900.0), seed=seed)
    assert in_time(result, objects) > 0.99


def test_a_path_that_is_gone_brings_nothing_before_the_other_is_back() -> None:
    """Nobody announced that it would be; what waits for the other does so in storage, then."""
    gaps = ((), ((600.0, 1600.0),))
    one, other = over_node(10**7, *gaps)
    (hop,) = one.onward
    gone = replace(hop, line=replace(hop.line, unannounced_ns=((ns(300), ns(3000)),)))
    result = trial((replace(one, onward=(gone,)), other), asks(0.6, 2500, 1500.0))
    then = (result.samples.t_ns > ns(800)) & (result.samples.t_ns < ns(1500)) & (result.samples.subflow == 1)
    assert result.samples.sent_segments[then].sum() * WIRE * 8 > 0.4 * LINE_BPS * 700


def test_what_would_still_wait_when_its_line_goes_takes_the_other_before() -> None:
    """A sixteenth of a round trip of 600 s before: half of 300 kB would stay there for 400 s."""
    gaps = in_turns(10)
    paths = over_node(300_000, *gaps, rtt_s=600.0)
    result = trial(paths, objects := asks(0.6, 3000, 1500.0))
    samples = result.samples
    before = 0
    for subflow, away in enumerate(gaps):
        for at, _ in away:
            then = (samples.t_ns > ns(at - 25)) & (samples.t_ns <= ns(at)) & (samples.subflow == subflow)
            before += int(samples.sent_segments[then].sum())
    assert in_time(result, objects) > 0.9
    assert before < 0.01 * samples.sent_segments.sum()


def test_nothing_goes_to_a_line_that_is_away_before_the_others_rate_is_known() -> None:
    gaps = in_turns(2)
    result = trial(over_node(60_000, *gaps[::-1]), asks(0.6, 700, 900.0), slot_s=50.0)
    samples = result.samples
    early = (samples.t_ns <= ns(100.0)) & (samples.subflow == 0)
    assert samples.sent_segments[early].sum() <= 1


def test_with_a_handshake_there_is_no_plan_to_give_way_by() -> None:
    gaps = in_turns(8)
    result = trial(over_node(10**7, *gaps), asks(0.6, 3000, 1500.0), handshake=True)
    assert sent_while_away(result, gaps) > 0.1


def test_a_backlog_that_the_other_cannot_bring_before_then_does_wait_there() -> None:
    """A file of 1,100 s of one line: the other is back after 400 s."""
    gaps = in_turns(8)
    objects = asks(1.1, 1000, 3000.0)
    result = trial(over_node(10**7, *gaps), replace(objects, release_ns=0 * objects.release_ns))
    assert in_time(result, objects) == 1
    assert sent_while_away(result, gaps) > 0.1


def test_paths_over_lines_of_their_own_do_not_give_way() -> None:
    """Each has its own storage."""
    gaps = in_turns(8)
    paths = tuple(
        replace(
            path,
            first_hop_of=-1,
            onward=tuple(replace(hop, node=replace(hop.node, number=n + 1)) for hop in path.onward),
        )
        for n, path in enumerate(over_node(10**7, *gaps))
    )
    result = trial(paths, asks(0.6, 3000, 1500.0))
    assert sent_while_away(result, gaps) > 0.1


def test_a_store_that_overflowed_gets_no_more_the_next_time() -> None:
    """What is kept goes once the line is back, and nobody waits for a report that it was lost."""
    gaps = ((800.0, 1400.0), (2400.0, 3000.0))
    objects = asks(0.6, 4000, 1500.0)
    result = trial(over_node(1_000_000, gaps), objects)
    (relay,) = result.nodes
    first = int(relay.slot_dropped_packets[400])  # at 2,000 s
    assert first > 1000 and relay.dropped_packets - first < 0.1 * first
    assert relay.slot_held_bytes[598] > 0.9e6 and relay.slot_dropped_packets[598] < first + 0.01 * first
    samples = result.samples
    # Reports come a round trip after the line is back.
    assert samples.sent_segments[(samples.t_ns > ns(3000.0)) & (samples.t_ns < ns(3050.0))].sum() > 0
    late = objects.release_ns > ns(2000.0)
    done = result.objects.complete_ns
    assert np.mean((done >= 0)[late] & (done <= objects.deadline_ns)[late]) > 0.99


def test_a_line_of_which_nothing_is_heard_stops_once_others_say_that_storage_overflows() -> None:
    """Its round trip takes ten times as long, and its line is slow: what it sends in 150 s fills the storage."""
    one, other = over_node(300_000, (), ())
    (hop,) = other.onward
    slow = replace(hop.line, rate_bps=5e3, delay_ns=(ns(500.0),))
    other = replace(other, delay_ns=(one.first_delay_ns[0] + ns(500.0),), onward=(replace(hop, line=slow),))
    objects = asks(1.5, 3000, 2900.0)
    result = trial((one, other), replace(objects, release_ns=0 * objects.release_ns))
    samples = result.samples
    then = (samples.t_ns > ns(200.0)) & (samples.t_ns < ns(1000.0))
    assert samples.sent_segments[then & (samples.subflow == 1)].sum() == 0
    carried = samples.sent_segments[then & (samples.t_ns > ns(300.0))].sum() * WIRE * 8 / 700
    assert 0.87 * LINE_BPS < carried < 1.25 * LINE_BPS
    assert samples.sent_segments[(samples.t_ns > ns(1000.0)) & (samples.subflow == 1)].sum() > 0


def test_a_line_that_was_not_tried_is_tried_although_storage_overflows() -> None:
    gaps = ((), ((0.0, 400.0),))
    result = trial(over_node(300_000, *gaps), asks(1.5, 2000, 500.0))
    samples = result.samples
    assert sent_while_away(result, gaps) < 0.01 and result.nodes[0].slot_dropped_packets[80] > 100
    then = (samples.t_ns > ns(400.0)) & (samples.t_ns < ns(450.0))
    assert samples.sent_segments[then & (samples.subflow == 1)].sum() > 50


PACKET = 1000.0


def hear(seen: coding.StorageSeen, until: int, packets: int, *, lost: bool = False, node: int = 0) -> None:
    """Of so many packets of a stay, one after the other."""
    for _ in range(packets):
        seen.hear(until, PACKET, lost, node)


def has_room_for(seen: coding.StorageSeen, until: int, size: float, node: int = 0) -> None:
    """A stay to which nothing was sent takes so many bytes, and no more."""
    seen.send(until, size - 1, node)
    assert not seen.full(until, node)
    seen.send(until, 1.0, node)
    assert seen.full(until, node)
    assert not seen.full(until + 1, node), "one to which nothing was sent"


def test_room_is_what_arrived_of_a_stay_that_overflowed() -> None:
    seen = coding.StorageSeen()
    seen.send(1, 1e9)
    assert not seen.full(1), "of nothing that is known"
    hear(seen, 1, 90)
    hear(seen, 1, 18, lost=True)  # 1 - e^(-18/64) of a packet more would be lost of the last 64: 0.245
    seen.send(1, 1.0)
    assert not seen.full(1)
    hear(seen, 1, 1, lost=True)  # 0.257
    assert seen.full(1)
    hear(seen, 1, 10)
    has_room_for(seen, 2, 100 * PACKET)


def test_of_a_store_that_drops_its_head_room_is_what_was_not_lost() -> None:
    seen = coding.StorageSeen()
    seen.send(1, 200 * PACKET)
    hear(seen, 1, 50, lost=True)
    has_room_for(seen, 2, 150 * PACKET)  # as far as anybody knows
    hear(seen, 1, 150)
    has_room_for(seen, 3, 150 * PACKET)


def test_each_node_has_room_of_its_own() -> None:
    seen = coding.StorageSeen()
    hear(seen, 1, 40, node=1)
    hear(seen, 1, 20, lost=True, node=1)
    seen.send(2, 1e9)
    assert not seen.full(2)
    has_room_for(seen, 2, 40 * PACKET, node=1)
    hear(seen, 5, 70)
    hear(seen, 5, 20, lost=True)
    has_room_for(seen, 6, 70 * PACKET)
    has_room_for(seen, 6, 40 * PACKET, node=1)


def test_losses_of_the_stay_before_say_nothing_of_the_next() -> None:
    seen = coding.StorageSeen()
    hear(seen, 1, 60)
    hear(seen, 1, 40, lost=True)
    hear(seen, 2, 60)
    hear(seen, 1, 30, lost=True)  # that were looked for until now
    hear(seen, 3, 1)  # 60 kB came, all that there was room for
    has_room_for(seen, 4, 75 * PACKET)


def test_where_others_pass_the_node_a_stay_that_overflowed_leaves_them_half() -> None:
    seen = coding.StorageSeen()
    seen.share()
    hear(seen, 1, 100)
    hear(seen, 1, 20, lost=True)
    has_room_for(seen, 2, 50 * PACKET)


@pytest.mark.parametrize("away", [0, 1])
def test_others_pass_a_node_whose_storage_a_stay_overflowed(away: int) -> None:
    """One line is away twice, and gets half of what arrived the second time."""
    gaps: list[tuple[tuple[float, float], ...]] = [(), ()]
    gaps[away] = ((400.0, 1000.0), (1400.0, 2000.0))
    objects = asks(1.4, 2500, 2400.0)
    result = trial(over_node(300_000, *gaps), replace(objects, release_ns=0 * objects.release_ns))
    samples = result.samples
    for a, b, least, most in ((400.0, 1000.0, 300e3, 1e9), (1400.0, 2000.0, 100e3, 280e3)):
        then = (samples.t_ns > ns(a)) & (samples.t_ns <= ns(b)) & (samples.subflow == away)
        assert least < samples.sent_segments[then].sum() * WIRE < most


def test_a_queue_whose_line_closes_says_nothing_of_a_rate() -> None:
    """What waits after a gap of 500 s takes 150 s at the line's rate: the last of it goes as the line closes again."""
    gaps = tuple((500.0 + 1000 * k, 1000.0 + 1000 * k) for k in range(3))
    objects = asks(0.6, 4000, 1200.0)
    result = trial(over_node(10**7, gaps), objects, parameters=TOLD)
    assert in_time(result, objects) == 1


@pytest.mark.parametrize(
    ("arrived", "lost", "room"),
    [(80, 0, 125e3), (75, 0, 125e3), (74, 0, 100e3), (70, 10, 100e3), (80, 10, 125e3), (80, 20, 80e3)],
)
def test_room_grows_by_a_quarter_after_a_stay_that_had_it_and_lost_little(
    arrived: int, lost: int, room: float
) -> None:
    seen = coding.StorageSeen()
    hear(seen, 1, 100)
    hear(seen, 1, 20, lost=True)
    hear(seen, 2, arrived)
    hear(seen, 2, lost, lost=True)
    hear(seen, 3, 1)
    has_room_for(seen, 4, room)


def overflowed(arrived: int = 40, lost: int = 20) -> coding.StorageSeen:
    """Of stay 1 so many arrived, before so many were lost."""
    seen = coding.StorageSeen()
    hear(seen, 1, arrived)
    hear(seen, 1, lost, lost=True)
    return seen


def test_late_news_counts_of_the_last_eight_stays() -> None:
    seen = overflowed()
    for until in range(2, 9):
        hear(seen, until, 1)
    hear(seen, 1, 10)
    has_room_for(seen, 9, 50 * PACKET)
    hear(seen, 1, 10)  # the ninth from the end
    assert seen.full(9), "what was sent there stays so"
    has_room_for(seen, 10, 50 * PACKET)


def test_news_of_a_stay_that_nobody_sent_to_is_not_the_one_befores() -> None:
    seen = overflowed()
    hear(seen, 3, 1)
    hear(seen, 2, 10)
    has_room_for(seen, 4, 40 * PACKET)


def test_room_grows_once_a_stay_whenever_its_news_comes() -> None:
    seen = overflowed(100)
    hear(seen, 2, 100)
    for until in (3, 2, 3, 2, 3):
        hear(seen, until, 1)
    has_room_for(seen, 4, 125 * PACKET)


def test_more_that_arrives_of_a_stay_that_overflowed_is_more_room() -> None:
    seen = overflowed()
    hear(seen, 2, 70)
    hear(seen, 2, 20, lost=True)
    has_room_for(seen, 3, 70 * PACKET)


def test_what_nobody_noted_as_sent_had_room_where_it_arrived() -> None:
    seen = overflowed(0, 30)
    hear(seen, 1, 40)
    has_room_for(seen, 2, 40 * PACKET)


@pytest.mark.parametrize(("arrived", "size"), [(30, PACKET), (38, 2 * PACKET)])
def test_a_store_that_kept_no_less_than_it_lost_at_first_drops_its_tail(arrived: int, size: float) -> None:
    """With the 19th loss it overflows; more are lost afterwards, and of others nothing is known."""
    seen = coding.StorageSeen()
    seen.send(1, 200 * PACKET)
    hear(seen, 1, arrived)
    for _ in range(19):
        seen.hear(1, size, True)
    hear(seen, 1, 60, lost=True)
    has_room_for(seen, 2, arrived * PACKET)


def test_one_node_that_overflowed_limits_what_goes_over_others() -> None:
    seen = coding.StorageSeen()
    assert not seen.limits()
    hear(seen, 1, 40, node=1)
    hear(seen, 1, 20, lost=True, node=1)
    assert seen.limits()


def test_where_nothing_arrived_sixteen_packets_ask_again() -> None:
    seen = coding.StorageSeen()
    seen.send(1, 19 * PACKET)
    hear(seen, 1, 19, lost=True)
    has_room_for(seen, 2, 16 * 1500.0)


def test_base_layers_come_first_where_storage_is_all_that_brings_anything() -> None:
    """The own line is up for 700 of 800 s, the one behind the node for the others: a turn brings what the node has room
    for, 300 kB of 600 kB that come, 200 kB of each layer. Once that is known, base layers come but for what is lost
    where more is tried, half of the next layer, and nothing of the highest."""
    turns, turn_s = 10, 800.0
    gaps = tuple((k * turn_s, k * turn_s + 700.0) for k in range(turns))
    (path,) = over_node(300_000, gaps)
    path = replace(path, outages_ns=tuple((ns(b), ns(b + 100.0)) for _, b in gaps))
    layer = int(200_000 * MSS / WIRE / turn_s)
    objects = live(int((turns - 2) * turn_s), (layer,) * 3, playout_s=2 * turn_s)
    result = trial((path,), objects)
    done = result.objects.complete_ns
    there = (done >= 0) & (done <= objects.deadline_ns) & (objects.release_ns > ns(5 * turn_s))
    base, middle, top = (int(there[objects.layer == number].sum()) / (3 * turn_s) for number in range(3))
    assert base > 0.85
    assert 0.3 < middle < 0.6
    assert top < 0.05
