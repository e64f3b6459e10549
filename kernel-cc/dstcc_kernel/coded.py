"""Carry a trial of datagrams out: lay the links, start the program of ``kernel-cc/coded`` or ``kernel-cc/ltp``.

What runs here is in a guest; ``coded_plan.py`` is the host's part.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dstcc.wire import HEADER_BYTES

from .controller_process import Controller
from .job import Job
from .topology import craft_address
from .transfer import conduct, laid, lay_links, queues_of

SETTINGS = "coded.txt"
"""Of a trial's folder: what of the program's plan the host wrote."""
RECEIVED = "received"
"""Likewise: the payloads of a video's first pass as they were there, each under its number."""
UDP_BYTES = 28
"""Of IP and UDP, before a datagram."""
DATA_BYTES, ACK_BYTES = 44, 36
"""Headers of a data packet, and of an ACK with one range (``kernel-cc/coded/packet.hpp``)."""
SIMULATED_ACK_BYTES = HEADER_BYTES + 8
FREE_BYTES = UDP_BYTES + DATA_BYTES - HEADER_BYTES, UDP_BYTES + ACK_BYTES - SIMULATED_ACK_BYTES
"""Of a data packet's IP length and of an ACK's: what makes it weigh what the simulator's does."""
SOCKET_BYTES = 1 << 20


def carry_coded(job: Job, folder: Path, controller: Controller | None = None) -> None:
    """Run a trial of datagrams whose settings lie in ``folder``; leaves ``result.bin`` there.

    ``controller`` decides once a slot. Raises :class:`~dstcc.errors.DstccError` with what the program says when it
    fails.
    """
    buffer_bytes = max(job.receive_buffer_bytes, job.send_buffer_bytes) if job.flows else SOCKET_BYTES
    with laid(job, buffer_bytes, sysctls=job.sysctls) as topology, queues_of(job) as queues:
        sources = [
            [craft_address(index, k) for k in range(link.subflows)] for index, link in enumerate(job.links)
        ]
        # a packet weighs what the simulator's does: of its datagram and headers so many bytes are free
        lay_links(topology, job, sources, job.free_bytes)

        def lines(pipes: tuple[int, ...]) -> Iterator[str]:
            yield f"namespaces {topology.craft} {topology.earth}"
            if pipes:
                yield f"steer {pipes[0]} {pipes[1]}"
            if queues is not None:
                yield f"queues {queues}"
            yield from (folder / SETTINGS).read_text().splitlines()

        conduct(
            "the program of datagrams", job, folder, topology, lines, controller=controller, queues=queues
        )
