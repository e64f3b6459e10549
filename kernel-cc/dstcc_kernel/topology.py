"""Two hosts joined by the links of a plan, in network namespaces without names::

    spacecraft                                    Earth
    craftN ======================================= earthN      veth: no delay, no queue
    ifb uploadN <- ingress of craftN              ingress of earthN -> ifb downN
      netem: delay, loss of the way up              netem: delay, loss of the way down
        netem: rate, queue of the way up              netem: rate, queue of the way down

A direction's netem sits on an ifb behind the receiving end's ingress: a queue that overflows there is found out by
missing acknowledgements, as on a real link, while one on the sender's own device tells its TCP at once. The inner netem
has the rate and, in packets, the drop-tail queue, so that what is in flight does not count against it (delay and rate
commute).

A link that is *played* goes through a namespace in the middle, where a program carries each packet on
(``kernel-cc/links``)::

    craftN ====== nearN  (program)  farN ====== earthN

Link N has addresses 10.(N+1).x.y; each of the spacecraft's has a rule and a table of its own, so a subflow's
source says its link. Without names, everything goes when the last process that holds a namespace does.
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .namespaces import CLONE_NEWNET, new_network, unshare
from .namespaces import enter as setns
from .netem import Netem, install, redirect, stream
from .path_manager import PathManager
from .rtnetlink import MTU, OF_KERNEL, ON_LINK, QUEUE_LENGTH, SEGMENTS, Routes

if TYPE_CHECKING:
    from .job import LinkJob

SIOCETHTOOL = 0x8946
OFFLOADS = (0x1F, 0x24, 0x2C)
"""ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO: a netem that loses must lose single packets."""
CHECKSUMS = 0x17
"""ETHTOOL_STXCSUM: a packet that leaves the kernel needs its checksum."""
OUTER, INNER = 0x10000, 0x20000
"""Handles of the two netems, 1: and 2:."""
FIRST_TABLE = 100
ETHERNET_BYTES = 14
PAGES = "4000000 8000000 16000000"
"""tcp_mem of a guest: sockets alone may fill its memory."""
SYSCTLS = {
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/tcp_slow_start_after_idle": "0",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_syn_retries": "12",
    "net/ipv4/tcp_synack_retries": "12",
    "net/ipv4/tcp_retries2": "40",
    "net/ipv6/conf/default/disable_ipv6": "1",
    "net/ipv4/tcp_syn_linear_timeouts": "0",
    "net/mptcp/syn_retrans_before_tcp_fallback": "255",
}
"""Of both hosts. The defaults give up on a peer that is far away, and remember what the next trial should not know."""
WHERE_THERE = (
    "net/ipv6/conf/default/disable_ipv6",
    "net/ipv4/tcp_syn_linear_timeouts",
    "net/mptcp/syn_retrans_before_tcp_fallback",
)
"""Of these, those that some kernels have not: as they know no IPv6, double a SYN's timeout from the first on, or stay
with MPTCP however many SYNs are lost."""


@dataclass(frozen=True)
class Shape:
    """What one direction of a link does to packets, now."""

    delay_ns: int
    loss: Any
    """A probability or a :class:`~dstcc_kernel.netem.GilbertElliott`."""
    rate_bps: float
    queue_packets: int
    seed: int = 0
    """Of the losses from now on; 0: as the kernel likes."""


@dataclass(frozen=True)
class Wire:
    """A link as it is laid out: both directions at the start, and what its packets weigh."""

    down: Shape
    up: Shape
    mtu: int
    down_free_bytes: int
    """Of each packet's IP length on the way down: headers that the rate does not count."""
    up_free_bytes: int
    initial_cwnd: int
    rto_min_ms: int = 0
    """The spacecraft's; 0: the kernel's own."""
    played: bool = False
    """``down`` and ``up`` are a program's, in the middle."""


def shape(links: Sequence[LinkJob], seed: int, link: int, step: int, *, up: bool) -> Shape:
    """What a direction of a link does from that step of its on; its losses have a seed of their own, where the kernel
    takes one."""
    way = links[link].up if up else links[link].down
    now = way.steps[step]
    return Shape(now.delay_ns, now.loss, way.rate_bps, way.queue_packets, stream(seed, link, up, step))


def craft_address(link: int, subflow: int = 0) -> str:
    """The spacecraft's address that a subflow of a link starts from."""
    return f"10.{link + 1}.0.1" if subflow == 0 else f"10.{link + 1}.1.{subflow}"


def backup_address(link: int) -> str:
    """From which subflows start that are used only when all others fail."""
    return f"10.{link + 1}.2.1"


def earth_address(link: int) -> str:
    """The Earth's address on a link."""
    return f"10.{link + 1}.0.2"


