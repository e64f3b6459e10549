"""How far the clairvoyant bound lies above the best schedule, found by brute force, of small random cases.

    python -m experiments.bound_looseness [--cases N]

A case has one or two links with a handful of service slots and up to seven packets. A byte takes a millisecond, and
every schedule of whole milliseconds is tried: which packet leaves when on which link, idle times, and packets of a
header that use up a slot's draws. So the best weight is exact for packets cut like these;
``tests/engine/test_bound.py`` holds the bound to it.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from dstcc.engine import EngineConfig, Hop, Link, Loss, Node, Objects, Transport, clairvoyant_weight
from dstcc.engine._testing import slot_draws

MSS, HEADER = 6, 2
FULL = MSS + HEADER
"""Bytes of a full packet, and milliseconds of a slot."""
MS = 10**6
SLOTS, DRAWS = 12, 5
END = SLOTS * FULL
"""The last chunk's deadline is no later."""
SIZES, SHORT = (1, 2, 3, 5, 6, 7, 9, 12, 14), (1, 1, 2, 3)
"""Bytes of a layer, of any and of those that are all short."""
KINDS = ("lossless", "lossy", "two links", "outages", "a node", "short layers")


@dataclass(frozen=True)
class Packet:
    """One of a layer's packets, or of several layers' that are sent together."""

    chunk: int
    wire: int
    layers: frozenset[int]
    """Objects that have bytes in it."""


@dataclass(frozen=True)
class Case:
    """A small trial, and what its layers weigh."""

    kind: str
    config: EngineConfig
    weights: np.ndarray


def random_case(seed: int) -> Case:
    """One of a kind: lossless, lossy, two links, outages, a node, or losses of layers that are all short."""
    rng = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    lossy = {"lossless": 0.0, "lossy": 1.0, "short layers": 1.0}.get(kind, 0.5)
    count = 2 if kind == "two links" else 1
    links = tuple(_random_link(rng, kind, lossy=rng.random() < lossy) for _ in range(count))
    return Case(kind, *_random_objects(rng, links, seed, SHORT if kind == "short layers" else SIZES))


