"""The table at the top of a report: each algorithm beside the leader, highest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dstcc.stats import Estimate

from .catalogue import METRIC
from .contest import HEADLINE, MISSING, WORDS, Contest
from .footing import UNKNOWN
from .numbers import Unit, unit_for

BESIDE = METRIC["playback_ratio"]
"""What is shown beside the headline."""


@dataclass(frozen=True)
class Standing:
    """A row: the headline and the share of chunks played, as text in percent, and the word for it."""

    name: str
    value: str
    interval: str
    played: str
    """A dash where there is none."""
    played_interval: str
    word: str
    """One of :mod:`dstcc.report.contest`."""
    knows: str
    """Letters; a dash where the run does not say."""
    lanes: str
    bar: tuple[float, float, float]
    """Value and interval in percent, for a bar."""
    leader: bool = False


def standings(found: Contest, played: Mapping[str, Estimate]) -> list[Standing]:
    """The rows of a contest, those without a value last; ``played`` has the estimates of :data:`BESIDE`."""
    unit = unit_for("share", [1.0])
    rows = []
    for name, one in found.values.items():
        beside = played.get(name)
        value, interval = _texts(one, unit)
        rows.append(
            Standing(
                name,
                value,
                interval,
                *(_texts(beside, unit) if beside else (UNKNOWN, "")),
                found.word(name),
                *_footing(found, name),
                bar=(one.value * 100, *(bound * 100 for bound in one.bounds())),  # type: ignore[arg-type]
                leader=name == found.leader,
            )
        )
    absent = [name for name in found.missing if name not in found.values]
    return rows + [
        Standing(name, UNKNOWN, "", UNKNOWN, "", MISSING, *_footing(found, name), bar=(0.0, 0.0, 0.0))
        for name in absent
    ]


def _footing(found: Contest, name: str) -> tuple[str, str]:
    one = found.footings.get(name)
    return (one.letters, one.lanes) if one else (UNKNOWN, UNKNOWN)


def leader_of(rows: list[Standing]) -> str:
    """The name of the one that the others stand beside."""
    return next(row.name for row in rows if row.leader)


def words_of(rows: list[Standing]) -> list[tuple[str, str]]:
    """The words that occur and need to be explained, with what they say."""
    used = {row.word for row in rows}
    return [(word, meaning) for word, meaning in WORDS.items() if word in used]


def headings() -> tuple[str, str]:
    """Labels of the two columns of numbers."""
    return HEADLINE.label, BESIDE.label


def _texts(one: Estimate, unit: Unit) -> tuple[str, str]:
    if one.low is None or one.high is None:
        return unit.number(one.value), ""
    return unit.number(one.value), f"{unit.number(one.low)}–{unit.number(one.high)}"
