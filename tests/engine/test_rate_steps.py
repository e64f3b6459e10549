"""A line's rate over time by itself, and what a contact plan says of it: each figure beside its integral."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import Link
from dstcc.engine._testing import Line, RateSteps, contact

from .net import link, ns

MS = 1_000_000
SHARES = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 64))
"""Floating point holds them, and what times of a few seconds make of them."""
Steps = list[tuple[int, Fraction]]
steps = st.lists(
    st.tuples(st.integers(1, 50).map(lambda n: n * 64 * MS), st.sampled_from(SHARES)),
    max_size=4,
    unique_by=lambda row: row[0],
).flatmap(lambda rows: st.sampled_from(SHARES).map(lambda first: [(0, first), *sorted(rows)]))
"""From 0 on; times are whole in every unit that a share makes of them."""
moments = st.integers(0, 4000).map(lambda n: n * MS)


def stepped(rows: Steps, hidden: Steps | None = None, up: Steps | None = None) -> Link:
    """12 Mbit/s of which the plan has these shares, the channel leaves those, and the way back has others."""
    fields: dict[str, object] = {}
    for name, given_rows in (("rate", rows), ("hidden", hidden), ("up_rate", up)):
        if given_rows is not None:
            fields[f"{name}_t_ns"] = tuple(t for t, _ in given_rows)
            fields[f"{name}_share"] = tuple(float(share) for _, share in given_rows)
    return link(**fields)  # type: ignore[arg-type]


def share_at(rows: Steps, at: int) -> Fraction:
    return rows[bisect_right([t for t, _ in rows], at) - 1][1]


def integral(rows: Steps, begin: int, end: int) -> Fraction:
    """Of the share, from ``begin`` to ``end``."""
    edges = sorted({begin, end, *(t for t, _ in rows if begin < t < end)})
    return sum((share_at(rows, one) * (other - one) for one, other in pairwise(edges)), Fraction(0))


def product(one: Steps, other: Steps) -> Steps:
    times = sorted({t for t, _ in (*one, *other)})
    return [(t, share_at(one, t) * share_at(other, t)) for t in times]


@given(steps, moments, moments)
def test_work_is_the_integral_of_the_share(rows: Steps, one: int, other: int) -> None:
    made, (begin, end) = RateSteps(stepped(rows)), sorted((one, other))
    assert made.share_at(end) == share_at(rows, end)
    assert made.work(begin, end) == integral(rows, begin, end)
    assert made.done(end) == integral(rows, 0, end)
    assert made.reach(made.done(end)) == end


@given(steps, moments, st.integers(0, 3000).map(lambda n: n * MS + n % 7))
def test_work_is_finished_when_the_integral_is_it_rounded_up(rows: Steps, at: int, work: int) -> None:
    end = RateSteps(stepped(rows)).finish(at, work)
    assert integral(rows, at, end) >= work
    assert end == at or integral(rows, at, end - 1) < work


def test_a_packet_of_a_third_of_a_nanosecond_more_ends_with_the_next() -> None:
    # 10 ns at a third of the rate take 30 ns, which 10 / (1 / 3) misses in floating point; at 0.3 they take 33.3 ns.
    assert RateSteps(stepped([(0, Fraction(1, 3))])).finish(0, 10) == 30
    assert RateSteps(stepped([(0, Fraction(3, 10))])).finish(0, 10) == ceil(10 / 0.3) == 34


@given(steps, moments)
def test_changes_before_and_after_a_moment(rows: Steps, at: int) -> None:
    made, times = RateSteps(stepped(rows)), [t for t, _ in rows]
    assert made.change_before(at) == max(t for t in times if t <= at)
    assert made.change_after(at) == min((t for t in times if t > at), default=-1)


@given(steps, steps, steps, moments)
def test_the_plan_has_what_was_announced_and_the_line_what_is_left_of_it(
    rows: Steps, hidden: Steps, up: Steps, at: int
) -> None:
    on = stepped(rows, hidden, up)
    both = product(rows, hidden)
    assert RateSteps(on).done(at) == integral(both, 0, at)
    assert RateSteps(on, planned=True).done(at) == integral(rows, 0, at)
    for planned in (True, False):
        assert RateSteps(on, up=True, planned=planned).done(at) == integral(up, 0, at)


# ------------------------------------------------------------------------------------------------- a planned line

HALF_FROM_2_S = [(0, Fraction(1)), (ns(2), Fraction(1, 2))]


def test_a_line_has_the_rate_that_the_plan_has_then_or_the_one_it_is_told() -> None:
    on = stepped(HALF_FROM_2_S)
    assert [Line(on).rate_bps(ns(t)) for t in (1, 2, 3)] == [12e6, 6e6, 6e6]
    assert [Line(on, told_bps=3e6).rate_bps(ns(t)) for t in (1, 3)] == [3e6, 3e6]


def test_a_line_is_free_when_what_it_sent_is_through() -> None:
    # 1,500 bytes at 12 Mbit/s take 1 ms, 300 bytes 0.2 ms; from 2 s on twice that.
    for at_s, bytes_, takes_ms in (
        (1, 1500, 1),
        (1, 300, 0.2),
        (2, 1500, 2),
        (2, 300, 0.4),
        (1.9995, 1500, 1.5),
    ):
        line = Line(stepped(HALF_FROM_2_S))
        line.transmit(ns(at_s), bytes_)
        assert line.free_ns() == ns(at_s) + takes_ms * MS


def test_work_passes_over_outages_at_the_rates_of_its_time() -> None:
    # Half the rate from 2 s on, dark from 3 to 4 s: from 1 s on 1.5 s of work fit before the outage.
    line = Line(replace(stepped(HALF_FROM_2_S), outages_ns=((ns(3), ns(4)),)))
    assert line.finish(ns(1), ns(0.5)) == ns(1.5)
    assert line.finish(ns(1), ns(1.5)) == ns(3), "what fills the time before the outage ends with it"
    assert line.finish(ns(1), ns(1.6)) == ns(4.2)
    # The whole rate at all times: two seconds fit.
    plain = Line(link(outages_s=((3, 4),)))
    assert [plain.finish(ns(1), ns(t)) for t in (2, 2.5)] == [ns(3), ns(4.5)]


def test_what_is_short_fits_before_an_outage_where_a_full_one_does_not() -> None:
    # A full segment takes 1 ms, 150 bytes 0.1 ms: 0.5 ms before the outage only these fit.
    line = Line(link(outages_s=((3, 4), (6, 7))))
    near = ns(3) - MS // 2
    assert (line.fit_bytes(near, 1500), line.fit_bytes(near, 150)) == (ns(4), near)
    assert line.fit_bytes(ns(3) - MS, 1500) == ns(3) - MS, "it ends as the outage begins"
    # During the first outage the second one is still to come, and the first not over.
    line.transmit(ns(3.5), 1500)
    assert line.fit_bytes(ns(3.5), 150) == ns(4)
    assert line.fit_bytes(ns(6.5), 150) == ns(7)


def test_a_contact_lasts_until_the_outage_and_the_outage_until_its_end() -> None:
    on = link(outages_s=((3, 4), (6, 7)))
    assert contact(on, ns(1)) == (True, ns(2))
    assert contact(on, ns(3)) == (False, ns(1)), "an outage has its first moment"
    assert contact(on, ns(3.5)) == (False, ns(0.5))
    assert contact(on, ns(4)) == (True, ns(2)), "and not its last"
    assert contact(on, ns(7)) == (True, -1)


@pytest.mark.parametrize("up", [False, True])
def test_a_line_of_one_rate_does_in_time_what_is_asked(up: bool) -> None:
    made = RateSteps(link(), up=up)
    assert (made.share_at(5), made.finish(5, 7), made.work(5, 9), made.done(9), made.reach(9)) == (
        1,
        12,
        4,
        9,
        9,
    )
    assert (made.change_before(5), made.change_after(5)) == (0, -1)
