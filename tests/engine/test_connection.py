"""The connection: handshakes, loss repair, ordering domains, reinjection, deadlines, the receive window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import (
    CONGESTION_NAMES,
    NEVER_NS,
    SCHEDULER_NAMES,
    EngineResult,
    Loss,
    Objects,
    TcpConstants,
)
from dstcc.engine.simulate import channel_losses

from . import net

RTT_S = 2.0


def test_data_leaves_one_round_trip_after_the_syn():
    result = net.run("newreno", net.link(12e6, RTT_S), objects=net.bulk(net.MSS))
    # SYN and SYN-ACK take their time on the line; the handshake's third packet, alone in its connection, takes none.
    handshake_s = RTT_S + 2 * 40 * 8 / 12e6
    assert result.totals.first_send_s == pytest.approx(handshake_s, abs=1e-7)
    assert result.totals.last_delivery_s == pytest.approx(
        handshake_s + net.WIRE * 8 / 12e6 + RTT_S / 2, abs=1e-7
    )


def test_slow_start_doubles_from_ten_segments():
    # IW 10 (RFC 6928): 10, 20, 40, .. a round trip, so n round trips carry 10 (2^n - 1) segments.
    result = net.run("newreno", net.link(120e6, RTT_S), duration_s=7 * RTT_S + 0.9, slot_s=RTT_S)
    sent = result.samples.sent_segments
    np.testing.assert_array_equal(sent[1:7], 10 * 2 ** np.arange(6))


def first_sent_s(result: EngineResult, subflow: int) -> float:
    """When a subflow's first data left."""
    trace = result.trace
    assert trace is not None
    sent = (trace.event == 0) & (trace.sender == subflow) & (trace.bytes > 0)
    return float(trace.t_ns[sent][0]) / net.S


@pytest.mark.parametrize(("rtt_s", "joining_s"), [(2.0, 1.0), (1.0, 4.0), (2.0, 2.0)])
def test_a_later_subflow_sends_two_round_trips_after_the_first_acknowledgement(
    rtt_s: float, joining_s: float
):
    # The first DATA_ACK is there after two round trips of the first path, handshake and data; the join's SYN leaves
    # with it. Its answer, and the answer to the ACK that this brings, take two of the second's (RFC 8684 section 3.2).
    links = (net.link(12e6, rtt_s), net.link(12e6, joining_s))
    result = net.run(
        "fixed", links, objects=net.bulk(10**9), duration_s=2 * (rtt_s + joining_s) + 1, trace=True
    )
    # each of the eight packets takes its time on the line, 1 ms at most
    assert first_sent_s(result, 1) == pytest.approx(2 * rtt_s + 2 * joining_s, abs=0.008)


def test_all_later_subflows_join_at_once():
    links = (net.link(12e6, 2.0), net.link(12e6, 1.0), net.link(12e6, 1.5))
    result = net.run("fixed", links, objects=net.bulk(10**9), duration_s=8, trace=True)
    assert first_sent_s(result, 1) == pytest.approx(2 * 2.0 + 2 * 1.0, abs=0.008)
    assert first_sent_s(result, 2) == pytest.approx(2 * 2.0 + 2 * 1.5, abs=0.008)


def test_a_join_waits_for_data():
    # Nothing to send before 10 s: the first data is acknowledged a round trip of 2 s later, the join takes two of
    # 1 s. Of 35 segments with a window of 10 the last 5 leave at 14 s.
    links = (net.link(12e6, 2.0), net.link(12e6, 1.0))
    objects = net.live(50, (50_000,), chunk_s=10.0)
    result = net.run("cubic", links, objects=objects, scheduler="round-robin", duration_s=40, trace=True)
    sent = first_sent_s(result, 1)
    assert sent == pytest.approx(10 + 2 + 2 * 1.0, abs=0.02)
    early = net.live(50, (50_000,), chunk_s=1.0)
    result = net.run("cubic", links, objects=early, scheduler="round-robin", duration_s=40, trace=True)
    # 2 s of handshake, 2 s of data, 2 s of join
    assert first_sent_s(result, 1) == pytest.approx(6.0, abs=0.02)


