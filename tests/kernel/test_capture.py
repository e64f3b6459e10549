"""Rings of packets (packet_mmap, TPACKET_V3) in a memory that a test writes as Linux does."""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel.capture import BLOCK, BLOCKS, Capture, Ring

SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 263, 5, 6, 10
BLOCK_STATUS, NUM_PKTS = 8, 12
"""Of struct tpacket_block_desc: version and offset to the private area, then tpacket_hdr_v1."""
USER, KERNEL = 1, 0


class Packets:
    """In a packet socket's place: its memory is a file, in which blocks are filled."""

    def __init__(self, *how: int) -> None:
        self.how = how
        self.memory = os.memfd_create("ring")
        os.ftruncate(self.memory, BLOCK * BLOCKS)
        self.options: list[tuple[Any, ...]] = []
        self.filter = b""
        self.bound: Any = None
        self.down = False

    def setsockopt(self, level: int, name: int, value: Any) -> None:
        self.options.append((level, name, value))
        if (level, name) == (socket.SOL_SOCKET, 26):  # SO_ATTACH_FILTER: struct sock_fprog
            count, place = struct.unpack("HP", value)
            self.filter = ctypes.string_at(place, 8 * count)

    def getsockopt(self, level: int, name: int, size: int = 0) -> Any:
        if (level, name) == (socket.SOL_SOCKET, socket.SO_ERROR):
            self.down = False
            return 0
        assert (level, name, size) == (SOL_PACKET, PACKET_STATISTICS, 12)
        return struct.pack("=3I", 100, 7, 3)  # packets, drops, freeze_q_cnt

    def fileno(self) -> int:
        return self.memory

    def bind(self, address: Any) -> None:
        self.bound = address

    def close(self) -> None:
        os.close(self.memory)

    def fill(self, number: int, packets: int, text: bytes, *, whole: bool = True) -> None:
        """What the kernel does with a block."""
        os.pwrite(self.memory, text, number * BLOCK + 64)
        os.pwrite(
            self.memory, struct.pack("=II", USER if whole else KERNEL, packets), number * BLOCK + BLOCK_STATUS
        )

    def status(self, number: int) -> tuple[int, int]:
        return struct.unpack("=II", os.pread(self.memory, 8, number * BLOCK + BLOCK_STATUS))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Ring, Packets, Path]]:
    monkeypatch.setattr("dstcc_kernel.capture.socket.socket", Packets)
    path = tmp_path / "a.ring"
    ring = Ring("up0", path)
    yield ring, ring._socket, path  # type: ignore[misc]


def blocks(path: Path) -> list[bytes]:
    """The text of each block in the file."""
    data = path.read_bytes()
    assert len(data) % BLOCK == 0
    return [data[at + 64 : at + BLOCK].rstrip(b"\0") for at in range(0, len(data), BLOCK)]


def test_a_ring_is_made_before_its_device_is_heard(made: tuple[Ring, Packets, Path]) -> None:
    """Blocks of 256 kB, frames of 2 kB, an hour until an open block is handed over; all protocols."""
    ring, packets, _ = made
    assert packets.how == (socket.AF_PACKET, socket.SOCK_RAW, 0)
    request = struct.pack("=7I", 1 << 18, 32, 1 << 11, 32 * (1 << 18) // (1 << 11), 3_600_000, 0, 0)
    assert packets.options == [(SOL_PACKET, PACKET_VERSION, 2), (SOL_PACKET, PACKET_RX_RING, request)]
    assert packets.bound == ("up0", 3) and ring.fileno() == packets.memory
    assert not os.get_inheritable(packets.memory)
    flags, mine = "", False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        mine = "memfd:ring" in line if "-" in line.split()[0] else mine
        flags = line if mine and line.startswith("VmFlags") else flags
    assert " dc" in flags, "a child does not inherit it (MADV_DONTFORK)"
    ring.close()


def test_only_the_first_bytes_are_kept_where_so_many_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dstcc_kernel.capture.socket.socket", Packets)
    ring: Any = Ring("up0", tmp_path / "a", 178)
    assert struct.unpack("=HBBI", ring._socket.filter) == (0x06, 0, 0, 178)  # BPF_RET | BPF_K
    names = [name for _, name, _ in ring._socket.options]
    assert names == [26, PACKET_VERSION, PACKET_RX_RING]
    ring.close()


def test_full_blocks_are_written_and_given_back(made: tuple[Ring, Packets, Path]) -> None:
    ring, packets, path = made
    ring.take()
    packets.fill(0, 3, b"first")
    packets.fill(1, 2, b"second")
    packets.fill(2, 1, b"open", whole=False)
    packets.down = True
    ring.take()
    assert not packets.down, "an error of the device is taken, or it would stay readable"
    assert [packets.status(number) for number in range(3)] == [(KERNEL, 0), (KERNEL, 0), (KERNEL, 1)]
    packets.fill(2, 4, b"third")
    ring.take()
    packets.fill(3, 5, b"fourth", whole=False)
    assert ring.close() == 7, "those that found no room"
    assert blocks(path) == [b"first", b"second", b"third", b"fourth"]


def test_the_ring_goes_round_and_an_empty_block_is_not_written(made: tuple[Ring, Packets, Path]) -> None:
    ring, packets, path = made
    for number in range(BLOCKS):
        packets.fill(number, 1, b"%d" % number)
    ring.take()
    packets.fill(0, 1, b"again")
    packets.fill(1, 0, b"nothing")
    ring.take()
    ring.close()
    assert blocks(path) == [b"%d" % number for number in range(BLOCKS)] + [b"again"]


def test_a_trials_begin_is_by_the_clock_of_packets(tmp_path: Path) -> None:
    before = time.time_ns() - time.monotonic_ns()
    capture = Capture((), tmp_path / "began")
    capture.begin(5000)
    after = time.time_ns() - time.monotonic_ns()
    text = (tmp_path / "began").read_text()
    assert (
        text.endswith("\n") and min(before, after) - 10**7 <= int(text) - 5000 <= max(before, after) + 10**7
    )
    assert capture.rings == ()
    assert mmap.MADV_DONTFORK == 10
