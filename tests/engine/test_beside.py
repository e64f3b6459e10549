"""TCP flows of others beside coded packets and beside ltp: they share the links' queues, and nothing else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dstcc.engine import Coding, EngineConfig, Flow, Link, simulate

from . import net
from .net import MSS, WIRE, live, ns, rates

RATE_BPS, RTT_S, CHUNKS = 8e6, 0.2, 60
HALF = (int(RATE_BPS / 16 * MSS / WIRE) // MSS * MSS,)
"""A layer of half of what the link carries in a second."""


def shared(*flows: Flow, **more: object) -> Link:
    return net.link(RATE_BPS, RTT_S, flows=flows, **more)  # type: ignore[arg-type]


def coded(on: Link, congestion: str = "newreno", **knobs: object) -> EngineConfig:
    made = net.config(congestion, on, objects=live(CHUNKS, HALF), mode="coded", **knobs)  # type: ignore[arg-type]
    return dataclasses.replace(made, coding=Coding(made.objects.chunk, ns(1), (0.1,)))


def ltp(on: Link, *, told_bps: float = RATE_BPS) -> EngineConfig:
    objects = live(CHUNKS, HALF)
    return net.config("ltp", on, objects=objects, scheduler="none", parameters=rates(told_bps))


TRANSPORTS = {"coded": coded, "ltp": ltp}


@pytest.mark.parametrize("name", TRANSPORTS)
def test_a_flow_that_starts_when_all_is_over_changes_nothing(name: str) -> None:
    alone = simulate(TRANSPORTS[name](shared()))
    beside = simulate(TRANSPORTS[name](shared(Flow("cubic", start_ns=ns(2 * CHUNKS)))))
    for part in ("objects", "samples"):
        for column, values in vars(getattr(alone, part)).items():
            np.testing.assert_array_equal(values, getattr(getattr(beside, part), column), column)
    assert alone.end_ns == beside.end_ns
    assert beside.flows[0].sent_bytes == beside.flows[0].delivered_bytes == 0


@pytest.mark.parametrize("name", TRANSPORTS)
def test_what_one_has_of_the_line_the_other_has_not(name: str) -> None:
    """Half of the line is the video's, and a greedy flow has what is left, or a little more where it is lossless."""
    beside = simulate(TRANSPORTS[name](shared(Flow("cubic"), queue_bdp=2)))
    seconds = beside.end_ns / 1e9
    carried = (
        WIRE / MSS * 8 * beside.flows[0].delivered_bytes / seconds
        + 8 * beside.totals.sent_wire_bytes / seconds
    )
    assert 0.9 * RATE_BPS <= carried <= 1.02 * RATE_BPS
    assert beside.objects.delivered_bytes.sum() == CHUNKS * HALF[0]
    assert 8 * beside.flows[0].delivered_bytes / seconds >= 0.3 * RATE_BPS


@pytest.mark.parametrize("name", TRANSPORTS)
def test_a_flow_is_what_it_is_beside_tcp(name: str) -> None:
    """Beside a transport that has sent all before it starts, a flow does what it does beside a connection that has."""
    late = Flow("cubic", start_ns=ns(20), stop_ns=ns(40), payload_bytes=10**7)
    begun = live(1, (MSS,))
    of = [
        dataclasses.replace(made, objects=begun, duration_ns=ns(60))
        for made in (net.config("newreno", shared(late), objects=begun), TRANSPORTS[name](shared(late)))
    ]
    if of[1].coding is not None:
        of[1] = dataclasses.replace(of[1], coding=Coding(begun.chunk, ns(1), (0.1,)))
    tcp, other = (simulate(dataclasses.replace(one, duration_ns=ns(60))) for one in of)
    assert other.flows[0].complete_ns == tcp.flows[0].complete_ns


@pytest.mark.parametrize("congestion", ["newreno", "cubic"])
def test_coded_packets_share_with_a_flow_of_their_control(congestion: str) -> None:
    made = coded(shared(Flow()), congestion, duration_s=200, slot_s=1.0)
    greedy = live(200, (int(RATE_BPS / 8),))
    made = dataclasses.replace(made, objects=greedy, coding=Coding(greedy.chunk, ns(1), ()))
    shares = net.shares_bps(simulate(made))
    assert net.jain(shares) >= 0.9
    assert sum(shares) >= 0.9 * RATE_BPS * MSS / WIRE


def test_packets_of_a_flow_are_not_taken_for_the_transports() -> None:
    """The trial ends when nothing of its own is under way any more, however much a greedy flow has."""
    made = coded(shared(Flow("cubic")))
    objects = live(CHUNKS, HALF, playout_s=1.0)
    made = dataclasses.replace(made, objects=objects, coding=Coding(objects.chunk, ns(1), (0.1,)))
    assert simulate(made).end_ns <= ns(CHUNKS + 1 + 10)


@pytest.mark.parametrize(("name", "control"), [("ltp", "ltp"), ("coded", "paced")])
def test_a_flow_cannot_have_a_control_that_is_none_of_tcps(name: str, control: str) -> None:
    made = TRANSPORTS[name](shared(Flow()))
    made = dataclasses.replace(made, transport=dataclasses.replace(made.transport, congestion=control))
    with pytest.raises(ValueError, match="a background flow is TCP's"):
        simulate(made)
