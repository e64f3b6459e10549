"""What a trial takes, estimated before it runs, and limits above which it is refused.

    events   per data packet 4 and 4 more per further hop, per datagram of others 2, per burst or gap 2, per slot 1;
             of ``ltp`` in runs per packet 1/4 and per layer 6
    memory   of a trial, beside what the process takes by itself: 4 MB, per object 400 bytes, per sample 260,
             per packet in flight or in a queue 60 (in runs 16), per lane 256; 100 more per packet of a trial
             that keeps them
    bytes    of a run's folder: per object 16, per sample 24, per packet of a log 500

A data packet is one that the video has or a link can carry, whichever is less; a flow without an end fills its link.
So the estimate is of a transport that fills its links: one that sends less takes less, and one that repeats much more
than is lost takes more (``tests/run/test_work.py`` has by how much). The numbers were fitted to the engine's own
counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace

from dstcc.engine.config import NEVER_NS, CrossTraffic, EngineConfig, Link
from dstcc.errors import InputError, ScenarioError
from dstcc.frozen import dataclass
from dstcc.wire import HEADER_BYTES

from .fields import NS_PER_S, ns
from .units import UNITS, number_of

PER_PACKET, PER_DATAGRAM, PER_PERIOD, PER_HOP = 4, 2, 2, 4
PER_RUN_PACKET, PER_RUN_LAYER = 0.25, 6
LEAST_MEMORY = 4e6
OBJECT_MEMORY, SAMPLE_MEMORY, PACKET_MEMORY, LANE_MEMORY, KEPT_MEMORY = 400, 260, 60, 256, 100
RUN_MEMORY = 16
OBJECT_BYTES, SAMPLE_BYTES, LOGGED_BYTES = 16, 24, 500


@dataclass(frozen=True)
class Limits:
    """The most that is let run; an hour of a core, and what a laptop has."""

    events: float = 2e10
    """Of a trial."""
    memory: float = 2e9
    """Bytes that a trial takes."""
    bytes: float = 1e11
    """Of a run's folder."""


NAMES = tuple(one.name for one in fields(Limits))
_SAID = {
    "events": "{:,.3g} events in a trial",
    "memory": "{:,.3g} bytes of memory for a trial",
    "bytes": "{:,.3g} bytes on the disk",
}


class _Held:
    """The limits in force. The process has one set, since trials run in threads of theirs."""

    limits = Limits()


@dataclass(frozen=True)
class Work:
    """An estimate, each quantity by the keys that make it."""

    events: Mapping[str, float]
    memory: Mapping[str, float]
    bytes: Mapping[str, float]

    def total(self, name: str) -> float:
        """The sum of a quantity."""
        return float(sum(getattr(self, name).values()))


@contextmanager
def limited(limits: Mapping[str, float]) -> Iterator[None]:
    """Let these limits hold, the others stay, until the block ends."""
    for name, value in limits.items():
        if name not in NAMES or not value > 0:
            raise InputError(f"limit {name} = {value}: one of {', '.join(NAMES)}, and a number above 0")
    before = _Held.limits
    _Held.limits = replace(before, **{name: float(value) for name, value in limits.items()})
    try:
        yield
    finally:
        _Held.limits = before


def in_force() -> dict[str, float]:
    """The limits that hold now."""
    return {name: getattr(_Held.limits, name) for name in NAMES}


def parse_limits(texts: Sequence[str]) -> dict[str, float]:
    """Read ``events=1e12`` and ``memory=8GB``; raises :class:`InputError` naming what is wrong."""
    limits = {}
    for text in texts:
        name, equals, raw = (part.strip() for part in text.partition("="))
        if not equals or name not in NAMES:
            raise InputError(f"--limit {text}: must be WHAT=NUMBER, WHAT one of {', '.join(NAMES)}")
        units = {"": "1"} if name == "events" else {"": "1", **UNITS["_bytes"][1]}
        value = number_of(raw, units)
        if value is None or not value > 0:
            hint = "1e12" if name == "events" else "64GB"
            raise InputError(f"--limit {text}: must be a number above 0, like {name}={hint}")
        limits[name] = value
    return limits


def check_work(name: str, work: Work) -> None:
    """Raise :class:`ScenarioError` for more than a limit, with the number and the key that makes most of it."""
    for quantity, most in asdict(_Held.limits).items():
        total = work.total(quantity)
        if total <= most:
            continue
        parts = getattr(work, quantity)
        key = max(parts, key=parts.__getitem__)
        raise ScenarioError(
            f"{name}: {key}: would take about {_SAID[quantity].format(total)}, more than the limit of {most:,.3g}; "
            f"--limit {quantity}={_round_up(total)} lets it run"
        )


def check_objects(chunks: float, layers: int, key: str) -> None:
    """Refuse a video whose layers alone take too much memory, before there are any."""
    check_work("video", Work({}, {key: chunks * layers * OBJECT_MEMORY}, {}))


