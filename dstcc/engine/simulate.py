"""Whole trials by the compiled engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.wire import HEADER_BYTES

from . import _engine
from .config import (
    CodingResults,
    Earlier,
    EngineConfig,
    EngineResult,
    FlowResult,
    HopResult,
    Ledger,
    Link,
    NodeResult,
    ObjectResults,
    Samples,
    Steps,
    Trace,
    TransportStats,
)
from .hop_by_hop import hop_by_hop, takes_custody
from .passing import least_delay_ns, most_weight, over_nodes
from .restarts import with_restarts
from .split import check_split, splits

CONGESTION_NAMES: tuple[str, ...] = _engine.CONGESTION_NAMES
CODED_CONGESTION_NAMES: tuple[str, ...] = _engine.CODED_CONGESTION_NAMES
"""Further ones, for the mode ``coded`` only."""
PARAMETERS: dict[str, tuple[str, ...]] = _engine.PARAMETERS
"""The parameters of each congestion control and transfer (``Transport.parameters``)."""
SCHEDULER_NAMES: tuple[str, ...] = _engine.SCHEDULER_NAMES
TRANSFER_NAMES: tuple[str, ...] = _engine.TRANSFER_NAMES
"""Given in the place of a congestion control: transfers without TCP, which take no scheduler."""
LOSS_KINDS: tuple[str, ...] = _engine.LOSS_KINDS
"""What :attr:`dstcc.engine.Loss.kind` may be."""
InvariantError = _engine.InvariantError


def simulate(config: EngineConfig) -> EngineResult:
    """Run one trial to its end.

    The same configuration gives the same result, bit for bit. Raises ValueError for a configuration that makes no
    sense and :class:`InvariantError` if the engine catches itself in a mistake.
    """
    if takes_custody(config):
        return hop_by_hop(config)
    if splits(config):
        check_split(config)
    return with_restarts(config, lambda one: to_result(_engine.simulate(one)))


def to_result(raw: dict[str, Any]) -> EngineResult:
    """Put the compiled engine's answer into its dataclasses."""
    return EngineResult(
        objects=ObjectResults(**raw["objects"]),
        samples=Samples(**raw["samples"]),
        end_ns=raw["end_ns"],
        totals=TransportStats(**raw["totals"]),
        flows=tuple(FlowResult(**flow) for flow in raw["flows"]),
        nodes=tuple(NodeResult(**node) for node in raw["nodes"]),
        hops=tuple(HopResult(**hop) for hop in raw["hops"]),
        trace=None if raw["trace"] is None else Trace(**raw["trace"]),
        steps=None if raw["steps"] is None else Steps(**raw["steps"]),
        coding=None if raw["coding"] is None else CodingResults(**raw["coding"]),
        ledger=None
        if raw["ledger"] is None
        else Ledger(**{**raw["ledger"], "entered": Earlier(**raw["ledger"]["entered"])}),
    )


def clairvoyant_weight(
    config: EngineConfig, weights: NDArray[np.float64], *, any_packets: bool = False
) -> float:
    """Give an upper bound on the Σ ``weights`` (one per object) of layers that a sender can deliver in time.

    The sender meets the same channel draws as :func:`simulate` and knows them all. It sends as the simulator's senders
    do: a packet has bytes of one layer, and is full or the layer's last. With ``any_packets`` the bound holds for every
    sender, also for one that fills a packet with the bytes of several layers. Without deadlines everything is in time.
    Over nodes it is also bounded by what the network can pass (:mod:`.passing`).
    """
    most: float = _engine.clairvoyant_weight(config, weights, any_packets)
    return min(most, most_weight(config, weights)) if over_nodes(config) else most


def least_playout_delay_ns(config: EngineConfig, delay_ns: int, *, any_packets: bool = False) -> int | None:
    """Give the least playout delay at which :func:`clairvoyant_weight` is the weight of all layers.

    ``delay_ns`` is that of ``config``'s deadlines, which move together; links and their draws stay. It is found by
    bisection to one part in 100,000, and never too short. ``None`` where none is enough before ``config.duration_ns``.
    Over nodes it is at least what the network needs (:func:`.passing.least_delay_ns`).
    """
    least: int | None = _engine.least_playout_delay(config, delay_ns, any_packets)
    if least is None or not over_nodes(config):
        return least
    of_network = least_delay_ns(config, delay_ns)
    return None if of_network is None else max(least, of_network)


def law_weight(config: EngineConfig, weights: NDArray[np.float64]) -> float:
    """Give the largest mean of Σ ``weights`` that any sender could bring in time which knows with what probability
    packets are lost, but not which.

    It hears of each packet at once, may split and code layers, and shakes hands on each link (without losing any of it)
    where ``config.transport`` does. The mean is over all draws of the losses. Raises ValueError where losses are not
    independent (kinds other than ``none`` and ``packet``).
    """
    return _engine.law_weight(config, weights)


def patience_ns(config: EngineConfig) -> int:
    """For how long nothing may be delivered before a run without a duration ends (``engine/src/link/stall.hpp``).
    Outages that end do not count."""
    return _engine.patience(config)


def fresh_packets_count(left_ns: int, light_ns: int) -> bool:
    """Whether a coded sender counts on fresh packets for what repair does not bring back: ``left_ns`` before its
    deadline, over ways of that light time."""
    return _engine.fresh_packets_count(left_ns, light_ns)


def opening(link: Link, at_ns: int = 0, *, header_bytes: int = HEADER_BYTES) -> int:
    """Tell when a handshake that is to begin at ``at_ns`` does.

    Its sender knows the link's outages and light times: it is the least time at which a SYN and its answer
    both pass; ``NEVER_NS`` if none does.
    """
    return _engine.openings(link, header_bytes, at_ns)[0]


def reopening(link: Link, at_ns: int, *, header_bytes: int = HEADER_BYTES) -> int:
    """Tell when a handshake that can begin at ``at_ns`` can do so again after the next outage in its way."""
    return _engine.openings(link, header_bytes, at_ns)[1]


def channel_losses(
    link: Link, seed: int, index: int, packet_bytes: int, slots: int, *, first: int = 0
) -> NDArray[np.bool_]:
    """Tell for ``slots`` service slots of a link's data direction, from ``first`` on, whether their packet is lost.

    A service slot is the time that ``packet_bytes`` take on the line, and its packet starts with it.
    """
    return _engine.channel_losses(link, seed, index, packet_bytes, slots, first)
