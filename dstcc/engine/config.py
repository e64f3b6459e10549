"""The engine's input and its result: plain frozen dataclasses, integers in nanoseconds and bytes.

The engine knows nothing of files, videos or random scenarios; ``dstcc.run`` resolves those first.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import field, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from dstcc.frozen import dataclass
from dstcc.wire import HEADER_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dstcc.arrays import Float64Array, Int64Array
    from dstcc.extensions import Extension


T = TypeVar("T")

AGENT = "agent"
"""The congestion control and the scheduler that :class:`dstcc.engine.Stepper` steers; NewReno if nothing does."""
AGENT_RATE = "agent-rate"
"""A window that says the pace and holds beside what is in flight."""
AGENT_BBR = "agent-bbr"
"""The same window, paced by BBR."""
AGENT_LATE = "agent-late"
"""A scheduler by turns: layers wait until a subflow that the agent allows them has room."""
AGENT_POLICIES = "agent-policies"
"""A scheduler: one of Lee and Yoo's seven (Sensors 2022) a slot; the first ``layer_subflow`` says which."""
NEVER_NS = (1 << 63) - 1
"""A deadline or an end that never comes."""


@dataclass(frozen=True, eq=False)
class FrameSchedule:
    """A code's frames on one link direction, under an Eb/N0 that changes; see ``engine/src/link/frames.hpp``."""

    frame_bits: int
    """Information bits a frame; one lasts ``frame_bits`` / rate."""
    t_ns: Int64Array
    """Times of the two columns below, strictly rising; linear in between, constant outside."""
    ebn0_db: Float64Array
    """Mean over the scintillation."""
    scintillation_index: Float64Array
    """m in [0, 1]; 0 is a steady signal, 1 Rayleigh fading."""
    coherence_ns: int
    """A scintillation's gain lasts so long, then the next one is drawn."""
    curve_from_db: float
    curve_step_db: float
    log10_fer: Float64Array
    """The code's frame error rate on the grid ``curve_from_db``, + ``curve_step_db``, ..; linear in between,
    constant outside."""
    code: str = ""
    """What people call it."""


@dataclass(frozen=True)
class Loss:
    """A loss process of one link direction.

    ``kind`` is ``none``, ``packet`` (``rate``: probability a packet), ``ber`` (``rate``: probability a bit, so
    loss grows with packet size) or ``gilbert-elliott`` (``p`` good→bad and ``r`` bad→good per service slot, ``good``
    and ``bad`` the packet loss probability in each state), all with draws by service slot
    (``engine/src/link/direction.hpp``); or ``frames``: whole code frames are erased, and every packet with a bit in
    one; or ``schedule``: a loss probability over time (``t_ns``, ``rates``), each packet by itself at the probability
    that holds when its service slot begins. ``periodic`` loses one packet in every 1/``rate``, by count: the textbook
    case that response functions are derived for, not a channel two policies could share.
    """

    kind: str = "none"
    rate: float = 0.0
    p: float = 0.0
    r: float = 1.0
    good: float = 0.0
    bad: float = 1.0
    frames: FrameSchedule | None = None
    t_ns: tuple[int, ...] = ()
    """``schedule``: rising times, between which the probability runs in straight lines; constant outside."""
    rates: tuple[float, ...] = ()

    def numbers(self) -> dict[str, float]:
        """What the engine makes the process with: every field that is a number."""
        return {"rate": self.rate, "p": self.p, "r": self.r, "good": self.good, "bad": self.bad}


@dataclass(frozen=True)
class CrossTraffic:
    """Constant-bit-rate datagrams that share a link's data-direction queue; on and off by turns."""

    rate_bps: float
    """While on, on the wire."""
    packet_bytes: int = 1500
    start_ns: int = 0
    stop_ns: int = NEVER_NS
    on_ns: int = NEVER_NS
    off_ns: int = 0
    periods: str = "constant"
    """``constant``: on and off last ``on_ns`` and ``off_ns``; ``exponential`` or ``pareto``: these are
    means."""
    pareto_shape: float = 1.5
    """Above 1; at 2 and below the variance is infinite."""


SAME = "same"
"""The congestion control of the trial itself, as a background flow's."""


@dataclass(frozen=True)
class Flow:
    """A TCP connection of somebody else over one link: it shares the link's queues in both directions.

    Its segments and acknowledgements have the sizes of the connection under test. After ``stop_ns`` it sends
    nothing new, and repairs what it still owes.
    """

    congestion: str = SAME
    """``fixed`` and ``open-loop`` take an equal share of the link: one of its subflows and flows."""
    start_ns: int = 0
    """Of its handshake."""
    stop_ns: int = NEVER_NS
    payload_bytes: int = 0
    """What it has to send; 0: without end."""
    source: CrossTraffic | None = None
    """Sends only what this writes: a packet's payload (``packet_bytes`` less headers) at a time."""


