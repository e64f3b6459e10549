"""A trial's packets as captures for Wireshark and tcpdump (pcapng, draft-ietf-opsawg-pcapng), a file for each end.

An end's file has an interface a link, with what passes by there: data sent and ACKs arriving at the spacecraft, data
arriving and ACKs sent on Earth. What is lost on the way is thus in one file only; what the queue drops is in none. In
one file for both, tools would take each packet's second appearance for a retransmission. Headers are made up after
the trial: IPv4, addresses ``10.LINK.0.1`` and ``.2``, a port per sender, sequence numbers in payload bytes, in SYNs a
segment size, SACK and a window scale (RFC 7323), SACK blocks (RFC 2018). The window is the largest there is; MPTCP's
own options and the payload are left out; coded layers and ``ltp`` are UDP datagrams with the headers of the kernel's
programs; TCP's checksum is 0, as with checksum offload. Times are mission time, from 1 January 2000 on, in
nanoseconds.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dstcc.engine import Connection, Link, Trace
from dstcc.engine.config import Ends
from dstcc.wire import ENDS, EPOCH_NS, interface_block, packet_block, section_block

from .datagrams import ACK_ARRIVED, ACK_SENT, DATA_ARRIVED, DATA_SENT, Datagram, Datagrams
from .segments import ENGINE, Segments

PORT, FIRST_SENDER_PORT = 5201, 40_000
"""The first connection's; each has ports of its own."""
DROPPED = 2
SEEN = dict(zip(ENDS, ((DATA_SENT, ACK_ARRIVED), (DATA_ARRIVED, ACK_SENT)), strict=True))
"""The events that pass by each end."""

SYN, ACK = 0x02, 0x10
WINDOW_SCALE = 14
"""The largest that RFC 7323 has."""
IP_HEADER, TCP_HEADER, UDP_HEADER = 20, 20, 8
TTL, TCP_PROTOCOL, UDP_PROTOCOL, DONT_FRAGMENT = 64, 6, 17, 0x4000
U16, U32 = 0xFFFF, 0xFFFFFFFF


def write_capture(
    path: Path,
    connections: Sequence[Connection],
    links: Sequence[Link],
    *,
    end: str,
    mss_bytes: int,
) -> None:
    """Write what one end (of :data:`~dstcc.wire.ENDS`) saw of a trial's connections over its ``links``."""
    each = [
        _Packets(connection, number, sum(len(one.objects.layer) for one in connections[:number]), mss_bytes)
        for number, connection in enumerate(connections)
    ]
    with path.open("wb") as file:
        file.write(section_block())
        for link in links:
            file.write(interface_block(f"{link.name} {end}"))
        seen = (packets.seen(sender_links(links), end) for packets in each)
        for interface, t_ns, header, payload in heapq.merge(*seen, key=lambda packet: packet[1]):
            file.write(packet_block(interface, EPOCH_NS + t_ns, header, payload))


# ----------------------------------------------------------------------------------------------- IP's and TCP's headers


def sender_links(links: Sequence[Link]) -> list[int]:
    """The link of every sender: first all subflows, then all background flows, link by link."""
    subflow_links = [index for index, link in enumerate(links) for _ in range(link.subflows)]
    return subflow_links + [index for index, link in enumerate(links) for _ in link.flows]


