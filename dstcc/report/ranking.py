"""The table at the top of a report: each algorithm beside the leader, highest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dstcc.stats import Estimate

from .catalogue import METRIC
from .comparison import HEADLINE, MISSING, WORDS, Comparison
from .footing import cells as footing_cells
from .numbers import UNKNOWN, Unit, unit_for, with_interval

PLAYED, SENT = METRIC["playback_ratio"], METRIC["sent_bytes"]
"""The metrics that are shown beside the headline."""
SIZE = Unit(1e6, "MB", 1)


@dataclass(frozen=True)
class Beside:
    """What a row has beside the headline's interquartile mean."""

    mean: float
    worst: float
    """The headline's mean over seeds, and its lowest value."""
    played: Estimate | None
    sent_bytes: float | None
    """Interquartile mean; ``None`` over several scenarios, whose bytes do not compare."""


@dataclass(frozen=True)
class Ranked:
    """A row: texts in percent and megabytes, a dash where there is no value, and the word for the comparison."""

    name: str
    value: str
    interval: str
    mean: str
    worst: str
    played: str
    played_interval: str
    sent: str
    word: str
    """One of the words of :mod:`dstcc.report.comparison`."""
    knows: str
    """Letters; a dash where the run does not record it."""
    lanes: str
    bar: tuple[float, float, float]
    """Value and interval in percent, for a bar."""
    leader: bool = False


def ranking(comparison: Comparison, beside: Mapping[str, Beside]) -> list[Ranked]:
    """The rows of a comparison, those without a value last."""
    unit = unit_for("share", [1.0])
    rows = []
    for name, one in comparison.values.items():
        value, interval = with_interval(one, unit)
        about = beside[name]
        rows.append(
            Ranked(
                name,
                value,
                interval,
                unit.number(about.mean),
                unit.number(about.worst),
                *with_interval(about.played, unit),
                UNKNOWN if about.sent_bytes is None else SIZE.number(about.sent_bytes),
                comparison.word(name),
                *footing_cells(comparison.footings.get(name)),
                bar=(one.value * 100, *(bound * 100 for bound in one.bounds())),  # type: ignore[arg-type]
                leader=name == comparison.leader,
            )
        )
    absent = [name for name in comparison.missing if name not in comparison.values]
    none = (UNKNOWN, "", UNKNOWN, UNKNOWN, UNKNOWN, "", UNKNOWN)
    return rows + [
        Ranked(name, *none, MISSING, *footing_cells(comparison.footings.get(name)), bar=(0.0, 0.0, 0.0))
        for name in absent
    ]


def leader_of(rows: list[Ranked]) -> str:
    """The name of the leader."""
    return next(row.name for row in rows if row.leader)


def words_of(rows: list[Ranked]) -> list[tuple[str, str]]:
    """The words that occur and need to be explained, with what they say."""
    used = {row.word for row in rows}
    return [(word, meaning) for word, meaning in WORDS.items() if word in used]


def headings() -> tuple[tuple[str, str], ...]:
    """Label and unit of each column of numbers."""
    return (
        (HEADLINE.label, "%"),
        ("Mean", "%"),
        ("Worst seed", "%"),
        (PLAYED.label, "%"),
        (SENT.label, "MB"),
    )
