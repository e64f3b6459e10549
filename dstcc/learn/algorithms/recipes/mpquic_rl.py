"""``mpquic-rl``: a double DQN that chooses schedulers, as in Lee and Yoo, Sensors 2022."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dstcc.learn.algorithms.recipe import RETURN, Recipe, Settings, register
from dstcc.learn.spaces.actions import MAX_LAYERS


@dataclass(frozen=True)
class SchedulerSettings(Settings):
    """What Lee and Yoo's scheduler learns with."""

    LEARNER: ClassVar[str] = "dstcc.learn.algorithms.mpquic:MpquicRl"

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 3e-4
    discount: float = 0.5
    batch: int = 20
    buffer: int = 1_000_000
    """The paper has no bound."""
    target_every: int = 50
    """Actions between two renewals of the target, and of the copy that acts."""
    epsilon_factor: float = 0.997
    """Per action."""
    epsilon_least: float = 0.05
    rich_s: float = 1.0
    """What the client must have in store for an action at random."""


# Lee and Yoo, Sensors 2022, over the windows of CUBIC.
register(
    "mpquic-rl",
    Recipe(
        environment={"observation": "mpquic-rl", "action": "policies", "layers": MAX_LAYERS},
        reward="chunks",
        learner=SchedulerSettings(),
        steps=160_000,
        episodes=8,
        evaluate_every=16_000,
        metric=RETURN,
    ),
)