class Topology:
    """The two hosts; build with :func:`build`."""

    def __init__(self, craft: int, earth: int, middle: int | None = None) -> None:
        self.craft, self.earth, self.middle = craft, earth, middle
        """Namespaces, as open files; a child process may inherit them."""
        self.craft_ip, self.earth_ip = routes_of(craft), routes_of(earth)
        self.middle_ip = None if middle is None else routes_of(middle)
        self._ifb: dict[tuple[int, bool], int] = {}

    def lay(self, link: int, wire: Wire, sources: Sequence[str]) -> None:
        """Lay a link whose spacecraft's end has the addresses ``sources``, the first its own."""
        names = f"craft{link}", f"earth{link}"
        macs = f"02:00:00:00:{link:02x}:01", f"02:00:00:00:{link:02x}:02"
        near, far = self._pairs(link, names, macs, wire)
        for source in sources:
            self.craft_ip.address(near, source, 16)
            self.earth_ip.neighbour(far, source, macs[0])
        self.earth_ip.address(far, earth_address(link), 16)
        self.craft_ip.neighbour(near, earth_address(link), macs[1])
        table = FIRST_TABLE + link
        metrics = {"initcwnd": wire.initial_cwnd}
        if wire.rto_min_ms:
            metrics["rto_min"] = wire.rto_min_ms
        self.craft_ip.route("0.0.0.0/0", near, gateway=earth_address(link), table=table, metrics=metrics)
        for source in sources:
            self.craft_ip.rule(source, 32, table)
        if not wire.played:
            self._shape(link, far, wire.down, wire.down_free_bytes, up=False)
            self._shape(link, near, wire.up, wire.up_free_bytes, up=True)

    def _pairs(self, link: int, names: tuple[str, str], macs: tuple[str, str], wire: Wire) -> tuple[int, int]:
        """The two hosts' devices of a link, by their indices: joined, or each with its other end in the middle."""
        hosts = ((self.craft_ip, self.craft), (self.earth_ip, self.earth))
        if not wire.played:
            self.craft_ip.pair(names, macs, self.earth, common(wire.mtu))
        else:
            assert self.middle is not None and self.middle_ip is not None
            middle = self.middle_ip, self.middle
            near, far = (
                join_to_middle(host, middle, (name, end), mac, wire.mtu)
                for host, name, mac, end in zip(hosts, names, macs, played_devices(link), strict=True)
            )
            return near, far
        made = []
        for (ip, namespace), name in zip(hosts, names, strict=True):
            offloads_off(namespace, name)
            made.append(ip.index(name))
            ip.up(made[-1])
        return made[0], made[1]

    def change(self, link: int, shape: Shape, *, up: bool) -> None:
        """Let one direction have another delay or loss from now on; what is in flight keeps its own."""
        ip = self.craft_ip if up else self.earth_ip
        install(ip, self._ifb[link, up], _outer(shape), handle=OUTER)

    def changes(self, links: Sequence[LinkJob], seed: int) -> list[tuple[int, Callable[[], None]]]:
        """What the links that are netem's do and when."""
        return [
            (
                way.steps[step].from_ns,
                partial(self.change, link, shape(links, seed, link, step, up=up), up=up),
            )
            for link, job in enumerate(links)
            if not job.played
            for up, way in ((False, job.down), (True, job.up))
            for step in range(1, len(way.steps))
        ]

    def allow_joins(self) -> None:
        """Let connections have further subflows."""
        for namespace in (self.craft, self.earth):
            allow_joins(namespace)

    def open_windows(self, link: int, initial_cwnd: int) -> None:
        """The first window of connections on the link's own subnet, from either end."""
        ends = ((self.craft_ip, "craft", craft_address(link)), (self.earth_ip, "earth", earth_address(link)))
        for ip, name, source in ends:
            subnet, metrics = f"10.{link + 1}.0.0/16", {"initcwnd": initial_cwnd}
            device = ip.index(f"{name}{link}")
            ip.route(subnet, device, source=source, scope=ON_LINK, by=OF_KERNEL, metrics=metrics)

    def join(self, number: int, address: str, *, backup: bool) -> None:
        """Open a further subflow from ``address`` for every connection that stands, and for each that will."""
        join_from(self.craft, number, address, backup=backup)

    def _shape(self, link: int, receiving: int, shape: Shape, free_bytes: int, *, up: bool) -> None:
        ip, name = (self.craft_ip, f"up{link}") if up else (self.earth_ip, f"down{link}")
        device = ip.ifb(name)
        ip.up(device, mtu=65_535, queue_length=10_000)
        self._ifb[link, up] = device
        install(ip, device, _outer(shape), handle=OUTER)
        queue = Netem(
            limit_packets=shape.queue_packets,
            rate_bps=shape.rate_bps,
            overhead_bytes=-ETHERNET_BYTES - free_bytes,
        )
        install(ip, device, queue, handle=INNER, parent=OUTER | 1)
        redirect(ip, receiving, device)

    def close(self) -> None:
        """Let go of the namespaces; they end with the last process that uses them."""
        for ip, namespace in (
            (self.craft_ip, self.craft),
            (self.earth_ip, self.earth),
            (self.middle_ip, self.middle),
        ):
            if ip is not None and namespace is not None:
                ip.close()
                os.close(namespace)


