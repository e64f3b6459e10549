"""When the receiver acknowledges, as Linux 6.12 and 6.1 were seen to (docs/fidelity.md).

The counts are of their own packets in virtual time: newreno, 10 Mbit/s, RTT 1 s, a queue of one bandwidth-delay
product.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import TcpConstants, Trace

from . import net

DATA_ARRIVED, ACK_SENT, ACK_ARRIVED = 1, 2, 3
LINUX_6_1 = TcpConstants(receiver="linux-6.1")


@pytest.mark.parametrize(
    ("options", "buffer", "seen"),
    [
        (24, 4_320_000, 212),
        (24, 4 << 20, 206),
        (24, 10_800_000, 502),
        (0, 4_320_000, 215),  # plain TCP: its segments are 24 bytes shorter
        (0, 4 << 20, 209),
        (0, 10_800_000, 510),
    ],
)
def test_the_first_pair_is_that_of_linux_6_12_to_the_segment(options, buffer, seen):
    # The window grows from half the buffer to 162 256ths of it, as a segment of 1,460 bytes is kept in 2,304.
    assert first_pair(options, buffer * 162 // 256) == seen


def test_without_a_told_buffer_linux_6_12s_is_what_the_links_hold_four_times():
    # 4 · (1.25 MB + 1.25 MB) = 10 MB, of which 34 256ths and a segment's place are left to grow: 448 steps, and 16
    # are quick.
    assert first_pair(24, 0) == 448 + 16 + 2
    assert first_pair(24, 10_000_000 * 162 // 256) == 448 + 16 + 2


def test_without_a_told_buffer_small_links_have_4_mib():
    # 4 · (0.25 MB + 0.25 MB) is less. 34 256ths of 4 MiB are 557,056 bytes: 187 steps of 2,968 and a part.
    assert first_pair(24, 0, rate_bps=2e6) == 188 + 16 + 2
    assert first_pair(24, (4 << 20) * 162 // 256, rate_bps=2e6) == 188 + 16 + 2


@pytest.mark.parametrize(("mss", "steps"), [(9000, 230), (536, 0)])
def test_how_far_the_window_of_6_12_grows_hangs_on_what_a_segment_weighs(mss, steps):
    # Of 9,000 bytes and 844 more 234 256ths are payload: a buffer of 10 MB has 106 256ths, 4,140,625 bytes, left to
    # grow, 18,048 each time. Of 536 bytes and 844 less than half is payload.
    buffer = 10_000_000 * (234 if mss == 9000 else 99) // 256
    assert first_pair(24, buffer, mss_bytes=mss) == steps + 16 + 2


def first_pair(options: int, buffer: int, **knobs: object) -> int:
    trace = traced(9.5, option_bytes=options, receive_buffer_bytes=buffer, **knobs)
    acks = trace.number[(trace.event == ACK_SENT) & (trace.syn == 0)]
    return int(acks[np.argmax(np.diff(acks) > 1) + 1])


def test_a_receiver_of_no_known_kernel_is_refused():
    with pytest.raises(ValueError, match=r".linux-2\.6. is none of linux-6\.1, linux-6\.12"):
        traced(1, constants=TcpConstants(receiver="linux-2.6"))


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
def test_each_segment_is_acknowledged_while_the_window_of_6_1_grows(options, buffer, seen):
    # (half the buffer - 65,535) / (2 · 1,484) segments let the window grow, 16 more are quick, then 12 go in pairs.
    trace = traced(11, option_bytes=options, receive_buffer_bytes=buffer, constants=LINUX_6_1)
    assert first_behind(trace) == pytest.approx(seen, abs=2)


def test_the_first_pair_is_that_of_linux_6_1_to_the_segment():
    # As the kernel has it over MPTCP with a buffer of 9.6 MB: each of the first 1,611 segments has its own ACK.
    # (4,800,000 - 1,484 - 65,535) / 2,968: the window grows by 1,594 steps and a part, then 16 and 1 are quick.
    assert first_pair(24, 4_800_000, constants=LINUX_6_1) == 1613


def test_without_a_told_buffer_linux_6_1s_window_is_what_the_links_hold_twice():
    # 2 · (1.25 MB + 1.25 MB) is the 5 MB of above
    assert first_behind(traced(11, constants=LINUX_6_1)) == pytest.approx(1691, abs=2)


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


def test_where_each_second_segment_is_lost_each_second_arrival_is_acknowledged():
    # As 6.12 was seen to, once a queue overflowed by each second segment: arrivals a millisecond apart were answered at
    # 723.9, 724.9, 725.9 and 726.9 ms, then at 728.9, 730.9 .. ms. That of 727.9 is held back, that of 728.9 has it
    # said, and has no answer itself.
    link = replace(net.link(24e6, 1.0), drops=tuple((number, 1) for number in range(3001, 3041, 2)))
    trace = net.run(
        "fixed", link, duration_s=5, trace=True, parameters=net.windows(2000), receive_buffer_bytes=4_000_000
    ).trace
    assert trace is not None
    sent = (trace.event == ACK_SENT) & (trace.number == 3001) & (trace.sack[:, 0, 1] > 0)
    apart_ms = np.diff(trace.t_ns[sent][:12]) / 1e6
    np.testing.assert_allclose(apart_ms, [1] * 3 + [2] * 8, atol=0.02)


def test_a_short_segment_is_acknowledged_at_once_and_a_full_one_waits():
    # One full segment a chunk, for which no second one comes: ten ticks of 4 ms, each time twice as many, 49 at most,
    # a tick less than the least timeout, and up to the next tick. One of 100 bytes and no wait. The first 16 are quick
    # anyway, and five that let the window grow.
    full, short = (
        net.run(
            "newreno",
            net.link(10e6, 1.0),
            objects=net.live(45, (size,), chunk_s=1.5),
            trace=True,
            receive_buffer_bytes=65_535,
        ).trace
        for size in (net.MSS, 100)
    )
    for trace, waits in ((full, [11, 21, 41, *[50] * 19]), (short, [0] * 22)):
        arrived = trace.t_ns[(trace.event == DATA_ARRIVED) & (trace.syn == 0)]
        sent = trace.t_ns[(trace.event == ACK_SENT) & (trace.syn == 0)]
        np.testing.assert_array_equal(sent[:21], arrived[:21])
        late, ticks = arrived[21:43], np.array(waits)
        expected = np.where(ticks > 0, (late // 4_000_000 + ticks) * 4_000_000, late)
        np.testing.assert_array_equal(sent[21:43], expected)


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
