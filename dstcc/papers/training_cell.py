"""A cell that is a training: what an episode returned, one after the other."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.atomic import atomic_write
from dstcc.errors import MissingCapabilityError, RunError
from dstcc.learn.algorithms.recipes import recipe_of
from dstcc.scenario import content_hash

from .cells import Outcome
from .trial_cell import scenario_of

if TYPE_CHECKING:
    from dstcc.learn.training.state import Training

LAST = 0.25
"""The share of the episodes, the last ones, that shows what a training converged to."""
FIRST = 0.1
RETURNS = "returns.json"


@dataclass(frozen=True)
class TrainingCell:
    """So many steps of a learner on a scenario."""

    path: Path
    settings: tuple[str, ...]
    learner: str
    steps: int
    seed: int

    alone = True

    @property
    def label(self) -> str:
        """Which training."""
        return f"{self.path.stem}, training of {self.learner}, {self.steps:,} steps, seed {self.seed}"

    def identity(self) -> dict[str, Any]:
        """See :class:`dstcc.papers.cells.Cell`."""
        return {
            "kind": "training",
            "scenario": content_hash(scenario_of(self.path, self.settings)),
            "learner": self.learner,
            "recipe": recipe_of(self.learner).document(),
            "steps": self.steps,
            "seed": self.seed,
        }

    def run(self, scratch: Path) -> Outcome:
        """See :class:`dstcc.papers.cells.Cell`; ``returns`` are those of the episodes in the order of their ends."""
        need_torch()
        from dstcc.learn.training.loop import deterministic

        with deterministic():
            returns = self._train(scratch)
        if not returns:
            raise RunError(f"{self.label}: no episode ended; it needs more steps")
        values = np.array(returns)
        last, first = (max(1, round(share * len(values))) for share in (LAST, FIRST))
        ends = {"return_last": float(values[-last:].mean()), "return_first": float(values[:first].mean())}
        rise = ends["return_last"] - ends["return_first"]
        return Outcome({**ends, "return_rise": rise}, {"returns": values.tolist()})

    def _train(self, scratch: Path) -> list[float]:
        from dstcc.learn.training.state import Training

        recipe, threads = recipe_of(self.learner), os.cpu_count() or 1
        scenario = scenario_of(self.path, self.settings)
        training = Training((scenario,), self.learner, recipe, seed=self.seed, threads=threads)
        training.fleet.returns[:] = _resume(training, scratch)
        while training.steps < self.steps:
            training.step()
            if (
                training.steps // recipe.evaluate_every
                != (training.steps - recipe.episodes) // recipe.evaluate_every
            ):
                _save(training, scratch)
        return list(training.fleet.returns)


def need_torch() -> None:
    """Raise :class:`MissingCapabilityError` without what learning needs."""
    if missing := [name for name in ("torch", "gymnasium") if find_spec(name) is None]:
        raise MissingCapabilityError(
            f"a figure with a learning curve needs {', '.join(missing)}: pip install 'dstcc[learn]', "
            "or name the other figures with --figure"
        )


def _save(training: Training, scratch: Path) -> None:
    scratch.mkdir(parents=True, exist_ok=True)
    training.save(scratch)
    atomic_write(scratch / RETURNS, json.dumps({"steps": training.steps, "returns": training.fleet.returns}))


def _resume(training: Training, scratch: Path) -> list[float]:
    """Put a training back where its last checkpoint was, if there is one with its returns."""
    from dstcc.learn.training.checkpoint import load_checkpoint

    try:
        kept = json.loads((scratch / RETURNS).read_bytes())
        arrays, document, _wrong = load_checkpoint(scratch)
        if document["steps"] != kept["steps"]:
            return []
        training.restore(scratch, arrays, document)
        return [float(value) for value in kept["returns"]]
    except (OSError, ValueError, KeyError, TypeError, RunError):
        return []
