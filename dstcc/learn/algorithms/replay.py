"""Experience: the memory that transitions are drawn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .learner import Kept

Transitions = dict[str, "NDArray[Any]"]
"""``observation`` (B, features), ``action`` (B, branches), ``reward`` (B,); ``next`` (B, features) and
``discount`` (B,): what the value of ``next`` counts: γ, or 0 where the episode terminated."""


class Replay(Kept):
    """The last ``capacity`` transitions, in arrays that are allocated once (and cost memory as they fill)."""

    COUNTS = ("added",)

    def __init__(
        self, capacity: int, features: int, branches: int, action: type[np.generic] = np.int32
    ) -> None:
        self.added = 0
        self._arrays: Transitions = {
            "observation": np.zeros((capacity, features), dtype=np.float32),
            "action": np.zeros((capacity, branches), dtype=action),
            "reward": np.zeros(capacity, dtype=np.float32),
            "next": np.zeros((capacity, features), dtype=np.float32),
            "discount": np.zeros(capacity, dtype=np.float32),
        }
        self.capacity = capacity

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, transitions: Transitions) -> None:
        """Keep these; the oldest make room."""
        count = len(transitions["reward"])
        places = (self.added + np.arange(count)) % self.capacity
        for name, values in transitions.items():
            self._arrays[name][places] = values
        self.added += count

    def sample(self, draws: np.random.Generator, count: int) -> Transitions:
        """``count`` transitions, each drawn evenly from all there are."""
        places = draws.integers(0, len(self), count)
        return {name: values[places] for name, values in self._arrays.items()}

    def held(self) -> Transitions:
        """What is in it."""
        return {name: values[: len(self)] for name, values in self._arrays.items()}
