"""Packets seen on a device, in rings of packet sockets whose blocks go to a file as they are.

A block (TPACKET_V3) is handed over when it is full; the timer that would hand over a block that is not is set to hours,
as idle time is skipped. What is left in the open block is read at the end.
Source: Documentation/networking/packet_mmap.rst, include/uapi/linux/if_packet.h.
"""

from __future__ import annotations

import mmap
import socket
import struct
from pathlib import Path

SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, TPACKET_V3 = 263, 5, 6, 10, 2
ETH_P_ALL = 3
BLOCK, BLOCKS, FRAME = 1 << 18, 32, 1 << 11
TIMEOUT_MS = 3_600_000
STATUS, USER, KERNEL = 8, 1, 0
"""Of a block: where its status is; it is ours; it is the kernel's."""
PACKETS = 12
"""Of a block: where the number of its packets is."""


class Ring:
    """One device's packets; made inside its network namespace."""

    def __init__(self, device: str, path: Path) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V3)
        request = struct.pack("=7I", BLOCK, BLOCKS, FRAME, BLOCK // FRAME * BLOCKS, TIMEOUT_MS, 0, 0)
        self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, request)
        self._memory = mmap.mmap(self._socket.fileno(), BLOCK * BLOCKS)
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
