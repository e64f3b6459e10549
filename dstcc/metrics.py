"""The metrics of a trial, from what the engine reports.

Times in mission seconds, bytes of payload unless named otherwise. A metric is ``None`` where it has no
value, such as ``completion_s`` of a transfer that never finishes or ``startup_s`` of a playout against
deadlines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from dstcc.arrays import Int64Array

from .frozen import dataclass
from .home import in_full, played
from .layers import layer_weights
from .sharing import sharing_metrics

if TYPE_CHECKING:
    from dstcc_svc import Quality
    from numpy.typing import NDArray

    from .engine.config import EngineResult, Link, Objects


METRICS = (
    "playback_ratio",
    "full_quality_ratio",
    "weighted_layers",
    "bytes_in_time",
    "full_quality_bytes",
    "hol_blocking_ratio",
    "hol_wait_s",
    "throughput_bps",
    "goodput_bps",
    "completion_s",
    "startup_s",
    "stall_s",
    "stalls",
    "retransmitted_ratio",
    "repair_ratio",
    "decoded_ratio",
    "decode_failures",
    "sent_bytes",
    "delivered_bytes",
    "mean_rtt_s",
    "p95_queue_s",
    "fairness_jain",
    "own_share",
    "flows_bps",
    "guard_actions",
    "psnr_db",
    "ssim",
    "vmaf",
    "oracle_ratio",
)
"""Every metric that is one number; those of :data:`LEVELS` come before them."""
LEVELS = ("layers_played.none", *(f"layers_played.{layer}" for layer in range(8)))
"""The share of chunks by highest layer played, from none (level −1) on; a video has the first few of them."""
SHARES = (
    *LEVELS,
    "playback_ratio",
    "full_quality_ratio",
    "weighted_layers",
    "hol_blocking_ratio",
    "repair_ratio",
    "decoded_ratio",
    "fairness_jain",
    "own_share",
    "oracle_ratio",
)
"""Metrics from 0 to 1."""

NS = 1e-9
NEVER = np.iinfo(np.int64).max


def is_metric(name: str) -> bool:
    """Whether ``name`` is a metric's, those of :data:`LEVELS` included."""
    return name in METRICS or name in LEVELS


@dataclass(frozen=True)
class Metrics:
    """The metrics of one trial."""

    layers_played: tuple[float, ...]
    """Shares of chunks by highest layer played: nothing first, then layer 0, 1, ..; they sum to 1."""
    values: dict[str, float | None]
    """Every name of :data:`METRICS` in its order."""

    def document(self) -> dict[str, object]:
        """As ``dstcc emulate --json`` prints them."""
        names = ["none", *map(str, range(len(self.layers_played) - 1))]
        return {"layers_played": dict(zip(names, self.layers_played, strict=True)), **self.values}

    def flat(self) -> dict[str, float | None]:
        """Name → value with ``layers_played`` spread out, as ``trials.parquet`` and ``[expect]`` use them."""
        return {**dict(zip(LEVELS, self.layers_played, strict=False)), **self.values}

    @classmethod
    def of(cls, flat: Mapping[str, float | None]) -> Metrics:
        """From what :meth:`flat` gave, and whatever else is there."""
        shares = (flat.get(name) for name in LEVELS)
        return cls(
            tuple(one for one in shares if one is not None), {name: flat.get(name) for name in METRICS}
        )

    def with_pictures(self, quality: Quality) -> Metrics:
        """With the scores of the played video."""
        scores = {"psnr_db": quality.psnr_db, "ssim": quality.ssim, "vmaf": quality.vmaf}
        return replace(self, values=self.values | scores)


