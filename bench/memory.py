"""The memory of a packet in flight, and whether it is released."""

from __future__ import annotations

import ctypes
import resource
import threading
from pathlib import Path

import numpy as np

from dstcc.engine import NEVER_NS, EngineConfig, Loss, Objects, Transport, simulate

from .engine import Transfer
from .figure import Measured
from .nets import MSS, WIRE, Bulk, link, ns

SAMPLE_S = 0.001


def bytes_per_packet() -> Measured:
    """The peak of the engine's records in bytes over the peak of the packets in flight."""
    peaks = {}
    for name, loss in (("lossless", Loss()), ("loss 1e-3", Loss("packet", 1e-3))):
        transfer = Transfer(Bulk(loss=loss))
        transfer()
        peak = int(transfer.in_flight().max())
        peaks[name] = {
            "bytes_per_packet": transfer.totals.engine_peak_bytes / peak,
            "peak_in_flight": peak,
            "engine_peak_bytes": transfer.totals.engine_peak_bytes,
            "reorder_peak_bytes": transfer.totals.reorder_peak_bytes,
        }
    resident = _resident()
    value = peaks["lossless"]["bytes_per_packet"]
    return Measured(
        value,
        "B",
        "loss 1e-3 / lossless",
        peaks["loss 1e-3"]["bytes_per_packet"] / value,
        details={**peaks, "resident": resident},
        notes=(
            f"resident memory: {resident['peak_bytes_per_packet']:.0f} B per packet at"
            f" {resident['peak_in_flight']:,.0f} in flight; {resident['kept_share']:.0%} of it held"
            f" while {resident['trickle_in_flight']:,.0f} are",
            f"lossless {peaks['lossless']['peak_in_flight']:,} in flight at the peak; loss 1e-3"
            f" {peaks['loss 1e-3']['bytes_per_packet']:.0f} B at {peaks['loss 1e-3']['peak_in_flight']:,}",
        ),
    )


def _resident() -> dict[str, float]:
    """Watch the process's resident memory while a window of a million packets fills, then empties."""
    config = _burst_then_trickle()
    seen: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(SAMPLE_S):
            seen.append(_resident_bytes())

    _hand_back()
    before = _resident_bytes()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        result = simulate(config)
    finally:
        done.set()
        watcher.join()
    held = np.array(seen, dtype=np.int64) - before
    trickle = held[-max(len(held) // 5, 1) :]
    in_flight = int(result.samples.inflight_segments.max())
    return {
        "peak_in_flight": in_flight,
        "peak_bytes": int(held.max()),
        "peak_bytes_per_packet": float(held.max() / in_flight),
        "trickle_in_flight": int(np.median(result.samples.inflight_segments[-20:])),
        "kept_bytes": int(np.median(trickle)),
        "kept_share": float(np.median(trickle) / held.max()),
    }


def _burst_then_trickle() -> EngineConfig:
    """10 million packets at once over a link of BDP one million; then 1 % of its rate for as long again."""
    burst, trickle, seconds = 10_000_000, 10_000, 400
    start = 60
    sizes = np.array([burst] + [trickle] * seconds, dtype=np.int64) * MSS
    release = np.array([0] + [ns(start + second) for second in range(seconds)], dtype=np.int64)
    index = np.arange(seconds + 1, dtype=np.int64)
    return EngineConfig(
        seed=1,
        links=(link(1_000_000 * WIRE * 8.0, 1.0),),
        transport=Transport("cubic", "minrtt"),
        objects=Objects(index, 0 * index, sizes, release, np.full_like(index, NEVER_NS)),
        slot_ns=ns(0.25),
    )


def _hand_back() -> None:
    """Return memory that other figures freed to the system first, where the C library can (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()
