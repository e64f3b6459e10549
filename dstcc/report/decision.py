"""What a mission would get: hours and megabytes home under each algorithm, beside LTP and the bound.

The figures are the summary's, in the units in which a mission is planned: hours of video instead of shares of chunks,
and for a pass where the links have several.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dstcc.algorithms import TRANSFERS

from .footing import footings_of
from .least_delay import words
from .model import Algorithm, Section, paired, plain_name
from .numbers import SPACE, UNKNOWN, Unit, unit_for, with_interval
from .tables import Tables

HOURS = (("playback_ratio", "Video home"), ("full_quality_ratio", "At full quality"))
"""Metrics that become hours, and their headings."""
SIZES = (("bytes_in_time", "Home"), ("full_quality_bytes", "At full quality"))
BOUND = "oracle_ratio"
MB = 1e6


@dataclass(frozen=True)
class Brought:
    """What one algorithm brings home; texts, each with its interval or an empty one."""

    name: str
    leader: bool
    cells: tuple[tuple[str, str], ...]
    """Under :attr:`Decision.headings`; a dash where a run does not have the metric."""
    knows: str
    lanes: str


@dataclass(frozen=True)
class Decision:
    """The box of a section."""

    sentence: str
    headings: tuple[tuple[str, str], ...]
    """Heading and unit of each column."""
    rows: tuple[Brought, ...]
    passes: int
    """Over so many passes the figures are divided; 1: they are of the whole mission."""
    least_delay: str
    """In words, with less than which playout delay nobody has everything in time; empty for a run that does not say."""
    beside: str
    """The algorithm that the last column compares with; empty without that column."""


def decide(section: Section, tables: Tables) -> Decision | None:
    """The box of a section; ``None`` where nothing came to an end."""
    if section.best is None or not section.representative:
        return None
    video_s = _video_s(section, tables)
    passes = max(1, *(len(trial.contacts) for trial in section.representative))
    share_s = video_s / passes
    clock = unit_for("seconds", [share_s])
    sizes = [
        one.value / passes
        for a in section.finished
        for key, _ in SIZES
        if (one := a.estimates.get(key)) is not None
    ]
    most = max(sizes, default=0.0) / MB
    size = Unit(MB, "MB", 0 if most >= 1000 else 1 if most >= 10 else 3)
    ltp = next((a for a in section.finished if a.trials[0].congestion in TRANSFERS), None)
    gains = paired(section, "bytes_in_time", ltp) if ltp is not None else {}
    headings = [(title, clock.name) for _, title in HOURS] + [(title, size.name) for _, title in SIZES]
    headings.append(("Of the bound", "%"))
    if gains:
        headings.append((f"Beside {plain_name(ltp.name)}" if ltp else "", size.name))
    footings = footings_of(section)
    rows = []
    for algorithm in section.finished:
        found = algorithm.estimates
        cells = [with_interval(found.get(key), clock, factor=share_s) for key, _ in HOURS]
        cells += [with_interval(found.get(key), size, factor=1 / passes) for key, _ in SIZES]
        cells.append(with_interval(found.get(BOUND), unit_for("share", [1.0])))
        if gains:
            gain = gains.get(algorithm.name)
            cells.append(with_interval(gain.mean if gain else None, size, factor=1 / passes, signed=True))
        footing = footings.get(algorithm.name)
        letters = (footing.letters, footing.lanes) if footing else (UNKNOWN, UNKNOWN)
        rows.append(Brought(algorithm.name, algorithm is section.best, tuple(cells), *letters))
    name = plain_name(ltp.name) if ltp is not None and gains else ""
    others = (a for a in section.finished if a is not section.best)
    other = ltp if ltp is not section.best and ltp is not None else next(others, None)
    sentence = _sentence(section.best, other, clock, share_s, passes)
    delays = section.meta.get("least_playout_delays")
    least = words(delays) if delays else ""
    return Decision(sentence, tuple(headings), tuple(rows), passes, least, name)


def _video_s(section: Section, tables: Tables) -> float:
    """How long the mission's video is: its chunks times the mean time between the ends of their captures."""
    columns = tables.chunks(section.representative[0])
    capture = np.unique(columns["capture_s"][columns["layer"] == 0])
    count = len(capture)
    return float(capture[0] if count == 1 else (capture[-1] - capture[0]) * count / (count - 1))


def _sentence(best: Algorithm, other: Algorithm | None, clock: Unit, share_s: float, passes: int) -> str:
    """What the leader brings home, and beside it LTP, or where there is none or it leads the next."""

    def home(algorithm: Algorithm) -> str:
        played, full = (algorithm.estimates.get(key) for key, _ in HOURS)
        if played is None or full is None:
            return "an unknown part"
        texts = [clock.number(one.value * share_s) for one in (played, full)]
        return f"{texts[0]}{SPACE}{clock.name}, {texts[1]}{SPACE}{clock.name} of it with every layer"

    whose = f"a pass (one of {passes}) takes up" if passes > 1 else "the mission captures"
    text = (
        f"Of the {clock.number(share_s)}{SPACE}{clock.name} of video that {whose}, "
        f"{plain_name(best.name)} brings home {home(best)}"
    )
    if other is not None:
        text += f"; {plain_name(other.name)} {home(other)}"
    return f"{text}."
