"""Packets seen on a device, in rings of packet sockets whose blocks go to a file as they are.

A block (TPACKET_V3) is handed over when it is full; the timer that would hand over a block that is not is set to hours,
as idle time is skipped. What is left in the open block is read at the end.
Source: Documentation/networking/packet_mmap.rst, include/uapi/linux/if_packet.h.
"""

from __future__ import annotations

import ctypes
import mmap
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path

SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, TPACKET_V3 = 263, 5, 6, 10, 2
ETH_P_ALL = 3
BLOCK, BLOCKS, FRAME = 1 << 18, 32, 1 << 11
RING_MB = 10
"""Of a guest's memory for one, with what it needs beside it."""
TIMEOUT_MS = 3_600_000
STATUS, USER, KERNEL = 8, 1, 0
"""Of a block: where its status is; it is ours; it is the kernel's."""
PACKETS = 12
"""Of a block: where the number of its packets is."""
SO_ATTACH_FILTER, BPF_RET = 26, 0x06
"""asm-generic/socket.h, linux/bpf_common.h."""
BEGAN = "began"
"""The file that says when a trial's time 0 was, by the clock of packets."""


class Ring:
    """One device's packets, at most the first ``most`` bytes of each; made inside its network namespace."""

    def __init__(self, device: str, path: Path, most: int | None = None) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        if most is not None:
            code = ctypes.create_string_buffer(struct.pack("=HBBI", BPF_RET, 0, 0, most))
            program = struct.pack("HP", 1, ctypes.addressof(code))
            self._socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
        self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V3)
        request = struct.pack("=7I", BLOCK, BLOCKS, FRAME, BLOCK // FRAME * BLOCKS, TIMEOUT_MS, 0, 0)
        self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, request)
        self._memory = mmap.mmap(self._socket.fileno(), BLOCK * BLOCKS)
        self._memory.madvise(mmap.MADV_DONTFORK)  # a child that ends unmaps pages that are the ring's
        self._socket.bind((device, ETH_P_ALL))
        self._file = path.open("wb")
        self._at = 0

    def fileno(self) -> int:
        """To wait for: readable when a block is full."""
        return self._socket.fileno()

    def take(self) -> None:
        """Write the blocks that are full. A device that a program takes down is an error of the socket, which would
        stay readable."""
        self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        while True:
            at = self._at * BLOCK
            (status,) = struct.unpack_from("=I", self._memory, at + STATUS)
            if not status & USER:
                return
            self._write(at)
            struct.pack_into("=I", self._memory, at + PACKETS, 0)
            struct.pack_into("=I", self._memory, at + STATUS, KERNEL)
            self._at = (self._at + 1) % BLOCKS

    def close(self) -> int:
        """Write the rest; the number of packets that found no room."""
        self.take()
        self._write(self._at * BLOCK)
        counts = self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 12)
        self._file.close()
        self._memory.close()
        self._socket.close()
        return int(struct.unpack("=3I", counts)[1])

    def _write(self, at: int) -> None:
        (packets,) = struct.unpack_from("=I", self._memory, at + PACKETS)
        if packets:
            self._file.write(self._memory[at : at + BLOCK])


class Capture:
    """A trial's rings while it runs."""

    def __init__(self, rings: Sequence[Ring], path: Path) -> None:
        """``path`` is for :data:`BEGAN`."""
        self.rings, self._path = rings, path

    def begin(self, start_ns: int) -> None:
        """Note the trial's time 0, by the monotonic clock."""
        self._path.write_text(f"{start_ns + time.time_ns() - time.monotonic_ns()}\n")