@dataclass(frozen=True)
class Playback:
    """What was shown: one entry per chunk."""

    levels: Int64Array
    """The highest layer played, all lower ones included; −1 where nothing was."""
    shown_ns: Int64Array
    """When the chunk was due on the screen; the layers complete by then are played. ``NEVER`` if it never was due."""
    startup_s: float | None = None
    stall_s: float | None = None
    stalls: int | None = None

    @classmethod
    def none(cls) -> Playback:
        """Of no chunk."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def layer_table(objects: Objects, values: Int64Array, fill: int) -> Int64Array:
    """Values per object as a layers × chunks table, ``fill`` where a chunk lacks a layer."""
    layers, chunks = objects.layers, int(objects.chunk.max()) + 1
    table = np.full(layers * chunks, fill, dtype=np.int64)
    table[objects.layer * chunks + objects.chunk] = values
    return table.reshape(layers, chunks)


def prefix_levels(in_time: NDArray[np.bool_]) -> Int64Array:
    """The highest layer of each column (a chunk) with all lower ones in time; −1 where the base layer is not.

    The rows are layers: there are few of them and many chunks, so that numpy works along the chunks.
    """
    whole = np.ones(in_time.shape[1], dtype=np.bool_)
    levels = np.full(in_time.shape[1], -1, dtype=np.int64)
    for layer in in_time:
        whole &= layer
        levels += whole
    return levels


def play_by_deadline(objects: Objects, result: EngineResult) -> Playback:
    """Playout that shows each chunk at its deadline with the prefix of layers that are complete by then."""
    complete = layer_table(objects, result.objects.complete_ns, -1)
    due = layer_table(objects, objects.deadline_ns, -1).max(axis=0)
    return Playback(prefix_levels((complete >= 0) & (complete <= due)), due)


def play_with_stalls(objects: Objects, result: EngineResult, chunk_ns: Int64Array, delay_ns: int) -> Playback:
    """Playout without deadlines, which waits for base layers.

    The first chunk is shown ``delay_ns`` after its base layer is complete; ``startup_s`` is that moment.
    Each later chunk is due when the one before has been shown for its length ``chunk_ns``. If its base
    layer is not complete by then, playout stalls until it is. At the moment a chunk is shown, the prefix of
    its layers complete by then is played. If a base layer never arrives, playout stalls at that chunk until the end
    of the run: it and the later chunks count as not played. Without the first base layer playout never starts: there
    is neither a startup nor a stall.
    """
    complete = layer_table(objects, result.objects.complete_ns, -1)
    base = np.where(complete[0] < 0, NEVER, complete[0])
    shown = np.full(len(base), NEVER, dtype=np.int64)
    if base[0] == NEVER:
        return Playback(np.full(len(base), -1, dtype=np.int64), shown, None, 0.0, 0)
    clock = first = int(base[0]) + delay_ns
    stall_ns = stalls = 0
    for chunk, (ready, length) in enumerate(zip(base.tolist(), chunk_ns.tolist(), strict=True)):
        if ready > clock:
            stalls += 1
            stall_ns += (max(result.end_ns, clock) if ready == NEVER else ready) - clock
        if ready == NEVER:
            break
        clock = max(clock, ready)
        shown[chunk] = clock
        clock += length
    levels = prefix_levels((complete >= 0) & (complete <= shown))
    levels[shown == NEVER] = -1
    return Playback(levels, shown, first * NS, stall_ns * NS, stalls)


def compute(
    objects: Objects,
    result: EngineResult,
    playback: Playback,
    *,
    best_weight: float | None,
    links: Sequence[Link] = (),
) -> Metrics:
    """All metrics of a trial.

    ``best_weight`` is the clairvoyant sender's Σ of eq.-1 weights, ``None`` without deadlines; ``links`` are the
    trial's, from which sharing is computed. Those of pictures are for :meth:`Metrics.with_pictures`.
    """
    layers = objects.layers
    weights = layer_weights(objects.layer, layers)
    shown = played(objects, playback)
    earned = float(np.dot(weights, shown))  # whole hundreds: exact, in whatever order
    in_time = float(np.dot(objects.payload_bytes, shown))
    counts = np.bincount(playback.levels + 1, minlength=layers + 1)
    shares = tuple((counts / len(playback.levels)).tolist())
    values: dict[str, float | None] = dict.fromkeys(METRICS)
    values |= {
        "playback_ratio": 1.0 - shares[0],
        "full_quality_ratio": shares[-1],
        "weighted_layers": earned / float(weights.sum()),
        "bytes_in_time": in_time,
        "full_quality_bytes": float(np.dot(objects.payload_bytes, in_full(objects, playback))),
        "startup_s": playback.startup_s,
        "stall_s": playback.stall_s,
        "stalls": None if playback.stalls is None else float(playback.stalls),
    }
    values |= _transfer(result, in_time) | sharing_metrics(links, result) | _coding(result)
    if result.totals.guard_clamps is not None:
        values["guard_actions"] = float(result.totals.guard_clamps + (result.totals.guard_fallbacks or 0))
    if best_weight is not None:
        values["oracle_ratio"] = _ratio(earned, best_weight)
    return Metrics(shares, values)


def _transfer(result: EngineResult, in_time: float) -> dict[str, float | None]:
    """The metrics of the transport; ``in_time`` is the payload of the layers that were played.

    Active time is from the first send to the last delivery. ``throughput_bps`` counts distinct payload
    delivered in order to the application, ``goodput_bps`` that of the layers that were played.
    """
    totals, done = result.totals, result.objects.complete_ns
    delivered = totals.delivered_payload_bytes
    active_s = totals.last_delivery_s - totals.first_send_s
    finished = bool((done >= 0).all())
    return {
        "hol_blocking_ratio": _ratio(totals.hol_payload_bytes, totals.arrived_payload_bytes),
        "hol_wait_s": _ratio(totals.hol_wait_byte_s, delivered),
        "throughput_bps": _ratio(8 * delivered, active_s),
        "goodput_bps": _ratio(8 * in_time, active_s),
        "completion_s": float(done.max()) * NS - totals.first_send_s if finished else None,
        "retransmitted_ratio": _ratio(totals.retransmitted_payload_bytes, totals.sent_payload_bytes),
        "sent_bytes": float(totals.sent_payload_bytes),
        "delivered_bytes": float(delivered),
        "mean_rtt_s": _ratio(totals.rtt_sum_s, totals.rtt_samples),
        "p95_queue_s": None if isnan(totals.queue_p95_s) else float(totals.queue_p95_s),
    }


def _coding(result: EngineResult) -> dict[str, float | None]:
    """The metrics of coding; none where nothing is coded. Blocks of which nothing was sent do not count."""
    if result.coding is None:
        return {}
    totals, sent = result.totals, result.coding.source_packets > 0
    blocks, whole = int(sent.sum()), int(result.coding.whole[sent].sum())
    return {
        "repair_ratio": _ratio(totals.repair_payload_bytes, totals.sent_payload_bytes),
        "decoded_ratio": _ratio(whole, blocks),
        "decode_failures": float(blocks - whole),
    }


def _ratio(part: float, whole: float) -> float | None:
    """``part / whole``; ``None`` where the whole is 0 or unknown (NaN)."""
    return float(part / whole) if whole > 0 else None
