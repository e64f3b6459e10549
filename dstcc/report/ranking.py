"""The table at the top of a report: each algorithm beside the leader, highest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dstcc.stats import Estimate

from .catalogue import METRIC
from .comparison import HEADLINE, MISSING, WORDS, Comparison
from .numbers import UNKNOWN, unit_for, with_interval

BESIDE = METRIC["playback_ratio"]
"""The metric that is shown beside the headline."""


@dataclass(frozen=True)
class Ranked:
    """A row: the headline and the share of chunks played, as text in percent, and the word for it."""

    name: str
    value: str
    interval: str
    played: str
    """A dash without a value."""
    played_interval: str
    word: str
    """One of the words of :mod:`dstcc.report.comparison`."""
    knows: str
    """Letters; a dash where the run does not record it."""
    lanes: str
    bar: tuple[float, float, float]
    """Value and interval in percent, for a bar."""
    leader: bool = False


def ranking(comparison: Comparison, played: Mapping[str, Estimate]) -> list[Ranked]:
    """The rows of a comparison, those without a value last; ``played`` has the estimates of :data:`BESIDE`."""
    unit = unit_for("share", [1.0])
    rows = []
    for name, one in comparison.values.items():
        beside = played.get(name)
        value, interval = with_interval(one, unit)
        rows.append(
            Ranked(
                name,
                value,
                interval,
                *with_interval(beside, unit),
                comparison.word(name),
                *_footing(comparison, name),
                bar=(one.value * 100, *(bound * 100 for bound in one.bounds())),  # type: ignore[arg-type]
                leader=name == comparison.leader,
            )
        )
    absent = [name for name in comparison.missing if name not in comparison.values]
    return rows + [
        Ranked(name, UNKNOWN, "", UNKNOWN, "", MISSING, *_footing(comparison, name), bar=(0.0, 0.0, 0.0))
        for name in absent
    ]


def _footing(comparison: Comparison, name: str) -> tuple[str, str]:
    one = comparison.footings.get(name)
    return (one.letters, one.lanes) if one else (UNKNOWN, UNKNOWN)


def leader_of(rows: list[Ranked]) -> str:
    """The name of the leader."""
    return next(row.name for row in rows if row.leader)


def words_of(rows: list[Ranked]) -> list[tuple[str, str]]:
    """The words that occur and need to be explained, with what they say."""
    used = {row.word for row in rows}
    return [(word, meaning) for word, meaning in WORDS.items() if word in used]


def headings() -> tuple[str, str]:
    """Labels of the two columns of numbers."""
    return HEADLINE.label, BESIDE.label