TICKS = TcpConstants(jiffy_s=0.01)


@pytest.mark.parametrize(("joining_s", "again_s"), [(1.0, [7.04, 9.12]), (0.1, [4.32, 4.54])])
def test_the_third_packet_of_a_join_is_repeated_after_two_round_trips(joining_s: float, again_s: list[float]):
    # The second path is dark for the join's ACK, which leaves a round trip after its SYN of 2 * 2 s, and for the next.
    # Each leaves two round trips after the last, on Linux's timer wheel, whose slots are 80 ms apart two seconds away;
    # with 0.1 s long before a SYN's timer of 1 s. Data leaves a round trip later. No plan has the outage.
    lost = 2 * 2.0 + joining_s
    dark = ((net.ns(lost - 0.01), net.ns(lost + 2 * joining_s + 0.2)),)
    links = (net.link(12e6, 2.0), net.link(12e6, joining_s, unannounced_ns=dark))
    result = net.run("fixed", links, objects=net.bulk(10**9), duration_s=14, trace=True, constants=TICKS)
    syn, acknowledged, *again = syns_s(result, 1)
    assert acknowledged == pytest.approx(syn + joining_s, abs=0.001)
    assert again == pytest.approx(again_s, abs=1e-6)
    assert first_sent_s(result, 1) == pytest.approx(again[-1] + joining_s, abs=0.001)


def test_a_joins_round_trip_is_that_of_its_syn():
    # 1 s for the SYN, which leaves at 2 * 2 s, and 1.2 s for the ACK at 5 s.
    moved = replace(
        net.link(12e6, 1.0),
        delay_t_ns=(0, net.ns(4.9), net.ns(4.95)),
        delay_ns=(net.ns(0.5), net.ns(0.5), net.ns(0.6)),
    )
    links = (net.link(12e6, 2.0), moved)
    steps = net.run("newreno", links, objects=net.bulk(10**9), duration_s=7, trace=True).steps
    assert steps is not None
    assert steps.srtt_ns[steps.subflow == 1][0] == pytest.approx(net.ns(1.0), rel=1e-3)


def test_bbrs_round_trip_of_a_join_is_as_old_as_its_syns_answer():
    # The join's SYN leaves at 2 * 0.9 s and is answered at 2.7 s: the first ACK after 12.7 s begins PROBE_RTT, and not
    # 10 s after data could leave, a round trip later.
    links = (net.link(1.2e6, 0.9), net.link(1.2e6, 0.9))
    steps = net.run(
        "bbr", links, objects=net.bulk(10**9), scheduler="linux", duration_s=16, trace=True, constants=TICKS
    ).steps
    assert steps is not None
    small = (steps.subflow == 1) & (steps.cwnd_segments == 4)
    assert steps.t_ns[small][0] / net.S == pytest.approx(12.7, abs=0.05)


@pytest.mark.parametrize(("joining_s", "segments"), [(0.98, 10), (1.1, 4)])
def test_a_join_whose_syn_was_repeated_has_the_pace_of_one_segment(joining_s: float, segments: int):
    # A write of four segments each 0.1 s goes where what is queued takes the least time (tcp_enter_loss()).
    links = (net.link(1.2e6, 0.9), net.link(1.2e6, joining_s))
    objects = net.live(400, (4 * net.MSS,), chunk_s=0.1)
    trace = net.run(
        "newreno", links, objects=objects, scheduler="linux", duration_s=6, trace=True, constants=TICKS
    ).trace
    assert trace is not None
    times = trace.t_ns[(trace.event == 0) & (trace.sender == 1) & (trace.bytes > 0)]
    assert (times < times[0] + net.ns(0.5)).sum() == segments


