"""A figure's training: what it reports of its episodes, and that a stopped one goes on to the same."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from dstcc.errors import MissingCapabilityError, RunError
from dstcc.learn.algorithms import recipes
from dstcc.learn.algorithms.recipes.iodst_dqn import DqnSettings
from dstcc.learn.training.state import Training
from dstcc.papers import training_cell
from dstcc.papers.cells import Outcome
from dstcc.papers.training_cell import RETURNS, TrainingCell
from tests.learn.mission import MISSION

STEPS = 480
"""Some twelve episodes of 40 slots."""
TINY = replace(
    recipes.RECIPES["iodst-dqn"],
    learner=DqnSettings(hidden=(8,), batch=16, buffer=300, target_every=7),
    episodes=4,
    learn_every=8,
    warm_up=32,
    evaluate_every=120,
)


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(training_cell, "recipe_of", lambda _name: TINY)
    path = tmp_path / "small.toml"
    path.write_text(MISSION.replace("loop_to_s = 60", "loop_to_s = 20"))
    return path


def trained(scenario: Path, scratch: Path, steps: int = STEPS) -> Outcome:
    return TrainingCell(scenario, (), "iodst-dqn", steps, 3).run(scratch)


def test_it_reports_the_first_tenth_and_the_last_quarter(scenario: Path, tmp_path: Path) -> None:
    made = trained(scenario, tmp_path / "scratch")
    returns = made.series["returns"]
    count = len(returns)
    assert count >= 8
    last, first = returns[-round(count / 4) :], returns[: max(1, round(count / 10))]
    assert made.values["return_last"] == pytest.approx(sum(last) / len(last))
    assert made.values["return_first"] == pytest.approx(sum(first) / len(first))
    assert made.values["return_rise"] == pytest.approx(sum(last) / len(last) - sum(first) / len(first))
    assert len(set(returns)) > 1


@pytest.mark.parametrize("damage", [None, "no JSON", '{"steps": 1, "returns": []}', '{"steps": "240"}'])
def test_one_that_was_stopped_goes_on_to_the_same(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str | None
) -> None:
    """Where what was kept is damaged it begins anew, which is the same too."""
    whole = trained(scenario, tmp_path / "whole")
    step, scratch = Training.step, tmp_path / "scratch"

    def stopped(self: Training) -> None:
        if self.steps >= 300:
            raise KeyboardInterrupt
        step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "step", stopped)
        with pytest.raises(KeyboardInterrupt):
            trained(scenario, scratch)
    kept = json.loads((scratch / RETURNS).read_text())
    assert kept["steps"] == 240 and kept["returns"]
    if damage is not None:
        (scratch / RETURNS).write_text(damage)
    taken = []

    def counted(self: Training) -> None:
        taken.append(self.steps)
        step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "step", counted)
        assert trained(scenario, scratch) == whole
    assert taken[0] == (240 if damage is None else 0)


def test_a_training_in_which_no_episode_ended_is_too_short(scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no episode ended; it needs more steps"):
        trained(scenario, tmp_path / "scratch", 4)


def test_without_torch_it_says_what_is_missing(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = find_spec
    monkeypatch.setattr(
        training_cell, "find_spec", lambda name, *more: None if name == "torch" else there(name, *more)
    )
    with pytest.raises(
        MissingCapabilityError, match=r"learning curve needs torch: pip install 'dstcc\[learn\]'"
    ):
        trained(scenario, tmp_path / "scratch")


def test_a_cells_identity_is_its_training(scenario: Path) -> None:
    one = TrainingCell(scenario, (), "iodst-dqn", STEPS, 3)
    assert one.label == "small, training of iodst-dqn, 480 steps, seed 3"
    others = [replace(one, steps=481), replace(one, seed=4), replace(one, settings=("link.0.delay_s=9",))]
    identities = [json.dumps(cell.identity(), sort_keys=True) for cell in (one, *others)]
    assert len(set(identities)) == 4
    assert one.identity() == replace(one).identity()
