"""Captures and logs of packets that are made up here: each field of each header, by the RFCs, and each record."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dpkt
import numpy as np
import pytest

from dstcc.engine import Connection, Trace
from dstcc.engine.config import Ends
from dstcc.run.capture import sender_links, write_capture
from dstcc.run.datagrams import Datagrams
from dstcc.run.qlog import NO_WINDOW, write_qlog
from dstcc.version import __version__
from tests.run.test_packet_logs import read

MSS = 1000
DATA_SENT, DATA_ARRIVED, ACK_SENT, ACK_ARRIVED = range(4)
CARRIED, LOST, DROPPED = range(3)
SYN, ACK = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK


def trace(*rows: dict[str, Any], transport: str = "tcp", senders: int = 2, ranges: Any = ()) -> Trace:
    """A row of what is given of it; ``ranges`` are (row, begin, end)."""
    none: dict[str, Any] = {
        "fate": 0,
        "syn": 0,
        "kind": 0,
        "sender": 0,
        "number": 0,
        "bytes": 0,
        "object": -1,
        "order": -1,
    }
    none |= {"checkpoint": 0, "sack": [[0, 0]] * 3}
    columns = {name: np.array([(none | row)[name] for row in rows]) for name in ("t_ns", "event", *none)}
    named = np.array([[begin, end] for _, begin, end in ranges], dtype=np.int64).reshape(-1, 2)
    return Trace(
        **columns,
        transport=transport,
        senders=senders,
        range_row=np.array([row for row, _, _ in ranges], dtype=np.int64),
        ranges=named,
    )


def event(t_ns: int, event: int, **more: Any) -> dict[str, Any]:
    return {"t_ns": t_ns, "event": event, **more}


def links(*subflows: int, flows: int = 0) -> Any:
    """Named a, b ..; the last has background flows."""
    made = [SimpleNamespace(name="abc"[n], subflows=count, flows=()) for n, count in enumerate(subflows)]
    made[-1].flows = (None,) * flows
    return made


TCP = trace(
    event(10, DATA_SENT, syn=1, sender=1),
    event(20, DATA_ARRIVED, syn=1, sender=1),
    event(30, ACK_SENT, syn=1, sender=1),
    event(40, ACK_ARRIVED, syn=1, sender=1),
    event(50, DATA_SENT, sender=1, number=0, bytes=1000, object=0, order=0),
    event(51, DATA_SENT, fate=LOST, sender=1, number=1, bytes=700, object=0, order=1),
    event(52, DATA_SENT, fate=DROPPED, sender=1, number=2, bytes=1000, object=1, order=2),
    event(53, DATA_SENT, sender=1, number=3, bytes=400, object=1, order=3),
    event(60, DATA_ARRIVED, sender=1, number=0, bytes=1000),
    event(63, DATA_ARRIVED, sender=1, number=3, bytes=400),
    event(64, ACK_SENT, sender=1, number=1, sack=[[3, 4], [0, 0], [0, 0]]),
    event(74, ACK_ARRIVED, sender=1, number=1, sack=[[3, 4], [0, 0], [0, 0]]),
    event(80, DATA_SENT, sender=1, number=2, bytes=1000, object=1, order=2),
    event(90, DATA_SENT, sender=2, number=0, bytes=500),  # others' flow
    event(95, DATA_ARRIVED, sender=2, number=0, bytes=500),
)
"""Segments of 1,000, 700, 1,000 and 400 bytes: the second is lost, the third dropped by the queue and sent again."""
LAYERS: Any = SimpleNamespace(layer=np.array([0, 1]), payload_bytes=np.array([1700, 1400]))


def capture(folder: Path, given: Any, end: str, *connections: Connection) -> list[Any]:
    write_capture(folder / "one.pcapng", connections, given, end=end, mss_bytes=MSS)
    return read(folder / "one.pcapng")


def connection(of: Trace, *ends: Ends) -> Connection:
    return Connection(of, LAYERS, np.array([4, 7]), ends)


def test_a_senders_link_is_that_of_its_subflow_and_flows_come_last() -> None:
    given = links(2, 1, flows=2)
    given[0].flows = (None,)
    assert sender_links(given) == [0, 0, 1, 0, 1, 1]


def test_every_header_of_tcp(tmp_path: Path) -> None:
    here, there = (
        capture(tmp_path, links(1, 1, flows=1), end, connection(TCP)) for end in ("spacecraft", "earth")
    )

    def said(packets: list[Any]) -> list[tuple[Any, ...]]:
        return [
            (
                at,
                interface,
                p.data.sport,
                p.data.dport,
                p.data.seq,
                p.data.ack,
                p.data.flags,
                len(p.data.opts),
                size,
            )
            for interface, at, size, p in packets
        ]

    # 20 bytes of IP's header and 20 of TCP's; a SYN has 12 of options, a selective ACK 12
    down, up = (1, 40_001, 5201), (1, 5201, 40_001)
    assert said(here) == [
        (10, *down, 0, 0, SYN, 12, 52),
        (40, *up, 0, 1, SYN | ACK, 12, 52),
        (50, *down, 1, 1, ACK, 0, 1040),
        (51, *down, 1001, 1, ACK, 0, 740),
        (53, *down, 2701, 1, ACK, 0, 440),
        (74, *up, 1, 1001, ACK, 12, 52),
        (80, *down, 1701, 1, ACK, 0, 1040),
        (90, 1, 40_002, 5201, 1, 1, ACK, 0, 540),
    ]
    assert said(there) == [
        (20, *down, 0, 0, SYN, 12, 52),
        (30, *up, 0, 1, SYN | ACK, 12, 52),
        (60, *down, 1, 1, ACK, 0, 1040),
        (63, *down, 2701, 1, ACK, 0, 440),
        (64, *up, 1, 1001, ACK, 12, 52),
        (95, 1, 40_002, 5201, 1, 1, ACK, 0, 540),
    ]
    assert dpkt.tcp.parse_opts(here[5][3].data.opts) == [
        (1, b""),
        (1, b""),
        (5, struct.pack(">II", 2701, 3101)),
    ]
    assert here[0][3].data.opts == bytes([2, 4, MSS >> 8, MSS & 255, 4, 2, 1, 1, 1, 3, 3, 14])
    for _, _, size, packet in (*here, *there):
        from_earth = packet.data.sport == 5201
        craft, earth = bytes([10, 1, 0, 1]), bytes([10, 1, 0, 2])
        assert (packet.src, packet.dst) == ((earth, craft) if from_earth else (craft, earth))
        assert (packet.v, packet.hl, packet.tos, packet.len, packet.p, packet.ttl) == (4, 5, 0, size, 6, 64)
        assert packet.df == 1 and packet.mf == packet.offset == 0 and dpkt.in_cksum(bytes(packet)[:20]) == 0
        assert (packet.data.win, packet.data.urp, packet.data.sum) == (65_535, 0, 0)
        assert packet.data.off * 4 == 20 + len(packet.data.opts)
    assert [packet.id for *_, packet in there] == [1, 2, 8, 9, 10, 14], "the row of each"


def test_a_second_connection_has_ports_of_its_own(tmp_path: Path) -> None:
    later = trace(event(200, DATA_SENT, sender=1, number=0, bytes=1000), senders=2)
    found = capture(tmp_path, links(1, 1, flows=1), "spacecraft", connection(TCP), connection(later))
    assert (found[-1][1], found[-1][3].data.sport) == (200, 40_003)


def test_of_relayed_senders_the_ends_of_the_path_see_their_own(tmp_path: Path) -> None:
    """The first sender goes from the spacecraft to a node, the second from there to Earth, both on the second path."""
    rows = [
        event(at, what, sender=sender, number=0, bytes=1000)
        for at, what, sender in (
            (1, DATA_SENT, 0),
            (2, DATA_ARRIVED, 0),
            (3, DATA_SENT, 1),
            (4, DATA_ARRIVED, 1),
        )
    ]
    ends = (Ends(1, last=False), Ends(1, first=False))
    for end, at_ns in (("spacecraft", 1), ("earth", 4)):
        (one,) = capture(tmp_path, links(1, 1), end, connection(trace(*rows), *ends))
        assert (one[0], one[1]) == (1, at_ns)


def test_an_interface_is_a_link_of_one_end(tmp_path: Path) -> None:
    capture(tmp_path, links(1, 1, flows=1), "spacecraft", connection(TCP))
    names = (tmp_path / "one.pcapng").read_bytes()
    assert b"a spacecraft" in names and b"b spacecraft" in names


def test_large_numbers_wrap_and_large_sizes_are_as_large_as_fit(tmp_path: Path) -> None:
    """TCP's sequence numbers have 32 bits, an IP packet and a segment size 16."""
    big = 1 << 30
    sent = [event(n, DATA_SENT, number=n, bytes=big) for n in range(5)]
    of = connection(trace(*sent, event(9, DATA_SENT, syn=1), event(10, ACK_ARRIVED, number=4), senders=1))
    write_capture(tmp_path / "one.pcapng", [of], links(1), end="spacecraft", mss_bytes=70_000)
    packets = [packet for *_, packet in read(tmp_path / "one.pcapng")]
    assert [packet.data.seq for packet in packets[:5]] == [1, 1 + big, 1 + 2 * big, 1 + 3 * big, 1]
    assert packets[0].len == 65_535 and packets[6].data.ack == 1
    assert all(dpkt.in_cksum(bytes(packet)[:20]) == 0 for packet in packets), "with a carry"
    assert packets[5].data.opts[2:4] == b"\xff\xff"


