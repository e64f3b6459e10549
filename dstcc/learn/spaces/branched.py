"""Actions that are a choice per branch: windows and a subflow per layer, as several numbers or as one."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dstcc.engine.config import AGENT
from dstcc.engine.stepper import ALPHA_MAX_Q16, AUTOMATIC, BETA_MAX, ONE_Q16
from dstcc.frozen import dataclass
from dstcc.learn.paths.measure import Units

from .actions import PAPER_WINDOWS, Actions, ActionSpace, check_single, default_order, window_words

MAX_JOINT = 1_000_000
"""Joint actions beyond this do not fit a network's output; `multi` does not grow so."""


@dataclass(frozen=True, kw_only=True)
class BranchedActions(ActionSpace):
    """A number per branch, the first N of them indices into ``windows``, one for each subflow."""

    windows: tuple[tuple[float, float], ...] = PAPER_WINDOWS

    def __post_init__(self) -> None:
        """Raise ValueError for a space that makes no sense."""
        super().__post_init__()
        if not self.windows or any(
            not 0 <= alpha <= ALPHA_MAX_Q16 / ONE_Q16
            or not 0 <= abs(beta) <= BETA_MAX
            or (beta != int(beta) and not self.measured)
            for alpha, beta in self.windows
        ):
            raise ValueError("windows are pairs of alpha in 0..64 and a whole beta")

    @property
    @abstractmethod
    def branches(self) -> tuple[int, ...]:
        """How many choices each branch has."""

    @property
    def outputs(self) -> int:
        """A value per branch and choice."""
        return sum(self.branches)

    def greedy(self, outputs: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """The best choice of each branch, (K, branches)."""
        branches, count, start = self.branches, len(outputs), self.subflows * len(self.windows)
        best = np.empty((count, len(branches)), dtype=np.int64)
        outputs[:, :start].reshape(count, self.subflows, -1).argmax(axis=2, out=best[:, : self.subflows])
        for branch in range(self.subflows, len(branches)):
            outputs[:, start : start + branches[branch]].argmax(axis=1, out=best[:, branch])
            start += branches[branch]
        return best

    def _choices(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        """K actions as choices, (K, branches)."""
        sizes = self._sizes
        if actions.dtype.kind not in "iu":
            raise ValueError(f"{self.encoding} actions are whole numbers of shape (K, {len(sizes)})")
        if actions.ndim != 2 or actions.shape[1] != len(sizes):
            raise ValueError(f"{self.encoding} actions have the shape (K, {len(sizes)}), not {actions.shape}")
        if actions.min(initial=0) < 0 or (actions >= sizes).any():
            raise ValueError(f"{self.encoding} actions are numbers below {self.branches}")
        return actions.astype(np.int64, copy=False)

    def _windows(self, choices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The pairs chosen for the subflows, (K, subflows, 2)."""
        return self._pairs[choices[:, : self.subflows]]

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.array(self.branches, dtype=np.int64)

    @cached_property
    def _pairs(self) -> NDArray[np.float64]:
        return np.array(self.windows, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class MultiActions(BranchedActions):
    """N window actions, then M subflows, then with ``copies`` 0 or 1.

    A window action (α, β) means W ← α·W + β, in segments; α in 0..64, β whole.
    """

    encoding: ClassVar[str] = "multi"

    automatic: bool = False
    """One more choice per layer: the subflow with the earliest expected delivery."""
    copies: bool = False
    """One more branch: 1 sends base layers a second time on another subflow."""

    @property
    def branches(self) -> tuple[int, ...]:
        """How many choices each branch has."""
        per_layer = self.subflows + self.automatic
        windows = (len(self.windows),) * self.subflows
        return windows + (per_layer,) * self.layers + ((2,) if self.copies else ())

    @property
    def scheduler(self) -> str:
        """Layers are bound to a subflow when they are released."""
        return AGENT

    @property
    def copying(self) -> bool:
        """Whether base layers may go a second time."""
        return self.copies

    def described(self, action: NDArray[Any], subflows: int, layers: int) -> dict[str, str]:
        """Each subflow's window, each layer's subflow, and what goes twice."""
        n, m = self.subflows, self.layers
        said = {f"window of subflow {s}": window_words(*self.windows[action[s]]) for s in range(subflows)}
        for layer, place in enumerate(action[n : n + layers]):
            said[f"layer {layer}"] = "earliest" if place == n else f"subflow {place}"
        if self.copies:
            said["sent twice"] = "base layers" if action[n + m] else "nothing"
        return said

    def decode(self, actions: NDArray[Any], units: Units | None = None) -> Actions:
        """From (K, branches); see :meth:`ActionSpace.decode`."""
        choices = self._choices(np.asarray(actions))
        n, m = self.subflows, self.layers
        window = self._windows(choices)
        layer = choices[:, n : n + m]
        copied = np.zeros((len(choices), m), dtype=np.uint8)
        if self.copies:
            copied[:, 0] = choices[:, n + m]
        return Actions(
            np.round(window[..., 0] * ONE_Q16).astype(np.int32),
            window[..., 1].astype(np.int32),
            np.where(layer == n, AUTOMATIC, layer).astype(np.int32),
            copied,
            default_order(len(choices)),
        )


@dataclass(frozen=True, kw_only=True)
class JointActions(MultiActions):
    """The same as one number, the first branch the most significant digit."""

    encoding: ClassVar[str] = "joint"
    single: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Raise ValueError for a space that makes no sense, or is too large."""
        super().__post_init__()
        if self.outputs > MAX_JOINT:
            raise ValueError(
                f"{self.outputs:,} joint actions for {self.subflows} subflows and {self.layers} layers; "
                f"at most {MAX_JOINT:,}, use the encoding multi"
            )

    @property
    def outputs(self) -> int:
        """A value per joint action."""
        return prod(self.branches)

    def greedy(self, outputs: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """The best joint action, (K,)."""
        best: NDArray[Any] = np.argmax(outputs, axis=1)
        return best

    def described(self, action: NDArray[Any], subflows: int, layers: int) -> dict[str, str]:
        """As its digits."""
        return super().described(self._choices(np.atleast_1d(action))[0], subflows, layers)

    def _choices(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        digits = np.unravel_index(check_single(self, actions), self.branches)
        return np.stack(digits, axis=1).astype(np.int64)


def branched(space: ActionSpace) -> BranchedActions:
    """The space as one of branches; raises ValueError for another."""
    if not isinstance(space, BranchedActions):
        raise ValueError(f"{space.encoding} actions have no branches")
    return space