@pytest.mark.parametrize(("written", "taken"), [(((8.0, 10),), 4), (((6.5, 3), (7.6, 60)), 48)])
def test_the_answer_to_a_joins_repeated_ack_makes_its_pace_anew_while_data_is_in_flight(
    written: tuple[tuple[float, int], ...], taken: int
):
    # The join sends from 6.3 s on, and an answer to the ACK of its repeated SYN comes at 7.3 s. Of the last writes, of
    # four segments each, it takes one where nothing was in flight, and at the pace of ten segments where something was.
    counts = [count for _, count in ((0.1, 1), *written)]
    release = np.repeat([net.ns(at_s) for at_s, _ in ((0.1, 1), *written)], counts)
    chunk = np.arange(len(release))
    objects = Objects(chunk, 0 * chunk, 0 * chunk + 4 * net.MSS, release, 0 * chunk + NEVER_NS)
    links = (net.link(1.2e6, 0.9), net.link(1.2e6, 2.2))
    trace = net.run(
        "newreno", links, objects=objects, scheduler="linux", duration_s=14, trace=True, constants=TICKS
    ).trace
    assert trace is not None
    last = (trace.event == 0) & (trace.bytes > 0) & (trace.object >= len(chunk) - counts[-1])
    assert (last & (trace.sender == 1)).sum() == taken


@pytest.mark.parametrize(("congestion", "bursts"), [("newreno", 4), ("westwood", 3)])
def test_a_repeated_syn_leaves_westwood_no_threshold_to_start_slowly_below(congestion: str, bursts: int):
    """What the first subflow has queued takes some 1,300 s by its pace. The second one, whose SYN was repeated, has the
    pace of one segment in a round trip, twofold in slow start (tcp_update_pacing_rate()): 282 bytes a second, by which
    a burst of 45 segments, with 832 bytes beside each, takes 365 s. So the fourth is the last that begins within 1,300
    s. A timeout of Westwood's sets the threshold to its bandwidth, of which nothing is known yet, two segments at
    least (tcp_westwood_event()); of these one is no less than half, and the pace 6/5: 608 s a burst, three of them."""
    links = (net.link(120e3, 10.0), net.link(120e3, 10.1))
    trace = net.run(
        congestion, links, objects=net.bulk(), scheduler="linux", duration_s=400, trace=True, constants=TICKS
    ).trace
    assert trace is not None
    sent = (trace.event == 0) & (trace.syn == 0)
    _, first = np.unique(trace.order[sent], return_index=True)
    subflow, size = trace.sender[sent][first], trace.bytes[sent][first]
    begin = int(np.argmax(subflow == 1))
    end = begin + int(np.argmax(subflow[begin:] == 0))
    assert size[begin:end].sum() == bursts * 65_456


def test_the_third_packet_of_a_join_is_not_repeated_into_the_dark():
    # It leaves at 2 * 2 + 1 = 5 s, and finds the link gone at 5.5 s; the plan has it up again at 20 s.
    links = (net.link(12e6, 2.0), net.link(12e6, 1.0, outages_s=((5.2, 20.0),)))
    result = net.run("fixed", links, objects=net.bulk(10**9), duration_s=25, trace=True)
    assert syns_s(result, 1) == pytest.approx([4.0, 5.0, 20.0], abs=0.002)
    assert first_sent_s(result, 1) == pytest.approx(21.0, abs=0.001)


def syns_s(result: EngineResult, subflow: int) -> list[float]:
    """When a subflow's SYNs and a join's ACKs left."""
    trace = result.trace
    assert trace is not None
    sent = (trace.event == 0) & (trace.sender == subflow) & (trace.syn == 1)
    return [float(t) / net.S for t in trace.t_ns[sent]]


@pytest.mark.parametrize(("rtt_s", "repeats"), [(1.02, 0), (1.05, 1)])
def test_a_syns_timer_is_on_the_wheel(rtt_s, repeats):
    # A second is 100 ticks of 10 ms, and goes off with the 104th
    result = net.run(
        "fixed", net.link(12e6, rtt_s), objects=net.bulk(net.MSS), duration_s=5, trace=True, constants=TICKS
    )
    assert syns_s(result, 0) == pytest.approx([0, 1.04][: 1 + repeats], abs=1e-6)