def work_of(config: EngineConfig, length_s: float, *, trials: int = 1, logs: bool = False) -> Work:
    """What a trial takes that lasts so long, and what so many of them leave on the disk."""
    transport, objects = config.transport, config.objects
    wire_bits = 8 * (transport.mss_bytes + HEADER_BYTES)
    carried = sum(link.carried_bits(0, ns(length_s)) for link in config.links) / wire_bits
    copies = len(config.links) if transport.scheduler == "redundant" else 1
    packets = min(float(objects.packets(transport.mss_bytes).sum()) * copies, carried)
    samples = length_s * NS_PER_S / config.slot_ns * sum(link.subflows for link in config.links)
    events: defaultdict[str, float] = defaultdict(float)
    in_runs = transport.congestion == "ltp" and not any(
        link.onward or link.flows or link.cross_traffic for link in config.links
    )
    events["video"] = PER_PACKET * packets
    if in_runs:
        events["video"] = PER_RUN_PACKET * packets + PER_RUN_LAYER * min(float(len(objects.layer)), packets)
    events["run.slot_s"] = length_s * NS_PER_S / config.slot_ns
    memory: defaultdict[str, float] = defaultdict(float)
    memory["video"] = LEAST_MEMORY + len(objects.layer) * OBJECT_MEMORY
    memory["run.slot_s"] = samples * SAMPLE_MEMORY
    kept = packets
    hops = {hop.number: hop.line for link in config.links for hop in link.onward}
    stored = {hop.node.number: hop.node.storage_bytes for link in config.links for hop in link.onward}
    for node, storage in stored.items():
        memory[f"node.{node}.storage_bytes"] = min(packets, storage / (wire_bits / 8)) * PACKET_MEMORY
    for number, line in (*enumerate(config.links), *hops.items()):
        for key, count in _others(f"link.{number}", line, length_s, wire_bits).items():
            events[key] += count
            kept += count / PER_PACKET
    for number, link in enumerate(config.links):
        windows = link.rate_bps * 2 * max(link.delay_ns) / NS_PER_S / wire_bits + link.queue_bytes / (
            wire_bits / 8
        )
        windows += sum(hop.line.queue_bytes / (wire_bits / 8) for hop in link.onward)
        events["video"] += PER_HOP * packets / len(config.links) * len(link.onward)
        memory[f"link.{number}.queue_bytes"] = min(packets, windows) * (
            RUN_MEMORY if in_runs else PACKET_MEMORY
        )
        memory["transport.lanes_per_link"] += link.subflows * transport.lanes_per_link * LANE_MEMORY
        memory[f"link.{number}.flows"] = len(link.flows) * PACKET_MEMORY * min(windows, 1e5)
    if (
        config.restarts is not None
    ):  # what was sent until a restart is sent twice over, and all others' from the start
        again = 2 * len(config.restarts.at_ns)
        events["transport.restart"] = events["video"] + again * (sum(events.values()) - events["video"])
    if config.trace:
        memory["--qlog, --pcapng"] = kept * KEPT_MEMORY
    disk: dict[str, float] = {
        "video": float(trials * len(objects.layer) * OBJECT_BYTES),
        "run.slot_s": trials * samples * SAMPLE_BYTES,
        "--qlog, --pcapng": trials * packets * LOGGED_BYTES if logs else 0.0,
    }
    return Work(events, memory, disk)


def _others(place: str, link: Link, length_s: float, wire_bits: float) -> dict[str, float]:
    """Events of others' traffic on a link, by its keys."""
    events: defaultdict[str, float] = defaultdict(float)
    for number, source in enumerate(link.cross_traffic):
        datagrams, periods = _written(source, length_s)
        events[f"{place}.cross_traffic.{number}.rate_bps"] += PER_DATAGRAM * datagrams
        events[f"{place}.cross_traffic.{number}.on_s"] += PER_PERIOD * periods
    for flow in link.flows:
        until_s = max(0.0, min(flow.stop_ns / NS_PER_S, length_s) - flow.start_ns / NS_PER_S)
        packets = link.rate_bps * until_s / wire_bits / len(link.flows)
        if flow.payload_bytes:
            packets = min(packets, 1 + flow.payload_bytes / (wire_bits / 8 - HEADER_BYTES))
        if flow.source is not None:
            writes, periods = _written(flow.source, length_s)
            packets = min(packets, writes)
            events[f"{place}.flows.rate_bps"] += writes
            events[f"{place}.flows.on_s"] += PER_PERIOD * periods
        events[f"{place}.flows"] += PER_PACKET * packets
    return dict(events)


def _written(source: CrossTraffic, length_s: float) -> tuple[float, float]:
    """A source's packets, and its bursts and gaps."""
    until_s = max(0.0, min(source.stop_ns / NS_PER_S, length_s) - source.start_ns / NS_PER_S)
    share, periods = 1.0, 0.0
    if source.on_ns != NEVER_NS:
        turn_s = (source.on_ns + source.off_ns) / NS_PER_S
        share, periods = source.on_ns / (source.on_ns + source.off_ns), 2 * until_s / turn_s
    # A packet needs a nanosecond at least, however fast the source is.
    rate = min(source.rate_bps / 8 / source.packet_bytes, NS_PER_S)
    return rate * share * until_s, periods


def _round_up(total: float) -> str:
    """A round number above it, as a limit."""
    digits = f"{total:.0e}"
    mantissa, exponent = digits.split("e")
    above = int(mantissa) + (float(digits) < total)
    return f"{above}e{int(exponent)}"


def about(works: Iterable[Work]) -> dict[str, dict[str, float]]:
    """The most of each quantity, beside its limit."""
    estimated = list(works)
    return {
        name: {"estimate": max(work.total(name) for work in estimated), "limit": getattr(_Held.limits, name)}
        for name in NAMES
    }
