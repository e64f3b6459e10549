"""A scenario's contact plan for ION and other bundle agents, as ``ionrc`` commands (:mod:`dstcc_channels.contacts`).

A link is contacts in both directions between its outages, at its rate in whole bytes per second (a new contact where
the rate changes), and ranges: a light time that changes is a staircase, off by at most :data:`STEP_S`. Unannounced
outages are not in the plan. Without ``[[node]]`` the spacecraft is node 2 and Earth node 1, unless the first link has
other numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, pairwise
from math import ceil
from pathlib import Path

import numpy as np
from dstcc_channels.contacts import Contact, Plan, Range, format_plan
from dstcc_channels.geometry.windows import complement

from dstcc.atomic import atomic_write
from dstcc.engine.config import Link
from dstcc.errors import InputError
from dstcc.outputs import Kind, check_output
from dstcc.reading import read_text
from dstcc.scenario import Scenario
from dstcc.scenario.draws import draw_lines

STEP_S = 0.5
"""A range's largest error in light time: half of a step's height."""
EARTH, CRAFT = 1, 2
MARK = "# contact plan of the dstcc scenario "
NS = 1e9


def _no_plan(path: Path) -> str | None:
    first = read_text(path, InputError).partition("\n")[0]
    return None if first.startswith(MARK) else "does not begin as a contact plan that dstcc wrote"


IONRC = Kind("a contact plan", _no_plan)


def ionrc_text(scenario: Scenario) -> str:
    """The lines, with the nodes' names and numbers in comments first.

    Raises :class:`InputError` for a scenario without an end.
    """
    numbers = node_numbers(scenario)
    plan, start = plan_of(scenario), scenario.scenario.start
    head = [
        f"{MARK}'{scenario.scenario.name}'",
        *(f"# node {number}: {name}" for name, number in numbers.items()),
    ]
    return "".join(f"{line}\n" for line in (*head, *format_plan(plan, start)))


def write_ionrc(scenario: Scenario, path: Path, *, force: bool, inputs: list[Path]) -> None:
    """Write :func:`ionrc_text` to a file."""
    check_output(path, IONRC, force=force, inputs=inputs)
    atomic_write(path, ionrc_text(scenario))


def node_numbers(scenario: Scenario) -> dict[str, int]:
    """Of each node its own number, or the lowest that is free."""
    if not scenario.node:
        first = scenario.link[0]
        return {"spacecraft": first.source or CRAFT, "earth": first.destination or EARTH}
    taken = {node.number for node in scenario.node if node.number}
    free = (number for number in count(1) if number not in taken)
    return {node.name: node.number or next(free) for node in scenario.node}


def plan_of(scenario: Scenario) -> Plan:
    """The contacts and ranges of all links, of the first seed."""
    length_s = scenario.scenario.duration_s
    if length_s is None:
        raise InputError(
            f"{scenario.scenario.name}: scenario.duration_s: not given, and a contact plan has an end"
        )
    numbers = node_numbers(scenario)
    contacts: list[Contact] = []
    ranges: list[Range] = []
    seen: set[tuple[int, int]] = set()
    for given, line in zip(scenario.link, draw_lines(scenario, scenario.run.seed), strict=True):
        one = numbers[str(given.from_)] if scenario.node else numbers["spacecraft"]
        other = numbers[str(given.to)] if scenario.node else numbers["earth"]
        if (one, other) in seen or (other, one) in seen:
            raise InputError(
                f"{scenario.scenario.name}: link '{given.name}': a second link between nodes {one} and {other}, and a "
                "contact plan has one"
            )
        seen.add((one, other))
        down = _rates(line.rate_bps, line.rate_t_ns, line.rate_share)
        back = _rates(line.up_rate_bps, line.up_rate_t_ns, line.up_rate_share)
        contacts += _contacts(one, other, line.outages_ns, down, length_s)
        contacts += _contacts(other, one, line.back_outages_ns, back, length_s)
        ranges += _ranges(min(one, other), max(one, other), line, length_s)
    return Plan(tuple(sorted(contacts)), tuple(sorted(ranges)))


def _rates(most_bps: float, t_ns: tuple[int, ...], shares: tuple[float, ...]) -> list[tuple[float, float]]:
    """Rows of a time and the rate from then on."""
    if not len(t_ns):
        return [(0.0, most_bps)]
    return [(t / NS, most_bps * share) for t, share in zip(t_ns, shares, strict=True)]


def _contacts(
    source: int,
    destination: int,
    outages_ns: tuple[tuple[int, int], ...],
    rates: list[tuple[float, float]],
    length_s: float,
) -> Iterator[Contact]:
    ends = [*(t for t, _ in rates[1:]), length_s]
    for begin, end in complement([(a / NS, b / NS) for a, b in outages_ns], 0.0, length_s):
        for (from_s, rate_bps), to_s in zip(rates, ends, strict=True):
            first, last = max(begin, from_s), min(end, to_s)
            if first < last and rate_bps >= 8:
                yield Contact(round(first, 6), round(last, 6), source, destination, int(rate_bps / 8))


def _ranges(one: int, other: int, line: Link, length_s: float) -> Iterator[Range]:
    t = [row / NS for row in line.delay_t_ns]
    delay = [row / NS for row in line.delay_ns]
    if len(t) == 1:
        yield Range(0.0, length_s, one, other, delay[0])
        return
    edges = sorted({0.0, length_s, *(row for row in t if 0 < row < length_s)})
    for begin, end in pairwise(edges):
        first, last = np.interp([begin, end], t, delay)
        parts = max(1, ceil(abs(last - first) / (2 * STEP_S)))
        for part in range(parts):
            middle = first + (last - first) * (part + 0.5) / parts
            from_s, to_s = (round(begin + (end - begin) * k / parts, 6) for k in (part, part + 1))
            if from_s < to_s:
                yield Range(from_s, to_s, one, other, round(float(middle), 6))
