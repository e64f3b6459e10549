"""From a trial to a job: mission time to emulated time, links to what netem takes.

::

    delay / S, times / S, rate x S        bandwidth-delay products and counts of packets stay
    queue       bytes / (MSS + 40) packets of the way down, / 40 of the way up
    loss        packet: as it is;  ber b: 1 - (1 - b)^(8 bytes);  Gilbert-Elliott: by packets, not by slots
    frames      the chain with the same loss and the same probability of two in a row (dstcc_channels.netem), averaged
                over a scintillation's gains; anew when either has changed by a twentieth
    schedules   of a loss probability: steps, anew where it has changed by a twentieth
    outages     all is lost; the unannounced ones too, which no plan of a sender has
    handshakes  when a SYN and its answer pass (dstcc.engine.opening); a look of the program after the link is up
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dstcc.engine import Loss, TcpConstants, opening, patience_ns
from dstcc.errors import InputError
from dstcc.scenario import horizon_s, rtt_s
from dstcc.scenario.fields import MAX_TIME_S, ns
from dstcc.scenario.losses import SCHEDULE, packets_of
from dstcc.wire import HEADER_BYTES

from .job import NEVER_NS, Job, LinkJob, Step, Way
from .link_plan import flow_lines, is_played, link_lines
from .names import CONGESTION
from .netem import GilbertElliott
from .nodes import network_of_trial
from .source import Release, release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine.config import EngineConfig, Link
    from dstcc.learn.policies.controller import Controller
    from dstcc.learn.policies.policy import Policy

T = TypeVar("T")
OURS = "dstcc"
"""Our module's congestion control, which policies steer."""
MAX_RTT_S = 536.0
"""Emulated: the kernel's smoothed RTT is a u32 of eighths of microseconds."""
MAX_WINDOW = 1 << 30
"""Bytes: TCP's largest window scale."""
MAX_BUFFER = (1 << 31) - 4096
MPTCP_TIMER_S, LEAST_TIMERS, MOST_TIMERS = 0.2, 4, 254
"""A subflow with something unanswered that hears nothing for more than so many of MPTCP's timers is stale, and all that
was sent on it goes to others again. The timer is 200 ms whatever the round trip, so that the kernel's 4 are a second;
here they last a round trip of the longest link (the kernel counts to 255)."""
BUFFER_FACTOR = 4
"""Half of a socket's buffer is offered as window, and packets weigh more in memory than on the wire."""
LEAST_BUFFER = 4 << 20
TICKS_PER_RTT, MAX_TICKS = 2_000, 200_000
"""How often the transfer program looks: a layer leaves up to a 2,000th of a round trip late. At a
400th lanes whose windows opened between two looks sent together, and slow start grew by a tenth more a round trip."""
DELAY_STEPS, LOSS_STEPS = 500, 500
LOSS_CHANGE = 0.05
MIN_SLOT_NS = 1_000_000
LINUX = TcpConstants()
ACK_EVERY = 2
"""Full packets that one ACK is for."""
JOIN_RTTS = 2
"""After the first handshake's begin later subflows join, if there is data at once (the first DATA_ACK is there)."""
MIN_LANES, MAX_LANES = 16, 256
"""Of a link under a policy that asks for more: each is a connection here, with sockets, a handshake and a state to read
once a slot."""
LAYERS_A_LANE = 4
"""In a round trip, if a link has lanes to choose from. A loss at a layer's end shows by what follows on its lane; where
nothing does for a round trip, TCP waits for two (RFC 8985 section 7.2)."""
FIRST_WINDOW = 1 << 16
"""Bytes that a receiver can offer in a SYN's answer."""
HELD_MEMORY = 2.5
"""Bytes of memory for a byte of a stream that waits for an earlier one: at the receiver, and at the sender until the
connection has acknowledged it."""
PACKET_MEMORY = 6.0
"""Bytes of memory for a byte in flight: it is in the sender's queue, on its way, and in the receiver's."""
SENT_TWICE = 2
"""How often a byte of the video lies in nodes' stores at most, where these have the room."""
BASE_MB, RING_MB = 192, 25
"""Of a guest: kernel, Python and the program; the rings that see a link's packets."""
POLICY_MB = 512
"""Of a guest with a policy's process: PyTorch's libraries, which it reads from the host's files, and the network."""


