"""A cell that is a training: what an episode returned, one after the other, and what its slots were like, part by part
of it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.atomic import atomic_write
from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES
from dstcc.errors import RunError
from dstcc.learn import check_installed
from dstcc.learn.algorithms.recipes import Recipe, recipe_of
from dstcc.learn.spaces.scales import column
from dstcc.scenario import content_hash

from .cells import Outcome
from .trial_cell import scenario_of

if TYPE_CHECKING:
    from dstcc.learn.training.fleet import StepResult
    from dstcc.learn.training.state import Training

LAST = 0.25
"""The share of the episodes, the last ones, that shows what a training converged to."""
FIRST = 0.1
ROUNDS = 50
"""Equal parts of a training; a round of Zhang et al. is one of theirs."""
SETTLED = 0.9
"""Of the last episodes' reward: from the round on that first earns it a training has settled."""
RETURNS = "returns.json"


class Rounds:
    """Reward, throughput and round trip of a training's slots: counts, sums and sums of squares of each round."""

    def __init__(self, steps: int, sums: Any = None) -> None:
        """``sums``: those of the rounds so far."""
        self._steps = steps
        self.sums = np.zeros((ROUNDS, 3, 3)) if sums is None else np.array(sums, dtype=np.float64)
        if self.sums.shape != (ROUNDS, 3, 3):
            raise ValueError("sums of other rounds")

    def add(self, step: int, result: StepResult) -> None:
        """A slot of all episodes, after so many steps; a round trip that nobody has measured yet does not count."""

        def of(name: str) -> Any:
            return column(result.subflow_values, SUBFLOW_VALUES, name)

        slot_s = np.maximum(column(result.episode_values, EPISODE_VALUES, "slot_s"), 1e-9)
        measured = (of("srtt_s") > 0).sum(axis=1)
        rtt_s = (of("srtt_s").sum(axis=1) / np.maximum(measured, 1))[measured > 0]
        values = result.rewards, 8 * of("delivered_bytes").sum(axis=1) / slot_s, rtt_s
        place = min((step - 1) * ROUNDS // self._steps, ROUNDS - 1)
        self.sums[place] += [[len(one), one.sum(), np.square(one).sum()] for one in values]

    def series(self) -> dict[str, list[float]]:
        """The means of each round; none of what some round has no value of."""
        count, total, _ = np.moveaxis(self.sums, 2, 0)
        means = total / np.maximum(count, 1)
        names = "round_reward", "round_bps", "round_rtt_s"
        return {
            name: means[:, place].tolist() if count[:, place].all() else []
            for place, name in enumerate(names)
        }

    def values(self) -> dict[str, float | None]:
        """``rounds_to_settle``; over the slots of the first tenth the mean reward, ``first_reward``, and the standard
        deviations of throughput and round trip, ``first_spread_bps`` and ``first_spread_rtt_s``."""
        reward = np.array(self.series()["round_reward"])
        last = float(reward[-round(LAST * ROUNDS) :].mean()) if reward.size else 0.0
        settled = int(np.argmax(reward >= SETTLED * last)) + 1 if last > 0 else None
        count, total, squares = np.moveaxis(self.sums[: round(FIRST * ROUNDS)].sum(axis=0), 1, 0)
        mean = total / np.maximum(count, 1)
        spread = np.sqrt(np.maximum(squares / np.maximum(count, 1) - mean**2, 0))
        return {
            "rounds_to_settle": settled,
            "first_reward": float(mean[0]),
            "first_spread_bps": float(spread[1]),
            "first_spread_rtt_s": float(spread[2]) if count[2] else None,
        }


@dataclass(frozen=True)
class TrainingCell:
    """So many steps of a learner on a scenario."""

    path: Path
    settings: tuple[str, ...]
    learner: str
    steps: int
    seed: int
    changed: dict[str, Any] = field(default_factory=dict)
    """Keywords of the environment in the place of the recipe's."""

    alone = True

    @property
    def label(self) -> str:
        """Which training."""
        changed = "".join(f", {name}={value}" for name, value in self.changed.items())
        return (
            f"{self.path.stem}, training of {self.learner}{changed}, {self.steps:,} steps, seed {self.seed}"
        )

    @property
    def recipe(self) -> Recipe:
        """What is trained."""
        recipe = recipe_of(self.learner)
        return replace(recipe, environment={**recipe.environment, **self.changed})

    def identity(self) -> dict[str, Any]:
        """See :class:`dstcc.papers.cells.Cell`."""
        return {
            "kind": "training",
            "scenario": content_hash(scenario_of(self.path, self.settings)),
            "learner": self.learner,
            "recipe": self.recipe.document(),
            "rounds": ROUNDS,
            "steps": self.steps,
            "seed": self.seed,
        }

    def run(self, scratch: Path) -> Outcome:
        """See :class:`dstcc.papers.cells.Cell`; ``returns`` are those of the episodes in the order of their ends, the
        rest is of :class:`Rounds`."""
        need_torch()
        from dstcc.learn.training.loop import deterministic

        with deterministic():
            returns, rounds = self._train(scratch)
        if not returns:
            raise RunError(f"{self.label}: no episode ended; it needs more steps")
        values = np.array(returns)
        last, first = (max(1, round(share * len(values))) for share in (LAST, FIRST))
        ends = {"return_last": float(values[-last:].mean()), "return_first": float(values[:first].mean())}
        rise = ends["return_last"] - ends["return_first"]
        return Outcome(
            {**ends, "return_rise": rise, **rounds.values()}, {"returns": values.tolist(), **rounds.series()}
        )

    def _train(self, scratch: Path) -> tuple[list[float], Rounds]:
        from dstcc.learn.training.state import Training

        recipe, threads = self.recipe, os.cpu_count() or 1
        scenario = scenario_of(self.path, self.settings)
        training = Training((scenario,), self.learner, recipe, seed=self.seed, threads=threads)
        training.fleet.returns[:], rounds = _resume(training, scratch, self.steps)
        while training.steps < self.steps:
            training.step()
            rounds.add(training.steps, training.result)
            if (
                training.steps // recipe.evaluate_every
                != (training.steps - recipe.episodes) // recipe.evaluate_every
            ):
                _save(training, rounds, scratch)
        return list(training.fleet.returns), rounds


def need_torch() -> None:
    """Raise :class:`MissingCapabilityError` without what learning needs."""
    check_installed("a figure with a learning curve", ", or name the other figures with --figure")


def _save(training: Training, rounds: Rounds, scratch: Path) -> None:
    scratch.mkdir(parents=True, exist_ok=True)
    training.save(scratch)
    kept = {"steps": training.steps, "returns": training.fleet.returns, "sums": rounds.sums.tolist()}
    atomic_write(scratch / RETURNS, json.dumps(kept))


def _resume(training: Training, scratch: Path, steps: int) -> tuple[list[float], Rounds]:
    """Put a training of so many steps back where its last checkpoint was, if there is one with its returns."""
    from dstcc.learn.training.checkpoint import load_checkpoint

    try:
        kept = json.loads((scratch / RETURNS).read_bytes())
        arrays, document, _wrong = load_checkpoint(scratch)
        if document["steps"] != kept["steps"]:
            return [], Rounds(steps)
        rounds = Rounds(steps, kept["sums"])
        training.restore(scratch, arrays, document)
        return [float(value) for value in kept["returns"]], rounds
    except (OSError, ValueError, KeyError, TypeError, RunError):
        return [], Rounds(steps)
