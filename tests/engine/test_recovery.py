"""Repair and its edges: timeouts within a recovery, probes, timers that new data must not put off."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import Loss, TcpConstants, clairvoyant_weight

from . import net

S = net.S


def test_an_undo_takes_back_the_timeout_and_not_the_recovery_before_it():
    # Real losses begin a recovery at 28 s, window 91. Meanwhile the path lengthens by 0.9 s: the timeout that follows
    # is spurious, and undoing it (RFC 4015) gives back the halved window, 45, not that of an episode long ago.
    step = 28.4
    lengthening = net.link(
        12e6,
        1.0,
        delay_t_ns=(0, net.ns(step), net.ns(step + 0.3)),
        delay_ns=(net.ns(0.5), net.ns(0.5), net.ns(1.4)),
        outages_s=((12, 14),),
        loss=Loss("packet", 0.002),
    )
    linux = TcpConstants(receiver="linux-6.1")  # the seed was found with it
    result = net.run(
        "newreno", lengthening, objects=net.bulk(200_000_000), duration_s=35, seed=335, constants=linux
    )
    samples = result.samples
    reduced = samples.cwnd_segments[samples.t_ns == net.ns(28.0)][0]
    assert reduced == 91
    after = samples.cwnd_segments[samples.t_ns > net.ns(step)]
    assert result.totals.timeouts == 2  # one real, in the outage, and the spurious one
    assert after.min() == 1
    assert after[np.argmin(after) :].max() <= reduced / 2 + 5  # 5 s of one segment a round trip


@pytest.mark.parametrize("rtt_s", [2_400.0, pytest.param(9_000.0, marks=pytest.mark.slow), 36_000.0])
def test_delivery_rates_are_measured_at_any_round_trip(rtt_s):
    # BBR knows a link by its rate samples: at 40 minutes, beyond 146 minutes (2^32 times 2,048 ns) and at 10 hours.
    rate_bps = 3e4
    result = net.run(
        "bbr-scaled",
        net.link(rate_bps, rtt_s),
        duration_s=60 * rtt_s,
        slot_s=rtt_s / 4,
        scale=rtt_s / 40,
    )
    assert (
        net.utilisation(result, rate_bps) >= 0.85
    )  # a tenth goes to the smaller window that PROBE_RTT keeps


@pytest.mark.parametrize("congestion", ["newreno", "cubic"])
def test_a_needless_probe_does_not_cut_the_window(congestion):
    # No data is ever lost, one ACK in 20 is: a tail's probe then repeats what had arrived. The ACK says so (RFC 2883),
    # and a probe that repaired nothing is no reason to reduce (RFC 8985 section 7.4.2).
    result = net.run(
        congestion,
        net.link(12e6, 0.02, queue_bdp=20, up_loss=Loss("packet", 0.05)),
        objects=net.live(300, (30 * net.MSS,), chunk_s=2.0),
        duration_s=700,
        slot_s=0.5,
        seed=2,  # in which no ACK of a probe is lost, too
    )
    assert result.samples.retransmitted_segments.sum() > 5  # probes there were
    assert result.samples.lost_segments.sum() == 0
    assert (np.diff(result.samples.cwnd_segments) >= 0).all()


def test_a_probe_carries_new_data_where_there_is_any():
    # The window of 4 is full and its ACKs are lost on the way from 5 s on: the probe may exceed the window by a
    # segment, and takes the next one rather than a repeat. A lane was written what its window has room for: it has no
    # next one, and its probe repeats (Linux tcp_send_loss_probe()). Either sends one segment more.
    sent = {}
    for mode in ("stream", "lanes"):
        result = net.run(
            "fixed",
            net.link(12e6, 1.0, outages_s=((5.2, 60),)),
            objects=net.live(200, (4 * net.MSS,), chunk_s=0.2),
            duration_s=9,
            parameters=net.windows(4),
            mode=mode,
            constants=TcpConstants(rto_min_s=30.0),
        )
        sent[mode] = (int(result.samples.retransmitted_segments.sum()), int(result.objects.sent_bytes.sum()))
    assert sent["stream"][0] == 0
    assert sent["lanes"][0] == 1


def test_the_bound_follows_a_lengthening_path():
    # Departure x arrives at x + 10 + x / 2 <= 40 s: x = 20 s of line time, 20 s * 1,000 packets/s, 160 a layer.
    rising = net.link(12e6, 20.0, delay_t_ns=(0, net.ns(100)), delay_ns=(net.ns(10), net.ns(60)))
    objects = net.live(1, (160 * net.MSS,) * 250, chunk_s=1e-9, playout_s=40.0)
    bound = clairvoyant_weight(net.config("fixed", rising, objects=objects), np.ones(250))
    assert bound == 20_000 // 160


def test_a_receive_buffer_below_a_segment_is_refused():
    with pytest.raises(ValueError, match="receive_buffer_bytes must hold at least one segment"):
        net.run("cubic", net.link(), objects=net.bulk(10**6), receive_buffer_bytes=1000)


@pytest.mark.slow
def test_order_numbers_may_wrap():
    # 2^32 segments of a byte each: places in the ordering domain are 32 bits on the wire and must go round.
    segments = (1 << 32) + (1 << 20)
    result = net.run(
        "fixed",
        net.link(16e9, 1e-6, queue_bdp=100),
        objects=net.bulk(segments),
        mss_bytes=1,
        header_bytes=1,
        parameters=net.windows(64),
        slot_s=10.0,
    )
    assert result.objects.delivered_bytes[0] == segments
