"""A trial as qlog (JSON text sequences, RFC 7464), for qvis and scripts.

One record a packet event and one a subflow and slot, distinguished by ``group_id`` ``subflow-N``. The vantage
point is the spacecraft's: data sent, acknowledgements received, the window. Names are those of the QUIC event
schema that tools know; a packet number is a segment number. Times are milliseconds of mission time.

Two versions of the format: ``0.3`` (draft-ietf-quic-qlog-main-schema-02, and the names of events of
draft-ietf-quic-qlog-quic-events-01), which public qvis reads, and ``0.4`` (drafts from 07 on: ``quic:packet_sent``,
with the later drafts' ``file_schema`` and ``event_schemas`` beside it).
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.engine import Samples, Trace
from dstcc.version import __version__

from .datagrams import ACK_ARRIVED, DATA_SENT, WORD_AT
from .datagrams import U32 as PROBES

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
Event = tuple[int, dict[str, Any]]


def write_qlog(
    path: Path, title: str, trace: Trace, samples: Samples, *, mss_bytes: int, version: str = VERSIONS[0]
) -> None:
    """Write the log of a trial named ``title`` in one of :data:`VERSIONS`."""
    sent, received, metrics = NAMES[version]
    events = heapq.merge(
        _packets(trace, sent, received), _windows(samples, mss_bytes, metrics), key=lambda event: event[0]
    )
    with path.open("w", encoding="utf-8") as file:
        _put(file, _head(title, version, "UDP" if trace.transport == "coded" else "TCP"))
        for _, record in events:
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


def _record(t_ns: int, sender: int, name: str, data: dict[str, Any]) -> Event:
    return t_ns, {"time": t_ns / NS_PER_MS, "name": name, "group_id": f"subflow-{sender}", "data": data}


def _packets(trace: Trace, sent: str, received: str) -> Iterator[Event]:
    columns = (trace.t_ns, trace.event, trace.fate, trace.syn, trace.sender, trace.number, trace.bytes)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    named = np.searchsorted(trace.range_row, np.arange(len(trace.t_ns) + 1))
    for row, (t_ns, event, fate, syn, sender, number, size) in enumerate(rows):
        kind = "initial" if syn else "1RTT"
        if event == DATA_SENT:
            header = {"packet_type": kind, "packet_number": number}
            frames = [] if syn else [_frame(trace, row, sender, size)]
            yield _record(
                t_ns,
                sender,
                sent,
                {"header": header, "raw": {"length": size}, "frames": frames, "fate": FATES[fate]},
            )
        elif event == ACK_ARRIVED:
            yield _record(
                t_ns,
                sender,
                received,
                {
                    "header": {"packet_type": kind},
                    "frames": [{"frame_type": "ack", "acked_ranges": _acked(trace, row, named)}],
                },
            )


def _frame(trace: Trace, row: int, sender: int, size: int) -> dict[str, Any]:
    """A layer's bytes; of coded layers also repair, by its block, or a probe."""
    which, order = int(trace.object[row]), int(trace.order[row])
    if which >= 0 or trace.transport != "coded" or sender >= trace.senders:
        return {"frame_type": "stream", "stream_id": which, "length": size}
    if order == PROBES:
        return {"frame_type": "ping"}
    return {"frame_type": "repair", "block": order & (1 << WORD_AT) - 1, "length": size}


def _acked(trace: Trace, row: int, named: NDArray[np.int64]) -> list[list[int]]:
    """Acknowledged segment numbers, both ends included; ``named``: where the ranges of each row begin."""
    if named[row] < named[row + 1]:
        return [[begin, end - 1] for begin, end in trace.ranges[named[row] : named[row + 1]].tolist()]
    ranges = [[0, int(trace.number[row]) - 1]] if trace.number[row] > 0 else []
    return ranges + [[begin, end - 1] for begin, end in trace.sack[row].tolist() if end > begin]


def _windows(samples: Samples, mss_bytes: int, name: str) -> Iterator[Event]:
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
            **({"congestion_window": cwnd * mss_bytes} if cwnd < NO_WINDOW else {}),
            "bytes_in_flight": inflight * mss_bytes,
            "smoothed_rtt": srtt / NS_PER_MS,
            "min_rtt": least / NS_PER_MS,
            "packets_lost_in_slot": lost,
        }
        yield _record(t_ns, subflow, name, data)
