"""Scenarios in which the transport is known to fail, for whoever mends it, and those that were mended and stay so."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.algorithms import STRANGERS
from dstcc.run.trials import run_trials
from dstcc.scenario import load_scenario

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
OPEN, MENDED = (sorted((EXPERIMENTS / name).glob("*.toml")) for name in ("open", "mended"))


@pytest.mark.parametrize("path", OPEN + MENDED, ids=lambda path: path.stem)
def test_it_loads_and_says_how_it_is_run_and_what_came_out(path: Path) -> None:
    assert load_scenario(path).transport.controller == ("dstcc",)
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    assert head[-1].startswith(f"# dstcc emulate {path.relative_to(EXPERIMENTS.parent)} ")
    assert "dstcc 0." in " ".join(head).replace("# ", "") or "dstcc 1." in " ".join(head)


def test_reports_know_that_our_transport_was_chosen_on_each() -> None:
    assert sorted(load_scenario(path).scenario.name for path in OPEN + MENDED) == sorted(STRANGERS)


@pytest.mark.parametrize("path", MENDED, ids=lambda path: path.stem)
def test_what_was_mended_plays_no_less_than_any_rival_again(path: Path) -> None:
    """The mean of seeds 11 to 14, of the better of itself and itself told, as rivals are told; 0.01 less is none."""
    scenario = load_scenario(path)
    scenario = scenario.model_copy(update={"run": scenario.run.model_copy(update={"seed": 11, "seeds": 4})})
    played: dict[str, list[float]] = {}
    for trial in run_trials(scenario, quality=False, jobs=1):
        assert trial.metrics is not None
        name = trial.key.variant or "dstcc"
        played.setdefault(name, []).append(trial.metrics.flat()["weighted_layers"] or 0.0)
    weights = {name: sum(values) / len(values) for name, values in played.items()}
    ours = max(weights.pop("dstcc"), weights.pop("told"))
    assert len(weights) >= 1 and ours >= max(weights.values()) - 0.01
