"""Pacing timers that are late, as the guest's are (``experiments/fidelity/measure.py``)."""

from __future__ import annotations

import numpy as np

from dstcc.engine import TcpConstants, Trace

from . import net

SENT, ACK_ARRIVED = 0, 3
LATE_NS = 700


def traced(seconds: float, late_ns: float, **knobs: object) -> Trace:
    constants = TcpConstants(timer_late_s=late_ns / 1e9)
    trace = net.run(
        "bbr", net.link(12e6, 0.1), duration_s=seconds, trace=True, constants=constants, **knobs
    ).trace
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


def test_the_ack_of_what_left_less_late_is_before_the_timer_that_it_met():
    # It had a timer due at 77,501,581,799 ns, and an ACK at 77,501,581,487, which was first. In the third round the ACK
    # for the 12th segment comes a gap after that for the 11th, both of which were late; the 31st's timer is due a gap
    # after the latter.
    turns = {late_ns: at_the_sender(traced(0.4, late_ns=late_ns))[1].tolist() for late_ns in (0, LATE_NS)}
    ack, segment = 2 * 12, 2 * 31 + 1
    assert turns[0].index(segment) == turns[0].index(ack) - 1
    assert turns[LATE_NS].index(ack) == turns[LATE_NS].index(segment) - 1


def test_the_draws_are_the_seeds():
    one, again, other = (at_the_sender(traced(0.3, LATE_NS, seed=seed))[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
