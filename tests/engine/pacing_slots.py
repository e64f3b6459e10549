"""The engine's limit of a path's pacing rate with names for what it takes and tells."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from dstcc.engine import _engine


class Phase(Enum):
    """The states of the header's text, in its order."""

    PROBE = 0
    CRUISE = 1
    TRIAL = 2
    ECHO = 3


class Turn(Enum):
    """Whose turn it is in a trial that alternates between its rate and the one of before."""

    NONE = -1
    SLOWER = 0
    FASTER = 1


class SentThen(NamedTuple):
    """What became known in a slot of what was sent in one kind of turn."""

    delivered: float = 0.0
    """Bytes on the wire."""
    lost: float = 0.0
    """Segments."""
    busy_s: float = 0.0
    """What it took to send them."""


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
    """Whether the path may have been asked for more than its share (:mod:`dstcc.learn.paths.probing`)."""
    slower: SentThen = SentThen()
    faster: SentThen = SentThen()
    """Of these, what was sent in a trial's turns."""


class PacingLimit(_engine.PacingLimit):
    """The limit of one path: ``limit`` in bytes on the wire per second, infinite without one, and ``base_loss``, the
    share of segments that is lost at any rate. :meth:`update` once a slot."""

    @property
    def turn(self) -> Turn:
        """Whose turn it is."""
        return Turn(self.turn_number)

    @property
    def phase(self) -> Phase:
        """What it is doing."""
        return Phase(self.phase_number)

    def update(self, slot: SlotReport) -> None:
        """Take in a slot."""
        self.take(*slot)
