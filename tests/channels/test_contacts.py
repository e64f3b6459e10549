"""Contact plans: read as ION has them, written so that they read back, refused by line."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from dstcc_channels.contacts import Contact, Plan, Range, format_plan, parse_plan, read_plan, write_plan
from dstcc_channels.geometry import intersection, total_s
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
EXAMPLE = """\
## begin ionadmin
# Mars (2) to Earth (1), by way of nobody
a contact +0 +3600 2 1 14400
a contact  +7200   +10800 2 1 14400 0.9

a contact +0 +10800 1 2 1000
a range +0 +10800 1 2 631
"""


@st.composite
def plans(draw):
    """Plans whose entries of one direction do not overlap."""
    nodes = st.tuples(st.integers(1, 4), st.integers(1, 4)).filter(lambda pair: pair[0] != pair[1])

    seconds = st.integers(0, 10**8) | st.integers(0, 10**14).map(lambda microseconds: microseconds / 1e6)

    def spans(most: int) -> list[tuple[float, float]]:
        edges = draw(st.lists(seconds, unique=True, max_size=2 * most))
        edges = sorted(edges[: len(edges) // 2 * 2])
        return list(zip(edges[::2], edges[1::2], strict=True))

    contacts, ranges = [], []
    for one, other in draw(st.lists(nodes, unique=True, max_size=4)):
        for begin, end in spans(4):
            confidence = draw(st.just(1.0) | st.floats(1e-9, 1.0))
            contacts.append(Contact(begin, end, one, other, draw(st.integers(1, 10**12)), confidence))
        ranges += [Range(begin, end, one, other, draw(st.floats(0, 1e6))) for begin, end in spans(3)]
    return Plan(tuple(sorted(contacts)), tuple(sorted(ranges)))


@given(plans(), st.none() | st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1)))
def test_what_is_written_reads_back(plan, start):
    assert parse_plan("\n".join(format_plan(plan, start)), start) == plan


@given(plans())
def test_contacts_and_outages_share_the_run(plan):
    for one in plan.contacts:
        duration_s = 5e7
        outages = plan.outages(one.source, one.destination, duration_s)
        contact = intersection(plan.windows(one.source, one.destination), [(0.0, duration_s)])
        assert total_s(outages) + total_s(contact) == pytest.approx(duration_s, abs=1e-6)
        assert intersection(outages, contact) == []


@given(plans())
def test_delay_tables_rise(plan):
    for one in plan.ranges:
        table = plan.delay_table(one.one, one.other)
        assert all(before[0] < after[0] for before, after in pairwise(table))


@given(st.text(alphabet="a contrge+-0123456789/:.@# \n", max_size=120))
def test_any_text_is_a_plan_or_an_error_of_its_line(text):
    try:
        plan = parse_plan(text, START)
    except InputError as error:
        assert str(error).startswith("contact plan:")
    else:
        again = parse_plan("\n".join(format_plan(plan, START)), START)
        assert again == replace(plan, skipped=())  # other commands of ION's are not written


def test_files_read_and_write(tmp_path):
    plan = parse_plan(EXAMPLE)
    write_plan(plan, tmp_path / "plan.ionrc")
    assert read_plan(tmp_path / "plan.ionrc") == plan
    assert plan.contacts == (
        Contact(0, 3600, 2, 1, 14400),
        Contact(0, 10800, 1, 2, 1000),
        Contact(7200, 10800, 2, 1, 14400, 0.9),
    )
    assert plan.ranges == (Range(0, 10800, 1, 2, 631.0),)


def test_what_a_link_takes_from_a_plan():
    plan = parse_plan(EXAMPLE)
    assert plan.rates(2, 1, 12_000.0) == [(0.0, 14400 * 8)]  # ION counts bytes
    assert plan.outages(2, 1, 12_000.0) == [(3600.0, 7200.0), (10_800.0, 12_000.0)]
    assert plan.outages(1, 2, 10_000.0) == []
    assert plan.delay_table(1, 2) == [(0.0, 631.0), (10_800.0, 631.0)]
    assert plan.delay_table(2, 1) == plan.delay_table(1, 2)  # 1 < 2: its range holds both ways
    assert plan.contacts[-1].confidence == 0.9


def test_the_higher_nodes_range_holds_one_way_and_wins_there():
    # ionrc(5): a range cited from the numerically greater node implies nothing about the reverse direction.
    plan = parse_plan("a range +0 +10 2 1 5\n")
    assert plan.delay_table(2, 1) == [(0.0, 5.0), (10.0, 5.0)]
    with pytest.raises(InputError, match="no range from 1 to 2; the plan has 2 to 1"):
        plan.delay_table(1, 2)
    both = parse_plan("a range +0 +10 2 1 5\na range +0 +10 1 2 7\n")
    assert both.delay_table(2, 1)[0] == (0.0, 5.0)
    assert both.delay_table(1, 2)[0] == (0.0, 7.0)


def test_the_delay_steps_where_ranges_meet_and_slopes_where_they_do_not():
    table = parse_plan("a range +0 +60 1 2 5\na range +60 +90 1 2 6\na range +100 +120 1 2 8\n").delay_table(
        1, 2
    )
    assert table == [(0, 5), (59.999, 5), (60, 6), (90, 6), (100, 8), (120, 8)]


def test_the_reference_moves():
    # "@" is relative to the reference before it.
    plan = parse_plan("@ +100\na contact +0 +10 1 2 5\n@ +50\na contact +0 +10 1 2 5\n")
    assert [(one.from_s, one.to_s) for one in plan.contacts] == [(100, 110), (150, 160)]
    dated = parse_plan("@ 2026/11/21-01:00:00\na contact +0 2026/11/21-02:00:00 1 2 5", START)
    assert (dated.contacts[0].from_s, dated.contacts[0].to_s) == (3600, 7200)


def test_seconds_have_decimals_down_to_a_microsecond():
    plan = parse_plan("@ +0.25\na contact +0.5 +10.000001 1 2 5\n")
    assert (plan.contacts[0].from_s, plan.contacts[0].to_s) == (0.75, 10.250001)
    assert list(format_plan(plan)) == ["a contact +0.75 +10.250001 1 2 5"]
    dated = list(format_plan(plan, START))
    assert dated == ["a contact 2026/11/21-00:00:00.75 2026/11/21-00:00:10.250001 1 2 5"]
    assert parse_plan(dated[0], START) == plan
    # A run may start between two seconds.
    later = parse_plan("a contact 2026/11/21-00:00:01 +10 1 2 5", START.replace(microsecond=500_000))
    assert later.contacts[0].from_s == 0.5


def test_the_delay_steps_within_a_range_however_short_it_is():
    table = parse_plan("a range +0 +0.0004 1 2 5\na range +0.0004 +1 1 2 6\n").delay_table(1, 2)
    assert table == [(0, 5), (0.0002, 5), (0.0004, 6), (1, 6)]


def test_a_rate_holds_until_the_next_contact_begins():
    plan = parse_plan(
        "a contact +0 +10 1 2 5\na contact +20 +30 1 2 5\na contact +40.5 +50 1 2 6\na contact +50 +60 1 2 5\n"
    )
    assert plan.rates(1, 2, 100.0) == [(0.0, 40.0), (40.5, 48.0), (50.0, 40.0)]
    assert plan.rates(1, 2, 40.5) == [(0.0, 40.0)]  # a contact that begins as the run ends has no part in it
    before = parse_plan(
        "a contact 2026/11/20-23:00:00 2026/11/21-00:00:00 1 2 9\na contact +5 +6 1 2 5", START
    )
    assert before.rates(1, 2, 100.0) == [(0.0, 40.0)]
    assert before.rates(1, 2, 2.0) == [(0.0, 72.0)]  # none in the run: the link has a rate all the same
    later = parse_plan("a contact +50 +60 1 2 9\na contact +70 +80 1 2 5")
    assert later.rates(1, 2, 20.0) == [(0.0, 72.0)]  # the first one's
    past = parse_plan(
        "a contact 2026/11/20-01:00:00 2026/11/20-02:00:00 1 2 9\n"
        "a contact 2026/11/20-03:00:00 2026/11/20-04:00:00 1 2 5",
        START,
    )
    assert past.rates(1, 2, 100.0) == [(0.0, 72.0)]  # and no row before the run


def test_dates_may_lie_before_the_start():
    text = "a contact 2026/11/20-23:59:00 2026/11/21-00:01:00 1 2 5"
    plan = parse_plan(text, START)
    assert plan.outages(1, 2, 100.0) == [(60.0, 100.0)]
    assert list(format_plan(plan, START)) == [text]
    with pytest.raises(InputError, match="60 s before the start can be written in dates only"):
        list(format_plan(plan))


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("a contact +0 +10 1 2", "a contact is 'a contact START STOP SOURCE DESTINATION RATE"),
        ("a contact +0 +10 1 2 5 1 1", "a contact is 'a contact"),
        ("a contact 0 +10 1 2 5", "a time is \\+seconds or yyyy/mm/dd-hh:mm:ss, .*, not '0'"),
        ("a contact +0 10 1 2 5", "a time is \\+seconds or yyyy/mm/dd-hh:mm:ss, .*, not '10'"),
        ("a contact +0.1234567 +10 1 2 5", "with at most 6 decimals, not '\\+0.1234567'"),
        ("a contact +0. +10 1 2 5", "a time is \\+seconds"),
        ("a contact +1e3 +10 1 2 5", "a time is \\+seconds"),
        ("a contact +0 2026/11/21-00:00:10. 1 2 5", "a time is \\+seconds"),
        ("a contact +10 +10 1 2 5", "it stops after it starts, unlike \\+10 to \\+10"),
        ("a contact +0 +10 0 2 5", "a node number is a whole number above 0, not '0'"),
        ("a contact +0 +10 ipn:1 2 5", "a node number is a whole number above 0, not 'ipn:1'"),
        ("a contact +0 +10 2 2 5", "it joins two nodes, not 2 with itself"),
        ("a contact +0 +10 1 2 -5", "a rate in bytes/s is a whole number above 0, not '-5'"),
        ("a contact +0 +10 1 2 5 1.5", "a confidence is above 0 and at most 1, not 1.5"),
        ("a contact +0 +10 1 2 5 nan", "a confidence is a decimal number, not 'nan'"),
        ("a contact -1 +10 1 1 0", "a registration contact"),
        ("a contact +0 0 1 2 0", "a hypothetical contact"),
        ("a contact 2026/02/30-00:00:00 +10 1 2 5", "'2026/02/30-00:00:00' is no date"),
        ("a contact +0 +99999999999 1 2 5", "more than 10000000000 s from the start"),
        ("a range +0 +10 1 2", "a range is 'a range START STOP ONE OTHER LIGHT_SECONDS'"),
        ("a range +0 +10 1 2 inf", "a range in light seconds is a decimal number, not 'inf'"),
        ("@", "a line is"),
        ("d contact +0 1 2", "a line is 'a contact"),
        ("contact +0 +10 1 2 5", "a line is"),
    ],
)
def test_a_malformed_line_is_refused_by_number(line, rule):
    text = f"# a plan\n\n{line}\n"
    with pytest.raises(InputError, match=f"^contact plan:3: .*{rule}") as caught:
        parse_plan(text, START)
    assert repr(line) in str(caught.value)


@pytest.mark.parametrize("kind", ["contact", "range"])
def test_overlaps_of_a_direction_are_refused_by_both_lines(kind):
    text = f"a {kind} +0 +10 1 2 5\na {kind} +0 +10 2 1 5\na {kind} +9 +20 1 2 5\n"
    with pytest.raises(InputError, match=r"^contact plan:3: overlaps line 1: from 1 to 2"):
        parse_plan(text)
    parse_plan(text.replace("+9", "+10"))


def test_dates_need_a_start():
    with pytest.raises(InputError, match=r"plan:1: the date .* give \[scenario\] start"):
        parse_plan("a contact 2026/11/21-00:00:00 +10 1 2 5")


def test_what_a_plan_lacks_is_named():
    plan = parse_plan("a contact +0 +10 1 2 5\na contact +10 +20 1 2 6\n")
    with pytest.raises(InputError, match="no contact from 2 to 1; the plan has 1 to 2"):
        plan.outages(2, 1, 10.0)
    with pytest.raises(InputError, match="no range from 1 to 2; the plan has none"):
        plan.delay_table(1, 2)
    with pytest.raises(InputError, match="no contact from 2 to 1; the plan has 1 to 2"):
        plan.rates(2, 1, 10.0)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    binary = tmp_path / "plan"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (binary, tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match=r"not UTF-8|is a folder|no such contact plan"):
            read_plan(path)


def test_a_contact_has_a_part_in_the_run_wherever_it_begins_and_ends():
    plan = parse_plan(
        "a contact 2026/11/20-23:00:00 2026/11/21-00:00:10 1 2 5\na contact +20 +30 1 2 6\na contact +90 +200 1 2 7\n"
        "a contact +300 +400 1 2 8\na contact 2026/11/20-22:00:00 2026/11/20-23:00:00 1 2 9",
        START,
    )
    assert [one.rate_bytes_s for one in plan.between(1, 2, 100.0)] == [5, 6, 7]
    assert [one.rate_bytes_s for one in plan.between(1, 2, 20.0)] == [5]


def test_a_whole_ionrc_is_read_and_what_is_no_plan_is_named_once() -> None:
    text = """1 1 ""
s
m horizon +0
m production 1000000
m horizon +100
@ +0
a contact +0 +10 1 2 5
a range +0 +10 1 2 3
e 1
"""
    plan = parse_plan(text)
    assert plan.skipped == ("1", "s", "m horizon", "m production", "e")
    assert len(plan.contacts) == len(plan.ranges) == 1
    assert parse_plan("a contact +0 +10 1 2 5").skipped == ()


def test_of_a_file_for_several_programs_the_sections_of_others_are_skipped() -> None:
    text = """\ufeff## begin ionadmin
a contact +0 +10 1 2 5
a range +0 +10 1 2 3
## end ionadmin
## begin ltpadmin
a span 2 10 10 1400 1400 1 'udplso localhost:1114'
## end ltpadmin
## begin ipnadmin
a plan 2 ltp/2
## end ipnadmin
## begin with one more
a contact +20 +30 1 2 5
"""
    plan = parse_plan(text)
    assert plan.skipped == ("ltpadmin", "ipnadmin")
    assert [one.from_s for one in plan.contacts] == [0, 20]
    with pytest.raises(InputError, match="a line is 'a contact"):
        parse_plan("a span 2 10 10 1400 1400 1 'udplso localhost:1114'\n")