def test_a_join_acknowledges_each_answer_to_its_syns():
    # The join's SYN leaves at 2 * 0.5 s and again a second later; the answers are there after 2.2 s each, and so is one
    # to each of the two ACKs (tcp_send_challenge_ack()). Data leaves with the first of these.
    links = (net.link(12e6, 0.5), net.link(12e6, 2.2))
    result = net.run("fixed", links, objects=net.bulk(10**9), duration_s=7, trace=True)
    first, again, *acknowledged = syns_s(result, 1)
    assert again == pytest.approx(first + 1, abs=0.03)
    assert acknowledged == pytest.approx([first + 2.2, again + 2.2], abs=0.001)
    assert first_sent_s(result, 1) == pytest.approx(first + 4.4, abs=0.01)


def test_a_window_that_another_subflows_acknowledgement_fills_was_in_use():
    # Ten segments of the joined subflow leave one by one, as the first subflow's ACKs have more bound, and fill its
    # window: the first ACK of its own makes it eleven.
    links = (net.link(1.2e6, 0.9), net.link(1.2e6, 2.2))
    result = net.run("newreno", links, scheduler="linux", duration_s=12, trace=True)
    steps = result.steps
    assert steps is not None
    own = steps.subflow == 1
    assert steps.cwnd_segments[own & (steps.una == 1)][0] == 11


def test_a_window_that_the_answer_to_a_joins_ack_closes_takes_no_more():
    # The join's SYN leaves with the first acknowledgement, at 2.4 + 0.9 s, is answered at 11.3 s and repeated after 1,
    # 3 and 7 s. Each answer is acknowledged, and that is answered, 16 s after its SYN: the third at 22.3 s, more than
    # 10 s after 11.3 s. BBR's window becomes 4 with nine segments under way. More data is there at 24 s, before their
    # ACKs.
    links = (net.link(1.2e6, 0.9), net.link(1.2e6, 8.0))
    objects = net.live(12, (6 * net.MSS,), chunk_s=2.4)
    steps = net.run("bbr", links, objects=objects, duration_s=30, trace=True).steps
    assert steps is not None
    own = steps.subflow == 1
    window, flight = steps.cwnd_segments[own], steps.inflight_segments[own]
    assert ((window[:-1] == 4) & (flight[:-1] == 9)).any()
    assert (flight[1:] <= np.maximum(window[:-1], flight[:-1])).all()


def test_layers_pinned_to_a_link_that_has_not_joined_open_the_connection():
    # All layers are told to go on the second link, which joins only once the first has carried data: what is there
    # before takes the first, what comes later the second.
    links = (net.link(12e6, 2.0), net.link(12e6, 1.0))
    objects = net.live(30, (20_000, 20_000))
    result = net.run("fixed", links, objects=objects, scheduler="layer-pinned", layer_links=(1,))
    assert (result.objects.complete_ns > 0).all()
    late = objects.release_ns > net.ns(6.1)
    assert (result.objects.subflow[late] == 1).all()
    assert (result.objects.subflow[objects.release_ns < net.ns(5.9)] == 0).any()


def test_layers_that_another_subflow_has_not_begun_go_to_their_link_once_it_has_joined():
    # As above, but the first link is too slow for what it was given; the second sends from 2 * 2 + 2 * 1 s on.
    links = (net.link(1.2e6, 2.0), net.link(12e6, 1.0))
    objects = net.live(30, (150_000, 20_000))
    result = net.run("fixed", links, objects=objects, scheduler="layer-pinned", layer_links=(1,))
    begun_later = result.objects.first_sent_ns > net.ns(6.1)
    assert (begun_later & (objects.release_ns < net.ns(5.9))).any()
    assert (result.objects.subflow[begun_later] == 1).all()


def test_a_subflow_that_gave_all_its_layers_away_sends_on():
    # A layer is ten segments, so that the first link's windows of 10 and 20 hold three whole ones, and none of its own
    # is begun when the second joins, at 2 · 2 + 2 · 0.8 s: all that are left go there.
    links = (net.link(12e6, 2.0), net.link(12e6, 0.8))
    objects = net.live(8, (10 * net.MSS,), chunk_s=0.01)
    result = net.run(
        "newreno",
        links,
        objects=objects,
        scheduler="layer-pinned",
        layer_links=(1,),
        constants=net.QUICK_ACK,
    )
    assert result.objects.subflow.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert result.objects.first_sent_ns[3] / net.S == pytest.approx(5.6, abs=0.01)
    assert (result.objects.complete_ns > 0).all()


