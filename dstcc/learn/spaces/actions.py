"""What every action space has: how many subflows and layers, what its trials run with, and its form in a policy's file.

There is a class per kind of action, each in a file of its own (:mod:`.registry` lists them). A space stands in a
policy's file, so that the policy meets the environment it was trained in or is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float64Array, Int32Array
from dstcc.engine.config import AGENT, AGENT_BBR, AGENT_RATE
from dstcc.frozen import dataclass
from dstcc.learn.paths.measure import Units

MAX_SUBFLOWS = MAX_LAYERS = 8
MAX_LANES = 4096
PAPER_WINDOWS = ((0.5, 0), (0.8, 0), (1.0, 0), (1.0, 10), (1.25, 0), (2.0, 0))
"""(α, β) of equation 2 in Ha et al., ICT Express 2023, who do not print theirs."""
DEFAULT_ORDER = (np.inf, 0.5)
CONTROLS = {"window": AGENT, "rate": AGENT_RATE, "bbr": AGENT_BBR}
"""The engine's congestion control for each pacing."""
OPTIONS: dict[str, Any] = {
    "windows": PAPER_WINDOWS,
    "automatic": False,
    "copies": False,
    "octaves": 1.0,
    "congestion": "cubic",
    "measured": False,
    "orders": (),
}
"""What stands in a file for an option that a space does not have."""


@dataclass(frozen=True)
class Actions:
    """What :class:`dstcc.engine.Stepper` takes, for K episodes."""

    alpha_q16: Int32Array
    """(K, subflows)."""
    beta: Int32Array
    """(K, subflows)."""
    layer_subflow: Int32Array
    """(K, layers)."""
    copied: NDArray[np.uint8]
    """(K, layers)."""
    order: Float64Array
    """(K, 2): seconds by which a layer goes later than the one below it; the share of spare time kept for repairs."""


Decoder = Callable[["Units | None"], Actions]
"""A decision; what it means depends on the units of each slot."""


@dataclass(frozen=True, kw_only=True)
class ActionSpace(ABC):
    """The actions for N = ``subflows`` and M = ``layers``, and what trials under them run with."""

    encoding: ClassVar[str]
    """As policy files have it."""
    single: ClassVar[bool] = False
    """Whether an action is one whole number."""
    measured: ClassVar[bool] = False
    """Whether actions are relative to what paths were measured to carry, and layers are bound late, in an order."""

    subflows: int
    layers: int
    headroom: int = 2
    """Windows are held below so many measured bandwidth-delay products or initial windows; 0: only below
    2^28."""
    pacing: str = "window"
    """``window``: a window per round trip; ``rate``: the same pace, and no window closed by what is in flight (the
    kernel's module knows windows only); ``bbr``: as BBR would pace, whatever the window."""
    lanes: int = 0
    """Lanes per link of its trials; 0: the scenario's own."""
    slot_rtts: float = 0.0
    """A slot in round trips of the shortest link, but a chunk at least; 0: the scenario's own."""
    hold: int = 1
    """Slots that a decision holds for. What it is relative to is measured in each."""

    def __post_init__(self) -> None:
        """Raise ValueError for a space that makes no sense."""
        if not (1 <= self.subflows <= MAX_SUBFLOWS and 1 <= self.layers <= MAX_LAYERS):
            raise ValueError(f"1 to {MAX_SUBFLOWS} subflows and 1 to {MAX_LAYERS} layers")
        if self.pacing not in CONTROLS:
            raise ValueError(f"pacing '{self.pacing}': one of {', '.join(CONTROLS)}")
        if not 0 <= self.headroom <= 1024:
            raise ValueError("headroom is 0 (none) to 1,024")
        if not 0 <= self.lanes <= MAX_LANES or not 0 <= self.slot_rtts <= 16:
            raise ValueError(f"lanes are at most {MAX_LANES:,}, slot_rtts at most 16")
        if not 1 <= self.hold <= 256:
            raise ValueError("a decision holds for 1 to 256 slots")

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many numbers a network puts out for an action."""

    @property
    @abstractmethod
    def scheduler(self) -> str:
        """The engine's scheduler that takes such actions."""

    @property
    def control(self) -> str:
        """The engine's congestion control that takes such actions."""
        return CONTROLS[self.pacing]

    @property
    def simulator_only(self) -> str:
        """What it does that a kernel's control cannot, in words; empty where that can all of it."""
        kernels = self.pacing in ("window", "rate")
        return "" if kernels else f"paces by {self.pacing}, which exists in the simulator only"

    @property
    def copying(self) -> bool:
        """Whether layers may go a second time."""
        return False

    @property
    def bounded(self) -> bool:
        """Whether anything but the source bounds what is sent: a cap on windows, BBR's pace, what paths were measured
        to carry, or a stock control."""
        return self.headroom > 0 or self.pacing == "bbr"

    @abstractmethod
    def decode(self, actions: NDArray[Any], units: Units | None = None) -> Actions:
        """Turn K actions into the engine's; ``units`` are what actions are relative to where the space is measured.

        Raises ValueError for a shape or a value outside the space, NaN included.
        """

    def decoder(self, actions: NDArray[Any]) -> Decoder:
        """:meth:`decode` for a decision that holds for several slots, each with its units."""
        return partial(self.decode, actions)

    @abstractmethod
    def greedy(self, outputs: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """The best actions by a network's outputs, shape (K, :attr:`outputs`)."""

    @abstractmethod
    def described(self, action: NDArray[Any], subflows: int, layers: int) -> dict[str, str]:
        """What one action, a row of :meth:`greedy`'s, chooses in a trial of so many subflows and layers.

        What is decided, like ``layer 0``, to words for it.
        """

    def document(self) -> dict[str, Any]:
        """As it stands in a policy's file: every option of every space, those of others at what :data:`OPTIONS` has."""
        options = {one.name: getattr(self, one.name) for one in fields(self)}
        whole = {**OPTIONS, **options, "encoding": self.encoding, "measured": self.measured}
        return whole | {name: [list(pair) for pair in whole[name]] for name in ("windows", "orders")}


def window_words(alpha: float, beta: float) -> str:
    """W ← α·W + β in a few characters."""
    if alpha == 1 and beta:
        return f"{beta:+g} segments"
    return f"×{alpha:g}" + (f" {beta:+g}" if beta else "")


def default_order(count: int) -> Float64Array:
    """What holds for layers where the agent says nothing of their order."""
    return np.tile(DEFAULT_ORDER, (count, 1))


def check_single(space: ActionSpace, actions: NDArray[Any]) -> NDArray[Any]:
    """K actions that are one number each, (K,); raises ValueError for others."""
    if not np.issubdtype(actions.dtype, np.integer):
        raise ValueError(f"{space.encoding} actions are whole numbers of shape (K,)")
    if actions.ndim != 1 or (actions < 0).any() or (actions >= space.outputs).any():
        raise ValueError(f"{space.encoding} actions are numbers below {space.outputs} of shape (K,)")
    return actions
