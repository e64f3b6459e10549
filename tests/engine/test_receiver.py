"""When the receiver acknowledges, as Linux 6.1 was seen to (docs/fidelity.md).

The counts are of its own packets in virtual time: newreno, 10 Mbit/s, RTT 1 s, a queue of one bandwidth-delay product.
"""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import Trace

from . import net

DATA_ARRIVED, ACK_SENT, ACK_ARRIVED = 1, 2, 3


def traced(seconds: float, **knobs: object) -> Trace:
    rate_bps = knobs.pop("rate_bps", 10e6)
    link = net.link(rate_bps, 1.0, queue_bdp=knobs.pop("queue_bdp", 1.0), **knobs.pop("link", {}))  # type: ignore[arg-type]
    trace = net.run(knobs.pop("congestion", "newreno"), link, duration_s=seconds, trace=True, **knobs).trace  # type: ignore[arg-type]
    assert trace is not None
    return trace


def first_behind(trace: Trace) -> int:
    """Segments acknowledged when for the first time there are six ACKs fewer."""
    acks = trace.number[(trace.event == ACK_ARRIVED) & (trace.syn == 0)]
    return int(acks[np.argmax(acks - np.arange(1, len(acks) + 1) > 5)])


@pytest.mark.parametrize(
    ("options", "buffer", "seen"),
    [
        (24, 5_000_000, 1691),  # the kernel, MPTCP and a buffer of 10 MB
        (24, 2 << 20, 713),  # 4 MiB
        (0, 5_000_000, 1718),  # plain TCP: its segments are 24 bytes shorter
        (0, 2 << 20, 725),
    ],
)
def test_each_segment_is_acknowledged_while_the_window_grows(options, buffer, seen):
    # (half the buffer - 65,535) / (2 · 1,484) segments let the window grow, 16 more are quick, then 12 go in pairs.
    trace = traced(11, option_bytes=options, receive_buffer_bytes=buffer)
    assert first_behind(trace) == pytest.approx(seen, abs=2)


def test_the_first_pair_is_the_kernels_to_the_segment():
    # As the kernel has it over MPTCP with a buffer of 9.6 MB: each of the first 1,611 segments has its own ACK.
    # (4,800,000 - 1,484 - 65,535) / 2,968: the window grows by 1,594 steps and a part, then 16 and 1 are quick.
    trace = traced(9.5, option_bytes=24, receive_buffer_bytes=4_800_000)
    acks = trace.number[(trace.event == ACK_SENT) & (trace.syn == 0)]
    assert acks[np.argmax(np.diff(acks) > 1) + 1] == 1613


def test_without_a_told_buffer_it_is_what_the_links_hold_twice():
    # 2 · (1.25 MB + 1.25 MB) is the 5 MB of above
    assert first_behind(traced(11)) == pytest.approx(1691, abs=2)


def test_segments_out_of_order_share_acknowledgements_on_a_quick_link():
    # 100 Mbit/s: 0.12 ms a segment. An outage of 20 ms opens a hole when the window has long grown (12 MB: 4,037
    # segments): three ACKs at once, then one in 1.1 ms, nine or ten segments each.
    trace = traced(
        10.4,
        rate_bps=100e6,
        congestion="fixed",
        receive_buffer_bytes=12_000_000,
        parameters=net.windows(8_000),
        link={"outages_s": ((5.0, 5.02),)},
        constants=net.QUICK_ACK,
    )
    sent = (trace.event == ACK_SENT) & (trace.sack[:, 0, 1] > 0)
    first = trace.number[sent][0]
    during = sent & (trace.number == first)
    apart = np.diff(trace.t_ns[during])
    assert (apart[:2] < 0.13e6).all()
    assert np.median(apart[3:]) == pytest.approx(1.1e6, rel=0.13)  # whole segments


def test_a_short_segment_is_acknowledged_at_once_and_a_full_one_waits():
    # One full segment a chunk, for which no second one comes: ten ticks of 4 ms, each time twice as many, 50 at most,
    # and up to the next tick. One of 100 bytes and no wait. The first 16 are quick anyway.
    full, short = (
        net.run(
            "newreno",
            net.link(10e6, 1.0),
            objects=net.live(40, (size,), chunk_s=1.5),
            trace=True,
            receive_buffer_bytes=65_535,
        ).trace
        for size in (net.MSS, 100)
    )
    for trace, waits in ((full, [11, 21, 41, *[51] * 19]), (short, [0] * 22)):
        arrived = trace.t_ns[(trace.event == DATA_ARRIVED) & (trace.syn == 0)]
        sent = trace.t_ns[(trace.event == ACK_SENT) & (trace.syn == 0)]
        np.testing.assert_array_equal(sent[:16], arrived[:16])
        late, ticks = arrived[16:38], np.array(waits)
        expected = np.where(ticks > 0, (late // 4_000_000 + ticks) * 4_000_000, late)
        np.testing.assert_array_equal(sent[16:38], expected)


def test_after_a_silence_sixteen_segments_are_acknowledged_at_once():
    # Chunks of 20 segments, every 2 s and every 4 s: the receiver's timeout is three round trips of 1 s.
    for chunk_s, quick in ((2.0, 10), (4.0, 18)):
        trace = net.run(
            "newreno",
            net.link(10e6, 1.0),
            objects=net.live(6, (20 * net.MSS,), chunk_s=chunk_s),
            initial_cwnd=40,
            trace=True,
            receive_buffer_bytes=10**5,
        ).trace
        acks = (trace.event == ACK_SENT) & (trace.syn == 0)
        last = acks & (trace.t_ns > net.ns(6 * chunk_s))
        assert last.sum() == quick
