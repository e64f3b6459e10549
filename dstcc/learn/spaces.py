"""What an agent may do, as numbers: window factors and a subflow per layer, in one of three encodings.

These specifications stand in a policy's file, so that it meets the environment it was trained in or is refused.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.engine.stepper import ALPHA_MAX_Q16, AUTOMATIC, BETA_MAX, ONE_Q16, SILENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int32Array = NDArray[np.int32]

MAX_SUBFLOWS = MAX_LAYERS = 8
MAX_JOINT = 1_000_000
"""Joint actions beyond this do not fit a network's output; `multi` does not grow so."""
PAPER_WINDOWS = ((0.5, 0), (0.8, 0), (1.0, 0), (1.0, 10), (1.25, 0), (2.0, 0))
"""(α, β) of equation 2 in Ha et al., ICT Express 2023, who do not print theirs."""
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
ENCODINGS = ("joint", "multi", "continuous", "policies")
PACINGS = ("window", "bbr")


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


@dataclass(frozen=True)
class ActionSpec:
    """The action space for N = ``subflows`` and M = ``layers``.

    ``multi``: a number per branch: N window actions (an index into ``windows``), then M subflows, then with
    ``copies`` 0 or 1. ``joint``: the same as one number, the first branch the most significant digit.
    ``continuous``: N numbers in [−1, 1]; W ← W·2^(``octaves``·a), layers automatic.
    ``policies``: one number, which of :data:`POLICIES` schedules; windows are ``congestion``'s.
    """

    subflows: int
    layers: int
    encoding: str = "multi"
    windows: tuple[tuple[float, int], ...] = PAPER_WINDOWS
    """(α, β): W ← α·W + β, in segments; α in 0..64."""
    automatic: bool = False
    """One more choice per layer: the subflow with the earliest expected delivery."""
    copies: bool = False
    """One more branch: 1 sends base layers a second time on another subflow."""
    octaves: float = 1.0
    headroom: int = 2
    """Windows are held below so many measured bandwidth-delay products or initial windows; 0: only below
    2^28."""
    congestion: str = "cubic"
    """``policies``: the congestion control."""
    pacing: str = "window"
    """``window``: a window per round trip; ``bbr``: as BBR would pace, whatever the window."""

    def __post_init__(self) -> None:
        """Raise ValueError for a space that makes no sense."""
        if not (1 <= self.subflows <= MAX_SUBFLOWS and 1 <= self.layers <= MAX_LAYERS):
            raise ValueError(f"1 to {MAX_SUBFLOWS} subflows and 1 to {MAX_LAYERS} layers")
        if self.encoding not in ENCODINGS:
            raise ValueError(f"action encoding '{self.encoding}': one of {', '.join(ENCODINGS)}")
        if self.encoding in ("continuous", "policies") and (self.automatic or self.copies):
            raise ValueError(f"{self.encoding} actions take neither automatic nor copies")
        if self.pacing not in PACINGS:
            raise ValueError(f"pacing '{self.pacing}': one of {', '.join(PACINGS)}")
        if not 0 <= self.headroom <= 1024:
            raise ValueError("headroom is 0 (none) to 1,024")
        if not self.windows or any(
            not 0 <= alpha <= ALPHA_MAX_Q16 / ONE_Q16 or abs(beta) > BETA_MAX or beta != int(beta)
            for alpha, beta in self.windows
        ):
            raise ValueError("windows are pairs of alpha in 0..64 and a whole beta")
        if self.encoding == "joint" and prod(self.branches) > MAX_JOINT:
            raise ValueError(
                f"{prod(self.branches):,} joint actions for {self.subflows} subflows and {self.layers} layers; "
                f"at most {MAX_JOINT:,}, use the encoding multi"
            )

    @property
    def branches(self) -> tuple[int, ...]:
        """How many choices each branch has."""
        if self.encoding == "policies":
            return (len(POLICIES),)
        per_layer = self.subflows + self.automatic
        copy = (2,) if self.copies else ()
        return (len(self.windows),) * self.subflows + (per_layer,) * self.layers + copy

    @property
    def outputs(self) -> int:
        """How many numbers a network puts out: a value per joint action, per branch and choice, or per
        subflow."""
        if self.encoding == "continuous":
            return self.subflows
        return prod(self.branches) if self.single else sum(self.branches)

    @property
    def single(self) -> bool:
        """Whether an action is one whole number."""
        return self.encoding in ("joint", "policies")

    def decode(self, actions: NDArray[Any]) -> Actions:
        """Turn K actions, shape (K,) for ``joint`` and ``policies``, else (K, branches or subflows), into the engine's.

        Raises ValueError for a shape or a value outside the space, NaN included.
        """
        if self.encoding == "continuous":
            return self._continuous(np.asarray(actions, dtype=np.float64))
        choices = self._digits(np.asarray(actions))
        n, m = self.subflows, self.layers
        if self.encoding == "policies":
            silent = np.full((len(choices), n), SILENT, dtype=np.int32)
            layer = np.repeat(choices, m, axis=1).astype(np.int32)
            return Actions(silent, np.zeros_like(silent), layer, np.zeros(layer.shape, dtype=np.uint8))
        table = np.array(self.windows, dtype=np.float64)
        picked = table[choices[:, :n]]
        layer = choices[:, n : n + m].astype(np.int32)
        copied = np.zeros((len(choices), m), dtype=np.uint8)
        if self.copies:
            copied[:, 0] = choices[:, -1]
        return Actions(
            np.round(picked[..., 0] * ONE_Q16).astype(np.int32),
            picked[..., 1].astype(np.int32),
            np.where(layer == n, AUTOMATIC, layer).astype(np.int32),
            copied,
        )

    def greedy(self, outputs: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """The best actions by a network's outputs, shape (K, :attr:`outputs`)."""
        best: NDArray[Any]
        if self.encoding == "continuous":
            best = np.clip(outputs, -1.0, 1.0)
        elif self.single:
            best = np.argmax(outputs, axis=1)
        else:
            parts = np.split(outputs, np.cumsum(self.branches)[:-1], axis=1)
            best = np.stack([np.argmax(part, axis=1) for part in parts], axis=1)
        return best

    def document(self) -> dict[str, Any]:
        """As it stands in a policy's file."""
        return {**asdict(self), "windows": [list(pair) for pair in self.windows]}

    @classmethod
    def parse(cls, document: dict[str, Any]) -> ActionSpec:
        """Back from :meth:`document`; raises ValueError or TypeError for what is none."""
        windows = tuple((float(alpha), int(beta)) for alpha, beta in document["windows"])
        return cls(**{**document, "windows": windows})

    def _digits(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        shape = "(K,)" if self.single else f"(K, {len(self.branches)})"
        if not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(f"{self.encoding} actions are whole numbers of shape {shape}")
        if self.single:
            if actions.ndim != 1 or (actions < 0).any() or (actions >= self.outputs).any():
                raise ValueError(f"{self.encoding} actions are numbers below {self.outputs} of shape {shape}")
            return np.stack(np.unravel_index(actions, self.branches), axis=1).astype(np.int64)
        if actions.ndim != 2 or actions.shape[1] != len(self.branches):
            raise ValueError(f"multi actions have the shape {shape}, not {actions.shape}")
        if (actions < 0).any() or (actions >= self.branches).any():
            raise ValueError(f"multi actions are numbers below {self.branches}")
        return actions.astype(np.int64)

    def _continuous(self, actions: NDArray[np.float64]) -> Actions:
        if actions.ndim != 2 or actions.shape[1] != self.subflows:
            raise ValueError(f"continuous actions have the shape (K, {self.subflows}), not {actions.shape}")
        if not (np.abs(actions) <= 1).all():
            raise ValueError("continuous actions are numbers in [-1, 1], and none is NaN")
        alpha = np.round(np.exp2(self.octaves * actions) * ONE_Q16)
        count = len(actions)
        return Actions(
            np.clip(alpha, 0, ALPHA_MAX_Q16).astype(np.int32),
            np.zeros((count, self.subflows), dtype=np.int32),
            np.full((count, self.layers), AUTOMATIC, dtype=np.int32),
            np.zeros((count, self.layers), dtype=np.uint8),
        )
