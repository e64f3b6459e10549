"""A scenario's contact plan for bundle agents."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dstcc_channels.contacts import Contact, Range, read_plan
from dstcc_cli.main import main

from dstcc.errors import InputError
from dstcc.export.ionrc import ionrc_text, node_numbers, plan_of
from dstcc.scenario import Scenario, load_scenario

STORE = Path(__file__).parents[2] / "examples/programs/store.toml"


def scenario(**link: Any) -> Scenario:
    """An hour of one link between two hosts."""
    return Scenario.model_validate(
        {
            "scenario": {"name": "plan", "duration_s": 3600.0},
            "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [8000]}, "loop_to_s": 60.0},
            "link": [{"name": "x", "rate_bps": 80_000, "up_rate_bps": 8_000, "delay_s": 4.0} | link],
            "transport": {"congestion": "ltp"},
        }
    )


def test_contacts_are_what_outages_leave_in_each_direction() -> None:
    plan = plan_of(scenario(outages=[[100, 200]], up_outages=[[3000, 4000]]))
    assert plan.contacts == (
        Contact(0, 100, 2, 1, 10_000),
        Contact(0, 3000, 1, 2, 1_000),
        Contact(200, 3600, 2, 1, 10_000),
    )
    assert plan.ranges == (Range(0, 3600, 1, 2, 4.0),)


def test_a_new_contact_begins_where_the_rate_changes() -> None:
    plan = plan_of(scenario(rate_bps=[[0, 80_000], [600, 40_000]], outages=[[500, 700]]))
    assert plan.of(2, 1) == [Contact(0, 500, 2, 1, 10_000), Contact(700, 3600, 2, 1, 5_000)]
    plan = plan_of(scenario(rate_bps=[[0, 80_000], [600, 40_000]]))
    assert [(one.from_s, one.to_s) for one in plan.of(2, 1)] == [(0, 600), (600, 3600)]


def test_a_light_time_that_changes_is_a_staircase_within_half_a_second() -> None:
    """From 100 to 110 s: ten steps of 1 s."""
    ranges = plan_of(scenario(delay_s=[[0, 100.0], [3600, 110.0]])).ranges
    assert len(ranges) == 10
    assert [one.light_s for one in ranges] == [100.5 + k for k in range(10)]
    assert all(a.to_s == b.from_s for a, b in pairwise(ranges))


def test_a_contact_has_a_byte_a_second_at_least_and_some_time() -> None:
    rates = [[0, 8.0], [600, 7.999], [1200, 15.999], [1800, 16.0]]
    assert plan_of(scenario(rate_bps=rates)).of(2, 1) == [
        Contact(0, 600, 2, 1, 1),
        Contact(1200, 1800, 2, 1, 1),
        Contact(1800, 3600, 2, 1, 2),
    ]
    plan = plan_of(scenario(rate_bps=[[0, 8e3], [600, 4e3]], outages=[[0, 600], [1000, 1000.0000004]]))
    assert plan.of(2, 1) == [Contact(600, 1000, 2, 1, 500), Contact(1000, 3600, 2, 1, 500)]


@pytest.mark.parametrize(
    ("light_s", "steps"),
    [
        # half of a step of a second, and just above it
        ([[0, 100.0], [3600, 101.0]], [(0, 3600, 100.5)]),
        ([[0, 100.0], [3600, 101.001]], [(0, 1800, 100.25025), (1800, 3600, 100.75075)]),
        ([[0, 102.0], [3600, 100.0]], [(0, 1800, 101.5), (1800, 3600, 100.5)]),
        # rows before, at and after the plan's ends: only what lies within
        ([[0, 8.0], [1000, 8.0], [1000.0000001, 10.0], [7200, 10.0]], [(0, 1000, 8.0), (1000, 3600, 10.0)]),
        ([[0, 8.0], [3600, 8.0], [7200, 20.0]], [(0, 3600, 8.0)]),
    ],
)
def test_steps_of_a_light_time(light_s: list[list[float]], steps: list[tuple[float, float, float]]) -> None:
    found = plan_of(scenario(delay_s=light_s)).ranges
    assert [(one.from_s, one.to_s, one.light_s) for one in found] == [
        pytest.approx(one, abs=1e-6) for one in steps
    ]
    assert {(one.one, one.other) for one in found} == {(1, 2)}


def test_the_first_links_numbers_are_the_nodes() -> None:
    assert node_numbers(scenario()) == {"spacecraft": 2, "earth": 1}
    given = scenario()
    (link,) = given.link
    for ends, numbers in (((7, 9), (7, 9)), ((None, 9), (2, 9)), ((7, None), (7, 1))):
        changed = link.model_copy(update={"source": ends[0], "destination": ends[1]})
        named = node_numbers(given.model_copy(update={"link": (changed,)}))
        assert (named["spacecraft"], named["earth"]) == numbers


def test_what_is_written_is_read_back_and_used_as_a_links_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.ionrc"
    done = CliRunner().invoke(main, ["export", str(STORE), "--format", "ionrc", "-o", str(path), "--json"])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["nodes"] == {"rover": 1, "orbiter": 2, "earth": 3}
    plan = read_plan(path)
    assert plan == plan_of(load_scenario(STORE))
    assert plan.windows(2, 3) == [(0, 60), (360, 3600)]
    given = scenario(
        contacts=str(path), source=2, destination=3, rate_bps=None, delay_s=None, up_rate_bps=None
    )
    assert plan_of(given).of(2, 3) == plan.of(2, 3)
    assert [one.light_s for one in plan_of(given).ranges] == [29.99]


def test_nodes_keep_their_numbers_and_others_get_free_ones() -> None:
    given = load_scenario(STORE)
    nodes = tuple(
        node.model_copy(update={"number": 2}) if node.name == "rover" else node for node in given.node
    )
    assert node_numbers(given.model_copy(update={"node": nodes})) == {"rover": 2, "orbiter": 1, "earth": 3}


def test_what_has_no_plan_is_named(tmp_path: Path) -> None:
    endless = scenario()
    endless = endless.model_copy(
        update={"scenario": endless.scenario.model_copy(update={"duration_s": None})}
    )
    with pytest.raises(InputError, match=r"plan: scenario\.duration_s: not given"):
        ionrc_text(endless)
    two = scenario()
    two = two.model_copy(update={"link": (*two.link, two.link[0].model_copy(update={"name": "y"}))})
    with pytest.raises(InputError, match="link 'y': a second link between nodes 2 and 1"):
        ionrc_text(two)
    other = tmp_path / "notes.txt"
    other.write_text("mine\n")
    for words in ([], ["--force"]):
        done = CliRunner().invoke(main, ["export", str(STORE), "--format", "ionrc", "-o", str(other), *words])
        assert done.exit_code == 2
        assert "notes.txt" in done.stderr
    assert other.read_text() == "mine\n"
