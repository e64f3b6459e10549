"""A trial as qlog (JSON text sequences, RFC 7464), for qvis and scripts.

One record a packet event and one a subflow and slot, distinguished by ``group_id`` ``subflow-N``, after the sender's
Kth restart ``subflow-N-K``. The vantage point is the spacecraft's: data sent, acknowledgements received, the window.
Names are those of the QUIC event schema that tools know; a packet number is a segment number, of LTP the place among
what was sent. Times are milliseconds of mission time.

Two versions of the format: ``0.3`` (draft-ietf-quic-qlog-main-schema-02, and the names of events of
draft-ietf-quic-qlog-quic-events-01), which public qvis reads, and ``0.4`` (drafts from 07 on: ``quic:packet_sent``,
with the later drafts' ``file_schema`` and ``event_schemas`` beside it).
"""

from __future__ import annotations

import heapq
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dstcc.engine import Connection, Samples, Trace
from dstcc.version import __version__

from .datagrams import ACK_ARRIVED, DATA_SENT, WORD_AT, ranges_from
from .datagrams import U32 as PROBES
from .segments import (
    BESIDES,
    CANCEL,
    CANCEL_ACK,
    DATA,
    FEEDBACK,
    MEMBER,
    REFUSAL,
    REFUSAL_ACK,
    REPAIR,
    REPORT,
    REPORT_ACK,
)

RECORD_SEPARATOR = "\x1e"
NS_PER_MS = 1e6
FATES = ("in flight", "lost on the link", "dropped by the queue")
VERSIONS = ("0.3", "0.4")
NAMES = {
    "0.3": ("transport:packet_sent", "transport:packet_received", "recovery:metrics_updated"),
    "0.4": ("quic:packet_sent", "quic:packet_received", "quic:recovery_metrics_updated"),
}
"""Names of the three events in each version."""
NO_WINDOW = 1 << 40
"""Segments, of a control that sets a rate alone."""
DOWN = {REPORT_ACK: "report_ack", CANCEL: "cancel", REFUSAL_ACK: "refusal_ack"}
UP = {REPORT: "report", CANCEL_ACK: "cancel_ack", REFUSAL: "refusal", FEEDBACK: "feedback"}
"""Frames of LTP."""
Event = tuple[int, dict[str, Any]]


def write_qlog(
    path: Path,
    title: str,
    connections: Sequence[Connection],
    samples: Samples,
    *,
    mss_bytes: int,
    version: str = VERSIONS[0],
) -> None:
    """Write the log of a trial named ``title`` in one of :data:`VERSIONS`."""
    sent, received, metrics = NAMES[version]
    connections = [one for one in connections if all(at.first for at in one.ends)]
    transport = connections[0].trace.transport
    begins = [int(one.trace.t_ns[0]) for one in connections]
    packets = [
        _packets(connection, _Names(sent, received, number), mss_bytes)
        for number, connection in enumerate(connections)
    ]
    windows = _windows(samples, mss_bytes, metrics, begins, windowed=transport != "ltp")
    with path.open("w", encoding="utf-8") as file:
        _put(file, _head(title, version, "TCP" if transport == "tcp" else "UDP"))
        for _, record in heapq.merge(*packets, windows, key=lambda event: event[0]):
            _put(file, record)


def _head(title: str, version: str, below: str) -> dict[str, Any]:
    common: dict[str, Any] = {"protocol_type": [below], "time_format": "relative", "reference_time": 0}
    trace: dict[str, Any] = {
        "title": title,
        "vantage_point": {"name": f"dstcc {__version__}", "type": "client"},
        "common_fields": common,
    }
    head = {"qlog_version": version, "qlog_format": "JSON-SEQ", "title": title}
    if version == "0.4":
        head |= {
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
        }
        trace["event_schemas"] = ["urn:ietf:params:qlog:events:quic-13"]
        common |= {
            "time_format": "relative_to_epoch",
            "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
        }
    return head | {"trace": trace}


def _put(file: Any, record: dict[str, Any]) -> None:
    file.write(f"{RECORD_SEPARATOR}{json.dumps(record, separators=(',', ':'))}\n")


def _record(t_ns: int, group: str, name: str, data: dict[str, Any]) -> Event:
    return t_ns, {"time": t_ns / NS_PER_MS, "name": name, "group_id": group, "data": data}


class _Names(NamedTuple):
    """Of the events of a connection, which has a number."""

    sent: str
    received: str
    connection: int

    def group(self, sender: int) -> str:
        return _group(sender, self.connection)


def _group(sender: int, connection: int) -> str:
    return f"subflow-{sender}" if connection == 0 else f"subflow-{sender}-{connection}"


