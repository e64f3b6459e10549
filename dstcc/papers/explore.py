"""A policy that acts at random now and then while it runs, as Lee and Yoo's scheduler does (Sensors 2022, sections 3.3
and 5.4): with probability ε one of its actions, where the client has enough in its buffer.

    ε_n = max(least, factor ** n)    n: decisions so far while a chunk was in transfer

The client tells its buffer with each request, so what it told with the chunk in transfer decides for that chunk. Where
that is too little no action is random, and ε falls all the same.

Each decision has a random stream of its own, named by the trial's seed, the chunk and which of the chunk's decisions it
is. So what is drawn depends on nothing else, and a session that is simulated again draws the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from dstcc.arrays import BoolArray, Int64Array
from dstcc.engine.config import NEVER_NS
from dstcc.engine.stepper import EPISODE_VALUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.env.runner import Runner

    from .model import Exploring


STREAM = crc32(b"explore")


@dataclass(frozen=True)
class ExplorationSlot:
    """One of a slot at whose begin a chunk was in transfer."""

    begin_ns: int
    chunk: int
    place: int
    """Among the chunk's."""
    epsilon: float
    """What it is without regard to the buffer."""
    rich: bool
    random: bool


class Explorer:
    """Chooses in one session; see :class:`dstcc.papers.server.Chooser`."""

    def __init__(self, exploring: Exploring, seed: int) -> None:
        """Begin."""
        self._exploring, self._seed = exploring, seed
        self._released_ns, self._rich = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
        self.decisions: list[ExplorationSlot] = []

    def hear(self, released_ns: Int64Array, rich: BoolArray) -> None:
        """Of the simulation that begins: when the server has each chunk's request, rising, and whether the client
        then has enough in its buffer."""
        self._released_ns, self._rich = released_ns, rich

    def go_back(self, _slots: int, until_ns: int) -> None:
        """See :class:`dstcc.papers.server.Chooser`."""
        while self.decisions and self.decisions[-1].begin_ns >= until_ns:
            self.decisions.pop()

    def choose(self, runner: Runner, action: NDArray[Any]) -> NDArray[Any]:
        """The policy's action, or one at random."""
        if not runner.stepper.episode_values[0, UNDER_WAY] > 0:
            return action
        now_ns = round(runner.time_s(0) * 1e9)
        chunk = int(np.searchsorted(self._released_ns, now_ns, side="right")) - 1
        last = self.decisions[-1] if self.decisions else None
        place = last.place + 1 if last is not None and last.chunk == chunk else 0
        draws = np.random.default_rng([self._seed, STREAM, chunk, place])
        epsilon, rich = self._exploring.epsilon(len(self.decisions)), bool(self._rich[chunk])
        random = rich and draws.random() < epsilon
        self.decisions.append(ExplorationSlot(now_ns, chunk, place, epsilon, rich, random))
        return np.full_like(action, draws.integers(runner.action.outputs)) if random else action

    def touched(self, asked_ns: Int64Array, whole_ns: Int64Array, slot_ns: int) -> BoolArray:
        """The chunks during whose download, or a part of it, an action was random."""
        begins = np.array([one.begin_ns for one in self.decisions if one.random], dtype=np.int64)
        # The first random slot that ends after the request touches the chunk if it begins before the chunk is whole.
        first = np.searchsorted(begins, asked_ns - slot_ns, side="right")
        touched: BoolArray = np.append(begins, NEVER_NS)[first] < whole_ns
        return touched


UNDER_WAY = EPISODE_VALUES.index("chunk_bytes")
"""The size of the oldest chunk that is not wholly acknowledged; 0 where there is none."""


def measured(decisions: list[ExplorationSlot]) -> dict[str, float | None]:
    """Numbers of a session's decisions: ε at the first and at the last; the share of them at random, in percent, where
    the client was rich, and by how much that is above the share elsewhere."""
    if not decisions:
        return {}
    rich, poor = ([one.random for one in decisions if one.rich is which] for which in (True, False))
    shares = [100 * float(np.mean(part)) if part else 0.0 for part in (rich, poor)]
    return {
        "epsilon_first": decisions[0].epsilon,
        "epsilon_fall": decisions[0].epsilon - decisions[-1].epsilon,
        "random_where_rich_percent": shares[0],
        "random_rich_above_poor": shares[0] - shares[1],
    }
