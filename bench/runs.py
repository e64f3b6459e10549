"""What a packet costs that goes in a run, beside the engine that takes each by itself (``DSTCC_ENGINE=packets``)."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from dstcc.engine import EngineConfig, FrameSchedule, Loss, TransportStats, simulate

from .coded import coded_config
from .figure import Measured, core_s, interleaved, median_ratio
from .missions import day_config
from .nets import Bulk

REPEATS = 5
SECONDS = 1440
FASTER = 100
"""Than the day's links: 35.5 Mbit/s, layers of a thousand packets a second."""
WEEK = """
[scenario]
name = "week"
duration_s = 604800.0
[video.synthetic]
chunk_s = 1.0
layer_bps = [1.0e8, 9.0e7, 5.0e7]
[run]
slot_s = 600.0
[transport]
congestion = ["ltp"]
[[link]]
name = "laser"
rate_bps = 267e6
up_rate_bps = 267e6
delay_s = 780.0
loss = {packet = 1e-3}
"""


def _measured(configs: dict[str, EngineConfig], digits: int) -> Measured:
    """Each in runs and packet by packet; the first is the row's, the others stand in its notes."""
    taken = {name: _both(config) for name, config in configs.items()}
    runs, packets, totals = next(iter(taken.values()))
    each = ", ".join(
        f"{name} {statistics.median(ns):.1f} ns ({median_ratio(other, ns):.{digits}f} times less)"
        for name, (ns, other, _) in taken.items()
    )
    return Measured(
        statistics.median(runs),
        "ns CPU",
        "packets / runs",
        median_ratio(packets, runs),
        repeats=runs,
        details={
            name: {"runs_ns": ns, "packets_ns": other, "share": of.run_packets / of.data_packets}
            for name, (ns, other, of) in taken.items()
        },
        notes=(f"{each}; {totals.run_packets / totals.data_packets:.2%} of the packets in runs",),
    )


def run_cost() -> Measured:
    """``ltp`` over two Mars links a hundred times as fast; in the notes other losses, and the day itself."""
    fast = mission(FASTER, SECONDS)
    bursts = Loss("gilbert-elliott", p=0.001, r=0.05, good=0.0, bad=0.3)
    frames = Loss(
        "frames",
        frames=FrameSchedule(
            frame_bits=8920,
            t_ns=np.zeros(1, dtype=np.int64),
            ebn0_db=np.zeros(1),
            scintillation_index=np.zeros(1),
            coherence_ns=10**9,
            curve_from_db=0.0,
            curve_step_db=1.0,
            log10_fer=np.full(2, -4.0),
        ),
    )
    curved = replace(
        fast,
        links=tuple(
            replace(
                link,
                delay_t_ns=(0, 10**12),
                delay_ns=(link.delay_ns[0], link.delay_ns[0] + 2 * 10**7),
                delay_slope=(2e-5, 2e-5),
            )
            for link in fast.links
        ),
    )
    configs = {
        "packet loss": fast,
        "bursts": replace(fast, links=tuple(replace(link, loss=bursts) for link in fast.links)),
        "frames": replace(fast, links=tuple(replace(link, loss=frames) for link in fast.links)),
        "a delay that grows": curved,
        "the day's rates": mission(1, 10 * SECONDS),
    }
    return _measured(configs, 1)


def coded_run_cost() -> Measured:
    """Layers coded over open-loop, at the rates of the day and ten times those; in the notes over ``paced``, too."""
    configs = {
        f"{law}, {faster} times the day's rates": _coded(law, faster)
        for law in ("open-loop", "paced")
        for faster in (10, 1)
    }
    return _measured(configs, 2)


def segment_run_cost() -> Measured:
    """Layers on lanes under open-loop, at ten times the rates of the day; in the notes those of the day, too."""
    configs = {
        f"{faster} times the day's rates": _faster(day_config("open-loop", 4 * 3600), faster)
        for faster in (10, 1)
    }
    return _measured(configs, 2)


def ack_run_cost() -> Measured:
    """A file under CUBIC over one link; in the notes other laws, of which Vegas never fills the queue, and losses."""
    configs = {
        "cubic": Bulk(subflows=1, packets=2_000_000),
        "newreno": Bulk(subflows=1, packets=2_000_000, congestion="newreno"),
        "losses": Bulk(subflows=1, packets=500_000, loss=Loss("packet", 1e-5)),
        "vegas": Bulk(subflows=1, packets=2_000_000, congestion="vegas"),
    }
    return _measured({name: bulk.config() for name, bulk in configs.items()}, 2)


def week_s() -> Measured:
    """``dstcc emulate``: a week of a laser at 267 Mbit/s under ``ltp``, a billion packets every thirteen hours."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "week.toml"
        path.write_text(WEEK)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "dstcc_cli", "emulate", str(path), "--output", f"{folder}/run"]
        subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(
        spent_s,
        "s CPU",
        "the week itself",
        spent_s / 604_800,
        repeats=(spent_s,),
        details={"peak_bytes": after.ru_maxrss * 1024},
        notes=(f"{after.ru_maxrss / 1e6:.2f} GB at most, of this process's children",),
    )


def mission(faster: int, seconds: int) -> EngineConfig:
    """The day's links and layers, so many times as fast, under ``ltp``."""
    config = _faster(day_config("open-loop", seconds), faster)
    ltp = replace(config.transport, congestion="ltp", scheduler="none", mode="stream", lanes_per_link=1)
    return replace(config, transport=ltp)


def _coded(law: str, faster: int) -> EngineConfig:
    config = coded_config(law, 4 * 3600)
    return replace(_faster(config, faster), transport=replace(config.transport, handshake=False))


def _faster(config: EngineConfig, faster: int) -> EngineConfig:
    links = (
        replace(
            link,
            rate_bps=link.rate_bps * faster,
            up_rate_bps=link.up_rate_bps * faster,
            queue_bytes=link.queue_bytes * faster,
            up_queue_bytes=link.up_queue_bytes * faster,
        )
        for link in config.links
    )
    return replace(
        config,
        links=tuple(links),
        objects=replace(config.objects, payload_bytes=config.objects.payload_bytes * faster),
    )


def _both(config: EngineConfig) -> tuple[tuple[float, ...], tuple[float, ...], TransportStats]:
    """Nanoseconds a packet in runs and by packet, in turns."""
    totals = TransportStats()

    def timed(engine: str) -> float:
        def work() -> None:
            nonlocal totals
            totals = simulate(config).totals

        with _engine(engine):
            spent_s = core_s(work)
        return spent_s / totals.data_packets * 1e9

    packets, runs = interleaved(REPEATS, lambda: timed("packets"), lambda: timed("runs"))
    return runs, packets, totals


@contextmanager
def _engine(name: str) -> Iterator[None]:
    before = os.environ.get("DSTCC_ENGINE")
    os.environ["DSTCC_ENGINE"] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ["DSTCC_ENGINE"]
        else:
            os.environ["DSTCC_ENGINE"] = before
