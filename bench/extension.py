"""What a congestion control or a scheduler in Python costs, beside CUBIC and minrtt in C++."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

from dstcc.engine import EngineConfig, simulate
from dstcc.extensions import Extension, load

from .figure import Measured, by_turns, core_s, median_ratio
from .nets import Bulk

EXAMPLES = Path(__file__).parent.parent / "examples" / "extend"
REPEATS = 5
LOAD = Bulk(bdp_packets=1_000, packets=300_000)


def per_ack() -> Measured:
    """The example's AIMD class, asked at every acknowledgement: what one call adds to the engine's work."""
    counted, extension = _counted(f"{EXAMPLES / 'aimd.py'}:Aimd", "congestion", "on_ack")
    config = LOAD.config()
    own = replace(config.transport, congestion="Aimd", congestion_extension=extension)
    return _beside(config, replace(config, transport=own), counted, "cubic in C++")


def per_pick() -> Measured:
    """The example's scheduler, asked for every segment over two subflows."""
    counted, extension = _counted(f"{EXAMPLES / 'earliest.py'}:Earliest", "scheduler", "pick")
    config = LOAD.config()
    own = replace(config.transport, scheduler="Earliest", scheduler_extension=extension)
    return _beside(config, replace(config, transport=own), counted, "minrtt in C++")


def _beside(config: EngineConfig, own: EngineConfig, counted: list[int], against: str) -> Measured:
    """Microseconds of CPU a call, and the ratio of the whole transfers' cost per packet."""

    def ns_per_packet(chosen: EngineConfig) -> float:
        packets: list[float] = []
        spent_s = core_s(lambda: packets.append(simulate(chosen).totals["data_packets"]))
        return spent_s / packets[0] * 1e9

    built_in, python = by_turns(REPEATS, lambda: ns_per_packet(config), lambda: ns_per_packet(own))
    counted[0] = 0
    packets = simulate(own).totals["data_packets"]
    added = tuple((p - b) * packets / counted[0] / 1e3 for p, b in zip(python, built_in, strict=True))
    return Measured(
        statistics.median(added),
        "us CPU",
        f"ns a packet / {against}",
        median_ratio(python, built_in),
        repeats=added,
        details={"calls": counted[0], "data_packets": packets, "ns_per_packet": python, "built_in": built_in},
    )


def _counted(name: str, kind: str, method: str) -> tuple[list[int], Extension]:
    """The extension, and a count of its calls (which is in its cost)."""
    found, counted = load(name, kind), [0]
    plain = getattr(found.cls, method)

    def counting(*arguments: object) -> object:
        counted[0] += 1
        return plain(*arguments)

    assert isinstance(found.cls, type)
    return counted, replace(found, cls=type(found.name, (found.cls,), {method: counting}))
