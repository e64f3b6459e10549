"""The cost of a congestion control or a scheduler in Python, against CUBIC and minrtt in C++."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

from dstcc.engine import EngineConfig, simulate
from dstcc.extensions import Extension, load

from .figure import Measured, core_s, interleaved, median_ratio
from .nets import Bulk

EXAMPLES = Path(__file__).parent.parent / "examples" / "extend"
REPEATS = 5
LOAD = Bulk(bdp_packets=1_000, packets=300_000)


def per_ack() -> Measured:
    """The example's AIMD class, called at every acknowledgement: the cost that one call adds to the engine's work."""
    counted, extension = _counted(f"{EXAMPLES / 'aimd.py'}:Aimd", "congestion", "on_ack")
    config = LOAD.config()
    transport = replace(config.transport, congestion="Aimd", congestion_extension=extension)
    return _beside(config, replace(config, transport=transport), counted, "cubic in C++")


def per_pick() -> Measured:
    """The example's scheduler, called for every segment over two subflows."""
    counted, extension = _counted(f"{EXAMPLES / 'earliest.py'}:Earliest", "scheduler", "pick")
    config = LOAD.config()
    transport = replace(config.transport, scheduler="Earliest", scheduler_extension=extension)
    return _beside(config, replace(config, transport=transport), counted, "minrtt in C++")


def _beside(config: EngineConfig, extended: EngineConfig, counted: list[int], against: str) -> Measured:
    """Microseconds of CPU per call, and the ratio of the whole transfers' cost per packet."""

    def ns_per_packet(chosen: EngineConfig) -> float:
        packets: list[float] = []
        spent_s = core_s(lambda: packets.append(simulate(chosen).totals.data_packets))
        return spent_s / packets[0] * 1e9

    built_in, python = interleaved(REPEATS, lambda: ns_per_packet(config), lambda: ns_per_packet(extended))
    counted[0] = 0
    packets = simulate(extended).totals.data_packets
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
    """The extension with a counter of its calls (whose cost is included)."""
    extension, counted = load(name, kind), [0]
    plain = getattr(extension.cls, method)

    def counting(*arguments: object) -> object:
        counted[0] += 1
        return plain(*arguments)

    assert isinstance(extension.cls, type)
    return counted, replace(extension, cls=type(extension.name, (extension.cls,), {method: counting}))
