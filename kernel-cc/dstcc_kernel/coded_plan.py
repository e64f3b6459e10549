"""Layers coded over packets, with real bytes: what the program of ``kernel-cc/coded`` is told of a trial.

It is the simulator's two ends (``dstcc/engine/src/coding``) with UDP datagrams between them, in emulated time.
``coded.py`` is the guest's part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dstcc.errors import InputError
from dstcc.scenario.coding import with_words
from dstcc.wire import HEADER_BYTES

from .coded import FREE_BYTES, RECEIVED, SETTINGS
from .job import NEVER_NS, OBJECTS, RESULT, Job
from .names import WORD_PACKETS
from .topology import craft_address, earth_address

if TYPE_CHECKING:
    from dstcc.engine.config import EngineConfig
    from dstcc.scenario import Scenario

CODED = "coded"
"""The mode, and the folder of its program."""
TICKS_A_QUEUE = 4
"""Datagrams leave together at a look: a queue holds those of some looks."""
LEAST_TICK_NS = 20_000
SYMBOL_BYTES = 64
"""Of a symbol beside its payload, in memory."""
TIMES = (
    *("rto_initial_s", "rto_min_s", "rto_max_s", "delayed_ack_s", "delayed_ack_max_s", "compressed_ack_s"),
    *("tlp_min_s", "hystart", "hystart_ack_delta_s", "hystart_delay_min_s", "hystart_delay_max_s"),
    *("bbr_min_rtt_window_s", "bbr_probe_rtt_s", "westwood_rtt_min_s", "jiffy_s", "uptime_s"),
    *("ledbat_target_s", "ledbat_minute_s", "quick_acks"),
)
"""Fields of :class:`~dstcc.engine.TcpConstants` as the program reads them."""


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
            f"a block is interleaved of code words of at most {WORD_PACKETS} packets, each brought back by itself: "
            f"in the simulator coding.code_word = {WORD_PACKETS}"
        )
    return notes


def block_memory_mb(config: EngineConfig) -> int:
    """What a coded trial holds of blocks at most: all that was captured until the last deadline of a block is over by
    its length, with its repair packets."""
    if config.coding is None:
        return 0
    objects, mss = config.objects, config.transport.mss_bytes
    packets = -(-objects.payload_bytes // mss)
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


def coded_job(job: Job, config: EngineConfig) -> Job:
    """The job of a coded trial, from that of the same links."""
    full = 8 * (config.transport.mss_bytes + HEADER_BYTES)
    drained = min(link.down.queue_packets * full / link.down.rate_bps for link in job.links) * 1e9
    links = tuple(
        replace(link, subflows=own.subflows, opens_ns=0, joins_ns=0)
        for link, own in zip(job.links, config.links, strict=True)
    )
    tick_ns = max(LEAST_TICK_NS, min(job.tick_ns, ceil(drained / TICKS_A_QUEUE)))
    return replace(
        job,
        coded=True,
        tick_ns=tick_ns,
        links=links,
        free_bytes=FREE_BYTES,
        parameters={},
        sysctls={},
        rto_min_ms=0,
        backups=False,
    )


def write_plan(job: Job, config: EngineConfig, folder: Path) -> None:
    """Write what the program is told of a trial, but for the guest's namespaces."""
    from .plan import objects_of

    assert config.coding is not None
    rows = np.column_stack([objects_of(config)[:, :6], config.coding.period.astype(np.int64)])
    np.ascontiguousarray(rows).tofile(folder / OBJECTS)
    (folder / RECEIVED).mkdir()
    (folder / SETTINGS).write_text("\n".join(_lines(job, config, folder)) + "\n")


def _lines(job: Job, config: EngineConfig, folder: Path) -> Iterator[str]:
    transport, coding, scale = config.transport, config.coding, config.transport.scale
    assert coding is not None
    yield f"result {folder / RESULT}"
    yield f"received {folder / RECEIVED}"
    yield f"seed {config.seed}"
    yield (
        f"transport {transport.congestion} {transport.mss_bytes} {HEADER_BYTES} {transport.initial_cwnd} "
        f"{transport.drop_late:d} {transport.layer_first:d} {transport.handshake:d}"
    )
    yield f"constants {' '.join(_constants(config))}"
    for control, parameters in transport.parameters.items():
        for name, values in parameters.items():
            factor = scale if name.endswith("_bps") else 1.0
            yield f"parameter {control} {name} {' '.join(repr(float(value) * factor) for value in values)}"
    yield f"times {job.tick_ns} {job.slot_ns} {job.duration_ns} {job.stall_ns}"
    block_ns = max(1, round(coding.block_ns / scale))
    yield f"coding {coding.repair is None:d} {coding.place} {block_ns} {coding.word_packets}"
    for words in coding.words:
        yield f"words {words}"
    for share in coding.repair or ():
        yield f"share {share!r}"
    for index, link in enumerate(job.links):
        yield from link.config
        yield f"earth {index} {earth_address(index)}"
        yield from (f"craft {index} {craft_address(index, k)}" for k in range(link.subflows))
    for payload in job.payloads:
        yield f"payload {payload}"
    yield f"objects {folder / OBJECTS}"


def _constants(config: EngineConfig) -> Iterator[str]:
    """As the simulator's ``read_constants`` at a scale of 1."""
    constants = config.transport.constants
    for name in TIMES:
        value = getattr(constants, name)
        if name == "uptime_s":
            turn = int(constants.jiffy_s * 1e9) << 15
            yield str(int(value * 1e9) % turn if turn else 0)
        else:
            yield str(int(value * 1e9)) if name.endswith("_s") else str(int(value))