@dataclass(frozen=True)
class Node:
    """A node on the way (``engine/src/link/node.hpp``)."""

    name: str
    number: int
    """The same wherever a path goes over it."""
    forwards: str = "packets"
    """``packets``; ``split``: bytes of TCP connections that end there (``engine/src/tcp/proxies.hpp``); or ``custody``:
    layers, by ``ltp`` from node to node (``engine/src/sim/hop_by_hop.hpp``)."""
    storage_bytes: int = 0
    """For all that waits there, in wire bytes. 0: each of its lines has its own queue (``queue_bytes``), and what meets
    an outage is lost."""
    when_full: str = "drop-tail"
    """``drop-tail``, ``drop-head`` or ``lowest-layer``."""
    restart_ns: tuple[int, ...] = ()
    """When it restarts: rising, each later than the boot before it."""
    boot_ns: int = 0
    """How long it then takes nothing and sends nothing."""
    keeps_over_restart: bool = False


@dataclass(frozen=True)
class Hop:
    """A hop of a path from a node on."""

    number: int
    """Paths with hops of the same number share it, and meet in its queue."""
    node: Node
    """From which the data leaves."""
    line: Link
    """Both directions of the hop; what a link says of subflows, flows, scripts and further hops it does not have."""


@dataclass(frozen=True)
class Link:
    """One physical path: *down* carries data (spacecraft to Earth), *up* carries acknowledgements."""

    name: str
    rate_bps: float
    up_rate_bps: float
    delay_t_ns: tuple[int, ...]
    """Times of the one-way delay's table, strictly rising; one entry is a constant delay."""
    delay_ns: tuple[int, ...]
    """One-way delay at those times, constant outside; linear in between unless there are slopes."""
    queue_bytes: int
    """Drop-tail limit of the data direction's queue, in wire bytes, the packet in service included."""
    up_queue_bytes: int
    loss: Loss = Loss()
    up_loss: Loss = Loss()
    outages_ns: tuple[tuple[int, int], ...] = ()
    """Half-open [from, to) intervals, rising and disjoint: what is sent meanwhile is lost."""
    cross_traffic: tuple[CrossTraffic, ...] = ()
    subflows: int = 1
    """Of the connection under test. They divide what ``fixed`` and ``open-loop`` would give one."""
    flows: tuple[Flow, ...] = ()
    """Connections of others."""
    delay_slope: tuple[float, ...] = ()
    """The delay's derivative (s/s) at each time of its table, above -1: cubic curves between the rows."""
    up_outages_ns: tuple[tuple[int, int], ...] | None = None
    """Of the acknowledgements' direction, by their sender's clock; ``outages_ns`` unless given."""
    drops: tuple[tuple[int, int], ...] = ()
    """(segment, transmissions): the first so many transmissions of a subflow's segment never arrive. A script for
    tests of recovery; what a channel loses, ``loss`` says."""
    unannounced_ns: tuple[tuple[int, int], ...] = ()
    """Outages of both directions that no sender's contact plan has."""
    rate_t_ns: tuple[int, ...] = ()
    """The data direction's rate over time, as the contact plan has it: times of its steps, from 0 on. None: it is
    constant. Eb/N0 of a code's frames is that at the rate of its time."""
    rate_share: tuple[float, ...] = ()
    """What of ``rate_bps``, the most, the line has from each time on: above 0, at most 1."""
    up_rate_t_ns: tuple[int, ...] = ()
    """The same of the acknowledgements' direction."""
    up_rate_share: tuple[float, ...] = ()
    hidden_t_ns: tuple[int, ...] = ()
    """What the channel leaves of the data direction's rate without anybody's notice: times of its steps, from 0 on."""
    hidden_share: tuple[float, ...] = ()
    onward: tuple[Hop, ...] = ()
    """A path over nodes: its hops but the first. What stands here is then what its sender's node has: the line of the
    first hop, and the light time of the whole path."""
    first_t_ns: tuple[int, ...] = ()
    """Of a path over nodes: the first hop's own delay, as ``delay_t_ns`` and so on have the path's."""
    first_delay_ns: tuple[int, ...] = ()
    first_slope: tuple[float, ...] = ()
    first_hop_of: int = -1
    """The earlier path with the same first hop; -1: it has one of its own."""
    first_name: str = ""
    """Of a path in a scenario with nodes: what its first hop is called."""
    queue_packets: int = 0
    """In the place of ``queue_bytes``: the data direction's queue holds so many packets of any size, as netem's does
    (``sch_netem.c``: ``sch->q.qlen >= sch->limit``). 0: it counts bytes."""

    @property
    def back_outages_ns(self) -> tuple[tuple[int, int], ...]:
        """Outages of the acknowledgements' direction."""
        return self.outages_ns if self.up_outages_ns is None else self.up_outages_ns

    def carried_bits(self, from_ns: int, to_ns: int) -> float:
        """What the data direction's line can carry between two times, whatever is in the way or lost."""
        edges = [from_ns, *(t for t in {*self.rate_t_ns, *self.hidden_t_ns} if from_ns < t < to_ns), to_ns]
        steps = ((self.rate_t_ns, self.rate_share), (self.hidden_t_ns, self.hidden_share))
        bits = 0.0
        for begin, end in pairwise(sorted(edges)):
            shares = [share[bisect_right(t_ns, begin) - 1] for t_ns, share in steps if t_ns]
            bits += math.prod(shares, start=self.rate_bps) * (end - begin) / 1e9
        return bits

    def capacity_bits(self, from_ns: int, to_ns: int) -> float:
        """The same without the time of the outages that a contact plan has."""
        bits, first = 0.0, bisect_right(self.outages_ns, from_ns, key=lambda outage: outage[1])
        for start, stop in self.outages_ns[first:]:
            if start >= to_ns:
                break
            if start > from_ns:
                bits += self.carried_bits(from_ns, start)
            from_ns = stop
        return bits + self.carried_bits(from_ns, to_ns) if from_ns < to_ns else bits


