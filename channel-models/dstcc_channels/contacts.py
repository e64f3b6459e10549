"""Contact plans in the words of ION: who may send to whom, when, how fast, and how far apart they are.

::

    a contact START STOP SOURCE DESTINATION RATE [CONFIDENCE]    bytes per second, one direction
    a range   START STOP ONE OTHER LIGHT_SECONDS                 ONE < OTHER holds both ways unless OTHER ONE says else
    @ TIME                                                       what +seconds counts from, until the next @
    # a comment                                                  and empty lines

A time is ``+seconds`` or ``yyyy/mm/dd-hh:mm:ss`` (UTC). Here ``+0`` is the start of the run; a file that names dates
needs a run whose scenario has a start date. Rates are whole numbers, as in ION. Seconds may have decimals, down to a
microsecond, where ION has whole ones, and so may light seconds, which ION truncates. Registration (``-1``) and
hypothetical (``0``) contacts have no times and are refused. Of a whole ``ionrc`` file the commands that say nothing of
contacts (:data:`OTHERS`, ``m horizon`` among them: here a plan counts to its end) are skipped and named once
(``Plan.skipped``), and so are sections of other programs (``## begin ltpadmin`` to ``## end ltpadmin``). Those that
change a plan (``d``, ``c``) are refused.

Source: the manual page ionrc(5) of ION-DTN, commands ``a contact``, ``a range`` and ``@``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from dstcc.atomic import atomic_write
from dstcc.errors import InputError
from dstcc.reading import read_text

from .geometry.times import utc
from .geometry.windows import Windows, complement, tidy

DATE = "%Y/%m/%d-%H:%M:%S"
DATE_SHAPE = re.compile(r"(\d{4}/\d{2}/\d{2}-\d{2}:\d{2}:\d{2})(\.\d{1,6})?", re.ASCII)
SECONDS_SHAPE = re.compile(r"\+[0-9]+(\.[0-9]{1,6})?", re.ASCII)
DECIMALS = 6
"""Of a second; a float holds them exactly enough up to a hundred years."""
MOST_S = 10**10
"""Largest time, 317 years: a larger number is a typing error."""
EDGE_S = 0.001
"""Time in which the delay steps from one range to the next, since the times of a table's rows must increase; half of a
range that is shorter than twice this."""
OTHERS = ("1", "e", "h", "i", "l", "m", "q", "r", "s", "v", "x", "?")
"""Commands of ionadmin that are no part of a plan: start and stop, lists, echo, and ``m``, which manages ION's own
clock, rates and horizon."""
ADMIN = "ionadmin"
SECTION = re.compile(r"##\s*(begin|end)\s+(\w+admin)\b.*")
"""Around the commands of one program, in files that ``ionscript`` wrote of several."""
CONTACT = "a contact START STOP SOURCE DESTINATION RATE [CONFIDENCE]"
RANGE = "a range START STOP ONE OTHER LIGHT_SECONDS"


@dataclass(frozen=True, order=True)
class Contact:
    """A time in which one node may send to another."""

    from_s: float
    """Seconds after the start of the run, like ``to_s``."""
    to_s: float
    source: int
    destination: int
    rate_bytes_s: int
    confidence: float = 1.0
    """Probability that the contact takes place; 1 for a scheduled contact."""

    @property
    def rate_bps(self) -> float:
        """Bits per second."""
        return 8.0 * self.rate_bytes_s


@dataclass(frozen=True, order=True)
class Range:
    """A time in which two nodes are a constant light time apart."""

    from_s: float
    to_s: float
    one: int
    other: int
    light_s: float


@dataclass(frozen=True)
class Plan:
    """A contact plan, in order of time."""

    contacts: tuple[Contact, ...] = ()
    ranges: tuple[Range, ...] = ()
    skipped: tuple[str, ...] = ()
    """Commands of the file that are no part of a plan, each once."""

    def windows(self, source: int, destination: int) -> Windows:
        """When ``source`` may send to ``destination``; without any contact an ``InputError`` lists the plan's pairs."""
        return tidy((one.from_s, one.to_s) for one in self.of(source, destination))

    def outages(self, source: int, destination: int, duration_s: float) -> Windows:
        """When ``source`` may not send to ``destination``, within ``duration_s`` of the start."""
        return complement(self.windows(source, destination), 0.0, duration_s)

    def rates(self, source: int, destination: int, duration_s: float) -> list[tuple[float, float]]:
        """The rate over the run as rows ``(t_s, rate_bps)``, each held until the next, the first from 0 s on.

        A rate holds until the next contact begins. Contacts outside the run count for nothing; where all are, nothing
        is sent, and the first one's rate stands for the run.
        """
        contacts = self.between(source, destination, duration_s) or self.of(source, destination)[:1]
        rows = [(0.0, contacts[0].rate_bps)]
        for one in contacts[1:]:
            if one.rate_bps != rows[-1][1]:
                rows.append((float(one.from_s), one.rate_bps))
        return rows

    def between(self, source: int, destination: int, duration_s: float) -> list[Contact]:
        """The pair's contacts that have a part in ``[0, duration_s)``."""
        return [one for one in self.of(source, destination) if one.to_s > 0 and one.from_s < duration_s]

    def delay_table(self, source: int, destination: int) -> list[tuple[float, float]]:
        """One-way light time as rows ``(t_s, delay_s)``, lines between them: steps where ranges meet.

        Between ranges that do not meet the delay goes straight from one to the next. ``InputError`` when the plan
        has no range for that direction.
        """
        ranges = [one for one in self.ranges if (one.one, one.other) == (source, destination)]
        if not ranges and destination < source:  # a range from the lower node holds both ways
            ranges = [one for one in self.ranges if (one.one, one.other) == (destination, source)]
        if not ranges:
            raise InputError(
                f"no range from {source} to {destination}; "
                f"the plan has {_pairs((one.one, one.other) for one in self.ranges)}"
            )
        table: list[tuple[float, float]] = []
        for one in ranges:
            begin = float(one.from_s)
            if table and table[-1][0] >= begin:
                table[-1] = (begin - min(EDGE_S, (begin - table[-2][0]) / 2), table[-1][1])
            table += [(begin, one.light_s), (float(one.to_s), one.light_s)]
        return table

    def of(self, source: int, destination: int) -> list[Contact]:
        """The pair's contacts; without any an ``InputError`` lists the plan's pairs."""
        contacts = [
            each for each in self.contacts if (each.source, each.destination) == (source, destination)
        ]
        if not contacts:
            pairs = _pairs((one.source, one.destination) for one in self.contacts)
            raise InputError(f"no contact from {source} to {destination}; the plan has {pairs}")
        return contacts


