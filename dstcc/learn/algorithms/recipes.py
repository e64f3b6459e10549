"""The algorithms of ``dstcc train``: what each sees, does, is paid for, and how it learns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from dstcc.errors import InputError
from dstcc.learn.spaces.actions import MAX_LAYERS, PAPER_WINDOWS

from .settings import (
    DdpgSettings,
    DqnSettings,
    LearnerSettings,
    PpoSettings,
    QTableSettings,
    RolloutSettings,
    SchedulerSettings,
)

METRIC, RETURN = "weighted_layers", "return"
"""``return``: the sum of the recipe's own rewards over an episode."""


@dataclass(frozen=True)
class Recipe:
    """One algorithm. Steps are slots of single episodes, summed over those side by side."""

    environment: dict[str, Any]
    """Keywords of ``dstcc/DeepSpace-v1``'s spaces."""
    reward: str
    learner: LearnerSettings
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

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        import json

        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found


RECIPES = {
    # Algorithm 1 of Ha et al., ICT Express 2023, with the settings of its section 5.1. Beside the decisions for what
    # the paper leaves open (window factors, learning rate, target, epsilon), one thing is shortened: an update per 4
    # steps, where Algorithm 1 has at least one a step. Values look 20 slots ahead (γ = 0.95) and so need many renewals
    # of the target: every 250 updates there are 36 of them in a training. Equation 2 has no bound on the window, so
    # there is no headroom: at twice the measured bandwidth-delay product a window doubles once a round trip, whatever
    # the action.
    "iodst-dqn": Recipe(
        environment={"observation": "paper", "action": "joint", "windows": PAPER_WINDOWS, "headroom": 0},
        reward="eq6",
        learner=DqnSettings(learning_rate=3e-4, target_every=250),
        steps=40_960,
        learn_every=4,
        epsilon_steps=30_000,
        evaluate_every=10_240,
    ),
    # The same problem in a table of 144 states; the ranges are ours (observe.py scales the values: windows of 255 and
    # 4,095 segments; 2 % lost; 1.25 times the measured bandwidth-delay product). With finer ones an entry is visited
    # too rarely: what two actions differ by is a hundredth of what a value scatters.
    "iodst-q": Recipe(
        environment={"observation": "paper", "action": "multi", "windows": PAPER_WINDOWS, "headroom": 0},
        reward="eq6",
        learner=QTableSettings(
            edges={
                "cwnd": (0.8, 1.2),
                "loss": (0.02,),
                "utilisation": (1.25,),
                "rtt": (),
            }
        ),
        steps=32_768,
        epsilon_steps=24_000,
        evaluate_every=8_192,
    ),
    # Zhang et al., Entropy 2023: rounds of 1,200 steps on two flows, 80 of them on many links (theirs: 50 on one).
    "pbq": Recipe(
        environment={"observation": "pbq", "action": "continuous", "pacing": "bbr", "headroom": 0},
        reward="pbq",
        learner=PpoSettings(),
        steps=96_000,
        episodes=8,
        evaluate_every=9_600,
        metric=RETURN,
    ),
    # Xu et al., IEEE JSAC 2019.
    "drl-cc": Recipe(
        environment={"observation": "drl-cc", "action": "continuous", "headroom": 0},
        reward="log-goodput",
        learner=DdpgSettings(),
        steps=30_720,
        learn_every=8,
        epsilon_steps=20_000,
        evaluate_every=10_240,
    ),
    # Lee and Yoo, Sensors 2022, over the windows of CUBIC.
    "mpquic-rl": Recipe(
        environment={"observation": "mpquic-rl", "action": "policies", "layers": MAX_LAYERS},
        reward="chunks",
        learner=SchedulerSettings(),
        steps=160_000,
        episodes=8,
        evaluate_every=16_000,
        metric=RETURN,
    ),
    # Ours. What the paths carry is measured (dstcc.learn.paths.measure), so that a window action says how much of it to
    # use; layers are bound when a subflow has room, in an order that is decided too, on lanes enough that none waits.
    "dstcc": Recipe(
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
        learner=RolloutSettings(usual=(1, 2, 0, 1), margin=0.2),
        steps=262_144,
        episodes=34,
        learn_every=64,
        evaluate_every=16_384,
        validation=44,
    ),
}


def recipe_of(algorithm: str) -> Recipe:
    """The recipe of that name; raises InputError with the names there are."""
    if algorithm not in RECIPES:
        near = get_close_matches(algorithm, RECIPES, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise InputError(f"--algorithm {algorithm}: no such algorithm to train ({', '.join(RECIPES)}){hint}")
    return RECIPES[algorithm]