def subflow_links(links: Sequence[Link]) -> tuple[int, ...]:
    """The link of each subflow: subflows are numbered link by link."""
    return tuple(index for index, link in enumerate(links) for _ in range(link.subflows))


@dataclass(frozen=True)
class TcpConstants:
    """Linux's time constants in *emulated* seconds; the engine multiplies them by ``Transport.scale``."""

    rto_initial_s: float = 1.0
    """TCP_TIMEOUT_INIT."""
    rto_min_s: float = 0.2
    """TCP_RTO_MIN."""
    rto_max_s: float = 120.0
    """TCP_RTO_MAX."""
    delayed_ack_s: float = 0.04
    """TCP_DELACK_MIN; an ACK leaves with the second segment, or after this long at first."""
    delayed_ack_max_s: float = 0.2
    """TCP_DELACK_MAX: the wait adapts to the gaps between segments, up to this, and to the round trip of the
    handshake;
    where ``delayed_ack_s`` is above them, that is the wait."""
    compressed_ack_s: float = 0.001
    """``tcp_comp_sack_delay_ns``: segments out of order share an ACK within this time, after the first three."""
    tlp_min_s: float = 0.002
    """The least probe timeout's slack (two jiffies of Linux at HZ=1000)."""
    hystart: bool = True
    """Whether CUBIC leaves slow start by HyStart (the module parameter ``hystart`` of Linux's ``tcp_cubic``)."""
    hystart_ack_delta_s: float = 0.002
    """CUBIC's ``hystart_ack_delta_us``."""
    hystart_delay_min_s: float = 0.004
    hystart_delay_max_s: float = 0.016
    bbr_min_rtt_window_s: float = 10.0
    bbr_probe_rtt_s: float = 0.2
    westwood_rtt_min_s: float = 0.05
    """TCP_WESTWOOD_RTT_MIN: the least time between two bandwidth samples."""
    jiffy_s: float = 0.004
    """The tick that timers, CUBIC and Westwood count in: HZ = 250 of Debian's and Ubuntu's kernels."""
    uptime_s: float = 0.0
    """What the machine's ticks count when the run starts, as time: where its timer wheel stands. Linux boots at
    -300 s."""
    look_s: float = 0.0
    """How often a program that writes ahead to ``linux`` or ``linux-6.1`` looks what it can write; 0: at each event."""
    read_s: float = 0.0
    """How often the program at the receiving end of a ``stream`` reads what has come; 0: at once. What it has not read
    takes room in the window, and a pair of segments is acknowledged at once only if the window does not shrink."""
    timer_late_s: float = 0.0
    """By up to so much, drawn each time, the connection's pacing timers are late, as a machine's are; an ACK that comes
    meanwhile finds them due, and is second. 0: exact, so that what meets in one nanosecond does in every trial."""
    ledbat_target_s: float = 0.1
    """The one-way queueing delay that LEDBAT keeps (RFC 6817 section 2.3)."""
    ledbat_minute_s: float = 60.0
    """Spacing of LEDBAT's ten base delays (RFC 6817 section 2.5)."""
    quick_acks: int = 16
    """TCP_MAX_QUICKACKS: segments acknowledged one by one at the start of a connection, beside those that let the
    receiver's window grow; 0: neither."""
    receiver: str = "linux-6.12"
    """Whose receiver: ``linux-6.12``, or ``linux-6.1``, whose window begins at 64 KiB and so grows for longer."""


