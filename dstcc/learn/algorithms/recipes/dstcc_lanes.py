"""``dstcc-lanes``, ours: rollouts in units of what paths were measured to carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dstcc.learn.algorithms.recipe import Recipe, Settings, register


@dataclass(frozen=True)
class RolloutSettings(Settings):
    """What a learner from rollouts is made of; gains are in the units of an episode's rewards."""

    LEARNER: ClassVar[str] = "dstcc.learn.algorithms.rollouts:Rollouts"

    RENAMED: ClassVar[dict[str, str]] = {"usual": "default_choices"}

    sets: int = 64
    """Hidden values of the network of sets."""
    learning_rate: float = 1e-3
    batch: int = 256
    memory: int = 2_000
    """Groups of episodes remembered."""
    kept: int = 16
    """Decisions of each that are."""
    least: int = 8
    """Groups before the first update."""
    clip: float = 10.0
    """The largest gain that counts."""
    max_grad_norm: float = 10.0
    default_choices: tuple[int, ...] = ()
    """The default choice of each branch, the first one's for all subflows; with ``margin``."""
    margin: float = 0.0
    """By how much another choice must be worth more before it is taken."""


# Ours. What the paths carry is measured (dstcc.learn.paths.measure), so that a window action says how much of it to
# use; layers are bound when a subflow has room, in an order that is decided too, on lanes enough that none waits.
register(
    "dstcc-lanes",
    Recipe(
        environment={
            "observation": "measured",
            "action": "multi",
            "windows": ((0.7, 0.0), (1.0, 0.03), (1.0, 0.1), (1.0, 0.3), (1.0, 1.0)),
            "measured": True,
            "pacing": "rate",
            "copies": True,
            "orders": ((0.0, 0.0), (0.05, 0.0), (0.2, 0.0), (1000.0, 0.0)),
            "lanes": 4096,
            "slot_rtts": 1 / 16,
            "hold": 4,
            "headroom": 0,
        },
        reward="weighted-layers",
        learner=RolloutSettings(default_choices=(1, 2, 0, 1), margin=0.2),
        steps=262_144,
        episodes=34,
        learn_every=64,
        evaluate_every=16_384,
        validation=44,
    ),
)
