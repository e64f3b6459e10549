"""A trajectory: what one sender's window did over a scripted link, step by step, on Linux or in the simulator.

A :class:`Case` is the script. ``trajectories.record`` plays it on the virtual-time kernel (the program of
``kernel-cc/trajectory`` is the link), :func:`simulate` in the simulator; both give the same rows, of which
:func:`thinned` keeps those that a file keeps: the state twice a round trip, and whenever the sender's state of recovery
or its threshold changed.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dstcc.engine import (
    NEVER_NS,
    EngineConfig,
    Link,
    Objects,
    TcpConstants,
    Transport,
)
from dstcc.engine import simulate as run_engine

SEGMENT, HEADER = 1460, 40
WIRE = SEGMENT + HEADER
ENDLESS = 1 << 40
"""Bytes to write that no case ever sends."""
INFINITE = 0x7FFFFFFF
"""TCP_INFINITE_SSTHRESH."""
JIFFY_S = 0.01
"""The lab kernel's tick: its timers and timeouts are multiples of it."""
DEEP = 10**9
OPEN, RECOVERY, LOSS = 0, 3, 4
"""TCP_CA_*; Disorder (1) and CWR (2) count as open."""


@dataclass(frozen=True)
class Case:
    """A script: one link, one sender."""

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
    delays_s: tuple[tuple[float, float], ...] = ()
    """(from, one way): steps of the delay, beside half a round trip at 0."""
    writes: tuple[tuple[float, int], ...] = ((0.0, ENDLESS // SEGMENT),)
    """(from, segments) that the application writes."""
    mptcp: bool = True

    @property
    def rate_bps(self) -> float:
        """Of the wire, both ways."""
        return self.bdp * WIRE * 8 / self.rtt_s

    @property
    def queue_bytes(self) -> int:
        """As the link counts."""
        return min(self.queue * WIRE, DEEP)

    @property
    def buffer_bytes(self) -> int:
        """The sockets': four times what a link and its queue hold, as the backend has it."""
        held = self.bdp * WIRE + min(self.queue, 8 * self.bdp) * WIRE
        return max(4 << 20, 4 * held)


@dataclass(frozen=True)
class Row:
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

    def line(self) -> str:
        """As in a file."""
        threshold = "-" if self.ssthresh >= INFINITE else str(self.ssthresh)
        return (
            f"{self.t_ns / 1e9:.4f} {self.una} {self.cwnd} {threshold} {self.srtt_us / 1e3:.1f} "
            f"{self.rto_us / 1e3:.0f} {self.pacing_bps / 1e3:.0f} {self.state} {self.backoff} {self.lost}"
        )

    @staticmethod
    def read(line: str) -> Row:
        """A line of a file."""
        t, una, cwnd, threshold, srtt, rto, pacing, state, backoff, lost = line.split()
        return Row(
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
        )


COLUMNS = "t_s una cwnd ssthresh srtt_ms rto_ms pacing_kbps state backoff lost"


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


def at(rows: Sequence[Row], times: Sequence[int], t_ns: int) -> Row:
    """The state at a time: what the last event before it left. ``times`` are the rows'."""
    found = bisect.bisect_right(times, t_ns)
    return rows[found - 1] if found else rows[0]


def thinned(case: Case, rows: Sequence[Row]) -> list[Row]:
    """The rows that a file keeps."""
    times = [row.t_ns for row in rows]
    kept = {
        t: Row(t, *(getattr(at(rows, times, t), name) for name in list(Row.__dataclass_fields__)[1:]))
        for t in grid(case)
    }
    for before, row in pairwise(rows):
        if (before.state, before.backoff, before.ssthresh) != (row.state, row.backoff, row.ssthresh):
            kept[row.t_ns] = row
    return [kept[t] for t in sorted(kept)]


def changes(rows: Iterable[Row]) -> list[tuple[int, int]]:
    """(time, state) of each change of state."""
    found = []
    last = OPEN
    for row in rows:
        if row.state != last:
            found.append((row.t_ns, row.state))
            last = row.state
    return found


def together(mine: Row, theirs: Row) -> bool:
    """Whether the simulator's row is the kernel's, within the tolerance.

    That is: the window within two segments or 2 %, what was acknowledged within two segments or 1 %, the threshold
    within one segment or 1 %, the smoothed RTT within 2 ms or 1 %, the timeout within two ticks or 2 %, and the state
    the same.
    """
    thresholds = mine.ssthresh >= INFINITE, theirs.ssthresh >= INFINITE
    return (
        near(mine.cwnd, theirs.cwnd, 2, 0.02)
        and near(mine.una, theirs.una, 2, 0.01)
        and (all(thresholds) or (not any(thresholds) and near(mine.ssthresh, theirs.ssthresh, 1, 0.01)))
        and near(mine.srtt_us, theirs.srtt_us, 2_000, 0.01)
        and near(mine.rto_us, theirs.rto_us, 2e6 * JIFFY_S, 0.02)
        and mine.state == theirs.state
    )


def near(mine: float, theirs: float, least: float, share: float) -> bool:
    """Within ``least`` or that share of ``theirs``."""
    return abs(mine - theirs) <= max(least, share * theirs)


def share_together(kernel: Sequence[Row], mine: Sequence[Row]) -> float:
    """The share of the kernel's rows at whose times, two ticks more or less, the simulator's state is the same."""
    times = [row.t_ns for row in mine]
    slack = round(2e9 * JIFFY_S)

    def beside(row: Row) -> bool:
        instants = (row.t_ns, row.t_ns - slack, row.t_ns + slack)
        return any(together(at(mine, times, t), row) for t in instants)

    return sum(map(beside, kernel)) / len(kernel)


def simulate(case: Case, law: str) -> list[Row]:
    """The simulator's rows, one per event."""
    half = round(case.rtt_s / 2 * 1e9)
    times, delays = [0], [half]
    for from_s, delay_s in case.delays_s:
        start = round(from_s * 1e9)
        times += [start - 1, start]
        delays += [delays[-1], round(delay_s * 1e9)]
    link = Link(
        name="link",
        rate_bps=case.rate_bps,
        up_rate_bps=case.rate_bps,
        delay_t_ns=tuple(times),
        delay_ns=tuple(delays),
        queue_bytes=case.queue_bytes,
        up_queue_bytes=DEEP,
        outages_ns=tuple((round(a * 1e9), round(b * 1e9)) for a, b in case.outages_s),
        drops=case.drops,
    )
    count = len(case.writes)
    release = np.array([round(t * 1e9) for t, _ in case.writes], dtype=np.int64)
    objects = Objects(
        chunk=np.arange(count, dtype=np.int64),
        layer=np.zeros(count, dtype=np.int64),
        payload_bytes=np.array([segments * SEGMENT for _, segments in case.writes], dtype=np.int64),
        release_ns=release,
        deadline_ns=np.full(count, NEVER_NS, dtype=np.int64),
    )
    transport = Transport(
        congestion=law,
        scheduler="minrtt",
        mss_bytes=SEGMENT,
        header_bytes=HEADER,
        option_bytes=24 if case.mptcp else 0,
        receive_buffer_bytes=case.buffer_bytes // 2,
        constants=TcpConstants(jiffy_s=JIFFY_S),
    )
    config = EngineConfig(
        seed=1,
        links=(link,),
        transport=transport,
        objects=objects,
        slot_ns=round(case.rtt_s * 1e9),
        duration_ns=round(case.end_s * 1e9),
        trace=True,
    )
    steps = run_engine(config).steps
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
        strict=True,
    )
    return [Row(*row) for row in columns]


def read_file(text: str) -> dict[str, list[Row]]:
    """The rows of each control in a file."""
    found: dict[str, list[Row]] = {}
    rows: list[Row] = []
    for line in text.splitlines():
        if line.startswith("["):
            rows = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            rows.append(Row.read(line))
    return found
