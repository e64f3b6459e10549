"""The simulator beside Linux: the cases of ``data/linux-grid.csv`` simulated, goodput against goodput.

The table's flow: plain TCP, 10 Mbit/s, RTT 1 s, MSS 1448 in Ethernet frames of 1514 bytes, a queue of one BDP
behind one BDP in flight, independent loss on the data direction, 100 s from the SYN.
"""

from __future__ import annotations

import csv
import statistics
from dataclasses import dataclass
from pathlib import Path

from dstcc.engine import CONGESTION_NAMES, EngineConfig, Loss, TcpConstants, Transport, simulate

from .figure import Measured
from .nets import S, bulk, link, ns

TABLE = Path(__file__).parent / "data/linux-grid.csv"
RATE_BPS = 10e6
MSS, HEADER = 1448, 66  # TCP timestamps in the header: 14 + 20 + 32 bytes
SEEDS = range(1, 101)
"""When the first loss ends slow start decides much of a run: single ones differ by a factor of ten."""
SLOT_S = 0.25
CONSTANTS = TcpConstants(jiffy_s=0.01)
"""User-mode Linux, where the table comes from, has HZ = 100."""


@dataclass(frozen=True)
class Case:
    """One row of Linux's table; goodputs in Mbit/s."""

    congestion: str
    rtt_s: float
    loss: float
    duration_s: float
    goodput: tuple[float, float]
    """Mean and standard deviation over the runs."""
    steady: tuple[float, float]
    """The same over the last three quarters of each run."""


def read_cases(path: Path = TABLE) -> list[Case]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [
        Case(
            row["congestion"],
            float(row["rtt_s"]),
            float(row["loss"]),
            float(row["duration_s"]),
            (float(row["goodput_mbps"]), float(row["goodput_sd"])),
            (float(row["steady_mbps"]), float(row["steady_sd"])),
        )
        for row in rows
    ]


def linux_grid() -> Measured:
    """Median of |ratio - 1| over the whole-run and steady goodputs of every case."""
    notes, details, all_ratios = [], {}, []
    for case in read_cases():
        name = f"{case.congestion} p={case.loss:g}"
        if case.congestion not in CONGESTION_NAMES:
            notes.append(f"{name:<18} the simulator has no {case.congestion}")
            continue
        runs = [_goodputs_mbps(case, seed) for seed in SEEDS]
        ours = [(statistics.fmean(column), statistics.stdev(column)) for column in zip(*runs, strict=True)]
        linux = (case.goodput, case.steady)
        ratios = [found[0] / theirs[0] for found, theirs in zip(ours, linux, strict=True)]
        all_ratios += ratios
        cells = [
            f"{label} {found[0]:6.3f} ± {found[1]:5.3f}, Linux {theirs[0]:6.3f} ± {theirs[1]:5.3f},"
            f" ratio {ratio:4.2f}"
            for label, found, theirs, ratio in zip(("goodput", "steady"), ours, linux, ratios, strict=True)
        ]
        notes.append(f"{name:<18} {'; '.join(cells)}")
        details[name] = {"goodput": ours[0], "steady": ours[1], "ratios": ratios}
    return Measured(
        statistics.median(abs(ratio - 1) for ratio in all_ratios),
        "|ratio - 1|",
        "Linux 6.1, the median case",
        statistics.median(all_ratios),
        details=details,
        notes=("Mbit/s, mean ± standard deviation", *notes),
    )


def _goodputs_mbps(case: Case, seed: int) -> tuple[float, float]:
    """Over the whole run by what arrived in order, over its last three quarters by what was acknowledged."""
    result = simulate(_config(case, seed))
    whole = result.totals["delivered_payload_bytes"] * 8 / case.duration_s
    late = result.samples.t_ns > case.duration_s / 4 * S
    steady = float(result.samples.delivered_bytes[late].sum()) * 8 / (case.duration_s * 3 / 4)
    return whole / 1e6, steady / 1e6


def _config(case: Case, seed: int) -> EngineConfig:
    return EngineConfig(
        seed=seed,
        links=(link(RATE_BPS, case.rtt_s, loss=Loss("packet", case.loss)),),
        transport=Transport(
            case.congestion, "minrtt", mss_bytes=MSS, header_bytes=HEADER, option_bytes=0, constants=CONSTANTS
        ),
        objects=bulk(),
        slot_ns=ns(SLOT_S),
        duration_ns=ns(case.duration_s),
    )
