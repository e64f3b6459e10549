"""A trial's result file, from emulated time back to mission time, as the simulator tells of a trial."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, ValidationError, create_model

from dstcc.engine import EngineConfig
from dstcc.engine.config import (
    CodingResults,
    EngineResult,
    HopResult,
    Ledger,
    NodeResult,
    ObjectResults,
    PlacedBytes,
    Samples,
    TransportStats,
)
from dstcc.errors import DstccError
from dstcc.reading import read_bytes

from .network import Network
from .nodes import network_of_trial
from .plan import slot_ns
from .transfer import HOP_NUMBERS, NODE_NUMBERS

OBJECT_COLUMNS, SAMPLE_COLUMNS = 8, 12
BLOCK_COLUMNS, PART_COLUMNS, MISSING_COLUMNS = 7, 2, 2
"""Of a coded trial."""
LEDGER_COLUMNS = 2
"""Of a connection of a sender that restarts."""
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
COUNTS = (
    "arrived_packets",
    *("repair_payload_bytes", "recovered_payload_bytes", "checked_payload_bytes", "timeouts"),
    *("dropped_queue_packets", "missing_packets", "refused_packets"),
    *("block_peak_bytes", "decoder_peak_bytes", "encoder_peak_bytes"),
    "unusable_answers",
)
"""The first of TCP's trials, the others of coded ones."""

MOST_NS = 1 << 62
"""Of a time, in mission time."""
MOST_BYTES = 8 << 30
"""Of a result: 96 bytes a slot and subflow."""
_Count = Annotated[int, Field(ge=0, lt=1 << 62)]
_Time = Annotated[int, Field(ge=-1, le=MOST_NS)]
_Real = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_FIELDS: dict[str, Any] = {
    **{
        name: (_Count, ...)
        for name in (
            "objects",
            "samples",
            "rtt_samples",
            "data_packets",
            *(f"{name}_bytes" for name in BYTES),
        )
    },
    **{name: (_Count, 0) for name in (*COUNTS, "blocks", "missing", "ledger")},
    "end_ns": (_Count, ...),
    **{name: (_Time, ...) for name in ("first_send_ns", "last_delivery_ns")},
    **{name: (_Real, ...) for name in ("hol_wait_byte_s", "rtt_sum_s")},
    "queue_p95_s": (_Real | None, ...),
    "placed": (list[Annotated[list[_Count], Field(min_length=8, max_length=8)]], []),
}
_Heading = create_model("_Heading", __config__=ConfigDict(strict=True), **_FIELDS)


def read_result(path: Path, config: EngineConfig) -> EngineResult:
    """Read what the transfer program wrote; raises :class:`DstccError` for what it cannot have written."""
    scale = config.transport.scale
    header, rest = _parted(path)
    if header["objects"] > len(config.objects.release_ns):
        raise DstccError(f"{path}: objects: {header['objects']}, of {len(config.objects.release_ns)}")
    objects, samples = header["objects"] * OBJECT_COLUMNS, header["samples"] * SAMPLE_COLUMNS
    coding = _coding_rows(header)
    numbers = np.frombuffer(rest, dtype=np.int64) if len(rest) % 8 == 0 else np.empty(0, dtype=np.int64)
    ledger = header.get("ledger", 0) * LEDGER_COLUMNS
    if len(numbers) != objects + samples + sum(coding) + ledger:
        raise DstccError(f"{path}: the guest's result is cut short")
    _check_numbers(path, numbers[: objects + samples], objects, scale)
    rows = _rows(numbers[:objects], OBJECT_COLUMNS)
    end_ns = round(header["end_ns"] * scale)
    return EngineResult(
        objects=_objects(rows, scale),
        samples=_samples(_rows(numbers[objects : objects + samples], SAMPLE_COLUMNS), config, end_ns),
        end_ns=end_ns,
        totals=_totals(header, scale),
        coding=_coding(numbers[objects + samples :], coding, scale) if sum(coding) else None,
        ledger=_ledger(path, numbers[len(numbers) - ledger :], config) if ledger else None,
        placed=tuple(PlacedBytes(*row) for row in sorted(header.get("placed", []))),
    )


