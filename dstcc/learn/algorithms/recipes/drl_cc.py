"""``drl-cc``: DDPG with an LSTM over the subflows, as in Xu et al., IEEE JSAC 2019."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dstcc.learn.algorithms.recipe import Recipe, Settings, register


@dataclass(frozen=True)
class DdpgSettings(Settings):
    """What a DDPG learner is made of."""

    LEARNER: ClassVar[str] = "dstcc.learn.algorithms.ddpg:Ddpg"

    state: int = 64
    """Width of the LSTM's state."""
    hidden: tuple[int, ...] = (128, 128)
    actor_rate: float = 1e-4
    critic_rate: float = 1e-3
    discount: float = 0.95
    batch: int = 128
    buffer: int = 100_000
    target_share: float = 1e-3
    """τ: how far the target networks move with each update."""
    noise: tuple[float, float] = (0.5, 0.05)
    """Standard deviation of what is added to actions, at first and at last; straight between over
    ``epsilon_steps``."""


# Xu et al., IEEE JSAC 2019.
register(
    "drl-cc",
    Recipe(
        environment={"observation": "drl-cc", "action": "continuous", "headroom": 0},
        reward="log-goodput",
        learner=DdpgSettings(),
        steps=30_720,
        learn_every=8,
        epsilon_steps=20_000,
        evaluate_every=10_240,
    ),
)
