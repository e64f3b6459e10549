"""Transitions over several steps: R = Σ_{i<n} γ^i r_i stands in r's place, and γ^n in that of γ.

Where a round trip lies between an action and the feedback on it, a step's own reward says little of it. Over the n
slots of a round trip the transition holds what the action did, and no value has to be carried back slot by slot.

Source: Sutton, Machine Learning 1988.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Float32Array

from .learner import Kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .replay import Transitions


class NStep(Kept):
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
        observation: Float32Array,
        action: NDArray[Any],
        reward: NDArray[np.float64],
        *,
        following: Float32Array,
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

    def held(self) -> Transitions:
        """What waits."""
        return dict(self._waiting)
