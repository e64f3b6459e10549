"""A training from outside, of something that learns nothing: what is asked of it when, and what is said at the end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from dstcc.errors import DstccError, InputError, RunError
from dstcc.learn.training import loop
from dstcc.learn.training.checkpoint import load_checkpoint
from dstcc.learn.training.curves import Point
from dstcc.learn.training.evaluate import TEST_SEEDS
from dstcc.learn.training.loop import Interrupted, carry_out, check_device, deterministic
from dstcc.learn.training.trainable import Trainable


class Recipe:
    """Forty steps unless somebody says otherwise."""

    metric, steps = "made", 40

    def document(self) -> dict[str, Any]:
        return {"of": "nothing"}

    def updated(self, document: Any) -> Any:
        return document


class Made(Trainable):
    """Ten steps at once, in half a second; an evaluation after every second time."""

    def __init__(self, seed: int) -> None:
        super().__init__("made", Recipe(), seed, "0" * 64)
        self.count, self.calls = 0, []  # type: ignore[var-annotated]

    @property
    def steps(self) -> int:
        return 10 * self.count

    def finished(self, most: int) -> str:
        return "steps" if self.steps >= most else ""

    def step(self) -> None:
        self.count += 1
        self.busy_s += 0.5
        self._updated_to(1.0 / self.count)

    def evaluate_if_due(self) -> Point | None:
        if self.count % 2:
            return None
        return self._evaluated(float(-abs(self.count - 2)), {"w": np.array([self.count])}, 0.5)

    def best_policy(self) -> Any:
        assert self.best is not None
        best = int(self.best[1]["w"][0])
        return SimpleNamespace(save=lambda path: path.write_text(f"best {best}"))

    def final_policy(self) -> Any:
        return SimpleNamespace(save=lambda path: path.write_text("final"), name="final")

    def scores(self, policy: Any, seeds: tuple[int, ...]) -> Any:
        assert policy.name == "final" and seeds == TEST_SEEDS
        return np.arange(20.0)

    def arrays(self) -> Any:
        return {"own.count": np.array([self.count])}

    def document(self) -> dict[str, Any]:
        return {"made": True}

    def take_back(self, part: Any, document: dict[str, Any]) -> None:
        assert document["made"] is True and set(part("own")) == {"count"}
        self.count = int(part("own")["count"][0])


def run(folder: Path, **options: Any) -> Any:
    made: list[Made] = []

    def begin(seed: int) -> Made:
        made.append(Made(seed))
        return made[-1]

    return carry_out(lambda saved: ("made", Recipe(), begin), folder, **options), made[0]


def test_it_goes_on_to_its_end_and_says_how_fast_it_was(tmp_path: Path) -> None:
    watched: list[Any] = []
    done, made = run(
        tmp_path / "run", watch=lambda steps, point: watched.append((steps, point and point.score))
    )
    assert watched == [(10, None), (20, 0.0), (30, None), (40, -2.0)]
    assert (done.steps, done.seed, done.reason, made.seed) == (40, 1, "steps", 1)
    assert done.env_steps_per_s == pytest.approx(40 / 2.0) and 0 < done.wall_s < 60
    assert done.policy == tmp_path / "run/policy.safetensors" and done.policy.read_text() == "final"
    document = done.document()
    # the interquartile mean of 0 to 19 is that of 5 to 14
    assert document["evaluation"].pop("low") < 9.5 < document["evaluation"].pop("high")
    assert document["evaluation"] == {"metric": "made", "mean": 9.5}
    assert document["algorithm"] == "made" and document["run"] == str(tmp_path / "run")
    arrays, saved, wrong = load_checkpoint(tmp_path / "run")
    assert wrong == [] and arrays["own.count"].tolist() == [4] and arrays["best.w"].tolist() == [2]
    assert (saved["steps"], saved["loss"], saved["best"]) == (40, 0.25, 0.0)
    assert [point["step"] for point in saved["points"]] == [20, 40]
    assert [point["best"] for point in saved["points"]] == [0.0, 0.0]
    assert len((tmp_path / "run/curves.csv").read_text().splitlines()) == 3


def test_a_run_goes_on_from_its_checkpoint_with_its_own_seed(tmp_path: Path) -> None:
    asked = iter((False, False, False, True))
    with pytest.raises(Interrupted):
        run(tmp_path / "run", seed=7, stop=lambda: next(asked))
    assert (tmp_path / "run/policy.safetensors").read_text() == "best 2"
    done, made = run(tmp_path / "run", steps=60, resume=True)
    assert (done.steps, done.seed, made.seed) == (60, 7, 7)
    assert done.env_steps_per_s == pytest.approx(30 / 1.5), "of this call"
    assert [(point.step, point.score) for point in made.points] == [(20, 0.0), (40, -2.0), (60, -4.0)]
    assert made.best is not None and made.best[1]["w"].tolist() == [2]
    with pytest.raises(RunError, match="another seed 7, not 8"):
        run(tmp_path / "run", seed=8, resume=True)
    with pytest.raises(InputError, match="--resume continues a run of dstcc train"):
        run(tmp_path / "run")


def test_a_run_is_there_before_its_first_step(tmp_path: Path) -> None:
    def stop() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", stop=stop)
    assert load_checkpoint(tmp_path / "run")[1]["steps"] == 0
    assert run(tmp_path / "run", resume=True)[0].steps == 40


def test_an_equal_score_leaves_the_older_weights(tmp_path: Path) -> None:
    made = Made(1)
    for score in (1.0, 1.0, 0.5, 2.0):
        made._evaluated(score, {"w": np.array([len(made.points)])}, 0.0)
    assert [point.best for point in made.points] == [1.0, 1.0, 1.0, 2.0]
    assert made.best is not None and made.best[1]["w"].tolist() == [3]
    other = Made(1)
    for score in (1.0, 1.0):
        other._evaluated(score, {"w": np.array([len(other.points)])}, 0.0)
    assert other.best is not None and other.best[1]["w"].tolist() == [0]


def test_a_loss_that_is_no_number_ends_it() -> None:
    made = Made(1)
    made.count = 123
    with pytest.raises(DstccError, match=r"training diverged: the loss is inf at step 1,230"):
        made._updated_to(float("inf"))


def test_a_checkpoint_before_any_update_has_no_loss(tmp_path: Path) -> None:
    made = Made(1)
    (tmp_path / "run").mkdir()
    made.save(tmp_path / "run")
    saved = load_checkpoint(tmp_path / "run")[1]
    assert saved["loss"] is None and saved["best"] is None
    again = Made(1)
    again.loss = 5.0
    again.restore(tmp_path / "run", *load_checkpoint(tmp_path / "run")[:2])
    assert np.isnan(again.loss) and again.best is None


def test_a_checkpoint_of_nobody_and_warnings_of_damaged_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(loop, "load_checkpoint", lambda _: ({}, {"identity": {}}, ["a is damaged"]))
    assert loop.saved_of(tmp_path, told.append) == ({}, {"identity": {}})
    assert told == ["a is damaged; going on from the generation before"]
    monkeypatch.setattr(loop, "load_checkpoint", lambda _: ({}, {}, []))
    with pytest.raises(RunError, match="no run of dstcc train"):
        loop.saved_of(tmp_path, told.append)


def test_arithmetic_is_deterministic_within_and_as_before_after() -> None:
    torch.set_num_threads(2)
    memory: Any = torch.utils.deterministic
    before = memory.fill_uninitialized_memory
    with pytest.raises(KeyError), deterministic():
        assert torch.get_num_threads() == 1 and torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert memory.fill_uninitialized_memory is False
        raise KeyError
    assert torch.get_num_threads() == 2 and not torch.are_deterministic_algorithms_enabled()
    assert memory.fill_uninitialized_memory is before is True


def test_a_gpu_is_asked_for_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for there in (True, False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        check_device("cpu")
        if there:
            check_device("cuda")
        else:
            with pytest.raises(InputError, match="--device cuda: torch finds no GPU here; use cpu"):
                check_device("cuda")
