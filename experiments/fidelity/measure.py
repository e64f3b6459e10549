"""One cell and seed, by the engine or by the kernel, to the numbers that are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from dstcc_kernel import backend
from dstcc_kernel.plan import TICKS_PER_RTT, job_of
from dstcc_kernel.source import RELEASES

from dstcc import engine
from dstcc.engine import EngineConfig, EngineResult, Link
from dstcc.metrics import compute, play_by_deadline
from dstcc.scenario import Scenario, TrialSetup, draw_trial, engine_config, load_source
from dstcc.wire import HEADER_BYTES

from .cells import WIRE_BYTES, Cell, scenario_of

LOOKS_PER_RTT = 20
"""A saturated sender needs only its buffer kept full; a mission's layers leave when the program looks."""
GUEST_JIFFY_S = 0.01
"""The guest's HZ is 100."""
GUEST_UPTIME_S = -298.99924
"""Where the guest's ticks stand as a trial begins, by the repeats of its SYNs. MPTCP's own timer goes by them, and a
tick decides whether a subflow that joins repeats what another has in flight."""


GUEST_TIMER_LATE_S = 0.7e-6
"""The guest's clock counts 256 ns, and its next interrupt is half a microsecond away at least (``arch/um``): pacers'
timers are late by 4 to 746 ns, 331 on average."""
GUEST_LINK_LATE_NS = 600
"""Likewise netem's, two on each way: round trips scatter by 0.24 µs, as of two such draws. So chance decides whether an
ACK or the pacer is first where in exact time they would meet in one nanosecond, and which round trip is the least."""
PACED = ("bbr",)
"""Controls that pace, whose segments a round trip later meet their own ACKs."""


class Seen(NamedTuple):
    """What a trial came to."""

    throughput_bps: float
    mean_rtt_s: float
    retransmitted: float
    """Share of the payload sent."""
    weighted_layers: float | None = None
    """Of missions only."""


def simulated(cell: Cell, seed: int, *, whole: bool = False, window: bool = False) -> Seen:
    """A cell by the engine, which writes and schedules a stream as the kernel's program and Linux do; ``window``: with
    the kernel's receive window, which is one for all subflows, and without which the receiver has none."""
    scenario, setup = _drawn(cell, seed, whole=whole)
    scheduler = RELEASES[cell.kernel].scheduler if cell.mode == "stream" else "minrtt"
    config = engine_config(scenario, setup, cell.congestion, scheduler)
    receiver = RELEASES[cell.kernel].receiver
    constants = replace(config.transport.constants, jiffy_s=GUEST_JIFFY_S, receiver=receiver)
    if cell.mode == "stream":
        read_s = job_of(config, program=Path()).tick_ns / 1e9 if cell.judged else cell.rtt_s / LOOKS_PER_RTT
        uptime_s = GUEST_UPTIME_S if cell.judged else 0.0
        constants = replace(constants, uptime_s=uptime_s, look_s=read_s, read_s=read_s)
    if cell.congestion in PACED and not cell.alone:
        constants = replace(constants, timer_late_s=GUEST_TIMER_LATE_S)
        config = replace(
            config, links=tuple(_late(link, cell, seed, i) for i, link in enumerate(config.links))
        )
    config = replace(config, transport=replace(config.transport, constants=constants))
    if window:
        release = RELEASES[cell.kernel]
        buffer = job_of(config, program=Path(), kernel=release).receive_buffer_bytes
        offered = buffer * release.window_256(setup.mss_bytes) // 256
        config = replace(config, transport=replace(config.transport, receive_buffer_bytes=offered))
    full = setup.mss_bytes + HEADER_BYTES  # netem's queue counts packets, and a layer's last one may be short
    config = replace(
        config,
        links=tuple(replace(link, queue_packets=max(1, link.queue_bytes // full)) for link in config.links),
    )
    return _seen(cell, scenario, setup, engine.simulate(_crossing(config)))


def _late(link: Link, cell: Cell, seed: int, number: int) -> Link:
    """A link whose delay differs from packet to packet as the guest's netem is late."""
    every_ns = round(8e9 * WIRE_BYTES / link.rate_bps)
    times = range(0, round(1e9 * cell.length_rtts * cell.rtt_s), every_ns)
    late_ns = np.random.default_rng((seed, number)).integers(0, GUEST_LINK_LATE_NS, len(times))
    return replace(link, delay_t_ns=tuple(times), delay_ns=tuple((link.delay_ns[0] + late_ns).tolist()))


def _drawn(cell: Cell, seed: int, *, whole: bool) -> tuple[Scenario, TrialSetup]:
    """A cell's trial; ``whole``: with layers of whole segments, the nearest number of them, so that none is short."""
    scenario = scenario_of(cell, seed)
    setup = draw_trial(scenario, load_source(scenario), seed)
    if whole:
        segments = np.maximum(1, np.rint(setup.objects.payload_bytes / setup.mss_bytes)).astype(np.int64)
        setup = replace(setup, objects=replace(setup.objects, payload_bytes=segments * setup.mss_bytes))
    return scenario, setup


def _scheduler(cell: Cell) -> str:
    return RELEASES[cell.kernel].scheduler if cell.mode == "stream" and cell.links > 1 else "minrtt"


def _crossing(config: EngineConfig) -> EngineConfig:
    """The trial in which, as with netem, what stands in a link's queue when an outage begins still crosses: netem draws
    when a packet is sent. What is sent later comes behind that queue, so the outage begins once it is served."""
    links, first = [], 0
    for link in config.links:
        outages = []
        for start, end in link.outages_ns:
            samples = engine.simulate(replace(config, slot_ns=start)).samples
            row = (samples.t_ns == start) & (samples.subflow == first)
            served_ns = round(float(samples.queue_bytes[row][0]) * 8e9 / link.rate_bps)
            outages.append((min(start + served_ns, end), end))
        links.append(replace(link, outages_ns=tuple(outages), up_outages_ns=link.back_outages_ns))
        first += link.subflows
    return replace(config, links=tuple(links))


def carried(cell: Cell, seed: int, finer: int = 1, *, whole: bool = False) -> Seen:
    """A cell by its kernel, which is the one that is meant. The program looks ``finer`` times as often."""
    scenario, setup = _drawn(cell, seed, whole=whole)
    looks = (TICKS_PER_RTT if cell.judged else LOOKS_PER_RTT) * finer
    tick_ns = None if cell.judged and finer == 1 else round(cell.rtt_s / looks * 1e9)
    result = backend.run(engine_config(scenario, setup, cell.congestion, _scheduler(cell)), tick_ns=tick_ns)
    return _seen(cell, scenario, setup, result)


def _seen(cell: Cell, scenario: Scenario, setup: TrialSetup, result: EngineResult) -> Seen:
    totals, played = result.totals, None
    if cell.judged:
        playback = play_by_deadline(setup.objects, result)
        played = compute(setup.objects, result, playback, best_weight=1.0).values["weighted_layers"]
    length_s = scenario.scenario.duration_s or scenario.video.loop_to_s or result.end_ns / 1e9
    return Seen(
        8 * totals.delivered_payload_bytes / length_s,
        totals.rtt_sum_s / totals.rtt_samples,
        totals.retransmitted_payload_bytes / totals.sent_payload_bytes,
        played,
    )
