"""A policy that decides for a connection which somebody else carries: a background flow, or one of a kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Float32Array
from dstcc.engine.stepper import EPISODE_VALUES, LAYER_VALUES, SUBFLOW_VALUES

from .observe import make_observer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig
    from dstcc.learn.paths.captured import Source
    from dstcc.learn.policies.policy import Policy

    from .actions import Actions


class Deciding:
    """A policy for one connection whose values somebody else puts into the arrays, in the shapes of a stepper's with
    one episode (:class:`~dstcc.engine.stepper.Shown`)."""

    def __init__(self, policy: Policy, *, subflows: int, layers: int, mss_bytes: int) -> None:
        """Begin; :meth:`measure` comes next where it measures."""
        self.policy = replace(policy)  # a network of its own, with nothing in its memory
        action = policy.action
        self.subflow_values = np.zeros((1, action.subflows, len(SUBFLOW_VALUES)))
        self.layer_values = np.zeros((1, action.layers, len(LAYER_VALUES)))
        self.episode_values = np.zeros((1, len(EPISODE_VALUES)))
        self._observer = make_observer(policy.observation, 1)
        self._observer.begin(0, subflows=subflows, layers=layers, mss_bytes=mss_bytes)

    def measure(self, config: EngineConfig, source: Source | None = None) -> None:
        """What is known of the trial, and of what is sent in it, its video unless given."""
        self._observer.measure(0, config, source)

    def clock(self, time_s: float, slot_s: float) -> None:
        """Put the time and the slot's length in."""
        self.episode_values[0, EPISODE_VALUES.index("time_s")] = time_s
        self.episode_values[0, EPISODE_VALUES.index("slot_s")] = slot_s

    def observe(self) -> Float32Array:
        """Take in the slot that ended, (1, size)."""
        return self._observer.observe(self)

    def choose(self, observed: Float32Array) -> NDArray[Any] | None:
        """The choice; None for one that is no number."""
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = self.policy.outputs(observed)
        return self.policy.action.greedy(outputs) if np.isfinite(outputs).all() else None

    def decode(self, choice: NDArray[Any]) -> Actions:
        """What a choice says now. Nobody here sends a layer twice, so nothing is ever copied."""
        actions = self.policy.action.decode(choice, self._observer.units(self))
        self._observer.note(actions.layer_subflow, np.zeros_like(actions.copied))
        return actions
