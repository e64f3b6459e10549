"""Packets on the wire: what one weighs beside its payload, and the blocks of a capture for Wireshark and tcpdump
(pcapng, draft-ietf-opsawg-pcapng) of packets that begin with the IP header. Guests read it, too."""

from __future__ import annotations

import struct

from dstcc.version import __version__

HEADER_BYTES = 40
"""IPv4 and TCP without options, which are free: of a data packet, and the whole of a SYN, its answer and a pure ACK."""

ENDS = ("spacecraft", "earth")
"""A capture is of what one of them sends and what comes to it."""
EPOCH_NS = 946_684_800 * 10**9
"""Mission time 0 of captures of scenarios without a date: 1 January 2000."""
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
"""Block types."""
BYTE_ORDER = 0x1A2B3C4D
RAW_IP = 101
"""LINKTYPE_RAW: packets begin with the IP header."""
OPT_END, OPT_IF_NAME, OPT_APPLICATION, OPT_IF_TSRESOL = 0, 2, 4, 9
NANOSECONDS = 9
"""``if_tsresol``: 10^-9 s."""
U32 = 0xFFFFFFFF


def _block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = 12 + len(body)
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def section_block() -> bytes:
    """What a file begins with."""
    options = _option(OPT_APPLICATION, f"dstcc {__version__}".encode()) + _option(OPT_END, b"")
    return _block(SECTION, struct.pack("<IHHq", BYTE_ORDER, 1, 0, -1) + options)


def interface_block(name: str) -> bytes:
    """An interface; packets name it by its number, from 0 on."""
    options = _option(OPT_IF_NAME, name.encode()) + _option(OPT_IF_TSRESOL, bytes([NANOSECONDS]))
    return _block(INTERFACE, struct.pack("<HHI", RAW_IP, 0, 0) + options + _option(OPT_END, b""))


def packet_block(interface: int, at_ns: int, header: bytes, payload: int = 0) -> bytes:
    """A packet's beginning, ``payload`` bytes less than it is long, at a Unix time."""
    sizes = (len(header), len(header) + payload)
    return _block(PACKET, struct.pack("<IIIII", interface, at_ns >> 32, at_ns & U32, *sizes) + header)
