"""What a slot is worth, for K episodes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES

from .observe import column, loss_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    Reward = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]

PERCENT = 100.0


def eq6(subflow_values: FloatArray, own: FloatArray, mss_bytes: FloatArray) -> FloatArray:
    """Equation 6 of Ha et al., ICT Express 2023, with the share delivered in the place of the share lost.

    r = ln max(1, Σ_i (1 − Lr_i) Σ_j W(ch_j)) + ln max(1, Σ_i Th_i): j over the layers whose last byte subflow i
    sent in the slot, W equation 1's weight, Lr the loss share, Th the payload acknowledged in bit/s. As printed the
    equation has Lr for 1 − Lr and so rewards loss; the floors of 1 keep an idle slot at 0.
    """
    sent = column(subflow_values, SUBFLOW_VALUES, "sent_weight")
    slot = np.maximum(column(own, EPISODE_VALUES, "slot_s"), 1e-9)
    useful = (sent * (1 - loss_share(subflow_values, mss_bytes))).sum(axis=1)
    bps = 8 * column(subflow_values, SUBFLOW_VALUES, "delivered_bytes").sum(axis=1) / slot
    reward: FloatArray = np.log(np.maximum(useful, 1.0)) + np.log(np.maximum(bps, 1.0))
    return reward


def weighted_layers(subflow_values: FloatArray, own: FloatArray, mss_bytes: FloatArray) -> FloatArray:
    """Percent of the trial's ``weighted_layers`` earned in the slot; an episode's sum is the metric × 100.

    A layer counts in the slot in which it and all lower ones of its chunk are on Earth in time. Where nothing has a
    deadline every delivered layer counts.
    """
    played, total = (column(own, EPISODE_VALUES, name) for name in ("played_weight", "total_weight"))
    return PERCENT * played / total


REWARDS: dict[str, Reward] = {"eq6": eq6, "weighted-layers": weighted_layers}
"""Name → function of subflow values, episode values and (K, 1) segment sizes."""