def job_of(config: EngineConfig, *, program: Path, kernel: Release | None = None) -> Job:
    """The job of one trial, for the kernel that is meant or another. Raises :class:`InputError` for round trips or
    windows beyond TCP's."""
    transport, scale, links = config.transport, config.transport.scale, config.links
    longest_s, shortest_s = max(map(rtt_s, links)) / scale, min(map(rtt_s, links)) / scale
    for what, round_trip_s in (("", longest_s), (" with what nodes store", _stored_s(config) / scale)):
        if round_trip_s > MAX_RTT_S:
            least = ceil(round_trip_s * scale / MAX_RTT_S)
            raise InputError(
                f"--scale {scale:g}: a round trip{what} of {round_trip_s:.6g} emulated s; Linux's TCP holds "
                f"{MAX_RTT_S:g} s: at least {least}"
            )
    ends = config.duration_ns
    endless = ends == NEVER_NS
    length_s = horizon_s(links, config.objects, None if endless else ends / 1e9) / scale
    tick_s = max(shortest_s / TICKS_PER_RTT, min(length_s / MAX_TICKS, shortest_s / 20), 20e-6)
    pins = transport.layer_links
    share = (kernel or release()).window_256(transport.mss_bytes)
    receive, send = _buffers(links, transport.receive_buffer_bytes, share, stored_bytes(config))
    if transport.mode != "coded":
        _check_window(links)
    over = network_of_trial(config)
    return Job(
        congestion=CONGESTION.get(transport.congestion, OURS),
        lanes=transport.mode == "lanes",
        # lanes with a window each are subflows in the simulator, and connections here
        lanes_per_link=links[0].subflows if transport.apart else transport.lanes_per_link,
        rotate=transport.scheduler == "round-robin",
        layer_first=transport.layer_first,
        drop_late=transport.drop_late,
        stale_timers=min(MOST_TIMERS, max(LEAST_TIMERS, ceil(longest_s / MPTCP_TIMER_S))),
        backups=_backups(links, stock=CONGESTION.get(transport.congestion, OURS) != OURS),
        layer_links=tuple(
            pins[min(layer, len(pins) - 1)] for layer in range(config.objects.layers if pins else 0)
        ),
        mss_bytes=transport.mss_bytes,
        initial_cwnd=transport.initial_cwnd,
        receive_buffer_bytes=receive,
        send_buffer_bytes=send,
        unsent_bytes=_largest_window(links, transport.mss_bytes * transport.initial_cwnd),
        tick_ns=round(tick_s * 1e9),
        slot_ns=slot_ns(config),
        duration_ns=NEVER_NS if endless else round(ends / scale),
        stall_ns=round(patience_ns(config) / scale),
        outages_ns=tuple((round(a / scale), round(b / scale)) for a, b in _silences(config)),
        links=tuple(
            replace(
                _link(link, config, length_s * scale, played=over is not None),
                opens_ns=opens,
                joins_ns=joins,
            )
            for link, (opens, joins) in zip(
                links, _handshakes(links, scale, tick_s, config.begin_ns), strict=True
            )
        ),
        payloads=tuple(map(str, config.payloads)),
        program=str(program),
        seed=config.seed,
        ledger=config.ledger,
        flows=tuple(flow_lines(links, CONGESTION.get(transport.congestion, OURS), scale)),
        network=None if over is None else over[0],
        lines=tuple(
            tuple(link_lines(line, scale, queue_packets=0, played=True))
            for line in (() if over is None else over[1])
        ),
        **_knobs(transport.constants),
    )


def _backups(links: Sequence[Link], *, stock: bool) -> bool:
    """Whether lanes have backups on the other links, where a link may be away.

    Lanes with windows of their own only where it may be so for good: what an outage holds back comes with its end, and
    what MPTCP sends again over backups costs more than it brings.
    """
    outages = [outage for link in links for outage in (*link.outages_ns, *(link.up_outages_ns or ()))]
    return any(end >= ns(MAX_TIME_S) for _, end in outages) if stock else bool(outages)


