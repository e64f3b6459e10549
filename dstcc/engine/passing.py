"""What a network can pass, whoever sends: a maximum flow over time, and the least time that a packet takes.

Each node is cut into intervals of time, at the edges of its links' contacts and rates, and at these edges shifted by
light times, up and down the network, until nothing new comes or there are :data:`MOST_CUTS` of them::

    (u, k) -> (v, j)      what the link can carry from u in interval k; j holds the arrival of what leaves first
    (u, k) -> (u, k + 1)  what the node can store; at the sender anything, at the receiver too
    source -> (s, k)      what the video has by the end of interval k

Nothing is lost, others send nothing, and a node forwards at once. So no sender brings more. Where cuts close and light
times are constant, what is found is what a fluid could reach; else it is more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float64Array, Int64Array
from dstcc.frozen import dataclass

from .config import EngineConfig, Link

MOST_CUTS = 600
"""Of a node."""
ROUNDS = 12
EVEN = 32
"""Even cuts at the sender, so that what is captured late is not sent early by a whole contact."""
UNITS = 1 << 30
"""A flow is counted in so many parts of what the links carry at most: scipy's maximum flow takes 32-bit numbers."""
SOURCE, SINK = -1, -2
"""Beside the numbers of nodes on the way."""
NEVER_NS = 1 << 62


@dataclass(frozen=True)
class Line:
    """A link between two nodes, as a plan has it: the data's direction."""

    name: str
    tail: int
    """The number of the node at which it begins, or :data:`SOURCE`."""
    head: int
    link: Link
    """Delay, rates and outages are this link's own."""

    @cached_property
    def rate(self) -> tuple[Int64Array, Float64Array]:
        """Bits per second over time: a row holds until the next; outages have none."""
        link = self.link
        dark = sorted({*link.outages_ns, *link.unannounced_ns})
        edges = {0, *link.rate_t_ns, *link.hidden_t_ns, *(t for outage in dark for t in outage)}
        t_ns = np.array(sorted(t for t in edges if t < NEVER_NS), dtype=np.int64)
        bps = np.full(len(t_ns), link.rate_bps)
        for times, share in ((link.rate_t_ns, link.rate_share), (link.hidden_t_ns, link.hidden_share)):
            if times:
                bps *= np.array(share)[np.searchsorted(np.array(times), t_ns, side="right") - 1]
        for start, stop in dark:
            bps[(t_ns >= start) & (t_ns < stop)] = 0.0
        return t_ns, bps

    def arrival(self, at_ns: Int64Array) -> Int64Array:
        """When what leaves at these times comes to the other end."""
        return at_ns + self._delay(at_ns)

    def departure(self, at_ns: Int64Array) -> Int64Array:
        """When what comes at these times left, within a nanosecond a round."""
        left = at_ns - self._delay(at_ns)
        for _ in range(4):
            left = at_ns - self._delay(left)
        return left

    def _delay(self, at_ns: Int64Array) -> Int64Array:
        t_ns, delay_ns = np.array(self.link.delay_t_ns), np.array(self.link.delay_ns)
        delay: Int64Array = np.rint(np.interp(at_ns, t_ns, delay_ns)).astype(np.int64)
        return delay

    def carried_bits(self, from_ns: Int64Array, to_ns: Int64Array) -> Float64Array:
        """What it can carry from each time to the other."""
        t_ns, bps = self.rate
        seconds = np.diff(t_ns) / 1e9
        done = np.concatenate([[0.0], np.cumsum(bps[:-1] * seconds)])

        def until(at: Int64Array) -> Float64Array:
            row = np.searchsorted(t_ns, at, side="right") - 1
            bits: Float64Array = done[row] + bps[row] * (at - t_ns[row]) / 1e9
            return bits

        return until(to_ns) - until(from_ns)

    def opens_at(self, at_ns: Int64Array) -> Int64Array:
        """The first times from these on at which it is up; :data:`NEVER_NS` where it is not."""
        t_ns, bps = self.rate
        up = t_ns[bps > 0]
        row = np.searchsorted(t_ns, at_ns, side="right") - 1
        later = np.append(up, NEVER_NS)[np.searchsorted(up, at_ns)]
        first: Int64Array = np.where(bps[row] > 0, at_ns, later)
        return first

    def opens(self, at_ns: int) -> int:
        """The same of one time."""
        return int(self.opens_at(np.array([at_ns]))[0])


