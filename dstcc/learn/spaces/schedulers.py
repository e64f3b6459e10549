"""Actions that choose which scheduling policy has the slot, over the windows of a stock congestion control."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dstcc.engine.config import AGENT_POLICIES
from dstcc.engine.stepper import SILENT
from dstcc.frozen import dataclass
from dstcc.learn.paths.measure import Units

from .actions import Actions, ActionSpace, check_single, default_order

POLICIES = (
    "probabilistic-0.25",
    "probabilistic-0.5",
    "probabilistic-0.75",
    "fast-only",
    "minrtt",
    "minrtt-then-fast-15",
    "minrtt-then-fast-30",
)
"""The seven actions of Lee and Yoo, Sensors 2022."""


@dataclass(frozen=True, kw_only=True)
class SchedulerActions(ActionSpace):
    """One number, which of :data:`POLICIES` schedules; windows are ``congestion``'s."""

    encoding: ClassVar[str] = "policies"
    single: ClassVar[bool] = True

    congestion: str = "cubic"
    """The congestion control."""

    @property
    def outputs(self) -> int:
        """A value per scheduling policy."""
        return len(POLICIES)

    @property
    def control(self) -> str:
        """The stock congestion control."""
        return self.congestion

    @property
    def scheduler(self) -> str:
        """The engine's scheduler that changes its policy."""
        return AGENT_POLICIES

    @property
    def simulator_only(self) -> str:
        """See :class:`ActionSpace`."""
        return "chooses among schedulers that exist in the simulator only"

    @property
    def bounded(self) -> bool:
        """By the stock congestion control."""
        return True

    def decode(self, actions: NDArray[Any], units: Units | None = None) -> Actions:
        """From (K,); see :meth:`ActionSpace.decode`. The number stands in the place of each layer's subflow."""
        choices = check_single(self, np.asarray(actions))
        silent = np.full((len(choices), self.subflows), SILENT, dtype=np.int32)
        layer = np.repeat(choices[:, None], self.layers, axis=1).astype(np.int32)
        copied = np.zeros(layer.shape, dtype=np.uint8)
        return Actions(silent, np.zeros_like(silent), layer, copied, default_order(len(choices)))

    def described(self, action: NDArray[Any], subflows: int, layers: int) -> dict[str, str]:
        """The scheduling policy."""
        return {"scheduling": POLICIES[int(action)]}

    def greedy(self, outputs: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """The policy of the highest value, (K,)."""
        best: NDArray[Any] = np.argmax(outputs, axis=1)
        return best
