"""A trajectory: what one sender's window did over a scripted link, step by step, on Linux or in the simulator.

A :class:`Case` is the script. ``trajectories.record`` plays it on the virtual-time kernel (the program of
the ``program`` is the link), :func:`simulate` in the simulator; both give the same rows, of which
:func:`thinned` keeps those that a file keeps: the state twice a round trip, and whenever the sender's state of recovery
or its threshold changed.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count, pairwise

import numpy as np
from dstcc_kernel.source import DEFAULT, RELEASES

from dstcc.engine import (
    NEVER_NS,
    EngineConfig,
    EngineResult,
    Link,
    Objects,
    TcpConstants,
    Transport,
)
from dstcc.engine import simulate as run_engine
from dstcc.engine.stepper import ONE_Q16, RUNNING, SILENT, Stepper
from dstcc.errors import InputError
from dstcc.wire import HEADER_BYTES

SEGMENT = 1460
WIRE = SEGMENT + HEADER_BYTES
ENDLESS = 1 << 40
"""Bytes to write that no case ever sends."""
INFINITE = 0x7FFFFFFF
"""TCP_INFINITE_SSTHRESH."""
JIFFY_S = 0.01
"""The lab kernel's tick: its timers and timeouts are multiples of it."""
RELAY_NS = 3_300
"""What each packet takes in the program that is the link: some looks at the guest's clock, 256 ns each."""
SILENCE_SLOTS = 1_000
"""That the law of ``dstcc`` holds what was decided; slots last a second on the kernel, a quarter here."""
DEEP = 10**9
OPEN, RECOVERY, LOSS = 0, 3, 4
"""TCP_CA_*; Disorder (1) and CWR (2) count as open."""


