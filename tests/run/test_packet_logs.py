"""qlog and pcapng: the packets on the links, alike in both."""

from __future__ import annotations

import json
import struct
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import pytest

from dstcc.engine import Coding, Connection, EngineConfig, EngineResult, Loss, Objects, simulate
from dstcc.run.capture import write_capture
from dstcc.run.qlog import write_qlog
from dstcc.wire import ENDS
from tests.engine import net

LINKS = (
    net.link(12e6, 0.1, queue_bdp=0.5, loss=Loss("packet", 0.01), up_loss=Loss("packet", 0.05), name="near"),
    net.link(6e6, 0.3, name="far"),
)


@pytest.fixture(scope="module")
def lossy() -> EngineResult:
    config = net.config("cubic", LINKS, objects=net.bulk(3_000_000), trace=True)
    return simulate(config)


def read(path: Path) -> list[tuple[int, int, int, dpkt.ip.IP]]:
    """Interface, time in ns, wire length and packet of each block."""
    blocks = []
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, size = np.frombuffer(data, "<u4", 2, at)
        if kind == dpkt.pcapng.PCAPNG_BT_EPB:
            block = dpkt.pcapng.EnhancedPacketBlockLE(data[at : at + int(size)])
            time_ns = (block.ts_high << 32 | block.ts_low) - 946_684_800 * 10**9
            blocks.append((block.iface_id, time_ns, block.pkt_len, dpkt.ip.IP(block.pkt_data)))
        at += int(size)
    return blocks


def alone(result: EngineResult, objects: Objects) -> list[Connection]:
    """What is logged of a trial of one connection."""
    assert result.trace is not None
    return [Connection(result.trace, objects, np.arange(len(objects.layer)))]


def captured(result: EngineResult, folder: Path, end: str) -> list[tuple[int, int, int, dpkt.ip.IP]]:
    write_capture(folder / "t.pcapng", alone(result, net.bulk()), LINKS, end=end, mss_bytes=net.MSS)
    return read(folder / "t.pcapng")


def test_a_capture_shows_an_end_what_passed_it(lossy: EngineResult, tmp_path: Path):
    trace = lossy.trace
    there = {end: captured(lossy, tmp_path, end) for end in ENDS}
    for link in (0, 1):
        mine = trace.sender == link
        sent = mine & (trace.event == 0) & (trace.fate != 2)
        passed = {"spacecraft": sent | (mine & (trace.event == 3)),
                  "earth": mine & np.isin(trace.event, (1, 2)) & (trace.fate != 2)}  # fmt: skip
        for end, packets in there.items():
            assert sum(interface == link for interface, *_ in packets) == passed[end].sum()
    assert lossy.totals.lost_channel_packets > 0
    for packets in there.values():
        assert all(before[1] <= after[1] for before, after in pairwise(packets))
    # the file's bytes, by the highest sequence number each subflow reached and the SYN's one
    top = {port: max(p.data.seq + n - 20 - p.data.off * 4 for _, _, n, p in there["spacecraft"] if p.data.sport == port)
           for port in (40_000, 40_001)}  # fmt: skip
    assert sum(top.values()) == 3_000_000 + 2


def test_an_end_sees_a_segment_again_only_when_it_was_sent_again(lossy: EngineResult, tmp_path: Path):
    """What tools call a retransmission: a sequence number that passed by before."""
    data = [
        (p.data.sport, p.data.seq)
        for _, _, _, p in captured(lossy, tmp_path, "spacecraft")
        if p.data.dport == 5201 and not p.data.flags & dpkt.tcp.TH_SYN
    ]
    trace = lossy.trace
    sent = (trace.event == 0) & (trace.fate != 2) & (trace.syn == 0)
    places = set(zip(trace.sender[sent].tolist(), trace.number[sent].tolist(), strict=True))
    assert len(data) - len(set(data)) == sent.sum() - len(places) > 0


def test_the_ends_agree_on_a_scaled_window(lossy: EngineResult, tmp_path: Path):
    for end in ENDS:
        packets = captured(lossy, tmp_path, end)
        syns = [p.data for _, _, _, p in packets if p.data.flags & dpkt.tcp.TH_SYN]
        assert {syn.sport == 5201 for syn in syns} == {True, False}
        for syn in syns:
            assert len(syn.opts) % 4 == 0
            said = {
                code: value for code, value in dpkt.tcp.parse_opts(syn.opts) if code != dpkt.tcp.TCP_OPT_NOP
            }
            assert said == {
                dpkt.tcp.TCP_OPT_MSS: net.MSS.to_bytes(2, "big"),
                dpkt.tcp.TCP_OPT_SACKOK: b"",
                dpkt.tcp.TCP_OPT_WSCALE: b"\x0e",
            }
        assert {p.data.win for _, _, _, p in packets} == {65_535}


