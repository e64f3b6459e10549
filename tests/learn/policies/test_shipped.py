"""What is shipped: every policy loads, is small, drives a trial, and has a card that says how it was made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dstcc import algorithms
from dstcc.errors import PolicyError
from dstcc.learn.algorithms.recipes import RECIPES
from dstcc.learn.policies.drive import drive
from dstcc.learn.policies.policy import load_policy
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source, parse_scenario

CARDS = Path(__file__).parents[3] / "docs" / "policies"
FORECASTERS = {"gru-mpc"}
"""They steer coded packets: tests/forecast."""
SHIPPED = tuple(name for name in algorithms.shipped_policies() if name not in FORECASTERS)


def test_the_published_ones_are_there() -> None:
    assert (
        {"iodst-dqn", "iodst-dqn+", "iodst-q", "pbq", "drl-cc", "mpquic-rl"} <= set(SHIPPED) <= set(RECIPES)
    )
    rows = {row.name: row for row in algorithms.everything() if row.kind == "controller"}
    assert rows.pop("dstcc").state == "built-in"
    assert set(rows) - FORECASTERS == set(SHIPPED) and {row.state for row in rows.values()} == {"learned"}


@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_what_its_name_says_and_under_a_megabyte(name: str) -> None:
    policy, file = load_policy(name), algorithms.POLICIES / f"{name}.safetensors"
    assert policy.algorithm == policy.name == name
    assert file.stat().st_size < 1_000_000
    assert all(tensor.dtype == np.float32 for tensor in policy.tensors.values())
    card = (CARDS / f"{name}.md").read_text()
    assert "dstcc train examples/" in card and f"--algorithm {name}" in card
    assert "Trained on" in card and "Held out" in card and "Fails" in card
    with pytest.raises(PolicyError, match="an observation holds NaN"):
        policy.act(np.full((1, policy.observation.size), np.nan, dtype=np.float32))


@pytest.mark.parametrize("name", SHIPPED)
def test_it_drives_a_trial_the_same_way_twice(name: str, mission: Path) -> None:
    scenario = load_scenario(mission)
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), "cubic", "minrtt")
    results = [drive(load_policy(name), config) for _ in range(2)]
    assert (results[0].objects.complete_ns == results[1].objects.complete_ns).all()
    assert results[0].objects.delivered_bytes.sum() > 0


@pytest.mark.parametrize(("links", "layers"), [(1, 4), (8, 8)])
def test_dstcc_serves_any_number_of_subflows_and_layers(links: int, layers: int) -> None:
    video = {"synthetic": {"chunk_s": 1.0, "layer_bps": [50_000] * layers}, "loop_to_s": 60}
    link = {"rate_bps": 400_000, "delay_s": 1.0, "loss": {"packet": 1e-3}}
    document = {
        "scenario": {"name": "many"},
        "video": video,
        "link": [link | {"name": f"link {k}"} for k in range(links)],
        "transport": {"mode": "lanes"},
        "playout": {"delay_rtts": 2},
    }
    scenario = parse_scenario(document, source="here")
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), "cubic", "minrtt")
    outcome = drive(load_policy("dstcc-lanes"), config).objects
    assert (outcome.complete_ns[config.objects.layer == layers - 1] >= 0).mean() > 0.9
