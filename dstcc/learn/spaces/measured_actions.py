"""Actions in units of what paths were measured to carry, with layers that are bound late: those of ``dstcc-lanes``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float64Array, Int32Array
from dstcc.engine.config import AGENT_LATE
from dstcc.engine.stepper import AUTOMATIC, BETA_MAX, REPAIRABLE
from dstcc.frozen import dataclass
from dstcc.learn.paths.measure import Units

from .actions import Actions, Decoder
from .branched import BranchedActions

PLACES = ("any", "top-on-lossiest", "base-repairable", "repairable")
"""Where layers go first: on any subflow; the top layer on the subflow that loses most; base layers, or all but the top,
where they could be repaired in time. What nothing else would use they may use too."""
PLACE_WORDS = {
    "any": "any, for all layers",
    "top-on-lossiest": "most losses: the top layer first",
    "base-repairable": "time to retransmit: base layers first",
    "repairable": "time to retransmit: all but the top layer first",
}
"""The same in words."""
SPARES = ("none", "base", "all")
"""What goes a second time where there is room for it: nothing, base layers, all."""


@dataclass(frozen=True, kw_only=True)
class MeasuredActions(BranchedActions):
    """N window actions, then with ``copies`` one of :data:`SPARES`, then one of :data:`PLACES` and one of ``orders``.

    A window action (f, t) sends at f times what the path was measured to carry, and so much more or less that the queue
    holds t slots of it after the slot. W = max(f + t − queue, f / 10) such rates for a round trip
    (:mod:`dstcc.learn.paths.measure`), and at most the path's limit (``engine/src/paths/pacing_limit.hpp``). Layers
    wait until a subflow that may take them has room.
    """

    encoding: ClassVar[str] = "multi"
    measured: ClassVar[bool] = True

    orders: tuple[tuple[float, float], ...]
    """(gap, repair): each layer goes ``gap`` of the longest round trip later than the one below it (infinite: base
    layers first); ``repair`` is the share of the time to spare that is kept for a repair where it can be."""
    copies: bool = False
    """One more branch, what goes a second time."""

    def __post_init__(self) -> None:
        """Raise ValueError for a space that makes no sense."""
        super().__post_init__()
        if not self.orders or any(not gap >= 0 or not 0 <= repair <= 1 for gap, repair in self.orders):
            raise ValueError(
                "orders are pairs of a gap of at least 0 and a share in 0..1; measured windows need them"
            )

    @property
    def branches(self) -> tuple[int, ...]:
        """How many choices each branch has."""
        spares = (len(SPARES),) if self.copies else ()
        return (*(len(self.windows),) * self.subflows, *spares, len(PLACES), len(self.orders))

    @property
    def scheduler(self) -> str:
        """Layers are bound when a subflow has room."""
        return AGENT_LATE

    @property
    def copying(self) -> bool:
        """Whether layers may go a second time."""
        return self.copies

    @property
    def bounded(self) -> bool:
        """By what paths were measured to carry."""
        return True

    def described(self, action: NDArray[Any], subflows: int, layers: int) -> dict[str, str]:
        """Each subflow's pace, what goes twice, where layers go first and in which order."""
        said = {}
        for subflow in range(subflows):
            factor, queue = self.windows[action[subflow]]
            said[f"pace of subflow {subflow}"] = (
                f"{factor:.0%} of the measured rate, {queue:g} slots of queue"
            )
        if self.copies:
            said["sent twice"] = {"none": "nothing", "base": "base layers", "all": "all layers"}[
                SPARES[action[self.subflows]]
            ]
        said["subflows"] = PLACE_WORDS[PLACES[action[-2]]]
        gap, repair = self.orders[action[-1]]
        order = "base layers first" if np.isinf(gap) else f"each layer {gap:g} RTT after the one below"
        said["order"] = f"{order}, {repair:.0%} of the spare time for retransmissions"
        return said

    def decode(self, actions: NDArray[Any], units: Units | None = None) -> Actions:
        """From (K, branches), by ``units``; see :meth:`ActionSpace.decode`."""
        return self.decoder(actions)(units)

    def decoder(self, actions: NDArray[Any]) -> Decoder:
        """See :meth:`ActionSpace.decoder`."""
        choices = self._choices(np.asarray(actions))
        copied = np.zeros((len(choices), self.layers), dtype=np.uint8)
        if self.copies:
            spare = choices[:, self.subflows]
            copied[:, 0] = spare > 0
            copied[:, 1:] = (spare == SPARES.index("all"))[:, None]
        windows, places = self._windows(choices), self._places(choices[:, -2])
        alpha, order = np.zeros(windows.shape[:2], dtype=np.int32), self._orders[choices[:, -1]]
        finite = np.isfinite(order[:, 0])  # an infinite gap stays one on a path without delay
        factor = windows[..., 0]
        wanted, least, nothing = factor + windows[..., 1], factor / 10, factor == 0

        def decode(units: Units | None = None) -> Actions:
            if units is None:
                raise ValueError(
                    "measured actions mean nothing without what the paths were measured to carry"
                )
            in_seconds = order.copy()
            np.multiply(order[:, 0], units.round_trip_s, out=in_seconds[:, 0], where=finite)
            # At seven tenths of its rate a path that carries twice its share drains its queue as a slower one does.
            asked = np.where(units.probed, np.maximum(wanted, 1.0), wanted)
            share = np.minimum(np.maximum(asked - units.queue, least), units.limit)
            share[nothing] = 0
            segments = np.round(np.minimum(share * units.window, BETA_MAX)).astype(np.int32)
            return Actions(alpha, segments, places(units), copied, in_seconds)

        return decode

    @cached_property
    def _orders(self) -> Float64Array:
        return np.array(self.orders, dtype=np.float64)

    def _places(self, place: NDArray[np.int64]) -> Callable[[Units], Int32Array]:
        """The table (K, layers) that an entry of :data:`PLACES` means, by units."""
        top, base, repairable = (
            np.flatnonzero(place == PLACES.index(name))
            for name in ("top-on-lossiest", "base-repairable", "repairable")
        )
        alike = np.full((len(place), self.layers), AUTOMATIC, dtype=np.int32)
        alike[base, 0] = REPAIRABLE
        layers = np.arange(self.layers)
        if not (len(top) or len(repairable)):
            return lambda _units: alike

        def table(units: Units) -> Int32Array:
            entries = alike.copy()
            on = top[units.lossiest[top] >= 0]
            entries[on, units.top_layer[on]] = units.lossiest[on]
            below = layers < np.maximum(units.top_layer[repairable], 1)[:, None]
            entries[repairable] = np.where(below, REPAIRABLE, AUTOMATIC)
            return entries

        return table
