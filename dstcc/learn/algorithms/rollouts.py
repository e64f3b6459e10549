"""Learning from rollouts: what a choice would have brought, had it been kept for the whole episode.

Model. Episodes come in groups with one scenario seed. The first of a group follows the policy π, greedy in A(s, b, ·)
plus ``margin`` for the default choice. Each of the others keeps one choice a of one branch b throughout (of all
subflows, if it is a window) and follows π in all other branches. G is the sum of an episode's rewards, and s_t, π(s_t)
are what the first saw and did:

    L = mean over t, b, a of (A(s_t, b, a) − A(s_t, b, π_b(s_t)) − D_ba)²      D_ba = clip(G_ba − G_π, ±``clip``)

by Adam, on batches from the last episodes. As A gets better so does π, whose rollouts come next.

All episodes of a group meet the same links and losses: their difference is mostly what the choice made of it. A
decision among dozens that are pending changes an episode by less than the next loss does, which is what keeps
Q-learning from telling choices apart here (docs/learning.md has the figures).

Sources: Lagoudakis and Parr, ICML 2003 (policy iteration from rollouts); Bertsekas, Rollout, Policy Iteration, and
Distributed Reinforcement Learning, 2020. Ours: one branch at a time, and choices that are kept to the end, so that the
differences are those of fixed choices and A is right where the best choice of a mission does not change in mid-run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dstcc.arrays import Arrays
from dstcc.learn.spaces.branched import BranchedActions, branched

from .learner import Slot, Weights
from .recipe import Task
from .recipes.dstcc_lanes import RolloutSettings
from .rollout_loss import RolloutLoss
from .sets_torch import sets_network
from .streams import generator
from .torches import Changed, TorchKept, to_numpy

FOLLOW = -1


def group_size(action: BranchedActions) -> int:
    """The policy's own episode, and one for each choice of each branch; subflows have one branch together."""
    return 1 + len(action.windows) + sum(action.branches[action.subflows :])


