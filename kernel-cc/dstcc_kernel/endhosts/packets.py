"""A link's rings as one capture for Wireshark and tcpdump (pcapng), an interface at each of its ends.

Packets are IP's, with mission time after the scenario's start. What is lost on the way is seen where it left only.
Rings are in the order of time, so that none is held as a whole. Code in the guest's kernel may have written them: what
does not lie within its block is an error.
"""

from __future__ import annotations

import heapq
from contextlib import ExitStack
from pathlib import Path

from dstcc.errors import KernelError
from dstcc.wire import interface_block, packet_block, section_block

from ..captured import ring_packets
from .mission import Mission
from .naming import slug

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
