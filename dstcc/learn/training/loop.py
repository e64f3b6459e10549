"""Training: episodes side by side, updates, evaluations, checkpoints; the same run, bit for bit, however often stopped.

A run's folder holds ``checkpoint-*`` (two generations), ``policy.safetensors`` (the best so far on the validation
seeds), ``curves.csv`` and, where TensorBoard is installed, ``tensorboard/``. What happens at a step depends on the
scenario, the recipe, the seed and the step only, never on where a run is to end: N steps and N more after resuming
are 2N steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from dstcc.algorithms import RENAMED
from dstcc.atomic import atomic_directory
from dstcc.errors import InputError, RunError
from dstcc.learn.algorithms.recipes import Recipe, recipe_of
from dstcc.learn.env.deep_space import Scenarios
from dstcc.learn.policies.controller import POLICY
from dstcc.outputs import check_new
from dstcc.stats import Estimate, estimate

from .checkpoint import load_checkpoint
from .curves import Curves, Point
from .evaluate import TEST_SEEDS
from .state import Training
from .trainable import Recipe as AnyRecipe
from .trainable import Trainable

ALGORITHM, SEED = "dstcc-lanes", 1
"""The defaults."""


@dataclass(frozen=True)
class Trained:
    """How a training ended."""

    run: Path
    algorithm: str
    steps: int
    """Slots stepped since the run began, over all episodes."""
    seed: int
    policy: Path
    metric: str
    """What evaluations measure: the recipe's."""
    evaluation: Estimate
    """The metric of the best policy on :data:`~dstcc.learn.training.evaluate.TEST_SEEDS`."""
    reason: str
    """``steps``: all done; ``patience``: no better evaluation for long."""
    env_steps_per_s: float
    """Of this call, updates included, evaluations and checkpoints not."""
    wall_s: float
    """Of this call."""

    def document(self) -> dict[str, Any]:
        """As ``dstcc train --json`` prints it."""
        evaluation = self.evaluation
        return {
            "run": str(self.run),
            "algorithm": self.algorithm,
            "steps": self.steps,
            "seed": self.seed,
            "policy": str(self.policy),
            "evaluation": {
                "metric": self.metric,
                "mean": evaluation.value,
                "low": evaluation.low,
                "high": evaluation.high,
            },
            "env_steps_per_s": self.env_steps_per_s,
            "wall_s": self.wall_s,
        }


class Interrupted(Exception):  # noqa: N818 - no error: the caller asked for it
    """Training stopped when asked to; all is saved."""


def train(
    scenario: Scenarios,
    run: Path,
    *,
    algorithm: str | None = None,
    device: str = "cpu",
    threads: int = 1,
    recipe: Recipe | None = None,
    **rest: Any,
) -> Trained:
    """Train ``algorithm`` (default :data:`ALGORITHM`) on a scenario for ``steps`` slots in all.

    With ``resume`` a run that is there goes on where its last intact checkpoint was, with its own algorithm and seed;
    where there is none one begins. ``threads`` step episodes and change no result. ``stop`` is called after every step
    of all episodes; ``watch`` gets the steps so far and each evaluation, ``tell`` warnings.

    Raises :class:`~dstcc.errors.RunError` for a run in the way, or one of another scenario, algorithm, seed, recipe or
    version; :class:`~dstcc.errors.InputError` for a device that is not there; :class:`Interrupted`.
    """

    def choose(saved: Saved | None) -> Chosen:
        name = algorithm or (saved[1]["identity"].get("algorithm", ALGORITHM) if saved else ALGORITHM)
        name = RENAMED.get(name, name)
        chosen = recipe or recipe_of(name)

        def begin(seed: int) -> Training:
            return Training(scenario, name, chosen, seed=seed, device=device, threads=threads)

        return name, chosen, begin

    return carry_out(choose, run, device=device, **rest)


Saved = tuple[dict[str, "NDArray[Any]"], dict[str, Any]]
"""A checkpoint's arrays and document."""


Chosen = tuple[str, AnyRecipe, Callable[[int], Trainable]]
"""An algorithm, its recipe, and what makes a training of a seed."""


def carry_out(
    choose: Callable[[Saved | None], Chosen],
    run: Path,
    *,
    steps: int | None = None,
    seed: int | None = None,
    resume: bool = False,
    device: str = "cpu",
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[str], None] = lambda _message: None,
    watch: Callable[[int, Point | None], None] = lambda _steps, _point: None,
) -> Trained:
    """A training from its beginning or a checkpoint to its end, after ``steps`` at the latest; see :func:`train`."""
    saved = saved_of(run, tell) if resume and run.exists() else None
    name, recipe, begin = choose(saved)
    most = recipe.steps if steps is None else steps
    check_device(device)
    began = time.perf_counter()
    if saved is None:
        check_new(run, "--resume continues a run of dstcc train")
    identity = saved[1]["identity"] if saved else {}
    with deterministic():
        training = begin(identity.get("seed", SEED) if seed is None else seed)
        if saved is None:
            with atomic_directory(run) as folder:
                training.save(folder)
        else:
            training.restore(run, *saved)
        first, reason = training.steps, ""
        with Curves(run, training.points) as curves:
            while not (reason := training.finished(most)):
                if stop():
                    training.save(run)
                    raise Interrupted
                training.step()
                point = training.evaluate_if_due()
                if point is not None:
                    training.save(run)
                    curves.add(point)
                    training.best_policy().save(run / POLICY)
                watch(training.steps, point)
        training.save(run)
        policy = training.final_policy()
        policy.save(run / POLICY)
        evaluation = estimate(training.scores(policy, TEST_SEEDS).tolist())
    rate = (training.steps - first) / max(training.busy_s, 1e-9)
    wall = time.perf_counter() - began
    return Trained(
        run, name, training.steps, training.seed, run / POLICY, recipe.metric, evaluation, reason, rate, wall
    )


def check_device(device: str) -> None:
    """Raise InputError for a device that this machine's torch does not have."""
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU here; use cpu")


@contextmanager
def deterministic() -> Iterator[None]:
    """One thread and deterministic kernels: sums are then made in the same order, on a CPU, every time.

    Memory that is written before it is read is not filled first, as torch would with deterministic kernels.
    """
    threads, before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    memory: Any = torch.utils.deterministic
    filled = memory.fill_uninitialized_memory
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    memory.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(before)
        memory.fill_uninitialized_memory = filled


def saved_of(run: Path, tell: Callable[[str], None]) -> Saved:
    """The last intact checkpoint of a run. Raises :class:`~dstcc.errors.RunError` for what is none of dstcc train."""
    arrays, document, wrong = load_checkpoint(run)
    if "identity" not in document:
        raise RunError(f"{run}: no run of dstcc train")
    for message in wrong:
        tell(f"{message}; going on from the generation before")
    return arrays, document