def test_lanes_start_at_once_on_every_link():
    links = (net.link(12e6, 2.0), net.link(12e6, 1.0))
    objects = net.live(30, (20_000, 20_000), chunk_s=0.1)
    result = net.run("fixed", links, objects=objects, mode="lanes", slot_s=0.1)
    second = result.samples.subflow == 1
    first_sample = result.samples.t_ns[second & (result.samples.sent_segments > 0)][0] / net.S
    assert first_sample == pytest.approx(1.0, abs=0.11)


def test_a_lost_syn_is_repeated_after_the_initial_rto_and_the_rtt_is_of_the_repeat():
    # A seed that loses the SYN and not its repeat, which leaves after 1 s (RFC 6298 section 2.1), 250 ticks of 4 ms:
    # 256 on Linux's timer wheel, whose slots are eight apart there. It is answered after 0.1 s: data at 1.124 s, and
    # its timestamp says 0.1 s, not 1.124 (RFC 7323 section 4.3).
    link = net.link(12e6, 0.1, loss=Loss("packet", 0.5))
    seed = next(
        s for s in range(1, 99) if list(channel_losses(link, s, 0, net.WIRE, 1001)[::1000]) == [True, False]
    )
    result = net.run("newreno", link, objects=net.bulk(net.MSS), seed=seed, slot_s=1.15)
    assert result.totals.first_send_s == pytest.approx(1.124, abs=1e-4)
    assert result.samples.srtt_ns[0] == pytest.approx(net.ns(0.1), rel=1e-3)


def test_one_loss_costs_one_round_trip_of_repair():
    # A packet a second; the tenth is lost once. RACK sees the eleventh's SACK; by then the tenth is a second older,
    # more than the reordering window of a quarter RTT (RFC 8985 section 6.2), and is repeated at once.
    holed = net.link(12e6, RTT_S, drops=((9, 1),))
    objects = net.live(30, (net.MSS,))
    result = net.run("open-loop", holed, objects=objects, slot_s=1)
    repair = (result.objects.complete_ns[9] - objects.release_ns[9]) / net.S
    #  1 s until the next packet + RTT until its SACK + RTT/2 down
    assert repair == pytest.approx(1 + RTT_S + RTT_S / 2, abs=0.01)
    assert result.objects.retransmissions.sum() == 1


def test_a_tail_loss_is_probed_before_the_timeout():
    # The last packet of a burst is lost: TLP repeats it after 2 srtt (RFC 8985 section 7.2) + RTO_MIN's slack for one
    # packet in flight, long before RTO = 3 RTT and more.
    objects = net.live(1, (5 * net.MSS,), chunk_s=0.001)
    # the burst leaves when the handshake is done; its fifth packet is in service from 4 to 5 ms later
    start = RTT_S + 2 * 26.7e-6
    dark = net.link(12e6, RTT_S, outages_s=((start + 0.0042, start + 0.0045),))
    result = net.run("newreno", dark, objects=objects, slot_s=1)
    assert result.totals.timeouts == 0
    assert result.totals.retransmitted_payload_bytes == net.MSS
    waited = result.totals.last_delivery_s - result.totals.first_send_s
    # 4.2 s are 1,050 jiffies of 4 ms: so far away the timer wheel's slots are 64 jiffies, 0.256 s, apart.
    assert 0 <= waited - (RTT_S + 2 * RTT_S + 0.2 + RTT_S / 2) <= 0.256 + 0.05


def test_timeouts_back_off_exponentially_through_an_outage():
    # Everything is lost from 10 s to 200 s: the RTO of about 3 RTT doubles until the light is back.
    dark = net.link(1.2e6, RTT_S, outages_s=((10.0, 200.0),))
    result = net.run("newreno", dark, objects=net.bulk(5_000_000))
    assert 4 <= result.totals.timeouts <= 8
    assert result.objects.complete_ns[0] > net.ns(200)


