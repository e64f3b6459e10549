"""How published numbers fare over the values of what a paper leaves open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .rows import PublishedRow, rows_of_number
from .verdict import CLASSES, REPRODUCED, UNDECIDED, UNMEASURED, class_of

if TYPE_CHECKING:
    from .carry import Results
    from .model import Axis, Paper


SAID = {
    REPRODUCED: "holds for {}",
    "within a factor of two": "within a factor of two for {}",
    UNDECIDED: "undecided for {}",
}
"""What is said of a class of verdicts; all others fail."""


@dataclass(frozen=True)
class Line:
    """A published number over an axis."""

    cells: tuple[PublishedRow, ...]
    """A value each."""
    said: PublishedRow
    """Of all of them."""


@dataclass(frozen=True)
class Map:
    """Published numbers over an axis."""

    axis: Axis
    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    together: tuple[PublishedRow, ...]
    """At which values all are reproduced; of one number nothing more is said."""

    @property
    def rows(self) -> list[PublishedRow]:
        """All of it, for a table."""
        return [*(row for line in self.lines for row in (*line.cells, line.said)), *self.together]

    @property
    def rows_of_all(self) -> list[PublishedRow]:
        """Those that are about all values."""
        return [*(line.said for line in self.lines), *self.together]


def maps_of(paper: Paper, results: Iterable[Results]) -> list[Map]:
    """A map for each axis that was run."""
    axes: dict[str, list[Results]] = {}
    for one in results:
        if one.setting is not None:
            axes.setdefault(one.setting.axis.name, []).append(one)
    return [_map(paper, parts) for parts in axes.values()]


def _map(paper: Paper, parts: list[Results]) -> Map:
    settings = dict.fromkeys(one.setting for one in parts if one.setting is not None)
    axis = next(iter(settings)).axis
    values = tuple(axis.label(setting.point) for setting in settings)
    lines = []
    for number in axis.numbers(paper.number):
        own = [one for one in parts if one.figure.id == number.figure]
        for cells in zip(*(rows_of_number(number, one) for one in own), strict=True):
            verdict = over_values(axis, values, cells)
            lines.append(Line(cells, _of_all(axis, cells[0], verdict)))
    held = [
        value
        for place, value in enumerate(values)
        if all(line.cells[place].verdict.startswith(REPRODUCED) for line in lines)
    ]
    where = f"for {_listed(held, axis)}" if held else f"at none of {_listed(values, axis)}"
    whole = replace(
        lines[0].said,
        figure=", ".join(axis.figures),
        quantity=f"all {len(lines)}",
        published=None,
        claim="all of them together",
        unit="",
        place="",
        note="",
        verdict=f"hold together {where}",
    )
    return Map(
        axis, tuple(setting.value for setting in settings), tuple(lines), (whole,) if lines[1:] else ()
    )


def _of_all(axis: Axis, first: PublishedRow, verdict: str) -> PublishedRow:
    return replace(first, measured=None, low=None, high=None, verdict=verdict, setting=axis.name)


def over_values(axis: Axis, values: Iterable[str], cells: Iterable[PublishedRow]) -> str:
    """Whether a verdict depends on an axis; it only may where no two of different verdicts have intervals apart."""
    there = [
        (value, class_of(cell.verdict), cell)
        for value, cell in zip(values, cells, strict=True)
        if cell.verdict != UNMEASURED
    ]
    if not there:
        return UNMEASURED
    found = {name: [value for value, mine, _ in there if mine == name] for name in CLASSES}
    said = "; ".join(
        SAID.get(name, f"fails for {{}} ({name})").format(_listed(values, axis))
        for name, values in found.items()
        if values
    )
    if sum(map(bool, found.values())) == 1:
        return f"does not depend on the {axis.name}: {said}"
    apart = any(mine != other and _above(a, b) for _, mine, a in there for _, other, b in there)
    return f"{'depends' if apart else 'may depend'} on the {axis.name}: {said}"


def _above(one: PublishedRow, other: PublishedRow) -> bool:
    """Whether all of an interval is above all of another."""
    low = one.measured if one.low is None else one.low
    high = other.measured if other.high is None else other.high
    return low is not None and high is not None and low > high


def _listed(values: Iterable[str], axis: Axis) -> str:
    *first, last = values
    return f"{', '.join(first)} and {last} {axis.unit}".rstrip() if first else f"{last} {axis.unit}".rstrip()
