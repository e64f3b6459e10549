"""The limit of a path's pacing rate, from what was acknowledged and lost; see ``engine/src/paths/pacing_limit.hpp``.

Each slot of each path asks for it, so that it is the engine's: in Python it took a seventh of a training's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from dstcc.engine import _engine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    BoolArray = NDArray[np.bool_]

MIN_STEP, MAX_STEP = _engine.PACING_STEPS
"""How much higher the rate of a trial is."""


class Phase(Enum):
    """The states of the header's text, in its order."""

    PROBE = 0
    CRUISE = 1
    TRIAL = 2
    ECHO = 3


class SlotReport(NamedTuple):
    """One path in one slot."""

    slot_s: float
    srtt_s: float
    """0 before the handshake."""
    up: bool
    delivered: float
    """Bytes on the wire that were acknowledged in the slot."""
    lost: float
    """Segments that were marked lost in the slot."""
    limit: float
    """Bytes on the wire per second that the path was allowed."""
    queue_seen: bool
    """Whether a queue at the sender was seen to hold the excess."""
    rate: float
    """Bytes on the wire per second that this queue shows."""
    probed: bool
    """Whether the path may have been asked for more than its share (:mod:`.probing`)."""


class PacingLimit(_engine.PacingLimit):
    """The limit of one path: ``limit`` in bytes on the wire per second, infinite without one, and ``base_loss``, the
    share of segments that is lost at any rate. :meth:`update` once a slot."""

    @property
    def phase(self) -> Phase:
        """What it is doing."""
        return Phase(self.phase_number)

    def update(self, slot: SlotReport) -> None:
        """Take in a slot."""
        self.take(*slot)


def update_all(
    paths: Sequence[list[PacingLimit]],
    values: FloatArray,
    *,
    slot_s: FloatArray,
    overhead: FloatArray,
    allowed: FloatArray,
    queue_seen: BoolArray,
    shown: FloatArray,
    probed: BoolArray,
) -> FloatArray:
    """Give a slot to the limits of K episodes' paths; what they are then, (K, subflows), infinite without one.

    ``values`` are a stepper's, ``slot_s`` and ``overhead`` (bytes on the wire per byte of payload) are (K, 1), the
    others (K, subflows), as :class:`SlotReport` has them.
    """
    return _engine.update_pacing_limits(paths, values, slot_s, overhead, allowed, queue_seen, shown, probed)
