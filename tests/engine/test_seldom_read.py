"""A receiving program that reads seldom, as that of ``experiments/fidelity`` does; ``trajectories/reads.txt`` is what
6.12 did with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dstcc.engine import NEVER_NS, Objects, TcpConstants

from . import net

READ_NS = net.ns(0.05)
ACK_SENT = 2
LINK = net.link(1.2e6, 1.0)  # a segment each 10 ms
SEGMENTS = 2001
"""Far more than the 16 quick ones, and those with which the window grows."""
SHORT_NS = net.ns(24)
WRITES = Objects(  # the second is short, the third keeps the trial going
    chunk=np.arange(3),
    layer=np.zeros(3, dtype=np.int64),
    payload_bytes=np.array([SEGMENTS * net.MSS, 700, net.MSS]),
    release_ns=np.array([0, SHORT_NS, net.ns(40)]),
    deadline_ns=np.full(3, NEVER_NS),
)


def acks(read_ns: int, *, receiver: str = "linux-6.12", **knobs: object) -> tuple[np.ndarray, np.ndarray]:
    """When they leave, and up to which segment, until the second write is acknowledged."""
    constants = TcpConstants(read_s=read_ns / 1e9, receiver=receiver, jiffy_s=0.01)
    window = net.windows(100)
    result = net.run(
        "fixed", LINK, parameters=window, objects=WRITES, constants=constants, trace=True, **knobs
    )
    trace = result.trace
    assert trace is not None
    here = (trace.event == ACK_SENT) & (trace.syn == 0) & (trace.number <= SEGMENTS + 1)
    return trace.t_ns[here], trace.number[here]


def test_two_segments_wait_for_a_read_and_four_for_the_timer_that_is_about_to_go_off():
    # A tick is 10 ms, and the wait four of them: the fourth segment at the latest finds the timer a tick away.
    _, at_once = acks(0)
    assert set(np.diff(at_once)[-300:-3]) == {2}
    times, numbers = acks(READ_NS)
    segments, times = np.diff(numbers)[-300:-3], times[-300:-3]
    assert set(segments) == {2, 3, 4}
    assert (
        np.count_nonzero(times % READ_NS == 0) > np.ptp(times) / READ_NS / 3
    )  # those that found two or three


def test_a_short_segment_waits_for_a_read():
    read_ns = READ_NS // 4  # sooner than the timer
    (times, numbers), (at_once, _) = acks(read_ns), acks(0)
    assert times[-1] > SHORT_NS and numbers[-1] == SEGMENTS + 1
    assert times[-1] % read_ns == 0 and 0 < times[-1] - at_once[-1] <= read_ns


@pytest.mark.parametrize("knobs", [{"receiver": "linux-6.1"}, {"mode": "lanes"}])
def test_it_matters_to_streams_and_to_6_12_alone(knobs: dict[str, Any]):
    for ours, other in zip(acks(READ_NS, **knobs), acks(0, **knobs), strict=True):
        np.testing.assert_array_equal(ours, other)
