"""``links.parquet``: each link over mission time, as a seed draws it, for figures.

A row for each moment at which a link goes up or down, and for even steps over the run and over each time that it is up.
All times are the sending end's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dstcc.engine.config import FrameSchedule
from dstcc.engine.config import Link as EngineLink
from dstcc.scenario import Scenario, sun_earth_probe_deg
from dstcc.scenario.draws import draw_lines
from dstcc.scenario.physics import Outages

STEPS = 600
"""Even steps over a run: more would share pixels."""
LIT_STEPS = 4
"""Even steps over a time that the link is up, however short beside the run."""
LINKS = pa.schema(
    [
        ("seed", pa.int64()),
        ("link", pa.string()),
        ("t_s", pa.float64()),
        ("open", pa.bool_()),
        ("ebn0_db", pa.float64()),
        ("sun_earth_probe_deg", pa.float64()),
    ]
)
"""``open`` holds from the row on. Eb/N0 is the data direction's, null without a code; the angle is null where the
scenario does not say where the link's far end is."""
READ = pa.schema([field.with_nullable(field.name in ("ebn0_db", "sun_earth_probe_deg")) for field in LINKS])
"""The same as a reader wants them: what else is null is damage."""


@dataclass(frozen=True)
class _Moments:
    """The times of a link's rows in s, and whether it is up."""

    t_s: NDArray[np.float64]
    up: NDArray[np.bool_]


@dataclass(frozen=True)
class _Rows:
    """A link's rows as one seed draws it: Eb/N0 in dB, the Sun's angle in degrees."""

    at: _Moments
    ebn0_db: NDArray[np.float64] | None
    angle_deg: NDArray[np.float64] | None


class Drawn:
    """What trials drew of their links, so that the table need not draw it again; not codes' frames, which are large."""

    def __init__(self) -> None:
        self._outages: dict[int, tuple[Outages, ...]] = {}
        self._same: dict[Outages, Outages] = {}
        """Most seeds draw none: they share them."""

    def add(self, scenario: Scenario, seed: int, links: Sequence[EngineLink]) -> None:
        """Those of a seed; of a scenario with nodes they are paths, and not kept."""
        if not scenario.node and all(link.loss.frames is None for link in links):
            self._outages[seed] = tuple(
                self._same.setdefault(link.outages_ns, link.outages_ns) for link in links
            )

    def of(self, scenario: Scenario, seed: int) -> list[tuple[Outages, FrameSchedule | None]]:
        """Outages and frames of each link."""
        if (known := self._outages.get(seed)) is not None:
            return [(outages, None) for outages in known]
        return [(link.outages_ns, link.loss.frames) for link in draw_lines(scenario, seed)]


def links_table(scenario: Scenario, ends_s: Mapping[int, float], drawn: Drawn) -> pa.Table:
    """The rows of each seed of ``ends_s``, until the time at which its longest trial ended."""
    seeds, names, parts = [], [], []
    for seed, end_s in sorted(ends_s.items()):
        moments: dict[Outages, _Moments] = {}  # most links of a seed are up at the same times
        for index, (outages, frames) in enumerate(drawn.of(scenario, seed)):
            if outages not in moments:
                moments[outages] = _moments(outages, end_s)
            seeds.append(seed)
            names.append(index)
            parts.append(_rows(scenario, index, moments[outages], frames))
    if not parts:
        return LINKS.empty_table()
    counts = [len(part.at.t_s) for part in parts]
    known = pa.array([link.name for link in scenario.link], pa.string())
    words = pa.DictionaryArray.from_arrays(np.repeat(np.array(names, np.int32), counts), known)
    columns = {
        "seed": pa.array(np.repeat(np.array(seeds, np.int64), counts)),
        "link": words.cast(pa.string()),
        "t_s": pa.array(np.concatenate([part.at.t_s for part in parts])),
        "open": pa.array(np.concatenate([part.at.up for part in parts])),
        "ebn0_db": _some([part.ebn0_db for part in parts], counts),
        "sun_earth_probe_deg": _some([part.angle_deg for part in parts], counts),
    }
    return pa.table(columns, schema=LINKS)


def _moments(outages: Outages, end_s: float) -> _Moments:
    edges = np.array(outages, dtype=np.float64).ravel() / 1e9
    even = np.linspace(0.0, end_s, STEPS + 1)
    inside = edges[(edges > 0) & (edges < end_s)]
    stretches = np.concatenate([[0.0], inside, [end_s]])
    lit = [np.linspace(*pair, LIT_STEPS + 1)[:-1] for pair in pairwise(stretches)]
    t_s: NDArray[np.float64] = np.unique(np.concatenate([even, *lit]))
    return _Moments(t_s, np.searchsorted(edges, t_s, side="right") % 2 == 0)


def _rows(scenario: Scenario, index: int, at: _Moments, frames: FrameSchedule | None) -> _Rows:
    ebn0_db = None if frames is None else np.interp(at.t_s, frames.t_ns / 1e9, frames.ebn0_db)
    angle_deg = sun_earth_probe_deg(scenario.link[index], scenario.scenario, at.t_s)
    return _Rows(at, ebn0_db, angle_deg)


def _some(parts: Sequence[NDArray[np.float64] | None], counts: Sequence[int]) -> pa.Array:
    """A column of which some parts may be unknown; these, and they alone, are null."""
    if all(part is None for part in parts):
        return pa.nulls(sum(counts), pa.float64())
    values = [np.zeros(count) if part is None else part for part, count in zip(parts, counts, strict=True)]
    unknown = np.repeat([part is None for part in parts], counts)
    return pa.array(np.concatenate(values), mask=unknown)