@contextmanager
def build(
    buffer_bytes: int,
    *,
    unsent_bytes: int | None = None,
    sysctls: Mapping[str, str] = MappingProxyType({}),
    roots: Sequence[int] | None = None,
    middle: bool = False,
) -> Iterator[Topology]:
    """Two hosts without links, whose sockets may hold ``buffer_bytes``, a subflow so many of them unsent; gone when the
    block ends. ``roots`` are the user namespaces, one a host, whose root may change the host's network. ``middle``:
    links may be played."""
    with and_back():
        spaces = [
            new_namespace(buffer_bytes, unsent_bytes, sysctls, users=users) for users in roots or (None, None)
        ]
        spaces += [new_namespace(buffer_bytes, None)] if middle else []
    made = Topology(*spaces)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def inside(namespace: int) -> Iterator[None]:
    """Be in a namespace: sockets made meanwhile belong to it."""
    with and_back():
        enter(namespace)
        yield


@contextmanager
def and_back() -> Iterator[None]:
    """Be in this namespace again when the block ends."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        enter(home)
        os.close(home)


def played_devices(link: int) -> tuple[str, str]:
    """The middle's ends of a played link's devices: towards the spacecraft, and towards Earth."""
    return f"near{link}", f"far{link}"


def allow_joins(namespace: int) -> None:
    """Let a host's connections have further subflows."""
    with inside(namespace), PathManager() as manager:
        manager.allow_joins()


def join_from(namespace: int, number: int, address: str, *, backup: bool) -> None:
    """Open a further subflow from a host's ``address`` for every connection that stands, and for each that will."""
    with inside(namespace), PathManager() as manager:
        manager.join(number, address, backup=backup)


def join_to_middle(
    host: tuple[Routes, int], middle: tuple[Routes, int], names: tuple[str, str], mac: str, mtu: int
) -> int:
    """Make a host's device of a played link, whose other end is in the middle, each by its name there; its index. Of
    both the namespace is given, and what speaks to its kernel."""
    name, end = names
    host[0].pair(names, (mac, None), middle[1], common(mtu))
    offloads_off(middle[1], end)
    middle[0].up(middle[0].index(end))
    offloads_off(host[1], name, (CHECKSUMS, *OFFLOADS))
    device = host[0].index(name)
    host[0].up(device)
    return device


def common(mtu: int) -> dict[int, int]:
    """Of all devices of links."""
    return {MTU: mtu, SEGMENTS: 1, QUEUE_LENGTH: 10_000}


def routes_of(namespace: int) -> Routes:
    """Who speaks to the kernel of routes and devices in a namespace."""
    with inside(namespace):
        return Routes()


def _outer(shape: Shape) -> Netem:
    return Netem(delay_ns=shape.delay_ns, loss=shape.loss, seed=shape.seed)


def new_namespace(
    buffer_bytes: int,
    unsent_bytes: int | None,
    sysctls: Mapping[str, str] = MappingProxyType({}),
    *,
    users: int | None = None,
) -> int:
    """Enter a network namespace of its own, set up for far peers; an open file that holds it."""
    if users is None:
        unshare(CLONE_NEWNET)
    else:
        enter(new_network(users))
    buffers = f"4096 131072 {buffer_bytes}"
    settings = {**SYSCTLS, "net/ipv4/tcp_rmem": buffers, "net/ipv4/tcp_wmem": buffers, **sysctls}
    if unsent_bytes is not None:
        settings["net/ipv4/tcp_notsent_lowat"] = str(unsent_bytes)
    for key, value in settings.items():
        path = Path("/proc/sys", key)
        if path.exists() or key not in WHERE_THERE:
            path.write_text(value)
    return os.open("/proc/self/ns/net", os.O_RDONLY)


def enter(namespace: int) -> None:
    """Be in a namespace from now on."""
    setns(namespace, CLONE_NEWNET)


def offloads_off(namespace: int, device: str, offloads: Sequence[int] = OFFLOADS) -> None:
    """Let a device carry packets as they are on the line."""
    with inside(namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in offloads:
            value = array.array("I", [command, 0])
            request = struct.pack("16sP", device.encode(), value.buffer_info()[0])
            fcntl.ioctl(any_socket, SIOCETHTOOL, request)
