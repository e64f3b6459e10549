"""What each part of the controller `dstcc-lanes` brings: the tables of docs/learning.md.

    python -m experiments.ablation [--trainings 5] [--steps 24576] [--only TEXT] [--shipped]

First table: trainings of the same number of decisions on examples/iodst/training, seeds 1 and up, each once with the
shipped recipe and with a DQN in its place, that with one part after the other left out. Second table: the shipped
policy, run with one part of its action space changed, and fixed choices. Values are means of `weighted_layers` over two
seeds of every scenario, twenty in the second table, 4001 and up, that nothing was trained on or chosen by; differences
are to the default action on the same seeds, with 95 % bootstrap intervals over the trainings, in the second table over
the seeds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import bootstrap

from dstcc.learn.algorithms.recipe import Settings
from dstcc.learn.algorithms.recipes import RECIPES, Recipe
from dstcc.learn.algorithms.recipes.dstcc_lanes import RolloutSettings
from dstcc.learn.env.deep_space import to_episodes
from dstcc.learn.policies.policy import Policy, load_policy
from dstcc.learn.training.evaluate import evaluate
from dstcc.learn.training.state import Training
from dstcc.report.printed import heading
from experiments.ablation_dqn import BranchDqnSettings

FOLDER = Path(__file__).parents[1] / "examples" / "iodst" / "training"
FIRST, ROUNDS = 4001, (2, 20)
"""Seeds of each scenario for trainings, and for the shipped policy."""
OURS = RECIPES["dstcc-lanes"]
assert isinstance(OURS.learner, RolloutSettings)
DEFAULT = OURS.learner.default_choices
DQN = BranchDqnSettings(
    sets=OURS.learner.sets,
    learning_rate=5e-4,
    discount=0.9,
    batch=256,
    buffer=100_000,
    target_every=250,
    double=True,
    dueling=True,
    n_step=8,
    max_grad_norm=10.0,
    explore_branches=True,
    explore_for=16,
    default_choices=DEFAULT,
    margin=0.25,
)
LEARNERS: dict[str, Settings] = {
    "rollouts (shipped recipe)": OURS.learner,
    "rollouts, no margin": replace(OURS.learner, margin=0.0),
    "DQN: double, dueling, 8 steps, margin, held exploration": DQN,
    "DQN, not double": replace(DQN, double=False),
    "DQN, not dueling": replace(DQN, dueling=False),
    "DQN, one step": replace(DQN, n_step=1),
    "DQN, no margin": replace(DQN, margin=0.0),
    "DQN, exploration not held": replace(DQN, explore_for=1),
}
PARTS: dict[str, dict[str, Any]] = {
    "1,024 lanes": {"lanes": 1024},
    "64 lanes": {"lanes": 64},
    "16 lanes": {"lanes": 16},
    "a window that closes": {"pacing": "window"},
    "a decision every slot": {"hold": 1},
    "a decision every 16 slots": {"hold": 16},
}
FIXED: dict[str, tuple[int, ...]] = {
    "default action": DEFAULT,
    "default, nothing twice": (DEFAULT[0], 0, *DEFAULT[2:]),
    "default, base layers where repairable": (*DEFAULT[:2], 2, DEFAULT[3]),
    "default, base layers first": (*DEFAULT[:3], 3),
}


class Trial:
    """So many seeds of every scenario."""

    def __init__(self, rounds: int) -> None:
        self.episodes = to_episodes(FOLDER)
        self.seeds = range(FIRST, FIRST + rounds * len(self.episodes.scenarios))

    def policy(self, policy: Policy) -> NDArray[np.float64]:
        """What a policy plays."""
        return self._play(policy.act, policy)

    def fixed(self, policy: Policy, choice: tuple[int, ...]) -> NDArray[np.float64]:
        """What a choice that never changes plays; the first entry is every subflow's."""
        action = np.array([choice[0]] * policy.action.subflows + list(choice[1:]))
        return self._play(lambda seen: np.tile(action, (len(seen), 1)), policy)

    def _play(
        self, act: Callable[[NDArray[np.float32]], NDArray[Any]], policy: Policy
    ) -> NDArray[np.float64]:
        each = len(self.episodes.scenarios)
        parts = (self.seeds[k : k + each] for k in range(0, len(self.seeds), each))
        return np.concatenate(
            [evaluate(act, self.episodes, policy.observation, policy.action, part) for part in parts]
        )


def recipe_with(learner: Settings) -> Recipe:
    """The shipped recipe, or around a DQN what the DQN needs."""
    if isinstance(learner, RolloutSettings):
        return replace(OURS, learner=learner)
    return replace(
        OURS,
        learner=learner,
        reward="promised-per-slot",
        episodes=32,
        learn_every=32,
        warm_up=2_048,
        epsilon=(0.4, 0.1),
        epsilon_steps=20_000,
    )


def shown(values: NDArray[np.float64]) -> str:
    """Mean and interval of differences."""
    resampled = bootstrap((values,), np.mean, method="percentile", rng=np.random.default_rng(1))
    low, high = resampled.confidence_interval
    return f"{values.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


@click.command(help=__doc__)
@click.option("--trainings", default=5, show_default=True)
@click.option("--steps", default=24_576, show_default=True, help="Decisions of a training.")
@click.option("--only", default="", help="Learners whose name contains this; `-` for none.")
@click.option("--shipped", "alone", is_flag=True, help="Only the shipped policy's row of the second table.")
def main(*, trainings: int, steps: int, only: str, alone: bool) -> None:
    """Print both tables."""
    torch.set_num_threads(1)
    trial, shipped = Trial(ROUNDS[0]), load_policy("dstcc-lanes")
    by_default = trial.fixed(shipped, DEFAULT)
    heading("By learner", ("learner", "weighted_layers", "beside the default action", "CPU seconds"))
    for name, learner in LEARNERS.items():
        if only not in name:
            continue
        began, scores = time.process_time(), []
        for seed in range(1, trainings + 1):
            training = Training(FOLDER, "dstcc-lanes", recipe_with(learner), seed=seed)
            while training.steps < steps:
                training.step()
            scores.append(float(trial.policy(training.policy()).mean()))
        took = (time.process_time() - began) / trainings
        values = np.array(scores)
        print(
            f"| {name} | {values.mean():.4f} | {shown(values - by_default.mean())} | {took:.0f} |", flush=True
        )
    heading("By policy", ("policy", "weighted_layers", "beside the default action"))
    trial = Trial(ROUNDS[1])
    by_default = trial.fixed(shipped, DEFAULT)
    whole: dict[str, dict[str, Any]] = {"": {}}
    for name, parts in (whole | ({} if alone else PARTS)).items():
        played = trial.policy(replace(shipped, action=replace(shipped.action, **parts)))
        print(
            f"| shipped{name and ', '}{name} | {played.mean():.4f} | {shown(played - by_default)} |",
            flush=True,
        )
    for name, choice in (FIXED if not alone else {"default action": DEFAULT}).items():
        played = trial.fixed(shipped, choice)
        print(f"| {name} | {played.mean():.4f} | {shown(played - by_default)} |", flush=True)


if __name__ == "__main__":
    main()
