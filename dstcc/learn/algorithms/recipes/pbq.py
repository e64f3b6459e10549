"""``pbq``: PPO over BBR's pace, as in Zhang et al., Entropy 2023."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dstcc.learn.algorithms.recipe import RETURN, Recipe, Settings, register


@dataclass(frozen=True)
class PpoSettings(Settings):
    """What a PPO learner is made of."""

    LEARNER: ClassVar[str] = "dstcc.learn.algorithms.ppo:Ppo"

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 5e-4
    discount: float = 0.95
    gae: float = 0.95
    """λ of the generalised advantage."""
    slots: int = 150
    """Of each episode between two updates."""
    epochs: int = 10
    batch: int = 150
    clip: float = 0.2
    entropy: float = 0.0
    max_grad_norm: float = 0.5
    log_std: float = -1.2
    """Of the action's noise at the start: a standard deviation of 0.3."""


# Zhang et al., Entropy 2023: rounds of 1,200 steps on two flows, 80 of them on many links (theirs: 50 on one).
register(
    "pbq",
    Recipe(
        environment={"observation": "pbq", "action": "continuous", "pacing": "bbr", "headroom": 0},
        reward="pbq",
        learner=PpoSettings(),
        steps=96_000,
        episodes=8,
        evaluate_every=9_600,
        metric=RETURN,
    ),
)
