"""Learns a code rate of `ltp` on a scenario: ``dstcc train SCENARIO -o FILE.json --algorithm ltp-rates``.

A baseline in the place of Chen et al., "Reliable Transmission of LTP Using Reinforcement Learning-Based Adaptive FEC"
(arXiv 2506.22470, 2025), of which only the abstract was to be had: the code rate of the next matrix is chosen by
reinforcement learning from the history of feedback, so that fewer matrices fail and little is spent on repair.

Model. A step is a matrix as it closes. State s: the levels of loss that feedback told of
(:mod:`dstcc.ltp_rates.table`). Action a: the share of repair, one of :data:`ACTIONS`. Reward, once the matrix is over:

    R = -1 if it was not decoded (0 otherwise) - c r / k         c = 0.2: a failure costs what 5 k repair segments do
    Q(s, a) = (sum R + N0 Q(s', a)) / (n + N0)                   n: the visits of (s, a), N0 = 8

Feedback does not depend on the share, so no action changes the states that follow: the discount is 0, and Q is a
mean. States seldom seen take after coarser ones s': last and most, last alone, all together. In an episode (a trial
with a seed of its own) each state has one action: with probability epsilon a random one, else the best so far; epsilon
falls from 1 to 0.1 over the first half.

Deviations from the paper: its states, actions, rewards, network and figures are not known to us; all of these are ours,
as are the channels (Gilbert-Elliott), the codes (ideal) and the missions. Decisions of several layers share one table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.algorithms import CODE_RATES
from dstcc.engine import Coding, simulate
from dstcc.errors import DstccError
from dstcc.ltp_rates.table import LEVELS, RATES, STATES, RateTable, save
from dstcc.outputs import check_output
from dstcc.scenario import Scenario, Source, draw_trial, engine_config, load_scenario, load_source

ACTIONS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
COST = 0.2
PRIOR = 8.0
LEAST_EXPLORED = 0.1
FIRST_SEED = 9001
EPISODES = 60


class Learner:
    """Sums of rewards by state and action; :meth:`best` is the greedy action of each state."""

    def __init__(self, cost: float = COST) -> None:
        self.cost = cost
        shape = (LEVELS, LEVELS, LEVELS, len(ACTIONS))
        self.reward, self.visits = np.zeros(shape), np.zeros(shape)

    def learn(self, states: NDArray[np.int64], actions: NDArray[np.int64], failed: NDArray[np.bool_]) -> None:
        """Take in matrices: the state that each was chosen in, its action, and whether it was lost."""
        share = np.array(ACTIONS)[actions]
        place = (*np.unravel_index(states, (LEVELS, LEVELS, LEVELS)), actions)
        np.add.at(self.reward, place, -failed.astype(float) - self.cost * share)
        np.add.at(self.visits, place, 1.0)

    def values(self) -> NDArray[np.float64]:
        """Q by state and action; what was never tried has no value (-inf) where nothing coarser has one, either."""
        every, last, both, whole = (0, 1, 2), (1, 2), (1,), ()
        q = seen = np.zeros((1, 1, 1, len(ACTIONS)))
        for axes in (every, last, both, whole):
            reward, visits = (one.sum(axis=axes, keepdims=True) for one in (self.reward, self.visits))
            q = np.where(seen > 0, (reward + PRIOR * q) / (visits + PRIOR), reward / np.maximum(visits, 1.0))
            seen = np.maximum(seen, visits)
        return np.where(seen > 0, q, -np.inf).reshape(STATES, len(ACTIONS))

    def best(self) -> NDArray[np.int64]:
        """The greedy action of each state; the smallest share of equals."""
        return np.asarray(self.values().argmax(axis=1), dtype=np.int64)


def episode(
    scenario: Scenario, source: Source, seed: int, actions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """A trial under a table: of each matrix that was sent its state, its action, and whether it was lost."""
    config = engine_config(scenario, draw_trial(scenario, source, seed), "ltp", "none")
    if config.coding is None:
        raise DstccError(f"{scenario.scenario.name}: ltp is not coded in it: it needs [coding]")
    shares = tuple(np.array(ACTIONS)[actions].tolist())
    coding: Coding = replace(config.coding, repair=(), rule="table", table=shares)
    result = simulate(replace(config, coding=coding)).coding
    assert result is not None
    assert result.state is not None
    sent = result.state >= 0
    states = result.state[sent]
    return states, actions[states], result.whole[sent] == 0


def train(
    scenario: Scenario, source: Source, *, episodes: int = EPISODES, seed: int = 1, cost: float = COST
) -> RateTable:
    """Learn on a scenario; the same scenario, episodes and seed give the same table."""
    learner, draw = Learner(cost), np.random.default_rng(seed)
    for index in range(episodes):
        explored = max(LEAST_EXPLORED, 1.0 - 2.0 * index / episodes)
        random = draw.random(STATES) < explored
        actions = np.where(random, draw.integers(len(ACTIONS), size=STATES), learner.best())
        states, chosen, failed = episode(scenario, source, FIRST_SEED + index, actions)
        learner.learn(states, chosen, failed)
    record = {
        "scenario": scenario.scenario.name,
        "episodes": episodes,
        "first_seed": FIRST_SEED,
        "seed": seed,
        "cost": cost,
        "matrices": int(learner.visits.sum()),
        "states": int((learner.visits.sum(axis=3) > 0).sum()),
    }
    return RateTable(tuple(np.array(ACTIONS)[learner.best()].tolist()), record)


@dataclass(frozen=True)
class Written:
    """A table that was learned, and where it is."""

    path: Path
    table: RateTable

    def document(self) -> dict[str, Any]:
        """As ``dstcc train --json`` prints it."""
        return {"algorithm": CODE_RATES, "table": str(self.path), **self.table.trained}


def write(scenario: Path, output: Path, *, episodes: int | None = None, seed: int | None = None) -> Written:
    """Learn on a scenario's file and write the table; raises OutputError where there is a file already."""
    check_output(output, RATES, force=False, inputs=[scenario])
    loaded = load_scenario(scenario)
    table = train(
        loaded, load_source(loaded), episodes=episodes or EPISODES, seed=1 if seed is None else seed
    )
    save(table, output)
    return Written(output, table)
