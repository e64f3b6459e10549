"""Trials in datagrams, with real bytes: what the programs of ``kernel-cc/coded`` and ``kernel-cc/ltp`` are told of one.

They are the simulator's two ends (``dstcc/engine/src/coding``, ``dstcc/engine/src/ltp``) with UDP datagrams between
them, in emulated time; those of ``ltp`` are segments of RFC 5326. ``coded.py`` is the guest's part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

import numpy as np

from dstcc.engine.config import EngineConfig, emulated, named_values
from dstcc.errors import InputError
from dstcc.scenario import Scenario
from dstcc.scenario.coding import with_words
from dstcc.wire import HEADER_BYTES

from .coded import FREE_BYTES, RECEIVED, SETTINGS
from .job import NEVER_NS, OBJECTS, RESULT, Job
from .names import WORD_PACKETS
from .topology import craft_address, earth_address

CODED = "coded"
"""The mode, and the folder of its program."""
TICKS_A_QUEUE = 4
"""Datagrams leave together at a look: a queue holds those of some looks."""
LEAST_TICK_NS = 20_000
SYMBOL_BYTES = 64
"""Of a symbol beside its payload, in memory."""
MOST_HEADER_BYTES = 48
"""Of a data segment: IP and UDP 28, then type and extensions 2, engine 1, session 4, service 3, offset 4, length 2, and
of a checkpoint two serials of 2."""
MEMBER_BYTES = 10
"""What a segment in a matrix has in addition: an extension with the matrix's number and a place in it; repair segments
have less."""


def in_words(config: EngineConfig) -> EngineConfig:
    """The trial with blocks in code words that the program has. Raises :class:`InputError` for longer ones."""
    assert config.coding is not None
    if config.coding.word_packets:
        return config
    try:
        coding = with_words(config.coding, config.objects, config.transport.mss_bytes, WORD_PACKETS)
    except ValueError as error:
        raise InputError(f"coding.block_s: {error} of {WORD_PACKETS} packets here") from None
    return replace(config, coding=coding)


def coded_notes(scenario: Scenario) -> list[str]:
    """What ``run.json`` says of coded packets on the kernel."""
    notes = ["packets are datagrams, the two ends the simulator's own, looked at 2,000 times a round trip"]
    if scenario.coding is None or scenario.coding.code_word is None:
        notes.append(
            f"a block is interleaved of code words of at most {WORD_PACKETS} packets, each decoded separately: "
            f"in the simulator coding.code_word = {WORD_PACKETS}"
        )
    return notes


def block_memory_mb(config: EngineConfig) -> int:
    """What a coded trial holds of blocks at most: all that was captured until the last deadline of a block is over by
    its length, with its repair packets."""
    if config.coding is None:
        return 0
    objects, mss = config.objects, config.transport.mss_bytes
    packets = objects.packets(mss)
    order = np.argsort(objects.release_ns, kind="stable")
    released = objects.release_ns[order]
    held = np.concatenate([[0], np.cumsum(packets[order])])
    live = objects.deadline_ns != NEVER_NS
    if not live.all():
        most = int(held[-1])
    else:
        until = objects.deadline_ns[order] + 2 * config.coding.block_ns
        most = int((held[np.searchsorted(released, until)] - held[:-1]).max())
    shares = config.coding.repair or (1.0,)
    return ceil(most * (1 + max(shares)) * (mss + SYMBOL_BYTES) / 1e6)


def looks(job: Job, config: EngineConfig) -> int:
    """How often a program of datagrams looks, in nanoseconds."""
    full = 8 * (config.transport.mss_bytes + HEADER_BYTES)
    drained = min(link.down.queue_packets * full / link.down.rate_bps for link in job.links) * 1e9
    return max(LEAST_TICK_NS, min(job.tick_ns, ceil(drained / TICKS_A_QUEUE)))


def coded_job(job: Job, config: EngineConfig) -> Job:
    """The job of a coded trial, from that of the same links."""
    return _in_datagrams(job, config, [link.subflows for link in config.links], FREE_BYTES)


def ltp_job(job: Job, config: EngineConfig) -> Job:
    """The job of a trial of ``ltp``, from that of the same links. Its packets weigh no more than the simulator's."""
    headers = MOST_HEADER_BYTES + (MEMBER_BYTES if config.coding is not None else 0)
    return _in_datagrams(job, config, [1] * len(job.links), (headers - HEADER_BYTES, 0))


def _in_datagrams(job: Job, config: EngineConfig, subflows: Sequence[int], free: tuple[int, int]) -> Job:
    links = tuple(
        replace(link, subflows=count, opens_ns=0, joins_ns=0)
        for link, count in zip(job.links, subflows, strict=True)
    )
    return replace(job, coded=True, tick_ns=looks(job, config), links=links, free_bytes=free, backups=False)


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


def write_plan(job: Job, config: EngineConfig, folder: Path, whole: EngineConfig | None = None) -> None:
    """Write what the program is told of a trial, but for the guest's namespaces; its layers may be rests of those of a
    ``whole`` one."""
    from .plan import objects_of

    rows = objects_of(config, whole)
    period = np.zeros(len(rows), dtype=np.int64)  # ltp has none
    if config.coding is not None and len(config.coding.period):
        period = config.coding.period.astype(np.int64)
    rows = np.column_stack([rows, period])
    np.ascontiguousarray(rows).tofile(folder / OBJECTS)
    (folder / RECEIVED).mkdir()
    (folder / SETTINGS).write_text("\n".join(_lines(job, config, folder)) + "\n")


def _lines(job: Job, config: EngineConfig, folder: Path) -> Iterator[str]:
    yield f"result {folder / RESULT}"
    yield f"received {folder / RECEIVED}"
    yield f"times {job.tick_ns} {job.stall_ns}"
    for index, link in enumerate(job.links):
        yield from link.config
        yield f"earth {earth_address(index)}"
        path = (index,) if job.network is None else job.network.paths[index]
        yield f"lines {path[0]} {path[-1]}"
        yield from (f"craft {index} {craft_address(index, k)}" for k in range(link.subflows))
    seen = emulated(config, config.transport.scale)
    seen = replace(seen, transport=replace(seen.transport, scale=1.0))
    seen = replace(seen, slot_ns=job.slot_ns, duration_ns=job.duration_ns)
    for name, words in named_values(seen, without=("links", "objects", "period", "payloads")):
        yield f"config {name} {words}"
    yield from (f"payload {payload}" for payload in job.payloads)
    yield f"objects {folder / OBJECTS}"
