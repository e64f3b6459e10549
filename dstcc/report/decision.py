"""What a mission would get: hours and megabytes delivered under each algorithm, beside LTP and the bound.

The figures are the summary's, in the units in which a mission is planned: hours of video instead of shares of chunks,
and for a pass where the links have several.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dstcc.algorithms import TRANSFERS
from dstcc.stats import FEW_SEEDS

from .footing import cells as footing_cells
from .footing import footings_of
from .least_delay import words
from .model import Algorithm, Section, paired, plain_name
from .numbers import SPACE, Unit, unit_for, with_interval
from .tables import Tables

HOURS = (("playback_ratio", "Video in time"), ("full_quality_ratio", "At full quality"))
"""Metrics that become hours, and their headings."""
SIZES = (("bytes_in_time", "On time"), ("full_quality_bytes", "At full quality"))
BOUND = "oracle_ratio"
MB = 1e6


@dataclass(frozen=True)
class Brought:
    """What one algorithm delivers; texts, each with its interval or an empty one."""

    name: str
    leader: bool
    cells: tuple[tuple[str, str], ...]
    """Under :attr:`Decision.headings`; a dash where a run does not have the metric."""
    knows: str
    lanes: str


@dataclass(frozen=True)
class MissionResult:
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


def decide(section: Section, tables: Tables) -> MissionResult | None:
    """The box of a section; ``None`` where no trial completed."""
    if section.best is None:
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
        headings.append((f"Compared with {plain_name(ltp.name)}" if ltp else "", size.name))
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
        of_footing = footing_cells(footings.get(algorithm.name))
        rows.append(Brought(algorithm.name, algorithm is section.best, tuple(cells), *of_footing))
    name = plain_name(ltp.name) if ltp is not None and gains else ""
    sentence = _sentence(section, ltp, clock, share_s, passes)
    delays = section.meta.get("least_playout_delays")
    least = words(delays) if delays else ""
    return MissionResult(sentence, tuple(headings), tuple(rows), passes, least, name)


def _video_s(section: Section, tables: Tables) -> float:
    """How long the mission's video is: its chunks times the mean time between the ends of their captures."""
    columns = tables.chunks(section.representative[0])
    capture = np.unique(columns["capture_s"][columns["layer"] == 0])
    count = len(capture)
    return float(capture[0] if count == 1 else (capture[-1] - capture[0]) * count / (count - 1))


def _sentence(section: Section, ltp: Algorithm | None, clock: Unit, share_s: float, passes: int) -> str:
    """In some 30 words: what the best delivers, and what practice does: LTP, or where it is as good one TCP connection,
    or the last."""

    def delivers(algorithm: Algorithm) -> str:
        played, full, size = (
            algorithm.estimates.get(key) for key in (*(key for key, _ in HOURS), SIZES[0][0])
        )
        if played is None or full is None:
            return "an unknown part"
        shown = clock.number(played.value * share_s)
        whole = clock.number(full.value * share_s)
        every = whole == shown and full.value > played.value / 2  # both may round to nothing
        some = f"{whole}{SPACE}{clock.name}" if full.value > 0 else "none"
        part = "all" if every else some
        text = f"{shown}{SPACE}{clock.name}, {part} at full quality"
        return text if size is None else f"{text}, {size.value / passes / MB:,.0f}{SPACE}MB"

    best = section.best
    assert best is not None
    footings = footings_of(section)
    single = [a for a in section.finished if a.name in footings and footings[a.name].resources[0] == 1]
    others = [a for a in (ltp, *single, section.finished[-1]) if a is not None and a is not best]
    equal = ltp if ltp is not None and ltp is not best and delivers(ltp) == delivers(best) else None
    other = next((a for a in others if delivers(a) != delivers(best)), None)
    whose = f" of a pass (one of {passes})" if passes > 1 else ""
    text = f"Of {clock.number(share_s)}{SPACE}{clock.name} of video{whose}, "
    text += f"{plain_name(best.name)} delivers {delivers(best)}"
    text += f" (as {plain_name(equal.name)})" if equal is not None else ""
    text += f"; {plain_name(other.name)} {delivers(other)}" if other is not None else ""
    seeds = len(section.seeds)
    hint = "" if seeds >= FEW_SEEDS else f" ({seeds} seed{'s' if seeds > 1 else ''}: a hint)"
    return f"{text}{hint}."
