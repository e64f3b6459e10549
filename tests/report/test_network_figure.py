"""The figure of nodes and links: there for runs over nodes alone, with a panel each, and its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.api import emulate
from dstcc.report import load_report
from dstcc.report.figures.looks import looks
from dstcc.report.figures.network import network_figure, network_rows
from dstcc.report.figures.section import FIGURES
from dstcc.report.model import Report
from dstcc.report.tables import Tables

NET = """
[scenario]
name = "one orbiter"
duration_s = 400
[video]
synthetic = {chunk_s = 2.0, layer_bps = [20_000]}
loop_to_s = 60
[[node]]
name = "rover"
[[node]]
name = "orbiter"
storage_bytes = 50_000
[[node]]
name = "earth"
[[link]]
name = "uhf"
from = "rover"
to = "orbiter"
rate_bps = 200_000
delay_s = 0.01
[[link]]
name = "x-band"
from = "orbiter"
to = "earth"
rate_bps = 100_000
delay_s = 10
outages = [[0, 40]]
[[path]]
via = ["uhf", "x-band"]
[transport]
congestion = "open-loop"
[playout]
delay_s = 300
[run]
slot_s = 5
"""
PLAIN = """
[scenario]
name = "plain"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [1000]}
loop_to_s = 5
[[link]]
name = "a"
rate_bps = 100_000
delay_s = 1
"""


def report(folder: Path, text: str) -> Report:
    (folder / "net.toml").write_text(text)
    emulate(folder / "net.toml", folder / "run", quality=False)
    return load_report([folder / "run"])


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report(tmp_path_factory.mktemp("net"), NET)


@pytest.mark.parametrize("narrow", [False, True])
def test_it_has_a_panel_for_each_node_and_link(net: Report, narrow: bool) -> None:
    svg = network_figure(net.sections[0], Tables(), looks(net.algorithms), "s1", narrow=narrow)
    for words in ("held in orbiter (MB)", "over uhf (kbit/s)", "over x-band (kbit/s)"):
        assert words in svg
    assert svg == network_figure(net.sections[0], Tables(), looks(net.algorithms), "s1", narrow=narrow)


def test_its_numbers_are_the_tables(net: Report) -> None:
    heading, *rows = network_rows(net.sections[0], Tables())
    assert len(heading) == 8 and all(len(row) == 8 for row in rows)
    held = [row[3] for row in rows if row[2] == "orbiter"]
    assert 0 < max(held) <= 50_000 and held[-1] == 0
    assert {row[5] for row in rows if row[5] is not None} == {"uhf", "x-band"}


def test_only_runs_over_nodes_have_it(net: Report, tmp_path: Path) -> None:
    figure = FIGURES["network"]
    assert figure.wanted(net.sections[0])
    assert not figure.wanted(report(tmp_path, PLAIN).sections[0])
    assert all(one.wanted(net.sections[0]) for one in FIGURES.values())
