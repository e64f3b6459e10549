"""examples/missions: its plans and gallery are what the script makes, and its models agree with what was measured."""

from __future__ import annotations

import csv
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from dstcc.scenario import load_scenario
from experiments import missions
from scripts.published.tables import marked, table_of

SCENARIOS = sorted(
    file for file in missions.FOLDER.glob("*.toml") if "scenario" in tomllib.loads(file.read_text())
)
NETWORKS = list(
    csv.reader((missions.FOLDER.parents[1] / "docs/tables/networks.csv").read_text().splitlines())
)
PAGE = (missions.FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_plans_are_what_the_script_writes(tmp_path: Path) -> None:
    missions.write_plans(tmp_path)
    for name in missions.PLANS:
        assert (tmp_path / name).read_text() == (missions.FOLDER / name).read_text()


def test_one_complex_receives_at_a_time() -> None:
    down = sorted(one for one in missions.handover_plan().contacts if one.source == missions.MRO)
    assert {one.destination for one in down} == {14, 43, 63}
    assert all(one.to_s <= other.from_s for one, other in pairwise(down))


def test_turns_change_in_the_middle_of_an_overlap() -> None:
    seen = {"a": [(0.0, 100.0)], "b": [(60.0, 200.0)], "c": [(250.0, 300.0)]}
    assert missions.shared(seen) == {"a": [(0.0, 80.0)], "b": [(80.0, 200.0)], "c": [(250.0, 300.0)]}


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_the_gallery_shows_each_mission_with_figure_and_bounds(file: Path) -> None:
    assert f"]({file.name})" in PAGE
    assert f"](figures/{file.stem}.svg)" in PAGE
    assert (missions.FOLDER / "figures" / f"{file.stem}.svg").read_text().startswith("<svg xmlns=")
    scenario = load_scenario(file)
    assert scenario.expect
    if scenario.node:
        assert [way for name, way, *_ in NETWORKS if name == file.stem] == list(missions.WAYS)
    else:
        assert re.search(rf"<!-- {file.stem} -->\n\| algorithm .*<!-- / -->", PAGE, re.DOTALL)
    assert len(file.read_text().splitlines()) <= (90 if "[[node]]" in file.read_text() else 70)


def test_the_published_figures_stand_beside_the_models() -> None:
    rows = table_of(marked(PAGE, "published")).rows
    assert rows == {(one.what,): (one.published, one.ours, one.source) for one in missions.calibration()}


def test_a_rover_brings_home_about_what_curiosity_did() -> None:
    """Two passes a sol at 250 Mbit in 8 minutes: 500 Mbit a sol was measured, within a fifth."""
    passes = [one for one in missions.relay_plan().contacts if one.source == missions.ROVER]
    bits = sum((one.to_s - one.from_s) * one.rate_bps for one in passes)
    assert 400e6 < bits / missions.RELAY_SOLS < 600e6


def test_a_climb_takes_what_keplers_second_law_says() -> None:
    """From the lowest to the highest point it is half a period, and where the orbit is high it is slow; MAVEN's period
    was 4.5 hours (NASA)."""
    low, high = missions.MAVEN_ORBIT_M
    half = missions.climb_s(missions.MAVEN_ORBIT_M, low, high)
    assert 2 * half == pytest.approx(4.5 * 3600, rel=0.02)
    middle = (low + high) / 2
    below, above = (
        missions.climb_s(missions.MAVEN_ORBIT_M, *part) for part in ((low, middle), (middle, high))
    )
    assert below + above == pytest.approx(half)
    # at the ends of the short axis M is a right angle less e, of half a turn in all
    assert below / half == pytest.approx(0.5 - 0.4603 / 3.14159, abs=1e-3)
