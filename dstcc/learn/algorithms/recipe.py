"""What an algorithm of ``dstcc train`` is made of: a recipe, whose settings make its learner."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from dstcc.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dstcc.learn.spaces.actions import ActionSpace
    from dstcc.learn.spaces.observe import ObservationSpec

    from .learner import Learner

METRIC, RETURN = "weighted_layers", "return"
"""``return``: the sum of the recipe's own rewards over an episode."""


@dataclass(frozen=True)
class Settings:
    """What a learner is made of, in a frozen dataclass that is read without torch."""

    RETIRED: ClassVar[dict[str, Any]] = {}
    """Options of older versions, as their checkpoints hold them: each with the value that is all there is now."""
    RENAMED: ClassVar[dict[str, str]] = {}
    """Options that older checkpoints hold under another name: old to new."""

    LEARNER: ClassVar[str]
    """The class of its learner, ``module:Class``: learners need torch, recipes are read without."""

    def make(self, task: Task) -> Learner:
        """The learner of a recipe with these settings."""
        module, _, name = self.LEARNER.partition(":")
        learner: Callable[[Task], Learner] = getattr(import_module(module), name)
        return learner(task)


@dataclass(frozen=True)
class Recipe:
    """One algorithm. Steps are slots of single episodes, summed over those side by side."""

    environment: dict[str, Any]
    """Keywords of ``dstcc/DeepSpace-v1``'s spaces."""
    reward: str
    learner: Settings
    steps: int
    """Unless ``--steps`` says otherwise."""
    episodes: int = 32
    """Side by side."""
    learn_every: int = 32
    """Steps between two updates."""
    warm_up: int = 4_096
    """Steps before the first update."""
    epsilon: tuple[float, float] = (1.0, 0.05)
    """Share of random actions, at first and at last; straight between over ``epsilon_steps``."""
    epsilon_steps: int = 60_000
    evaluate_every: int = 16_384
    """Steps between evaluations on held-out seeds, each followed by a checkpoint."""
    validation: int = 16
    """Held-out seeds of an evaluation, from 1001."""
    metric: str = METRIC
    """What evaluations measure and the best policy has most of: ``weighted_layers``, or :data:`RETURN`."""
    patience: int = 12
    """Evaluations without a better one after which training stops."""

    def epsilon_at(self, step: int) -> float:
        """The share of random actions."""
        first, last = self.epsilon
        return first + (last - first) * min(step / self.epsilon_steps, 1.0)

    def updates_due(self, step: int) -> int:
        """Updates after the last step of all episodes, none while it warms up."""
        before = step - self.episodes
        return 0 if step < self.warm_up else step // self.learn_every - before // self.learn_every

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        document: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return document

    def updated(self, document: Any) -> Any:
        """A recipe's document of an older version, in today's options.

        Raises InputError for one that used an option which is gone.
        """
        if not isinstance(document, dict) or not isinstance(document.get("learner"), dict):
            return document
        kind, learner = type(self.learner), dict(document["learner"])
        for name, value in kind.RETIRED.items():
            if name in learner and (used := learner.pop(name)) != value:
                raise InputError(f"trained with {name} = {used!r}, which dstcc no longer has")
        for old, new in kind.RENAMED.items():
            if old in learner:
                learner[new] = learner.pop(old)
        return {**document, "learner": learner}


@dataclass(frozen=True)
class Task:
    """What a learner is made for."""

    recipe: Recipe
    observation: ObservationSpec
    action: ActionSpace
    seed: int
    device: str = "cpu"


RECIPES: dict[str, Recipe] = {}
"""By name; whoever reads it imports :mod:`dstcc.learn.algorithms.recipes`, which fills it."""


def register(name: str, recipe: Recipe) -> None:
    """Make an algorithm known to ``dstcc train``; raises ValueError for a name that is taken."""
    if name in RECIPES:
        raise ValueError(f"two algorithms are called {name}")
    RECIPES[name] = recipe
