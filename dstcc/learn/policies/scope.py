"""What missions a policy was trained on, in ranges, and how far outside them another mission lies.

Scenarios are compared by what their links draw: round trips, losses, bandwidth-delay products and queues, and by how
many links and layers there are. Ranges stand in a policy's file. A policy is not lost at once where they end, least of
all one whose observation is in units of its own; so numbers count as far outside beyond twice an end, bandwidth-delay
products and queues beyond four times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dstcc.engine import Link
from dstcc.engine.config import Loss
from dstcc.frozen import dataclass
from dstcc.scenario import Scenario, Source, draw_links
from dstcc.scenario.draws import rtt_s
from dstcc.scenario.losses import packets_of

FULL_PACKET = 1500
"""Bytes that packets and losses are counted in."""
DRAWN = 64
"""Seeds that a training scenario's ranges are taken over."""
JUDGED = 16
"""Seeds of a run that are looked at."""


@dataclass(frozen=True)
class Quantity:
    """One thing that is compared."""

    words: str
    slack: float
    """By how many times an end of the range may be passed."""
    below: bool = True
    """Whether there is a least."""


QUANTITIES = {
    "links": Quantity("links", 1.0),
    "layers": Quantity("layers", 1.0),
    "rtt_s": Quantity("a round trip of {} s", 2.0),
    "loss": Quantity("a loss of {} of the packets", 2.0, below=False),
    "bdp_packets": Quantity("a bandwidth-delay product of {} packets", 4.0),
    "queue_bdps": Quantity("a queue of {} bandwidth-delay products", 4.0),
}
Scope = Mapping[str, tuple[float, float]]
"""For each of :data:`QUANTITIES` the least and the most."""


def scope_of(scenarios: Sequence[Scenario], sources: Sequence[Source], *, seeds: int = DRAWN) -> Scope:
    """The ranges of several scenarios, over their first seeds."""
    ranges: dict[str, list[float]] = {name: [] for name in QUANTITIES}
    for scenario, source in zip(scenarios, sources, strict=True):
        ranges["links"].append(float(len(scenario.ways)))
        ranges["layers"].append(float(source.layers))
        first = scenario.run.seed
        for seed in range(first, first + seeds):
            _note(ranges, draw_links(scenario, seed))
    return {name: (min(values), max(values)) for name, values in ranges.items() if values}


def outside(scope: Scope, scenario: Scenario, source: Source) -> tuple[str, ...]:
    """In words, where a scenario lies far outside; empty where it does not or nothing is known."""
    if not scope:
        return ()
    scope_now = scope_of([scenario], [source], seeds=min(scenario.run.seeds, JUDGED))
    warnings = []
    for name, (least, most) in scope_now.items():
        if name not in scope:
            continue
        low, high = scope[name]
        quantity = QUANTITIES[name]
        if most > high * quantity.slack:
            wrong = most
        elif quantity.below and least * quantity.slack < low:
            wrong = least
        else:
            continue
        words = quantity.words if "{}" in quantity.words else f"{{}} {quantity.words}"
        ends = " to ".join(dict.fromkeys((_short(low), _short(high))))
        warnings.append(f"{words.format(_short(wrong))}, trained on {ends}")
    return tuple(warnings)


def document(scope: Scope) -> dict[str, list[float]]:
    """As it stands in a policy's file."""
    return {name: list(ends) for name, ends in scope.items()}


def parse(entries: Any) -> Scope:
    """Back from :func:`document`; raises ValueError for what is none."""
    if not isinstance(entries, dict):
        raise ValueError(f"trained_within: ranges by name, not {entries!r}")
    for name, ends in entries.items():
        numbers = isinstance(ends, list) and len(ends) == 2 and all(isinstance(n, (int, float)) for n in ends)
        if not numbers or not ends[0] <= ends[1]:
            raise ValueError(f"trained_within.{name}: the least and the most, not {ends!r}")
    return {name: (float(ends[0]), float(ends[1])) for name, ends in entries.items()}


def _note(ranges: dict[str, list[float]], links: Iterable[Link]) -> None:
    for link in links:
        trip_s = rtt_s(link)
        bdp = link.rate_bps * trip_s / 8
        ranges["rtt_s"].append(trip_s)
        ranges["bdp_packets"].append(bdp / FULL_PACKET)
        ranges["queue_bdps"].append(link.queue_bytes / bdp)
        lost = _share(link.loss)
        if lost is not None:
            ranges["loss"].append(lost)


def _share(loss: Loss) -> float | None:
    """Of full packets, in the long run; None where a code's frames decide."""
    lost = packets_of(loss, FULL_PACKET)
    if not isinstance(lost, tuple):
        return lost
    p, r, good, bad = lost
    return (p * bad + r * good) / (p + r)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