def _ledger(path: Path, numbers: NDArray[np.int64], config: EngineConfig) -> Ledger:
    rows, bytes_ = _rows(numbers, LEDGER_COLUMNS), config.objects.payload_bytes
    if len(rows) != len(bytes_) or (rows < 0).any() or (rows > bytes_[:, None]).any():
        raise DstccError(f"{path}: the guest's result: more of a layer is acknowledged or sent than it has")
    return Ledger(*_columns(rows))


def with_counts(path: Path, result: EngineResult, config: EngineConfig) -> EngineResult:
    """The result of a trial over nodes with what its links and nodes counted (:data:`.job.COUNTS`); any other as it is.
    Raises :class:`DstccError` for what no program can have counted."""
    over = network_of_trial(config)
    if over is None:
        return result
    network, slot = over[0], slot_ns(config)
    columns = 1 + HOP_NUMBERS * len(network.ends) + NODE_NUMBERS * len(network.nodes)
    read = read_bytes(path, DstccError, MOST_BYTES, follow=False)
    whole = len(read) // (8 * columns) * columns
    rows = _rows(np.frombuffer(read[: 8 * whole], dtype=np.int64), columns)
    numbers = rows[:, 1:]
    if not len(rows) or (numbers < 0).any() or (np.diff(rows, axis=0) < 0)[:, 0].any():
        raise DstccError(f"{path}: what links and nodes counted is cut short, below 0 or not in order")
    count = len(np.unique(result.samples.t_ns))
    ends = np.minimum(np.searchsorted(rows[:, 0], slot * np.arange(1, count + 1)), len(rows) - 1)
    hops, nodes = np.split(numbers, [HOP_NUMBERS * len(network.ends)], axis=1)
    by_hop = hops.reshape(len(rows), len(network.ends), HOP_NUMBERS)
    by_node = nodes.reshape(len(rows), len(network.nodes), NODE_NUMBERS)
    came, left, held, dropped, _, lost, _ = by_node[-1].T
    if (came != left + held + dropped + lost).any():
        raise DstccError(f"{path}: a node that took in other packets than it sent, holds or dropped")
    return replace(
        result,
        nodes=tuple(
            _node(number, by_node[:, place], ends)
            for place, number in enumerate(
                dict.fromkeys(hop.node.number for path in config.links for hop in path.onward), start=1
            )
        ),
        hops=tuple(_hop(network, link, by_hop[:, link], ends) for link in range(len(network.ends))),
    )


def _node(number: int, counts: NDArray[np.int64], ends: NDArray[np.int64]) -> NodeResult:
    came, left, held, dropped, _, lost, most = map(int, counts[-1])
    return NodeResult(number, came, left, held, dropped, lost, most, *_columns(counts[ends][:, [4, 3, 5]]))


def _hop(network: Network, link: int, counts: NDArray[np.int64], ends: NDArray[np.int64]) -> HopResult:
    first = next((number for number, path in enumerate(network.paths) if path[0] == link), -1)
    number = -1 if first >= 0 else network.numbers[link]
    values = [number, first, *map(int, counts[-1]), *_columns(counts[ends][:, [0, 3]])]
    return HopResult(*values)


def missing_packets(path: Path) -> NDArray[np.int64]:
    """Of a coded trial's result file the packets that did not arrive: subflow and number, a row each."""
    header, rest = _parted(path)
    count = header.get("missing", 0) * MISSING_COLUMNS
    if len(rest) % 8 or count > len(rest) // 8:
        raise DstccError(f"{path}: the guest's result is cut short")
    return _rows(np.frombuffer(rest[len(rest) - 8 * count :], dtype=np.int64), MISSING_COLUMNS)


