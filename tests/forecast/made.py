"""Forecasters with made weights, and a mission within what they are for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dstcc.forecast.network import shapes
from dstcc.forecast.policy import ForecastPolicy

RULE = {
    "kind": "threshold",
    "name": "threshold",
    "parameters": {"memory_rtts": 1.0, "above": 0.01, "high": 0.3, "decay": 1.0},
}
WITHIN = {"slot_rtts": (0.02, 0.25), "packets": (20.0, 4000.0), "ahead_rtts": (0.5, 4.5)}
TEXT = """
[scenario]
name = "short"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [30_000, 30_000, 30_000]}
loop_to_s = 240
[[link]]
name = "ka"
rate_bps = 100_000
delay_s = 10
loss = {states = [{packet = 1e-4, dwell_s = 60}, {packet = 0.2, dwell_s = 40}]}
up_loss = {packet = 0.0}
[transport]
mode = "coded"
handshake = false
congestion = "open-loop"
[coding]
repair = "auto"
block_s = 5
[playout]
delay_rtts = 1.2
[run]
slot_s = 5
seed = 1
seeds = 2
"""


def tensors(hidden: int = 8, seed: int = 1, **more: np.ndarray) -> dict[str, Any]:
    """Random weights; ``more`` in the place of some, by name with two underscores for a dot."""
    draws = np.random.default_rng(seed)
    made = {name: draws.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes(hidden).items()}
    return made | {name.replace("__", "."): value for name, value in more.items()}


def policy(hidden: int = 8, seed: int = 1, **more: np.ndarray) -> ForecastPolicy:
    """A forecaster of such weights."""
    return ForecastPolicy(
        algorithm="gru-mpc",
        hidden=hidden,
        tensors=tensors(hidden, seed, **more),
        within=WITHIN,
        rule=RULE,
        seed=seed,
        scenario_sha256="0" * 64,
        name="made",
    )


def certain(point: int, hidden: int = 8) -> ForecastPolicy:
    """A forecaster that always believes in one point of the grid."""
    zeros: dict[str, Any] = {
        name.replace(".", "__"): np.zeros(shape, np.float32) for name, shape in shapes(hidden).items()
    }
    zeros["belief__bias"] = np.zeros(40, np.float32)
    zeros["belief__bias"][point] = 60.0
    return policy(hidden, 1, **zeros)


def write(folder: Path, text: str = TEXT) -> Path:
    """The mission's file."""
    path = folder / "short.toml"
    path.write_text(text)
    return path
