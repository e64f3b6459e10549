"""From a checked scenario to the engine's configuration, one :class:`EngineConfig` per pair of algorithms and seed."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dstcc.algorithms import PER_LINK_KEYS, built_in, parameters_of
from dstcc.engine.config import NEVER_NS, EngineConfig, Link, Objects, Transport
from dstcc.engine.hop_by_hop import stages_of, takes_custody
from dstcc.engine.split import check_split, splits
from dstcc.errors import ScenarioError
from dstcc.extensions import Extension, label, load_named
from dstcc.frozen import dataclass

from .coding import engine_coding
from .constants import engine_constants
from .draws import draw_links, longest_possible_rtt_s, rtt_s
from .fields import MAX_TIME_S, NS_PER_S, ns
from .lanes import windows_per_link
from .model import Scenario
from .restarts import engine_restarts
from .video import Source
from .work import check_work, work_of

LINUX_RTT_LIMIT_S = 40.0
"""Linux's first timeout is 3 RTTs, clipped at TCP_RTO_MAX = 120 s: above this RTT it fires too early."""
DELAY_RTTS = {"deadline": 2.0, "stall": 0.0}
"""Default playout delay in RTTs of the longest link. With two RTTs one retransmission is in time: a loss is detected
after 1 RTT, the retransmission arrives after 1.5."""
DEFAULT_SLOT_RTTS = 0.25
MAX_DEFAULT_SLOTS = 2_000
MAX_SLOTS = 1_000_000


@dataclass(frozen=True)
class TrialSetup:
    """The links, objects and times that all trials of one seed share."""

    seed: int
    links: tuple[Link, ...]
    objects: Objects
    chunk_ns: NDArray[np.int64]
    """How long each chunk is shown."""
    capture_ns: NDArray[np.int64]
    """When each chunk's last frame is captured."""
    playout_delay_ns: int
    mss_bytes: int
    slot_ns: int
    duration_ns: int
    length_s: float
    """Expected length of the run, in which outages are counted."""
    scale: float
    payloads: tuple[Path, ...] = ()
    """The source's payload files."""


def scale_of(scenario: Scenario, most_rtt_s: float = LINUX_RTT_LIMIT_S) -> float:
    """Mission seconds per emulated second, the same for all trials; ``auto`` is the least with round trips of
    ``most_rtt_s`` emulated seconds."""
    if scenario.run.scale is not None:
        return scenario.run.scale
    return float(max(1, ceil(longest_possible_rtt_s(scenario) / most_rtt_s)))


def draw_trial(scenario: Scenario, source: Source, seed: int) -> TrialSetup:
    """Draw the links of a seed, and compute when the source's objects are released and when they are due."""
    links = draw_links(scenario, seed)
    delay_ns = ns(_playout_delay_s(scenario, links))
    objects = _objects(scenario, source, delay_ns)
    duration_s = scenario.scenario.duration_s
    expected_s = horizon_s(links, objects, duration_s)
    return TrialSetup(
        seed=seed,
        links=links,
        objects=objects,
        chunk_ns=source.columns.chunk_ns,
        capture_ns=source.columns.capture_ns,
        playout_delay_ns=delay_ns,
        mss_bytes=scenario.transport.mss_bytes,
        slot_ns=_slot_ns(scenario, links, expected_s),
        duration_ns=NEVER_NS if duration_s is None else ns(duration_s),
        length_s=_length_s(scenario, links, expected_s),
        scale=scale_of(scenario),
        payloads=source.payloads,
    )


def engine_config(scenario: Scenario, setup: TrialSetup, congestion: str, scheduler: str) -> EngineConfig:
    """The engine's configuration of one trial; algorithms by their labels. Lanes with a window each become subflows.

    Raises :class:`~dstcc.errors.ScenarioError` for a trial that would take more than the limits in force
    (:mod:`.work`).
    """
    windows, links = windows_per_link(scenario.transport, congestion, scheduler), setup.links
    if windows > 1:
        links = tuple(replace(link, subflows=link.subflows * windows) for link in links)
    config = EngineConfig(
        seed=setup.seed,
        links=links,
        transport=_transport(scenario, setup, congestion, scheduler),
        objects=setup.objects,
        coding=engine_coding(scenario, setup, congestion),
        slot_ns=setup.slot_ns,
        duration_ns=setup.duration_ns,
        restarts=engine_restarts(scenario.transport.restart),
        payloads=setup.payloads,
    )
    try:
        if takes_custody(config):
            stages_of(config)
        elif splits(config):
            check_split(config)
    except ValueError as error:
        raise ScenarioError(f"{scenario.scenario.name}: node: {error}") from None
    check_work(
        scenario.scenario.name,
        work_of(config, horizon_s(config.links, config.objects, scenario.scenario.duration_s)),
    )
    return config