def over_nodes(config: EngineConfig) -> bool:
    """Whether a trial has a network, and says when it ends and what is due: else there is nothing to ask here."""
    ends = config.duration_ns < NEVER_NS and len(config.objects.payload_bytes) > 0
    return ends and any(link.onward for link in config.links)


def lines_of(config: EngineConfig) -> tuple[tuple[Line, ...], tuple[tuple[int, ...], ...]]:
    """The links of a trial's network, each once, and of each path the places of its links among them."""
    lines: list[Line] = []
    known: dict[tuple[str, int], int] = {}
    paths: list[tuple[int, ...]] = []

    def add(key: tuple[str, int], line: Line) -> int:
        if key not in known:
            known[key] = len(lines)
            lines.append(line)
        return known[key]

    for number, path in enumerate(config.links):
        ends = [SOURCE, *(hop.node.number for hop in path.onward), SINK]
        first = number if path.first_hop_of < 0 else path.first_hop_of
        link = _first_hop(path)
        row = [add(("first", first), Line(link.name, ends[0], ends[1], link))]
        for hop, (tail, head) in zip(path.onward, pairwise(ends[1:]), strict=True):
            row.append(add(("hop", hop.number), Line(hop.line.name, tail, head, hop.line)))
        paths.append(tuple(row))
    return tuple(lines), tuple(paths)


def _first_hop(path: Link) -> Link:
    named = replace(path, name=path.first_name or path.name)
    if not path.onward:
        return named
    return replace(
        named,
        delay_t_ns=path.first_t_ns,
        delay_ns=path.first_delay_ns,
        delay_slope=path.first_slope,
        onward=(),
    )


# ------------------------------------------------------------------------------------------------- one packet's way


def contacts_s(line: Line, until_ns: int) -> list[tuple[float, float]]:
    """When a link is up within the run."""
    t_ns, bps = line.rate
    contacts: list[tuple[float, float]] = []
    for at, rate, end in zip(t_ns.tolist(), bps.tolist(), [*t_ns[1:].tolist(), until_ns], strict=True):
        if rate <= 0 or at >= until_ns:
            continue
        begin, until = at / 1e9, min(end, until_ns) / 1e9
        if contacts and contacts[-1][1] == begin:
            contacts[-1] = (contacts[-1][0], until)
        else:
            contacts.append((begin, until))
    return contacts


def arrival_ns(lines: Sequence[Line], at_ns: int, until_ns: int) -> tuple[int, int]:
    """When what is ready at ``at_ns`` comes over a row of links if it waits at each until that is up, and how many of
    them it passes before ``until_ns``: all, if it arrives."""
    for passed, line in enumerate(lines):
        leaves = line.opens(at_ns)
        if leaves >= until_ns:
            return NEVER_NS, passed
        at_ns = int(line.arrival(np.array([leaves]))[0])
        if at_ns > until_ns:
            return NEVER_NS, passed
    return at_ns, len(lines)


@dataclass(frozen=True)
class Passage:
    """What a packet of no length takes on a path, by when it is ready."""

    least_ns: int
    """The least of all times within the run; :data:`NEVER_NS` where nothing arrives."""
    longest_ns: int
    """The longest of what still arrives within the run."""
    stuck: int
    """Where nothing arrives: the place of the link that nothing passes."""


def passage(lines: Sequence[Line], until_ns: int) -> Passage:
    """The least and the longest time over a row of links, waits for their contacts included."""
    ready = {0}
    for number, line in enumerate(lines):
        at = line.rate[0]
        for before in reversed(lines[:number]):
            at = before.departure(at)
        ready |= {int(t) + more for t in at for more in (-1, 0, 1) if 0 <= t + more < until_ns}
    found = [(arrival_ns(lines, at, until_ns), at) for at in sorted(ready)]
    took = [comes - at for (comes, _), at in found if comes < NEVER_NS]
    if took:
        return Passage(min(took), max(took), -1)
    return Passage(NEVER_NS, NEVER_NS, max(passed for (_, passed), _ in found))