def test_what_is_written_after_a_timeout_does_not_wait_for_its_ack():
    # All five are lost. A timeout repeats the first; the rest of a window of ten waits for its ACK, or for a push,
    # which tcp_sendmsg() makes for what is written then: half a round trip later. It goes behind the four that are
    # repeated, paced ten a round trip.
    dark = net.link(12e6, RTT_S, outages_s=((9.0, 25.0),))
    knobs = {"parameters": net.windows(10), "slot_s": 1.0}
    first = Objects(*(np.array([one]) for one in (0, 0, 5 * net.MSS, net.ns(10), NEVER_NS)))
    trace = net.run("fixed", dark, objects=first, trace=True, **knobs).trace
    assert trace is not None
    sent = trace.t_ns[(trace.event == 0) & (trace.bytes > 0) & (trace.t_ns > net.ns(25))]
    assert sent[1] - sent[0] > net.ns(RTT_S)
    written = int(sent[0]) + net.ns(RTT_S / 2)
    both = Objects(
        chunk=np.array([0, 1]),
        layer=np.array([0, 0]),
        payload_bytes=np.array([5 * net.MSS, net.MSS]),
        release_ns=np.array([net.ns(10), written]),
        deadline_ns=np.full(2, NEVER_NS),
    )
    result = net.run("fixed", dark, objects=both, **knobs)
    assert (result.objects.first_sent_ns[1] - written) / net.S == pytest.approx(4 * RTT_S / 10, abs=1e-3)


def test_rto_is_capped_by_the_scaled_maximum():
    # With RTO_MAX = 0.5 s and RTT = 2 s every wait is cut short: a probe stands in for the first timeout, then they are
    # spurious, as real stacks suffer beyond 120 s.
    short = TcpConstants(rto_initial_s=0.5, rto_max_s=0.5)
    spoiled = net.run("newreno", net.link(12e6, RTT_S), objects=net.bulk(10**6), constants=short)
    assert spoiled.totals.timeouts > 0
    healed = net.run("newreno", net.link(12e6, RTT_S), objects=net.bulk(10**6), constants=short, scale=10)
    assert healed.totals.timeouts == 0


def test_more_lanes_confine_the_damage_of_a_loss():
    # One ordering domain: a loss holds up everything behind it for a round trip. Sixteen: a sixteenth of it.
    link = net.link(1.2e6, 10.0, loss=Loss("packet", 0.01))
    objects = net.live(2_000, (5_000,), chunk_s=0.1)

    def blocked(lanes: int) -> float:
        result = net.run("fixed", link, objects=objects, mode="lanes", lanes_per_link=lanes, slot_s=5)
        assert (result.objects.complete_ns > 0).all()
        return result.totals.hol_wait_byte_s / result.totals.delivered_payload_bytes

    assert blocked(16) < blocked(1) / 4


def test_lossless_single_path_never_blocks():
    result = net.run("cubic", net.link(12e6, 1.0, queue_bdp=100), objects=net.bulk(10**7))
    assert result.totals.hol_payload_bytes == 0


def test_reinjection_carries_on_over_the_other_path():
    # Path 1 goes dark for good at 20 s; what it owed crosses on path 2 after its timeout.
    links = (net.link(1.2e6, RTT_S, outages_s=((20.0, 1e6),)), net.link(1.2e6, RTT_S))
    result = net.run("fixed", links, objects=net.bulk(8_000_000))
    assert result.objects.complete_ns[0] > 0
    # 8 MB at 2.4 Mbit/s until 20 s, then at 1.2 Mbit/s: about 40 s; the timeout adds a few round trips.
    assert result.totals.last_delivery_s < 60
    # What arrived before the dark without its ACK getting back, half a window of 1.2 Mbit/s over 2 s, arrives twice. No
    # further timeout of path 1 gives it to path 2 once more.
    assert result.totals.timeouts > 1
    half_window = 1.2e6 * RTT_S / 8 / net.WIRE / 2
    assert result.totals.duplicate_payload_bytes / net.MSS == pytest.approx(half_window, abs=3)