def test_a_handshake_is_two_flags_and_all_else_is_acknowledged(lossy: EngineResult, tmp_path: Path):
    """RFC 9293, sections 3.1 and 3.5: SYN, then SYN and ACK; once there is a connection each segment has an ACK."""
    syn, ack = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK
    for end in ENDS:
        flags = {
            (p.data.sport == 5201, bool(p.data.flags & syn)): p.data.flags
            for _, _, _, p in captured(lossy, tmp_path, end)
        }
        assert flags == {(False, True): syn, (True, True): syn | ack, (False, False): ack, (True, False): ack}


def test_a_capture_is_tcp_that_adds_up(lossy: EngineResult, tmp_path: Path):
    highest = {40_000: 0, 40_001: 0}
    sacks = 0
    for _, _, length, ip in captured(lossy, tmp_path, "earth"):
        tcp = ip.data
        assert dpkt.in_cksum(bytes(ip)[:20]) == 0
        assert ip.len == length
        if tcp.sport == 5201:
            if not tcp.flags & dpkt.tcp.TH_SYN:
                assert tcp.ack >= highest[tcp.dport]  # cumulative
                highest[tcp.dport] = tcp.ack
            for code, value in dpkt.tcp.parse_opts(tcp.opts):
                if code == dpkt.tcp.TCP_OPT_SACK:
                    sacks += 1
                    edges = np.frombuffer(value, ">u4")
                    assert (edges[1::2] > edges[::2]).all()
                    assert (edges > tcp.ack).all()
    assert sacks > 0


