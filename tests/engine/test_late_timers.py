"""Pacing timers that are late, as the guest's are (``experiments/fidelity/measure.py``)."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import EngineResult, Link, TcpConstants, Trace

from . import net

SENT, ACK_ARRIVED = 0, 3
LATE_NS = 700
LINK = net.link(12e6, 0.1)


def run(seconds: float, late_ns: float, link: Link = LINK, **knobs: object) -> EngineResult:
    constants = TcpConstants(timer_late_s=late_ns / 1e9)
    return net.run("bbr", link, duration_s=seconds, trace=True, constants=constants, **knobs)


def traced(seconds: float, late_ns: float, link: Link = LINK, **knobs: object) -> Trace:
    trace = run(seconds, late_ns, link, **knobs).trace
    assert trace is not None
    return trace


def at_the_sender(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Times, and what it was, in order."""
    here = (trace.syn == 0) & ((trace.event == SENT) | (trace.event == ACK_ARRIVED))
    return trace.t_ns[here], 2 * trace.number[here] + (trace.event[here] == SENT)


def test_what_a_late_timer_finds_come_is_second():
    # 6.12 had a pacer's timer due at 79,427,703,171 ns, and no interrupt until 79,427,703,764, which brought an ACK:
    # the segment went, then the ACK was looked at. In the first two rounds the ACK of a segment that left late meets
    # the timer of one that nothing made late, so all keep their turns.
    (exact_ns, exact), (late_ns, late) = (
        at_the_sender(traced(0.3, late_ns=late_ns)) for late_ns in (0, LATE_NS)
    )
    np.testing.assert_array_equal(late, exact)
    # What left late lets the next leave sooner (tcp_update_skb_after_send()): a draw a round, no sum of all.
    apart_ns = late_ns - exact_ns
    assert (apart_ns >= 0).all() and (apart_ns <= 2 * LATE_NS).all()
    assert len(np.unique(apart_ns)) > 10


@pytest.mark.parametrize(("sooner_ns", "segment_is_first"), [(0, True), (1000, False)])
def test_an_ack_goes_before_a_timer_that_is_not_due_and_behind_one_that_is(sooner_ns, segment_is_first):
    # It had a timer due at 77,501,581,799 ns, and an ACK at 77,501,581,487, which was first. In the third round the ACK
    # for the 12th segment comes half a gap after that for the 11th, and as late as it left: just when the 31st's timer
    # is due, or 1 µs sooner. If the segment goes first, one more comes through until it is acknowledged.
    between = net.ns(0.253)  # the ACKs leave at 252.1 and 253.8 ms
    delay_ns = net.ns(0.05)
    link = net.link(
        12e6, 0.1, delay_t_ns=(0, between, between + 1), delay_ns=(delay_ns, delay_ns, delay_ns - sooner_ns)
    )
    for seed in range(1, 17):
        steps = run(0.45, LATE_NS, link, seed=seed).steps
        assert steps is not None
        before, after = (steps.pacing_bps[steps.una == una][0] for una in (31, 32))
        assert (after > before) == segment_is_first


def test_the_draws_are_the_seeds():
    one, again, other = (at_the_sender(traced(0.3, LATE_NS, seed=seed))[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