def extensions_of(scenario: Scenario) -> tuple[Extension, ...]:
    """The algorithms of a scenario that are not built in."""
    transports = [one.transport for one in (scenario, *scenario.varied().values())]
    named = [("congestion", name) for transport in transports for name in transport.congestion]
    named += [("scheduler", name) for transport in transports for name in transport.scheduler]
    return tuple(load_named(name, kind) for kind, name in dict.fromkeys(named) if not built_in(name, kind))


def horizon_s(links: tuple[Link, ...], objects: Objects, duration_s: float | None = None) -> float:
    """The estimated length of the run in seconds: its duration, or an estimate from the rates and the deadlines."""
    if duration_s is not None:
        return duration_s
    round_trips = 2 * max(map(rtt_s, links))
    released_s = float(objects.release_ns.max()) / NS_PER_S
    last_ns = objects.last_deadline_ns
    if last_ns != NEVER_NS:
        return last_ns / NS_PER_S + round_trips
    return max(released_s, _sending_s(links, 8 * float(objects.payload_bytes.sum()))) + round_trips


def _sending_s(links: tuple[Link, ...], bits: float) -> float:
    """How long the links take for so many bits: at changing rates a time that is enough, at most twice too long."""
    seconds = bits / sum(link.rate_bps for link in links)
    while seconds < MAX_TIME_S and sum(link.carried_bits(0, ns(seconds)) for link in links) < bits * (
        1 - 1e-9
    ):
        seconds *= 2
    return seconds


def _length_s(scenario: Scenario, links: tuple[Link, ...], expected_s: float) -> float:
    """The horizon; without a duration it is extended beyond every outage that ends."""
    if scenario.scenario.duration_s is not None:
        return expected_s
    ends = [stop for link in links for _, stop in link.outages_ns if stop < ns(MAX_TIME_S)]
    return max(expected_s, max(ends, default=0) / NS_PER_S)


def _playout_delay_s(scenario: Scenario, links: tuple[Link, ...]) -> float:
    playout = scenario.playout
    if playout.delay_s is not None:
        return playout.delay_s
    rtts = DELAY_RTTS[playout.mode] if playout.delay_rtts is None else playout.delay_rtts
    return rtts * max(map(rtt_s, links))


def _objects(scenario: Scenario, source: Source, playout_delay_ns: int) -> Objects:
    timed = scenario.playout.mode == "deadline"
    return source.objects(scenario.video.source == "live", playout_delay_ns if timed else None)


def _slot_ns(scenario: Scenario, links: tuple[Link, ...], length_s: float) -> int:
    run, shortest = scenario.run, min(map(rtt_s, links))
    if run.slot_s is not None:
        slot_s, most = run.slot_s, MAX_SLOTS
    elif run.slot_rtts is not None:
        slot_s, most = run.slot_rtts * shortest, MAX_SLOTS
    else:
        slot_s, most = DEFAULT_SLOT_RTTS * shortest, MAX_DEFAULT_SLOTS
    return max(1, ns(max(slot_s, length_s / most)))


def _transport(scenario: Scenario, setup: TrialSetup, congestion: str, scheduler: str) -> Transport:
    transport, names = scenario.transport, [link.name for link in setup.links]
    apart = windows_per_link(transport, congestion, scheduler) > 1
    pinned = transport.layer_links if scheduler == "layer-pinned" else None
    return Transport(
        congestion=congestion,
        scheduler=scheduler,
        congestion_extension=_extension(transport.congestion, congestion, "congestion"),
        scheduler_extension=_extension(transport.scheduler, scheduler, "scheduler"),
        mode=transport.mode,
        handshake=transport.handshake,
        lanes_per_link=1 if apart else transport.lanes_per_link,
        apart=apart,
        mss_bytes=transport.mss_bytes,
        initial_cwnd=transport.initial_cwnd,
        receive_buffer_bytes=transport.receive_buffer_bytes or 0,
        scale=setup.scale,
        constants=engine_constants(transport.constants, setup.scale),
        parameters=parameters_of(
            {congestion, *(flow.congestion for link in setup.links for flow in link.flows)},
            lambda key: _values(getattr(transport, key), len(names) if key in PER_LINK_KEYS else 1),
        ),
        layer_links=tuple(names.index(name) for name in pinned or ()),
        drop_late=scenario.playout.mode == "deadline",
        layer_first=scenario.playout.mode == "deadline" and scenario.video.source == "live",
    )


def _values(given: tuple[float, ...] | float | None, count: int) -> tuple[float, ...]:
    """What a key says, ``count`` times where it says one value for all; nothing where it is not set."""
    if given is None or given is False:
        return ()
    values = given if isinstance(given, tuple) else (given,)
    return values * count if len(values) == 1 else values


def _extension(names: tuple[str, ...], wanted: str, kind: str) -> Extension | None:
    """The extension of a scenario's names that is called ``wanted`` in tables; None if there is none, or if it is built
    in."""
    name = next((name for name in names if label(name) == wanted), None)
    return None if name is None or built_in(name, kind) else load_named(name, kind)
