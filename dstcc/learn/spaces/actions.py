"""What an agent may do, as numbers: window factors and a subflow per layer, in one of three encodings.

These specifications stand in a policy's file, so that it meets the environment it was trained in or is refused.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.engine.stepper import ALPHA_MAX_Q16, AUTOMATIC, BETA_MAX, ONE_Q16, REPAIRABLE, SILENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.paths.measure import Units

    Int32Array = NDArray[np.int32]
    FloatArray = NDArray[np.float64]

MAX_SUBFLOWS = MAX_LAYERS = 8
MAX_LANES = 4096
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
USUAL_ORDER = (np.inf, 0.5)
PLACES = ("any", "top-on-lossiest", "base-repairable", "repairable")
"""Where layers go first: on any subflow; the top layer on the subflow that loses most; base layers, or all but the top,
where they could be repaired in time. What nothing else would use they may use too."""
SPARES = ("none", "base", "all")
"""What goes a second time where there is room for it: nothing, base layers, all."""
ENCODINGS = ("joint", "multi", "continuous", "policies")
PACINGS = ("window", "rate", "bbr")


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
    order: FloatArray
    """(K, 2): seconds by which a layer goes later than the one below it; the share of spare time kept for repairs."""


@dataclass(frozen=True)
class ActionSpec:
    """The action space for N = ``subflows`` and M = ``layers``.

    ``multi``: a number per branch: N window actions (an index into ``windows``), then M subflows, then with
    ``copies`` 0 or 1. ``joint``: the same as one number, the first branch the most significant digit.
    ``continuous``: N numbers in [−1, 1]; W ← W·2^(``octaves``·a), layers automatic.

    With ``orders`` two branches, one of :data:`PLACES` and one of ``orders``, stand in the place of the M, and
    layers wait until a subflow that may take them has room (``agent-late``). With ``measured`` a window action (f, t)
    sends at f times what the path was measured to carry, and so much more or less that the queue holds t slots of it
    after the slot: W = max(f + t − queue, f / 10) such rates for a round trip (:mod:`dstcc.learn.paths.measure`), at
    most what the path is held to (:mod:`dstcc.learn.paths.ceiling`).

    ``policies``: one number, which of :data:`POLICIES` schedules; windows are ``congestion``'s.
    """

    subflows: int
    layers: int
    encoding: str = "multi"
    windows: tuple[tuple[float, float], ...] = PAPER_WINDOWS
    """(α, β): W ← α·W + β, in segments; α in 0..64, β whole. With ``measured`` (f, t), t at least 0."""
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
    """``window``: a window per round trip; ``rate``: the same pace, and no window closed by what is under way (the
    kernel's module knows windows only); ``bbr``: as BBR would pace, whatever the window."""
    measured: bool = False
    orders: tuple[tuple[float, float], ...] = ()
    """(gap, repair): each layer goes ``gap`` of the longest round trip later than the one below it (infinite: base
    layers first); ``repair`` is the share of the time to spare that is kept for a repair where it can be."""
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
        if self.encoding not in ENCODINGS:
            raise ValueError(f"action encoding '{self.encoding}': one of {', '.join(ENCODINGS)}")
        if self.encoding in ("continuous", "policies") and (self.automatic or self.copies):
            raise ValueError(f"{self.encoding} actions take neither automatic nor copies")
        if self.pacing not in PACINGS:
            raise ValueError(f"pacing '{self.pacing}': one of {', '.join(PACINGS)}")
        if not 0 <= self.headroom <= 1024:
            raise ValueError("headroom is 0 (none) to 1,024")
        if (self.measured or self.orders) and self.encoding != "multi":
            raise ValueError(f"{self.encoding} actions take neither measured windows nor orders")
        if any(not gap >= 0 or not 0 <= repair <= 1 for gap, repair in self.orders):
            raise ValueError("orders are pairs of a gap of at least 0 and a share in 0..1")
        if not 0 <= self.lanes <= MAX_LANES or not 0 <= self.slot_rtts <= 16:
            raise ValueError(f"lanes are at most {MAX_LANES:,}, slot_rtts at most 16")
        if not 1 <= self.hold <= 256:
            raise ValueError("a decision holds for 1 to 256 slots")
        if not self.windows or any(
            not 0 <= alpha <= ALPHA_MAX_Q16 / ONE_Q16
            or not 0 <= abs(beta) <= BETA_MAX
            or (beta != int(beta) and not self.measured)
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
        windows = (len(self.windows),) * self.subflows
        if self.orders:
            return (*windows, *((len(SPARES),) if self.copies else ()), len(PLACES), len(self.orders))
        per_layer = self.subflows + self.automatic
        return windows + (per_layer,) * self.layers + ((2,) if self.copies else ())

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

    @property
    def bounded(self) -> bool:
        """Whether anything but the source bounds what is sent: a cap on windows, BBR's pace, what paths were measured
        to carry, or a stock control."""
        return self.headroom > 0 or self.measured or self.pacing == "bbr" or self.encoding == "policies"

    def decode(self, actions: NDArray[Any], units: Units | None = None) -> Actions:
        """Turn K actions, shape (K,) for ``joint`` and ``policies``, else (K, branches or subflows), into the engine's.

        ``units`` are what ``measured`` windows and ``orders`` are relative to. Raises ValueError for a shape or a
        value outside the space, NaN included.
        """
        if self.encoding == "continuous":
            return self._continuous(np.asarray(actions, dtype=np.float64))
        choices = self._digits(np.asarray(actions))
        n, m = self.subflows, self.layers
        if self.encoding == "policies":
            silent = np.full((len(choices), n), SILENT, dtype=np.int32)
            layer = np.repeat(choices, m, axis=1).astype(np.int32)
            return Actions(
                silent,
                np.zeros_like(silent),
                layer,
                np.zeros(layer.shape, dtype=np.uint8),
                _usual(len(choices)),
            )
        table = np.array(self.windows, dtype=np.float64)
        picked = table[choices[:, :n]]
        layer = self._places(choices[:, -2], units) if self.orders else choices[:, n : n + m].astype(np.int32)
        copied = np.zeros((len(choices), m), dtype=np.uint8)
        if self.copies:
            told = choices[:, n if self.orders else n + m]
            copied[:, 0] = told > 0
            copied[:, 1:] = (told == SPARES.index("all"))[:, None]
        alpha, beta = picked[..., 0] * ONE_Q16, picked[..., 1]
        order = _usual(len(choices))
        if units is not None and self.measured:
            share = np.maximum(picked[..., 0] + picked[..., 1] - units.queue, picked[..., 0] / 10)
            share = np.minimum(share, units.most)
            share[picked[..., 0] == 0] = 0
            alpha, beta = np.zeros_like(alpha), np.minimum(share * units.window, BETA_MAX)
        if units is not None and self.orders:
            order = np.array(self.orders)[choices[:, -1]]
            known = np.isfinite(order[:, 0])  # infinity stays it on a path without delay
            order[known, 0] *= units.round_trip_s[known]
        return Actions(
            np.round(alpha).astype(np.int32),
            np.round(beta).astype(np.int32),
            np.where(layer == n, AUTOMATIC, layer).astype(np.int32),
            copied,
            order,
        )

    def _places(self, place: NDArray[np.int64], units: Units | None) -> Int32Array:
        """The table (K, layers) that an entry of :data:`PLACES` means."""
        table = np.full((len(place), self.layers), AUTOMATIC, dtype=np.int32)
        if units is None:
            return table
        of = {name: place == number for number, name in enumerate(PLACES)}
        known, every = units.lossiest >= 0, np.arange(len(place))
        on = known & of["top-on-lossiest"]
        table[every[on], units.top[on]] = units.lossiest[on]
        table[of["base-repairable"], 0] = REPAIRABLE
        below = np.arange(self.layers) < np.maximum(units.top, 1)[:, None]
        table[below & of["repairable"][:, None]] = REPAIRABLE
        return table

    def greedy(self, outputs: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """The best actions by a network's outputs, shape (K, :attr:`outputs`)."""
        best: NDArray[Any]
        if self.encoding == "continuous":
            best = np.clip(outputs, -1.0, 1.0)
        elif self.single:
            best = np.argmax(outputs, axis=1)
        else:
            branches, count, start = self.branches, len(outputs), self.subflows * len(self.windows)
            best = np.empty((count, len(branches)), dtype=np.int64)
            outputs[:, :start].reshape(count, self.subflows, -1).argmax(axis=2, out=best[:, : self.subflows])
            for branch in range(self.subflows, len(branches)):
                outputs[:, start : start + branches[branch]].argmax(axis=1, out=best[:, branch])
                start += branches[branch]
        return best

    def document(self) -> dict[str, Any]:
        """As it stands in a policy's file."""
        pairs = {name: [list(pair) for pair in getattr(self, name)] for name in ("windows", "orders")}
        return asdict(self) | pairs

    @classmethod
    def parse(cls, document: dict[str, Any]) -> ActionSpec:
        """Back from :meth:`document`; raises ValueError or TypeError for what is none."""
        second = float if document.get("measured") else int
        windows = tuple((float(alpha), second(beta)) for alpha, beta in document["windows"])
        orders = tuple((float(gap), float(repair)) for gap, repair in document.get("orders", ()))
        return cls(**{**document, "windows": windows, "orders": orders})

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
            _usual(count),
        )


def _usual(count: int) -> FloatArray:
    """What holds for layers where the agent says nothing of their order."""
    return np.tile(USUAL_ORDER, (count, 1))
