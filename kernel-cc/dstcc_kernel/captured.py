"""The packets of a trial of datagrams as a capture for Wireshark (pcapng), from the rings that its guest left."""

from __future__ import annotations

import heapq
from contextlib import ExitStack
from pathlib import Path

from dstcc.errors import KernelError
from dstcc.wire import interface_block, packet_block, section_block

from .coded import RING, rings
from .endhosts.packets import ring_packets
from .job import JOB, read_job

HOSTS = ("spacecraft", "earth")
"""An interface each: what leaves it, and what comes to it."""


def write_capture(folder: Path, path: Path) -> int:
    """Write all packets of the trial whose files are in ``folder``, in the order of the guest's clock; their number.

    Raises :class:`~dstcc.errors.KernelError` for rings that no guest of ours writes.
    """
    job, count = read_job(folder / JOB), 0
    with ExitStack() as stack:
        # where a link is netem's, a host's two devices have what leaves it and what comes to it
        all_ = [
            ring_packets(stack, folder / f"{name}{RING}", int(earth), leaving=not played)
            for name, earth, played in rings(job)
        ]
        file = stack.enter_context(path.open("wb"))
        file.write(section_block())
        for host in HOSTS:
            file.write(interface_block(host))
        for t_ns, seen, packet, size in heapq.merge(*all_, key=lambda entry: entry[:2]):
            if not 0 <= t_ns < 1 << 64:
                raise KernelError("a packet in a ring: its time is that of no clock")
            file.write(packet_block(seen, t_ns, packet, size - len(packet)))
            count += 1
    return count
