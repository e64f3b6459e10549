"""When what a sender sends is answered over nodes, by the contact plans of all hops: the arithmetic is in the tests.

A packet takes a second on each line. A node is 10 s away, the next one 20 s behind it, and Earth 30 s behind that.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from dstcc.engine import Hop, Link, Node, _engine  # noqa: F401 - the errors of _testing are registered there
from dstcc.engine._testing import AnswerClock, slowest_back

from .net import config, link, live, ns

PACKET = 1000
RATE_BPS = 8.0 * PACKET

Spans = tuple[tuple[float, float], ...]


def line(delay_s: float, away_s: Spans = (), back_away_s: Spans = (), **more: object) -> Link:
    """A line of a path, away then; the ways back with their own outages."""
    away = tuple((ns(a), ns(b)) for a, b in back_away_s)
    return link(RATE_BPS, 2 * delay_s, outages_s=away_s, up_outages_ns=away, **more)  # type: ignore[arg-type]


def path(*onward: Link, first: Link | None = None) -> Link:
    """A path over nodes, the first of which is 10 s away."""
    begins = first or line(10)
    hops = tuple(
        Hop(n, Node(f"node {n}", n, storage_bytes=10**9), one) for n, one in enumerate(onward, start=1)
    )
    total = begins.delay_ns[0] + sum(one.delay_ns[0] for one in onward)
    return replace(begins, delay_ns=(total,), first_t_ns=(0,), first_delay_ns=begins.delay_ns, onward=hops)


def clock(*onward: Link, first: Link | None = None) -> AnswerClock:
    return AnswerClock(path(*onward, first=first), PACKET)


def test_what_waits_for_one_contact_is_one_stay() -> None:
    # At the node at 55 and at 70 s; both go at 100, and are there 1 + 20 + 1 + 30 s later.
    plan = clock(line(20, ((50, 100),)), line(30))
    assert plan.stay(ns(45)) == plan.stay(ns(60)) == (0, ns(152))
    assert (plan.waits_there(ns(45)), plan.waits_there(ns(60))) == (ns(45), ns(30))
    assert plan.stay(ns(95)) == (0, -1), "nothing waits"
    assert plan.arrival(ns(95)) == ns(95 + 10 + 1 + 20 + 1 + 30)


@pytest.mark.parametrize(
    ("away_s", "waits_s", "node"), [((110, 130), 45 + 9, 0), ((110, 168), 45 + 47, 1), ((110, 120), 45, 0)]
)
def test_a_stay_is_where_a_packet_waits_the_longest(
    away_s: tuple[float, float], waits_s: float, node: int
) -> None:
    # 45 s at the first node, until 100 s; at the second one at 121.
    plan = clock(line(20, ((50, 100),)), line(30, (away_s,)))
    assert plan.waits_there(ns(45)) == ns(waits_s)
    assert plan.stay(ns(45)) == (node, ns(45 + 10 + waits_s + 1 + 20 + 1 + 30))


def test_what_would_not_be_through_before_an_outage_waits_for_its_end() -> None:
    plan = clock(line(20, ((50, 100),)), line(30))
    assert plan.waits_there(ns(39)) == 0
    assert plan.waits_there(ns(39.5)) == ns(50.5)


def test_lines_further_on_have_the_rate_and_the_light_time_of_when_a_packet_goes_over_them() -> None:
    half = line(20, ((50, 100),), rate_t_ns=(0, ns(90)), rate_share=(1.0, 0.5))
    assert clock(half, line(30)).arrival(ns(45)) == ns(100 + 2 + 20 + 1 + 30)
    moves = replace(half, delay_t_ns=(0, ns(204)), delay_ns=(ns(20), ns(40)))  # half as much again at 102 s
    assert clock(moves, line(30)).arrival(ns(45)) == ns(100 + 2 + 30 + 1 + 30)


def test_an_answer_waits_on_each_line_back() -> None:
    # A packet of 95 s is there at 157, and the receiver's own line at 200 s; its answer is at the node 30 s later.
    later = clock(line(20, back_away_s=((220, 300),)), line(30, back_away_s=((140, 200),)))
    assert later.answer_rests(ns(95)) == ns(200 - 157)
    assert later.waits_both(ns(95)) == ns(200 - 157) + ns(300 - 230)
    both = clock(line(20, ((100, 110),)), line(30, back_away_s=((140, 200),)))
    assert both.waits_both(ns(95)) == ns(110 - 105) + ns(200 - 162)
    assert clock(line(20), line(30)).waits_both(ns(95)) == 0


def test_over_one_link_an_answer_waits_for_its_line_from_when_data_is_there() -> None:
    plan = AnswerClock(line(30, back_away_s=((100, 200),)), PACKET)
    assert plan.waits_both(ns(50)) == plan.answer_rests(ns(50)) == 0
    assert plan.waits_both(ns(75)) == plan.answer_rests(ns(75)) == ns(200 - 105)
    assert plan.may_wait() and not AnswerClock(line(30), PACKET).may_wait()
    assert clock(line(20), line(30)).may_wait()


def test_the_margin_is_two_packets_on_each_line_at_the_rates_of_then() -> None:
    plan = clock(line(20), line(30, up_rate_t_ns=(0, ns(150)), up_rate_share=(1.0, 0.25)))
    assert plan.margin(ns(0), ns(100)) == ns(2 * (3 + 3))
    assert plan.margin(ns(0), ns(200)) == ns(2 * (3 + 2 + 4))


def back(*paths: Link, duration_s: float = 100.0) -> float:
    """Seconds that a packet's bytes take on the slowest line back of the first path, behind its receiver's own."""
    made = config("cubic", paths, objects=live(3, (PACKET,)), duration_s=duration_s)
    return slowest_back(made, 0) * PACKET / 1e9


def slower(times: float, away_s: Spans = ()) -> Link:
    """Back so many times as slow, and away then."""
    return replace(line(1, back_away_s=away_s), up_rate_bps=RATE_BPS / times)


def test_the_slowest_line_back_is_any_but_the_receivers_own() -> None:
    assert back(path(slower(3), slower(2), slower(9))) == pytest.approx(3)
    assert back(path(slower(2), slower(3), slower(9))) == pytest.approx(3)
    assert back(path(slower(2), slower(3), slower(9), first=slower(5))) == pytest.approx(5)


def test_subflows_share_the_lines_of_their_paths() -> None:
    """Two over the first path, one over the other, which joins it at the second node."""
    first = replace(path(slower(2), slower(2), slower(1)), subflows=2)
    assert back(first) == pytest.approx(2 * 2)
    other = path(slower(1), slower(1))
    joins = replace(other, onward=(replace(other.onward[0], number=7), first.onward[1], first.onward[2]))
    assert back(first, joins) == pytest.approx(3 * 2)


def test_a_line_back_that_comes_and_goes_is_slower_by_its_share_of_the_mission_and_half_full() -> None:
    assert back(path(slower(1, ((75, 1000),)), line(1))) == pytest.approx(2 / 0.75)
    assert back(path(slower(1), line(1), first=slower(1, ((0, 50),)))) == pytest.approx(2 / 0.5)
    assert back(path(slower(1, ((0, 100),)), line(1))) == pytest.approx(2 / 0.01)
