"""A trial as qlog (draft-ietf-quic-qlog-main-schema, JSON text sequences, RFC 7464), for qvis and scripts.

One record a packet event and one a subflow and slot, distinguished by ``group_id`` ``subflow-N``. The vantage
point is the spacecraft's: data sent and lost, acknowledgements received, the window. Names are those of the
QUIC event schema that tools know; a packet number is a segment number. Times are milliseconds of mission time.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dstcc.engine import Samples, Trace

RECORD_SEPARATOR = "\x1e"
NS_PER_MS = 1e6
DATA_SENT, ACK_ARRIVED = 0, 3
FATES = ("in flight", "lost on the link", "dropped by the queue")
Event = tuple[int, dict[str, Any]]


def write_qlog(path: Path, title: str, trace: Trace, samples: Samples, mss_bytes: int) -> None:
    """Write the log of a trial named ``title``."""
    from dstcc.version import __version__

    head = {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "qlog_version": "0.4",
        "qlog_format": "JSON-SEQ",
        "title": title,
        "trace": {
            "common_fields": {"time_format": "relative", "reference_time": 0, "protocol_type": ["TCP"]},
            "vantage_point": {"name": f"dstcc {__version__}", "type": "client"},
        },
    }
    with path.open("w", encoding="utf-8") as file:
        _put(file, head)
        for _, record in heapq.merge(
            _packets(trace), _windows(samples, mss_bytes), key=lambda event: event[0]
        ):
            _put(file, record)


def _put(file: Any, record: dict[str, Any]) -> None:
    file.write(f"{RECORD_SEPARATOR}{json.dumps(record, separators=(',', ':'))}\n")


def _record(t_ns: int, sender: int, name: str, data: dict[str, Any]) -> Event:
    return t_ns, {"time": t_ns / NS_PER_MS, "name": name, "group_id": f"subflow-{sender}", "data": data}


def _packets(trace: Trace) -> Iterator[Event]:
    columns = (trace.t_ns, trace.event, trace.fate, trace.syn, trace.sender, trace.number, trace.bytes)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for row, (t_ns, event, fate, syn, sender, number, size) in enumerate(rows):
        kind = "initial" if syn else "1RTT"
        if event == DATA_SENT:
            header = {"packet_type": kind, "packet_number": number}
            frames = (
                [] if syn else [{"frame_type": "stream", "stream_id": int(trace.object[row]), "length": size}]
            )
            yield _record(
                t_ns,
                sender,
                "transport:packet_sent",
                {"header": header, "raw": {"length": size}, "frames": frames, "fate": FATES[fate]},
            )
        elif event == ACK_ARRIVED:
            yield _record(
                t_ns,
                sender,
                "transport:packet_received",
                {
                    "header": {"packet_type": kind},
                    "frames": [{"frame_type": "ack", "acked_ranges": _acked(trace, row)}],
                },
            )


def _acked(trace: Trace, row: int) -> list[list[int]]:
    """Acknowledged segment numbers, both ends included."""
    ranges = [[0, int(trace.number[row]) - 1]] if trace.number[row] > 0 else []
    return ranges + [[begin, end - 1] for begin, end in trace.sack[row].tolist() if end > begin]


def _windows(samples: Samples, mss_bytes: int) -> Iterator[Event]:
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
            "congestion_window": cwnd * mss_bytes,
            "bytes_in_flight": inflight * mss_bytes,
            "smoothed_rtt": srtt / NS_PER_MS,
            "min_rtt": least / NS_PER_MS,
            "packets_lost_in_slot": lost,
        }
        yield _record(t_ns, subflow, "recovery:metrics_updated", data)
