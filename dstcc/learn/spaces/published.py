"""What the published controllers see, beside the 4N values of Ha et al. (:mod:`dstcc.learn.spaces.observe` has those).

Values and their order are the papers'; how they are scaled is ours. Logarithms keep a terrestrial link and one to Mars
in range; a doubling moves a rate by 1/8, a window by 1/4, a time by 1/6. What a subflow that is not established (or not
there) has is 0 throughout.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float64Array
from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES

from .scales import clip, column, loss_share

PER_SUBFLOW = {
    # Zhang et al., Entropy 2023, table 1: CWnd, interval, deliveryRate, RTT, packetLoss.
    "pbq": ("cwnd", "interval", "rate", "rtt", "loss"),
    # Xu et al., IEEE JSAC 2019, as Ha et al. cite them: sending rate, goodput, RTT and its deviation, window.
    "drl-cc": ("sending_rate", "goodput", "rtt", "rtt_deviation", "cwnd"),
    # Lee and Yoo, Sensors 2022, section 3.1.3.
    "mpquic-rl": ("rtt", "cwnd", "inflight"),
}
SHARED = {"mpquic-rl": ("send_window", "elapsed", "remaining", "acked")}
"""Values of the whole connection, after the subflows'."""


def names(kind: str, subflows: int) -> tuple[str, ...]:
    """What each place of an observation holds."""
    episode_values = tuple(f"subflow{s}.{name}" for s in range(subflows) for name in PER_SUBFLOW[kind])
    return (*episode_values, *SHARED.get(kind, ()))


def observe(
    kind: str, subflow_values: Float64Array, episode_values: Float64Array, mss_bytes: Float64Array
) -> NDArray[np.float32]:
    """Observations (K, size) from subflow values (K, N, ..), episode values (K, ..) and segment sizes (K, 1)."""
    established = column(subflow_values, SUBFLOW_VALUES, "established")
    features = _features(subflow_values, episode_values, mss_bytes)
    columns = [features[name] * established for name in PER_SUBFLOW[kind]]
    per_subflow = np.stack(columns, axis=-1).reshape(len(episode_values), -1)
    shared = [_shared(episode_values)[name] for name in SHARED.get(kind, ())]
    return clip(np.concatenate([per_subflow, *(value[:, None] for value in shared)], axis=1))


def _features(
    values: Float64Array, episode_values: Float64Array, mss_bytes: Float64Array
) -> dict[str, Float64Array]:
    def of(name: str) -> Float64Array:
        return column(values, SUBFLOW_VALUES, name)

    slot = np.maximum(column(episode_values, EPISODE_VALUES, "slot_s"), 1e-9)[:, None]
    return {
        "cwnd": _log_count(of("cwnd_segments")),
        "inflight": _log_count(of("inflight_segments")),
        "interval": np.broadcast_to(_log_ms(slot), of("srtt_s").shape),
        "rate": _log_kbps(8 * of("delivered_bytes") / slot),
        "goodput": _log_kbps(8 * of("delivered_bytes") / slot),
        "sending_rate": _log_kbps(8 * of("sent_segments") * mss_bytes / slot),
        "rtt": _log_ms(of("srtt_s")),
        "rtt_deviation": _log_ms(of("rtt_deviation_s")),
        "loss": loss_share(values, mss_bytes),
    }


def _shared(episode_values: Float64Array) -> dict[str, Float64Array]:
    def of(name: str) -> Float64Array:
        return column(episode_values, EPISODE_VALUES, name)

    def kilobytes(values: Float64Array) -> Float64Array:
        return _log_count(values / 1e3)

    return {
        "send_window": kilobytes(np.minimum(of("send_window_bytes"), 1e15)),
        "elapsed": _log_ms(of("chunk_elapsed_s")),
        "remaining": kilobytes(of("chunk_bytes") - of("chunk_acked_bytes")),
        "acked": kilobytes(of("chunk_acked_bytes")),
    }


def _log_count(values: Float64Array) -> Float64Array:
    scaled: Float64Array = np.log2(1 + values) / 4
    return scaled


def _log_ms(seconds: Float64Array) -> Float64Array:
    scaled: Float64Array = np.log2(1 + 1e3 * seconds) / 6
    return scaled


def _log_kbps(bps: Float64Array) -> Float64Array:
    scaled: Float64Array = np.log2(1 + bps / 1e3) / 8
    return scaled