class Rollouts(TorchKept):
    """A :class:`~dstcc.learn.algorithms.learner.Learner`; the fleet's episodes are whole groups."""

    COUNTS = ("added", "updates")

    def __init__(self, task: Task) -> None:
        recipe, settings = task.recipe, task.recipe.learner
        assert isinstance(settings, RolloutSettings)
        self.recipe, self.settings, self.device = recipe, settings, torch.device(task.device)
        action, size = branched(task.action), task.observation.size
        self.size = self.group = group_size(action)
        self.groups = recipe.episodes // self.size
        if self.groups * self.size != recipe.episodes:
            raise ValueError(f"{recipe.episodes} episodes are no groups of {self.size}")
        self.network = sets_network(task.observation, action, settings.sets, seed=task.seed).to(self.device)
        self._action = action
        self.network.favour(settings.default_choices, settings.margin)
        self._parameters = list(self.network.parameters())
        self.optimiser = torch.optim.Adam(self._parameters, lr=settings.learning_rate, fused=True)
        self._kept = np.tile(self._deviations(action), (self.groups, 1))
        self._draw = generator(task.seed, "replay")
        branches, kept = len(action.branches), settings.kept
        self._data: Arrays = {
            "observation": np.zeros((settings.memory, kept, size), dtype=np.float32),
            "chosen": np.zeros((settings.memory, kept, branches), dtype=np.int64),
            "gain": np.zeros((settings.memory, self.size - 1), dtype=np.float32),
        }
        self._subflows = action.subflows
        sizes = len(action.windows), action.branches[action.subflows :]
        self._loss = RolloutLoss(action.subflows, *sizes, self.device)
        self.added = 0
        self._returns = np.zeros(recipe.episodes)
        self._turns = np.zeros(recipe.episodes, dtype=np.int64)
        self._ended: dict[tuple[int, int], dict[int, float]] = {}
        """(group, turn) → place in the group → G, of those that have ended."""
        self._seen: dict[tuple[int, int], list[tuple[NDArray[Any], NDArray[Any]]]] = {}

    def act(
        self, observations: NDArray[np.float32], _episode_values: NDArray[np.float64], _step: int
    ) -> NDArray[np.int64]:
        """The policy's choices, but for those that an episode keeps."""
        with torch.inference_mode():
            windows, rest, _ = self.network.choices(torch.from_numpy(observations).to(self.device))
            outputs = torch.cat([windows.flatten(1), rest], dim=1) + self.network.prior
        best = self._action.greedy(to_numpy(outputs))
        return np.where(self._kept == FOLLOW, best, self._kept)

    def take(self, slot: Slot, step: int) -> float | None:
        """Add up rewards, close the groups that are whole, and make the updates that are due."""
        self._returns += slot.rewards
        for group in range(self.groups):
            first = group * self.size
            key = (group, int(self._turns[first]))
            self._seen.setdefault(key, []).append((slot.observations[first], slot.actions[first]))
        for place in np.flatnonzero(slot.done).tolist():
            group, member = divmod(place, self.size)
            key = (group, int(self._turns[place]))
            ended = self._ended.setdefault(key, {})
            ended[member] = float(self._returns[place])
            self._returns[place] = 0.0
            self._turns[place] += 1
            if len(ended) == self.size:
                self._close(key)
        loss, every = None, self.recipe.learn_every
        due = step // every - (step - self.recipe.episodes) // every
        for _ in range(due if self.added >= self.settings.least else 0):
            loss = self._learn()
        return loss

    def exploration(self, _step: int) -> float:
        """The share of episodes that keep a choice."""
        return 1 - 1 / self.size

    def weights(self) -> Weights:
        """The network of sets."""
        return self.network.weights()

    def draws(self) -> dict[str, np.random.Generator]:
        """Of batches."""
        return {"draw": self._draw}

    def held(self) -> Arrays:
        """The groups that are whole, and how far the others are."""
        held = min(self.added, self.settings.memory)
        arrays = {f"data.{name}": values[:held] for name, values in self._data.items()}
        return arrays | {"returns": self._returns, "turns": self._turns}

    def changed(self) -> Sequence[Changed]:
        """The network of sets."""
        return (Changed("network", self.network, self.optimiser),)

    def arrays(self) -> Arrays:
        """See :class:`Kept`; with the groups that are not whole."""
        arrays = super().arrays()
        ended = [
            (*key, member, value) for key, members in self._ended.items() for member, value in members.items()
        ]
        arrays["ended"] = np.array(ended, dtype=np.float64).reshape(-1, 4)
        keys = [key for key, rows in self._seen.items() for _ in rows]
        arrays["seen.key"] = np.array(keys, dtype=np.int64).reshape(-1, 2)
        for k, name in enumerate(("observation", "chosen")):
            rows = [row[k] for decisions in self._seen.values() for row in decisions]
            arrays[f"seen.{name}"] = np.array(rows, dtype=self._data[name].dtype).reshape(
                -1, self._data[name].shape[2]
            )
        return arrays

    def restore(self, arrays: Arrays, document: dict[str, Any]) -> None:
        """See :class:`Kept`."""
        super().restore(arrays, document)
        self._ended, self._seen = {}, {}
        for group, turn, member, value in arrays["ended"].tolist():
            self._ended.setdefault((int(group), int(turn)), {})[int(member)] = value
        rows = zip(
            arrays["seen.key"].tolist(), arrays["seen.observation"], arrays["seen.chosen"], strict=True
        )
        for (group, turn), observation, chosen in rows:
            self._seen.setdefault((group, turn), []).append((observation.copy(), chosen.copy()))

    def _close(self, key: tuple[int, int]) -> None:
        """A group is whole: keep some of what its policy saw, evenly over the episode, and what each choice brought."""
        ended, rows = self._ended.pop(key), self._seen.pop(key)
        place = self.added % self.settings.memory
        picked = np.linspace(0, len(rows) - 1, self.settings.kept).round().astype(int).tolist()
        self._data["observation"][place] = [rows[k][0] for k in picked]
        self._data["chosen"][place] = [rows[k][1] for k in picked]
        gains = np.array([ended[member] for member in range(1, self.size)]) - ended[0]
        self._data["gain"][place] = np.clip(gains, -self.settings.clip, self.settings.clip)
        self.added += 1

    def _learn(self) -> float:
        """One update from one batch; the loss."""
        held, kept = min(self.added, self.settings.memory), self.settings.kept
        groups = self._draw.integers(0, held, self.settings.batch)
        rows = self._draw.integers(0, kept, self.settings.batch)
        seen, chosen = (
            torch.from_numpy(self._data[name][groups, rows]).to(self.device)
            for name in ("observation", "chosen")
        )
        gain = torch.from_numpy(self._data["gain"][groups]).to(self.device)
        values = self.network(seen)
        loss, gradient = self._loss(values, self.network.present(seen), chosen, gain)
        for parameter in self._parameters:
            parameter.grad = None
        values.backward(gradient)
        nn.utils.clip_grad_norm_(self._parameters, self.settings.max_grad_norm)
        self.optimiser.step()
        self.updates += 1
        return loss

    def _deviations(self, action: BranchedActions) -> NDArray[np.int64]:
        """What each episode of a group keeps, (size, branches)."""
        table = np.full((self.size, len(action.branches)), FOLLOW, dtype=np.int64)
        table[1 : 1 + len(action.windows), : action.subflows] = np.arange(len(action.windows))[:, None]
        row = 1 + len(action.windows)
        for branch in range(action.subflows, len(action.branches)):
            for choice in range(action.branches[branch]):
                table[row, branch] = choice
                row += 1
        return table
