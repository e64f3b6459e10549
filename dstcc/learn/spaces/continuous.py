"""Actions that scale each subflow's window by a power of two."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dstcc.engine.config import AGENT
from dstcc.engine.stepper import ALPHA_MAX_Q16, AUTOMATIC, ONE_Q16
from dstcc.frozen import dataclass
from dstcc.learn.paths.measure import Units

from .actions import Actions, ActionSpace, default_order


@dataclass(frozen=True, kw_only=True)
class ContinuousActions(ActionSpace):
    """N numbers a in [−1, 1]; W ← W·2^(``octaves``·a). Each layer goes where it is expected to arrive first."""

    encoding: ClassVar[str] = "continuous"

    octaves: float = 1.0

    @property
    def outputs(self) -> int:
        """A number per subflow."""
        return self.subflows

    @property
    def scheduler(self) -> str:
        """Layers are bound to a subflow when they are released."""
        return AGENT

    def decode(self, actions: NDArray[Any], units: Units | None = None) -> Actions:
        """From (K, subflows); see :meth:`ActionSpace.decode`."""
        scales = np.asarray(actions, dtype=np.float64)
        if scales.ndim != 2 or scales.shape[1] != self.subflows:
            raise ValueError(f"continuous actions have the shape (K, {self.subflows}), not {scales.shape}")
        if not (np.abs(scales) <= 1).all():
            raise ValueError("continuous actions are numbers in [-1, 1], and none is NaN")
        count = len(scales)
        alpha = np.round(np.exp2(self.octaves * scales) * ONE_Q16)
        return Actions(
            np.clip(alpha, 0, ALPHA_MAX_Q16).astype(np.int32),
            np.zeros((count, self.subflows), dtype=np.int32),
            np.full((count, self.layers), AUTOMATIC, dtype=np.int32),
            np.zeros((count, self.layers), dtype=np.uint8),
            default_order(count),
        )

    def described(self, action: NDArray[Any], subflows: int, layers: int) -> dict[str, str]:
        """Each subflow's window."""
        return {
            f"window of subflow {subflow}": f"×{2 ** (self.octaves * float(scale)):.2f}"
            for subflow, scale in enumerate(action[:subflows])
        }

    def greedy(self, outputs: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """The outputs, cut off at ±1."""
        best: NDArray[Any] = np.clip(outputs, -1.0, 1.0)
        return best
