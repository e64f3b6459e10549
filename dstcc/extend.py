"""A user's congestion control or scheduler, as a Python class.

A congestion control is a class whose instances have ``on_ack`` (:class:`Congestion`), a scheduler one whose
instances have ``pick`` (:class:`Scheduler`). Name it where a scenario or the command line names an algorithm,
``path/to/file.py:ClassName``, or install a package with an entry point in the group ``dstcc.congestion`` or
``dstcc.schedulers`` and use the entry point's name. ``docs/extend.md`` walks through both.

Units end the names: ``_s`` mission seconds, ``_bps`` bits per second; segments are ``mss_bytes`` of payload.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dstcc.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Setup:
    """The argument of an instance: ``ClassName(setup)``."""

    seed: int
    """Seed of this instance: a function of the trial's seed, the algorithm's name and the subflow."""
    mss_bytes: int
    """Payload of a full segment."""
    header_bytes: int
    """Header bytes of each packet, on top of the payload."""
    rng: random.Random = field(init=False, compare=False)
    """Seeded; draw from here (or from :attr:`numpy_rng`) and a trial gives the same result every time."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rng", random.Random(self.seed))

    @cached_property
    def numpy_rng(self) -> np.random.Generator:
        """A NumPy generator of the same seed."""
        import numpy as np

        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class CongestionSetup(Setup):
    """The argument of a congestion control: one instance per subflow."""

    subflow: int = 0
    """Its number, link by link from 0; background flows (``congestion = "same"``) count from 65,536."""
    initial_cwnd_segments: int = 10
    """The window until ``on_ack`` returns another one."""
    link_rate_bps: float = 0.0
    """The link's rate on the wire (the subflow's part, where several share a link): an operator knows it, a control
    on the open Internet does not."""


@dataclass(frozen=True)
class SchedulerSetup(Setup):
    """The argument of a scheduler: one instance per connection."""

    subflows: int = 1
    mode: str = "stream"
    """``stream``: ``pick`` places a segment; ``lanes``: a whole layer of a chunk."""


class SubflowView(NamedTuple):
    """A subflow as its sender knows it, at an acknowledgement or a loss."""

    now_s: float
    subflow: int
    cwnd_segments: int
    inflight_segments: int
    """Sent and neither acknowledged nor judged lost."""
    srtt_s: float
    min_rtt_s: float
    """Over the last 300 s (times the scale)."""
    rtt_s: float
    """The latest sample."""
    acked_segments: int
    """Newly delivered since the previous call."""
    lost_segments: int
    """Newly judged lost since the previous call."""
    delivered: int
    """Segments delivered since the start."""
    lost: int
    """Segments judged lost since the start, retransmissions included."""
    delivery_rate_bps: float
    """Payload rate of the latest valid sample (draft-cheng-iccrg-delivery-rate-estimation); 0 before."""
    app_limited: bool
    """Whether that sample is application-limited: the sender had no data for part of it."""
    in_recovery: bool
    """Whether lost segments are being retransmitted."""
    timeout: bool
    """``on_loss`` after a retransmission timeout; never true elsewhere."""


class PathView(NamedTuple):
    """A subflow as a scheduler sees it."""

    subflow: int
    """Its number, and its place among the paths."""
    established: bool
    cwnd_segments: int
    inflight_segments: int
    srtt_s: float
    """0 before the handshake, as is ``min_rtt_s``."""
    min_rtt_s: float
    one_way_s: float
    """Light time now."""
    queue_bytes: int
    """Wire bytes in the queue of its link, which is at the sender."""
    assigned_bytes: int
    """Payload assigned to it and not yet sent (lanes)."""
    delivered: int
    lost: int
    """Segments delivered and judged lost since the start."""
    pacing_bps: float
    """0 where its control does not pace."""


class Item(NamedTuple):
    """The data to be sent next."""

    now_s: float
    layer: int
    """0 is the base layer."""
    bytes: int
    """Payload of the next segment, or (lanes) of the rest of the layer."""
    backlog_bytes: int
    """Payload released and never sent, this item included."""
    receiver_room_bytes: int
    """Free space of the receiver's buffer; -1 without a limit."""


Window = float | tuple[float, float | None]
"""``cwnd_segments``, or ``(cwnd_segments, pacing_bps)``: a window from 1 to 2^40 segments (fractions are cut),
and a rate above 0 on the wire, or ``None`` to send whenever the window allows."""


class Congestion(Protocol):
    """A congestion control; it alone sets the window, also in slow start, in recovery and after timeouts.

    An instance may set ``interval_s``: it is then called at the first acknowledgement that many seconds after
    the call before, instead of at every one. A method ``on_loss(view) -> Window``, if it exists, is called instead
    of ``on_ack`` when a loss is first detected (once until everything sent by then is acknowledged or judged lost), and
    at retransmission timeouts.
    """

    def __init__(self, setup: CongestionSetup) -> None: ...

    def on_ack(self, view: SubflowView) -> Window:
        """Return the window after an acknowledgement that delivered data or revealed a loss."""


class Scheduler(Protocol):
    """A scheduler: which subflow sends next.

    A method ``on_ack(subflow, acked_bytes, rtt_s, now_s)``, if it exists, is called at every acknowledgement.
    """

    def __init__(self, setup: SchedulerSetup) -> None: ...

    def pick(
        self, paths: tuple[PathView, ...], ready: tuple[int, ...], item: Item, busy: tuple[int, ...]
    ) -> int | None:
        """Return one of ``ready`` (never empty), or ``None`` to wait for one of ``busy``.

        ``busy`` are the established subflows without room now. After a wait it is called again at the next
        acknowledgement, timer or release; if no pending event could end the wait, the connection uses the fastest
        of ``ready``.
        """


def seed_of(*parts: object) -> int:
    """A 64-bit seed that is a hash of its parts."""
    name = "\0".join(map(str, ("extension", *parts)))
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