@dataclass(frozen=True)
class Transport:
    """The MPTCP connection: what it sends with, and how it keeps order."""

    congestion: str
    scheduler: str
    mode: str = "stream"
    """``stream``: one ordering domain; ``lanes``: ``lanes_per_link`` of them per subflow, a layer whole on one;
    ``coded``: packets without an order, layers coded over them (``EngineConfig.coding``)."""
    handshake: bool = True
    """``coded``: False sends from time 0, the contact plan's light times in the place of a first round trip."""
    lanes_per_link: int = 1
    """Of each of a link's subflows; most links have one."""
    apart: bool = False
    """``lanes``: each subflow is a connection of its own with a window and one ordering domain: no law couples it to
    others, and what it lost others repeat only where a link has outages (they are its backups then)."""
    mss_bytes: int = 1460
    header_bytes: int = HEADER_BYTES
    """Wire bytes beside the payload in each data packet, and the size of a pure ACK."""
    option_bytes: int = 24
    """MPTCP's options in each segment, 0 for a single flow of plain TCP. They are not charged to the links, but
    Linux's
    Westwood and BBR count with them."""
    initial_cwnd: int = 10
    receive_buffer_bytes: int = 0
    """Shared by all subflows; 0 means never the limit."""
    scale: float = 1.0
    parameters: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    """What congestion controls and transfers are made with: numbers, by their name and by the parameter's, with a
    value
    per link as in ``{"fixed": {"cwnd_segments": (80, 40)}}`` or with one as in ``{"ltp": {"retry_limit": (20,)}}``.
    Which parameters there are, and what holds where one is not given, the file of each says;
    :data:`dstcc.engine.PARAMETERS` lists them, but those of what only agents steer: ``headroom`` (2), the largest
    window in measured bandwidth-delay products or initial windows, 0 for no such cap, and ``silence_slots`` (4), after
    so many slots without an action NewReno takes over."""
    layer_links: tuple[int, ...] = ()
    """``layer-pinned``: the link index of each layer; empty lets the earliest expected delivery decide."""
    drop_late: bool = True
    """Stop sending a layer whose last byte cannot arrive by its deadline, and those that build on it."""
    layer_first: bool = False
    """Send every released base layer before any enhancement layer (and so on up), not chunk after chunk."""
    congestion_extension: Extension | None = None
    """A Python class in the place of the control that ``congestion`` names."""
    scheduler_extension: Extension | None = None
    constants: TcpConstants = field(default_factory=TcpConstants)


