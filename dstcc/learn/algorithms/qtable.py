"""Q-learning in a table, for the state of Ha et al. (ICT Express 2023) cut into ranges.

Model. Every value of the observation falls into one of a few ranges (``QTableSettings.edges``), all of them
together are the state s, a row of the table. As in :mod:`dstcc.learn.algorithms.dqn` there is a branch per subflow (its
window) and per layer (its subflow); the greedy action takes the best choice of each. After a slot with actions a_b,
reward r and next state s':

    Q(s, b, a_b) ← Q(s, b, a_b) + η (r + γ mean_b' max_a Q(s', b', a) − Q(s, b, a_b))     η = 1 / visits, within bounds

with 0 for the last term's Q(s') where the episode terminated. A state never seen holds its windows.

Sources: Watkins and Dayan, Machine Learning 8, 1992 (Q-learning); Ha et al., who name Q-learning as DQN's
forerunner and give no table of theirs; Tavakoli et al., AAAI 2018 (branches).

Deviations. One table entry per joint action, as Ha et al.'s equation 5 would have it, is 288 columns for two
subflows and three layers, of which a training visits few: branches make it 18. The ranges are ours.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Arrays
from dstcc.learn.policies.network import ActionValues
from dstcc.learn.spaces.branched import branched

from .learner import Kept, Slot, Weights
from .recipe import Task
from .recipes.iodst_q import QTableSettings
from .streams import generator

HOLD = 1e-6
"""Where all else is equal (a state never seen), a window's α = 1 and β = 0."""


class QTable(Kept):
    """A tabular :class:`~dstcc.learn.algorithms.learner.Learner`; needs no torch, and no device."""

    group = 1

    def __init__(self, task: Task) -> None:
        settings = task.recipe.learner
        assert isinstance(settings, QTableSettings)
        choices = branched(task.action)
        self.recipe, self.settings, self.branches = task.recipe, settings, choices.branches
        self.edges = [settings.edges[name.rpartition(".")[2]] for name in task.observation.names]
        rows = prod(len(cuts) + 1 for cuts in self.edges)
        self.table = np.zeros((rows, sum(self.branches)))
        self.visits = np.zeros(self.table.shape, dtype=np.int32)
        self._starts = np.array([0, *np.cumsum(self.branches)[:-1]])
        if (1.0, 0) in choices.windows:
            self.table[:, self._starts[: choices.subflows] + choices.windows.index((1.0, 0))] = HOLD
        self._explore = generator(task.seed, "explore")

    def act(
        self, observations: NDArray[np.float32], _episode_values: NDArray[np.float64], step: int
    ) -> NDArray[np.int64]:
        """See :class:`~dstcc.learn.algorithms.learner.Learner`."""
        count = len(observations)
        random = self._explore.integers(0, self.branches, (count, len(self.branches)))
        explores = self._explore.random(count) < self.exploration(step)
        values = self.table[self._rows(observations)]
        best = np.stack([part.argmax(axis=1) for part in self._parts(values)], axis=1)
        return np.where(explores[:, None], random, best)

    def take(self, slot: Slot, _step: int) -> float | None:
        """An update per episode; the mean squared error before them."""
        rows, following = self._rows(slot.observations), self._rows(slot.following)
        low, high = self.settings.rates[1], self.settings.rates[0]
        error = 0.0
        for k, row in enumerate(rows.tolist()):
            after = np.mean([part.max() for part in self._parts(self.table[following[k]][None])])
            td_target = slot.rewards[k] + (0.0 if slot.terminated[k] else self.settings.discount * after)
            places = self._starts + slot.actions[k]
            self.visits[row, places] += 1
            rates = np.clip(1 / self.visits[row, places], low, high)
            off = td_target - self.table[row, places]
            self.table[row, places] += rates * off
            error += float(np.square(off).mean())
        return error / len(rows)

    def exploration(self, step: int) -> float:
        """Share of random actions."""
        return self.recipe.epsilon_at(step)

    def weights(self) -> Weights:
        """The table in single precision."""
        document = {"kind": "table", "edges": [list(cuts) for cuts in self.edges]}
        return Weights(document, {"table": self.table.astype(np.float32)})

    def held(self) -> Arrays:
        """The table, and how often each entry was visited."""
        return {"table": self.table, "visits": self.visits}

    def draws(self) -> dict[str, np.random.Generator]:
        """Of random actions."""
        return {"explore": self._explore}

    def _rows(self, observations: NDArray[np.float32]) -> NDArray[np.int64]:
        return ActionValues.rows(self.edges, observations)

    def _parts(self, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        return np.split(values, self._starts[1:], axis=1)