class _Packets:
    """A connection's."""

    def __init__(self, connection: Connection, number: int, layers_before: int, mss_bytes: int) -> None:
        trace, objects = connection.trace, connection.objects
        self._trace, self._mss, self._ends = trace, mss_bytes, connection.ends
        self._first_port = FIRST_SENDER_PORT + number * trace.senders
        self._datagrams: Datagrams | Segments | None = None
        if trace.transport == "coded":
            self._datagrams = Datagrams(trace, objects, mss_bytes, connection.there_ns)
        elif trace.transport == "ltp":
            engine = ENGINE + number if connection.ends else ENGINE
            self._datagrams = Segments(trace, objects, mss_bytes, first=1 + layers_before, engine=engine)
        self._offsets: dict[int, NDArray[np.int64]] = {}

    def seen(self, link_of: list[int], end: str) -> Iterator[tuple[int, int, bytes, int]]:
        """Interface, time, headers and payload bytes of every packet that passed an end."""
        trace = self._trace
        for row in np.flatnonzero((trace.fate != DROPPED) & np.isin(trace.event, SEEN[end])).tolist():
            sender = int(trace.sender[row])
            at = self._ends[sender] if self._ends else Ends(link_of[sender])
            if not (at.first if end == ENDS[0] else at.last):
                continue
            link, payload = at.path, int(trace.bytes[row])
            if self._datagrams is not None and sender < trace.senders:
                datagram = self._datagrams[row]
                header, payload = _udp(trace, row, link, datagram), datagram.payload
            else:
                header = self._tcp(row, link)
            yield link, int(trace.t_ns[row]), header, payload

    def _tcp(self, row: int, link: int) -> bytes:
        trace, sender = self._trace, int(self._trace.sender[row])
        if sender not in self._offsets:
            self._offsets[sender] = _byte_offsets(trace, sender)
        offsets = self._offsets[sender]
        from_earth, syn = int(trace.event[row]) in (ACK_SENT, ACK_ARRIVED), bool(trace.syn[row])
        ports = [self._first_port + sender, PORT]
        place = 1 + int(offsets[0 if syn else trace.number[row]])
        if from_earth:
            ports.reverse()
            sequence, acknowledged = 0 if syn else 1, place
        else:
            sequence, acknowledged = (0, 0) if syn else (place, 1)
        flags = (SYN if syn else 0) | (ACK if from_earth or not syn else 0)
        options = b""
        if syn:
            size = min(self._mss, U16)
            options = struct.pack(">BBHBBBBBBBB", 2, 4, size, 4, 2, 1, 1, 1, 3, 3, WINDOW_SCALE)
        elif from_earth:
            options = _sack_option(trace.sack[row], offsets)
        tcp_bytes = TCP_HEADER + len(options)
        tcp = struct.pack(
            ">HHIIBBHHH", *ports, sequence & U32, acknowledged & U32, tcp_bytes // 4 << 4, flags, U16, 0, 0
        )
        return _ip(row, link, from_earth, TCP_PROTOCOL, tcp_bytes + int(trace.bytes[row])) + tcp + options


def _byte_offsets(trace: Trace, sender: int) -> NDArray[np.int64]:
    """Entry n: payload bytes before segment n of that sender; one entry more than it has segments."""
    mine = (trace.sender == sender) & (trace.event == DATA_SENT) & (trace.syn == 0)
    numbers, first = np.unique(trace.number[mine], return_index=True)
    sizes = np.zeros(numbers[-1] + 1 if len(numbers) else 0, dtype=np.int64)
    sizes[numbers] = trace.bytes[mine][first]
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


def _udp(trace: Trace, row: int, link: int, datagram: Datagram) -> bytes:
    from_earth = int(trace.event[row]) in (ACK_SENT, ACK_ARRIVED)
    ports = [datagram.craft_port, datagram.earth_port]
    size = UDP_HEADER + len(datagram.header) + datagram.payload
    if from_earth:
        ports.reverse()
    udp = struct.pack(">HHHH", *ports, min(size, U16), 0)
    return _ip(row, link, from_earth, UDP_PROTOCOL, size) + udp + datagram.header


def _ip(number: int, link: int, from_earth: bool, protocol: int, size: int) -> bytes:
    ends = [bytes([10, link, 0, 1]), bytes([10, link, 0, 2])]
    if from_earth:
        ends.reverse()
    fields = [0x45, 0, min(IP_HEADER + size, U16), number & U16, DONT_FRAGMENT, TTL, protocol, 0, *ends]
    fields[7] = _checksum(struct.pack(">BBHHHBBH4s4s", *fields))
    return struct.pack(">BBHHHBBH4s4s", *fields)


def _checksum(header: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    return ~((total & U16) + (total >> 16)) & U16


def _sack_option(blocks: NDArray[np.int64], offsets: NDArray[np.int64]) -> bytes:
    edges = [1 + int(offsets[edge]) for block in blocks.tolist() if block[1] > block[0] for edge in block]
    if not edges:
        return b""
    return struct.pack(f">BBBB{len(edges)}I", 1, 1, 5, 2 + 4 * len(edges), *(edge & U32 for edge in edges))
