"""Blocks of a capture, byte by byte as pcapng has them (draft-ietf-opsawg-pcapng, sections 3.1, 4.1, 4.2 and 4.3)."""

from __future__ import annotations

import struct

import pytest

from dstcc.version import __version__
from dstcc.wire import interface_block, packet_block, section_block


def padded(value: bytes) -> bytes:
    return value + b"\0" * (-len(value) % 4)


def block(kind: int, body: bytes) -> bytes:
    """Type, total length, body, total length again; little-endian."""
    assert len(body) % 4 == 0
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + padded(value)


def test_a_section_begins_with_its_byte_order_and_version() -> None:
    """Version 1.0, of no stated length; shb_userappl is option 4, and an empty one ends them."""
    body = bytes.fromhex("4d3c2b1a") + struct.pack("<HHq", 1, 0, -1)
    name = f"dstcc {__version__}".encode()
    assert section_block() == block(0x0A0D0D0A, body + option(4, name) + bytes(4))


@pytest.mark.parametrize("name", ["earth", "link", ""])
def test_an_interface_has_raw_ip_and_nanoseconds(name: str) -> None:
    """LINKTYPE_RAW is 101; no limit of captured bytes; if_name is option 2, if_tsresol option 9."""
    body = struct.pack("<HHI", 101, 0, 0) + option(2, name.encode()) + option(9, b"\x09") + bytes(4)
    assert interface_block(name) == block(1, body)


@pytest.mark.parametrize(("header", "payload"), [(b"E" * 40, 1460), (b"E" * 41, 0), (b"", 3)])
def test_a_packet_has_its_time_in_two_halves_and_both_lengths(header: bytes, payload: int) -> None:
    at_ns = 946_684_800 * 10**9 + 5
    body = struct.pack("<III", 7, at_ns // 2**32, at_ns % 2**32)
    body += struct.pack("<II", len(header), len(header) + payload) + padded(header)
    assert packet_block(7, at_ns, header, payload) == block(6, body)
    assert packet_block(7, at_ns, header) == packet_block(7, at_ns, header, 0)