def _knobs(constants: TcpConstants) -> dict[str, Any]:
    """Of a job: those constants that are not Linux's own as the kernel takes them, in emulated time."""
    parameters, sysctls = {}, {}
    if constants.hystart != LINUX.hystart:
        parameters["hystart"] = str(int(constants.hystart))
    if constants.hystart_ack_delta_s != LINUX.hystart_ack_delta_s:
        parameters["hystart_ack_delta_us"] = str(round(constants.hystart_ack_delta_s * 1e6))
    if constants.compressed_ack_s != LINUX.compressed_ack_s:
        sysctls["net/ipv4/tcp_comp_sack_delay_ns"] = str(round(constants.compressed_ack_s * 1e9))
    rto_min_ms = max(1, round(constants.rto_min_s * 1e3)) if constants.rto_min_s != LINUX.rto_min_s else 0
    return {"parameters": parameters, "sysctls": sysctls, "rto_min_ms": rto_min_ms}


def steered_by(job: Job, policy: Policy, config: EngineConfig) -> Job:
    """The job of a trial that a policy steers; ``config`` is the trial as it steers it in the simulator.

    Policies that bind layers late need no backups: they keep off links that are away.
    """
    lanes = lanes_of(policy, config)
    if config.transport.mode == "stream":
        job = _with_room(job, config)
    return replace(
        job,
        lanes=config.transport.mode == "lanes",
        lanes_per_link=lanes,
        rotating=min(lanes, max(MIN_LANES, _layers_a_round_trip(config) // LAYERS_A_LANE)),
        backups=_backups(config.links, stock=False) and not policy.action.measured,
        rate=policy.action.pacing == "rate",
        layer_links=(),
    )


def _with_room(job: Job, config: EngineConfig) -> Job:
    """The job with buffers that hold all of the video, where none is given.

    One segment that is lost again and again holds up a stream for several round trips. A receiver whose buffer is full
    by then shrinks its window, which Linux's sender may not notice (RFC 9293 section 3.10.7.4: a window counts only
    with news). What it sends beyond the window the receiver's MPTCP throws away after TCP has acknowledged it.
    """
    if config.transport.receive_buffer_bytes:
        return job
    room = min(MAX_BUFFER, 2 * _video_bytes(config))
    return replace(
        job,
        receive_buffer_bytes=max(job.receive_buffer_bytes, room),
        send_buffer_bytes=max(job.send_buffer_bytes, room),
    )


def _video_bytes(config: EngineConfig) -> int:
    return int(config.objects.payload_bytes.sum())


def lanes_of(policy: Controller, config: EngineConfig) -> int:
    """Of the lanes that a policy asks for a link gets as many as fill its round trip with their receivers' first
    windows."""
    flight = max(link.rate_bps * rtt_s(link) / 8 for link in config.links)
    enough = min(MAX_LANES, max(MIN_LANES, ceil(flight / FIRST_WINDOW)))
    wanted = config.transport.lanes_per_link
    return min(wanted, enough) if policy.lanes else wanted


def _layers_a_round_trip(config: EngineConfig) -> int:
    """That a link carries on average, on the longest round trip."""
    released = config.objects.release_ns
    span_s = max(float(released.max()) / 1e9, 1e-9)
    longest_s = max(map(rtt_s, config.links))
    return round(len(released) * min(1.0, longest_s / span_s) / len(config.links))


def steered_slot_ns(config: EngineConfig) -> int:
    """The slot of such a trial in mission time, at least the shortest that our control can count."""
    return max(config.slot_ns, ceil(MIN_SLOT_NS * config.transport.scale))


def windows_of(config: EngineConfig) -> list[int]:
    """The window of ``fixed`` on each of a link's subflows, in segments: as given, or, as in the simulator
    (congestion/setup.hpp), its share of what the line takes from a packet's first bit to its ACK's last."""
    full, header = config.transport.mss_bytes + HEADER_BYTES, HEADER_BYTES
    given = config.transport.parameters.get("fixed", {}).get("cwnd_segments", ())
    windows = [int(window) for window in given]

    def window(link: Link) -> int:
        slot_ns = _service_ns(full, link.rate_bps)
        loop_ns = 2 * max(link.delay_ns) + slot_ns + _service_ns(header, link.up_rate_bps)
        return max(2, -(-loop_ns // (slot_ns * link.subflows)))

    return windows or [window(link) for link in config.links]


def _service_ns(size_bytes: int, rate_bps: float) -> int:
    return int(8e9 / rate_bps * size_bytes + 0.5)


def slot_ns(config: EngineConfig) -> int:
    """The slot in emulated time."""
    return max(1, round(config.slot_ns / config.transport.scale))


def objects_of(config: EngineConfig, whole: EngineConfig | None = None) -> NDArray[np.int64]:
    """The rows of ``objects.bin``; the trial's layers may be rests of those of a ``whole`` one."""
    objects, scale = config.objects, config.transport.scale
    rows, skipped = _rests(config, whole or config)
    payload = rows % len(config.payloads) if config.payloads else np.full_like(rows, -1)
    deadline, timed = np.full_like(objects.deadline_ns, NEVER_NS), objects.deadline_ns != NEVER_NS
    deadline[timed] = np.round(objects.deadline_ns[timed] / scale).astype(np.int64)
    release = np.round(objects.release_ns / scale).astype(np.int64)
    columns = (objects.chunk, objects.layer, objects.payload_bytes, release, deadline, payload, skipped)
    return np.ascontiguousarray(np.stack(columns, axis=1).astype(np.int64))


def _rests(config: EngineConfig, whole: EngineConfig) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each layer its row in the whole trial, and the bytes of it that are done."""
    places = {
        key: row
        for row, key in enumerate(
            zip(whole.objects.chunk.tolist(), whole.objects.layer.tolist(), strict=True)
        )
    }
    objects = config.objects
    keys = zip(objects.chunk.tolist(), objects.layer.tolist(), strict=True)
    rows = np.array([places[key] for key in keys], dtype=np.int64)
    return rows, (whole.objects.payload_bytes[rows] - objects.payload_bytes).astype(np.int64)


def memory_mb(config: EngineConfig, *, steered: bool) -> int:
    """What a guest needs: for the links' bytes in flight and, where it is ``steered``, for the policy's process."""
    in_flight = sum(link.rate_bps * rtt_s(link) / 8 + link.queue_bytes for link in config.links)
    in_flight += stored_bytes(config)
    held = min(MAX_BUFFER // 2, _video_bytes(config)) if steered and config.transport.mode == "stream" else 0
    base = BASE_MB + POLICY_MB * steered
    return ceil(base + RING_MB * len(config.links) + (PACKET_MEMORY * in_flight + HELD_MEMORY * held) / 1e6)


def stored_bytes(config: EngineConfig) -> int:
    """What nodes may come to hold of the video."""
    nodes = {hop.node.number: hop.node.storage_bytes for link in config.links for hop in link.onward}
    return min(sum(nodes.values()), SENT_TWICE * _video_bytes(config))


def _stored_s(config: EngineConfig) -> float:
    """The longest round trip of TCP, with the longest waits at nodes both ways that end within the trial."""

    def waits(outages: Sequence[tuple[int, int]]) -> int:
        return max((stop - start for start, stop in outages if stop < config.duration_ns), default=0)

    longest = 0.0
    for path in config.links if config.coding is None else ():
        lines = [path, *(hop.line for hop in path.onward)]
        stored = 0
        for hop, before in zip(path.onward, lines, strict=False):
            if hop.node.storage_bytes:
                stored += waits(hop.line.outages_ns) + waits(before.back_outages_ns)
        longest = max(longest, rtt_s(path) + stored / 1e9)
    return longest


def _buffers(links: Sequence[Link], limit: int, share_256: int, stored: int) -> tuple[int, int]:
    """Receive and send buffer of a connection, as the kernel counts them; a ``limit`` to the receive window, which is
    so large a share of its buffer, of 0 is none. ``stored``: bytes that nodes hold."""
    flights = [link.rate_bps * rtt_s(link) / 8 for link in links]
    wanted = sum(flights) + sum(link.queue_bytes for link in links) + stored
    room = min(MAX_BUFFER, max(LEAST_BUFFER, round(BUFFER_FACTOR * wanted)))
    return min(MAX_BUFFER, -(-256 * limit // share_256)) if limit else room, room


def _check_window(links: Sequence[Link]) -> None:
    """Of a TCP connection."""
    fills = sum(link.rate_bps * rtt_s(link) / 8 for link in links)
    if fills > MAX_WINDOW:
        raise InputError(
            f"a window of {fills:.4g} bytes fills the links ({', '.join(link.name for link in links)}); "
            f"TCP's largest is {MAX_WINDOW:,} bytes"
        )


def _largest_window(links: Sequence[Link], least: int) -> int:
    """What fills the link that holds most."""
    return max(least, *(round(link.rate_bps * rtt_s(link) / 8) for link in links))


def _silences(config: EngineConfig) -> Iterator[tuple[int, int]]:
    """The outages of all links and both ways that end, and the time before the connection begins."""
    if config.begin_ns:
        yield 0, config.begin_ns
    for link in (line for path in config.links for line in (path, *(hop.line for hop in path.onward))):
        every = sorted({*link.outages_ns, *link.back_outages_ns, *link.unannounced_ns})
        yield from (outage for outage in every if outage[1] < ns(MAX_TIME_S))


def _handshakes(links: Sequence[Link], scale: float, tick_s: float, begin_ns: int) -> list[tuple[int, int]]:
    """When handshakes begin over each link, and when later subflows may join; they are due from ``begin_ns`` on.

    What is up when it is due waits for nothing; else netem needs a moment to let the first packet through.
    """

    def emulated(opens: int, *, at_once: bool) -> int:
        if opens == NEVER_NS:
            return NEVER_NS
        return round(opens / scale + (0 if at_once else tick_s * 1e9))

    join = opening(links[0], begin_ns)
    join += 0 if join == NEVER_NS else round(JOIN_RTTS * rtt_s(links[0]) * 1e9)
    due = []
    for link in links:
        opens, joins = opening(link, begin_ns), opening(link, join)
        due.append(
            (
                emulated(opens, at_once=opens == begin_ns),
                0 if joins == join else emulated(joins, at_once=False),
            )
        )
    return due


def _link(link: Link, config: EngineConfig, length_s: float, *, played: bool) -> LinkJob:
    """As netem has it; of a played one what its contact plan says, at the most rate. A link of a sender that restarts
    is played, too: what stands in its queue then is gone, and netem would send it."""
    transport, played = config.transport, played or is_played(link) or config.ledger
    scale, full = transport.scale, transport.mss_bytes + HEADER_BYTES
    planned = replace(link, unannounced_ns=()) if played else link
    delay, acks_s = delay_rows(link, length_s), ACK_EVERY * 8 * full / link.rate_bps
    down, up = ways_of(planned, delay, scale, (full, HEADER_BYTES), acks_s=acks_s, lossless=played)
    queue_packets = 0 if played else down.queue_packets
    return LinkJob(
        link.name,
        down,
        up,
        1 if transport.apart else link.subflows,
        planned_ns=tuple((round(start / scale), round(end / scale)) for start, end in link.outages_ns),
        config=tuple(link_lines(link, scale, queue_packets=queue_packets, played=played)),
        played=played,
    )


def ways_of(
    link: Link,
    delay: list[tuple[int, int]],
    scale: float,
    packet_bytes: tuple[int, int],
    *,
    acks_s: float = 0.0,
    lossless: bool = False,
) -> tuple[Way, Way]:
    """Down and up, of packets of so many bytes, those of the way up ``acks_s`` apart."""
    loss, up_loss = (Loss(), Loss()) if lossless else (link.loss, link.up_loss)
    down = (link.rate_bps, link.queue_bytes, delay, loss, (*link.outages_ns, *link.unannounced_ns))
    up = (
        link.up_rate_bps,
        link.up_queue_bytes,
        delay,
        up_loss,
        (*link.back_outages_ns, *link.unannounced_ns),
    )
    return (
        way_of(*down, packet_bytes=packet_bytes[0], scale=scale),
        way_of(*up, packet_bytes=packet_bytes[1], scale=scale, every_s=acks_s),
    )


def way_of(
    rate_bps: float,
    queue_bytes: int,
    delay: list[tuple[int, int]],
    loss: Loss,
    outages: tuple[tuple[int, int], ...],
    *,
    packet_bytes: int,
    scale: float,
    every_s: float = 0.0,
) -> Way:
    """One direction of a link in emulated time; ``packet_bytes`` weighs what its queue and its losses are about, of
    packets in mission time ``every_s`` apart, or one behind the other."""
    losses = _loss_rows(loss, packet_bytes, rate_bps, every_s)
    edges = sorted(
        {0, *(t for t, _ in delay), *(t for t, _ in losses), *(t for pair in outages for t in pair)}
    )
    steps: list[Step] = []
    for t in edges:
        out = any(start <= t < end for start, end in outages)
        now = Step(round(t / scale), round(_row_at(delay, t) / scale), 1.0 if out else _row_at(losses, t))
        if not steps or (now.delay_ns, now.loss) != (steps[-1].delay_ns, steps[-1].loss):
            steps.append(now)
    return Way(rate_bps * scale, max(1, queue_bytes // packet_bytes), tuple(steps))


def _row_at(rows: list[tuple[int, T]], t: int) -> T:
    return rows[max(0, bisect_right(rows, t, key=lambda row: row[0]) - 1)][1]


def delay_rows(link: Link, length_s: float, steps: int = DELAY_STEPS) -> list[tuple[int, int]]:
    """Mission time and delay, a row for each of ``steps`` equal parts of a moving one; a row holds until the next."""
    if len(link.delay_t_ns) == 1:
        return [(0, link.delay_ns[0])]
    t = np.linspace(0.0, length_s * 1e9, steps + 1)[:-1]
    middle = t + (t[1] - t[0]) / 2
    if link.delay_slope:
        from scipy.interpolate import CubicHermiteSpline

        curve = CubicHermiteSpline(link.delay_t_ns, link.delay_ns, link.delay_slope)
        delay = curve(np.clip(middle, link.delay_t_ns[0], link.delay_t_ns[-1]))
    else:
        delay = np.interp(middle, link.delay_t_ns, link.delay_ns)
    return [(round(a), round(b)) for a, b in zip(t.tolist(), np.asarray(delay).tolist(), strict=True)]


def _loss_rows(
    loss: Loss, packet_bytes: int, rate_bps: float, every_s: float
) -> list[tuple[int, float | GilbertElliott]]:
    if loss.kind == SCHEDULE:
        return _schedule_rows(loss)
    lost = packets_of(loss, packet_bytes)
    if lost is None:
        return _frame_rows(loss, packet_bytes, rate_bps, every_s)
    return [(0, GilbertElliott(*lost) if isinstance(lost, tuple) else lost)]


def _schedule_rows(loss: Loss) -> list[tuple[int, float | GilbertElliott]]:
    """Steps of a loss probability: at each row, and along a slope where it has changed by a twentieth of its greater
    end or more; a step has the probability of its middle."""
    rows: list[tuple[int, float | GilbertElliott]] = [(0, loss.rates[0])]
    for (start, before), (end, after) in pairwise(zip(loss.t_ns, loss.rates, strict=True)):
        parts = 0 if before == after else ceil(abs(after - before) / (LOSS_CHANGE * max(before, after)))
        parts = min(parts, end - start)
        for part in range(parts if end - start > 1 else 0):
            rows.append(
                (start + (end - start) * part // parts, before + (after - before) * (part + 0.5) / parts)
            )
        rows.append((end, after))
    return sorted(dict(rows).items())


def _frame_rows(
    loss: Loss, packet_bytes: int, rate_bps: float, every_s: float
) -> list[tuple[int, float | GilbertElliott]]:
    """The chains of a frame schedule, where they change enough to be worth a restart of netem's."""
    from dstcc_channels.netem import chain
    from dstcc_channels.packets import packet_process

    frames = loss.frames
    assert frames is not None
    lost, ends = packet_process(
        frames.code,
        frames.ebn0_db,
        frames.scintillation_index,
        packet_bytes,
        gain_bits=frames.coherence_ns / 1e9 * rate_bps,
        behind_bits=every_s * rate_bps,
    )
    rows: list[tuple[int, float | GilbertElliott]] = []
    last = 0.0, 0.0
    for t, p_lost, end in zip(frames.t_ns.tolist(), lost.tolist(), ends.tolist(), strict=True):
        if not rows or _moved(p_lost, last[0]) or _moved(end, last[1]):
            p, r, bad, good = chain(p_lost, end)
            rows.append((max(0, t), GilbertElliott(p, r, good, bad)))
            last = p_lost, end
    if len(rows) > LOSS_STEPS:
        rows = rows[:: ceil(len(rows) / LOSS_STEPS)]
    return rows


def _moved(now: float, last: float) -> bool:
    return abs(now - last) > LOSS_CHANGE * max(now, last)