def _random_link(rng: random.Random, kind: str, *, lossy: bool) -> Link:
    loss = Loss()
    if lossy:
        loss = rng.choice(
            [
                Loss("packet", rng.choice([0.2, 0.4, 0.7])),
                Loss("gilbert-elliott", p=0.3, r=0.4, good=0.1, bad=0.9),
                Loss("ber", rng.choice([0.002, 0.01])),
            ]
        )
    dark: list[tuple[int, int]] = []
    if kind == "outages" or (kind == "short layers" and rng.random() < 0.5):
        begin = rng.randrange(0, 40)
        dark.append((begin * MS, (begin + rng.randrange(1, 25)) * MS))
    link = Link(
        name="link",
        rate_bps=8e3,
        up_rate_bps=8e3,
        delay_t_ns=(0,),
        delay_ns=(rng.choice([4, 10]) * MS,),
        queue_bytes=10**6,
        up_queue_bytes=10**6,
        loss=loss,
        up_loss=Loss(),
        outages_ns=tuple(dark),
    )
    if kind != "a node":
        return link
    half = (link.delay_ns[0] // 2,)
    behind = replace(link, rate_bps=4e3, delay_ns=half, loss=Loss(), outages_ns=())
    return replace(link, first_t_ns=(0,), first_delay_ns=half, onward=(Hop(1, Node("relay", 1), behind),))


def _random_objects(
    rng: random.Random, links: tuple[Link, ...], seed: int, of_bytes: tuple[int, ...]
) -> tuple[EngineConfig, np.ndarray]:
    chunk: list[int] = []
    layer: list[int] = []
    payload: list[int] = []
    release: list[int] = []
    deadline: list[int] = []
    left, born, due = 7, 0, 0
    for k in range(rng.randrange(1, 4)):
        sizes = [rng.choice(of_bytes) for _ in range(rng.randrange(1, 4))]
        packets = sum(-(-size // MSS) for size in sizes)
        if packets > left:
            break
        left -= packets
        born += rng.randrange(0, 16)
        due = max(due, min(born + 10 + rng.randrange(4, 45), END))
        for m, size in enumerate(sizes):
            for of, value in zip(
                (chunk, layer, payload, release, deadline), (k, m, size, born * MS, due * MS), strict=True
            ):
                of.append(value)
    if not chunk:
        chunk, layer, payload, release, deadline = [0], [0], [9], [0], [40 * MS]
    objects = Objects(*(np.array(of, dtype=np.int64) for of in (chunk, layer, payload, release, deadline)))
    layers = objects.layers
    weights = 100.0 * (layers - objects.layer)
    config = EngineConfig(
        seed=seed,
        links=links,
        transport=Transport(congestion="open-loop", scheduler="minrtt", mss_bytes=MSS, header_bytes=HEADER),
        objects=objects,
        slot_ns=100 * MS,
    )
    return config, weights


# --------------------------------------------------------------------------------------------------- how data is cut


def of_layers(objects: Objects) -> list[Packet]:
    """Packets with bytes of one layer each."""
    return [
        packet
        for o, chunk in enumerate(objects.chunk.tolist())
        for packet in _cut(chunk, [(o, int(objects.payload_bytes[o]))])
    ]


def filled(objects: Objects, most_layers: int) -> list[Packet]:
    """Packets that the first layers of each chunk fill together."""
    packets: list[Packet] = []
    for chunk, members in groupby(range(len(objects.chunk)), key=lambda o: int(objects.chunk[o])):
        kept = [(o, int(objects.payload_bytes[o])) for o in members if objects.layer[o] < most_layers]
        packets += _cut(chunk, kept)
    return packets


def _cut(chunk: int, parts: list[tuple[int, int]]) -> Iterator[Packet]:
    owners = [o for o, size in parts for _ in range(size)]
    for at in range(0, len(owners), MSS):
        piece = owners[at : at + MSS]
        yield Packet(chunk, len(piece) + HEADER, frozenset(piece))


# ------------------------------------------------------------------------------------------------------- brute force


def best_weight(case: Case, packets: list[Packet]) -> float:
    """The most weight that any schedule of these packets delivers in time."""
    reached = {0}
    for index in range(len(case.config.links)):
        one = _maximal(_deliveries(case, index, packets))
        reached = _maximal({mask | more for mask in reached for more in one})
    return max(_weight(case, packets, mask) for mask in reached)


def _weight(case: Case, packets: list[Packet], mask: int) -> float:
    missing = {o for p, packet in enumerate(packets) if not mask >> p & 1 for o in packet.layers}
    sent = {o for packet in packets for o in packet.layers}
    objects, total = case.config.objects, 0.0
    for _, members in groupby(range(len(objects.chunk)), key=lambda o: int(objects.chunk[o])):
        for o in members:
            if o in missing or o not in sent:
                break
            total += float(case.weights[o])
    return total


def _maximal(masks: Iterable[int]) -> set[int]:
    kept: list[int] = []
    for mask in sorted(masks, key=int.bit_count, reverse=True):
        if not any(mask | other == other for other in kept):
            kept.append(mask)
    return set(kept)


def _deliveries(case: Case, index: int, packets: list[Packet]) -> set[int]:
    """The sets of packets that one link can deliver in time, as bits.

    States of a time are how many packets began in its slot so far, and until when the line behind the node is busy; of
    each state a number's bit m says that the set m can be there by then.
    """
    link, objects = case.config.links[index], case.config.objects
    first = {int(chunk): o for o, chunk in reversed(list(enumerate(objects.chunk.tolist())))}
    release = [int(objects.release_ns[first[p.chunk]]) // MS for p in packets]
    deadline = [int(objects.deadline_ns[first[p.chunk]]) // MS for p in packets]
    delay = link.delay_ns[0] // MS
    sizes = {p.wire for p in packets} | {HEADER}
    lost = {
        size: slot_draws(link, case.config.seed, index, FULL, size, SLOTS + 1, DRAWS + 1) for size in sizes
    }
    dark = [(a // MS, b // MS) for a, b in link.outages_ns]
    everything = (1 << (1 << len(packets))) - 1
    without = [sum(1 << m for m in range(1 << len(packets)) if not m >> p & 1) for p in range(len(packets))]
    states: list[dict[tuple[int, int], int]] = [{} for _ in range(END + FULL + 2)]
    states[0][0, 0] = 1

    def put(at: int, begun: int, busy: int, slot: int, sets: int) -> None:
        state = (begun if at // FULL == slot else 0, busy if busy > at else 0)
        states[at][state] = states[at].get(state, 0) | sets

    for at in range(END):
        slot = at // FULL
        for (begun, busy), sets in states[at].items():
            put(at + 1, begun, busy, slot, sets)
            if begun >= DRAWS:
                continue
            if lost[HEADER][slot][begun]:
                put(at + HEADER, begun + 1, busy, slot, sets)
            for p, packet in enumerate(packets):
                left = at + packet.wire
                if at < release[p] or lost[packet.wire][slot][0 if packet.wire == FULL else begun]:
                    continue
                if any(at < b and left > a for a, b in dark):
                    continue
                leaves, free = left, busy
                for hop in link.onward:
                    free = max(busy, left + delay // 2) + round(packet.wire * 8e3 / hop.line.rate_bps)
                    leaves = free - delay // 2
                if leaves + delay <= deadline[p] and (new := (sets & without[p]) << (1 << p) & everything):
                    put(left, begun + 1, free, slot, new)
    reached = 0
    for by_state in states:
        for sets in by_state.values():
            reached |= sets
    return {m for m in range(1 << len(packets)) if reached >> m & 1}


def best_of(case: Case) -> tuple[float, float]:
    """Of packets of layers, and of packets cut in any of the ways here."""
    objects = case.config.objects
    of_each = best_weight(case, of_layers(objects))
    together = (best_weight(case, filled(objects, n)) for n in range(1, int(objects.layer.max()) + 2))
    return of_each, max(of_each, *together)


def without_losses(case: Case) -> Case:
    """The same case on links that lose nothing."""
    links = tuple(replace(link, loss=Loss()) for link in case.config.links)
    return replace(case, config=replace(case.config, links=links))


def ratios_of(case: Case) -> dict[str, float]:
    """Bound / best by kind of packets, where anything could be delivered."""
    ratios = {}
    for name, best, any_packets in zip(("of layers", "any"), best_of(case), (False, True), strict=True):
        if best > 0:
            ratios[name] = clairvoyant_weight(case.config, case.weights, any_packets=any_packets) / best
    return ratios


def main() -> None:
    """Print by kind of case how often the bound is reached, bound / best, and its mean where nothing is lost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1000)
    cases = parser.parse_args().cases
    ratios: dict[tuple[str, str], list[float]] = {}
    lossless: dict[tuple[str, str], list[float]] = {}
    for seed in range(cases):
        case = random_case(seed)
        for found, of in ((ratios, case), (lossless, without_losses(case))):
            for name, ratio in ratios_of(of).items():
                for kind in ("all", case.kind):
                    found.setdefault((kind, name), []).append(ratio)
    print("| links | packets | cases | reached | mean | without losses | 95 % | most |")
    print("|---|---|---|---|---|---|---|---|")
    for (kind, name), values in sorted(ratios.items()):
        reached = float(np.mean(np.array(values) < 1 + 1e-9))
        print(
            f"| {kind} | {name} | {len(values)} | {reached:.0%} | {np.mean(values):.3f} | "
            f"{np.mean(lossless[kind, name]):.3f} | {np.quantile(values, 0.95):.2f} | {max(values):.2f} |"
        )


if __name__ == "__main__":
    main()
