"""What holds for every scenario that we ship."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dstcc.scenario import load_scenario
from dstcc.scenario.physics import abstract_keys

EXAMPLES = Path(__file__).parents[2] / "examples"
SCENARIOS = sorted(
    path
    for path in EXAMPLES.rglob("*.toml")
    if not {"study", "figure", "paper", "summary"} & tomllib.loads(path.read_text(encoding="utf-8")).keys()
)


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) > 80


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.relative_to(EXAMPLES).as_posix())
def test_no_example_leaves_its_uplink_to_an_assumption(path: Path) -> None:
    """A plan and a physical profile have an uplink; an abstract profile's keys are the scenario's."""
    silent = [
        link.name
        for link in load_scenario(path).link
        if link.up_rate_bps is None
        and link.contacts is None
        and (link.profile is None or abstract_keys(link.profile))
    ]
    assert silent == []
