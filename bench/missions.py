"""Whole missions: the engine alone for a day, and the demo through the command line."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dstcc.engine import EngineConfig, Link, Loss, Objects, Transport, simulate

from .figure import Measured, child_cpu_s, core_s, interleaved
from .nets import MSS, WIRE, ns

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "examples/demo/mars-two-links.toml"
SMALL = ROOT / "examples/outages/relay-pass.toml"
MINUTE = """
[scenario]
name = "a minute"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [60_000, 60_000]}
loop_to_s = 60
[[link]]
name = "mars"
rate_bps = 200_000
delay_s = 600
loss = {packet = 0.01}
[transport]
controller = "dstcc"
[playout]
delay_s = 1500
"""
CONTROLS = ("cubic", "westwood", "bbr-scaled", "open-loop")
DAY_S = 86_400
REPEATS = 3


def day() -> Measured:
    """24 hours over two links of table 1 of Ha et al., 2023; the value is that of the slowest of four controls."""
    configs = {name: day_config(name) for name in CONTROLS}
    packets: dict[str, float] = {}

    def mission(name: str) -> float:
        def work() -> None:
            packets[name] = simulate(configs[name]).totals.data_packets

        return core_s(work)

    taken = dict(zip(configs, interleaved(REPEATS, *[lambda n=n: mission(n) for n in configs]), strict=True))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    slowest = max(medians, key=lambda name: medians[name])
    each = ", ".join(
        f"{name} {medians[name]:.3f} s ({packets[name]:,.0f} packets,"
        f" {medians[name] / packets[name] * 1e9:.0f} ns)"
        for name in configs
    )
    return Measured(
        medians[slowest],
        "s CPU",
        f"the day itself ({slowest})",
        medians[slowest] / DAY_S,
        repeats=taken[slowest],
        details={name: {"s": medians[name], "data_packets": packets[name]} for name in configs},
        notes=(each,),
    )


def day_config(congestion: str, seconds: int = DAY_S) -> EngineConfig:
    """The day, or its first ``seconds``."""
    links = (_link("relay", 115_200, 17 * 60, 1e-3), _link("direct", 240_000, 25 * 60, 1e-4))
    live_bps = 0.9 * sum(link.rate_bps for link in links) * MSS / WIRE
    per_layer = np.array([0.4, 0.35, 0.25]) * live_bps / 8  # bytes of a one-second chunk
    chunk = np.repeat(np.arange(seconds, dtype=np.int64), 3)
    release = (chunk + 1) * ns(1)
    return EngineConfig(
        seed=1,
        links=links,
        transport=Transport(congestion, "minrtt", mode="lanes", lanes_per_link=16, scale=38.0),
        objects=Objects(
            chunk,
            np.tile(np.arange(3, dtype=np.int64), seconds),
            np.tile(per_layer.astype(np.int64), seconds),
            release,
            release + ns(2.5 * 25 * 60),
        ),
        slot_ns=ns(17 * 60 / 4),
    )


def _link(name: str, rate_bps: float, rtt_s: float, loss: float) -> Link:
    return Link(
        name=name,
        rate_bps=rate_bps,
        up_rate_bps=rate_bps,
        delay_t_ns=(0,),
        delay_ns=(ns(rtt_s / 2),),
        queue_bytes=round(rate_bps * rtt_s / 8),
        up_queue_bytes=round(rate_bps * rtt_s / 8),
        loss=Loss("packet", loss),
        up_loss=Loss("packet", loss),
    )


def demo() -> Measured:
    """``dstcc emulate`` on the demo's scenario, the clip's encoding and its quality scores cached."""
    with tempfile.TemporaryDirectory() as folder:
        run = ["emulate", str(DEMO), "--output", f"{folder}/run", "--force"]
        return _command(run, f"python -c pass, beside it; {len(CONTROLS)} trials, all cores")


def cli_help() -> Measured:
    """``dstcc --help``."""
    return _command(["--help"], "python -c pass, beside it")


def cli_algorithms() -> Measured:
    """``dstcc algorithms``: the table of a shell's first minutes."""
    return _command(["algorithms"], "python -c pass, beside it")


def cli_dry_run() -> Measured:
    """A dry run of a scenario whose bound takes no time: what is imported, read and printed."""
    return _command(["emulate", str(SMALL), "--dry-run"], "python -c pass, beside it")


def cli_dry_run_demo() -> Measured:
    """A dry run of the demo: its clip's stream, cached, is read, and the bound of its twelve hours worked out."""
    return _command(["emulate", str(DEMO), "--dry-run"], "python -c pass, beside it")


def cli_explain() -> Measured:
    """``dstcc explain`` of a minute's run: its tables read, the trial repeated, what was decided printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "minute.toml")
        path.write_text(MINUTE)
        _run([sys.executable, "-m", "dstcc_cli", "emulate", str(path), "--output", f"{folder}/run"])
        return _command(["explain", f"{folder}/run", "--trial", "dstcc/s1"], "python -c pass, beside it")


def _command(arguments: list[str], against: str) -> Measured:
    walls: list[float] = []

    def dstcc() -> None:
        begin = time.perf_counter()
        _run([sys.executable, "-m", "dstcc_cli", *arguments])
        walls.append(time.perf_counter() - begin)

    def bare() -> None:
        _run([sys.executable, "-c", "pass"])

    dstcc()  # fills the caches
    walls.clear()
    ours, python = interleaved(REPEATS, lambda: child_cpu_s(dstcc), lambda: child_cpu_s(bare))
    return Measured(
        statistics.median(ours),
        "s CPU",
        against,
        statistics.median(ours) / statistics.median(python),
        repeats=ours,
        details={"wall_s": statistics.median(walls), "wall_repeats_s": walls},
        notes=(f"{statistics.median(walls):.2f} s of wall clock",),
    )


def _run(command: list[str]) -> None:
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
