"""Trials on the kernel beside the clairvoyant bound of their own draws.

The bound there is that of any packets, as Linux fills packets with several layers. netem draws losses from a generator
of its own, packet by packet in the order of its queue. What a lossy trial lost thus depends on what was sent: there is
no bound of such draws, and the bound is that without losses. `make test` has one trial, `make test-kernel` all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dstcc.engine import EngineConfig, clairvoyant_weight, least_playout_delay_ns
from dstcc.layers import layer_weights
from dstcc.metrics import play_by_deadline
from dstcc.run.backends import BACKENDS
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source

KERNEL = BACKENDS["kernel"]
MISSION = """
[scenario]
name = "more than the links carry"
duration_s = 120

[video]
synthetic = {chunk_s = 1, layer_bps = [300_000, 300_000, 300_000]}
loop_to_s = 80

[transport]
mode = "lanes"
congestion = "fixed"

[playout]
delay_s = 15
"""
LINK = """
[[link]]
name = "{name}"
rate_bps = {rate}
up_rate_bps = "rate_bps"
delay_s = {delay}
queue_bytes = 64_000
{more}
"""
PLANNED = """
[[link]]
name = "relay"
contacts = "plan.txt"
source = 2
destination = 1
up_rate_bps = 400_000
queue_bytes = 64_000
"""
PLAN = """a contact +0 +40 2 1 50000
a contact +0 +40 1 2 50000
a contact +60 +120 2 1 50000
a contact +60 +120 1 2 50000
a range +0 +120 1 2 4
"""


def one(more: str = "") -> str:
    return LINK.format(name="relay", rate=400_000, delay=4, more=more)


SCENES = {
    "one link": one(),
    "two links": one() + LINK.format(name="direct", rate=300_000, delay=5, more=""),
    "an outage": one("outages = [[30, 50]]"),
    "losses": one("loss = {packet = 0.02}"),
    "a contact plan": PLANNED,
}


@pytest.mark.parametrize(
    "scene",
    [pytest.param(name, marks=() if name == "an outage" else pytest.mark.kernel) for name in SCENES],
)
def test_no_trial_exceeds_the_bound_of_its_draws(kernel: Path, tmp_path: Path, scene: str) -> None:
    (tmp_path / "plan.txt").write_text(PLAN)
    path = tmp_path / "mission.toml"
    path.write_text(MISSION + SCENES[scene])
    scenario = load_scenario(path, [])
    source = load_source(scenario)
    KERNEL.check(scenario, source, {})
    setup = draw_trial(scenario, source, 1)
    config = engine_config(scenario, setup, "fixed", "minrtt")
    weights = layer_weights(config.objects.layer, source.layers)
    granted = KERNEL.oracle(config)
    bound = clairvoyant_weight(granted, weights, any_packets=True) / weights.sum()
    played = _played(config, weights)
    assert 0.25 * bound < played <= bound < 0.95, (played, bound)
    least_ns = least_playout_delay_ns(granted, setup.playout_delay_ns, any_packets=True)
    assert least_ns is None or least_ns > setup.playout_delay_ns


def _played(config: EngineConfig, weights: NDArray[np.float64]) -> float:
    objects = config.objects
    levels = play_by_deadline(objects, KERNEL.carry(config)).levels
    return float(weights[objects.layer <= levels[objects.chunk]].sum() / weights.sum())
