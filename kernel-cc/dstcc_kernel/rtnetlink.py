"""A namespace's devices, addresses and routes, over a plain rtnetlink socket: what topologies are laid with.

A request is a structure of <linux/if_link.h>, <linux/rtnetlink.h> and their like, attributes behind it, and an answer;
see rtnetlink(7). In a guest, where a call of the kernel is dear, a library for all of rtnetlink takes longer to import
than the guest to boot.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from types import MappingProxyType

from .genetlink import (
    ACK,
    BUFFER,
    CAP_ACK,
    ERROR,
    EXT_ACK,
    HEADER,
    REQUEST,
    SOL_NETLINK,
    Closing,
    attribute,
    nest,
    raise_refusal,
    split,
    u32,
)

NEWLINK, GETLINK, NEWADDR, NEWROUTE, NEWNEIGH, NEWRULE, NEWQDISC, NEWTFILTER = 16, 18, 20, 24, 28, 32, 36, 44
"""RTM_*."""
REPLACE, EXCLUSIVE, CREATE = 0x100, 0x200, 0x400
"""NLM_F_*."""
LOOPBACK = 1
"""The index of that device, in each namespace."""
LINK = struct.Struct("=BxHiII")
"""struct ifinfomsg: family, type, index, flags, which of them change."""
ADDRESS, NAME, MTU, QUEUE_LENGTH, INFO, NAMESPACE, SEGMENTS = 1, 3, 4, 13, 18, 28, 40
"""IFLA_*; the last but one as an open file, the last that GSO may have."""
KIND, DATA, PEER = 1, 2, 1
"""IFLA_INFO_*, VETH_INFO_PEER."""
UP = 1
ADDR = struct.Struct("=BBBBI")
"""struct ifaddrmsg: family, length, flags, scope, index; and IFA_*."""
ADDR_ADDRESS, ADDR_LOCAL = 1, 2
NEIGH = struct.Struct("=BxxxiHBB")
"""struct ndmsg: family, index, state, flags, type; and NDA_*, NUD_PERMANENT."""
NEIGH_DST, NEIGH_MAC, PERMANENT = 1, 2, 0x80
ROUTE = struct.Struct("=BBBBBBBBI")
"""struct rtmsg: family, lengths of destination and source, TOS, table, protocol, scope, type, flags; and RTA_*."""
DST, OIF, GATEWAY, PREFERRED, METRICS, TABLE = 1, 4, 5, 7, 8, 15
OF_KERNEL, STATIC, UNICAST, UNIVERSE, ON_LINK = 2, 4, 1, 0, 253
RULE_SRC, RULE_PRIORITY, RULE_TABLE, TO_TABLE = 2, 6, 15, 1
"""FRA_*, FR_ACT_TO_TBL."""
MAIN = 254
"""The table of routes that is looked into first."""
METRIC = {"initcwnd": 11, "rto_min": 13}
"""RTAX_*; the second in milliseconds."""
TRAFFIC = struct.Struct("=BxxxiIII")
"""struct tcmsg: family, index, handle, parent, info; and TCA_*."""
TRAFFIC_KIND, TRAFFIC_OPTIONS = 1, 2


class Routes(Closing):
    """A socket to the calling thread's network namespace; methods raise
    :class:`~dstcc_kernel.genetlink.NetlinkError` for what the kernel refuses."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        for option in (CAP_ACK, EXT_ACK):
            self._socket.setsockopt(SOL_NETLINK, option, 1)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def index(self, name: str) -> int:
        """A device's index."""
        answer = self._ask(GETLINK, LINK.pack(0, 0, 0, 0, 0) + attribute(NAME, _text(name)), 0)
        return int(LINK.unpack_from(answer)[2])

    def up(self, device: int, *, mtu: int = 0, queue_length: int = 0) -> None:
        """Let a device carry packets, by its index."""
        numbers = ((MTU, mtu), (QUEUE_LENGTH, queue_length))
        more = b"".join(u32(kind, value) for kind, value in numbers if value)
        self._ask(NEWLINK, LINK.pack(0, 0, device, UP, UP) + more, 0)

    def pair(
        self, names: tuple[str, str], macs: tuple[str, str | None], namespace: int, common: Mapping[int, int]
    ) -> None:
        """Make a veth device, whose other end is in another namespace; ``common`` are both's attributes."""
        shared = b"".join(u32(kind, value) for kind, value in common.items())
        near, far = (
            attribute(NAME, _text(name)) + (attribute(ADDRESS, _mac(mac)) if mac else b"") + shared
            for name, mac in zip(names, macs, strict=True)
        )
        peer = LINK.pack(0, 0, 0, 0, 0) + far + u32(NAMESPACE, namespace)
        self._make("veth", near, nest(DATA, attribute(PEER, peer)))

    def ifb(self, name: str) -> int:
        """Make an ifb device; its index."""
        self._make("ifb", attribute(NAME, _text(name)), b"")
        return self.index(name)

    def _make(self, kind: str, about: bytes, data: bytes) -> None:
        info = nest(INFO, attribute(KIND, kind.encode()), data)
        self._ask(NEWLINK, LINK.pack(0, 0, 0, 0, 0) + about + info, CREATE | EXCLUSIVE)

    def address(self, device: int, address: str, length: int, flags: int = 0) -> None:
        """Give a device an address."""
        family, raw = _address(address)
        parts = attribute(ADDR_ADDRESS, raw) + attribute(ADDR_LOCAL, raw)
        self._ask(NEWADDR, ADDR.pack(family, length, flags, 0, device) + parts, CREATE | EXCLUSIVE)

    def neighbour(self, device: int, address: str, mac: str) -> None:
        """Say for good behind which MAC address a neighbour is."""
        family, raw = _address(address)
        parts = attribute(NEIGH_DST, raw) + attribute(NEIGH_MAC, _mac(mac))
        self._ask(NEWNEIGH, NEIGH.pack(family, device, PERMANENT, 0, 0) + parts, CREATE | REPLACE)

    def route(
        self,
        to: str,
        device: int,
        *,
        gateway: str | None = None,
        source: str | None = None,
        table: int = MAIN,
        flags: int = 0,
        scope: int = UNIVERSE,
        by: int = STATIC,
        metrics: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """A route to addresses (``10.1.0.0/16``), in the place of one there is."""
        place, _, length = to.partition("/")
        family, raw = _address(place)
        small = table if table <= 0xFF else 0
        head = ROUTE.pack(family, int(length), 0, 0, small, by, scope, UNICAST, flags)
        parts = [attribute(DST, raw)] if int(length) else []
        parts += [u32(OIF, device), u32(TABLE, table)]
        parts += [attribute(GATEWAY, _address(gateway)[1])] if gateway else []
        parts += [attribute(PREFERRED, _address(source)[1])] if source else []
        parts += [nest(METRICS, *(u32(METRIC[name], value) for name, value in metrics.items()))]
        self._ask(NEWROUTE, head + b"".join(parts), CREATE | REPLACE)

    def rule(self, source: str, length: int, table: int) -> None:
        """Have what comes from addresses look into a table first."""
        family, raw = _address(source)
        head = ROUTE.pack(family, 0, length, 0, 0, 0, 0, TO_TABLE, 0)
        parts = attribute(RULE_SRC, raw) + u32(RULE_PRIORITY, 1000) + u32(RULE_TABLE, table)
        self._ask(NEWRULE, head + parts, CREATE | EXCLUSIVE)

    def discipline(self, kind: str, device: int, options: bytes, *, handle: int, parent: int) -> None:
        """A queueing discipline of a device, in the place of one there is."""
        about = TRAFFIC.pack(0, device, handle, parent, 0)
        self._ask(NEWQDISC, about + _of_kind(kind, options), CREATE | REPLACE)

    def filter(self, kind: str, device: int, options: bytes, *, parent: int, info: int) -> None:
        """A filter of a device's packets."""
        about = TRAFFIC.pack(0, device, 0, parent, info)
        self._ask(NEWTFILTER, about + _of_kind(kind, options), CREATE | EXCLUSIVE)

    def _ask(self, kind: int, body: bytes, flags: int) -> bytes:
        """Send a request; the answer that came before its acknowledgement, if one did."""
        self._socket.send(HEADER.pack(HEADER.size + len(body), kind, REQUEST | ACK | flags, 0, 0) + body)
        answer = b""
        while True:
            for (_, said, about, _, _), content in split(self._socket.recv(BUFFER)):
                if said != ERROR:
                    answer = content
                    continue
                raise_refusal("rtnetlink", about, said, content)
                return answer


def _of_kind(kind: str, options: bytes) -> bytes:
    return attribute(TRAFFIC_KIND, _text(kind)) + attribute(TRAFFIC_OPTIONS, options)


def _text(name: str) -> bytes:
    return name.encode() + b"\0"


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _address(text: str) -> tuple[int, bytes]:
    """Family and bytes."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    return int(family), socket.inet_pton(family, text)