@dataclass(frozen=True)
class ScriptedLink:
    """Another link, and the subflow that joins over it."""

    rtt_s: float
    bdp: int = 200
    queue: int = DEEP
    drops: tuple[tuple[int, int], ...] = ()
    """As a :class:`Case` has them, of the subflow's own segments."""

    @property
    def rate_bps(self) -> float:
        """Of the wire, both ways."""
        return self.bdp * WIRE * 8 / self.rtt_s

    @property
    def queue_bytes(self) -> int:
        """As the link counts. Half a packet more than it holds: no packet finds room by a nanosecond."""
        return min(self.queue * WIRE + WIRE // 2, DEEP)


@dataclass(frozen=True)
class Case:
    """A script: one link, and on it one sender or several lanes; or several, with a subflow of one connection each."""

    name: str
    what: str
    """In a sentence, for people."""
    end_s: float
    bdp: int = 200
    """Segments in flight that fill the link: rate · round trip / wire bytes."""
    rtt_s: float = 1.0
    queue: int = DEEP
    """Segments."""
    drops: tuple[tuple[int, int], ...] = ()
    """(segment, transmissions): so many transmissions of that segment, counted from 0, never arrive."""
    outages_s: tuple[tuple[float, float], ...] = ()
    deaf_s: tuple[tuple[float, float], ...] = ()
    """Outages of the way back alone, which lose ACKs."""
    delays_s: tuple[tuple[float, float], ...] = ()
    """(from, one way): changes of the delay, beside half a round trip at 0."""
    change_s: float = 0.0
    """What such a change takes, along a straight line; 0 is a step."""
    writes: tuple[tuple[float, float], ...] = ((0.0, ENDLESS // SEGMENT),)
    """(from, segments) that the application writes; a part is a short segment. On lanes each is a layer, which the
    next that is free has by turns."""
    lanes: int = 1
    """Connections that share the link and its queue. Of several each is written what its window has room for, of one
    write at a time, as the kernel backend does."""
    paths: tuple[ScriptedLink, ...] = ()
    """Beside the first. The subflows are numbered as lanes are; the kernel's own scheduler has them."""
    layers: int = 1
    """Writes are of so many layers, by turns."""
    places: tuple[int, ...] = ()
    """By layer, the link that has it: the scheduler is our module's, and the simulator's `layer-pinned`."""
    reads_s: float = 0.0
    """How often the receiving program reads; 0: whenever something comes."""
    stale_timers: int = 0
    """``net.mptcp.stale_loss_cnt``, as the backend sets it for a round trip; 0 leaves the kernel's 4."""
    without: tuple[str, ...] = ()
    """Controls that it is not recorded of."""
    mptcp: bool = True

    def __post_init__(self) -> None:
        """Raises :class:`InputError` where two events of the script have one instant, so that their order decides."""
        events = [
            *((t, "a write") for t, _ in self.writes if t > 0),
            *((t, "an outage's edge") for edges in (*self.outages_s, *self.deaf_s) for t in edges),
            *((t, "a change of the delay") for t, _ in self.delays_s),
        ]
        for (one, first), (other, second) in combinations(events, 2):
            if one == other:
                raise InputError(
                    f"trajectory case '{self.name}' cannot be scripted: {first} and {second} are both at {one:g} s, "
                    "and their order decides"
                )
        if self.lanes > 1 and self.drops:
            raise InputError(
                f"trajectory case '{self.name}' cannot be scripted: drops are of one lane, not of several"
            )
        if self.paths and (self.lanes > 1 or not self.mptcp):
            raise InputError(
                f"trajectory case '{self.name}' cannot be scripted: paths are of one connection of MPTCP, not of lanes"
            )

        if self.places and not (self.paths and len(self.places) == self.layers):
            raise InputError(
                f"trajectory case '{self.name}' cannot be scripted: places are of each layer of one connection over "
                f"several links, and it has {len(self.places)} of {self.layers} layers and {len(self.links)} link(s)"
            )
        for layer, place in enumerate(self.places):
            if not 0 <= place < len(self.links):
                raise InputError(
                    f"trajectory case '{self.name}' cannot be scripted: layer {layer} has link {place}, and there are "
                    f"links 0 to {len(self.links) - 1}"
                )

    @property
    def links(self) -> tuple[ScriptedLink, ...]:
        """All of them, the first one's own events left out."""
        return (ScriptedLink(self.rtt_s, self.bdp, self.queue, self.drops), *self.paths)

    @property
    def delay_table(self) -> list[tuple[int, int]]:
        """(time, one way) in ns, straight lines in between."""
        rows = [(0, round(self.rtt_s / 2 * 1e9))]
        for from_s, delay_s in self.delays_s:
            start, change = round(from_s * 1e9), round(self.change_s * 1e9)
            rows += [(start - (change == 0), rows[-1][1]), (start + change, round(delay_s * 1e9))]
        return rows

    @property
    def buffer_bytes(self) -> int:
        """The sockets': four times what links and their queues hold, as the backend has it; of several links while
        the slowest one's round trip lasts."""
        slowest_s = max(link.rtt_s for link in self.links)
        held = sum(
            (link.bdp * slowest_s / link.rtt_s + min(link.queue, 8 * link.bdp)) * WIRE for link in self.links
        )
        return max(4 << 20, round(4 * held))


@dataclass(frozen=True)
class ScriptedAction:
    """Of the agent of ``dstcc``'s law: W <- alpha W + beta."""

    at_s: float
    alpha: float
    beta: int

    @property
    def alpha_q16(self) -> int:
        """As the law takes it."""
        return round(self.alpha * ONE_Q16)


@dataclass(frozen=True)
class StateRow:
    """The sender's state after an event."""

    t_ns: int
    una: int
    """Segments acknowledged in order."""
    cwnd: int
    ssthresh: int
    srtt_us: int
    rto_us: int
    pacing_bps: int
    state: int
    backoff: int
    lost: int
    """Segments held to be lost and not yet repaired."""
    lane: int = 0
    flight: int = 0
    """Segments; of cases of several links, as what follows."""
    placed: tuple[int, ...] = ()
    """Bytes of each layer that the subflow has sent, what it repeats counted once."""

    def line(self) -> str:
        """As in a file: of the first lane without its number."""
        threshold = "-" if self.ssthresh >= INFINITE else str(self.ssthresh)
        lane = f" {self.lane}" if self.lane or self.placed else ""
        lane += f" {self.flight} {','.join(map(str, self.placed))}" if self.placed else ""
        return (
            f"{self.t_ns / 1e9:.4f} {self.una} {self.cwnd} {threshold} {self.srtt_us / 1e3:.1f} "
            f"{self.rto_us / 1e3:.0f} {self.pacing_bps / 1e3:.0f} {self.state} {self.backoff} {self.lost}{lane}"
        )

    @staticmethod
    def read(line: str) -> StateRow:
        """A line of a file."""
        t, una, cwnd, threshold, srtt, rto, pacing, state, backoff, lost, *rest = line.split()
        lane, flight, placed = (*rest, *("0", "0", "")[len(rest) :])
        return StateRow(
            round(float(t) * 1e9),
            int(una),
            int(cwnd),
            INFINITE if threshold == "-" else int(threshold),
            round(float(srtt) * 1e3),
            round(float(rto) * 1e3),
            round(float(pacing) * 1e3),
            int(state),
            int(backoff),
            int(lost),
            int(lane),
            int(flight),
            tuple(int(count) for count in placed.split(",") if count),
        )


LAST_DIGIT_NS = 100_000
"""Of a time in a file."""
VERSION = "# Linux "
"""Begins a file's line that says which kernel it was."""
COLUMNS = "t_s una cwnd ssthresh srtt_ms rto_ms pacing_kbps state backoff lost"
LANE, SUBFLOW = " [lane]", " subflow flight bytes_of_layers"
"""After the columns of a case of several lanes, and of several links."""


def merged(state: int) -> int:
    """A state of Linux's as the simulator has it: without Disorder and CWR."""
    return state if state in (RECOVERY, LOSS) else OPEN


def grid(case: Case) -> Iterator[int]:
    """When a trajectory is looked at: a quarter and three quarters into each round trip, in ns."""
    step = case.rtt_s * 1e9 / 2
    k = 2
    while (k + 0.5) * step <= case.end_s * 1e9:
        yield round((k + 0.5) * step)
        k += 1


def at(rows: Sequence[StateRow], times: Sequence[int], t_ns: int) -> StateRow:
    """The state at a time: what the last event before it left. ``times`` are the rows'."""
    place = bisect.bisect_right(times, t_ns)
    return rows[place - 1] if place else rows[0]


def by_lane(rows: Iterable[StateRow]) -> dict[int, list[StateRow]]:
    """The rows of each lane."""
    lanes: dict[int, list[StateRow]] = {}
    for row in rows:
        lanes.setdefault(row.lane, []).append(row)
    return lanes


def thinned(case: Case, rows: Sequence[StateRow]) -> list[StateRow]:
    """The rows that a file keeps."""
    kept = [row for lane in by_lane(rows).values() for row in _thinned_lane(case, lane)]
    return sorted(kept, key=lambda row: (row.t_ns, row.lane))


def _thinned_lane(case: Case, rows: Sequence[StateRow]) -> list[StateRow]:
    times = [row.t_ns for row in rows]
    kept = {t: replace(at(rows, times, t), t_ns=t) for t in grid(case) if t >= times[0]}
    for before, row in pairwise(rows):
        if (before.state, before.backoff, before.ssthresh) != (row.state, row.backoff, row.ssthresh):
            kept[row.t_ns] = row
    return list(kept.values())


def changes(rows: Iterable[StateRow]) -> list[tuple[int, int]]:
    """(time, state) of each change of state."""
    changed = []
    last = OPEN
    for row in rows:
        if row.state != last:
            changed.append((row.t_ns, row.state))
            last = row.state
    return changed


def together(mine: StateRow, theirs: StateRow) -> bool:
    """Whether the simulator's row is the kernel's, within the tolerance.

    That is: the window within two segments or 2 %, what was acknowledged within two segments or 1 %, the threshold
    within one segment or 1 %, the smoothed RTT within 2 ms or 1 %, the timeout within two ticks or 2 %, the pace
    within 2 % where the simulator has one, and the state and the backoff the same. Of several links what is in flight
    within two segments or 2 %, and each layer's bytes within four segments or 2 %.

    The kernel's pace counts payload, the simulator's what goes on the line.
    """
    thresholds = mine.ssthresh >= INFINITE, theirs.ssthresh >= INFINITE
    return (
        near(mine.cwnd, theirs.cwnd, 2, 0.02)
        and near(mine.una, theirs.una, 2, 0.01)
        and (all(thresholds) or (not any(thresholds) and near(mine.ssthresh, theirs.ssthresh, 1, 0.01)))
        and near(mine.srtt_us, theirs.srtt_us, 2_000, 0.01)
        and near(mine.rto_us, theirs.rto_us, 2e6 * JIFFY_S, 0.02)
        and (mine.pacing_bps == 0 or near(mine.pacing_bps * SEGMENT / WIRE, theirs.pacing_bps, 0, 0.02))
        and (mine.state, mine.backoff) == (theirs.state, theirs.backoff)
        and (not theirs.placed or near(mine.flight, theirs.flight, 2, 0.02))
        and all(
            near(ours, real, 4 * SEGMENT, 0.02) for ours, real in zip(mine.placed, theirs.placed, strict=True)
        )
    )


def near(mine: float, theirs: float, least: float, share: float) -> bool:
    """Within ``least`` or that share of ``theirs``."""
    return abs(mine - theirs) <= max(least, share * theirs)


def share_together(kernel: Sequence[StateRow], mine: Sequence[StateRow]) -> float:
    """The share of the kernel's rows at whose times, two ticks more or less, the simulator's state is the same.

    A row of a file is some moment after its event or, by its rounding, before it. Those of a subflow that has sent
    nothing yet are left out while the simulator's has no state.
    """
    lanes = by_lane(mine)
    times = {lane: [row.t_ns for row in rows] for lane, rows in lanes.items()}
    slack = round(2e9 * JIFFY_S)

    def beside(row: StateRow) -> bool:
        instants = (row.t_ns, row.t_ns + LAST_DIGIT_NS, row.t_ns - slack, row.t_ns + slack)
        return any(
            together(at(lanes[row.lane], times[row.lane], t), row)
            for t in instants
            if t >= times[row.lane][0]
        )

    begun = (row.t_ns >= times[row.lane][0] or not row.placed or any(row.placed) for row in kernel)
    compared = [row for row, counts in zip(kernel, begun, strict=True) if counts]
    return sum(map(beside, compared)) / len(compared)


def simulate(
    case: Case,
    law: str,
    *,
    kernel: str = DEFAULT,
    uptime_s: float = 0.0,
    phases: Sequence[Sequence[int]] = (),
    decisions: Sequence[ScriptedAction] = (),
) -> list[StateRow]:
    """The simulator's rows, one per event.

    ``kernel``, ``uptime_s`` and ``phases`` are what a :class:`Recorded` has of them; ``decisions`` are for ``dstcc``.
    """
    linux = RELEASES[kernel]
    plain = tuple(
        Link(
            name=f"link {k}",
            rate_bps=path.rate_bps,
            up_rate_bps=path.rate_bps,
            delay_t_ns=(0,),
            delay_ns=(round(path.rtt_s / 2 * 1e9) + RELAY_NS,),
            queue_bytes=path.queue_bytes,
            up_queue_bytes=DEEP,
            drops=path.drops,
        )
        for k, path in enumerate(case.links)
    )
    first = replace(
        plain[0],
        delay_t_ns=tuple(t for t, _ in case.delay_table),
        delay_ns=tuple(delay + RELAY_NS for _, delay in case.delay_table),
        outages_ns=_in_ns(case.outages_s),
        up_outages_ns=_in_ns(sorted((*case.outages_s, *case.deaf_s))),
        subflows=case.lanes,
    )
    lanes = case.lanes > 1
    several = "layer-pinned" if case.places else linux.scheduler
    scheduler = "round-robin" if lanes else several if case.paths else "minrtt"
    # Something is to come yet when a case ends, so that the trial does not end with what was delivered last.
    writes = (*case.writes, (case.end_s + 1, 1))
    pieces = len(writes)
    objects = Objects(
        chunk=np.arange(pieces, dtype=np.int64),
        layer=np.arange(pieces, dtype=np.int64) % case.layers,
        payload_bytes=np.array([bytes_of(segments) for _, segments in writes], dtype=np.int64),
        release_ns=np.array([round(t * 1e9) for t, _ in writes], dtype=np.int64),
        deadline_ns=np.full(pieces, NEVER_NS, dtype=np.int64),
    )
    transport = Transport(
        congestion="agent" if law == "dstcc" else law,
        scheduler=scheduler,
        mode="lanes" if lanes else "stream",
        apart=lanes,
        layer_links=case.places,
        mss_bytes=SEGMENT,
        header_bytes=HEADER_BYTES,
        option_bytes=24 if case.mptcp else 0,
        parameters={"agent": {"silence_slots": (SILENCE_SLOTS,)}},
        receive_buffer_bytes=case.buffer_bytes * linux.window_256(SEGMENT) // 256,
        constants=TcpConstants(
            jiffy_s=JIFFY_S, uptime_s=uptime_s, read_s=case.reads_s, receiver=linux.receiver
        ),
    )
    config = EngineConfig(
        seed=seed_of(phases),
        links=(first, *plain[1:]),
        transport=transport,
        objects=objects,
        slot_ns=round(case.rtt_s / 4 * 1e9),
        duration_ns=round(case.end_s * 1e9),
        trace=True,
    )
    result = steered(config, decisions) if law == "dstcc" else run_engine(config)
    steps = result.steps
    assert steps is not None
    columns = zip(
        steps.t_ns.tolist(),
        steps.una.tolist(),
        steps.cwnd_segments.tolist(),
        np.minimum(steps.ssthresh_segments, INFINITE).tolist(),
        (steps.srtt_ns // 1000).tolist(),
        (steps.rto_ns // 1000).tolist(),
        np.rint(steps.pacing_bps).astype(np.int64).tolist(),
        steps.state.tolist(),
        steps.backoff.tolist(),
        steps.lost_segments.tolist(),
        steps.subflow.tolist(),
        strict=True,
    )
    rows = [StateRow(*row) for row in columns]
    return _placed(rows, result, objects, case.layers) if case.paths else rows


def _placed(rows: list[StateRow], result: EngineResult, objects: Objects, layers: int) -> list[StateRow]:
    """With what each subflow has in flight, and what of each layer it has sent; and a row for each packet, as one may
    leave with no ACK of its own subflow."""
    trace, steps = result.trace, result.steps
    assert trace is not None and steps is not None
    sent = (trace.event == 0) & (trace.syn == 0) & (trace.object >= 0)
    times, senders, flights = (
        trace.t_ns[sent].tolist(),
        trace.sender[sent].tolist(),
        steps.inflight_segments.tolist(),
    )
    numbers, sizes = (
        trace.number[sent].tolist(),
        [trace.layers_in(row) for row in np.flatnonzero(sent).tolist()],
    )
    begun: set[int] = set()
    events: list[tuple[int, int, int, int]] = []
    for k, row in enumerate(
        rows
    ):  # of a moment's packets the step comes last, but for the one that begins a subflow
        events.append((row.t_ns, 1 if row.lane in begun else -1, row.lane, k))
        begun.add(row.lane)
    events += [(t, 0, lane, k) for k, (t, lane) in enumerate(zip(times, senders, strict=True))]
    last: dict[int, StateRow] = {}
    beyond: dict[int, int] = {}
    done: list[StateRow] = []
    for t, kind, lane, k in sorted(events):
        if kind:
            placed = last[lane].placed if lane in last else (0,) * layers
            row = replace(rows[k], flight=flights[k], placed=placed)
        else:
            row = replace(last[lane], t_ns=t, flight=last[lane].flight + 1)
            if numbers[k] >= beyond.get(lane, 0):
                beyond[lane] = numbers[k] + 1
                more = list(row.placed)
                for one, count in sizes[k]:
                    more[int(objects.layer[one])] += count
                row = replace(row, placed=tuple(more))
        last[lane] = row
        done.append(row)
    return done


def bytes_of(segments: float) -> int:
    """Of a write."""
    return round(segments * SEGMENT)


def _in_ns(spans_s: Iterable[tuple[float, float]]) -> tuple[tuple[int, int], ...]:
    return tuple((round(a * 1e9), round(b * 1e9)) for a, b in spans_s)


def steered(config: EngineConfig, decisions: Sequence[ScriptedAction]) -> EngineResult:
    """A trial of one subflow under an agent that decides at those times, all of them ends of slots."""
    stepper = Stepper(1, 1, 1)
    stepper.load(0, config)
    due = {round(decision.at_s * 1e9): decision for decision in decisions}
    now = 0
    while stepper.done[0] == RUNNING:
        decision = due.pop(now, None)
        stepper.alpha_q16[0, 0] = SILENT if decision is None else decision.alpha_q16
        stepper.beta[0, 0] = 0 if decision is None else decision.beta
        stepper.step()
        now += config.slot_ns
    return stepper.result(0)


def seed_of(phases: Sequence[Sequence[int]]) -> int:
    """The least seed under which the simulator's BBR draws those phases of its gain cycle, lane by lane."""
    drawn = [(lane, k, phase) for lane, of in enumerate(phases) for k, phase in enumerate(of)]
    return next(seed for seed in count(1) if all(_phase(seed, lane, k) == phase for lane, k, phase in drawn))


def _phase(seed: int, lane: int, draw: int) -> int:
    """As in dstcc/engine/src/congestion/bbr.cpp."""
    key = _mixed(_mixed((_mixed(_mixed(seed) ^ _STREAM_BBR) + lane) & _MASK))
    drawn = _mixed(key ^ (draw * 0xD1342543DE82EF95 & _MASK)) % 7
    return (8 - drawn) % 8


_MASK = (1 << 64) - 1
_STREAM_BBR = 3


def _mixed(x: int) -> int:
    """mix64 of dstcc/engine/src/core/base.hpp."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & _MASK
    return x ^ x >> 31


@dataclass(frozen=True)
class Recorded:
    """What the kernel did under one control."""

    rows: list[StateRow]
    uptime_s: float = 0.0
    """What its ticks counted when the case began, as time: Linux boots at -300 s. Where the timer wheel stands."""
    phases: tuple[tuple[int, ...], ...] = ()
    """Of BBR's gain cycle, those with which each lane began to probe: drawn at random there. 0 is the gain of 5/4."""
    kernel: str = DEFAULT
    """Which of :data:`~dstcc_kernel.source.RELEASES` it was."""

    def head(self, law: str) -> str:
        """As in a file."""
        drawn = "/".join(",".join(map(str, of)) for of in self.phases)
        phases = f" phases {drawn}" if any(self.phases) else ""
        return f"[{law}] uptime_s {self.uptime_s:.6f}{phases}"

    def simulated(self, case: Case, law: str, decisions: Sequence[ScriptedAction] = ()) -> list[StateRow]:
        """The simulator's rows on the same clock and with the same draws."""
        return simulate(
            case,
            law,
            kernel=self.kernel,
            uptime_s=self.uptime_s,
            phases=self.phases,
            decisions=decisions,
        )


def read_file(text: str) -> dict[str, Recorded]:
    """What a file holds of each control."""
    recorded: dict[str, Recorded] = {}
    rows: list[StateRow] = []
    kernel = DEFAULT
    for line in text.splitlines():
        if line.startswith(VERSION):
            kernel = ".".join(line.removeprefix(VERSION).split(".")[:2])
        elif line.startswith("["):
            law, _, text_after = line[1:].partition("]")
            words = text_after.split()
            facts = dict(zip(words[::2], words[1::2], strict=True))
            phases = tuple(tuple(map(int, of.split(","))) for of in facts.get("phases", "").split("/") if of)
            rows = []
            recorded[law] = Recorded(rows, float(facts["uptime_s"]), phases, kernel)
        elif line and not line.startswith("#"):
            rows.append(StateRow.read(line))
    return recorded