def _packets(of: Connection, names: _Names, mss_bytes: int) -> Iterator[Event]:
    trace = of.trace
    columns = (trace.t_ns, trace.event, trace.fate, trace.syn, trace.sender, trace.number, trace.bytes)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    named = ranges_from(trace)
    left: Counter[int] = Counter()
    for row, (t_ns, event, fate, syn, place, number, size) in enumerate(rows):
        sender = of.ends[place].path if of.ends else place
        kind = "initial" if syn else "1RTT"
        ltp = trace.transport == "ltp" and place < trace.senders
        if event == DATA_SENT:
            header = {"packet_type": kind, "packet_number": left[sender] if ltp else number}
            left[sender] += 1
            frames = [] if syn else [_segment(of, row, size, mss_bytes)] if ltp else _frames(of, row, size)
            sent = {"header": header, "raw": {"length": size}, "frames": frames, "fate": FATES[fate]}
            yield _record(t_ns, names.group(sender), names.sent, sent)
        elif event == ACK_ARRIVED:
            came = (
                _answer(of, row, named)
                if ltp
                else {"frame_type": "ack", "acked_ranges": _acked(trace, row, named)}
            )
            heard = {"header": {"packet_type": kind}, "frames": [came]}
            yield _record(t_ns, names.group(sender), names.received, heard)


def _layer(of: Connection, row: int) -> int:
    which = int(of.trace.object[row])
    return int(of.layer[which]) if which >= 0 else which


def _frames(of: Connection, row: int, size: int) -> list[dict[str, Any]]:
    """Layers' bytes; of coded layers also repair, by its block, or a probe."""
    trace, which = of.trace, _layer(of, row)
    order = int(trace.order[row])
    if trace.transport == "tcp":
        return [
            {"frame_type": "stream", "stream_id": int(of.layer[one]) if one >= 0 else one, "length": count}
            for one, count in trace.layers_in(row)
        ]
    if which >= 0 or trace.transport != "coded" or trace.sender[row] >= trace.senders:
        return [{"frame_type": "stream", "stream_id": which, "length": size}]
    if order == PROBES:
        return [{"frame_type": "ping"}]
    return [{"frame_type": "repair", "block": order & (1 << WORD_AT) - 1, "length": size}]


def _segment(of: Connection, row: int, size: int, mss_bytes: int) -> dict[str, Any]:
    """What a segment of LTP has."""
    trace, which = of.trace, _layer(of, row)
    kind, serial = int(trace.kind[row]) & ~BESIDES, int(trace.checkpoint[row])
    if kind == REPAIR:
        return {"frame_type": "repair", "block": int(trace.order[row]), "length": size}
    if kind in (DATA, MEMBER):
        offset = int(trace.number[row]) * mss_bytes
        asks = {"checkpoint": serial} if serial else {}
        return {"frame_type": "stream", "stream_id": which, "offset": offset, "length": size, **asks}
    report = {"report": int(trace.number[row]) + 1} if kind == REPORT_ACK else {}
    return {"frame_type": DOWN[kind], "stream_id": which, **report}


def _answer(of: Connection, row: int, named: NDArray[np.int64]) -> dict[str, Any]:
    """What a segment of LTP that came back has; a report the places of a layer's segments in its scope that came."""
    trace, which = of.trace, _layer(of, row)
    kind = int(trace.kind[row]) & ~BESIDES
    if kind == FEEDBACK:
        return {"frame_type": UP[kind], "block": int(trace.order[row]), "segments": int(trace.number[row])}
    if kind != REPORT:
        return {"frame_type": UP[kind], "stream_id": which}
    scope, *came = _acked(trace, row, named)
    return {
        "frame_type": UP[kind],
        "stream_id": which,
        "report": int(trace.number[row]) + 1,
        "checkpoint": int(trace.checkpoint[row]),
        "scope": scope,
        "acked_ranges": came,
    }


def _acked(trace: Trace, row: int, named: NDArray[np.int64]) -> list[list[int]]:
    """Acknowledged segment numbers, both ends included; ``named``: where the ranges of each row begin."""
    if named[row] < named[row + 1]:
        return [[begin, end - 1] for begin, end in trace.ranges[named[row] : named[row + 1]].tolist()]
    ranges = [[0, int(trace.number[row]) - 1]] if trace.number[row] > 0 else []
    return ranges + [[begin, end - 1] for begin, end in trace.sack[row].tolist() if end > begin]


def _windows(
    samples: Samples, mss_bytes: int, name: str, begins: Sequence[int], *, windowed: bool
) -> Iterator[Event]:
    columns = (
        samples.t_ns,
        samples.subflow,
        samples.cwnd_segments,
        samples.inflight_segments,
        samples.srtt_ns,
        samples.min_rtt_ns,
        samples.lost_segments,
    )
    for t_ns, subflow, cwnd, inflight, srtt, least, lost in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        if srtt == 0:
            continue  # no connection yet
        data = {
            **({"congestion_window": cwnd * mss_bytes} if windowed and cwnd < NO_WINDOW else {}),
            "bytes_in_flight": inflight * mss_bytes,
            "smoothed_rtt": srtt / NS_PER_MS,
            "min_rtt": least / NS_PER_MS,
            "packets_lost_in_slot": lost,
        }
        connection = max(bisect_right(begins, t_ns) - 1, 0)
        yield _record(t_ns, _group(subflow, connection), name, data)
