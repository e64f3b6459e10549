"""Our DQN against stable-baselines3's: the same environment, settings and number of steps."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .figure import Measured, core_s

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.env.episodes import Episodes

SPACES: dict[str, Any] = {
    "observation": "paper",
    "action": "joint",
    "windows": ((0.5, 0), (1.0, 0), (2.0, 0)),
    "headroom": 8,
}
STEPS, LEARN_EVERY, TARGET_STEPS = 40_000, 32, 3_200
ENVS = 32
"""Number of environments, as in the recipes."""
TEST_SEEDS = tuple(range(1, 17))
SCENARIO: dict[str, Any] = {
    "scenario": {"name": "match"},
    "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [150_000, 150_000]}, "loop_to_s": 60},
    "link": [
        {"name": "a", "rate_bps": 200_000, "delay_s": 1.0, "loss": {"packet": 1e-3}},
        {"name": "b", "rate_bps": 300_000, "delay_s": {"uniform": [1.2, 1.8]}, "loss": {"packet": 1e-3}},
    ],
    "transport": {"mode": "lanes"},
    "playout": {"delay_rtts": 2},
    "run": {"slot_rtts": 0.5},
}
"""Two links of 2 and 3 s and a minute of video: an episode of some 60 slots takes a millisecond."""


@dataclass(frozen=True)
class Match:
    """The results of both, one entry per training seed: ``weighted_layers`` on unseen scenarios, CPU seconds."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    our_s: tuple[float, ...]
    their_s: tuple[float, ...]

    def difference(self) -> tuple[float, float]:
        """Ours minus theirs: the mean, and half the width of its 95 % interval (Welch)."""
        from scipy import stats

        test = stats.ttest_ind(self.ours, self.theirs, equal_var=False)
        low, high = test.confidence_interval(0.95)
        return float((low + high) / 2), float((high - low) / 2)


def match(seeds: range, steps: int = STEPS) -> Match:
    """Train both from each of the seeds, alternately."""
    from dstcc.learn.env.episodes import Episodes
    from dstcc.learn.training.loop import deterministic
    from dstcc.scenario import parse_scenario

    episodes = Episodes([parse_scenario(SCENARIO, source="match")])
    rows = []
    with deterministic():
        for seed in seeds:
            rows.append((*_ours(episodes, seed, steps), *_theirs(episodes, seed, steps)))
    ours, our_s, theirs, their_s = (tuple(column) for column in zip(*rows, strict=True))
    return Match(ours, theirs, our_s, their_s)


def dqn_match() -> Measured:
    """CPU of a training; the details have the scores."""
    result = match(range(1, 6))
    mean, half = result.difference()
    scores = [float(np.mean(side)) for side in (result.ours, result.theirs)]
    return Measured(
        STEPS / statistics.median(result.our_s),
        "steps/s/core",
        "CPU of stable-baselines3's DQN / ours",
        statistics.median(theirs / ours for ours, theirs in zip(result.our_s, result.their_s, strict=True)),
        repeats=tuple(STEPS / spent for spent in result.our_s),
        details={
            "ours": result.ours,
            "stable_baselines3": result.theirs,
            "difference": mean,
            "half_width": half,
        },
        notes=(
            f"dqn_match: weighted_layers {scores[0]:.3f} and {scores[1]:.3f} (stable-baselines3), difference "
            f"{mean:+.3f} ± {half:.3f}",
        ),
    )


def _ours(episodes: Episodes, seed: int, steps: int) -> tuple[float, float]:
    from dstcc.learn.algorithms.recipes import Recipe
    from dstcc.learn.algorithms.recipes.iodst_dqn import DqnSettings
    from dstcc.learn.training.state import Training

    recipe = Recipe(
        environment=SPACES,
        reward="weighted-layers",
        learner=DqnSettings(
            hidden=(64, 64),
            learning_rate=2e-4,
            discount=0.95,
            batch=128,
            buffer=steps,
            target_every=TARGET_STEPS // LEARN_EVERY,
            max_grad_norm=10.0,
        ),
        steps=steps,
        episodes=ENVS,
        learn_every=LEARN_EVERY,
        warm_up=1_000,
        epsilon_steps=steps // 2,
    )
    training = Training(episodes.scenarios, "match", recipe, seed=seed)

    def learn() -> None:
        while training.steps < steps:
            training.step()

    spent = core_s(learn)
    return _score(episodes, training.policy().act), spent


def _theirs(episodes: Episodes, seed: int, steps: int) -> tuple[float, float]:
    from stable_baselines3 import DQN
    from stable_baselines3.common.vec_env import DummyVecEnv

    from dstcc.learn.env.deep_space import DeepSpaceEnv

    made = DummyVecEnv([lambda: DeepSpaceEnv(episodes.scenarios, **SPACES)] * ENVS)
    model = DQN(
        "MlpPolicy",
        made,
        learning_rate=2e-4,
        buffer_size=steps,
        learning_starts=1_000,
        batch_size=128,
        gamma=0.95,
        train_freq=LEARN_EVERY // ENVS,
        gradient_steps=1,
        target_update_interval=TARGET_STEPS,
        exploration_fraction=0.5,
        exploration_initial_eps=1.0,
        exploration_final_eps=0.05,
        max_grad_norm=10.0,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device="cpu",
    )
    spent = core_s(lambda: model.learn(steps))

    def act(observations: NDArray[np.float32]) -> NDArray[Any]:
        actions, _ = model.predict(observations, deterministic=True)
        array: NDArray[Any] = np.asarray(actions)
        return array

    return _score(episodes, act), spent


def _score(episodes: Episodes, act: Any) -> float:
    from dstcc.learn.env.deep_space import make_specs
    from dstcc.learn.training.evaluate import evaluate

    return float(evaluate(act, episodes, *make_specs(episodes, **SPACES), TEST_SEEDS).mean())
