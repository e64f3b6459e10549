"""The receiving ends go ahead of the sending ends; what comes of it is what the order of time gives.

A packet log wants its rows in the order of time, so with one the engine takes event after event. Without one it does
not. Both must say the same of every trial.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import EngineResult, simulate
from scripts.random_trials.digest import COST
from scripts.random_trials.draw import draw_trial

from .net import bulk, config, link, ns

RANDOM = [number for number in range(600) if number % 10 < 6]
"""Of the tool's trials those of TCP that nobody steers."""


def assert_equal(ahead: EngineResult, in_order: EngineResult) -> None:
    assert ahead.end_ns == in_order.end_ns
    for part in ("objects", "samples"):
        for name, values in vars(getattr(ahead, part)).items():
            np.testing.assert_array_equal(values, getattr(getattr(in_order, part), name), name)
    for mine, other in zip(ahead.flows, in_order.flows, strict=True):
        for name, value in vars(mine).items():
            np.testing.assert_equal(value, getattr(other, name), name)
    for name, total in vars(in_order.totals).items():
        if name not in COST:
            np.testing.assert_equal(getattr(ahead.totals, name), total, name)
    if ahead.coding is None:  # of coded packets many need no event of their own
        assert ahead.totals.events == in_order.totals.events


@pytest.mark.parametrize(
    "first",
    [
        *range(0, 300, 100),
        *(pytest.param(first, marks=pytest.mark.slow) for first in range(300, 600, 100)),
    ],
)
def test_random_trials_are_those_of_the_order_of_time(first: int) -> None:
    for number in RANDOM:
        if first <= number < first + 100:
            config = draw_trial(1, number).config
            if config.restarts is not None:  # each connection of it is a trial by itself, and none has a log
                config = replace(config, restarts=None)
            try:
                untraced = simulate(replace(config, trace=False))
            except ValueError as error:  # a random block may be too large for its code, which is refused
                assert config.coding is not None, error
                continue
            assert_equal(untraced, simulate(replace(config, trace=True)))


def test_a_trial_ends_with_the_last_delivery() -> None:
    """Of what the sending end would do in that instant nothing is done: a slot then is no sample."""
    trial = config("cubic", link(1e6, 1.0), objects=bulk(100_000))
    end_ns = simulate(trial).end_ns
    assert len(simulate(replace(trial, slot_ns=end_ns)).samples.t_ns) == 0
    assert len(simulate(replace(trial, slot_ns=end_ns - 1)).samples.t_ns) == 1


def test_a_delay_that_dips_between_its_rows_sends_nothing_into_the_past() -> None:
    """From 10 s down to 2.5 s and up again: ``d(x) = 10 - 30 x (1 - x)`` s between two rows of 10 s."""
    dips = link(
        1e6, 20.0, delay_t_ns=(0, ns(100)), delay_ns=(ns(10), ns(10)), delay_slope=(-0.3, 0.3), queue_bdp=20
    )
    trial = config("cubic", dips, objects=bulk(5_000_000), initial_cwnd=100, slot_s=40)
    assert_equal(simulate(trial), simulate(replace(trial, trace=True)))


# ------------------------------------------------------------------------- what is first at one instant
#
# A segment of 1,500 bytes takes 1 ms on the line down, an ACK of 40 bytes as long on the line up, and light 1 s.
# So an ACK is heard 1.002 s after its segment left: when another leaves.

DATA_SENT, ACK_ARRIVED = 0, 3
IN_STEP = config(
    "open-loop", link(12e6, 1.0, up_rate_bps=40 * 8e3), objects=bulk(4_000_000), slot_s=10.0, trace=True
)


def at_one_instant() -> tuple[int, EngineResult]:
    """When a segment leaves and an ACK arrives, and the trial."""
    result = simulate(IN_STEP)
    trace = result.trace
    assert trace is not None
    sent = trace.t_ns[(trace.event == DATA_SENT) & (trace.syn == 0)]
    heard = trace.t_ns[(trace.event == ACK_ARRIVED) & (trace.syn == 0)]
    both = np.intersect1d(sent, heard)
    assert len(both) > 100
    return int(both[50]), result


def test_a_paced_segment_leaves_before_the_ack_of_its_instant_is_heard() -> None:
    at, result = at_one_instant()
    assert result.trace is not None
    then = result.trace.event[result.trace.t_ns == at]
    assert then[np.isin(then, (DATA_SENT, ACK_ARRIVED))].tolist() == [DATA_SENT, ACK_ARRIVED]


def test_a_sample_is_taken_after_what_leaves_and_arrives_in_its_instant() -> None:
    at, result = at_one_instant()
    trace = result.trace
    assert trace is not None
    now = simulate(replace(IN_STEP, slot_ns=at)).samples
    past = (trace.t_ns <= at) & (trace.syn == 0)
    sent = int(np.sum(past & (trace.event == DATA_SENT)))
    heard = int(trace.number[past & (trace.event == ACK_ARRIVED)][-1])
    assert now.t_ns[0] == at
    assert now.sent_segments[0] == sent
    assert now.delivered_bytes[0] == heard * 1460
