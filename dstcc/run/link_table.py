"""``links.parquet``: each link over mission time, as a seed draws it, for figures.

A row for each moment at which a link goes up or down, and for even steps over the run and over each time that it is up.
All times are the sending end's.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dstcc.scenario import draw_links, sun_earth_probe_deg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dstcc.engine.config import Link as EngineLink
    from dstcc.scenario import Scenario

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


def links_table(scenario: Scenario, ends_s: Mapping[int, float]) -> pa.Table:
    """The rows of each seed of ``ends_s``, until the time at which its longest trial ended."""
    tables = [
        _rows(scenario, seed, index, link, end_s)
        for seed, end_s in sorted(ends_s.items())
        for index, link in enumerate(draw_links(scenario, seed))
    ]
    return pa.concat_tables(tables) if tables else LINKS.empty_table()


def _rows(scenario: Scenario, seed: int, index: int, link: EngineLink, end_s: float) -> pa.Table:
    edges = np.array(link.outages_ns, dtype=np.float64).reshape(-1) / 1e9
    even = np.linspace(0.0, end_s, STEPS + 1)
    inside = edges[(edges > 0) & (edges < end_s)]
    stretches = np.concatenate([[0.0], inside, [end_s]])
    lit = [np.linspace(*pair, LIT_STEPS + 1)[:-1] for pair in pairwise(stretches)]
    t_s: NDArray[np.float64] = np.unique(np.concatenate([even, *lit]))
    up = np.searchsorted(edges, t_s, side="right") % 2 == 0
    frames = link.loss.frames
    ebn0_db = None if frames is None else np.interp(t_s, frames.t_ns / 1e9, frames.ebn0_db)
    angle = sun_earth_probe_deg(scenario.link[index], scenario.scenario, t_s)
    columns = {
        "seed": pa.array([seed] * len(t_s), pa.int64()),
        "link": pa.array([link.name] * len(t_s), pa.string()),
        "t_s": pa.array(t_s),
        "open": pa.array(up),
        "ebn0_db": pa.nulls(len(t_s), pa.float64()) if ebn0_db is None else pa.array(ebn0_db),
        "sun_earth_probe_deg": pa.nulls(len(t_s), pa.float64()) if angle is None else pa.array(angle),
    }
    return pa.table(columns, schema=LINKS)