def read_plan(path: str | Path, start: datetime | None = None) -> Plan:
    """Read a plan; ``start`` (UTC without a zone) is what ``+0`` means where the file names dates.

    Raises ``InputError`` with file, line number and rule for a line that breaks one, and for contacts (or ranges) of
    one direction that overlap.
    """
    return parse_plan(plan_text(path), start, name=str(path))


def plan_text(path: str | Path) -> str:
    """A plan's file; raises ``InputError`` where there is none."""
    try:
        return read_text(Path(path), InputError)
    except FileNotFoundError:
        raise InputError(f"{path}: no such contact plan") from None


def parse_plan(text: str, start: datetime | None = None, *, name: str = "contact plan") -> Plan:
    """Like :func:`read_plan`, from text; ``name`` is what messages call it."""
    contacts: list[tuple[int, Contact]] = []
    ranges: list[tuple[int, Range]] = []
    skipped: dict[str, None] = {}
    reference = 0.0
    for number, line, program in _lines(text):
        words = line.split()
        if program != ADMIN:
            skipped[program] = None
            continue
        clock = _Clock(reference, start)
        try:
            match words:
                case ["@", time]:
                    reference = clock.read(time)
                case ["a", "contact", *fields]:
                    contacts.append((number, _contact(fields, clock)))
                case ["a", "range", *fields]:
                    ranges.append((number, _range(fields, clock)))
                case [command, *rest] if command in OTHERS:
                    skipped[" ".join([command, *rest[: command == "m"]])] = None
                case _:
                    raise _Broken(f"a line is '{CONTACT}', '{RANGE}', '@ TIME' or a # comment")
        except _Broken as broken:
            raise InputError(f"{name}:{number}: {broken}; found: {line.strip()!r}") from None
    _apart((((one.source, one.destination), one.from_s, one.to_s, number) for number, one in contacts), name)
    _apart((((one.one, one.other), one.from_s, one.to_s, number) for number, one in ranges), name)
    return Plan(
        tuple(sorted(one for _, one in contacts)), tuple(sorted(one for _, one in ranges)), tuple(skipped)
    )


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Number and text of each line that says something, and the program that it is for."""
    program = ADMIN
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if section := SECTION.fullmatch(line.strip()):
            program = section[2] if section[1] == "begin" else ADMIN
        elif line.strip() and not line.lstrip().startswith("#"):
            yield number, line, program


def write_plan(plan: Plan, path: str | Path, start: datetime | None = None) -> None:
    """Write a plan so that :func:`read_plan` reads it back; in dates with ``start``, else in seconds of the run."""
    atomic_write(Path(path), "".join(f"{line}\n" for line in format_plan(plan, start)))


def format_plan(plan: Plan, start: datetime | None = None) -> Iterator[str]:
    """The lines of :func:`write_plan`; ``InputError`` where they could not be read back."""

    def time(seconds: float) -> str:
        if start is not None:
            moment = utc(start) + timedelta(seconds=seconds)
            return f"{moment:{DATE}}" + f".{moment.microsecond:06d}".rstrip("0").rstrip(".")
        if seconds < 0:
            raise InputError(
                f"a plan that begins {_plain(-seconds)} s before the start can be written in dates only"
            )
        return f"+{_plain(seconds)}"

    for one in plan.contacts:
        confidence = "" if one.confidence == 1 else f" {_plain(one.confidence)}"
        yield (
            f"a contact {time(one.from_s)} {time(one.to_s)} "
            f"{one.source} {one.destination} {one.rate_bytes_s}{confidence}"
        )
    for span in plan.ranges:
        yield f"a range {time(span.from_s)} {time(span.to_s)} {span.one} {span.other} {_plain(span.light_s)}"


class _Broken(Exception):  # noqa: N818 - the rule a line breaks; becomes an InputError that names the line
    """What is wrong with a line."""


@dataclass(frozen=True)
class _Clock:
    """What a time in the file means."""

    reference_s: float
    start: datetime | None

    def read(self, word: str) -> float:
        """Seconds after the start of the run."""
        if SECONDS_SHAPE.fullmatch(word):
            seconds = round(self.reference_s + float(word[1:]), DECIMALS)
        elif shape := DATE_SHAPE.fullmatch(word):
            seconds = self._date(word, shape[1], shape[2] or ".0")
        else:
            raise _Broken(
                f"a time is +seconds or yyyy/mm/dd-hh:mm:ss, with at most {DECIMALS} decimals, not {word!r}"
            )
        if abs(seconds) > MOST_S:
            raise _Broken(f"{word!r} is more than {MOST_S} s from the start")
        return seconds

    def _date(self, word: str, whole: str, decimals: str) -> float:
        if self.start is None:
            raise _Broken(f"the date {word!r} means nothing without the run's own: give [scenario] start")
        try:
            moment = datetime.strptime(whole, DATE).replace(tzinfo=UTC)
        except ValueError as error:
            raise _Broken(f"{word!r} is no date: {error}") from None
        microseconds = int(decimals[1:].ljust(DECIMALS, "0"))
        return (moment - utc(self.start) + timedelta(microseconds=microseconds)).total_seconds()


def _contact(fields: list[str], clock: _Clock) -> Contact:
    if len(fields) not in (5, 6):
        raise _Broken(f"a contact is '{CONTACT}'")
    begin, end, source, destination, rate, *confidence = fields
    if begin == "-1":
        raise _Broken("a registration contact (start -1) has no times")
    if end == "0":
        raise _Broken("a hypothetical contact (stop 0) has no times")
    contact = Contact(
        *_span(begin, end, clock), *_nodes(source, destination), _whole(rate, "a rate in bytes/s")
    )
    if not confidence:
        return contact
    likely = _decimal(confidence[0], "a confidence")
    if not 0 < likely <= 1:
        raise _Broken(f"a confidence is above 0 and at most 1, not {confidence[0]}")
    return replace(contact, confidence=likely)


def _range(fields: list[str], clock: _Clock) -> Range:
    if len(fields) != 5:
        raise _Broken(f"a range is '{RANGE}'")
    begin, end, one, other, light = fields
    return Range(*_span(begin, end, clock), *_nodes(one, other), _decimal(light, "a range in light seconds"))


def _span(begin: str, end: str, clock: _Clock) -> tuple[float, float]:
    from_s, to_s = clock.read(begin), clock.read(end)
    if from_s >= to_s:
        raise _Broken(f"it stops after it starts, unlike {begin} to {end}")
    return from_s, to_s


def _nodes(one: str, other: str) -> tuple[int, int]:
    pair = _whole(one, "a node number"), _whole(other, "a node number")
    if pair[0] == pair[1]:
        raise _Broken(f"it joins two nodes, not {one} with itself")
    return pair


def _whole(word: str, what: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", word, re.ASCII) or int(word) == 0:
        raise _Broken(f"{what} is a whole number above 0, not {word!r}")
    return int(word)


def _decimal(word: str, what: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", word, re.ASCII):
        raise _Broken(f"{what} is a decimal number, not {word!r}")
    return float(word)


def _apart(spans: Iterable[tuple[tuple[int, int], float, float, int]], name: str) -> None:
    """Raise ``InputError`` if spans of one direction overlap; a span is (nodes, from, to, line number)."""
    for (nodes, _, end, first), (later_nodes, begin, _, second) in pairwise(sorted(spans)):
        if nodes == later_nodes and begin < end:
            raise InputError(
                f"{name}:{max(first, second)}: overlaps line {min(first, second)}: from {nodes[0]} to {nodes[1]} "
                f"one is until {_plain(end)} s after the start, the other from {_plain(begin)} s"
            )


def _pairs(pairs: Iterable[tuple[int, int]]) -> str:
    listed = ", ".join(f"{one} to {other}" for one, other in sorted(set(pairs)))
    return listed or "none"


def _plain(number: float) -> str:
    """The exact number without an exponent, which the format does not allow."""
    import numpy as np

    return f"{int(number)}" if number == int(number) else np.format_float_positional(number)
