"""Forecasters with made weights, and a mission within what they are for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dstcc.forecast.network import shapes
from dstcc.forecast.policy import ForecastPolicy
from tests.coded import missions

RULE = {
    "kind": "threshold",
    "name": "threshold",
    "parameters": {"memory_rtts": 1.0, "above": 0.01, "high": 0.3, "decay": 1.0},
}
WITHIN = {"slot_rtts": (0.02, 0.25), "packets": (20.0, 4000.0), "ahead_rtts": (0.5, 4.5)}
TEXT = missions.TEXT.replace("loop_to_s = 300", "loop_to_s = 240").replace("seeds = 3", "seeds = 2")


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
