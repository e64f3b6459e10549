"""What a slot is worth, for K episodes at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES
from dstcc.learn.spaces.scales import column, loss_share

Reward = Callable[[Float64Array, Float64Array, Float64Array], Float64Array]

PERCENT = 100.0


def eq6(subflow_values: Float64Array, episode_values: Float64Array, mss_bytes: Float64Array) -> Float64Array:
    """Equation 6 of Ha et al., ICT Express 2023, with the share delivered in the place of the share lost.

    r = ln max(1, Σ_i (1 − Lr_i) Σ_j W(ch_j)) + ln max(1, Σ_i Th_i): j over the layers whose last byte subflow i
    sent in the slot, W equation 1's weight, Lr the loss share, Th the payload acknowledged in bit/s. As printed the
    equation has Lr for 1 − Lr and so rewards loss; the floors of 1 keep an idle slot at 0.
    """
    sent = column(subflow_values, SUBFLOW_VALUES, "sent_weight")
    slot = np.maximum(column(episode_values, EPISODE_VALUES, "slot_s"), 1e-9)
    useful = (sent * (1 - loss_share(subflow_values, mss_bytes))).sum(axis=1)
    bps = 8 * column(subflow_values, SUBFLOW_VALUES, "delivered_bytes").sum(axis=1) / slot
    reward: Float64Array = np.log(np.maximum(useful, 1.0)) + np.log(np.maximum(bps, 1.0))
    return reward


def weighted_layers(
    subflow_values: Float64Array, episode_values: Float64Array, mss_bytes: Float64Array
) -> Float64Array:
    """Percent of the trial's ``weighted_layers`` earned in the slot; an episode's sum is the metric × 100.

    A layer counts in the slot in which it and all lower ones of its chunk are on Earth in time. Where nothing has a
    deadline every delivered layer counts.
    """
    played, total = (
        column(episode_values, EPISODE_VALUES, name) for name in ("played_weight", "total_weight")
    )
    return PERCENT * played / total


RATE_BPS, LOSS, DELAY, PENALTY = 1e6, 2.0, 2.5, 1.0
"""Our choice of what Zhang et al. leave open: 1/α, a fair share of their training link; β; γ, which leaves room for a
delayed ACK (40 ms beside 30 ms); η, worth a fair share."""


def pbq(subflow_values: Float64Array, episode_values: Float64Array, mss_bytes: Float64Array) -> Float64Array:
    """Section 3.1 of Zhang et al., Entropy 2023, as the mean over established subflows.

    R = α·rate − β·loss, less η where RTT > γ · min RTT; rate acknowledged, RTT smoothed.
    """

    def of(name: str) -> Float64Array:
        return column(subflow_values, SUBFLOW_VALUES, name)

    slot = np.maximum(column(episode_values, EPISODE_VALUES, "slot_s"), 1e-9)[:, None]
    rate = 8 * of("delivered_bytes") / slot / RATE_BPS
    queues = of("srtt_s") > DELAY * of("min_rtt_s")
    each = (rate - LOSS * loss_share(subflow_values, mss_bytes) - PENALTY * queues) * of("established")
    mean: Float64Array = each.sum(axis=1) / np.maximum(of("established").sum(axis=1), 1)
    return mean


def log_goodput(
    subflow_values: Float64Array, episode_values: Float64Array, _mss_bytes: Float64Array
) -> Float64Array:
    """The utility of Xu et al., IEEE JSAC 2019: the logarithm of a flow's goodput, summed over flows; here one flow.

    ln max(1, goodput in kbit/s), all subflows together.
    """
    slot = np.maximum(column(episode_values, EPISODE_VALUES, "slot_s"), 1e-9)
    kbps = 8 * column(subflow_values, SUBFLOW_VALUES, "delivered_bytes").sum(axis=1) / slot / 1e3
    reward: Float64Array = np.log(np.maximum(kbps, 1.0))
    return reward


CHUNK_WORTH = 10.0
"""A chunk's reward in slots at its own download rate: finishing a slot earlier outweighs a slot's packets."""


def chunks(
    subflow_values: Float64Array, episode_values: Float64Array, mss_bytes: Float64Array
) -> Float64Array:
    """Section 3.1.4 of Lee and Yoo, Sensors 2022, in hundreds of packets.

    Packets acknowledged in the slot, and for each chunk that is now downloaded its size ÷ download time, in packets a
    slot, times :data:`CHUNK_WORTH`.
    """
    slot = column(episode_values, EPISODE_VALUES, "slot_s")
    acked = column(subflow_values, SUBFLOW_VALUES, "delivered_bytes").sum(axis=1)
    done = column(episode_values, EPISODE_VALUES, "chunks_bytes_per_s") * slot * CHUNK_WORTH
    packets: Float64Array = (acked + done) / mss_bytes[:, 0] / 100
    return packets


def promised_layers(
    subflow_values: Float64Array, episode_values: Float64Array, mss_bytes: Float64Array
) -> Float64Array:
    """``weighted_layers`` as it is decided, a light time before it is seen: percent of the layer weights whose last
    byte left the sender's queue in the slot, all of whose segments get through and arrive in time without a repeat.

    Only a simulator can tell, and only training is paid by it. What repairs save is not in it.
    """
    promised, total = (
        column(episode_values, EPISODE_VALUES, name) for name in ("promised_weight", "total_weight")
    )
    return PERCENT * promised / total


REWARDS: dict[str, Reward] = {
    "eq6": eq6,
    "weighted-layers": weighted_layers,
    "pbq": pbq,
    "log-goodput": log_goodput,
    "chunks": chunks,
    "played-per-slot": weighted_layers,
    "promised-per-slot": promised_layers,
}
"""Name → function of subflow values, episode values and (K, 1) segment sizes."""
PER_SLOT = ("played-per-slot", "promised-per-slot")
"""In units of what the source releases in a slot: near 1 while everything plays, whatever an episode's length."""
