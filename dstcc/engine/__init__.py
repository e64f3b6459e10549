"""The packet-level virtual-time simulator of MPTCP over long, lossy links.

:func:`simulate` runs one trial; :class:`Stepper` runs several slot by slot, steered from outside;
:func:`clairvoyant_weight` bounds what any sender could have played over the same
channel draws, and :func:`law_weight` what one can play in the mean that knows no draws. All are C++ (``src/``)
and release the GIL.
"""

from __future__ import annotations

from .coded_stepper import CodedStepper
from .config import (
    AGENT,
    NEVER_NS,
    Coding,
    CodingResults,
    CrossTraffic,
    EngineConfig,
    EngineResult,
    Flow,
    FlowResult,
    FrameSchedule,
    Hop,
    HopResult,
    Link,
    Loss,
    Node,
    NodeResult,
    ObjectResults,
    Objects,
    PlacedBytes,
    Restarts,
    Samples,
    Steps,
    TcpConstants,
    Trace,
    Transport,
    TransportStats,
)
from .simulate import (
    CODED_CONGESTION_NAMES,
    CONGESTION_NAMES,
    LOSS_KINDS,
    PARAMETERS,
    SCHEDULER_NAMES,
    TRANSFER_NAMES,
    clairvoyant_weight,
    law_weight,
    least_playout_delay_ns,
    opening,
    patience_ns,
    reopening,
    simulate,
)
from .stepper import Stepper

__all__ = [
    "AGENT",
    "CODED_CONGESTION_NAMES",
    "CONGESTION_NAMES",
    "LOSS_KINDS",
    "NEVER_NS",
    "PARAMETERS",
    "SCHEDULER_NAMES",
    "TRANSFER_NAMES",
    "CodedStepper",
    "Coding",
    "CodingResults",
    "CrossTraffic",
    "EngineConfig",
    "EngineResult",
    "Flow",
    "FlowResult",
    "FrameSchedule",
    "Hop",
    "HopResult",
    "Link",
    "Loss",
    "Node",
    "NodeResult",
    "ObjectResults",
    "Objects",
    "PlacedBytes",
    "Restarts",
    "Samples",
    "Stepper",
    "Steps",
    "TcpConstants",
    "Trace",
    "Transport",
    "TransportStats",
    "clairvoyant_weight",
    "law_weight",
    "least_playout_delay_ns",
    "opening",
    "patience_ns",
    "reopening",
    "simulate",
]
