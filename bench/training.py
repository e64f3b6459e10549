"""The cost of training: environment steps per second, learning included."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .figure import Measured, core_s, interleaved, median_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from dstcc.scenario import Scenario

LINKS = (("a", 115_200, 8.5), ("b", 240_000, 10.0))
"""The shortest round trips of Ha et al.'s table 1, in seconds for its minutes: 82 and 200 packets of BDP."""
EPISODES = LEARN_EVERY = 64
ROUNDS = 40
"""Steps of all episodes per repeat."""
MISSIONS = Path(__file__).parents[1] / "examples/iodst/training"
DECISIONS, REPEATS = 60, 5
"""Of the shipped recipe: decisions of all episodes per repeat."""


def train_steps_per_s() -> Measured:
    """Slots of one round trip on one core, an update of 512 transitions per 64 of them, the paper's state and network.

    A controller's window is 0 or the link's BDP, so that the links are busy.
    """
    from dstcc.learn.algorithms.dqn import OffPolicy
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


def train_shipped_steps_per_s() -> Measured:
    """Decisions of four slots each as ``dstcc train`` makes them by default, on one core, updates included."""
    from dstcc.learn.algorithms.recipes import RECIPES
    from dstcc.learn.algorithms.rollouts import Rollouts
    from dstcc.learn.training.loop import deterministic
    from dstcc.learn.training.state import Training

    with deterministic():
        training = Training(MISSIONS, "dstcc", RECIPES["dstcc-lanes"], seed=1)
        learner, stepper = training.learner, training.fleet.runner.stepper
        assert isinstance(learner, Rollouts)
        spent = {"engine": 0.0, "updates": 0.0}

        def timed(name: str, work: Callable[[], object]) -> Callable[[], object]:
            def run() -> object:
                begin = time.thread_time()
                result = work()
                spent[name] += time.thread_time() - begin
                return result

            return run

        for name, owner, method in (("engine", stepper, "step"), ("updates", learner, "_learn")):
            setattr(owner, method, timed(name, getattr(owner, method)))
        while not learner.updates:
            training.step()

        def steps() -> None:
            for _ in range(DECISIONS):
                training.step()

        parts = []
        for _ in range(REPEATS):
            spent.update(engine=0.0, updates=0.0)
            parts.append((core_s(steps), *spent.values()))
        times, engine, updates = zip(*parts, strict=True)
        rates = tuple(DECISIONS * training.fleet.count / one for one in times)
    return Measured(
        statistics.median(rates),
        "steps/s/core",
        "CPU outside the engine / of all",
        1 - median_ratio(engine, times),
        repeats=rates,
        details={"updates": median_ratio(updates, times)},
        notes=(f"{median_ratio(updates, times):.0%} of it updates of the network",),
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
