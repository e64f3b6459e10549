"""A link's rings as one capture for Wireshark and tcpdump (pcapng), an interface at each of its ends.

Packets are IP's, with mission time after the scenario's start. What is lost on the way is seen where it left only.
Rings are in the order of time, so that none is held as a whole. Code in the guest's kernel may have written them: what
does not lie within its block is an error.
"""

from __future__ import annotations

from pathlib import Path

from ..captured import write_rings
from .mission import Mission
from .naming import slug


def capture_name(mission: Mission, index: int) -> str:
    """The file of a link."""
    name = slug(mission.links[index].name)
    return f"{index + 1}-{name}.pcapng" if name else f"{index + 1}.pcapng"


def write_capture(path: Path, work: Path, mission: Mission, index: int) -> None:
    """Write the capture of a link from its rings in ``work``.

    Raises :class:`~dstcc.errors.KernelError` for a ring that no guest of ours writes.
    """
    name, zero_ns = mission.links[index].name, mission.clock_s * 10**9
    ends = {
        f"{name} {end}": [(work / f"{device}.ring", leaving) for device, leaving in devices]
        for end, devices in _ends(mission, index)
    }

    def time_of(t_ns: int) -> int:
        return zero_ns + round((t_ns - zero_ns) * mission.scale)

    write_rings(path, ends, time_of, f"a packet in a ring of {name}: its time is that of no guest's clock")


def _ends(mission: Mission, index: int) -> list[tuple[str, list[tuple[str, bool]]]]:
    """A link's: what each is called, and its devices, each with whether only what leaves it counts. Of two hosts what
    one sends leaves by one device, what it receives has come through another."""
    if mission.network is None:
        ends = (("spacecraft", ("craft", "up")), ("earth", ("earth", "down")))
        return [(end, [(f"{device}{index}", True) for device in devices]) for end, devices in ends]
    hosts = (mission.hosts[node] for node in mission.network.ends[index])
    return [(host, [(f"link{index}-{end}", False)]) for end, host in enumerate(hosts)]
