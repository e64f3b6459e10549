"""The cost of a loss process per packet: the engine with it against the engine without.

Both send the same packets through a fixed window at a frame error rate of 1e-6, so that nothing else differs. The draws
alone, also in the waterfall region, are compared with those of numpy's default generator.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
from dstcc_channels.codes import code

from dstcc.engine import FrameSchedule, Loss, simulate
from dstcc.engine.simulate import channel_losses

from .figure import Measured, core_s, interleaved
from .nets import WIRE, Bulk, link, ns

PACKETS = 3_000_000
SLOTS = 10_000_000
REPEATS = 7
MINUTES = 1_000
FLAT = (-5.0, 0.01)
"""Where the curve of :func:`rare` begins, and its step in dB."""


def frame_loss(
    bits: int, ebn0_db: float, curve: tuple[float, float], log10_fer: list[float], *, index: float = 0.0
) -> Loss:
    """Frame loss whose Eb/N0 varies by 0.05 dB from minute to minute; scintillation gains hold for 1 s."""
    rows = np.arange(MINUTES, dtype=np.int64)
    schedule = FrameSchedule(
        frame_bits=bits,
        t_ns=rows * ns(60),
        ebn0_db=ebn0_db + 0.05 * np.sin(rows),
        scintillation_index=np.full(MINUTES, index),
        coherence_ns=ns(1),
        curve_from_db=curve[0],
        curve_step_db=curve[1],
        log10_fer=np.array(log10_fer),
    )
    return Loss("frames", frames=schedule)


def rare(bits: int, index: float = 0.0) -> Loss:
    """Loss with the full work per packet, but so few erased frames that the transfer is as without loss."""
    return frame_loss(bits, 0.0, FLAT, [-6.0] * 1001, index=index)


def in_the_waterfall(name: str) -> Loss:
    """A code at a frame error rate of about 1e-3."""
    model = code(name)
    grid, log10_fer = model.curve()
    return frame_loss(
        model.frame_bits, model.required_ebn0_db(1e-3), (grid[0], grid[1] - grid[0]), list(log10_fer)
    )


PROCESSES = {
    "packet": Loss("packet", 1e-6),
    "gilbert-elliott": Loss("gilbert-elliott", p=1e-4, r=0.1, good=0.0, bad=1e-4),
    "frames of 8920 bits": rare(8920),
    "frames of 1784 bits": rare(1784),
    "frames of 1784 bits, scintillating": rare(1784, index=0.3),
}
DRAWN = ("ccsds-turbo-1/6-8920", "ccsds-turbo-1/6-1784", "ccsds-ar4ja-1/2-1024")


def loss_draw_ns() -> Measured:
    """The most expensive loss process in the engine, minus the engine without one; median of the differences."""

    def engine(loss: Loss) -> Callable[[], float]:
        config = Bulk(packets=PACKETS, loss=loss, congestion="fixed").config()
        return lambda: core_s(lambda: simulate(config)) / PACKETS * 1e9

    def draws(loss: Loss) -> Callable[[], float]:
        path = link(12e6, 1.0, loss=loss)
        return lambda: core_s(lambda: channel_losses(path, 1, 0, WIRE, SLOTS)) / SLOTS * 1e9

    def numpy_draws() -> float:
        generator = np.random.default_rng(1)
        return core_s(lambda: generator.random(SLOTS) < 1e-3) / SLOTS * 1e9

    without, *with_loss = interleaved(REPEATS, engine(Loss()), *(engine(loss) for loss in PROCESSES.values()))
    extra = {
        name: tuple(a - b for a, b in zip(taken, without, strict=True))
        for name, taken in zip(PROCESSES, with_loss, strict=True)
    }
    medians = {name: statistics.median(values) for name, values in extra.items()}
    worst = max(medians, key=lambda name: medians[name])
    beside, *alone = interleaved(3, numpy_draws, *(draws(in_the_waterfall(name)) for name in DRAWN))
    drawn = {name: statistics.median(taken) for name, taken in zip(DRAWN, alone, strict=True)}
    return Measured(
        medians[worst],
        "ns CPU",
        "engine with / without",
        1 + medians[worst] / statistics.median(without),
        repeats=extra[worst],
        details={
            "extra_ns": medians,
            "without_ns": statistics.median(without),
            "draws_alone_ns": drawn,
            "numpy_ns": statistics.median(beside),
        },
        notes=(
            f"without loss {statistics.median(without):.1f} ns a packet; extra: "
            + ", ".join(f"{name} {value:.1f}" for name, value in medians.items()),
            "draws alone at FER 1e-3: "
            + ", ".join(f"{name} {value:.1f} ns" for name, value in drawn.items())
            + f"; numpy PCG64 {statistics.median(beside):.1f} ns",
        ),
    )