@dataclass(frozen=True, eq=False)
class Objects:
    """The source: one row per chunk and layer, in sending order (chunks rising, base layer first).

    All arrays are int64 of the same length: ``chunk``, ``layer``, ``payload_bytes`` (≥ 1), ``release_ns`` (when it
    may be sent, non-decreasing) and ``deadline_ns`` (when Earth needs all of it; ``NEVER_NS`` for none).
    """

    chunk: Int64Array
    layer: Int64Array
    payload_bytes: Int64Array
    release_ns: Int64Array
    deadline_ns: Int64Array

    @property
    def layers(self) -> int:
        """How many there are. Raises ValueError where nothing is sent."""
        return self._once("layers", lambda: int(self.layer.max()) + 1)

    @property
    def last_deadline_ns(self) -> int:
        """When the last one is due. Raises ValueError where nothing is sent."""
        return self._once("last deadline", lambda: int(self.deadline_ns.max()))

    def packets(self, mss_bytes: int) -> Int64Array:
        """Of each, how many segments of so many bytes it takes."""
        return self._once(mss_bytes, lambda: -(-self.payload_bytes // mss_bytes))

    def _once(self, what: Hashable, count: Callable[[], T]) -> T:
        """What was counted before, beside the object: its fields are its columns, and nothing else."""
        known = _COUNTED.setdefault(self, {})
        if what not in known:
            known[what] = count()
        made: T = known[what]
        return made


_COUNTED: WeakKeyDictionary[Objects, dict[Hashable, Any]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Coding:
    """How layers are coded. A block of a ``coded`` transport is one layer over one period; one of ``ltp``, a matrix, is
    what a link sends of one layer within a period's length."""

    period: Int64Array
    """Of each object, rising from 0 on; empty for ``ltp``."""
    block_ns: int
    """The length of a period."""
    repair: tuple[float, ...] | None = ()
    """Repair packets for each source packet of a block, by layer, rounded up; layers beyond have none. ``None``: as
    many as ``engine/src/coding/repair_rule.hpp`` says."""
    code: str = "mds"
    """``mds``: any k packets bring a block of k back; ``raptorq``: with RaptorQ's failures (RFC 6330)."""
    place: str = "same"
    """Where repair packets go: the link of most of their block, another (``other``), each in its turn (``spread``)."""
    word_packets: int = 0
    """The most packets of a code word; 0: of the code's own."""
    words: tuple[int, ...] = ()
    """Code words that a block is interleaved of, by layer; none: one. Each is brought back by itself."""
    rule: str = ""
    """``ltp``: what chooses the repair segments in the place of ``repair``: ``delayed-feedback`` or ``table``
    (``engine/src/ltp/rate_rule.hpp``)."""
    table: tuple[float, ...] = ()
    """The rule ``table``: repair segments for each source segment, by the state of the feedback."""
    asked: tuple[int, ...] = ()
    """Objects that an earlier connection of a sender that restarted sent whole and nobody acknowledged."""
    there_ns: tuple[int, ...] = ()
    """Of each of these, when Earth has it; ``NEVER_NS``: not of that connection."""


@dataclass(frozen=True)
class Restarts:
    """When a sender restarts, and what it keeps (:mod:`dstcc.engine.restarts`)."""

    at_ns: tuple[int, ...]
    """Rising, each later than the boot before it."""
    boot_ns: int
    """How long it does nothing."""
    spool: bool
    """Whether what was not acknowledged is on its disk."""


@dataclass(frozen=True, eq=False)
class Earlier:
    """What connections before a restart have put on paths over nodes: a row for each packet, in the order in which they
    come to the first node on their way."""

    path: Int64Array
    up: Int64Array
    """1 on the way back."""
    at_ns: Int64Array
    bytes: Int64Array
    """On the wire."""
    layer: Int64Array


@dataclass(frozen=True)
class EngineConfig:
    """One trial, wholly resolved."""

    seed: int
    links: tuple[Link, ...]
    transport: Transport
    objects: Objects
    slot_ns: int
    """Spacing of the samples."""
    duration_ns: int = NEVER_NS
    """The run ends here, or earlier when every object is delivered or given up."""
    trace: bool = False
    """Keep every packet that passes (some 90 bytes of memory for each sending and each arrival)."""
    coding: Coding | None = None
    """For the mode ``coded`` and for ``ltp``."""
    begin_ns: int = 0
    """When the connection's first handshakes are due."""
    ends_ns: int = 0
    """When the mission ends by its plan, where a sender restarts before; 0: with the trial."""
    restarts: Restarts | None = None
    """Of the sender; for :func:`dstcc.engine.simulate` and for policies that drive a trial, not for a stepper."""
    ledger: bool = False
    """Tell at the end what the sender knows to be acknowledged of each layer, and what was put on paths over nodes."""
    earlier: Earlier | None = None
    """Of a connection after a restart."""
    payloads: tuple[Path, ...] = ()
    """Files with the bytes of the objects, in their order and, for a video that loops, again from the first on. A
    kernel sends them; the simulator sends sizes alone. Without files the kernel makes bytes up."""


C = TypeVar("C")


def emulated(part: C, scale: float) -> C:
    """A configuration, or a part of one, in emulated time: a field's unit says whether it is a time or a rate.

    Times that rise go on rising.
    """
    out: C = _emulated("", part, scale)
    return out


def _emulated(name: str, value: Any, scale: float) -> Any:
    if type(value).__module__ == __name__:
        fields = {key: _emulated(key, one, scale) for key, one in vars(value).items()}
        return replace(value, **fields)
    if isinstance(value, Mapping):
        return {key: _emulated(key, one, scale) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        each = tuple(_emulated(name, one, scale) for one in value)
        return tuple(_rising(each)) if name.endswith("t_ns") else each
    if value is None or not name.endswith(("_bps", "_ns")):
        return value
    return value * scale if name.endswith("_bps") else _emulated_times(name, value, scale)


def _emulated_times(name: str, value: int | Int64Array, scale: float) -> int | Int64Array:
    if isinstance(value, int):
        return value if value == NEVER_NS else round(value / scale)
    column = value.copy()
    timed = value != NEVER_NS
    column[timed] = (value[timed] / scale).round()
    if name == "t_ns":
        column[:] = list(_rising(column.tolist()))
    return column


def _rising(times_ns: Sequence[int]) -> Iterator[int]:
    """Rows a nanosecond apart would fall together in another time."""
    last = None
    for t_ns in times_ns:
        last = t_ns if last is None else max(t_ns, last + 1)
        yield last


def named_values(part: Any, name: str = "", without: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every value of a configuration, or of a part of one, by its place, as ``links.0.rate_bps`` and ``1e6``: as
    ``engine/src/core/read_config.hpp`` reads them. What is ``None`` is left out, and fields of the names in
    ``without``."""
    if is_dataclass(part) or isinstance(part, Mapping):
        parts = part if isinstance(part, Mapping) else vars(part)
        for key, one in parts.items():
            if key not in without:
                yield from named_values(one, f"{name}.{key}" if name else key, without)
    elif isinstance(part, (tuple, list)) and any(map(is_dataclass, part)):
        for index, one in enumerate(part):
            yield from named_values(one, f"{name}.{index}", without)
    elif part is not None:
        yield name, " ".join(_words(part))


def _words(value: Any) -> Iterator[str]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        for one in value:
            yield from _words(one)
    else:
        yield str(int(value)) if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class ObjectResults:
    """One row per object of the configuration, in its order; times are -1 where a thing never happened."""

    first_sent_ns: Int64Array
    first_arrival_ns: Int64Array
    complete_ns: Int64Array
    """When the last byte became deliverable in order in its ordering domain."""
    sent_bytes: Int64Array
    """Payload bytes transmitted, repeats included."""
    delivered_bytes: Int64Array
    """Distinct payload bytes delivered in order to the application."""
    retransmissions: Int64Array
    """Segments sent again (retransmissions, reinjections and redundant copies)."""
    subflow: Int64Array
    """The subflow that carried most of it first; -1 if never sent."""
    given_up: Int64Array
    """1 where the sender dropped unsent bytes because the deadline could not be met."""


@dataclass(frozen=True)
class Samples:
    """One row per slot and subflow; a row describes the slot that ends at ``t_ns``.

    Subflows are numbered link by link.
    """

    t_ns: Int64Array
    subflow: Int64Array
    cwnd_segments: Int64Array
    inflight_segments: Int64Array
    srtt_ns: Int64Array
    """0 before the first RTT sample."""
    min_rtt_ns: Int64Array
    sent_segments: Int64Array
    lost_segments: Int64Array
    """Segments the sender marked lost in the slot."""
    retransmitted_segments: Int64Array
    delivered_bytes: Int64Array
    """Payload bytes newly acknowledged in the slot."""
    queue_bytes: Int64Array
    """Data-direction queue of the subflow's link at the slot's end."""
    pacing_bps: Float64Array
    """0 where the control does not pace."""


@dataclass(frozen=True)
class FlowResult:
    """What became of a background flow; the ``slot_`` columns have an entry per slot, as :class:`Samples`."""

    link: int
    congestion: str
    app_limited: bool
    """It had a ``source``."""
    start_ns: int
    stop_ns: int
    complete_ns: int
    """When its last payload byte arrived; -1 if it did not, or has no end."""
    sent_bytes: int
    """Payload, repeats included."""
    retransmitted_bytes: int
    delivered_bytes: int
    """Distinct payload that arrived."""
    lost_segments: int
    """Marked lost by its sender."""
    timeouts: int
    rtt_samples: int
    rtt_sum_s: float
    slot_cwnd_segments: Int64Array
    slot_inflight_segments: Int64Array
    slot_srtt_ns: Int64Array
    slot_sent_segments: Int64Array
    slot_lost_segments: Int64Array
    slot_delivered_bytes: Int64Array
    """Payload newly acknowledged in the slot."""


@dataclass(frozen=True)
class NodeResult:
    """What came to a node and what became of it: came = left + held + dropped + lost in restarts, data and
    acknowledgements of all; the ``slot_`` columns have an entry per slot, as :class:`Samples`."""

    number: int
    came_packets: int
    left_packets: int
    held_packets: int
    """At the end."""
    dropped_packets: int
    """As there was no room."""
    lost_in_restarts_packets: int
    most_held_bytes: int
    slot_held_bytes: Int64Array
    """At the slot's end, on the wire."""
    slot_dropped_packets: Int64Array
    """Since the beginning."""
    slot_lost_in_restarts_packets: Int64Array
    """Likewise."""


@dataclass(frozen=True)
class HopResult:
    """What was put on the two lines of a hop and had room there, others' datagrams too, and what of it was lost; in
    trials with nodes. What a node had no room for is the node's."""

    number: int
    """Its :attr:`Hop.number`; -1 for the first hop of a path."""
    first_of: int
    """The path whose first hop it is, the first of several; -1 for hops from nodes on."""
    sent_packets: int
    lost_packets: int
    dropped_packets: int
    up_sent_packets: int
    """Of the acknowledgements' direction."""
    up_lost_packets: int
    up_dropped_packets: int
    slot_sent_packets: Int64Array
    """Since the beginning; an entry per slot."""
    slot_up_sent_packets: Int64Array


@dataclass(frozen=True)
class Trace:
    """Every packet that was put on a link or came out of it, in order of time; n rows.

    Cross traffic is not in it: it has no end that anybody watches.
    """

    t_ns: Int64Array
    event: NDArray[np.int8]
    """0: data sent, 1: data arrived, 2: ACK sent, 3: ACK arrived."""
    fate: NDArray[np.int8]
    """Of what was sent. 0: on its way, 1: lost on the way, or dropped by a node, 2: dropped, the queue was full."""
    syn: NDArray[np.int8]
    """1 for SYNs and their answers."""
    kind: NDArray[np.int8]
    """Of segments of ``ltp`` what they are, as the engine names them (``src/ltp/segments.hpp``), and 8 beside it for a
    green layer, a report that waited for its matrix, and a refusal for want of room; else 0."""
    sender: NDArray[np.int32]
    """The subflow, or the number of subflows plus the background flow's."""
    number: Int64Array
    """The segment's number on its subflow; of an ACK, the next number expected. Of data of ``ltp`` the segment's place
    in its layer, of reports and their answers the report's serial, of feedback the segments that came."""
    bytes: NDArray[np.int32]
    """Payload."""
    object: NDArray[np.int32]
    """The layer, by its row in :class:`Objects`, of several the first; -1 for SYNs, ACKs and background flows."""
    order: Int64Array
    """The segment's place in its ordering domain, counted in segments; -1 likewise. Of ``ltp`` the matrix, if it is of
    one."""
    checkpoint: NDArray[np.int32]
    """The serial of ``ltp``'s checkpoint, of a report that which it answers; 0 where there is none."""
    sack: Int64Array
    """Shape (n, 3, 2): of an ACK, up to three blocks [begin, end) of segment numbers; zeros where there is none."""
    transport: str
    """``tcp``, ``coded`` or ``ltp``: what the first ``senders`` are; others are background TCP flows."""
    senders: int
    range_row: Int64Array
    """Of ``coded``, whose ACKs name ranges of numbers: the ACK's row; rising. Of ``ltp``, whose checkpoints name the
    segments they ask about, and whose reports their scope and then what came of it. Of ``tcp`` the row of a segment
    that has bytes of several layers."""
    ranges: Int64Array
    """Shape (len(range_row), 2): begin and end, which is not in it; of ``tcp`` a layer, as in ``object``, and its
    bytes."""

    def layers_in(self, row: int) -> list[tuple[int, int]]:
        """The layers in a segment of ``tcp``, as ``object`` has them, each with its bytes."""
        first, end = self.range_row.searchsorted((row, row + 1))
        if first == end:
            return [(int(self.object[row]), int(self.bytes[row]))]
        return [(layer, size) for layer, size in self.ranges[first:end].tolist()]


class Ends(NamedTuple):
    """Where a sender and its receiver are: on a path of the trial, and whether these are the path's ends."""

    path: int
    first: bool = True
    last: bool = True


@dataclass(frozen=True)
class Connection:
    """A sender's packets, and what it had to send: in a trial, from one boot to the next restart, or where a node has
    custody."""

    trace: Trace
    objects: Objects
    layer: Int64Array
    """Of each of these the layer, by its row in the trial's."""
    ends: tuple[Ends, ...] = ()
    """Of each sender, where nodes have custody; else all are the paths'."""
    there_ns: tuple[int, ...] = ()
    """Of the coded layers that its sender asks for: when they are on Earth."""


@dataclass(frozen=True)
class Steps:
    """What a sender holds after each ACK it takes and each timer that goes off; n rows, in order of time."""

    t_ns: Int64Array
    subflow: NDArray[np.int32]
    una: Int64Array
    """Segments acknowledged in order."""
    cwnd_segments: Int64Array
    ssthresh_segments: Int64Array
    """2^40 before the first loss."""
    srtt_ns: Int64Array
    rto_ns: Int64Array
    """Its retransmission timeout, doublings included."""
    state: NDArray[np.int8]
    """As Linux numbers them. 0: open, 3: recovery, 4: loss."""
    backoff: NDArray[np.int8]
    """Timeouts without an answer."""
    lost_segments: Int64Array
    """Held to be lost and not yet repaired."""
    inflight_segments: Int64Array
    pacing_bps: Float64Array
    """0 where the control does not pace."""


@dataclass(frozen=True)
class CodingResults:
    """What became of the blocks of a ``coded`` trial, or of the matrices of ``ltp``: one row per block (period × layers
    + layer) or matrix, or one per object where it says so."""

    source_packets: Int64Array
    """k: those that were sent; 0 for a block without any."""
    repair_packets: Int64Array
    """Sent."""
    planned_packets: Int64Array
    """Repair packets that the share or the rule gives it; what is sent beyond, losses asked for."""
    repair_bytes: Int64Array
    """Payload of its repair packets."""
    arrived_packets: Int64Array
    decoded_ns: Int64Array
    """When repair packets brought it back, or told that all was there; -1 if they did not."""
    whole: Int64Array
    """1 where all of its source packets are there in the end, of their own or brought back."""
    block: Int64Array
    """By object: its block; -1 for one that is in none."""
    recovered: Int64Array
    """By object: 1 where its block brought it back."""
    state: Int64Array | None = None
    """By matrix of ``ltp``: the feedback that its rule had when it chose (``engine/src/ltp/rate_rule.hpp``), -1 where
    nothing chose. ``None`` in other trials."""


@dataclass(frozen=True)
class Ledger:
    """What a sender knows of its layers when a trial ends; one row per object."""

    acknowledged_bytes: Int64Array
    """From a layer's first byte on: what the receiver is known to have handed on, or (``ltp``) to hold."""
    begun_bytes: Int64Array
    """What was sent of it at least once."""
    entered: Earlier | None = None
    """Packets of either end that came to a node, or are on their way there."""


@dataclass(frozen=True)
class TransportStats:
    """Sums over a trial.

    Bytes, round trips and timeouts are those of the connection under test; drops and losses are the links', whoever's
    packets they hit. ``engine/src/core/stats.hpp`` has the engine's.
    """

    sent_wire_bytes: int = 0
    sent_payload_bytes: int = 0
    retransmitted_payload_bytes: int = 0
    repair_payload_bytes: int = 0
    """Of repair packets, where layers are coded."""
    arrived_payload_bytes: int = 0
    """Distinct."""
    recovered_payload_bytes: int = 0
    """Decoded from repair packets."""
    delivered_payload_bytes: int = 0
    duplicate_payload_bytes: int = 0
    hol_payload_bytes: int = 0
    """Held back behind a gap."""
    hol_wait_byte_s: float = 0.0
    """Σ bytes × wait."""
    rtt_sum_s: float = 0.0
    rtt_samples: int = 0
    queue_p95_s: float = math.nan
    """The 95th percentile of the wait in the sender's queues; NaN where nothing was sent."""
    data_packets: int = 0
    run_packets: int = 0
    """Of these, what the engine carried in runs: its own cost only, as ``events``."""
    dropped_queue_packets: int = 0
    lost_channel_packets: int = 0
    timeouts: int = 0
    events: int = 0
    engine_peak_bytes: int = 0
    """Records of senders and links: the most held at the end of a slot, of the run, or every 65,536 events; of ``ltp``
    the sum of what each kind of record took at most."""
    reorder_peak_bytes: int = 0
    """Of receivers."""
    first_send_s: float = math.nan
    """NaN if never."""
    last_delivery_s: float = math.nan
    """NaN if never."""

    # Of a trial that a controller steers, else None.
    guard_clamps: int | None = None
    """Window actions out of bounds."""
    guard_fallbacks: int | None = None
    """How often NewReno took a subflow's window, or coded packets had no decision."""

    # The kernel's, else None.
    arrived_packets: int | None = None
    """Of TCP. The others are of coded trials."""
    missing_packets: int | None = None
    refused_packets: int | None = None
    checked_payload_bytes: int | None = None
    """Held against what was encoded."""
    block_peak_bytes: int | None = None
    decoder_peak_bytes: int | None = None
    encoder_peak_bytes: int | None = None
    unusable_answers: int | None = None
    """Of a policy that steers coded packets: slots for which it gave no decision, or none in time."""


@dataclass(frozen=True)
class PlacedBytes:
    """Bytes of a layer on a link, where a kernel's scheduler is given the subflow of each layer."""

    layer: int
    link: int
    assigned_bytes: int
    """Handed over for the link."""
    sent_bytes: int
    """Whose first packet left over it."""
    first_bytes: int
    """First transmitted on it, by the kernel's own counters."""
    misrouted_bytes: int
    """Of these, assigned to another link."""
    reinjected_bytes: int
    """Transmitted again after another subflow failed."""
    late_bytes: int
    """Transmitted after the deadline."""


@dataclass(frozen=True)
class EngineResult:
    """What happened."""

    objects: ObjectResults
    samples: Samples
    end_ns: int
    totals: TransportStats
    flows: tuple[FlowResult, ...] = ()
    """One per background flow: link by link, in each link's order."""
    nodes: tuple[NodeResult, ...] = ()
    hops: tuple[HopResult, ...] = ()
    """Those on the ways, in the order in which paths name them."""
    trace: Trace | None = None
    """``None`` unless asked for."""
    connections: tuple[Connection, ...] = ()
    """In the place of ``trace`` where there are several: one after the other of a sender that restarts; or the
    sender's, and those of nodes that have custody."""
    steps: Steps | None = None
    """Likewise, with ``EngineConfig.trace``."""
    coding: CodingResults | None = None
    """Of a ``coded`` trial and of ``ltp`` with coding."""
    ledger: Ledger | None = None
    """``None`` unless asked for."""
    placed: tuple[PlacedBytes, ...] = ()
    """The kernel's, where its scheduler is told the subflow of each layer."""
    capture: Path | None = None
    """The kernel's with ``EngineConfig.trace``: a temporary folder with each end's packets (``earth.pcapng``)."""