def logged(result: EngineResult, folder: Path, version: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    path = folder / "t.qlog"
    write_qlog(path, "t", alone(result, LAYERS), result.samples, mss_bytes=net.MSS, version=version)
    text = path.read_text()
    assert text.startswith("\x1e")
    head, *records = [json.loads(line) for line in text.split("\x1e")[1:]]
    return head, records


def test_the_versions_of_a_qlog_differ_in_names_and_head(lossy: EngineResult, tmp_path: Path):
    old, before = logged(lossy, tmp_path, "0.3")
    new, after = logged(lossy, tmp_path, "0.4")
    renamed = {
        "transport:packet_sent": "quic:packet_sent",
        "transport:packet_received": "quic:packet_received",
        "recovery:metrics_updated": "quic:recovery_metrics_updated",
    }
    assert [record | {"name": renamed[record["name"]]} for record in before] == after
    assert old["trace"]["common_fields"]["time_format"] == "relative"
    assert new["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert new["trace"]["common_fields"]["time_format"] == "relative_to_epoch"


def test_a_qlog_counts_every_sending(lossy: EngineResult, tmp_path: Path):
    head, records = logged(lossy, tmp_path, "0.3")
    assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ")
    assert all(before["time"] <= after["time"] for before, after in pairwise(records))
    names = Counter(record["name"] for record in records)
    sent = [record for record in records if record["name"] == "transport:packet_sent"]
    data = [record for record in sent if record["data"]["header"]["packet_type"] == "1RTT"]
    assert len(data) == lossy.totals.data_packets
    fates = Counter(record["data"]["fate"] for record in sent)
    assert fates["dropped by the queue"] == lossy.totals.dropped_queue_packets
    assert names["transport:packet_received"] == (lossy.trace.event == 3).sum()
    samples = lossy.samples
    flying = [record["data"]["bytes_in_flight"] for record in records if "bytes_in_flight" in record["data"]]
    assert len(flying) == names["recovery:metrics_updated"] > 0
    assert flying == (samples.inflight_segments[samples.srtt_ns > 0] * net.MSS).tolist()


def test_nothing_is_kept_unless_asked():
    assert simulate(net.config("cubic", LINKS, objects=net.bulk(10_000))).trace is None


def test_keeping_packets_changes_nothing(lossy: EngineResult):
    plain = simulate(net.config("cubic", LINKS, objects=net.bulk(3_000_000)))
    assert plain.totals == lossy.totals
    assert plain.end_ns == lossy.end_ns


# --------------------------------------------------------------------------------------------------- coded layers

LAYERS = net.live(40, (30_000, 15_000), chunk_s=0.1, playout_s=3.0)
SOURCE, REPAIR, PROBE, SYN, ANSWER, ACK = range(1, 7)


def coded_trial(**more: Any) -> EngineConfig:
    """Over the lossy links, with a handshake and repair."""
    made = net.config("cubic", LINKS, objects=LAYERS, mode="coded", duration_s=12.0)
    return replace(made, coding=Coding(LAYERS.chunk // 5, net.ns(0.5), (0.3, 0.1)), **more)


@pytest.fixture(scope="module")
def coded() -> EngineResult:
    return simulate(coded_trial(trace=True))


def datagrams(result: EngineResult, folder: Path, end: str) -> list[tuple[int, int, int, bytes]]:
    """Subflow, kind, length and beginning of each datagram that passed an end."""
    write_capture(folder / "c.pcapng", alone(result, LAYERS), LINKS, end=end, mss_bytes=net.MSS)
    found = []
    for link, _, length, ip in read(folder / "c.pcapng"):
        assert dpkt.in_cksum(bytes(ip)[:20]) == 0 and ip.len == length and ip.p == dpkt.ip.IP_PROTO_UDP
        udp = ip.data
        magic, kind, subflow, crc = struct.unpack_from("<HBBI", bytes(udp.data))
        assert (magic, crc, subflow) == (0xD5CD, 0, link)  # a subflow a link
        ports = (udp.dport, udp.sport) if kind in (ANSWER, ACK) else (udp.sport, udp.dport)
        assert ports == (20_000 + subflow, 5000)
        found.append((subflow, kind, length - 28, bytes(udp.data)))
    return found


def test_keeping_coded_packets_changes_nothing(coded: EngineResult) -> None:
    plain = simulate(coded_trial())
    assert plain.trace is None and coded.trace is not None
    cost = ("events", "run_packets", "engine_peak_bytes")
    mine, other = ({**vars(one.totals)} for one in (plain, coded))
    assert all(mine[name] == other[name] for name in mine if name not in cost)
    for name, values in vars(plain.objects).items():
        assert (values == getattr(coded.objects, name)).all(), name


def test_a_qlog_of_coded_layers_has_every_packet_and_all_that_acks_name(
    coded: EngineResult, tmp_path: Path
) -> None:
    head, records = logged(coded, tmp_path, "0.3")
    assert head["trace"]["common_fields"]["protocol_type"] == ["UDP"]
    assert all(before["time"] <= after["time"] for before, after in pairwise(records))
    sent = [one for one in records if one["name"] == "transport:packet_sent"]
    frames = [frame for one in sent for frame in one["data"]["frames"]]
    assert len(frames) == coded.totals.data_packets
    kinds = Counter(frame["frame_type"] for frame in frames)
    assert coded.coding is not None and coded.trace is not None
    assert kinds["repair"] == coded.coding.repair_packets.sum() > 0
    for layer, size in enumerate(coded.objects.sent_bytes.tolist()):
        lengths = [one["length"] for one in frames if one.get("stream_id") == layer]
        assert sum(lengths) == size
    assert sum(one["data"]["fate"] == "lost on the link" for one in sent) > 0
    for link in (0, 1):
        came = coded.trace.number[(coded.trace.sender == link) & (coded.trace.event == 1)]
        named = {
            number
            for one in records
            if one["name"] == "transport:packet_received" and one["group_id"] == f"subflow-{link}"
            for frame in one["data"]["frames"]
            for begin, end in frame["acked_ranges"]
            for number in range(begin, end + 1)
        }
        assert named and named <= set(came.tolist())


def test_datagrams_are_those_of_the_kernels_program(coded: EngineResult, tmp_path: Path) -> None:
    """As `kernel-cc/coded/packet.hpp` has them; between the ends packets are lost, and none is changed."""
    craft, earth = (datagrams(coded, tmp_path, end) for end in ENDS)
    kinds = Counter(kind for _, kind, _, _ in craft)
    assert coded.coding is not None
    assert kinds[REPAIR] <= coded.coding.repair_packets.sum() and kinds[REPAIR] > 0 and kinds[SYN] >= 2
    assert {data for _, kind, _, data in earth if kind < ANSWER} <= {data for *_, data in craft}
    assert {data for _, kind, _, data in craft if kind >= ANSWER} <= {data for *_, data in earth}
    whole: Counter[int] = Counter()
    for _, kind, length, data in craft:
        if kind == SOURCE:
            which, offset, size, payload, zero = struct.unpack_from("<IIIHH", data, 28)
            assert size == LAYERS.payload_bytes[which] and offset + payload <= size and zero == 0
            assert offset == whole[which]  # one after the other
            whole[which] += payload
            assert length == 44 + payload
        elif kind == REPAIR:
            assert struct.unpack_from("<H", data, 26)[0] > 0 and len(data) == 28 < length


def test_an_ack_in_a_capture_names_what_it_names_in_the_log(coded: EngineResult, tmp_path: Path) -> None:
    trace = coded.trace
    assert trace is not None
    acks = [one for one in datagrams(coded, tmp_path, "earth") if one[1] == ACK]
    rows = np.flatnonzero((trace.event == 2) & (trace.syn == 0) & (trace.fate != 2)).tolist()
    several = 0
    for (subflow, _, length, data), row in zip(acks, rows, strict=True):
        end, waited, took, count, _, packets = struct.unpack_from("<IqqHHI", data, 8)
        assert length == len(data) == 36 + 4 * (count - 1)
        named = [[end - packets, end]]
        for missing, more in struct.iter_unpack("<HH", data[36:]):
            last = named[0][0] - missing
            named.insert(0, [last - more, last])
        assert subflow == trace.sender[row] and named == trace.ranges[trace.range_row == row].tolist()
        assert waited >= 0 and took >= min(LINKS[subflow].delay_ns)
        several += count > 1
    assert several > 0
