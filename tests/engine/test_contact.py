"""Handshakes by the plan: a SYN leaves when it and its answer pass, and is repeated as soon as they do again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import NEVER_NS, EngineResult, Flow, Hop, Link, Loss, Node, opening, reopening
from dstcc.engine._testing import waits_further_on

from . import net

SYN_S = 1e-3
"""40 bytes at 320 kbit/s, either way."""
LIGHT_S = 10.0
NEVER_UP = Loss("packet", 1.0)


def path(
    *, down: tuple[tuple[float, float], ...] = (), up: tuple[tuple[float, float], ...] = (), **more: object
) -> Link:
    outages = tuple((net.ns(a), net.ns(b)) for a, b in up)
    return net.link(320e3, 2 * LIGHT_S, outages_s=down, up_outages_ns=outages, **more)  # type: ignore[arg-type]


def opens_s(link: Link, at_s: float) -> float:
    return opening(link, net.ns(at_s)) / net.S


def syns_s(result: EngineResult) -> list[float]:
    trace = result.trace
    assert trace is not None
    sent = (trace.syn != 0) & (trace.event == 0)
    return [round(t / net.S, 6) for t in trace.t_ns[sent].tolist()]


# ------------------------------------------------------------------------------------------------------- the plan


def test_what_waits_at_nodes_for_contacts_further_on() -> None:
    # Light takes 10 s to the first node, 5 s on, and 5 s more. The second line is away from 100 to 200 s, the third
    # from 205 to 300 s; a byte takes 25 us.
    def line(away: tuple[tuple[float, float], ...]) -> Link:
        return net.link(320e3, 10.0, outages_s=away)

    hops = (Hop(1, Node("a", 1), line(((100, 200),))), Hop(2, Node("b", 2), line(((205, 300),))))
    over = replace(path(), delay_ns=(net.ns(20),), first_t_ns=(0,), first_delay_ns=(net.ns(10),), onward=hops)
    leaves = {0: 0, 89.9: 0, 90: 195, 150: 135, 185: 100, 189.9: 95.1, 200: 85, 284.9: 0.1, 285: 0, 300: 0}
    waits = waits_further_on(over, [net.ns(at) for at in leaves]) / net.S
    assert waits.tolist() == pytest.approx(list(leaves.values()), abs=1e-3)
    assert waits_further_on(replace(over, onward=()), [net.ns(90)]).tolist() == [0]
    # The sender's own outages are none of these.
    own = replace(
        path(down=((10, 100),)),
        onward=(Hop(1, Node("a", 1), line(())),),
        first_t_ns=(0,),
        first_delay_ns=(0,),
    )
    assert waits_further_on(own, [net.ns(50)]).tolist() == [0]


def test_a_link_that_is_up_opens_at_once():
    assert opens_s(path(), 5.0) == 5.0


def test_a_syn_is_through_before_the_outage_or_waits_for_its_end():
    # Its service takes 1 ms: at 9.999 s it ends with the contact, a tenth of a millisecond later it does not.
    dark = path(down=((10, 100),))
    assert opens_s(dark, 9.999) == 9.999
    assert opens_s(dark, 9.9991) == opens_s(dark, 50) == 100


def test_the_answer_passes_too():
    # The answer leaves SYN_S + LIGHT_S after the SYN. From 0 it would leave at 10.001 s, in the dark; it does at 100 s
    # if the SYN left at 89.999 s.
    assert opens_s(path(up=((10, 100),)), 0) == pytest.approx(89.999, abs=1e-8)
    # And it takes 1 ms itself: a SYN of 0 is answered by 10.002 s.
    assert opens_s(path(up=((10.002, 100),)), 0) == 0
    assert opens_s(path(up=((10.0019, 100),)), 0) == pytest.approx(89.999, abs=1e-8)


def test_both_ways_are_looked_at_in_turn():
    # From 15 s the answer (25.001 s) is in the dark; one that leaves at 40 s is of a SYN of 29.999 s, which is in the
    # dark itself; at 40 s both pass. From 5 s they do before the outage.
    dark = path(down=((20, 40),), up=((20, 40),))
    assert opens_s(dark, 15) == 40
    assert opens_s(dark, 5) == 5


def test_light_times_that_change_are_followed():
    # d(t) = 10 s + t / 10: the answer leaves at 100 s if the SYN's last bit left at v with 1.1 v + 10 = 100. Adding the
    # time that the answer of a SYN of 0 lacks (89.999 s) would be 8 s late.
    moving = path(up=((10, 100),), delay_t_ns=(0, net.ns(1000)), delay_ns=(net.ns(10), net.ns(110)))
    assert opens_s(moving, 0) == pytest.approx(90 / 1.1 - SYN_S, abs=1e-7)


def test_what_never_ends_never_opens():
    endless = (1.0, 1e9)
    assert opening(path(down=(endless,)), net.ns(2)) == NEVER_NS
    assert opening(path(up=(endless,)), net.ns(2)) == NEVER_NS
    assert reopening(path(down=(endless,)), 0) == NEVER_NS
    assert reopening(path(), 0) == NEVER_NS


def test_a_link_reopens_after_what_comes_first():
    # One way dark from 30 to 40 s, the other from 60 to 70 s, where answers of SYNs of 50 to 60 s would leave.
    assert reopening(path(down=((30, 40),), up=((60, 70),)), 0) == net.ns(40)
    assert reopening(path(down=((80, 90),), up=((60, 70),)), 0) == pytest.approx(net.ns(60 - SYN_S), abs=10)


# --------------------------------------------------------------------------------------------------- the simulator


@pytest.mark.parametrize("congestion", ["cubic", "fixed", "open-loop", "bbr", "tp-planet"])
@pytest.mark.parametrize("mode", ["lanes", "stream"])
def test_every_control_opens_with_the_contact(congestion: str, mode: str):
    # Dark for 100 s both ways: the SYN leaves at 100 s, data a round trip later. A SYN of 0 with its repeats after 1,
    # 3, 7, .., 63 s would get through at 127 s.
    dark = path(down=((0, 100),), up=((0, 100),))
    result = net.run(congestion, dark, objects=net.bulk(net.MSS), mode=mode)
    assert result.totals.first_send_s == pytest.approx(100 + 2 * LIGHT_S + 2 * SYN_S, abs=1e-6)


def test_a_repeat_waits_for_the_contact_and_the_backoff_begins_anew():
    # Nothing gets through. 1, 3, 7 s by backoff; 15 s would come after the link is up again, so 30 s is no matter for
    # it: at 10 s at once, and from there 11, 13, 17, 25 s. The next (41 s) would meet the second outage: at 50 s.
    lossy = path(down=((8, 10), (40, 50)), loss=NEVER_UP)
    result = net.run("newreno", lossy, duration_s=60, trace=True, constants=net.TICKLESS)
    assert syns_s(result) == [0, 1, 3, 7, 10, 11, 13, 17, 25, 50, 51, 53, 57]


def test_syns_back_off_to_rto_max():
    # RFC 6298: 1, 2, 4 .. 64 s, then 120 s each.
    never = net.run("newreno", path(loss=NEVER_UP), duration_s=380, trace=True, constants=net.TICKLESS)
    assert syns_s(never) == [0, 1, 3, 7, 15, 31, 63, 127, 247, 367]


def test_no_syn_leaves_into_a_known_outage():
    # Dark until 10 s: the first SYN leaves then, and the next a second later.
    dark = path(down=((0, 10),), loss=NEVER_UP)
    result = net.run("newreno", dark, duration_s=12, trace=True, constants=net.TICKLESS)
    assert syns_s(result) == [10, 11]


def test_no_syn_leaves_whose_answer_would_be_lost():
    # Answers leave 10.001 s after a SYN: those of 3 s and 7 s would in the dark of 12 to 20 s. The first that does not
    # is of 9.999 s.
    lossy = path(up=((12, 20),), loss=NEVER_UP)
    result = net.run("newreno", lossy, duration_s=12, trace=True, constants=net.TICKLESS)
    assert syns_s(result) == [0, 1, 9.999, 10.999]


def test_a_later_subflow_joins_with_its_contact():
    # Path 1: RTT 2 s, so the join is due at 4 s; path 2 is dark until 20 s and has an RTT of 1 s: it sends at 22 s.
    links = (net.link(12e6, 2.0), net.link(12e6, 1.0, outages_s=((0, 20),)))
    result = net.run("fixed", links, objects=net.bulk(10**9), duration_s=30)
    second = (result.samples.subflow == 1) & (result.samples.sent_segments > 0)
    assert result.samples.t_ns[second][0] / net.S == pytest.approx(22.125, abs=0.13)


def test_a_background_flow_opens_with_the_contact():
    # From 3 s on, but dark until 5 s: the SYN at 5 s; 1,000 bytes a round trip of 0.1 s later, behind the
    # connection's own ten segments of 1 ms, and there after half a round trip.
    dark = net.link(12e6, 0.1, outages_s=((0, 5),), flows=(Flow("newreno", net.ns(3), payload_bytes=1000),))
    result = net.run("newreno", dark, duration_s=10)
    assert result.flows[0].complete_ns / net.S == pytest.approx(5 + 0.1 + 0.01 + 0.05, abs=1e-3)


def test_a_run_without_a_duration_waits_for_a_known_outage():
    # 20 timeouts of at most 120 s are 2,400 s without a delivery, and the link opens at 5,000 s.
    result = net.run(
        "newreno", net.link(12e6, 0.1, outages_s=((0, 5000),)), objects=net.bulk(net.MSS), slot_s=100
    )
    assert np.all(result.objects.complete_ns > net.ns(5000))
    endless = net.run(
        "newreno", net.link(12e6, 0.1, outages_s=((0, 1e9),)), objects=net.bulk(net.MSS), slot_s=100
    )
    assert endless.end_ns == net.ns(2500)
