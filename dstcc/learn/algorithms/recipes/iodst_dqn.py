"""``iodst-dqn``: DQN as in Ha et al., ICT Express 2023."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dstcc.learn.algorithms.recipe import Recipe, Settings, register
from dstcc.learn.spaces.actions import PAPER_WINDOWS


@dataclass(frozen=True)
class DqnSettings(Settings):
    """What a DQN learner is made of."""

    LEARNER: ClassVar[str] = "dstcc.learn.algorithms.dqn:OffPolicy"

    RETIRED: ClassVar[dict[str, Any]] = {
        "dueling": False,
        "n_step": 1,
        "explore_branches": False,
        "explore_for": 1,
        "sets": 0,
        "usual": [],
        "margin": 0.0,
    }

    hidden: tuple[int, ...] = (256, 256)
    learning_rate: float = 1e-4
    discount: float = 0.95
    """γ per slot."""
    batch: int = 512
    buffer: int = 1_000_000
    """Transitions remembered."""
    target_every: int = 1_000
    """Updates between two renewals of the target network."""
    double: bool = False
    max_grad_norm: float | None = None


# Algorithm 1 of Ha et al., ICT Express 2023, with the settings of its section 5.1. Beside the decisions for what
# the paper leaves open (window factors, learning rate, target, epsilon), one thing is shortened: an update per 4
# steps, where Algorithm 1 has at least one a step. Values look 20 slots ahead (γ = 0.95) and so need many renewals
# of the target: every 250 updates there are 36 of them in a training. Equation 2 has no bound on the window, so
# there is no headroom: at twice the measured bandwidth-delay product a window doubles once a round trip, whatever
# the action.
register(
    "iodst-dqn",
    Recipe(
        environment={"observation": "paper", "action": "joint", "windows": PAPER_WINDOWS, "headroom": 0},
        reward="eq6",
        learner=DqnSettings(learning_rate=3e-4, target_every=250),
        steps=40_960,
        learn_every=4,
        epsilon_steps=30_000,
        evaluate_every=10_240,
    ),
)
