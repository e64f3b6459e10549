"""One trial as the kernel side takes it: emulated time, scaled links, the layers in a file of numbers beside it.

The file ``objects.bin`` has seven int64 a layer: chunk, layer, bytes, release, deadline (ns, the largest number for
none), index of its payload's file (-1: none, bytes are made), and where in that it begins.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any, get_args, get_type_hints

from .netem import GilbertElliott
from .network import Network

NEVER_NS = (1 << 63) - 1
JOB, OBJECTS, RESULT, PART = "job.json", "objects.bin", "result.bin", "result.bin.part"
"""Files of a trial's folder; the last one is what came out until now, while it runs."""
COUNTS = "counts.bin"
"""Another, of a network: rows of int64, each a time and what the links and nodes count then."""


@dataclass(frozen=True)
class Step:
    """From a time on, what a direction does; what is in flight keeps what it began with."""

    from_ns: int
    delay_ns: int
    loss: float | GilbertElliott


@dataclass(frozen=True)
class Way:
    """One direction of a link."""

    rate_bps: float
    queue_packets: int
    steps: tuple[Step, ...]
    """The first from 0 on."""


@dataclass(frozen=True)
class LinkJob:
    """A link, and how many of the connection's subflows it has (in lanes: one)."""

    name: str
    down: Way
    up: Way
    subflows: int = 1
    opens_ns: int = 0
    """When a handshake over it begins."""
    joins_ns: int = 0
    """Stream: from when on the connection's later subflows may join over it."""
    planned_ns: tuple[tuple[int, int], ...] = ()
    """Outages of the way down that the contact plan has."""
    config: tuple[str, ...] = ()
    """In the simulator's own terms, for the programs (:mod:`dstcc_kernel.link_plan`)."""
    played: bool = False
    """A program of ours is the link, and not netem; ``down`` and ``up`` are what the contact plan has of it."""


@dataclass(frozen=True)
class Job:
    """A trial."""

    congestion: str
    """The kernel's name."""
    lanes: bool
    lanes_per_link: int
    rotate: bool
    """Lanes get layers in rotation, not the quickest first."""
    layer_first: bool
    drop_late: bool
    backups: bool
    """Lanes: the other links carry what theirs cannot. Where no link may be gone for good they cost more than they
    bring: MPTCP's timer begins at 200 ms, whatever the round trip, and what it sends twice takes the place of what is
    due."""
    layer_links: tuple[int, ...]
    stale_timers: int
    """``net.mptcp.stale_loss_cnt`` where a connection has several subflows."""
    mss_bytes: int
    initial_cwnd: int
    receive_buffer_bytes: int
    send_buffer_bytes: int
    unsent_bytes: int
    """Stream: what a subflow may be given beyond what it has sent. Without a limit MPTCP binds all that the send buffer
    holds to subflows at once; one that it takes for stale costs that again."""
    tick_ns: int
    slot_ns: int
    duration_ns: int
    stall_ns: int
    """Without a delivery for so long the trial ends; the time until the end of an outage does not count."""
    outages_ns: tuple[tuple[int, int], ...]
    """Of all links and ways."""
    links: tuple[LinkJob, ...]
    payloads: tuple[str, ...]
    program: str
    module: str | None = None
    """``dstcc_cc.ko`` to load, where the congestion control is ours."""
    steer: dict[str, Any] | None = None
    """Who decides once a slot: arguments of :func:`dstcc_kernel.steer.make`, of a coded trial those of
    :class:`dstcc_kernel.coded_steer.CodedController`."""
    shared: bool = False
    """Whether a link's lanes share one window, which who decides sets; else each has its own."""
    placed: bool = False
    """Stream: the kernel's scheduler sends each layer on the subflow that who decides has for it; windows are shared
    then, of which each link's one subflow has its own."""
    rate: bool = False
    """Shared: windows say paces, which nothing in flight closes."""
    rotating: int = 1
    """Shared: of a link's lanes, those that get layers in rotation; the others help while receivers' windows are
    small."""
    parameters: dict[str, str] = field(default_factory=dict)
    """Of the module tcp_cubic; the whole kernel's, so a guest's only."""
    sysctls: dict[str, str] = field(default_factory=dict)
    """Of both ends, beside those that every trial has."""
    rto_min_ms: int = 0
    """The routes' least retransmission timeout; 0: the kernel's."""
    seed: int = 0
    """Of netem's losses, where the kernel's netem takes one."""
    ledger: bool = False
    """The result has what the sender knows of each layer at the end."""
    coded: bool = False
    """Layers in datagrams, coded or by ``ltp`` (``coded.py``); of the other fields it has tick, slot, ends, links,
    program and steer."""
    capture: bool = False
    """Whether every packet is kept, as it leaves a host and as it arrives (:mod:`dstcc_kernel.captured`)."""
    capture_bytes: int | None = None
    """The most of each that is."""
    player: str | None = None
    """The program that plays links, where any are."""
    network: Network | None = None
    """Over nodes, of whose paths ``links`` are what the ends know."""
    lines: tuple[tuple[str, ...], ...] = ()
    """Of each link of the network, for that program (:func:`dstcc_kernel.link_plan.link_lines`)."""
    flows: tuple[str, ...] = ()
    """Lines of others' connections (:func:`dstcc_kernel.link_plan.flow_lines`), and the program that has them."""
    flows_program: str | None = None
    free_bytes: tuple[int, int] = (0, 0)
    """There: of a datagram's IP length on the way down and up, headers that the line does not count."""
    guest: bool = True
    """Whether the kernel is a guest's, to be set up as a whole; of a host's own only the trial's namespaces are."""

    def write(self, path: Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def read_job(path: Path) -> Job:
    """Read what :meth:`Job.write` wrote."""
    job: Job = of_document(Job, json.loads(path.read_text()))
    return job


def of_document(kind: Any, value: Any) -> Any:
    """A value of a kind, as :func:`dataclasses.asdict` and JSON left it."""
    if isinstance(value, list):
        kinds = get_args(kind)
        return tuple(map(of_document, repeat(kinds[0]) if kinds[1:] == (...,) else kinds, value))
    if isinstance(value, dict):
        made: Any = next((one for one in (kind, *get_args(kind)) if is_dataclass(one)), None)
        if made is not None:
            hints = _hints(made)
            return made(**{name: of_document(hints[name], part) for name, part in value.items()})
    return value


_hints = lru_cache(get_type_hints)
