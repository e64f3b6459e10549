"""Simulations side by side in threads: each is what it is alone. ``make test-sanitize`` takes these for data races."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dstcc.engine import EngineConfig, Loss
from dstcc.engine.simulate import simulate

from . import net

CONTROLS = ("cubic", "bbr", "lia", "ltp", "westwood", "open-loop")


def lossy(congestion: str) -> EngineConfig:
    links = (net.link(4e6, 0.2, loss=Loss("packet", 0.01)), net.link(2e6, 0.4, loss=Loss("packet", 0.01)))
    scheduler = "layer-pinned" if congestion == "ltp" else "minrtt"
    return net.config(congestion, links, scheduler=scheduler, objects=net.live(20, (3000, 2000)))


def test_what_threads_simulate_at_once_is_what_one_simulates_alone() -> None:
    configs = [lossy(name) for name in CONTROLS] * 2
    alone = [simulate(config) for config in configs[: len(CONTROLS)]] * 2
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(simulate, configs))
    for one, other in zip(alone, together, strict=True):
        assert one.totals == other.totals
        np.testing.assert_array_equal(one.objects.complete_ns, other.objects.complete_ns)
        np.testing.assert_array_equal(one.samples.delivered_bytes, other.samples.delivered_bytes)
