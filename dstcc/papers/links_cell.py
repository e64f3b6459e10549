"""A cell that is a table of links: what many seeds draw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dstcc.scenario import content_hash, draw_links, rtt_s

from .cells import Outcome
from .trial_cell import scenario_of


@dataclass(frozen=True)
class LinksCell:
    """The least and the most of what ``draws`` seeds draw."""

    path: Path
    settings: tuple[str, ...]
    draws: int

    alone = False

    @property
    def label(self) -> str:
        """Which links."""
        return f"{self.path.stem}, links of {self.draws} seeds"

    def identity(self) -> dict[str, Any]:
        """See :class:`dstcc.papers.cells.Cell`."""
        scenario = scenario_of(self.path, self.settings)
        return {"kind": "links", "scenario": content_hash(scenario), "draws": self.draws}

    def run(self, scratch: Path) -> Outcome:
        """See :class:`dstcc.papers.cells.Cell`; ``link 1 least rtt_min`` and so on."""
        scenario = scenario_of(self.path, self.settings)
        rows = [draw_links(scenario, seed) for seed in range(1, self.draws + 1)]
        values: dict[str, float | None] = {}
        for index, link in enumerate(scenario.link):
            drawn = {
                "rtt_min": [rtt_s(row[index]) / 60 for row in rows],
                "loss": [row[index].loss.rate for row in rows],
                "rate_bps": [row[index].rate_bps for row in rows],
            }
            for name, column in drawn.items():
                values[f"{link.name} least {name}"] = float(np.min(column))
                values[f"{link.name} most {name}"] = float(np.max(column))
        return Outcome(values)
