"""What a loss draw costs, beside the usual way of drawing."""

from __future__ import annotations

import statistics

import numpy as np

from dstcc.engine import Loss
from dstcc.engine.simulate import channel_losses

from .figure import Measured, by_turns, core_s, median_ratio
from .nets import WIRE, link

SLOTS = 10_000_000
REPEATS = 5
PROCESSES = {
    "packet": Loss("packet", 1e-3),
    "gilbert-elliott": Loss("gilbert-elliott", p=1e-4, r=0.1, good=1e-4, bad=0.5),
}


def loss_draw_ns() -> Measured:
    """Counter-based draws by service slot, independent ones and bursts, beside numpy's PCG64."""

    def draws(loss: Loss) -> float:
        return core_s(lambda: channel_losses(link(12e6, 1.0, loss=loss), 1, 0, WIRE, SLOTS)) / SLOTS * 1e9

    def numpy_draws() -> float:
        generator = np.random.default_rng(1)
        return core_s(lambda: generator.random(SLOTS) < 1e-3) / SLOTS * 1e9

    packet, bursts, beside = by_turns(
        REPEATS, lambda: draws(PROCESSES["packet"]), lambda: draws(PROCESSES["gilbert-elliott"]), numpy_draws
    )
    return Measured(
        statistics.median(packet),
        "ns CPU",
        "numpy PCG64 < p",
        median_ratio(packet, beside),
        repeats=packet,
        details={"gilbert_elliott_ns": statistics.median(bursts), "numpy_ns": statistics.median(beside)},
        notes=(
            f"gilbert-elliott {statistics.median(bursts):.2f} ns, numpy {statistics.median(beside):.2f} ns",
        ),
    )
