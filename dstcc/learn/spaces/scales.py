"""How the engine's values become features of the order of 1, for observations and rewards alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float64Array
from dstcc.engine.stepper import SUBFLOW_VALUES

LOW, HIGH = -1.0, 4.0
"""The least and the largest value of any feature."""


def column(values: Float64Array, names: tuple[str, ...], name: str) -> Float64Array:
    """One named value out of an array whose last axis is ``names``."""
    return values[..., names.index(name)]


def loss_share(subflow_values: Float64Array, mss_bytes: Float64Array) -> Float64Array:
    """Lr: of the segments whose fate the sender learned in the slot, acknowledged or marked lost, the share
    lost."""
    lost = column(subflow_values, SUBFLOW_VALUES, "lost_segments")
    known = lost + column(subflow_values, SUBFLOW_VALUES, "delivered_bytes") / mss_bytes
    share: Float64Array = lost / np.where(known > 0, known, 1.0)
    return share


def log_window(segments: Float64Array) -> Float64Array:
    """1 at 1,024 segments."""
    scaled: Float64Array = np.log2(1 + segments) / 10
    return scaled


def log_time(seconds: Float64Array) -> Float64Array:
    """0 at 0, 1 at 1,000 s; a millisecond is 1/6 of a decade above 0."""
    scaled: Float64Array = np.log10(1 + seconds * 1e3) / 6
    return scaled


def clip(values: Float64Array) -> NDArray[np.float32]:
    """Into [:data:`LOW`, :data:`HIGH`], as networks take it."""
    return np.clip(values, LOW, HIGH).astype(np.float32)


def flat(columns: list[Float64Array]) -> NDArray[np.float32]:
    """Values per subflow to a vector per episode, subflow by subflow."""
    return clip(np.stack(columns, axis=-1).reshape(len(columns[0]), -1))
