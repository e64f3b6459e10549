"""A link's contact plan beside its profile: what the plan gives, and which of its contacts the profile clips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from dstcc.clock import Clock
from dstcc.errors import InputError

from .changing import Steps, check_ratio, rate_rows
from .fields import MAX_DELAY_S, MAX_RATE_BPS, MAX_TIME_S, MIN_DELAY_S, MIN_RATE_BPS

if TYPE_CHECKING:
    from dstcc_channels.contacts import Contact, Plan

    from .model import About, Link

Windows = list[tuple[float, float]]
Obstacles = Mapping[str, Windows]
"""What is in the way, in words, and when, in seconds of the sender's clock; they may overlap."""
LEAST_CLIPPED_S = 1e-3
"""Less of a contact is what rounding takes."""


def plan_of(link: Link, about: About) -> Plan:
    """A link's contact plan; raises :class:`InputError`."""
    from dstcc_channels.contacts import plan_text

    assert link.contacts is not None
    return _parsed(plan_text(link.contacts), about.start, link.contacts)


def nodes_of(link: Link) -> dict[str, tuple[int, int]]:
    """The plan's sender and receiver of each direction of a link."""
    assert link.source is not None and link.destination is not None
    return {"down": (link.source, link.destination), "up": (link.destination, link.source)}


def planned_rate(link: Link, about: About, way: str) -> Steps:
    """The plan's rate in one direction over the run, bit/s; raises :class:`InputError`."""
    rows = plan_of(link, about).rates(*nodes_of(link)[way], length_s(about))
    for _, rate in rows:
        _check_within(rate, MIN_RATE_BPS, MAX_RATE_BPS, "a contact's rate", "bit/s")
    check_ratio(rate for _, rate in rows)
    return rate_rows(rows)


def planned_delay(link: Link, about: About) -> list[tuple[float, float]]:
    """The plan's light times as rows (seconds, seconds); raises :class:`InputError`."""
    rows = plan_of(link, about).delay_table(*nodes_of(link)["down"])
    for _, delay in rows:
        _check_within(delay, MIN_DELAY_S, MAX_DELAY_S, "a range", "light seconds")
    return rows


def _check_within(value: float, least: float, most: float, what: str, unit: str) -> None:
    """A plan's numbers have the bounds of the keys that they stand for."""
    if not least <= value <= most:
        raise InputError(f"{what} is between {least:g} and {most:g} {unit}, not {value:g}")


def dark_windows(link: Link, about: About, way: str, obstacles: Obstacles) -> Windows:
    """When nothing may be sent: without a contact, or with something in the way."""
    from dstcc_channels.geometry import union

    plan = plan_of(link, about)
    return union(plan.outages(*nodes_of(link)[way], MAX_TIME_S), *obstacles.values())


def clipped(link: Link, about: About, way: str, obstacles: Obstacles) -> Iterator[str]:
    """A sentence for each contact of which the obstacles take a part, or all: what is left, and the reasons; and one
    for a plan without a contact in the run."""
    from dstcc_channels.geometry import intersection, total_s, union

    end_s, in_the_way = length_s(about), union(*obstacles.values())
    plan, nodes = plan_of(link, about), nodes_of(link)[way]
    contacts = plan.between(*nodes, end_s)
    if not contacts:
        nearest = min(plan.of(*nodes), key=lambda one: max(one.from_s - end_s, -one.to_s))
        yield (
            f"link {link.name}: no contact {way} of the plan is within the run, which ends at +{_seconds(end_s)} s: "
            f"the nearest is {_span(nearest, about.start)}"
        )
    for contact in contacts:
        whole = [(max(contact.from_s, 0.0), min(contact.to_s, end_s))]
        lost_s = total_s(intersection(whole, in_the_way))
        if lost_s < LEAST_CLIPPED_S:
            continue
        taken = {why: total_s(intersection(whole, windows)) for why, windows in obstacles.items()}
        reasons = "; ".join(f"{why} for {_seconds(s)} s" for why, s in taken.items() if s >= LEAST_CLIPPED_S)
        length = total_s(whole)
        yield (
            f"link {link.name}: contact {way} {_span(contact, about.start)}: {_seconds(length - lost_s)} of its "
            f"{_seconds(length)} s are left: {reasons}"
        )


def skipped(links: Iterable[Link], about: About) -> Iterator[str]:
    """A sentence for each plan of these links with commands that are no part of one."""
    for name, link in {link.contacts: link for link in links if link.contacts is not None}.items():
        if others := plan_of(link, about).skipped:
            yield f"{name}: skipped, as no part of a contact plan: {', '.join(others)}"


def length_s(about: About) -> float:
    """How far a plan counts: to the run's end, if that is known."""
    return about.duration_s or MAX_TIME_S


def _span(contact: Contact, start: datetime | None) -> str:
    """``+3,600 to +7,200 s``, and the same in UTC where the scenario has a start."""
    said = f"+{_seconds(contact.from_s)} to +{_seconds(contact.to_s)} s".replace("+-", "-")
    clock = Clock(start)
    return f"{said} ({clock.between(contact.from_s, contact.to_s, 0)} UTC)" if clock.dated else said


def _seconds(seconds: float) -> str:
    """To the millisecond, without zeros behind the point."""
    return f"{seconds:,.3f}".rstrip("0").rstrip(".")


@lru_cache(maxsize=16)
def _parsed(text: str, start: datetime | None, name: str) -> Plan:
    """By its text, so that a file which changes is read anew."""
    from dstcc_channels.contacts import parse_plan

    return parse_plan(text, start, name=name)
