"""The algorithms of ``dstcc train``: what each sees, does, is paid for, and how it learns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from dstcc.errors import InputError

from .settings import DqnSettings
from .spaces import PAPER_WINDOWS


@dataclass(frozen=True)
class Recipe:
    """One algorithm. Steps are slots of single episodes, summed over those side by side."""

    environment: dict[str, Any]
    """Keywords of ``dstcc/DeepSpace-v1``'s spaces."""
    reward: str
    learner: DqnSettings
    steps: int
    """Unless told otherwise."""
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
    patience: int = 12
    """Evaluations without a better one after which training stops."""

    def epsilon_at(self, step: int) -> float:
        """The share of random actions."""
        first, last = self.epsilon
        return first + (last - first) * min(step / self.epsilon_steps, 1.0)

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        import json

        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found


RECIPES = {
    # Algorithm 1 of Ha et al., ICT Express 2023, with the settings of its section 5.1. Beside the decisions for what
    # the paper leaves open (window factors, learning rate, target, epsilon), one thing is shortened: an update per 32
    # steps, where Algorithm 1 has at least one a step.
    "iodst-dqn": Recipe(
        environment={"observation": "paper", "action": "joint", "windows": PAPER_WINDOWS},
        reward="eq6",
        learner=DqnSettings(),
        steps=200_000,
    ),
    # Ours. Windows may leap (×16) and are not held to a measured bandwidth-delay product, so that a start costs two
    # slots in the place of nine round trips.
    "dstcc": Recipe(
        environment={
            "observation": "full",
            "action": "multi",
            "windows": ((0.5, 0), (0.84, 0), (1.0, 0), (1.19, 0), (2.0, 0), (16.0, 0)),
            "automatic": True,
            "copies": True,
            "headroom": 0,
            "history": 16,
        },
        reward="weighted-layers",
        learner=DqnSettings(
            learning_rate=3e-4,
            discount=0.98,
            buffer=100_000,
            target_every=250,
            double=True,
            dueling=True,
            n_step=10,
            max_grad_norm=10.0,
        ),
        steps=200_000,
    ),
}


def recipe_of(algorithm: str) -> Recipe:
    """The recipe of that name; raises InputError with the names there are."""
    if algorithm not in RECIPES:
        near = get_close_matches(algorithm, RECIPES, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise InputError(f"--algorithm {algorithm}: no such algorithm to train ({', '.join(RECIPES)}){hint}")
    return RECIPES[algorithm]
