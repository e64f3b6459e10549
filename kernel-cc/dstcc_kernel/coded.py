"""Carry a trial of datagrams out: lay the links, start the program of ``kernel-cc/coded`` or ``kernel-cc/ltp``.

What runs here is in a guest; ``coded_plan.py`` and ``ltp_plan.py`` are the host's part.
"""

from __future__ import annotations

from pathlib import Path

from dstcc.wire import HEADER_BYTES

from .controller_process import Controller, controller_process
from .job import Job
from .topology import Wire, craft_address
from .transfer import captured, conduct, laid, lay_links, queues_of, shape

PLAN, SETTINGS = "plan.txt", "coded.txt"
"""Of a trial's folder: what the program reads, and what of it the host wrote."""
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
        lay_links(topology, job, sources, _wire)
        plan = folder / PLAN
        with controller_process(controller, folder) as process, captured(job, topology, folder) as capture:
            theirs: tuple[int, ...] = process.ends if process else ()
            own = f"namespaces {topology.craft} {topology.earth}\n"
            own += f"steer {theirs[0]} {theirs[1]}\n" if theirs else ""
            own += f"queues {queues}\n" if queues is not None else ""
            plan.write_text(own + (folder / SETTINGS).read_text())
            begun = process.let_go if process else None
            conduct(
                "the program of datagrams",
                job,
                plan,
                topology,
                ends=theirs,
                queues=queues,
                begun=begun,
                capture=capture,
            )


def _wire(job: Job, index: int) -> Wire:
    """A packet weighs what the simulator's does: of its datagram and headers so many bytes are free."""
    return Wire(
        down=shape(job, index, 0, up=False),
        up=shape(job, index, 0, up=True),
        mtu=job.mss_bytes + HEADER_BYTES + job.free_bytes[0],
        down_free_bytes=job.free_bytes[0],
        up_free_bytes=job.free_bytes[1],
        initial_cwnd=job.initial_cwnd,
        rto_min_ms=job.rto_min_ms,
        played=job.links[index].played,
    )
