"""A figure's training: what it reports of its episodes, and that a stopped one goes on to the same."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from dstcc import learn
from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES
from dstcc.errors import MissingCapabilityError, RunError
from dstcc.learn.algorithms import recipes
from dstcc.learn.algorithms.recipes.iodst_dqn import DqnSettings
from dstcc.learn.training.fleet import StepResult
from dstcc.learn.training.state import Training
from dstcc.papers import training_cell
from dstcc.papers.cells import Outcome
from dstcc.papers.training_cell import RETURNS, ROUNDS, Rounds, TrainingCell
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
    # of 120 steps of four episodes each round has two or three
    assert [len(made.series[f"round_{name}"]) for name in ("reward", "bps")] == [ROUNDS, ROUNDS]
    assert made.values["first_reward"] is not None and len(set(made.series["round_bps"])) > 10


@pytest.mark.parametrize(
    ("returns", "first", "last"), [([1.0, 5.0], 1.0, 5.0), ([float(n) for n in range(40)], 1.5, 34.5)]
)
def test_parts_of_few_episodes_have_one_at_least(
    scenario: Path, monkeypatch: pytest.MonkeyPatch, returns: list[float], first: float, last: float
) -> None:
    """Of 40 the first four, 0 to 3, and the last ten, 30 to 39."""
    monkeypatch.setattr(TrainingCell, "_train", lambda *_: (returns, Rounds(ROUNDS)))
    values = trained(scenario, Path("none")).values
    assert (values["return_first"], values["return_last"]) == (first, last)
    assert values["return_rise"] == last - first


def test_what_was_trained_is_kept_where_an_evaluation_would_be_due(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every 120 steps, of four episodes at once."""
    kept: list[int] = []
    monkeypatch.setattr(training_cell, "_save", lambda training, *_: kept.append(training.steps))
    trained(scenario, tmp_path / "scratch")
    assert kept == [120, 240, 360, 480]


def slot(reward: float, *acked: float, rtts: tuple[float, ...] = ()) -> StepResult:
    """Of one episode with slots of half a second."""
    subflows = np.zeros((1, len(acked), len(SUBFLOW_VALUES)))
    subflows[0, :, SUBFLOW_VALUES.index("delivered_bytes")] = acked
    subflows[0, :, SUBFLOW_VALUES.index("srtt_s")] = rtts or [0.0] * len(acked)
    episode = np.zeros((1, len(EPISODE_VALUES)))
    episode[0, EPISODE_VALUES.index("slot_s")] = 0.5
    nothing = np.zeros((1, 1), dtype=np.float32)
    no = np.zeros(1, dtype=np.bool_)
    return StepResult(nothing, np.array([reward]), no, no, episode, subflows)


def test_rounds_are_equal_parts_of_the_steps() -> None:
    """100 steps: two a round. The first earn 1 a slot, all after the tenth round 4, of which 3.6 is nine tenths."""
    rounds = Rounds(100)
    for step in range(1, 101):
        first = step <= 20
        acked = (10.0, 20.0) if step % 2 else (10.0, 40.0)
        rounds.add(step, slot(1.0 if first else 4.0, *acked, rtts=(0.25, 0.75) if step > 1 else (0.0, 0.5)))
    series, values = rounds.series(), rounds.values()
    assert series["round_reward"] == [1.0] * 10 + [4.0] * 40 and len(series["round_bps"]) == ROUNDS
    # 30 and 50 bytes in half a second, 16 bits each a second: 480 and 800, a standard deviation of 160
    assert series["round_bps"][0] == pytest.approx(640) and values["first_spread_bps"] == pytest.approx(160)
    assert series["round_rtt_s"] == pytest.approx([0.5] * ROUNDS)
    assert values["first_spread_rtt_s"] == pytest.approx(0, abs=1e-9)
    assert values["rounds_to_settle"] == 11 and values["first_reward"] == 1.0


def test_a_slot_counts_where_a_subflow_was_measured() -> None:
    """Of 50 steps the first alone has a round trip, 0.7 s of one of its two subflows."""
    rounds = Rounds(ROUNDS)
    for step in range(1, ROUNDS + 1):
        rounds.add(step, slot(1.0, 5.0, 5.0, rtts=(0.0, 0.7) if step == 1 else ()))
    assert rounds.sums[0, 2].tolist() == pytest.approx([1, 0.7, 0.49]) and rounds.sums[1, 2].tolist() == [
        0,
        0,
        0,
    ]
    assert rounds.values()["first_spread_rtt_s"] == pytest.approx(0, abs=1e-9)
    beyond = Rounds(100)
    beyond.add(101, slot(2.0, 5.0))
    beyond.add(2, slot(3.0, 5.0))
    beyond.add(3, slot(4.0, 5.0))
    assert beyond.sums[[0, 1, -1], 0, 1].tolist() == [3.0, 4.0, 2.0]


def test_what_nobody_measured_has_no_value() -> None:
    rounds = Rounds(ROUNDS)
    for step in range(1, ROUNDS + 1):
        rounds.add(step, slot(-1.0, 5.0))
    assert rounds.series()["round_rtt_s"] == []
    assert rounds.values()["first_spread_rtt_s"] is None
    assert rounds.values()["rounds_to_settle"] is None  # of a loss nothing is nine tenths
    with pytest.raises(ValueError, match="other rounds"):
        Rounds(ROUNDS, [[0.0]])


@pytest.mark.parametrize(
    "damage",
    [None, "no JSON", '{"steps": 1, "returns": []}', '{"steps": "240"}', '{"steps": 240, "returns": []}'],
)
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
    assert taken[-1] == STEPS - 4, "four episodes at once"


def test_a_training_in_which_no_episode_ended_is_too_short(scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no episode ended; it needs more steps"):
        trained(scenario, tmp_path / "scratch", 4)


def test_without_torch_it_says_what_is_missing(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        learn, "find_spec", lambda name, *more: None if name == "torch" else find_spec(name, *more)
    )
    with pytest.raises(
        MissingCapabilityError, match=r"learning curve needs torch: pip install 'dstcc\[learn\]'"
    ):
        trained(scenario, tmp_path / "scratch")


def test_a_cells_identity_is_its_training(scenario: Path) -> None:
    one = TrainingCell(scenario, (), "iodst-dqn", STEPS, 3)
    assert one.label == "small, training of iodst-dqn, 480 steps, seed 3"
    others = [
        replace(one, steps=481),
        replace(one, seed=4),
        replace(one, settings=("link.0.delay_s=9",)),
        replace(one, changed={"pacing": "window"}),
    ]
    identities = [json.dumps(cell.identity(), sort_keys=True) for cell in (one, *others)]
    assert len(set(identities)) == 5
    assert (
        others[-1].label == "small, training of iodst-dqn, pacing=window, 480 steps, seed 3"
        and others[-1].recipe.environment["pacing"] == "window"
    )
    assert one.identity() == replace(one).identity()
