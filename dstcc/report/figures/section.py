"""The figures of a section that are one plot under a title: each module registers its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dstcc.report.catalogue import METRIC
from dstcc.report.model import Algorithm, Section, plain_name
from dstcc.report.numbers import quantity
from dstcc.report.tables import Tables

from .looks import Looks

PLACES = ("delivery", "time")
"""Where on the page: below the summary, or among what shows single trials over time."""


class Shown(Protocol):
    """What a figure's words may depend on."""

    @property
    def section(self) -> Section:
        """Its trials."""

    @property
    def representative(self) -> str:
        """Which trials the figures over time show."""

    @property
    def chosen(self) -> str:
        """Which of the algorithms the figures show; empty where they show all."""


class Draw(Protocol):
    """Draws a figure."""

    def __call__(
        self, section: Section, tables: Tables, looks: Looks, salt: str, *, narrow: bool = False
    ) -> str:
        """The SVG, of a section, its tables, the algorithms' looks and a salt for ids; ``narrow`` for a phone."""


@dataclass(frozen=True)
class SectionFigure:
    """A figure of each section."""

    key: str
    """The end of its anchor."""
    title: str
    place: str
    """One of :data:`PLACES`, in which figures stand by key."""
    draw: Draw
    """The SVG."""
    label: Callable[[Shown], str]
    """Text for a screen reader."""
    caption: Callable[[Shown], str]
    rows: Callable[[Section, Tables], Iterator[Sequence[Any]]]
    """The numbers that it draws, the heading first."""
    wanted: Callable[[Section], bool] = lambda _: True
    """Whether a section has it."""


def finding(algorithms: Iterable[Algorithm], metric: str) -> str:
    """What an alternative text says a figure shows: the metric of each algorithm that has a value of it."""
    values = {a.name: a.estimates[metric].value for a in algorithms if metric in a.estimates}
    kind = METRIC[metric].kind
    return (
        ", ".join(f"{plain_name(name)} {quantity(kind, value)}" for name, value in values.items())
        or "no values"
    )


FIGURES: dict[str, SectionFigure] = {}
"""By key; :mod:`dstcc.report.figures` fills it."""


def register(figure: SectionFigure) -> None:
    """Put a figure on the page; raises ValueError for a key that is taken or a place that there is not."""
    if figure.key in FIGURES:
        raise ValueError(f"two figures are called {figure.key}")
    if figure.place not in PLACES:
        raise ValueError(f"figure {figure.key}: {figure.place} is none of {', '.join(PLACES)}")
    FIGURES[figure.key] = figure
