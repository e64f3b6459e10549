"""Experience: n-step transitions as they come to be, and the memory they are drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float32]

Transitions = dict[str, "NDArray[Any]"]
"""``observation`` (B, features), ``action`` (B, branches), ``reward`` (B,): Σ γ^i r_i; ``next`` (B, features) and
``discount`` (B,): what the value of ``next`` counts, γ^n, or 0 where the episode terminated."""


class Replay:
    """The last ``capacity`` transitions, in arrays that are allocated once (and cost memory as they fill)."""

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

    def arrays(self) -> Transitions:
        """What is in it, for a checkpoint."""
        return {name: values[: len(self)] for name, values in self._arrays.items()}

    def restore(self, arrays: Transitions, added: int) -> None:
        """Back from :meth:`arrays`; raises InputError for what does not fit."""
        self.added = added
        for name, values in self._arrays.items():
            fill(values[: len(self)], arrays[name], f"replay {name}")


class NStep:
    """Turns the steps of K episodes side by side into n-step transitions (Sutton, Machine Learning 1988).

    A step's transition is whole n steps later, or when its episode ends: then over the steps that were.
    """

    def __init__(self, steps: int, discount: float, episodes: int, features: int, branches: int) -> None:
        self.steps, self.discount = steps, discount
        self._waiting: Transitions = {  # the first axis is the age in steps
            "observation": np.zeros((steps, episodes, features), dtype=np.float32),
            "action": np.zeros((steps, episodes, branches), dtype=np.int32),
            "reward": np.zeros((steps, episodes)),
            "count": np.zeros(episodes, dtype=np.int32),
        }

    def push(
        self,
        observation: FloatArray,
        action: NDArray[Any],
        reward: NDArray[np.float64],
        *,
        following: FloatArray,
        terminated: NDArray[np.bool_],
        done: NDArray[np.bool_],
    ) -> Transitions:
        """Take a step of all K episodes, ``done`` where it was the last; the transitions that are now whole.

        An episode that is done without having ``terminated`` was cut off: the value of its last observation counts.
        """
        waiting, n = self._waiting, self.steps
        for name, values in (("observation", observation), ("action", action), ("reward", reward)):
            waiting[name][1:] = waiting[name][:-1]
            waiting[name][0] = values
        waiting["count"][:] = np.minimum(waiting["count"] + 1, n)
        complete: list[Transitions] = []
        for age in range(n - 1, -1, -1):
            whole = np.flatnonzero((waiting["count"] > age) & (done | (age == n - 1)))
            powers = self.discount ** np.arange(age, -1, -1)
            complete.append(
                {
                    "observation": waiting["observation"][age, whole],
                    "action": waiting["action"][age, whole],
                    "reward": powers @ waiting["reward"][: age + 1, whole],
                    "next": following[whole],
                    "discount": np.where(terminated[whole], 0.0, self.discount ** (age + 1)),
                }
            )
        waiting["count"][done] = 0
        return {name: np.concatenate([part[name] for part in complete]) for name in complete[0]}

    def arrays(self) -> Transitions:
        """What waits, for a checkpoint."""
        return dict(self._waiting)

    def restore(self, arrays: Transitions) -> None:
        """Back from :meth:`arrays`; raises InputError for what does not fit."""
        for name, values in self._waiting.items():
            fill(values, arrays[name], f"waiting {name}")


def fill(target: NDArray[Any], values: NDArray[Any], name: str) -> None:
    """Copy ``values`` into ``target``; raises InputError for another shape or type."""
    if target.shape != values.shape or target.dtype != values.dtype:
        raise InputError(
            f"{name}: {values.dtype} of shape {values.shape}, expected {target.dtype} {target.shape}"
        )
    target[...] = values
