"""The learning of Lee and Yoo's scheduler (Sensors 2022): double DQN over seven scheduling policies, chunk by chunk.

An episode is a chunk's download. Once per slot, while a chunk is in transfer, the best policy by Q is chosen, or with
probability ε one at random; ε falls by a factor per action. A transition ends its episode when a chunk's last byte
was acknowledged in its slot (``engine/src/dispatch/chunks.hpp``). Slots in which nothing waits teach nothing and
are left out. An update (:mod:`dstcc.learn.algorithms.dqn`, double) per action; target every ``target_every`` actions.

At random only when the client is rich: what it has in store lasts ``rich_s`` beyond now. The paper reads it from
the client's requests; here it follows from the next chunk's playout time, ``chunk_due_s``.

In the paper learning runs in a thread of its own so that scheduling never waits, with a copy of the policy that
acts and is renewed now and then. Here the clock stands still while learning, and the same copy acts: numpy alone,
renewed with the target.

Deviations. The paper learns while it plays one video, its policy starts from nothing; ours is trained on many and
shipped. Network, learning rate, least ε and the weight of an episode's reward are not in the paper. The paper's
Algorithm 1 prints the target network's own maximum, its text double DQN: double it is. Its client leaves chunks
with random actions out of its rate estimate; no client adapts its rate in training. As the paper runs it, from nothing
and with such a client: :mod:`dstcc.papers.learn_anew`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Arrays
from dstcc.engine.stepper import EPISODE_VALUES
from dstcc.learn.policies.network import Mlp
from dstcc.learn.spaces.scales import column

from .dqn import Dqn
from .learner import Kept, Slot, Weights
from .recipe import Task
from .recipes.iodst_dqn import DqnSettings
from .recipes.mpquic_rl import SchedulerSettings
from .streams import generator


class MpquicRl(Kept):
    """A :class:`~dstcc.learn.algorithms.learner.Learner` of scheduling policies."""

    group = 1
    COUNTS = ("actions",)

    def __init__(self, task: Task) -> None:
        settings = task.recipe.learner
        assert isinstance(settings, SchedulerSettings)
        self.settings, self._shape = settings, (task.observation.size, task.action.outputs)
        made = DqnSettings(
            hidden=settings.hidden,
            learning_rate=settings.learning_rate,
            discount=settings.discount,
            batch=settings.batch,
            buffer=settings.buffer,
            target_every=settings.target_every,
            double=True,
        )
        size, choices = self._shape
        self.dqn = Dqn(size, (choices,), made, seed=task.seed, device=task.device)
        self.actions = 0
        self._explore = generator(task.seed, "policies")
        self._acting = self._copy()

    def act(
        self, observations: NDArray[np.float32], episode_values: NDArray[np.float64], _step: int
    ) -> NDArray[np.int64]:
        """The acting copy's choice, or where the client is rich now and then another."""
        best = self.best(observations)
        random = self._explore.integers(0, self._shape[1], len(best))
        explores = self._explore.random(len(best)) < self.exploration(0)
        rich = column(episode_values, EPISODE_VALUES, "chunk_due_s") >= self.settings.rich_s
        return np.where(explores & rich, random, best)[:, None]

    def best(self, observations: NDArray[np.float32]) -> NDArray[np.int64]:
        """The acting copy's choice, (K,)."""
        choices: NDArray[np.int64] = self._acting(observations).argmax(axis=1)
        return choices

    def take(self, slot: Slot, _step: int) -> float | None:
        """Remember the slots with a chunk in transfer, with an update for each."""
        waits = column(slot.before, EPISODE_VALUES, "chunk_bytes") > 0
        if not waits.any():
            return None
        ended = (column(slot.after, EPISODE_VALUES, "chunks_done") > 0) | slot.done
        transitions = slot.transitions(self.settings.discount, ended)
        self.dqn.remember({name: values[waits] for name, values in transitions.items()})
        loss = None
        for _ in range(int(waits.sum())):
            self.actions += 1
            if len(self.dqn.replay) >= self.settings.batch:
                loss = self.dqn.learn()
                if self.dqn.updates % self.settings.target_every == 0:
                    self._acting = self._copy()
        return loss

    def exploration(self, _step: int) -> float:
        """ε, by the actions so far."""
        return max(self.settings.epsilon_least, self.settings.epsilon_factor**self.actions)

    def weights(self) -> Weights:
        """A chain of layers."""
        return self.dqn.online.weights()

    def arrays(self) -> Arrays:
        """The copy that acts is the target's."""
        return self.dqn.arrays()

    def draws(self) -> dict[str, np.random.Generator]:
        """Of policies at random."""
        return {"policies": self._explore}

    def document(self) -> dict[str, Any]:
        """See :class:`Kept`."""
        return {**super().document(), "dqn": self.dqn.document()}

    def restore(self, arrays: Arrays, document: dict[str, Any]) -> None:
        """See :class:`Kept`."""
        super().restore(arrays, document)
        self.dqn.restore(arrays, document["dqn"])
        self._acting = self._copy()

    def _copy(self) -> Mlp:
        """The target network, which is what acts."""
        weights = self.dqn.target.weights()
        return Mlp(weights.network, weights.tensors, *self._shape)
