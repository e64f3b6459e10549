"""What arrives over a link is taken in runs, up to what else is due: another link's packet, a delayed ACK, the end.

A packet log says in which order it was taken.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import Loss, TcpConstants, Trace, simulate

from .net import bulk, config, link, live, windows

DURATION_S = 3_000.0
LOSSY = Loss("packet", 0.01)

DATA_ARRIVED, ACK_SENT = 1, 2
TRIALS = {
    "two links whose packets arrive at the same instants": config(
        "fixed",
        (link(), link()),
        objects=live(200, (14_600, 14_600)),
        duration_s=DURATION_S,
        mode="lanes",
        parameters=windows(20, 20),
    ),
    "two links with losses": config(
        "cubic",
        (link(6e6, 0.8, loss=LOSSY), link(2e6, 1.3, loss=LOSSY, up_loss=LOSSY)),
        objects=bulk(4_000_000),
        duration_s=DURATION_S,
    ),
    "ACKs that are due between the packets of a link": config(
        "open-loop",
        link(1e5, 2.0, loss=LOSSY),
        objects=live(200, (4_000, 3_000)),
        duration_s=DURATION_S,
        constants=TcpConstants(delayed_ack_s=0.05),
    ),
    "three links": config(
        "cubic",
        (link(6e6, 0.8), link(2e6, 1.3, loss=LOSSY), link(3e6, 1.0)),
        objects=bulk(4_000_000),
        duration_s=DURATION_S,
    ),
    "copies that arrive after the last delivery": config(
        "fixed",
        (link(1e6, 1.0), link(1e6, 1.0)),
        objects=bulk(400_000),
        duration_s=DURATION_S,
        scheduler="redundant",
    ),
    "lanes": config(
        "westwood",
        (link(4e6, 1.0, loss=LOSSY), link(4e6, 1.0)),
        objects=live(60, (30_000, 20_000), playout_s=20.0),
        duration_s=DURATION_S,
        mode="lanes",
        lanes_per_link=4,
    ),
}


def at_the_receiver(name: str) -> tuple[Trace, np.ndarray]:
    """The trial's packet log, and which of its rows are of the receiving ends."""
    trace = simulate(replace(TRIALS[name], trace=True)).trace
    assert trace is not None
    return trace, np.isin(trace.event, (DATA_ARRIVED, ACK_SENT))


@pytest.mark.parametrize("name", TRIALS)
def test_the_receiving_ends_do_all_in_the_order_of_time(name: str) -> None:
    trace, there = at_the_receiver(name)
    assert np.sum(there) > 100
    assert (np.diff(trace.t_ns[there]) >= 0).all()


def test_at_one_instant_the_first_link_is_first() -> None:
    trace, there = at_the_receiver("two links whose packets arrive at the same instants")
    arrived = there & (trace.event == DATA_ARRIVED)
    at, subflow = trace.t_ns[arrived], trace.sender[arrived]
    together = np.flatnonzero(np.diff(at) == 0)
    assert len(together) > 100
    assert (subflow[together] == 0).all()
    assert (subflow[together + 1] == 1).all()


def test_an_ack_that_was_held_back_goes_between_the_packets_of_a_link() -> None:
    """A packet a 120 ms: its ACK waits for 50 ms, and not for the next."""
    trace, there = at_the_receiver("ACKs that are due between the packets of a link")
    event, at = trace.event[there], trace.t_ns[there]
    alone = np.flatnonzero((event[:-1] == DATA_ARRIVED) & (event[1:] == ACK_SENT) & (np.diff(at) > 0))
    assert len(alone) > 20


def test_nothing_arrives_after_the_last_delivery() -> None:
    trial = TRIALS["copies that arrive after the last delivery"]
    result, (trace, _) = simulate(trial), at_the_receiver("copies that arrive after the last delivery")
    arrived = trace.t_ns[trace.event == DATA_ARRIVED]
    assert arrived.max() == result.objects.complete_ns.max() == result.end_ns
    totals = result.totals
    assert totals.sent_payload_bytes > totals.arrived_payload_bytes + totals.duplicate_payload_bytes