def _rows(numbers: NDArray[np.int64], columns: int) -> NDArray[np.int64]:
    return numbers.reshape(len(numbers) // columns, columns)


def _columns(rows: NDArray[np.int64]) -> list[Any]:
    return [np.ascontiguousarray(column) for column in rows.T]


def _parted(path: Path) -> tuple[dict[str, Any], bytes]:
    """A result's heading, whose every value is what it has to be, and its numbers."""
    head, _, rest = read_bytes(path, DstccError, MOST_BYTES, follow=False).partition(b"\n")
    try:
        header = _Heading.model_validate_json(head).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"][:2]))
        if not place:
            raise DstccError(f"{path}: the guest's result has no heading") from None
        raise DstccError(f"{path}: the guest's result: {place}: {first['msg']}") from None
    if ("blocks" in header) != ("missing" in header):
        raise DstccError(f"{path}: the guest's result: blocks and missing: one stands without the other")
    return header, rest


def _check_numbers(path: Path, numbers: NDArray[np.int64], objects: int, scale: float) -> None:
    """Raise for times beyond all clocks, which would turn over in mission time, and for paces that are none."""
    rows = _rows(numbers[:objects], OBJECT_COLUMNS)
    samples = _rows(numbers[objects:], SAMPLE_COLUMNS)
    times = np.concatenate([rows[:, :3].ravel(), samples[:, (0, 4, 5)].ravel()])
    paces = np.ascontiguousarray(samples[:, PACING]).view(np.float64)
    if times.size and times.max() > MOST_NS / max(scale, 1.0):
        raise DstccError(f"{path}: the guest's result has a time of {times.max()} ns, which no clock shows")
    if not np.isfinite(paces).all() or (paces < 0).any():
        raise DstccError(f"{path}: the guest's result has a pace that is no number")


def _coding_rows(header: dict[str, Any]) -> tuple[int, int, int]:
    """Numbers about blocks, layers' parts and missing packets that a coded trial has behind its samples."""
    if "blocks" not in header:
        return 0, 0, 0
    return (
        header["blocks"] * BLOCK_COLUMNS,
        header["objects"] * PART_COLUMNS,
        header["missing"] * MISSING_COLUMNS,
    )


def _coding(numbers: NDArray[np.int64], rows: tuple[int, int, int], scale: float) -> CodingResults:
    blocks = _rows(numbers[: rows[0]], BLOCK_COLUMNS)
    parts = _rows(numbers[rows[0] : rows[0] + rows[1]], PART_COLUMNS)
    source, repair, planned, repair_bytes, arrived, decoded, whole = _columns(blocks)
    decoded = _mission(decoded, scale)
    return CodingResults(source, repair, planned, repair_bytes, arrived, decoded, whole, *_columns(parts))


def _objects(rows: NDArray[np.int64], scale: float) -> ObjectResults:
    times = [_mission(rows[:, column], scale) for column in range(3)]
    return ObjectResults(*times, *_columns(rows[:, 3:]))


def _samples(rows: NDArray[np.int64], config: EngineConfig, end_ns: int) -> Samples:
    """Slots end at whole multiples of the mission's slot, the last one perhaps before."""
    slot, scale = slot_ns(config), config.transport.scale
    whole = rows[:, 0] % slot == 0
    t_ns = np.where(whole, rows[:, 0] // slot * config.slot_ns, end_ns)
    pacing = np.ascontiguousarray(rows[:, PACING]).view(np.float64) / scale
    times = [_mission(rows[:, column], scale) for column in (4, 5)]
    values = [t_ns, *_columns(rows[:, 1:4]), *times, *_columns(rows[:, 6:PACING]), pacing]
    return Samples(*values)


def _totals(header: dict[str, Any], scale: float) -> TransportStats:
    first, last = header["first_send_ns"], header["last_delivery_ns"]
    wait = header["queue_p95_s"]
    return TransportStats(
        **{f"{name}_bytes": header[f"{name}_bytes"] for name in BYTES},
        **{name: header[name] for name in ("rtt_samples", "data_packets", *COUNTS) if name in header},
        hol_wait_byte_s=header["hol_wait_byte_s"] * scale,
        rtt_sum_s=header["rtt_sum_s"] * scale,
        queue_p95_s=math.nan if wait is None else wait * scale,
        first_send_s=first * scale / 1e9 if first >= 0 else math.nan,
        last_delivery_s=last * scale / 1e9 if last >= 0 else math.nan,
    )


def _mission(times_ns: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Negative stays: it never happened."""
    mission: NDArray[np.int64] = np.where(times_ns < 0, times_ns, np.round(times_ns * scale).astype(np.int64))
    return mission
