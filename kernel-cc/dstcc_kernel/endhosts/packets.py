"""A link's rings as one capture for Wireshark and tcpdump (pcapng), an interface at each of its ends.

Packets are IP's, with mission time after the scenario's start. What is lost on the way is seen where it left only.
Rings are in the order of time, so that none is held as a whole. Code in the guest's kernel may have written them: what
does not lie within its block is an error.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from dstcc.errors import KernelError
from dstcc.reading import opened
from dstcc.wire import interface_block, packet_block, section_block

from ..capture import BLOCK, PACKETS
from .mission import Mission
from .naming import slug
from .planning import CAPTURES_MB
from .records import ETHERNET_BYTES

FIRST = 16
"""Of a block: where the offset of its first packet is."""
KIND_AT, OUTGOING = 58, 4
"""Of a packet: its ``sll_pkttype``, and the value for one that leaves the device."""
HEAD = 68
"""Bytes of a packet's head and of the address behind it (``tpacket3_hdr``, ``sockaddr_ll``)."""
IPV4 = 0x0800
IPV6 = 0x86DD
End = tuple[str, tuple[tuple[str, bool], ...]]
"""An end of a link: what it is called, and its devices' rings, each with whether only what leaves the device counts."""


def capture_name(mission: Mission, index: int) -> str:
    """The file of a link."""
    name = slug(mission.links[index].name)
    return f"{index + 1}-{name}.pcapng" if name else f"{index + 1}.pcapng"


def write_capture(path: Path, work: Path, mission: Mission, index: int) -> None:
    """Write the capture of a link from its rings in ``work``.

    Raises :class:`~dstcc.errors.KernelError` for a ring that no guest of ours writes.
    """
    name = mission.links[index].name
    zero_ns = mission.clock_s * 10**9
    with ExitStack() as stack:
        rings = [
            ring_packets(stack, work / f"{device}.ring", number, leaving=leaving)
            for number, (_end, devices) in enumerate(_ends(mission, index))
            for device, leaving in devices
        ]
        file = stack.enter_context(path.open("wb"))
        file.write(section_block())
        for end, _devices in _ends(mission, index):
            file.write(interface_block(f"{name} {end}"))
        for t_ns, number, packet, size in heapq.merge(*rings, key=lambda entry: entry[:2]):
            at_ns = zero_ns + round((t_ns - zero_ns) * mission.scale)
            if not 0 <= at_ns < 1 << 64:
                raise KernelError(f"a packet in a ring of {name}: its time is that of no guest's clock")
            file.write(packet_block(number, at_ns, packet, size - len(packet)))


def _ends(mission: Mission, index: int) -> tuple[End, ...]:
    """A link's. Of two hosts what one sends leaves by one device, what it receives has come through another."""
    if mission.network is None:
        ends = (("spacecraft", ("craft", "up")), ("earth", ("earth", "down")))
        return tuple((end, tuple((f"{device}{index}", True) for device in devices)) for end, devices in ends)
    hosts = (mission.hosts[node] for node in mission.network.ends[index])
    return tuple((host, ((f"link{index}-{end}", False),)) for end, host in enumerate(hosts))


def ring_packets(
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
