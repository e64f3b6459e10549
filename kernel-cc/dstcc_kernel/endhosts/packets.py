"""A link's rings as one capture for Wireshark and tcpdump (pcapng), an interface at each of its ends.

Packets are IP's, with mission time after the scenario's start. What is lost on the way is seen where it left only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from dstcc.run.capture import interface_block, packet_block, section_block

from .capture import BLOCK, PACKETS
from .mission import Mission
from .naming import slug
from .records import ETHERNET_BYTES

FIRST = 16
"""Of a block: where the offset of its first packet is."""
KIND_AT, OUTGOING = 58, 4
"""Of a packet: its ``sll_pkttype``, and the value for one that leaves the device."""
IPV4 = 0x0800
ENDS = (("spacecraft", ("craft{}", "up{}")), ("earth", ("earth{}", "down{}")))
"""An end's devices: what it sends leaves by the first, what it receives has come through the second."""


def capture_name(mission: Mission, index: int) -> str:
    """The file of a link."""
    name = slug(mission.links[index].name)
    return f"{index + 1}-{name}.pcapng" if name else f"{index + 1}.pcapng"


def write_capture(path: Path, work: Path, mission: Mission, index: int) -> None:
    """Write the capture of a link from its rings in ``work``."""
    name = mission.links[index].name
    seen: list[tuple[int, int, bytes, int]] = []
    for number, (_end, devices) in enumerate(ENDS):
        for device in devices:
            for t_ns, packet, size in _packets(work / f"{device.format(index)}.ring"):
                seen.append((t_ns, number, packet, size))
    seen.sort(key=lambda entry: entry[:2])
    zero_ns = mission.clock_s * 10**9
    with path.open("wb") as file:
        file.write(section_block())
        for end, _devices in ENDS:
            file.write(interface_block(f"{name} {end}"))
        for t_ns, number, packet, size in seen:
            at_ns = zero_ns + round((t_ns - zero_ns) * mission.scale)
            file.write(packet_block(number, at_ns, packet, size - len(packet)))


def _packets(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """Time, bytes and length of the IP packets that leave a device."""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            (count,), (at,) = struct.unpack_from("=I", block, PACKETS), struct.unpack_from("=I", block, FIRST)
            for _ in range(count):
                step, seconds, ns, kept, size = struct.unpack_from("=5I", block, at)
                (start,) = struct.unpack_from("=H", block, at + 24)
                whole = block[at + start : at + start + kept]
                (protocol,) = struct.unpack_from(">H", whole, 12)
                if block[at + KIND_AT] == OUTGOING and protocol == IPV4:
                    yield seconds * 10**9 + ns, whole[ETHERNET_BYTES:], size - ETHERNET_BYTES
                at += step
