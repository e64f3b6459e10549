"""The packets of a trial as a capture for Wireshark (pcapng), from the rings that its guest left."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from dstcc.errors import KernelError
from dstcc.reading import opened
from dstcc.wire import ENDS, interface_block, packet_block, section_block

from .capture import BEGAN, BLOCK, PACKETS
from .job import JOB, read_job
from .remains import message_of
from .topology import ETHERNET_BYTES
from .transfer import RING, rings

CAPTURES_MB = 64 * 1024
"""Of all rings of a run."""
FIRST = 16
"""Of a block: where the offset of its first packet is."""
KIND_AT, OUTGOING = 58, 4
"""Of a packet: its ``sll_pkttype``, and the value for one that leaves the device."""
HEAD = 68
"""Bytes of a packet's head and of the address behind it (``tpacket3_hdr``, ``sockaddr_ll``)."""
IPV4 = 0x0800
IPV6 = 0x86DD


def write_capture(
    folder: Path, path: Path, *, hosts: Sequence[str] = ENDS, scale: float | None = None, zero_ns: int = 0
) -> int:
    """Write the packets that ``hosts`` saw of the trial whose files are in ``folder``, in order; their number. Times
    are the guest's clock, or with ``scale`` mission time, ``zero_ns`` at the trial's begin.

    Raises :class:`~dstcc.errors.KernelError` for rings that no guest of ours writes.
    """
    job, began_ns = read_job(folder / JOB), 0
    if scale is not None:
        said = message_of(folder / BEGAN)
        if not said.isdecimal() or not 0 <= (began_ns := int(said)) < 1 << 64:
            raise KernelError(f"{BEGAN}: no time of a guest's clock")
    # where a link is netem's, a host's two devices have what leaves it and what comes to it
    ends = {
        host: [
            (folder / f"{host}-{name}{RING}", not played)
            for name, earth, played in rings(job)
            if ENDS[earth] == host
        ]
        for host in hosts
    }

    def time_of(t_ns: int) -> int:
        return t_ns if scale is None else zero_ns + round((t_ns - began_ns) * scale)

    return write_rings(path, ends, time_of, "a packet in a ring: its time is that of no clock")


def write_rings(
    path: Path, ends: Mapping[str, Sequence[tuple[Path, bool]]], time_of: Callable[[int], int], no_clock: str
) -> int:
    """Write the packets of each end's rings as one capture, an interface an end by its name; their number.

    Of a ring it is said whether only what leaves its device counts. ``time_of`` is a packet's, from its stamp;
    ``no_clock`` the error for one that is none.
    """
    count = 0
    with ExitStack() as stack:
        all_ = [
            _ring_packets(stack, ring, number, leaving=leaving)
            for number, rings_ in enumerate(ends.values())
            for ring, leaving in rings_
        ]
        file = stack.enter_context(path.open("wb"))
        file.write(section_block())
        for end in ends:
            file.write(interface_block(end))
        for t_ns, number, packet, size in heapq.merge(*all_, key=lambda entry: entry[:2]):
            at_ns = time_of(t_ns)
            if not 0 <= at_ns < 1 << 64:
                raise KernelError(no_clock)
            file.write(packet_block(number, at_ns, packet, size - len(packet)))
            count += 1
    return count


def _ring_packets(
    stack: ExitStack, path: Path, number: int, *, leaving: bool
) -> Iterator[tuple[int, int, bytes, int]]:
    """Time, end's number, bytes and length of a ring's packets; the file is closed with the stack."""
    try:
        file, size = stack.enter_context(opened(path, KernelError, CAPTURES_MB << 20, follow=False))
    except FileNotFoundError:
        raise KernelError(f"{path.name}: the guest left none") from None
    return (
        (t_ns, number, packet, length)
        for t_ns, packet, length in _packets(file, size, path.name, leaving=leaving)
    )


def _packets(file: BinaryIO, size: int, name: str, *, leaving: bool) -> Iterator[tuple[int, bytes, int]]:
    """Time, bytes and length of the IP packets on a device, or of those that are ``leaving`` it."""
    if size % BLOCK:
        raise KernelError(f"{name}: its last block is cut short")
    for _ in range(size // BLOCK):
        block = file.read(BLOCK)
        (count,), (at,) = struct.unpack_from("=I", block, PACKETS), struct.unpack_from("=I", block, FIRST)
        if not 0 < count <= BLOCK // HEAD:
            raise KernelError(f"{name}: a block of {count} packets")
        for left in range(count, 0, -1):
            if at + HEAD > BLOCK:
                raise KernelError(f"{name}: a packet that lies beyond its block")
            step, seconds, ns, kept, length = struct.unpack_from("=5I", block, at)
            (start,) = struct.unpack_from("=H", block, at + 24)
            end = at + start + kept
            if end > BLOCK or length < kept or (left > 1 and step < HEAD):
                raise KernelError(f"{name}: a packet that lies beyond its block, or on the next one")
            whole = block[at + start : end]
            if (
                kept >= ETHERNET_BYTES
                and (block[at + KIND_AT] == OUTGOING or not leaving)
                and struct.unpack_from(">H", whole, 12)[0] in (IPV4, IPV6)
            ):
                yield seconds * 10**9 + ns, whole[ETHERNET_BYTES:], length - ETHERNET_BYTES
            at += step
