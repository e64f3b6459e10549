"""Records of sockets and links while a mission goes on: what the kernel answers, unread, to be read afterwards.

Of a network's links and nodes it is the program that plays them that answers.

``samples.bin`` is a sequence of records: time (ns after the start), end host, kind, length, then the netlink messages
as they came. ``inet_diag`` dumps hold ``TCP_INFO`` of every socket, qdisc dumps the counters of the links' netems.
Source: include/uapi/linux/inet_diag.h, sock_diag.h, rtnetlink.h.
"""

from __future__ import annotations

import os
import re
import socket
import struct
from contextlib import suppress
from typing import BinaryIO

from ..genetlink import DONE, DUMP, ERROR, HEADER, REQUEST, u32

HEAD = struct.Struct("<qBBHI")
"""Time (ns), end host, kind, nothing, bytes that follow."""
TCP, MPTCP, QDISC, PLAYED = 0, 1, 2, 3
"""Kinds of records."""
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY, RTM_GETQDISC = 20, 38
IPPROTO_MPTCP = 262
STATES = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11
"""Sockets with TCP_INFO: established, SYN sent and received, FIN waits, close wait, last ACK, closing."""
INFO, CONG, REQ_PROTOCOL = 2, 4, 3
"""INET_DIAG_INFO, INET_DIAG_CONG, INET_DIAG_REQ_PROTOCOL."""
EXTENSIONS = 1 << (INFO - 1) | 1 << (CONG - 1)
ALIGNED = 4
COUNTS, COUNTS_BYTES = ("sockstat", "sockstat6"), 512
"""Of /proc/net: how many sockets a host has. A dump goes through the tables of sockets, for a millisecond of real time
where there are none."""
NO_SOCKETS = re.compile(rb"TCP6?: inuse 0(?: orphan 0 tw 0 .*)?")


class Sampler:
    """Asks one end host's kernel; made inside its network namespace."""

    def __init__(self, host: int, *, netem: bool = True) -> None:
        self._host, self._netem = host, netem
        self._diag = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
        self._route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._counts = []
        for name in COUNTS:
            with suppress(FileNotFoundError):  # a kernel without IPv6
                self._counts.append(os.open(f"/proc/thread-self/net/{name}", os.O_RDONLY))
        self._buffer = bytearray(1 << 18)
        self._last = b""

    def sample(self, t_ns: int, file: BinaryIO) -> bool:
        """Append a record of each kind; whether anything is other than the last time.

        MPTCP's connections have TCP sockets, so without any nobody asks for them.
        """
        requests = _TCP_SOCKETS if self._has_sockets() else ()
        now = b"".join(self._ask(t_ns, file, TCP, self._diag, request) for request in requests)
        for request in _MPTCP_SOCKETS if now else ():
            self._ask(t_ns, file, MPTCP, self._diag, request)
        if self._netem:
            now += self._ask(t_ns, file, QDISC, self._route, _QDISCS)
        before, self._last = self._last, now
        return now != before

    def _has_sockets(self) -> bool:
        """Whether there is any of TCP's: a listening one, one that waits after its end, or another."""
        counts = (os.pread(file, COUNTS_BYTES, 0).splitlines() for file in self._counts)
        return any(
            not NO_SOCKETS.fullmatch(line) for lines in counts for line in lines if line.startswith(b"TCP")
        )

    def _ask(self, t_ns: int, file: BinaryIO, kind: int, asked: socket.socket, request: bytes) -> bytes:
        asked.send(request)
        answer = self._answer(asked)
        if answer:
            file.write(HEAD.pack(t_ns, self._host, kind, 0, len(answer)) + answer)
        return answer

    def _answer(self, asked: socket.socket) -> bytes:
        """A dump's messages but the last, which says that there are no more."""
        parts: list[bytes] = []
        while True:
            size = asked.recv_into(self._buffer)
            at = 0
            while at < size:
                length, kind = struct.unpack_from("=IH", self._buffer, at)
                if kind in (ERROR, DONE):
                    return b"".join(parts)
                parts.append(
                    bytes(self._buffer[at : at + length]).ljust(-(-length // ALIGNED) * ALIGNED, b"\0")
                )
                at += -(-length // ALIGNED) * ALIGNED


def _message(kind: int, body: bytes) -> bytes:
    return HEADER.pack(HEADER.size + len(body), kind, REQUEST | DUMP, 0, 0) + body


def _sockets(family: int, protocol: int) -> bytes:
    """A request for all sockets of a protocol; one above 255 has its number in an attribute."""
    small = protocol if protocol <= 0xFF else socket.IPPROTO_RAW
    body = struct.pack("=BBBBI", family, small, EXTENSIONS, 0, STATES) + bytes(48)
    if small != protocol:
        body += u32(REQ_PROTOCOL, protocol)
    return _message(SOCK_DIAG_BY_FAMILY, body)


_TCP_SOCKETS, _MPTCP_SOCKETS = (
    tuple(_sockets(family, protocol) for family in (socket.AF_INET, socket.AF_INET6))
    for protocol in (socket.IPPROTO_TCP, IPPROTO_MPTCP)
)
_QDISCS = _message(RTM_GETQDISC, bytes(20))
