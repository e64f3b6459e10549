"""The figures of a section that are one plot under a title: each module registers its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dstcc.report.model import Section
from dstcc.report.tables import Tables

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


@dataclass(frozen=True)
class SectionFigure:
    """A figure of each section."""

    key: str
    """The end of its anchor."""
    title: str
    place: str
    """One of :data:`PLACES`, in which figures stand by key."""
    draw: Callable[[Section, Tables, dict[str, str], str], str]
    """The SVG, of a section, its tables, the algorithms' colours and a salt for ids."""
    label: Callable[[Shown], str]
    """Text for a screen reader."""
    caption: Callable[[Shown], str]


FIGURES: dict[str, SectionFigure] = {}
"""By key; :mod:`dstcc.report.figures` fills it."""


def register(figure: SectionFigure) -> None:
    """Put a figure on the page; raises ValueError for a key that is taken or a place that there is not."""
    if figure.key in FIGURES:
        raise ValueError(f"two figures are called {figure.key}")
    if figure.place not in PLACES:
        raise ValueError(f"figure {figure.key}: {figure.place} is none of {', '.join(PLACES)}")
    FIGURES[figure.key] = figure
