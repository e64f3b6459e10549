"""The cost of training: environment steps per second, learning included."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TYPE_CHECKING

from .figure import Measured, core_s, interleaved, median_ratio

if TYPE_CHECKING:
    from dstcc.scenario import Scenario

LINKS = (("a", 115_200, 8.5), ("b", 240_000, 10.0))
"""The shortest round trips of Ha et al.'s table 1, in seconds for its minutes: 82 and 200 packets of BDP."""
EPISODES = LEARN_EVERY = 64
ROUNDS = 40
"""Steps of all episodes per repeat."""


def train_steps_per_s() -> Measured:
    """Slots of one round trip on one core, an update of 512 transitions per 64 of them, the paper's state and network.

    A controller's window is 0 or the link's BDP, so that the links are busy.
    """
    from dstcc.learn.algorithms.off_policy import OffPolicy
    from dstcc.learn.algorithms.recipes import RECIPES
    from dstcc.learn.training.loop import deterministic
    from dstcc.learn.training.state import Training

    scenario = _scenario()
    recipe = replace(
        RECIPES["iodst-dqn"],
        environment={
            "observation": "paper",
            "action": "joint",
            "windows": ((0, 82), (0, 200)),
            "headroom": 0,
        },
        episodes=EPISODES,
        learn_every=LEARN_EVERY,
        warm_up=1_024,
        epsilon_steps=100_000,
    )
    with deterministic():
        training = Training(scenario, "iodst-dqn", recipe, seed=1)
        learner = training.learner
        assert isinstance(learner, OffPolicy)

        def steps() -> None:
            for _ in range(ROUNDS):
                training.step()

        def updates() -> None:
            for _ in range(ROUNDS):
                learner.dqn.learn()

        steps()
        times, learning = interleaved(5, lambda: core_s(steps), lambda: core_s(updates))
    rates = tuple(ROUNDS * EPISODES / spent for spent in times)
    return Measured(
        statistics.median(rates),
        "steps/s/core",
        "CPU of the updates alone / of all",
        median_ratio(learning, times),
        repeats=rates,
        details={"batch": learner.dqn.settings.batch, "steps_per_update": LEARN_EVERY},
    )


def _scenario() -> Scenario:
    from dstcc.scenario import parse_scenario

    links = [
        {"name": name, "rate_bps": rate, "delay_s": rtt / 2, "loss": {"packet": 1e-3}}
        for name, rate, rtt in LINKS
    ]
    return parse_scenario(
        {
            "scenario": {"name": "bench"},
            "video": {
                "synthetic": {"chunk_s": 1.0, "layer_bps": [124_000, 109_000, 78_000]},
                "loop_to_s": 2_550,
            },
            "link": links,
            "transport": {"mode": "lanes", "lanes_per_link": 16},
            "run": {"slot_rtts": 1},
        },
        source="bench",
    )