# -------------------------------------------------------------------------------------------------------------- qlog


def samples(*rows: tuple[int, int, int, int, int, int, int]) -> Any:
    """Time, subflow, window, in flight, smoothed and least round trip, lost."""
    names = (
        "t_ns",
        "subflow",
        "cwnd_segments",
        "inflight_segments",
        "srtt_ns",
        "min_rtt_ns",
        "lost_segments",
    )
    return SimpleNamespace(
        **{name: np.array([row[n] for row in rows], dtype=np.int64) for n, name in enumerate(names)}
    )


def records(
    folder: Path, of: list[Connection], rows: Any, version: str = "0.3"
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    write_qlog(folder / "one.qlog", "cubic/s1", of, rows, mss_bytes=MSS, version=version)
    text = (folder / "one.qlog").read_text()
    assert text.startswith("\x1e") and text.endswith("\n") and ", " not in text
    head, *others = [json.loads(one) for one in text[1:].split("\x1e")]
    return head, others


def sent(at_ms: float, group: str, size: int, fate: str, frames: list[Any], **header: Any) -> dict[str, Any]:
    header = {"packet_type": "1RTT", **header}
    data = {"header": header, "raw": {"length": size}, "frames": frames, "fate": fate}
    return {"time": at_ms, "name": "transport:packet_sent", "group_id": group, "data": data}


def received(at_ms: float, group: str, frame: Any, kind: str = "1RTT") -> dict[str, Any]:
    data = {"header": {"packet_type": kind}, "frames": [frame]}
    return {"time": at_ms, "name": "transport:packet_received", "group_id": group, "data": data}


def stream(layer: int, length: int, **more: int) -> dict[str, Any]:
    return {"frame_type": "stream", "stream_id": layer, **more, "length": length}


FLYING, LOST_ON, DROPPED_BY = "in flight", "lost on the link", "dropped by the queue"


def test_every_record_of_tcp(tmp_path: Path) -> None:
    rows = samples(
        (45, 0, 5, 2, 0, 0, 0),  # no connection yet
        (55, 1, 10, 3, 3_500_000, 2_000_000, 4),
        (75, 1, NO_WINDOW, 1, 3_500_000, 2_000_000, 0),
        (76, 1, NO_WINDOW - 1, 1, 3_500_000, 2_000_000, 0),
    )
    head, found = records(tmp_path, [connection(TCP)], rows)
    assert head == {
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": "cubic/s1",
        "trace": {
            "title": "cubic/s1",
            "vantage_point": {"name": f"dstcc {__version__}", "type": "client"},
            "common_fields": {"protocol_type": ["TCP"], "time_format": "relative", "reference_time": 0},
        },
    }

    def metrics(at_ms: float, flying: int, lost: int, **window: int) -> dict[str, Any]:
        data = {
            **window,
            "bytes_in_flight": flying,
            "smoothed_rtt": 3.5,
            "min_rtt": 2.0,
            "packets_lost_in_slot": lost,
        }
        return {"time": at_ms, "name": "recovery:metrics_updated", "group_id": "subflow-1", "data": data}

    one = "subflow-1"
    assert found == [
        sent(1e-5, one, 0, FLYING, [], packet_type="initial", packet_number=0),
        received(4e-5, one, {"frame_type": "ack", "acked_ranges": []}, "initial"),
        sent(5e-5, one, 1000, FLYING, [stream(4, 1000)], packet_number=0),
        sent(5.1e-5, one, 700, LOST_ON, [stream(4, 700)], packet_number=1),
        sent(5.2e-5, one, 1000, DROPPED_BY, [stream(7, 1000)], packet_number=2),
        sent(5.3e-5, one, 400, FLYING, [stream(7, 400)], packet_number=3),
        metrics(5.5e-5, 3000, 4, congestion_window=10_000),
        received(7.4e-5, one, {"frame_type": "ack", "acked_ranges": [[0, 0], [3, 3]]}),
        metrics(7.5e-5, 1000, 0),
        metrics(7.6e-5, 1000, 0, congestion_window=(NO_WINDOW - 1) * MSS),
        sent(8e-5, one, 1000, FLYING, [stream(7, 1000)], packet_number=2),
        sent(9e-5, "subflow-2", 500, FLYING, [stream(-1, 500)], packet_number=0),
    ]


def test_the_newer_format_says_what_it_is(tmp_path: Path) -> None:
    head, found = records(tmp_path, [connection(TCP)], samples((55, 1, 1, 1, 1, 1, 0)), "0.4")
    assert head == {
        "qlog_version": "0.4",
        "qlog_format": "JSON-SEQ",
        "title": "cubic/s1",
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "trace": {
            "title": "cubic/s1",
            "vantage_point": {"name": f"dstcc {__version__}", "type": "client"},
            "common_fields": {
                "protocol_type": ["TCP"],
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
            },
            "event_schemas": ["urn:ietf:params:qlog:events:quic-13"],
        },
    }
    assert {one["name"] for one in found} == {
        "quic:packet_sent",
        "quic:packet_received",
        "quic:recovery_metrics_updated",
    }


def test_coded_packets_are_layers_repair_or_probes(tmp_path: Path) -> None:
    of = trace(
        event(1, DATA_SENT, number=0, bytes=900, object=1, order=5),
        event(2, DATA_SENT, number=1, bytes=800, order=(3 << 24) + 6),  # block 6, word 3
        event(3, DATA_SENT, number=2, order=0xFFFF_FFFF),
        event(4, ACK_ARRIVED, number=9),
        event(5, DATA_SENT, sender=1, number=0, bytes=70, order=6),  # others' flow
        transport="coded",
        senders=1,
        ranges=[(3, 0, 2), (3, 4, 5)],
    )
    head, found = records(tmp_path, [connection(of)], samples())
    assert head["trace"]["common_fields"]["protocol_type"] == ["UDP"]
    zero = "subflow-0"
    assert found == [
        sent(1e-6, zero, 900, FLYING, [stream(7, 900)], packet_number=0),
        sent(2e-6, zero, 800, FLYING, [{"frame_type": "repair", "block": 6, "length": 800}], packet_number=1),
        sent(3e-6, zero, 0, FLYING, [{"frame_type": "ping"}], packet_number=2),
        received(4e-6, zero, {"frame_type": "ack", "acked_ranges": [[0, 1], [4, 4]]}),
        sent(5e-6, "subflow-1", 70, FLYING, [stream(-1, 70)], packet_number=0),
    ]


def test_segments_of_ltp_by_what_they_are(tmp_path: Path) -> None:
    """Kinds as the engine names them: of what is sent data, a matrix's member, repair, a report's acknowledgement, a
    cancellation and the acknowledgement of a refusal; of what comes back a report, a cancellation's acknowledgement, a
    refusal and feedback."""
    down = [
        {"kind": 0, "number": 2, "bytes": 500, "object": 1},
        {"kind": 8, "number": 3, "bytes": 500, "object": 1, "checkpoint": 3},  # green, and a checkpoint
        {"kind": 1, "number": 0, "bytes": 500, "object": 0, "order": 9},
        {"kind": 2, "bytes": 510, "order": 9},
        {"kind": 3, "number": 4, "object": 1},
        {"kind": 4, "number": 4, "object": 1},
        {"kind": 5, "number": 4, "object": 0},
    ]
    up = [
        {"kind": 0, "number": 4, "object": 1, "checkpoint": 3},
        {"kind": 8, "number": 5, "object": 1, "checkpoint": 3},  # waited for its matrix
        {"kind": 1, "number": 4, "object": 1},
        {"kind": 2, "number": 4, "object": 1},
        {"kind": 3, "number": 6, "order": 9},
    ]
    rows = [event(at, DATA_SENT, **one) for at, one in enumerate(down)]
    rows += [event(100 + at, ACK_ARRIVED, **one) for at, one in enumerate(up)]
    rows.append(event(200, DATA_SENT, sender=1, number=3, bytes=70))
    ranges = [(7, 0, 4), (7, 0, 2), (7, 3, 4), (8, 2, 4)]
    of = connection(trace(*rows, transport="ltp", senders=1, ranges=ranges))
    _, found = records(tmp_path, [of], samples((300, 0, 10, 3, 3_000_000, 2_000_000, 0)))
    frames = [one["data"]["frames"][0] for one in found[:-1]]
    assert frames == [
        stream(7, 500, offset=2000),
        {**stream(7, 500, offset=3000), "checkpoint": 3},
        stream(4, 500, offset=0),
        {"frame_type": "repair", "block": 9, "length": 510},
        {"frame_type": "report_ack", "stream_id": 7, "report": 5},
        {"frame_type": "cancel", "stream_id": 7},
        {"frame_type": "refusal_ack", "stream_id": 4},
        {
            **{"frame_type": "report", "stream_id": 7, "report": 5, "checkpoint": 3},
            **{"scope": [0, 3], "acked_ranges": [[0, 1], [3, 3]]},
        },
        {
            **{"frame_type": "report", "stream_id": 7, "report": 6, "checkpoint": 3},
            **{"scope": [2, 3], "acked_ranges": []},
        },
        {"frame_type": "cancel_ack", "stream_id": 7},
        {"frame_type": "refusal", "stream_id": 7},
        {"frame_type": "feedback", "block": 9, "segments": 6},
        stream(-1, 70),
    ]
    numbers = [one["data"]["header"]["packet_number"] for one in found if one["name"].endswith("sent")]
    assert numbers == [0, 1, 2, 3, 4, 5, 6, 3], "places among what was sent; of others the segment's"
    assert "congestion_window" not in found[-1]["data"]


def test_a_restarts_records_have_groups_of_their_own(tmp_path: Path) -> None:
    first = trace(event(100, DATA_SENT, number=0, bytes=10), senders=1)
    second = trace(event(200, DATA_SENT, number=0, bytes=10), event(300, ACK_ARRIVED, number=1), senders=1)
    rows = samples(*((at, 0, 1, 1, 1, 1, 0) for at in (50, 199, 200)))
    _, found = records(tmp_path, [connection(first), connection(second)], rows)
    groups = [(round(one["time"] * 1e6), one["group_id"]) for one in found]
    assert groups == [
        (50, "subflow-0"),
        (100, "subflow-0"),
        (199, "subflow-0"),
        (200, "subflow-0-1"),
        (200, "subflow-0-1"),
        (300, "subflow-0-1"),
    ]


def test_of_relayed_senders_those_that_begin_at_the_spacecraft_are_logged(tmp_path: Path) -> None:
    rows = [event(1, DATA_SENT, number=0, bytes=10), event(2, DATA_SENT, sender=1, number=0, bytes=10)]
    here = connection(trace(*rows), Ends(1, last=False), Ends(0))
    onward = connection(trace(*rows), Ends(0, first=False), Ends(0))
    _, found = records(tmp_path, [here, onward], samples())
    assert [one["group_id"] for one in found] == ["subflow-1", "subflow-0"]


@pytest.mark.parametrize("version", ["0.3", "0.4"])
def test_a_log_without_samples_is_one(tmp_path: Path, version: str) -> None:
    assert len(records(tmp_path, [connection(TCP)], samples(), version)[1]) == 9


# --------------------------------------------------------------------------------------------------- coded datagrams


def test_places_of_packets_in_their_words(tmp_path: Path) -> None:
    """Source and repair packets of a word are counted apart, those of a block for its repair, a layer's bytes by where
    they begin; words have places below 256."""
    word = 3 << 24

    def source(at: int, order: int, layer: int, size: int) -> dict[str, Any]:
        return event(at, DATA_SENT, number=at, bytes=size, object=layer, order=order)

    def repair(at: int, order: int) -> dict[str, Any]:
        return event(at, DATA_SENT, number=at, bytes=900, order=order)

    rows = [source(0, 6, 1, 1000), source(1, 6, 1, 400), repair(2, 6), source(3, word + 6, 0, 700)]
    rows += [repair(4, word + 6), repair(5, 6), repair(6, 7), source(7, 6, 0, 1000)]
    of = trace(*rows, transport="coded", senders=1)
    made = Datagrams(of, LAYERS, MSS)
    heads = [made[row].header for row in range(8)]
    for row, head in enumerate(heads):
        magic, kind, sender, crc, number, at_ns = struct.unpack_from("<HBBIIq", head)
        assert (magic, sender, crc, number, at_ns) == (0xD5CD, 0, 0, row, row)
        assert kind == (2 if row in (2, 4, 5, 6) else 1)
        assert (made[row].craft_port, made[row].earth_port) == (20_000, 5000)
    # block, word, place, and of a repair packet how many source packets of its block there were
    assert [struct.unpack_from("<IBBH", head, 20) for head in heads] == [
        *[
            (6, 0, 0, 0),
            (6, 0, 1, 0),
            (6, 0, 0, 2),
            (6, 3, 0, 0),
            (6, 3, 0, 3),
            (6, 0, 1, 3),
            (7, 0, 0, 0),
            (6, 0, 2, 0),
        ],
    ]
    # layer, first byte, the layer's bytes, those of this packet
    pieces = [struct.unpack_from("<IIIHH", heads[row], 28) for row in (0, 1, 3, 7)]
    assert pieces == [
        (1, 0, 1400, 1000, 0),
        (1, 1000, 1400, 400, 0),
        (0, 0, 1700, 700, 0),
        (0, 1000, 1700, 1000, 0),
    ]
    assert [len(head) for head in heads] == [44, 44, 28, 44, 28, 28, 28, 44]
    assert [made[row].payload for row in range(8)] == [1000, 400, 916, 700, 916, 916, 916, 1000]


def test_an_answer_says_how_long_a_syn_took_and_an_ack_what_came() -> None:
    """Packets 0 to 2 and 9 came, 9 at 45 ns; the ACK at 60 ns names 9, then three, of which it lacks six."""
    came = [(10, 0), (12, 1), (14, 2), (45, 9)]
    rows = [
        event(1, DATA_SENT, syn=1),
        *(
            event(2 + n, DATA_SENT, number=number, bytes=100, object=0, order=1)
            for n, (_, number) in enumerate(came)
        ),
        event(8, DATA_ARRIVED, syn=1),
        event(9, ACK_SENT, syn=1),
        *(event(at, DATA_ARRIVED, number=number, bytes=100) for at, number in came),
        event(60, ACK_SENT),
        event(70, ACK_ARRIVED, syn=1),
        event(80, ACK_ARRIVED),
    ]
    ranges = [(11, 0, 3), (11, 9, 10)]
    made = Datagrams(trace(*rows, transport="coded", senders=1, ranges=ranges), LAYERS, MSS, (50, 60, 61))
    kind, began_ns, took_ns = struct.unpack_from("<xxBxxxxxqq", made[6].header)
    assert (kind, began_ns, took_ns) == (5, 1, 8) and made[12] == made[6]
    ack = made[11]
    assert struct.unpack_from("<xxBxxxxxIqqHHI", ack.header) == (6, 10, 15, 40, 2, 1, 1)
    # six missing before it, three packets; then which of three layers are there by now
    assert ack.header[36:] == struct.pack("<HH", 6, 3) + bytes([0b011]) and made[13] == ack


def test_a_hole_that_is_too_wide_ends_an_ack() -> None:
    far = 100_000
    numbers = [0, far, far + 65_535 + 1, far + 65_535 + 2]
    rows = [
        event(n, DATA_SENT, number=number, bytes=1, object=0, order=1) for n, number in enumerate(numbers)
    ]
    rows += [event(10 + n, DATA_ARRIVED, number=number, bytes=1) for n, number in enumerate(numbers)]
    rows.append(event(20, ACK_SENT))
    last = numbers[-1]
    for ranges, said in (
        ([(0, 1), (far, far + 1), (last - 1, last + 1)], [(65_535, 1)]),  # 98,999 missing further on
        ([(far, far + 1), (last, last + 1)], []),
        ([(0, 1), (2, 65_537), (last, last + 1)], []),
        ([(0, 1), (last - 65_600, last - 50), (last, last + 1)], [(50, 65_535)]),
    ):
        named = [(8, begin, end) for begin, end in ranges]
        made = Datagrams(trace(*rows, transport="coded", senders=1, ranges=named), LAYERS, MSS)
        assert made[8].header[36:] == b"".join(struct.pack("<HH", *one) for one in said)
        assert struct.unpack_from("<H", made[8].header, 28) == (1 + len(said),)
