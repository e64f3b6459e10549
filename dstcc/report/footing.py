"""Side information and lanes of each algorithm, which a report shows beside its figures.

``run.json`` records it (:mod:`dstcc.run.footing`); in older runs without it they are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dstcc.algorithms import COPIES, KNOWLEDGE, SHOWS_RATES, letters

from .model import Algorithm, Section
from .numbers import UNKNOWN, grouped

VARIES = "varies"
SHARED = "deadlines"
"""Knowledge that a sentence leaves out where all algorithms have it."""


@dataclass(frozen=True)
class Footing:
    """Side information and lanes of one algorithm, with texts for tables and sentences."""

    knows: Sequence[str]
    ordering_domains: int | None
    """Of all links together; ``None``: each layer is one."""
    windows: int
    copies: str
    scale: float
    distorts: Sequence[str]
    set: Mapping[str, Any]

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Footing:
        """Parse an entry of ``algorithms`` in ``run.json``."""
        return cls(**{one.name: document[one.name] for one in fields(cls)})

    def document(self) -> dict[str, Any]:
        """As ``run.json`` has it."""
        return dict(vars(self))

    @property
    def letters(self) -> str:
        """``rcd`` for rates, contacts and deadlines; a dash for nothing."""
        return letters(self.knows)

    @property
    def lanes(self) -> str:
        """``32/2``: ordering domains over windows; with + where data is sent twice."""
        domains = "any" if self.ordering_domains is None else grouped(self.ordering_domains)
        return f"{domains}/{grouped(self.windows)}{'+' if self.copies else ''}"

    @property
    def resources(self) -> tuple[int | None, int]:
        """Domains and windows: two algorithms have equal lanes if these are equal."""
        return self.ordering_domains, self.windows

    @property
    def known(self) -> str:
        """What it knows, in words: ``the rates, the contacts``."""
        return ", ".join(known.noun for key, known in KNOWLEDGE.items() if key in self.knows)

    @property
    def beyond(self) -> str:
        """The same without what all algorithms know."""
        return ", ".join(
            known.noun for key, known in KNOWLEDGE.items() if key in self.knows and key != SHARED
        )

    @property
    def shows_rates(self) -> bool:
        """Whether it knows the links' rates beforehand, or sees within a slot what shows them."""
        return not set(self.knows).isdisjoint(SHOWS_RATES)

    @property
    def twice(self) -> str:
        """What it sends twice."""
        return COPIES.get(self.copies, "")

    @property
    def settings(self) -> str:
        """A variant's settings."""
        return ", ".join(f"{key} = {value}" for key, value in self.set.items())


def cells(one: Footing | None) -> tuple[str, str]:
    """Letters and lanes, as tables have them."""
    return (one.letters, one.lanes) if one else (UNKNOWN, UNKNOWN)


def footing_of(algorithm: Algorithm) -> Footing | None:
    """Those of an algorithm's first trial."""
    document = algorithm.trials[0].footing
    return None if document is None else Footing.parse(document)


def footings_of(section: Section) -> dict[str, Footing]:
    """Algorithm → its side information and lanes, where the run records it."""
    footings = {algorithm.name: footing_of(algorithm) for algorithm in section.algorithms}
    return {name: footing for name, footing in footings.items() if footing is not None}


def shared(of_scenarios: Iterable[Footing | None]) -> Footing | str:
    """Those of one algorithm over several scenarios: the same in all, or that it varies or is unknown."""
    footings = list(of_scenarios)
    first = footings[0]
    if first is None or None in footings:
        return UNKNOWN
    return (
        first
        if all((one.lanes, one.letters) == (first.lanes, first.letters) for one in footings if one)
        else VARIES
    )


def legend(footings: Iterable[Footing]) -> list[tuple[str, str]]:
    """The abbreviations that these footings use, with their meanings."""
    known = list(footings)
    used = [one for key, one in KNOWLEDGE.items() if any(key in footing.knows for footing in known)]
    lines = [(one.letter, one.what) for one in used]
    if known:
        lines.append(("lanes", "ordering domains/windows, all links together"))
    if any(footing.ordering_domains is None for footing in known):
        lines.append(("any", "each layer is an ordering domain"))
    return lines + [("+", COPIES[key]) for key in COPIES if any(footing.copies == key for footing in known)]
