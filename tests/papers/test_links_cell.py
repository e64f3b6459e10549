"""A table of links: the least and the most of what so many seeds draw."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dstcc.papers import links_cell
from dstcc.papers.links_cell import LinksCell
from tests.quick import QUICK


def test_a_table_has_the_least_and_the_most_of_all_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeds 1 to 3 draw round trips of 120, 60 and 180 s, losses of as many percent and rates of as many kbit/s."""
    (tmp_path / "s.toml").write_text(QUICK)
    minutes = {1: 2.0, 2: 1.0, 3: 3.0}

    def draw(_scenario: Any, seed: int) -> Any:
        drawn = minutes[seed]
        return [SimpleNamespace(minutes=drawn, loss=SimpleNamespace(rate=drawn / 100), rate_bps=1e3 * drawn)]

    monkeypatch.setattr(links_cell, "draw_links", draw)
    monkeypatch.setattr(links_cell, "rtt_s", lambda link: 60 * link.minutes)
    cell = LinksCell(tmp_path / "s.toml", (), 3)
    assert cell.run(tmp_path).values == pytest.approx(
        {
            "a least rtt_min": 1.0,
            "a most rtt_min": 3.0,
            "a least loss": 0.01,
            "a most loss": 0.03,
            "a least rate_bps": 1000.0,
            "a most rate_bps": 3000.0,
        }
    )
    assert cell.label == "s, links of 3 seeds" and not cell.alone
    assert cell.identity()["draws"] == 3 and cell.identity()["kind"] == "links"