def test_a_light_time_that_grows_is_known_from_the_slot_on():
    # 0.5 s, and from 5 s on 4 s: what is due 2 s after its release can no longer come, and is not sent.
    growing = net.link(12e6, 1.0, delay_t_ns=(0, net.ns(5)), delay_ns=(net.ns(0.5), net.ns(4)))
    objects = net.live(12, (3 * net.MSS,), playout_s=2.0)
    result = net.run("fixed", growing, objects=objects, drop_late=True, duration_s=20)
    assert result.objects.sent_bytes[0] == 3 * net.MSS
    assert (result.objects.sent_bytes[objects.release_ns > net.ns(5)] == 0).all()


@pytest.mark.parametrize("mode", ["stream", "lanes"])
def test_redundant_copies_everything_and_survives_a_dead_path(mode):
    objects = net.live(50, (3_000, 4_000))
    alive = net.link(12e6, RTT_S)
    result = net.run("fixed", (alive, alive), objects=objects, scheduler="redundant", mode=mode, slot_s=1)
    totals = result.totals
    # In one connection the second subflow joins at 4 RTTs: what was known to be there by then is not copied.
    assert 1.8 <= totals.sent_payload_bytes / objects.payload_bytes.sum() <= 2.0
    dead = net.link(12e6, RTT_S, outages_s=((10.0, 1e5),))
    result = net.run("fixed", (dead, alive), objects=objects, scheduler="redundant", mode=mode, slot_s=1)
    wait = (result.objects.complete_ns - objects.release_ns)[30:]
    assert wait.max() / net.S < RTT_S / 2 + 0.1  # nothing waits for the dead path


def test_late_layers_are_not_sent():
    # Twice the rate is offered: what cannot arrive within 5 s is given up, so that the link carries what still can.
    objects = net.live(200, (150_000, 150_000), playout_s=5.0)
    result = net.run("open-loop", net.link(1.2e6, RTT_S), objects=objects, slot_s=1)
    on_time = result.objects.complete_ns <= objects.deadline_ns
    done = result.objects.complete_ns >= 0
    assert result.objects.given_up.sum() > 100
    assert (on_time & done).sum() == pytest.approx(200 * 1.2e6 * (1460 / 1500) / 8 / 150_000, rel=0.15)
    kept = net.run("open-loop", net.link(1.2e6, RTT_S), objects=objects, slot_s=1, drop_late=False)
    assert kept.objects.given_up.sum() == 0


def test_layer_first_saves_base_layers_under_overload():
    objects = net.live(200, (60_000, 240_000), playout_s=5.0)

    def base_layers_in_time(layer_first: bool) -> float:
        result = net.run(
            "open-loop", net.link(0.9e6, RTT_S), objects=objects, slot_s=1, layer_first=layer_first
        )
        done = (result.objects.complete_ns >= 0) & (result.objects.complete_ns <= objects.deadline_ns)
        return float(done[::2].mean())

    assert base_layers_in_time(True) > 0.95
    assert base_layers_in_time(True) >= base_layers_in_time(False)


def test_an_enhancement_layer_without_its_base_is_not_sent():
    objects = net.live(100, (300_000, 1_000), playout_s=3.0)  # the base layer never fits
    result = net.run("open-loop", net.link(1.2e6, RTT_S), objects=objects, slot_s=1)
    given_up = result.objects.given_up.reshape(-1, 2)
    assert (given_up[:, 1] >= given_up[:, 0]).all()


def test_the_receive_window_bounds_what_is_in_flight():
    # 100 kB of buffer over a 2 s round trip: 50 kB/s, whatever the link could do; the delayed ACK of a window's last
    # segment adds 40 ms, and a segment that does not fit whole waits.
    result = net.run("fixed", net.link(12e6, RTT_S), duration_s=60, receive_buffer_bytes=100_000)
    assert result.samples.inflight_segments.max() <= 100_000 // net.MSS
    assert net.utilisation(result, 12e6) == pytest.approx(100_000 * 8 / RTT_S * 1500 / 1460 / 12e6, rel=0.08)


