"""``links.parquet``: when a link is up, its Eb/N0 and the Sun's angle."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from dstcc.run.link_table import LINKS, Drawn, links_table
from dstcc.scenario import parse_scenario
from dstcc.scenario.draws import draw_links

TEXT = """
[scenario]
name = "conjunction"
start = 2028-03-21T00:00:00Z
duration_s = 3600

[video]
synthetic = {chunk_s = 10.0, layer_bps = [1000]}

[[link]]
name = "far"
profile = "mro-x-dss35"
outages = []

[[link]]
name = "light"
delay_s = {bodies = ["mars", "earth"]}
rate_bps = 1e5

[[link]]
name = "bare"
delay_s = 1.0
rate_bps = 1e5
outages = [[100, 250], [3000, 4000]]
"""


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict[str, Any]]]:
    scenario = parse_scenario(tomllib.loads(TEXT), source="here")
    table = links_table(scenario, {4: 3600.0}, Drawn())
    assert table.schema == LINKS
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        assert row["seed"] == 4
        found.setdefault(row["link"], []).append(row)
    return found


def test_a_row_at_each_change_says_whether_the_link_is_up(rows: dict[str, list[dict[str, Any]]]) -> None:
    up = {row["t_s"]: row["open"] for row in rows["bare"]}
    assert (up[0.0], up[100.0], up[250.0], up[3000.0], up[3600.0]) == (True, False, True, False, False)
    assert all(here == (t < 100 or 250 <= t < 3000) for t, here in up.items())
    assert max(up) == 3600.0
    assert all(row["open"] for row in rows["far"])


def test_the_sun_stands_where_the_ephemeris_has_it(rows: dict[str, list[dict[str, Any]]]) -> None:
    """The conjunction's least angle is 0.81 degrees on 21 March 2028; both a profile's body and a delay's say so."""
    for name in ("far", "light"):
        assert rows[name][0]["sun_earth_probe_deg"] == pytest.approx(0.81, abs=0.02)
    assert {row["sun_earth_probe_deg"] for row in rows["bare"]} == {None}


def test_only_a_code_has_an_eb_n0(rows: dict[str, list[dict[str, Any]]]) -> None:
    """The rate keeps 3 dB above the turbo code's threshold of 1.06 dB in the planned weather, at every moment."""
    assert min(row["ebn0_db"] for row in rows["far"]) > 1.06 + 2.0
    assert {row["ebn0_db"] for name in ("light", "bare") for row in rows[name]} == {None}


@pytest.mark.parametrize("kept", ["light", "far"])  # the second has frames
def test_what_trials_drew_is_as_what_is_drawn_again(kept: str) -> None:
    document = tomllib.loads(TEXT)
    document["link"] = [one for one in document["link"] if one["name"] in (kept, "bare")]
    scenario = parse_scenario(document, source="here")
    drawn, ends_s = Drawn(), {4: 3600.0, 5: 100.0}
    drawn.add(scenario, 5, draw_links(scenario, 5))
    assert links_table(scenario, ends_s, drawn).equals(links_table(scenario, ends_s, Drawn()))