# --------------------------------------------------------------------------------------------------- maximum flow


@dataclasses.dataclass
class Network:
    """A trial's network over time; ``wire_bytes`` of the video are there by ``release_ns``, which rise."""

    config: EngineConfig
    release_ns: Int64Array
    wire_bytes: Float64Array
    lines: tuple[Line, ...] = ()
    _storage: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the links and nodes from the configuration."""
        self.lines, _ = lines_of(self.config)
        for path in self.config.links:
            for hop in path.onward:
                node = hop.node
                queues = self._storage.get(node.number, 0.0) + hop.line.queue_bytes
                self._storage[node.number] = float(node.storage_bytes) if node.storage_bytes else queues

    def most_bytes(self, by_ns: Iterable[int]) -> list[float]:
        """The most bytes on the wire that can be at the receiver by each of these times."""
        until = sorted(set(by_ns))
        cuts = _cuts(self.lines, max(until, default=0), until)
        found = {at: self._flow(cuts, at) for at in until}
        return [found[at] for at in by_ns]

    def moments(self, until_ns: int) -> Int64Array:
        """Times at which to ask what is there: the cuts at the receiver, or some of them."""
        even = np.linspace(0, until_ns, DEADLINES + 1).astype(np.int64)[1:]
        return np.union1d(even, _some(_cuts(self.lines, until_ns, even.tolist())[SINK][1:], MOMENTS))

    def _flow(self, cuts: dict[int, Int64Array], until_ns: int) -> float:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        place, count = {}, 2
        for node, at in cuts.items():
            place[node] = count
            count += len(at)
        tails, heads, most = [], [], []

        def edges(tail: NDArray[np.int64], head: NDArray[np.int64], bytes_: NDArray[np.float64]) -> None:
            tails.append(tail)
            heads.append(head)
            most.append(bytes_)

        for line in self.lines:
            at = cuts[line.tail]
            comes = line.arrival(at)
            bits = line.carried_bits(at, np.append(at[1:], max(until_ns, int(at[-1]))))
            to = np.searchsorted(cuts[line.head], comes, side="right") - 1
            good = comes < until_ns
            own = np.arange(len(at))
            edges(place[line.tail] + own[good], place[line.head] + to[good], bits[good] / 8)
        total = float(self.wire_bytes.sum())
        for node, at in cuts.items():
            own = np.arange(len(at) - 1)
            holds = total if node in (SOURCE, SINK) else self._storage[node]
            edges(place[node] + own, place[node] + own + 1, np.full(len(own), holds))
        start = cuts[SOURCE]
        ends = np.append(start[1:], max(until_ns, int(start[-1]) + 1))
        there = np.concatenate([[0.0], np.cumsum(self.wire_bytes)])
        by = there[np.searchsorted(self.release_ns, ends, side="left")]
        edges(np.zeros(len(start), np.int64), place[SOURCE] + np.arange(len(start)), np.diff(by, prepend=0.0))
        edges(
            place[SINK] + np.array([len(cuts[SINK]) - 1]), np.ones(1, np.int64), np.array([max(total, 1.0)])
        )
        tail, head = np.concatenate(tails), np.concatenate(heads)
        bytes_ = np.minimum(np.concatenate(most), total)
        unit = max(total / UNITS, 1e-9)
        parts = np.ceil(bytes_ / unit).astype(np.int64)
        graph = csr_array((parts.astype(np.int32), (tail, head)), shape=(count, count))
        return min(float(maximum_flow(graph, 0, 1).flow_value) * unit, total)


def _cuts(lines: Sequence[Line], until_ns: int, also: Sequence[int]) -> dict[int, Int64Array]:
    """Of each node the times at which its intervals begin."""
    nodes = {SOURCE, SINK, *(line.tail for line in lines), *(line.head for line in lines)}
    cuts = {node: np.zeros(1, dtype=np.int64) for node in nodes}

    def joined(one: Int64Array, other: Int64Array) -> Int64Array:
        return np.union1d(one, other[(other > 0) & (other <= until_ns)])

    cuts[SOURCE] = joined(cuts[SOURCE], np.linspace(0, until_ns, EVEN, endpoint=False).astype(np.int64))
    cuts[SINK] = joined(cuts[SINK], np.array(also, dtype=np.int64))
    for line in lines:
        cuts[line.tail] = joined(cuts[line.tail], line.rate[0])
    for _ in range(ROUNDS):
        wider = dict(cuts)
        for line in lines:
            wider[line.head] = joined(wider[line.head], line.arrival(wider[line.tail]))
        for line in reversed(lines):
            wider[line.tail] = joined(wider[line.tail], line.departure(wider[line.head]))
        if max(map(len, wider.values())) > MOST_CUTS or all(len(wider[n]) == len(cuts[n]) for n in nodes):
            break
        cuts = wider
    return cuts


def wire_bytes(payload_bytes: Int64Array, mss_bytes: int, header_bytes: int) -> Float64Array:
    """What layers of so much payload are on the wire at least: in full packets, whoever fills them."""
    out: Float64Array = payload_bytes * (mss_bytes + header_bytes) / mss_bytes
    return out


def network_of(config: EngineConfig) -> Network:
    """The network of a trial and what its video has."""
    transport, objects = config.transport, config.objects
    return Network(
        config,
        objects.release_ns,
        wire_bytes(objects.payload_bytes, transport.mss_bytes, transport.header_bytes),
    )


# ------------------------------------------------------------------------------------------------------- the bound

DEADLINES, MOMENTS = 24, 64
"""So many of a video's deadlines are asked for, and so many times where deadlines move."""


