"""``iodst-dqn+``: the agent of ``iodst-dqn`` with what a delay of minutes asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dstcc.learn.algorithms.recipe import Recipe, register
from dstcc.learn.spaces.actions import PAPER_WINDOWS

from .iodst_dqn import DqnSettings


@dataclass(frozen=True)
class DelayedDqnSettings(DqnSettings):
    """What a DQN is made of where what it does shows late."""

    LEARNER: ClassVar[str] = "dstcc.learn.algorithms.delayed_dqn:DelayedOffPolicy"

    RETIRED: ClassVar[dict[str, Any]] = {}

    dueling: bool = False
    n_step: int = 1
    """Slots of a transition."""
    additive: bool = False
    """The value of an action is the sum of its choices' values, and learned as such. Otherwise each branch's choice has
    the whole action's value to explain by itself."""
    explore_branches: bool = False
    """Each branch draws its random choices by itself, in the place of whole random actions."""
    explore_for: int = 1
    """Decisions that a random choice lasts, on average."""


# The states, actions and windows of `iodst-dqn`, and what a round trip of many slots asks for. `full` holds the paper's
# four values and what else a sender knows without waiting (its own queue, what is in flight), with the actions of the
# last 20 slots: a slot is a quarter of the shorter round trip, and the longer one is at most 4.7 of these. A transition
# runs over eight slots: two of the shorter round trips, about one of the longer.
register(
    "iodst-dqn+",
    Recipe(
        environment={
            "observation": "full",
            "history": 20,
            "action": "multi",
            "windows": PAPER_WINDOWS,
            "headroom": 0,
        },
        reward="promised-per-slot",
        learner=DelayedDqnSettings(
            hidden=(128, 128),
            learning_rate=5e-4,
            discount=0.95,
            batch=128,
            buffer=100_000,
            target_every=100,
            double=True,
            dueling=True,
            additive=True,
            n_step=8,
            max_grad_norm=10.0,
            explore_branches=True,
            explore_for=8,
        ),
        steps=12_288,
        learn_every=4,
        warm_up=512,
        epsilon=(1.0, 0.05),
        epsilon_steps=8_000,
        evaluate_every=3_072,
        validation=8,
    ),
)
