"""The shipped controller where the queue at the sender is too shallow to show what a path carries.

Two packets, 3 kB, or ten, 15 kB: nothing stands in such a queue, and what is too much is dropped. Held against
tp-planet, which is not told the rates either, and open-loop, which is; each with 1,024 lanes. A rule that believed the
queue played 0.002 here and sent fifty times what open-loop does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import EngineConfig, EngineResult, simulate
from dstcc.layers import layer_weights
from dstcc.learn.policies.drive import drive
from dstcc.learn.policies.policy import Policy, load_policy
from dstcc.metrics import play_by_deadline
from dstcc.scenario import draw_trial, engine_config, load_source, parse_scenario

ONE = ([41_000, 36_000, 24_000], ((115_200, 1.0),))
TWO = ([124_000, 109_000, 78_000], ((115_200, 1.0), (240_000, 1.2)))
"""Bits per second of the layers, and of each link with its round trip: 90 % of what the links carry."""


def mission(links: Any, rtt_s: float, queue_bytes: int, loss: float) -> dict[str, Any]:
    """Ten round trips, at least half an hour."""
    layers, paths = links
    return {
        "scenario": {"name": "shallow"},
        "video": {
            "synthetic": {"chunk_s": 1.0, "layer_bps": layers},
            "loop_to_s": max(1800, 10 * rtt_s),
        },
        "link": [
            {
                "name": f"link {k}",
                "rate_bps": rate,
                "delay_s": rtt_s * times / 2,
                "loss": {"packet": loss},
                "queue_bytes": queue_bytes,
            }
            for k, (rate, times) in enumerate(paths)
        ],
        "transport": {"mode": "lanes", "lanes_per_link": 1024, "window": "link"},
        "playout": {"delay_rtts": 1.5},
    }


def weight(config: EngineConfig, result: EngineResult) -> float:
    levels = play_by_deadline(config.objects, result).levels
    weights = layer_weights(np.arange(3), 3)
    return float((weights * (levels[:, None] >= np.arange(3))).sum() / (weights.sum() * len(levels)))


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load_policy("dstcc-lanes")


@pytest.mark.parametrize(
    ("links", "rtt_s", "queue_bytes", "loss"),
    [
        (ONE, 20, 3_000, 1e-2),
        (ONE, 240, 15_000, 0.0),
        (TWO, 20, 3_000, 0.0),
        (TWO, 200, 3_000, 0.0),
        (TWO, 200, 15_000, 1e-2),
        (TWO, 240, 3_000, 3e-2),
        (TWO, 1020, 3_000, 1e-3),
        (TWO, 1020, 64_000, 3e-2),
    ],
)
def test_it_neither_starves_nor_floods(
    links: Any, rtt_s: float, queue_bytes: int, loss: float, shipped: Policy
) -> None:
    scenario = parse_scenario(mission(links, rtt_s, queue_bytes, loss), source="a test")
    setup = draw_trial(scenario, load_source(scenario), 1)
    ours, open_config, blind = (
        engine_config(scenario, setup, name, "minrtt") for name in ("cubic", "open-loop", "tp-planet")
    )
    driven, open_loop, planet = drive(shipped, ours), simulate(open_config), simulate(blind)
    assert weight(ours, driven) >= 0.9 * weight(blind, planet)
    assert driven.totals.sent_wire_bytes <= 1.5 * open_loop.totals.sent_wire_bytes


def test_what_a_live_source_will_capture_changes_nothing_before(shipped: Policy) -> None:
    # The second half has ten times the bytes. Up to then every packet leaves as if it had not.
    scenario = parse_scenario(mission(ONE, 60, 64_000, 0.0), source="a test")
    setup = draw_trial(scenario, load_source(scenario), 1)
    plain = engine_config(scenario, setup, "cubic", "minrtt")
    objects = plain.objects
    late = objects.release_ns > 900 * 10**9
    swollen = replace(
        objects, payload_bytes=np.where(late, 10 * objects.payload_bytes, objects.payload_bytes)
    )
    first, second = (drive(shipped, replace(plain, objects=given)) for given in (objects, swollen))
    known = first.samples.t_ns <= 900 * 10**9
    assert known.sum() > 50
    for column in ("sent_segments", "cwnd_segments", "queue_bytes"):
        there = getattr(first.samples, column)[known]
        assert there.tolist() == getattr(second.samples, column)[: len(known)][known].tolist()
