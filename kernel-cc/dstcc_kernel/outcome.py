"""A trial's result file, from emulated time back to mission time, as the simulator tells of a trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dstcc.engine.config import CodingResults, EngineResult, ObjectResults, Samples
from dstcc.errors import DstccError
from dstcc.placed import placed_totals

from .plan import slot_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig

OBJECT_COLUMNS, SAMPLE_COLUMNS = 8, 12
BLOCK_COLUMNS, PART_COLUMNS, MISSING_COLUMNS = 7, 2, 2
"""Of a coded trial."""
PACING = 11
"""The one column of a sample that is no integer."""
BYTES = (
    "sent_wire",
    "sent_payload",
    "retransmitted_payload",
    "arrived_payload",
    "delivered_payload",
    "duplicate_payload",
    "hol_payload",
)
UNUSABLE = "unusable_answers"
"""Of a policy that steers coded packets: slots for which it gave no decision, or none in time."""
COUNTS = (
    "arrived_packets",
    *("repair_payload_bytes", "recovered_payload_bytes", "checked_payload_bytes", "timeouts"),
    *("dropped_queue_packets", "missing_packets", "refused_packets"),
    *("block_peak_bytes", "decoder_peak_bytes", "encoder_peak_bytes"),
    UNUSABLE,
)
"""The first of TCP's trials, the others of coded ones; ``checked``: held against what was encoded."""


def read_result(path: Path, config: EngineConfig) -> EngineResult:
    """Read what the transfer program wrote; raises :class:`DstccError` when it is cut short."""
    data, scale = path.read_bytes(), config.transport.scale
    head, _, rest = data.partition(b"\n")
    try:
        header = json.loads(head)
    except ValueError:
        raise DstccError(f"{path}: the guest's result has no heading") from None
    objects, samples = header["objects"] * OBJECT_COLUMNS, header["samples"] * SAMPLE_COLUMNS
    coding = _coding_rows(header)
    numbers = np.frombuffer(rest, dtype=np.int64) if len(rest) % 8 == 0 else np.empty(0, dtype=np.int64)
    if len(numbers) != objects + samples + sum(coding):
        raise DstccError(f"{path}: the guest's result is cut short")
    rows = numbers[:objects].reshape(-1, OBJECT_COLUMNS)
    end_ns = round(header["end_ns"] * scale)
    return EngineResult(
        objects=_objects(rows, scale),
        samples=_samples(numbers[objects : objects + samples].reshape(-1, SAMPLE_COLUMNS), config, end_ns),
        end_ns=end_ns,
        totals=_totals(header, header.get("placed", []), scale),
        coding=_coding(numbers[objects + samples :], coding, scale) if sum(coding) else None,
    )


def missing_packets(path: Path) -> NDArray[np.int64]:
    """Of a coded trial's result file the packets that did not arrive: subflow and number, a row each."""
    head, _, rest = path.read_bytes().partition(b"\n")
    count = json.loads(head)["missing"] * MISSING_COLUMNS
    return np.frombuffer(rest, dtype=np.int64)[-count or len(rest) :].reshape(-1, MISSING_COLUMNS)


def _coding_rows(header: dict[str, int]) -> tuple[int, int, int]:
    """Numbers about blocks, layers' parts and missing packets that a coded trial has behind its samples."""
    if "blocks" not in header:
        return 0, 0, 0
    return (
        header["blocks"] * BLOCK_COLUMNS,
        header["objects"] * PART_COLUMNS,
        header["missing"] * MISSING_COLUMNS,
    )


def _coding(numbers: NDArray[np.int64], rows: tuple[int, int, int], scale: float) -> CodingResults:
    blocks = numbers[: rows[0]].reshape(-1, BLOCK_COLUMNS)
    parts = numbers[rows[0] : rows[0] + rows[1]].reshape(-1, PART_COLUMNS)
    source, repair, planned, repair_bytes, arrived, decoded, whole = (
        np.ascontiguousarray(blocks[:, column]) for column in range(BLOCK_COLUMNS)
    )
    block, recovered = (np.ascontiguousarray(parts[:, column]) for column in range(PART_COLUMNS))
    decoded = _mission(decoded, scale)
    return CodingResults(source, repair, planned, repair_bytes, arrived, decoded, whole, block, recovered)


def _objects(rows: NDArray[np.int64], scale: float) -> ObjectResults:
    times = [_mission(rows[:, column], scale) for column in range(3)]
    return ObjectResults(
        *times, *(np.ascontiguousarray(rows[:, column]) for column in range(3, OBJECT_COLUMNS))
    )


def _samples(rows: NDArray[np.int64], config: EngineConfig, end_ns: int) -> Samples:
    """Slots end at whole multiples of the mission's slot, the last one perhaps before."""
    slot, scale = slot_ns(config), config.transport.scale
    whole = rows[:, 0] % slot == 0
    t_ns = np.where(whole, rows[:, 0] // slot * config.slot_ns, end_ns)
    pacing = np.ascontiguousarray(rows[:, PACING]).view(np.float64) / scale
    srtt_ns, min_rtt_ns = (_mission(rows[:, column], scale) for column in (4, 5))
    subflow, cwnd, inflight, *counts = (
        np.ascontiguousarray(rows[:, column]) for column in (1, 2, 3, 6, 7, 8, 9, 10)
    )
    sent, lost, retransmitted, delivered, queue = counts
    return Samples(
        t_ns,
        subflow,
        cwnd,
        inflight,
        srtt_ns,
        min_rtt_ns,
        sent,
        lost,
        retransmitted,
        delivered,
        queue,
        pacing,
    )


def _totals(header: dict[str, float], placed: list[list[int]], scale: float) -> dict[str, float]:
    first, last = header["first_send_ns"], header["last_delivery_ns"]
    wait = header["queue_p95_s"]
    return {
        **{f"{name}_bytes": float(header[f"{name}_bytes"]) for name in BYTES},
        "hol_wait_byte_s": header["hol_wait_byte_s"] * scale,
        "rtt_sum_s": header["rtt_sum_s"] * scale,
        "rtt_samples": float(header["rtt_samples"]),
        "queue_p95_s": float("nan") if wait is None else wait * scale,
        "data_packets": float(header["data_packets"]),
        **{name: float(header[name]) for name in COUNTS if name in header},
        "first_send_s": first * scale / 1e9 if first >= 0 else float("nan"),
        "last_delivery_s": last * scale / 1e9 if last >= 0 else float("nan"),
        **placed_totals(placed),
    }


def _mission(times_ns: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Negative stays: it never happened."""
    mission: NDArray[np.int64] = np.where(times_ns < 0, times_ns, np.round(times_ns * scale).astype(np.int64))
    return mission
