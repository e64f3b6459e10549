"""The simulator against Linux, from stored runs of the kernel: ratio, 95 % interval and z of every case.

``data/linux-grid.csv``: plain TCP, 10 Mbit/s, RTT 1 s, MSS 1448 in Ethernet frames of 1514 bytes, a queue of one BDP
behind one BDP in flight, independent loss on the data direction, 100 s from the SYN; means and deviations of runs.
``data/kernel-grid.csv``: the runs of ``make fidelity`` (its cells: ``experiments.fidelity.cells``); transfers and
missions over MPTCP.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dstcc.engine import CONGESTION_NAMES, EngineConfig, Loss, TcpConstants, Transport, simulate
from experiments.fidelity.__main__ import compare
from experiments.fidelity.compare import CellRow, Pair, Sample, differs, misses, sample
from experiments.fidelity.kept import read_runs

from .figure import Measured
from .nets import S, bulk, link, ns

TABLE = Path(__file__).parent / "data/linux-grid.csv"
KEPT_RUNS = Path(__file__).parent / "data/kernel-grid.csv"
RATE_BPS = 10e6
MSS, HEADER = 1448, 66  # TCP timestamps in the header: 14 + 20 + 32 bytes
SEEDS = range(1, 101)
"""The time of the first loss, which ends slow start, decides much of a run: single runs differ by a factor of ten."""
SLOT_S = 0.25
CONSTANTS = TcpConstants(jiffy_s=0.01, receiver="linux-6.1")
"""User-mode Linux, on which the table was measured, has HZ = 100."""


@dataclass(frozen=True)
class Case:
    """One row of Linux's table; goodputs in Mbit/s."""

    congestion: str
    rtt_s: float
    loss: float
    duration_s: float
    runs: int
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
            int(row["runs"]),
            (float(row["goodput_mbps"]), float(row["goodput_sd"])),
            (float(row["steady_mbps"]), float(row["steady_sd"])),
        )
        for row in rows
    ]


def linux_grid() -> Measured:
    """Median of |ratio - 1| over the whole-run and steady goodputs of plain TCP and over the kernel's stored runs."""
    plain = dict(_plain())
    rows = compare(read_runs(KEPT_RUNS))
    pairs = [pair for both in plain.values() for pair in both] + [row.deciding for row in rows]
    ratios = [pair.ratio for pair in pairs]
    apart = sum(map(differs, pairs))
    return Measured(
        statistics.median(abs(ratio - 1) for ratio in ratios),
        "|ratio - 1|",
        f"Linux 6.12 and 6.1, the median case; {apart} of {len(pairs)} apart by more than 3 standard errors",
        statistics.median(ratios),
        details={name: [_document(pair) for pair in both] for name, both in plain.items()}
        | {row.cell.name: [_document(row.deciding)] for row in rows},
        notes=(
            "plain TCP: goodput and its last three quarters, Mbit/s; mean ± standard deviation",
            *(f"{name:<18} {'; '.join(map(_words, both))}" for name, both in plain.items()),
            "kept runs: Mbit/s, of missions weighted_layers",
            *(f"{row.cell.name:<90} {_words(row.deciding, _unit(row))}" for row in rows),
            *(f"beyond its goal: {line}" for line in misses(rows)),
        ),
    )


def _plain() -> Iterator[tuple[str, tuple[Pair, Pair]]]:
    for case in read_cases():
        if case.congestion not in CONGESTION_NAMES:
            continue
        whole, steady = zip(*(_goodputs_mbps(case, seed) for seed in SEEDS), strict=True)
        yield (
            f"{case.congestion} p={case.loss:g}",
            (
                Pair(sample(whole), Sample(*case.goodput, case.runs)),
                Pair(sample(steady), Sample(*case.steady, case.runs)),
            ),
        )


def _unit(row: CellRow) -> float:
    return 1.0 if row.cell.judged else 1e-6


def _words(pair: Pair, unit: float = 1.0) -> str:
    ours, linux = (f"{side.mean * unit:6.3f} ± {side.sd * unit:5.3f}" for side in pair)
    low, high = pair.interval
    return f"{ours}, Linux {linux}, ratio {pair.ratio:4.2f} ({low:4.2f} to {high:4.2f}), z {pair.z:+.1f}"


def _document(pair: Pair) -> dict[str, object]:
    return {
        "simulated": pair.simulated,
        "linux": pair.real,
        "ratio": pair.ratio,
        "interval": pair.interval,
        "z": pair.z,
    }


def _goodputs_mbps(case: Case, seed: int) -> tuple[float, float]:
    """Goodput of the whole run (bytes that arrived in order) and of its last three quarters (bytes acknowledged)."""
    result = simulate(_config(case, seed))
    whole = result.totals.delivered_payload_bytes * 8 / case.duration_s
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
