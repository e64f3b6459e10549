"""Lee and Yoo's scheduler as they run it: without weights at first, and learning while the video plays.

The learner is that of ``dstcc train --algorithm mpquic-rl`` (:mod:`dstcc.learn.algorithms.mpquic`), in the place of the
shipped policy: after each slot it learns from the slot, and chooses for the next. Where a session is simulated again
(:mod:`dstcc.papers.server`) it goes back to what it had learnt before the first slot that is new; now and then its
state is kept for that.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Arrays
from dstcc.learn.algorithms.learner import Slot
from dstcc.learn.algorithms.mpquic import MpquicRl
from dstcc.learn.algorithms.recipes import Task, recipe_of
from dstcc.learn.env.reward import REWARDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.env.runner import Runner
    from dstcc.learn.policies.policy import Policy

    from .explore import Explorer

LEARNER = "mpquic-rl"
EVERY = 16
"""Slots from one state that is kept to the next."""


class Lessons:
    """A learner that can go back."""

    def __init__(self, policy: Policy, seed: int) -> None:
        """Of the policy only what it sees and may do is used."""
        self._policy, self._seed = policy, seed
        self._slots: list[Slot] = []
        self._states: dict[int, tuple[Arrays, dict[str, Any]]] = {}
        self._learner, self._learnt = self._new(), 0

    def best(self, seen: NDArray[np.float32]) -> NDArray[np.int64]:
        """The choice for the coming slot, (1,)."""
        return self._learner.best(seen)

    def learn(self, slot: Slot) -> None:
        """From a slot that ended."""
        self._slots.append(slot)
        self._take(slot)
        if self._learnt % EVERY == 0:
            self._states[self._learnt] = deepcopy((self._learner.arrays(), self._learner.document()))

    def go_back(self, slots: int) -> None:
        """Forget all after so many."""
        del self._slots[slots:]
        if self._learnt == slots:
            return
        self._states = {after: state for after, state in self._states.items() if after <= slots}
        self._learner, self._learnt = self._new(), max(self._states, default=0)
        if self._learnt:
            self._learner.restore(*deepcopy(self._states[self._learnt]))
        for slot in self._slots[self._learnt :]:
            self._take(slot)

    def _take(self, slot: Slot) -> None:
        self._learner.take(slot, 0)
        self._learnt += 1

    def _new(self) -> MpquicRl:
        policy = self._policy
        return MpquicRl(Task(recipe_of(LEARNER), policy.observation, policy.action, self._seed))


@dataclass(frozen=True)
class Begun:
    """A slot that has not ended."""

    seen: NDArray[np.float32]
    action: NDArray[Any]
    values: NDArray[np.float64]


class LearnAnew:
    """Learns in one session; see :class:`dstcc.papers.server.Chooser`."""

    def __init__(self, lessons: Lessons, explorer: Explorer, mss_bytes: int) -> None:
        """Begin."""
        self._lessons, self._explorer = lessons, explorer
        self._mss = np.full((1, 1), float(mss_bytes))
        self._reward = REWARDS[recipe_of(LEARNER).reward]
        self._begun: list[Begun] = []

    def go_back(self, slots: int, until_ns: int) -> None:
        """See :class:`dstcc.papers.server.Chooser`."""
        del self._begun[slots:]
        self._lessons.go_back(
            max(slots - 1, 0)
        )  # the last of them has not been learnt from when the next is chosen
        self._explorer.go_back(slots, until_ns)

    def choose(self, runner: Runner, _action: NDArray[Any]) -> NDArray[Any]:
        """The learner's best, or one at random."""
        seen, values = runner.observations.copy(), runner.stepper.episode_values.copy()
        if self._begun:
            self._lessons.learn(self._slot(runner, seen, values))
        action = self._explorer.choose(runner, self._lessons.best(seen))
        self._begun.append(Begun(seen, action, values))
        return action

    def _slot(self, runner: Runner, seen: NDArray[np.float32], values: NDArray[np.float64]) -> Slot:
        """That ended."""
        begun, ended = self._begun[-1], np.zeros(1, dtype=np.bool_)
        return Slot(
            observations=begun.seen,
            actions=begun.action[:, None],
            rewards=self._reward(runner.stepper.subflow_values, values, self._mss),
            following=seen,
            terminated=ended,
            done=ended,
            before=begun.values,
            after=values,
        )