def most_weight(config: EngineConfig, weights: Float64Array) -> float:
    """A bound on the weight of layers in time: by each of some deadlines no more than can be there by then.

    Layers are taken whole or in part, those of most weight a byte first; for nested deadlines that is the best.
    """
    objects, network = config.objects, network_of(config)
    deadline = np.minimum(objects.deadline_ns, config.duration_ns)
    asked = _some(np.unique(deadline), DEADLINES)
    left = np.array(network.most_bytes(asked.tolist()))
    from_row = np.searchsorted(asked, deadline)  # deadlines in between are held by the next
    total = 0.0
    for rows, row in _by_density(weights, network.wire_bytes, from_row):
        want = float(network.wire_bytes[rows].sum())
        take = max(0.0, min(want, float(left[row:].min(initial=np.inf))))
        left[row:] -= take
        total += float(weights[rows].sum()) * take / want
    return total


def _some(values: Int64Array, most: int) -> Int64Array:
    if len(values) <= most:
        return values
    return np.unique(values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)])


def _by_density(
    weights: Float64Array, bytes_: Float64Array, row: Int64Array
) -> Iterator[tuple[Int64Array, int]]:
    """Layers of one weight a byte and one deadline together, most weight first."""
    density = np.round(weights / bytes_, 15)
    order = np.lexsort((row, -density))
    change = np.flatnonzero((np.diff(density[order]) != 0) | (np.diff(row[order]) != 0)) + 1
    for rows in np.split(order, change):
        if len(rows):
            yield rows, int(row[rows[0]])


def least_delay_ns(config: EngineConfig, delay_ns: int) -> int | None:
    """A playout delay with less of which not everything can be there in time, as ``delay_ns`` is that of the
    configuration's deadlines; ``None`` where no delay is enough before the run's end."""
    network, until_ns = network_of(config), config.duration_ns
    asked = network.moments(until_ns)
    there = np.array(network.most_bytes(asked.tolist()))
    order = np.argsort(config.objects.deadline_ns, kind="stable")
    due = np.cumsum(network.wire_bytes[order])
    if due[-1] > there[-1] * (1 + 1e-9):
        return None
    late = -delay_ns
    for at, bytes_ in zip(asked.tolist(), there.tolist(), strict=True):
        beyond = int(np.searchsorted(due, bytes_ * (1 + 1e-9), side="right"))
        if beyond < len(order):  # what is due then must be due after `at`
            late = max(late, at - int(config.objects.deadline_ns[order[beyond]]) + 1)
    return delay_ns + late
