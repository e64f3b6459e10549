"""qlog and pcapng: the packets on the links, alike in both."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import dpkt
import numpy as np
import pytest

from dstcc.engine import EngineResult, Loss, simulate
from dstcc.run.capture import write_capture
from dstcc.run.qlog import write_qlog
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
    with path.open("rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        kind, size = np.frombuffer(data, "<u4", 2, at)
        if kind == dpkt.pcapng.PCAPNG_BT_EPB:
            block = dpkt.pcapng.EnhancedPacketBlockLE(data[at : at + int(size)])
            time_ns = (block.ts_high << 32 | block.ts_low) - 946_684_800 * 10**9
            blocks.append((block.iface_id, time_ns, block.pkt_len, dpkt.ip.IP(block.pkt_data)))
        at += int(size)
    return blocks


def test_a_capture_shows_each_end_what_passed_it(lossy: EngineResult, tmp_path: Path):
    write_capture(tmp_path / "t.pcapng", lossy.trace, LINKS)
    packets = read(tmp_path / "t.pcapng")
    trace = lossy.trace
    seen = Counter(interface for interface, *_ in packets)
    for link in (0, 1):
        mine = trace.sender == link
        sent = mine & (trace.event == 0) & (trace.fate != 2)
        assert seen[2 * link] == (sent | (mine & (trace.event == 3))).sum()
        assert seen[2 * link + 1] == (mine & np.isin(trace.event, (1, 2)) & (trace.fate != 2)).sum()
    assert all(before[1] <= after[1] for before, after in pairwise(packets))
    # the file's bytes, by the highest sequence number each subflow reached and the SYN's one
    top = {port: max(p.data.seq + n - 20 - p.data.off * 4 for _, _, n, p in packets if p.data.sport == port)
           for port in (40_000, 40_001)}  # fmt: skip
    assert sum(top.values()) == 3_000_000 + 2


def test_a_capture_is_tcp_that_adds_up(lossy: EngineResult, tmp_path: Path):
    write_capture(tmp_path / "t.pcapng", lossy.trace, LINKS)
    highest = {40_000: 0, 40_001: 0}
    sacks = 0
    for interface, _, length, ip in read(tmp_path / "t.pcapng"):
        tcp = ip.data
        assert dpkt.in_cksum(bytes(ip)[:20]) == 0
        assert ip.len == length
        if tcp.sport == 5201 and interface % 2 == 1:
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


def test_a_qlog_counts_every_sending(lossy: EngineResult, tmp_path: Path):
    write_qlog(tmp_path / "t.qlog", "t", lossy.trace, lossy.samples, net.MSS)
    text = (tmp_path / "t.qlog").read_text()
    assert text.startswith("\x1e")
    head, *records = [json.loads(line) for line in text.split("\x1e")[1:]]
    assert head["qlog_format"] == "JSON-SEQ"
    assert all(before["time"] <= after["time"] for before, after in pairwise(records))
    names = Counter(record["name"] for record in records)
    sent = [record for record in records if record["name"] == "transport:packet_sent"]
    data = [record for record in sent if record["data"]["header"]["packet_type"] == "1RTT"]
    assert len(data) == lossy.totals["data_packets"]
    fates = Counter(record["data"]["fate"] for record in sent)
    assert fates["dropped by the queue"] == lossy.totals["dropped_queue_packets"]
    assert names["transport:packet_received"] == (lossy.trace.event == 3).sum()
    assert names["recovery:metrics_updated"] > 0


def test_nothing_is_kept_unless_asked():
    assert simulate(net.config("cubic", LINKS, objects=net.bulk(10_000))).trace is None


def test_keeping_packets_changes_nothing(lossy: EngineResult):
    plain = simulate(net.config("cubic", LINKS, objects=net.bulk(3_000_000)))
    assert plain.totals == lossy.totals
    assert plain.end_ns == lossy.end_ns
