"""How the engine's values become features of the order of 1, for observations and rewards alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.engine.stepper import SUBFLOW_VALUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

LOW, HIGH = -1.0, 4.0
"""The least and the largest value of any feature."""


def column(values: FloatArray, names: tuple[str, ...], name: str) -> FloatArray:
    """One named value out of an array whose last axis is ``names``."""
    return values[..., names.index(name)]


def loss_share(subflow_values: FloatArray, mss_bytes: FloatArray) -> FloatArray:
    """Lr: of the segments whose fate the sender learned in the slot, acknowledged or marked lost, the share
    lost."""
    lost = column(subflow_values, SUBFLOW_VALUES, "lost_segments")
    known = lost + column(subflow_values, SUBFLOW_VALUES, "delivered_bytes") / mss_bytes
    share: FloatArray = lost / np.where(known > 0, known, 1.0)
    return share


def log_window(segments: FloatArray) -> FloatArray:
    """1 at 1,024 segments."""
    scaled: FloatArray = np.log2(1 + segments) / 10
    return scaled


def log_time(seconds: FloatArray) -> FloatArray:
    """0 at 0, 1 at 1,000 s; a millisecond is 1/6 of a decade above 0."""
    scaled: FloatArray = np.log10(1 + seconds * 1e3) / 6
    return scaled


def clip(values: FloatArray) -> NDArray[np.float32]:
    """Into [:data:`LOW`, :data:`HIGH`], as networks take it."""
    return np.clip(values, LOW, HIGH).astype(np.float32)


def flat(columns: list[FloatArray]) -> NDArray[np.float32]:
    """Values per subflow to a vector per episode, subflow by subflow."""
    return clip(np.stack(columns, axis=-1).reshape(len(columns[0]), -1))
