"""Trainings of forecasters: the same bits, however often stopped; what they leave, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc.errors import InputError, RunError
from dstcc.forecast import histories
from dstcc.forecast.files import load_forecaster
from dstcc.forecast.learner import Forecaster
from dstcc.forecast.recipe import Recipe
from dstcc.forecast.training import VALIDATION, Training, train
from dstcc.learn.algorithms.streams import generator
from dstcc.learn.training.checkpoint import load_checkpoint
from dstcc.learn.training.loop import Interrupted, Trained
from dstcc.scenario import load_scenario
from dstcc.train import algorithm_of

from .made import write

TINY = Recipe(hidden=4, histories=4, events=24, updates=6, rising=2, evaluate_every=2, validation=4)


def go(folder: Path, name: str = "run", **more: object) -> Trained:
    options = {"recipe": TINY, **more}
    return train(write(folder), folder / name, **options)  # type: ignore[arg-type]


def weights(run: Path) -> bytes:
    return (run / "policy.safetensors").read_bytes()


def test_a_stopped_training_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = go(tmp_path)
    assert whole.steps == 6 * 4 * 24 and whole.metric == "weighted_layers" and whole.evaluation.n == 20
    assert whole.steps / whole.wall_s < whole.env_steps_per_s < 1e8
    left = [False, False, False, True]
    with pytest.raises(Interrupted):
        go(tmp_path, "again", stop=lambda: left.pop(0))
    go(tmp_path, "again", resume=True)
    assert weights(tmp_path / "run") == weights(tmp_path / "again")
    assert (tmp_path / "run/curves.csv").read_text() == (tmp_path / "again/curves.csv").read_text()
    header, *rows = (tmp_path / "run/curves.csv").read_text().split()
    assert header.startswith("step,score,best,loss") and [row.split(",")[0] for row in rows] == [
        "192",
        "384",
        "576",
    ]
    policy = load_forecaster(tmp_path / "run/policy.safetensors")
    assert policy.within["packets"] == histories.PACKETS and policy.rule["kind"] == "threshold"
    assert policy.algorithm == "gru-mpc" and policy.trained_on[0].scenario.startswith("laws: steady, chain")
    assert policy.seed == 1


def test_a_training_begins_with_no_update(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        go(tmp_path, stop=lambda: True)
    document = load_checkpoint(tmp_path / "run")[1]
    assert (document["updates"], document["steps"], document["points"]) == (0, 0, [])


def test_two_steps_change_every_weight(tmp_path: Path) -> None:
    """The first one that of the last layer only, which begins at zero."""
    training = Training(load_scenario(write(tmp_path)), TINY, seed=1, device="cpu")
    before = {name: value.detach().clone() for name, value in training.network.named_parameters()}
    for _ in range(2):
        training.step()
    assert training.steps == 2 * TINY.batch
    for name, value in training.network.named_parameters():
        assert not torch.equal(value, before[name]), name


def test_another_seed_is_another_training_and_no_batch_is_the_validations(tmp_path: Path) -> None:
    runs = [go(tmp_path, f"run{seed}", seed=seed, steps=96) for seed in (1, 2)]
    assert len({(one.run / "policy.safetensors").read_bytes() for one in runs}) == 2
    draws = [generator(1, "histories 0"), generator(1001, "validation"), generator(2, "histories 0")]
    first = [histories.batch(one, 1, 8, 1).inputs for one in draws]
    assert len({one.tobytes() for one in first}) == 3


def test_all_of_a_loss_is_on_the_device_that_was_asked_for() -> None:
    """On torch's device without memory, with which nothing that was left on the CPU can be combined."""
    batch = histories.batch(np.random.default_rng(1), 2, 8, 1, 4)
    device = torch.device("meta")
    loss = Forecaster(4).to(device).loss(batch, device)
    assert loss.device.type == "meta" and loss.shape == ()
    with pytest.raises((RuntimeError, NotImplementedError)):
        Forecaster(4).loss(batch, device)


@pytest.mark.slow
def test_it_learns(tmp_path: Path) -> None:
    longer = replace(
        TINY,
        learning_rate=0.01,
        hidden=16,
        histories=16,
        events=64,
        updates=40,
        evaluate_every=10,
        validation=64,
    )
    go(tmp_path, recipe=longer)
    rows = (tmp_path / "run/curves.csv").read_text().split()[1:]
    scores = [float(row.split(",")[1]) for row in rows]
    draws = generator(VALIDATION, "validation")
    batch = histories.batch(draws, longer.validation, longer.events, longer.forecasts, longer.every)
    untaught = -float(Forecaster(16).loss(batch, torch.device("cpu")).item())
    assert untaught > -np.log(40) + 0.05  # what the filter believes is better than a flat belief,
    assert max(scores) == scores[-1] > untaught + 0.05  # and what was learned is better than that


def test_what_is_in_the_way_or_another_training_is_refused(tmp_path: Path) -> None:
    go(tmp_path, steps=96)
    with pytest.raises(InputError, match="--resume continues a run of dstcc train"):
        go(tmp_path)
    for change in ({"seed": 3}, {"recipe": replace(TINY, hidden=5)}):
        with pytest.raises(
            RunError, match=f"trained with another {next(iter(change))}.*; nothing was changed"
        ):
            go(tmp_path, resume=True, **change)
    with pytest.raises(InputError, match="is evaluated on one scenario"):
        train(tmp_path, tmp_path / "other", recipe=TINY)
    with pytest.raises(InputError, match="--device cuda: torch finds no GPU"):
        if torch.cuda.is_available():
            raise InputError("--device cuda: torch finds no GPU, but here is one")
        go(tmp_path, "other", device="cuda")
    assert not (tmp_path / "other").exists()


def test_the_command_trains_and_goes_on_without_the_name(tmp_path: Path) -> None:
    def command(*more: str) -> str:
        arguments = ["train", str(write(tmp_path)), "-o", str(tmp_path / "run"), "--steps", "16384", *more]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "gru-mpc, 16,384 steps (all steps done)" in command("--algorithm", "gru-mpc").replace("\n", " ")
    assert "gru-mpc, 16,384 steps" in command("--resume").replace("\n", " ")
    assert algorithm_of(None, tmp_path / "run", resume=True) == "gru-mpc"
    assert algorithm_of(None, tmp_path / "none", resume=True) == "dstcc-lanes"
    odd = CliRunner().invoke(
        main, ["train", str(write(tmp_path)), "-o", str(tmp_path / "no"), "--algorithm", "gru-mpcc"]
    )
    assert odd.exit_code == 2 and "did you mean 'gru-mpc'?" in odd.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_the_command_says_that_there_is_no_gpu(tmp_path: Path) -> None:
    arguments = ["train", str(write(tmp_path)), "-o", str(tmp_path / "gpu"), "--algorithm", "gru-mpc"]
    none = CliRunner().invoke(main, [*arguments, "--device", "cuda"])
    assert none.exit_code == 2 and "--device cuda: torch finds no GPU" in none.stderr
    assert not (tmp_path / "gpu").exists()
