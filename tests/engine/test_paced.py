"""`paced`: coded packets that find their rate by their own queue and by reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import Coding, CrossTraffic, EngineResult, Flow, Link, Loss, Objects, simulate
from tests.sampling import examples

from .net import MSS, WIRE, config, jain, link, live, ns, rates, relayed, run

S = 10**9
RATE_BPS = 240e3
RTT_S = 100.0
CARRIED = RATE_BPS / 8 * MSS / WIRE
"""Payload bytes a second that a link of that rate carries."""


def far(rate_bps: float = RATE_BPS, rtt_s: float = RTT_S, *, up_bps: float = 2e3, **more: object) -> Link:
    """A long link with a narrow way back."""
    return link(rate_bps, rtt_s, up_rate_bps=up_bps, queue_bytes=10**6, **more)  # type: ignore[arg-type]


def video(
    load: float, seconds: int, *, rate_bps: float = RATE_BPS, playout_s: float | None = None
) -> Objects:
    """Live video of three layers; with headers so many times what a link of that rate carries."""
    layer = int(load * rate_bps / 8 * MSS / WIRE / 3)
    return live(seconds, (layer, layer, layer), playout_s=playout_s)


def trial(
    links: Link | tuple[Link, ...],
    objects: Objects,
    *,
    congestion: str = "paced",
    block_s: int = 10,
    repair: tuple[float, ...] | None = None,
    **knobs: object,
) -> EngineResult:
    """A trial of coded packets without a handshake."""
    wanted: dict[str, object] = {"mode": "coded", "handshake": False, "layer_first": True, "slot_s": 5.0}
    made = config(congestion, links, objects=objects, **(wanted | knobs))  # type: ignore[arg-type]
    return simulate(replace(made, coding=Coding(objects.chunk // block_s, ns(block_s), repair)))


def wire_rate(result: EngineResult, from_s: float, to_s: float, subflow: int = 0) -> float:
    """Bits on the wire per second that a subflow sent then, each packet counted as a full one."""
    samples = result.samples
    chosen = (samples.subflow == subflow) & (samples.t_ns > from_s * S) & (samples.t_ns <= to_s * S)
    return float(samples.sent_segments[chosen].sum()) * WIRE * 8 / (to_s - from_s)


def in_time(result: EngineResult, objects: Objects) -> float:
    """The share of layers that came in time."""
    done = result.objects.complete_ns
    return float(np.mean((done >= 0) & (done <= objects.deadline_ns)))


def test_it_sends_at_the_lines_rate_long_before_anything_is_heard() -> None:
    result = trial(far(), video(1.5, 90))
    assert wire_rate(result, 10, 90) == pytest.approx(RATE_BPS, rel=0.02)
    assert result.totals.queue_p95_s < 8 * WIRE * 8 / RATE_BPS


@pytest.mark.parametrize("up_bps", [500.0, 2e3, 256e3])
def test_reports_never_wait_behind_each_other(up_bps: float) -> None:
    objects = video(0.8, 400, playout_s=2.5 * RTT_S)
    result = trial(far(up_bps=up_bps, loss=Loss("packet", 0.01)), objects)
    report_s = 8 * (48 + 31 * 4) / up_bps
    assert result.totals.rtt_sum_s / result.totals.rtt_samples < RTT_S + 1 + 2 * report_s
    assert in_time(result, objects) > 0.995


def test_what_reports_cannot_name_is_not_taken_for_lost() -> None:
    """They have 16 new ranges in 17 s, in which 34 come."""
    objects = video(0.8, 1500, playout_s=2.5 * RTT_S)
    result = trial(far(up_bps=100, loss=Loss("packet", 0.1)), objects)
    assert in_time(result, objects) > 0.98
    assert result.totals.repair_payload_bytes < 0.3 * objects.payload_bytes.sum()


def over_a_node(behind_bps: float, *, up_outages: tuple[tuple[int, int], ...] = ()) -> Link:
    """A receiver with an uplink of 8 kbit/s to a node, behind which the way back is another."""
    through = relayed(far(up_bps=8e3), 2 * RATE_BPS, 10**6)
    return replace(through, up_rate_bps=behind_bps, up_outages_ns=up_outages)


@pytest.mark.parametrize("behind_bps", [500.0, 2e3, 8e3, 256e3])
def test_reports_do_not_wait_for_a_slower_line_behind_a_node(behind_bps: float) -> None:
    objects = video(0.8, 400)
    result = trial(over_a_node(behind_bps), objects)
    # A report of 48 bytes takes 80 % of the slower line. On the first line one or two are under way.
    report_s = 8 * 48 / min(behind_bps, 8e3)
    assert result.totals.rtt_sum_s / result.totals.rtt_samples < RTT_S + 1 + 3 * report_s
    first = next(hop for hop in result.hops if hop.first_of == 0)
    # Packets are 0.06 s apart, which is as long as 80 % of the first line gives a report.
    near = 0.2 if behind_bps < 8e3 else 0.35
    assert first.up_sent_packets == pytest.approx(400 / (1.25 * report_s), rel=near)


def test_reports_take_two_fifths_of_a_line_that_comes_and_goes() -> None:
    # It is there for 30 s of each 100 s: two fifths of that are 0.12 of all time.
    outages = tuple((ns(100 * k + 30), ns(100 * k + 100)) for k in range(8))
    objects = video(0.8, 400)
    result = trial(over_a_node(2e3, up_outages=outages), objects, duration_s=800.0)
    first = next(hop for hop in result.hops if hop.first_of == 0)
    report_s = 8 * 48 / 2e3
    assert first.up_sent_packets == pytest.approx(400 * 0.12 / report_s, rel=0.15)


def test_under_laws_that_want_acknowledgements_they_do() -> None:
    objects = video(0.8, 400, playout_s=2.5 * RTT_S)
    result = trial(far(up_bps=500.0), objects, congestion="open-loop")
    assert result.totals.rtt_sum_s / result.totals.rtt_samples > 2 * RTT_S


@pytest.mark.parametrize("rtts", [0.6, 0.75, 1.0, 2.5])
def test_no_delay_is_so_short_that_nothing_is_sent(rtts: float) -> None:
    objects = video(0.8, 300, playout_s=rtts * RTT_S)
    result = trial((far(), far(RATE_BPS / 2)), objects)
    assert in_time(result, objects) > 0.97


@pytest.mark.parametrize("loss", [0.0, 0.01, 0.1])
def test_told_nothing_it_plays_what_a_sender_plays_that_is_told_the_rate(loss: float) -> None:
    objects = video(0.8, 600, playout_s=1.5 * RTT_S)
    lossy = far(loss=Loss("packet", loss) if loss else None)
    told = in_time(trial(lossy, objects, congestion="open-loop"), objects)
    assert in_time(trial(lossy, objects), objects) >= told - 0.02


TOLD = {"paced": {"told_rates": (1.0,)}}


@pytest.mark.parametrize("parameters", [{}, TOLD])
def test_contacts_of_a_line_further_on_are_no_slow_queue(
    parameters: dict[str, dict[str, tuple[float, ...]]],
) -> None:
    """Both lines come and go by the plan, and all is in time if it is sent when it can be."""
    own_s = ((600, 1800), (2400, 3600), (4200, 5400), (6000, 7200), (7800, 9000))
    through = relayed(
        replace(far(40e3, 400.0), outages_ns=tuple((ns(a), ns(b)) for a, b in own_s)),
        20e3,
        20_000_000,
        at=0.001,
    )
    (hop,) = through.onward
    away = tuple((ns(a), ns(b)) for a, b in ((700, 2300), (2700, 4100), (4400, 5900)))
    node = replace(hop.node, storage_bytes=20_000_000)
    link = replace(through, onward=(replace(hop, node=node, line=replace(hop.line, outages_ns=away)),))
    objects = live(300, (10_000, 7_500, 5_000), chunk_s=20.0, playout_s=5500.0)
    result = trial(link, objects, block_s=200, duration_s=12_000.0, slot_s=60.0, parameters=parameters)
    assert in_time(result, objects) > 0.99


def stored(parameters: dict[str, dict[str, tuple[float, ...]]]) -> EngineResult:
    """Behind a node what comes in 400 s of 600 waits for contacts in 300 kB, which the own line overflows."""
    gaps = tuple((ns(600.0 * k + 200), ns(600.0 * k + 600)) for k in range(4))
    one = relayed(far(), RATE_BPS, 300_000)
    (hop,) = one.onward
    node, line = replace(hop.node, storage_bytes=300_000), replace(hop.line, outages_ns=gaps)
    path = replace(one, onward=(replace(hop, node=node, line=line),))
    return trial(path, video(0.5, 2000, playout_s=900.0), parameters=parameters)


@pytest.mark.parametrize("parameters", [{}, TOLD])
def test_what_overflows_a_store_that_waits_for_contacts_is_no_loss_of_the_channel(
    parameters: dict[str, dict[str, tuple[float, ...]]],
) -> None:
    """Repair for losses of a half would overflow it all the more."""
    result = stored(parameters)
    (node,) = result.nodes
    planned = result.totals.repair_payload_bytes - result.totals.retransmitted_payload_bytes
    assert node.dropped_packets > 0.1 * result.totals.data_packets
    assert planned < 0.05 * result.totals.sent_payload_bytes
    assert np.mean(result.objects.complete_ns >= 0) > 0.48


@pytest.mark.parametrize("queue_bytes", [3_000, 10**6])
def test_told_the_rate_it_sends_at_it_from_the_first_packet_on_and_no_faster(queue_bytes: int) -> None:
    shallow = replace(far(loss=Loss("packet", 0.3)), queue_bytes=queue_bytes)
    told = trial(shallow, video(1.5, 600), parameters=TOLD)
    assert told.totals.queue_p95_s < 2.1 * WIRE * 8 / RATE_BPS
    for from_s, to_s in ((5, 15), (15, 600)):
        assert wire_rate(told, from_s, to_s) == pytest.approx(RATE_BPS, rel=0.02)
    assert told.totals.dropped_queue_packets == 0


def test_told_the_rates_it_follows_their_steps_at_once() -> None:
    stepped = far(rate_t_ns=(0, ns(300)), rate_share=(1.0, 0.25))
    told = trial(stepped, video(1.5, 600), parameters=TOLD)
    assert wire_rate(told, 5, 295) == pytest.approx(RATE_BPS, rel=0.02)
    assert wire_rate(told, 305, 600) == pytest.approx(RATE_BPS / 4, rel=0.02)
    assert told.totals.queue_p95_s < 2.1 * 4 * WIRE * 8 / RATE_BPS


def test_told_the_rate_of_its_line_it_still_finds_a_slower_one_further_on() -> None:
    slower = relayed(far(), RATE_BPS / 2, 375_000)
    told = trial(slower, video(2, 1500), parameters=TOLD)
    assert 0.85 * RATE_BPS / 2 < wire_rate(told, 800, 1500) < 1.06 * RATE_BPS / 2


@pytest.mark.parametrize("queue_bytes", [4 * WIRE, 375_000])
def test_a_slower_line_further_on_is_found_by_reports(queue_bytes: int) -> None:
    slower = relayed(far(), RATE_BPS / 2, queue_bytes)
    result = trial(slower, video(2, 1500))
    assert wire_rate(result, 20, RTT_S) == pytest.approx(RATE_BPS, rel=0.06)  # nothing is heard yet
    assert 0.85 * RATE_BPS / 2 < wire_rate(result, 800, 1500) < 1.06 * RATE_BPS / 2


def test_a_shallow_queue_further_on_that_a_chunk_all_but_fills_is_no_lossy_channel() -> None:
    """Chunks of 10 s for a line that 96 % of it fill, before which 8 s of it have room; a round trip takes 440 s."""
    behind = 150e3
    layers = tuple(int(0.96 * behind / 8 * 10 * MSS / WIRE * part) for part in (0.44, 0.34, 0.22))
    objects = live(500, layers, chunk_s=10.0, playout_s=1000.0)
    path = relayed(far(400e3, 440.0, up_bps=8e3), behind, 150_000, at=1 / 11)
    result = trial(path, objects, duration_s=7000.0)
    assert in_time(result, objects) > 0.98
    assert result.totals.repair_payload_bytes < 0.1 * result.totals.sent_payload_bytes


def test_others_before_the_slower_line_further_on_are_made_room_for() -> None:
    shared = relayed(far(), RATE_BPS, 375_000, CrossTraffic(RATE_BPS / 2))
    result = trial(shared, video(2, 1500))
    assert 0.8 * RATE_BPS / 2 < wire_rate(result, 800, 1500) < 1.06 * RATE_BPS / 2


def test_a_queue_further_on_is_kept_shorter_than_layers_can_wait() -> None:
    # A layer has 0.2 of a round trip beyond light; others take half of the line, so that the target were a quarter.
    objects = video(1.0, 1500, rate_bps=RATE_BPS / 2, playout_s=0.7 * RTT_S)
    shared = relayed(far(), RATE_BPS, 750_000, CrossTraffic(RATE_BPS / 2))
    assert in_time(trial(shared, objects, drop_late=True), objects) > 0.93


@pytest.mark.parametrize(("rtt_s", "share"), [(20.0, 0.7), (RTT_S, 0.88), (4 * RTT_S, 0.98)])
def test_what_a_relay_stores_in_a_pass_keeps_its_line_busy_until_the_next(rtt_s: float, share: float) -> None:
    # In contact for 160 s of 400, at 240 kbit/s; the relay goes on at 80, so that each pass could bring 96. With no
    # more left behind than before any bottleneck it were 38, 53 and 42.
    gaps = tuple((400.0 * i + 160, 400.0 * (i + 1)) for i in range(12))
    passing = relayed(far(rtt_s=rtt_s, outages_s=gaps), RATE_BPS / 3, 10**7)
    result = trial(passing, video(1.5, 4_400, rate_bps=RATE_BPS / 3, playout_s=700))
    assert wire_rate(result, 1_600, 4_400) > share * RATE_BPS / 3


ROUND_TRIPS_S = (90, 95, 100, 105, 110, 115)
"""Two before a queue further on do other things at each: what holds of them holds on average."""


def test_two_before_a_short_queue_further_on_do_not_keep_it_full() -> None:
    # It holds a tenth of a round trip, less than their target were: of 50 packets one is lost, once the rate is found.
    # By losses neither goes slower there: what fills the queue beside it loses the same in both turns of a trial.
    lost = []
    for rtt_s in ROUND_TRIPS_S:
        own = far(rtt_s=rtt_s, subflows=2)
        samples = trial(relayed(own, RATE_BPS / 2, 150_000), video(2, 2000)).samples
        later = samples.t_ns > ns(10 * rtt_s)
        lost.append(samples.lost_segments[later].sum() / samples.sent_segments[later].sum())
    assert np.mean(lost) < 0.015


def test_before_a_queue_further_on_the_channels_losses_are_still_repaired() -> None:
    # Nothing lost is brought back by a second round trip: without repair one in twenty packets is missing.
    objects = video(0.55, 1500, playout_s=1.4 * RTT_S)
    lossy = relayed(far(loss=Loss("packet", 0.05)), RATE_BPS / 2, 750_000)
    done = trial(lossy, objects, drop_late=True).objects.complete_ns
    base = (objects.layer == 0) & (objects.release_ns > ns(6 * RTT_S))
    assert ((done >= 0) & (done <= objects.deadline_ns))[base].mean() > 0.97


def planned_later(path: Link, rtts: float) -> int:
    """Repair of blocks of 100 packets, once their losses are known."""
    result = trial(path, live(1500, (int(0.5 * CARRIED),), playout_s=rtts * RTT_S), drop_late=True)
    assert result.coding is not None
    return int(result.coding.planned_packets[100:145].sum())


def test_round_trips_over_a_node_where_nothing_waits_are_those_of_a_link() -> None:
    lossy = far(loss=Loss("packet", 0.1))
    over_a_node = relayed(lossy, RATE_BPS, 750_000)
    # There is time for a fresh packet, or there is not.
    assert planned_later(over_a_node, 2.0) == pytest.approx(planned_later(lossy, 2.0), rel=0.02)
    assert planned_later(over_a_node, 1.4) > 1.3 * planned_later(over_a_node, 2.0)


def test_over_a_node_reports_are_awaited_for_a_quarter_of_a_block_more() -> None:
    # A block is closed 9 s after its first chunk was captured, light takes half a round trip three times.
    over_a_node = relayed(far(loss=Loss("packet", 0.1)), RATE_BPS, 750_000)
    more = [planned_later(over_a_node, 1.5 + seconds / RTT_S) for seconds in (10.5, 14.0)]
    assert more[0] > 1.15 * more[1]


def bursty_behind(rate_bps: float) -> Link:
    """Over a node to a line that loses an eighth in bursts, and is a quarter of the first."""
    path = relayed(far(4 * rate_bps, 1000.0), rate_bps, 10**7)
    hop = path.onward[0]
    line = replace(hop.line, loss=Loss("gilbert-elliott", p=0.1, r=0.3, good=0.005, bad=0.5))
    return replace(path, onward=(replace(hop, line=line),))


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_repair_does_not_fill_a_line_on_which_lost_packets_can_be_sent_again(seed: int) -> None:
    """Twenty packets a chunk for a line that carries 27; a lost one can be sent again, unless chunks wait for two
    thirds of a round trip. Seven more a chunk would keep them waiting for good."""
    objects = live(240, (20 * MSS,), chunk_s=166.0, playout_s=2500.0)
    result = trial(bursty_behind(2e3), objects, seed=seed, drop_late=True, block_s=1, slot_s=60.0)
    waits_s = (result.objects.first_sent_ns - objects.release_ns) / S
    assert np.median(waits_s[24:]) < 60
    assert in_time(result, objects) > 0.94


@pytest.mark.parametrize("seed", [2, 3, 8])
def test_repair_is_cut_while_a_backlog_leaves_no_round_trip(seed: int) -> None:
    """A layer has 1.8 round trips, half of one is light and one, with a block of 5 s, is for fresh packets: 25 s are
    left, and with as much repair as the line carries chunks wait for more."""
    objects = live(1200, (int(0.9 * CARRIED / 8),), playout_s=1.8 * RTT_S)
    bursts = Loss("gilbert-elliott", p=0.11 / 0.89 / 20, r=1 / 20, good=0.001, bad=0.7)
    result = trial(far(RATE_BPS / 8, loss=bursts), objects, seed=seed, drop_late=True, block_s=5)
    waits_s = (result.objects.first_sent_ns - objects.release_ns) / S
    assert np.median(waits_s[-600:]) < 25


def test_bursts_of_others_further_on_cost_the_upper_layers() -> None:
    # Half of the own line passes the relay, whose queue holds half a round trip; others take half of that for four
    # round trips of eight. The base layer needs 0.35 of the relay's line, all three 0.86: beside the others 0.58 of it.
    bursts = CrossTraffic(RATE_BPS / 4, on_ns=ns(4 * RTT_S), off_ns=ns(4 * RTT_S), periods="exponential")
    behind = relayed(far(), RATE_BPS / 2, int(RATE_BPS / 2 / 8 * RTT_S / 2), bursts, at=0.9)
    objects = live(1800, tuple(int(load * CARRIED) for load in (0.175, 0.13, 0.13)), playout_s=2 * RTT_S)
    weights = []
    for seed in (2, 4, 5):
        result = trial(behind, objects, block_s=10, repair=None, seed=seed, drop_late=True)
        done = result.objects.complete_ns
        there = (done >= 0) & (done <= objects.deadline_ns)
        shares = [there[objects.layer == layer].mean() for layer in range(3)]
        assert shares[0] > 0.8
        weights.append((3 * shares[0] + 2 * shares[1] + shares[2]) / 6)
    assert np.mean(weights) > 0.7


def test_a_queue_further_on_over_one_of_two_paths_sets_layers_a_third_of_their_time_apart() -> None:
    # More is asked for than both carry, so that each layer goes when it must: 150 s after its capture, or a gap earlier
    # for each layer above it. 200 s less light are 150 s, a gap is a third of them; else it is a block's 10 s.
    behind = relayed(far(), RATE_BPS / 2, int(RATE_BPS / 2 / 8 * RTT_S / 2), at=0.9)
    objects = live(900, tuple(int(load * CARRIED) for load in (0.35, 0.3, 0.2)), playout_s=2 * RTT_S)
    result = trial((behind, far(RATE_BPS / 4)), objects, block_s=10, repair=(), drop_late=True)
    sent = (result.objects.first_sent_ns >= 0) & (objects.release_ns > ns(5 * RTT_S))
    waited = (result.objects.first_sent_ns - objects.release_ns) / S
    means = [float(waited[sent & (objects.layer == layer)].mean()) for layer in range(3)]
    assert np.diff(means) == pytest.approx([150 / 3] * 2, rel=0.1)


@pytest.mark.parametrize("dark_s", [(300.0, 420.0), (300.0, 360.0), (300.0, 700.0)])
def test_a_silent_link_is_not_a_slow_one(dark_s: tuple[float, float]) -> None:
    away = far(unannounced_ns=(tuple(map(ns, dark_s)),))
    result = trial(away, video(1.5, 1500))
    back = dark_s[1] + 4 * RTT_S
    assert wire_rate(result, back, 1500) == pytest.approx(RATE_BPS, rel=0.03)


def test_a_silent_path_is_passed_over_and_found_again_a_round_trip_after_it_is_back() -> None:
    # Dark from 300 to 800, both ways: the last report came at 350, and silence is noticed before 600.
    away = far(unannounced_ns=((ns(300), ns(800)),))
    # The link that is left carries half of RATE_BPS: one layer of three.
    objects = video(1.4, 1200, playout_s=2.5 * RTT_S)
    result = trial((away, far(RATE_BPS / 2)), objects, drop_late=True)
    done = result.objects.complete_ns
    there = (done >= 0) & (done <= objects.deadline_ns) & (objects.layer == 0)
    passed = (objects.layer == 0) & (objects.release_ns > 600 * S) & (objects.release_ns < 780 * S)
    assert there[passed].all()
    assert wire_rate(result, 600, 780, 1) > 0.98 * RATE_BPS / 2
    # A packet kProbes times a round trip: 800 + 100 / 16, and it is heard of a round trip later.
    assert wire_rate(result, 915, 1000) == pytest.approx(RATE_BPS, rel=0.03)


@pytest.mark.parametrize("senders", [1, 2, 4])
def test_what_its_own_queue_has_no_room_for_stays_with_the_sender(senders: int) -> None:
    """It goes when there is room: nothing is lost before the line, and the line is busy."""
    shared = replace(far(), queue_bytes=2 * WIRE, subflows=senders)
    result = trial(shared, video(1.5, 300, playout_s=2.5 * RTT_S), repair=(0.0,) * 3)
    assert result.totals.dropped_queue_packets == 0
    assert sum(wire_rate(result, 100, 300, s) for s in range(senders)) > 0.95 * RATE_BPS


def test_it_follows_a_step_of_the_lines_rate_that_nobody_announced() -> None:
    stepped = far(hidden_t_ns=(0, ns(300), ns(600)), hidden_share=(1.0, 0.25, 1.0))
    result = trial(stepped, video(1.5, 900))
    for from_s, to_s, share in ((100, 290, 1), (320, 590, 0.25), (620, 890, 1)):
        assert wire_rate(result, from_s, to_s) == pytest.approx(share * RATE_BPS, rel=0.04)


def distant_beside_near() -> tuple[Link, ...]:
    """16 kbit/s at 1.1 s one way, and 5.2 kbit/s at 0.1 s."""
    return far(16e3, 2.2, up_bps=3400), far(5200, 0.2, up_bps=4800)


def test_a_line_whose_rate_nobody_knows_yet_counts_as_one_that_may_bring_a_layer_in_time() -> None:
    # Five small layers go over the near line, and show its rate. Of the others each takes 1.9 s there and 0.1 s of
    # light, of 1.76: what is given up at once would never show what the distant line brings.
    objects = live(40, (1200,), playout_s=1.76)
    objects = replace(objects, payload_bytes=np.where(objects.chunk < 5, 300, 1200).astype(np.int64))
    result = trial(
        distant_beside_near(), objects, mss_bytes=512, block_s=1, slot_s=0.05, drop_late=True, repair=(0.0,)
    )
    assert in_time(result, objects) == 1.0


def test_with_few_packets_in_the_slack_it_plays_what_it_plays_when_told() -> None:
    objects = live(30, (1204, 802), chunk_s=1.07, playout_s=1.76)
    knobs = {"mss_bytes": 512, "block_s": 1, "slot_s": 0.05, "drop_late": True}
    untold = trial(distant_beside_near(), objects, **knobs)  # type: ignore[arg-type]
    told = trial(distant_beside_near(), objects, parameters=TOLD, **knobs)  # type: ignore[arg-type]
    assert in_time(untold, objects) >= in_time(told, objects) - 0.02 >= 0.48


def test_who_finds_the_rate_of_a_slow_line_puts_five_packets_there() -> None:
    objects = live(100, (1200, 1000), playout_s=200)
    stored = replace(objects, release_ns=np.zeros_like(objects.release_ns))
    samples = trial(far(1100, 1.4), stored, slot_s=0.5, drop_late=True).samples
    assert samples.queue_bytes.max() <= 5 * WIRE


def test_two_on_one_link_have_the_same_rate() -> None:
    result = trial(far(subflows=2), video(2, 2000))
    shares = tuple(wire_rate(result, 1000, 2000, subflow) for subflow in (0, 1))
    assert jain(shares) > 0.95
    assert sum(shares) > 0.85 * RATE_BPS


def test_two_before_a_slower_line_share_it() -> None:
    even = []
    for rtt_s in ROUND_TRIPS_S:
        result = trial(relayed(far(rtt_s=rtt_s, subflows=2), RATE_BPS / 2, 375_000), video(2, 2000))
        shares = tuple(wire_rate(result, 1000, 2000, subflow) for subflow in (0, 1))
        even.append(jain(shares))
        assert sum(shares) > 0.85 * RATE_BPS / 2
    assert min(even) > 0.95


@pytest.mark.parametrize("queue_rtts", [0.5, 1.0, 2.0])
def test_who_comes_later_has_the_same_rate_behind_a_node(queue_rtts: float) -> None:
    """Each over a line of its own; the other begins after seven round trips."""
    queue_bytes = int(queue_rtts * RTT_S * RATE_BPS / 16)
    both = (far(), far(outages_s=((0.0, 700.0),)))
    result = trial(
        tuple(relayed(one, RATE_BPS / 2, queue_bytes) for one in both), video(2, 4000), slot_s=50.0
    )
    shares = tuple(wire_rate(result, 2000, 4000, subflow) for subflow in (0, 1))
    assert jain(shares) > 0.95
    assert sum(shares) > 0.95 * RATE_BPS / 2


@pytest.mark.parametrize(
    ("rate_bps", "rtt_s", "queue_bdp"), [(1e6, 0.1, 1.0), (1e6, 0.1, 4.0), (240e3, 10.0, 1.0)]
)
def test_beside_cubic_both_have_three_tenths_of_their_share(
    rate_bps: float, rtt_s: float, queue_bdp: float
) -> None:
    queue_bytes, span = int(rate_bps / 8 * rtt_s * queue_bdp), int(max(60, 200 * rtt_s))
    shared = link(rate_bps, rtt_s, up_rate_bps=64e3, queue_bytes=queue_bytes, flows=(Flow("cubic"),))
    result = trial(shared, video(3, span, rate_bps=rate_bps), duration_s=span)
    others = result.flows[0].delivered_bytes * 8 * WIRE / MSS / span
    assert min(wire_rate(result, span / 2, span), others) >= 0.3 * rate_bps / 2


@pytest.mark.parametrize(("control", "flows"), [("cubic", 1), ("cubic", 3), ("bbr-scaled", 1)])
@pytest.mark.parametrize("subflows", [1, 2, 4])
def test_beside_tcp_each_subflow_has_its_part(subflows: int, control: str, flows: int) -> None:
    # What fills the queue counts as one flow and a half: 2/5, 4/7 and 8/11 of the line are the video's.
    span = 1000
    shared = link(
        RATE_BPS,
        10.0,
        up_rate_bps=64e3,
        queue_bytes=300_000,
        subflows=subflows,
        flows=tuple(Flow(control) for _ in range(flows)),
    )
    result = trial(shared, video(3, span), duration_s=span)
    own = sum(wire_rate(result, span / 2, span, subflow) for subflow in range(subflows))
    assert own / RATE_BPS == pytest.approx(subflows / (subflows + 1.5), abs=0.05)


def test_beside_bbr_who_needs_less_than_two_fifths_plays_nearly_all() -> None:
    # 0.36 of the line, repair and headers aside, of which the other takes all that it can from 50 s on.
    shared = link(52e3, 6.0, up_rate_bps=2200, flows=(Flow("bbr-scaled", start_ns=ns(50)),))
    objects = live(100, (4200, 2300), chunk_s=2.8, playout_s=36)
    result = trial(shared, objects, block_s=1, drop_late=True, duration_s=400)
    assert in_time(result, objects) > 0.97


def test_beside_cubic_in_a_nodes_store_it_has_a_fifth_of_its_share() -> None:
    both = far(up_bps=64e3, flows=(Flow("cubic", start_ns=ns(500)),))
    shared = relayed(both, RATE_BPS / 2, int(RATE_BPS / 2 / 8 * 2 * RTT_S))
    span = 60 * RTT_S
    result = trial(shared, video(2, int(span), playout_s=8 * RTT_S), duration_s=span)
    others = result.flows[0].delivered_bytes * 8 * WIRE / MSS / (span - 500)
    assert min(wire_rate(result, span / 2, span), others) >= 0.2 * RATE_BPS / 4


@pytest.mark.parametrize("senders", [2, 4])
def test_senders_of_this_kind_do_not_take_each_other_for_those_that_fill_the_queue(senders: int) -> None:
    result = trial(far(subflows=senders), video(2, 600))
    # Each keeps four packets there.
    assert result.totals.queue_p95_s < (4 * senders + 4) * WIRE * 8 / RATE_BPS
    assert jain(tuple(wire_rate(result, 300, 600, one) for one in range(senders))) > 0.95


def test_where_tcp_fills_the_queue_it_plans_with_the_place_that_it_holds() -> None:
    """600 kB of TCP beside a video of three quarters of the line: 1.9 of 3 MB in 150 s, so that all can be in time."""
    others = (
        Flow("newreno", start_ns=ns(3), payload_bytes=600_000),
        Flow(
            "newreno", start_ns=ns(20), stop_ns=ns(70), source=CrossTraffic(20e3, on_ns=ns(8), off_ns=ns(4))
        ),
    )
    shared = link(160e3, 10.0, up_rate_bps=40e3, queue_bytes=200_000, flows=others)
    objects = video(0.75, 80, rate_bps=160e3, playout_s=60)
    assert in_time(trial(shared, objects, block_s=5, duration_s=150), objects) == 1


def test_a_rest_by_the_contact_plan_changes_nothing() -> None:
    away = far(outages_s=((300.0, 500.0),))
    result = trial(away, video(1.5, 900))
    assert result.totals.lost_channel_packets <= 4  # those in the queue when the link went
    assert wire_rate(result, 510, 890) == pytest.approx(RATE_BPS, rel=0.03)


@examples(30)
@given(
    rate_bps=st.sampled_from((4e3, 60e3, 1e6)),
    rtt_s=st.sampled_from((0.5, 10.0, 100.0)),
    up_bps=st.sampled_from((500.0, 2e3, 64e3)),
    loss=st.sampled_from((0.0, 0.02, 0.3)),
    packets=st.sampled_from((1, 3, 100)),
    further_on=st.sampled_from((0.0, 0.3, 2.0)),
    others=st.sampled_from((0.0, 0.5, 1.5)),
    dark=st.booleans(),
    seed=st.integers(1, 100),
)
def test_whatever_the_link_it_goes_on_sending_and_puts_no_more_on_it_than_it_carries(
    *,
    rate_bps: float,
    rtt_s: float,
    up_bps: float,
    loss: float,
    packets: int,
    further_on: float,
    others: float,
    dark: bool,
    seed: int,
) -> None:
    span_s = max(12 * rtt_s, 400 * WIRE * 8 / rate_bps)
    one = link(
        rate_bps,
        rtt_s,
        up_rate_bps=up_bps,
        queue_bytes=packets * WIRE,
        loss=Loss("packet", loss) if loss else None,
        cross_traffic=(CrossTraffic(others * rate_bps),) if others else (),
        unannounced_ns=((ns(0.4 * span_s), ns(0.6 * span_s)),) if dark else (),
    )
    if further_on:
        one = relayed(one, further_on * rate_bps, 5 * WIRE)
    chunk = int(1.5 * rate_bps * span_s / 8 / 10)
    objects = live(10, (chunk,), chunk_s=span_s / 10)
    result = trial(one, objects, block_s=1, seed=seed, duration_s=span_s, slot_s=span_s / 10)
    samples = result.samples
    assert samples.sent_segments[samples.t_ns > 0.5 * ns(span_s)].sum() >= 3
    wire_bytes = result.totals.sent_wire_bytes - WIRE * result.totals.dropped_queue_packets
    assert wire_bytes <= rate_bps / 8 * span_s + (packets + 2) * WIRE


def test_tcp_and_flows_of_tcp_cannot_have_it() -> None:
    with pytest.raises(ValueError, match="paced needs the mode coded"):
        run("paced", link(), duration_s=1)
    with pytest.raises(ValueError, match="which has neither paced nor ltp"):
        run("cubic", link(flows=(Flow("paced"),)), duration_s=1)


FADES = Loss(
    "schedule",
    t_ns=tuple(ns((rtts + edge) * RTT_S) for rtts in range(2, 30, 3) for edge in (0, 0.01, 1.5, 1.51)),
    rates=(0.0, 0.25, 0.25, 0.0) * 10,
)
"""A quarter is lost for half of every three round trips: each trial of a rate meets a fade that comes or goes."""


@pytest.mark.parametrize("up_bps", [2e3, 256e3])
def test_losses_that_come_and_pass_by_themselves_leave_the_pace(up_bps: float) -> None:
    result = trial(far(up_bps=up_bps, loss=FADES), video(1.5, 3200))
    assert wire_rate(result, 300, 3200) > 0.98 * RATE_BPS


def test_what_passes_by_itself_hides_no_slower_line() -> None:
    result = trial(relayed(far(loss=FADES), RATE_BPS / 2, 4 * WIRE), video(2, 3200))
    # A line of half the rate with a queue of four packets: where a quarter is lost before it, a third more passes.
    assert wire_rate(result, 800, 3200) < 1.3 * RATE_BPS / 2


@pytest.mark.parametrize("fades_s", [1000, 1009, 1017, 1025, 1033, 1041])
def test_a_link_that_all_but_went_is_used_again_at_its_rate(fades_s: int) -> None:
    # Clouds: for three round trips a fifth of the rate and one packet of 100, so that few reports come; before and
    # after, for a while, three quarters of the rate and 3 % lost.
    rate_bps, rtt_s = 454e3, 47.0
    edges = [ns(fades_s + after) for after in (0, 225, 366, 591)]
    losses = Loss(
        "schedule",
        t_ns=tuple(t + more for t in edges for more in (0, S)),
        rates=(0.0, 0.03, 0.03, 0.99, 0.99, 0.03, 0.03, 0.0),
    )
    clouds = {"hidden_t_ns": (0, *edges), "hidden_share": (1.0, 0.75, 0.2, 0.75, 1.0)}
    result = trial(
        far(rate_bps, rtt_s, up_bps=21e3, loss=losses, **clouds), video(1.2, 3600, rate_bps=rate_bps)
    )
    assert wire_rate(result, fades_s + 591 + 3 * rtt_s, 3600) > 0.98 * rate_bps


def test_bursts_are_not_taken_for_its_own_losses() -> None:
    # Bursts of 20 packets, a twelfth of all: half a trial of a rate has two bursts, or none.
    bursts = Loss("gilbert-elliott", p=0.0045, r=0.05, good=0.0, bad=1.0)
    results = [trial(far(loss=bursts), video(1.5, 6000), seed=seed) for seed in range(6)]
    assert min(wire_rate(result, 600, 6000) for result in results) > 0.95 * RATE_BPS


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("rate_bps", [1_000, 1_500, 1_900, 2_300])
def test_of_one_layer_that_overfills_the_line_as_many_are_in_time_as_the_line_carries(
    rate_bps: int, told: bool
) -> None:
    """300 chunks of seven full packets and one of 720 bytes in 11,250 s, which may wait for 150 s; no repair."""
    chunk = 7 * MSS + 720
    on_wire = 7 * WIRE + 720 + WIRE - MSS
    objects = live(300, (chunk,), chunk_s=37.5, playout_s=300)
    result = trial(
        far(rate_bps, 300.0),
        objects,
        congestion="open-loop" if told else "paced",
        block_s=2,
        repair=(0.0,),
        duration_s=12_000,
        parameters=rates(rate_bps),
    )
    assert in_time(result, objects) >= 0.98 * rate_bps / 8 * 37.5 / on_wire


@pytest.mark.parametrize("congestion", ["paced", "open-loop"])
def test_of_base_layers_that_overfill_a_lossy_line_most_that_it_carries_are_in_time(congestion: str) -> None:
    """A base layer of 1.1 times what the line carries, one above it of half as much, and 12 % losses. Of a block of
    three base layers, 60 packets, 7 are lost. With 12 of repair more than these are lost once in 12 times (binomial),
    and 60 / 72 / 1.1 of the blocks find room: more than two thirds of the base layers."""
    rate_bps = 80e3
    base = 20 * MSS
    lossy = far(rate_bps, 100.0, up_bps=64e3, loss=Loss("packet", 0.12))
    objects = live(600, (base, base // 2), chunk_s=20 * WIRE * 8 / rate_bps / 1.1, playout_s=250)
    result = trial(
        lossy, objects, congestion=congestion, block_s=3, duration_s=2400, parameters=rates(rate_bps)
    )
    done = result.objects.complete_ns
    timely = (done >= 0) & (done <= objects.deadline_ns)
    assert np.mean(timely[objects.layer == 0]) > 2 / 3


def test_what_two_links_have_no_room_for_of_one_layer_is_not_begun() -> None:
    """1.8 times what both carry. One packet in 20 is lost; with a repair packet in eight most chunks come."""
    rate_bps, load = 80e3, 1.8
    both = tuple(far(rate_bps / 2, rtt_s, up_bps=8e3, loss=Loss("packet", 0.05)) for rtt_s in (50.0, 100.0))
    objects = live(300, (20 * MSS,), chunk_s=20 * WIRE * 8 / rate_bps / load, playout_s=150)
    result = trial(both, objects, block_s=3, duration_s=800)
    assert in_time(result, objects) > 0.85 / load


def test_what_a_line_behind_a_node_loses_is_repaired() -> None:
    """Three in ten, all along: no storage overflows, since what arrives has waited nowhere. Of 0.6 of the line three
    sevenths more fit."""
    through = relayed(far(), RATE_BPS, 10**6)
    (hop,) = through.onward
    lossy = replace(through, onward=(replace(hop, line=replace(hop.line, loss=Loss("packet", 0.3))),))
    objects = video(0.6, 900, playout_s=RTT_S)
    result = trial(lossy, objects)
    done = result.objects.complete_ns
    late = objects.release_ns > ns(250)
    assert np.mean((done >= 0) & (done <= objects.deadline_ns), where=late) > 0.95


def test_a_link_that_comes_nearer_shows_no_queue() -> None:
    """Light takes 50 s, and 20 s less after ten minutes: what left a round trip ago has waited nowhere for it."""
    moves = replace(far(up_bps=1e5), delay_t_ns=(0, ns(600)), delay_ns=(ns(50), ns(30)))
    result = trial(moves, video(1.2, 600, playout_s=2 * RTT_S))
    assert wire_rate(result, 150, 600) > 0.98 * RATE_BPS


def test_a_path_whose_rate_falls_brings_nothing_late() -> None:
    """To a tenth, where a packet takes longer than the time that is left; the other path suffices."""
    slow = far(7e3, 20.0, rate_t_ns=(0, ns(720), ns(1440)), rate_share=(1.0, 0.1, 1.0))
    objects = live(216, (5000, 2500, 2500), chunk_s=10.0, playout_s=124.0)
    result = trial((slow, far(11e3, 24.0)), objects)
    assert in_time(result, objects) == 1


def test_a_share_that_others_left_is_forgotten_once_nothing_is_sent() -> None:
    """Beside a flow that fills the queue no chunk is in time at the pace that was found; it ends."""
    flow = Flow("cubic", ns(300), ns(900))
    on = replace(far(100e3, 1.0, up_bps=100e3), queue_bytes=30_000, flows=(flow,))
    objects = live(900, (15_000, 10_000), chunk_s=2.0, playout_s=5.0)
    result = trial(on, objects, slot_s=0.9)
    late = objects.release_ns > ns(1000)
    there = (result.objects.complete_ns >= 0) & (result.objects.complete_ns <= objects.deadline_ns)
    assert there[late].mean() > 0.9


def test_base_layers_go_a_round_trip_ahead_of_a_backlog_that_stands() -> None:
    """Losses come and go, a quarter at the worst, and others take half of the line for 3,000 s: what waits is late by
    all the time there is. Fresh packets for base layers gain more than the highest layer's place in the queue."""
    turn = ns(1200)
    times = tuple(k * turn // 4 for k in range(44))
    losses = Loss("schedule", t_ns=times, rates=(0.001, 0.06, 0.25, 0.06) * 11)
    others = CrossTraffic(50e3, start_ns=ns(4000), stop_ns=ns(7000))
    on = far(100e3, 600.0, loss=losses, cross_traffic=(others,))
    second = int(0.78 * 100e3 / 8 * MSS / WIRE)
    objects = live(6000, (int(1.2 * second), int(0.8 * second)), chunk_s=2.0, playout_s=1650.0)
    result = trial(on, objects, block_s=80, slot_s=60.0)
    there = (result.objects.complete_ns >= 0) & (result.objects.complete_ns <= objects.deadline_ns)
    assert there[objects.layer == 0].mean() > 0.98
    assert there[objects.layer == 1].mean() > 0.75