def test_an_app_limited_window_does_not_grow():
    # One packet a second never fills ten segments: the window stays (RFC 7661, Linux tcp_is_cwnd_limited).
    objects = net.live(60, (net.MSS,))
    result = net.run("newreno", net.link(12e6, 0.5), objects=objects, slot_s=1)
    assert result.samples.cwnd_segments.max() <= 10


@pytest.mark.parametrize("scheduler", SCHEDULER_NAMES)
@pytest.mark.parametrize("congestion", CONGESTION_NAMES)
@pytest.mark.parametrize("mode", ["stream", "lanes"])
def test_every_combination_delivers_everything(congestion, scheduler, mode):
    links = (
        net.link(1.2e6, 0.2, loss=Loss("packet", 0.01), up_loss=Loss("packet", 0.01)),
        net.link(2.4e6, 0.4, loss=Loss("packet", 0.001)),
    )
    objects = net.live(40, (6_000, 12_000, 3_000), chunk_s=0.2)
    result = net.run(congestion, links, objects=objects, scheduler=scheduler, mode=mode, lanes_per_link=2)
    assert (result.objects.complete_ns >= objects.release_ns).all()
    np.testing.assert_array_equal(result.objects.delivered_bytes, objects.payload_bytes)
    assert result.totals.delivered_payload_bytes == objects.payload_bytes.sum()


@pytest.mark.parametrize("congestion", ["newreno", "cubic", "bbr", "bbr-scaled", "westwood"])
@pytest.mark.parametrize("mode", ["stream", "lanes"])
def test_a_small_window_is_no_reason_not_to_grow_it(congestion, mode):
    # Two layers of 500 kB a second, due 10 s later, at RTT 1 s: at 10 segments a round trip neither could
    # ever be in time. A sender that therefore sent nothing would never learn better.
    objects = net.live(100, (500_000, 500_000), playout_s=10.0)
    result = net.run(congestion, net.link(10e6, 1.0), objects=objects, mode=mode, layer_first=True, slot_s=1)
    done = (result.objects.complete_ns >= 0) & (result.objects.complete_ns <= objects.deadline_ns)
    if congestion == "westwood":
        # It restarts from its lagging estimate after slow start's overshoot and carries two base layers in three.
        assert done[::2].mean() >= 0.6
        return
    # A base layer a second is 343 segments a round trip, which doubling from 10 reaches in the sixth; the 10 s of delay
    # less half a second of light hold what waits until then. So no base layer is late. A second layer needs 686: one
    # round trip more, and one in ten may fall to the overshoot of the 833 + 833 segments that link and queue hold.
    assert done[::2].all()
    assert done[1::2].mean() >= 0.9


def test_a_moment_at_a_tiny_window_does_not_silence_a_path():
    # BBR's PROBE_RTT holds 4 segments until their ACKs come: the path must go on sending to get them.
    objects = net.live(200, (100_000, 100_000), playout_s=20.0)
    result = net.run("bbr", net.link(2e6, 4.0), objects=objects, mode="lanes", layer_first=True, slot_s=1)
    sent = result.samples.sent_segments[12:-30]
    idle = np.flatnonzero(sent == 0)
    assert not idle.size or np.diff(np.flatnonzero(sent)).max() < 10


def test_a_second_answer_to_a_repeated_syn_changes_nothing():
    # A round trip of 2.5 s: the SYN is repeated after 1 s, and both are answered. A coupled law that took the second
    # answer for a second subflow would grow by a quarter (RFC 6356); alone it grows as NewReno does.
    windows = [
        net.run(control, net.link(rtt_s=2.5, loss=Loss("periodic", 1 / 400)), duration_s=200, slot_s=2.5)
        for control in ("lia", "newreno")
    ]
    lia, reno = (result.samples.cwnd_segments for result in windows)
    assert reno.min() < reno[-1]
    np.testing.assert_allclose(lia, reno, atol=1)
