"""A trial's packets as captures for Wireshark and tcpdump (pcapng, draft-ietf-opsawg-pcapng), a file for each end.

An end's file has an interface a link, with what passes by there: data sent and ACKs arriving at the spacecraft, data
arriving and ACKs sent on Earth. What is lost on the way is thus in one file only; what the queue drops is in none. In
one file for both, tools would take each packet's second appearance for a retransmission. Headers are made up after
the trial: IPv4, addresses ``10.LINK.0.1`` and ``.2``, a port per sender, sequence numbers in payload bytes, in SYNs a
segment size, SACK and a window scale (RFC 7323), SACK blocks (RFC 2018). The window is the largest there is; MPTCP's
own options and the payload are left out; coded layers are UDP datagrams with the headers of the kernel's program;
TCP's checksum is 0, as with checksum offload. Times are mission time after the scenario's start, in nanoseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dstcc.engine import Link, Objects, Trace
from dstcc.wire import ENDS, EPOCH_NS, interface_block, packet_block, section_block

from .datagrams import ACK_ARRIVED, ACK_SENT, DATA_ARRIVED, DATA_SENT, Datagrams

PORT, FIRST_SENDER_PORT = 5201, 40_000
CODED_PORT, FIRST_CODED_PORT = 5000, 20_000
"""Of datagrams, as on the kernel."""
NS_PER_S = 10**9
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
    trace: Trace,
    links: Sequence[Link],
    objects: Objects,
    *,
    end: str,
    mss_bytes: int,
    start: datetime | None = None,
) -> None:
    """Write what one end (of :data:`~dstcc.wire.ENDS`) saw of a trial; ``links`` and ``objects`` are the trial's,
    ``start`` is mission time 0."""
    zero_ns = EPOCH_NS if start is None else int(start.timestamp()) * NS_PER_S
    with path.open("wb") as file:
        file.write(section_block())
        for link in links:
            file.write(interface_block(f"{link.name} {end}"))
        for interface, t_ns, header, payload in _packets(
            trace, sender_links(links), objects, SEEN[end], mss_bytes
        ):
            file.write(packet_block(interface, zero_ns + t_ns, header, payload))


# ----------------------------------------------------------------------------------------------- IP's and TCP's headers


def sender_links(links: Sequence[Link]) -> list[int]:
    """The link of every sender: first all subflows, then all background flows, link by link."""
    subflow_links = [index for index, link in enumerate(links) for _ in range(link.subflows)]
    return subflow_links + [index for index, link in enumerate(links) for _ in link.flows]


def _packets(
    trace: Trace, link_of: list[int], objects: Objects, seen: tuple[int, ...], mss_bytes: int
) -> Iterator[tuple[int, int, bytes, int]]:
    """Interface, time, headers and payload bytes of every packet of these events."""
    coded = Datagrams(trace, objects, mss_bytes) if trace.transport == "coded" else None
    offsets = [_byte_offsets(trace, sender) for sender in range(len(link_of))]
    for row in np.flatnonzero((trace.fate != DROPPED) & np.isin(trace.event, seen)).tolist():
        sender = int(trace.sender[row])
        link, payload = link_of[sender], int(trace.bytes[row])
        if coded is not None and sender < trace.senders:
            known, payload = coded[row]
            header = _udp(trace, row, link, known, payload)
        else:
            header = _header(trace, row, link, offsets[sender], mss_bytes)
        yield link, int(trace.t_ns[row]), header, payload


def _byte_offsets(trace: Trace, sender: int) -> NDArray[np.int64]:
    """Entry n: payload bytes before segment n of that sender; one entry more than it has segments."""
    mine = (trace.sender == sender) & (trace.event == DATA_SENT) & (trace.syn == 0)
    numbers, first = np.unique(trace.number[mine], return_index=True)
    sizes = np.zeros(numbers[-1] + 1 if len(numbers) else 0, dtype=np.int64)
    sizes[numbers] = trace.bytes[mine][first]
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


def _header(trace: Trace, row: int, link: int, offsets: NDArray[np.int64], mss_bytes: int) -> bytes:
    from_earth, syn = int(trace.event[row]) in (ACK_SENT, ACK_ARRIVED), bool(trace.syn[row])
    ports = [FIRST_SENDER_PORT + int(trace.sender[row]), PORT]
    place = 1 + int(offsets[0 if syn else trace.number[row]])
    if from_earth:
        ports.reverse()
        sequence, acknowledged = 0 if syn else 1, place
    else:
        sequence, acknowledged = (0, 0) if syn else (place, 1)
    flags = (SYN if syn else 0) | (ACK if from_earth or not syn else 0)
    options = b""
    if syn:
        options = struct.pack(">BBHBBBBBBBB", 2, 4, min(mss_bytes, U16), 4, 2, 1, 1, 1, 3, 3, WINDOW_SCALE)
    elif from_earth:
        options = _sack_option(trace.sack[row], offsets)
    tcp_bytes = TCP_HEADER + len(options)
    tcp = struct.pack(
        ">HHIIBBHHH", *ports, sequence & U32, acknowledged & U32, tcp_bytes // 4 << 4, flags, U16, 0, 0
    )
    return _ip(row, link, from_earth, TCP_PROTOCOL, tcp_bytes + int(trace.bytes[row])) + tcp + options


def _udp(trace: Trace, row: int, link: int, known: bytes, payload: int) -> bytes:
    from_earth = int(trace.event[row]) in (ACK_SENT, ACK_ARRIVED)
    ports = [FIRST_CODED_PORT + int(trace.sender[row]), CODED_PORT]
    size = UDP_HEADER + len(known) + payload
    if from_earth:
        ports.reverse()
    udp = struct.pack(">HHHH", *ports, min(size, U16), 0)
    return _ip(row, link, from_earth, UDP_PROTOCOL, size) + udp + known


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
