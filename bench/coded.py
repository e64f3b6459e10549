"""What `mode = "coded"` costs beside TCP on lanes, over the day's links (:func:`bench.missions.day_config`)."""

from __future__ import annotations

import statistics
from dataclasses import replace

from dstcc.engine import Coding, EngineConfig, simulate

from .figure import Measured, core_s, interleaved, median_ratio
from .missions import day_config
from .nets import ns

CONTROLS = ("open-loop", "bbr-scaled", "cubic")
SECONDS = 4 * 3600
BLOCK_S = 60
REPEATS = 5


def coded_config(congestion: str, seconds: int = SECONDS) -> EngineConfig:
    """The mission coded over packets: `repair = "auto"`, blocks of a minute, a handshake as on lanes."""
    lanes = day_config(congestion, seconds)
    objects = lanes.objects
    transport = replace(lanes.transport, mode="coded", lanes_per_link=1, layer_first=True)
    return replace(lanes, transport=transport, coding=Coding(objects.chunk // BLOCK_S, ns(BLOCK_S)))


def coded_cost() -> Measured:
    """Time a packet of both, taken in turns; the ratio is that of the control which pays the most."""
    ratios, per_packet, details = {}, {}, {}
    for control in CONTROLS:
        lanes, coded = (_Mission(config) for config in (day_config(control, SECONDS), coded_config(control)))
        taken = interleaved(REPEATS, lanes, coded)
        ratios[control], per_packet[control] = median_ratio(taken[1], taken[0]), taken[1]
        details[control] = {
            "lanes_ns": statistics.median(taken[0]),
            "coded_ns": statistics.median(taken[1]),
            "ratio": ratios[control],
        }
    most = max(ratios, key=lambda control: ratios[control])
    line = ", ".join(
        f"{name} {one['coded_ns']:.0f} : {one['lanes_ns']:.0f} ns" for name, one in details.items()
    )
    return Measured(
        statistics.median(per_packet[most]),
        "ns CPU",
        f"lanes ({most})",
        ratios[most],
        repeats=per_packet[most],
        details=details,
        notes=(f"coded : lanes a packet, {SECONDS // 3600} hours: {line}",),
    )


class _Mission:
    """A trial; calling it gives the nanoseconds that it takes a packet."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config

    def __call__(self) -> float:
        packets = 0.0

        def work() -> None:
            nonlocal packets
            packets = simulate(self.config).totals.data_packets

        return core_s(work) / packets * 1e9
