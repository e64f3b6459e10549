"""``ltp`` with segments of RFC 5326 in datagrams: what the program of ``kernel-cc/ltp`` is told of a trial.

It is the simulator's two ends (``dstcc/engine/src/ltp``), in emulated time; in the guest ``coded.py`` lays their links.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dstcc.wire import HEADER_BYTES

from .coded_plan import looks
from .job import Job

if TYPE_CHECKING:
    from dstcc.engine.config import EngineConfig
    from dstcc.scenario import Scenario

MOST_HEADER_BYTES = 48
"""Of a data segment: IP and UDP 28, then type and extensions 2, engine 1, session 4, service 3, offset 4, length 2, and
of a checkpoint two serials of 2."""
MEMBER_BYTES = 10
"""What a segment in a matrix has in addition: an extension with the matrix's number and a place in it; repair segments
have less."""


def ltp_notes(scenario: Scenario) -> list[str]:
    """What ``run.json`` says of ``ltp`` on the kernel."""
    notes = [
        "ltp: segments of RFC 5326 in datagrams (port 1113), the two ends the simulator's own, looked at 2,000 times "
        "a round trip"
    ]
    if scenario.coding is not None:
        notes.append(
            "ltp: repair segments and feedback have port 1114; when a matrix is over both ends know from the rate and "
            "the light time, not from a packet"
        )
    return notes


def ltp_job(job: Job, config: EngineConfig) -> Job:
    """The job of a trial of ``ltp``, from that of the same links. Its packets weigh no more than the simulator's."""
    headers = MOST_HEADER_BYTES + (MEMBER_BYTES if config.coding is not None else 0)
    links = tuple(replace(link, subflows=1, opens_ns=0, joins_ns=0) for link in job.links)
    return replace(
        job,
        coded=True,
        tick_ns=looks(job, config),
        links=links,
        free_bytes=(headers - HEADER_BYTES, 0),
        backups=False,
    )
