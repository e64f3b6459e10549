"""Packet logs of ``ltp``: its segments, read as RFC 5326 has them, and held against what an end can have known."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import pytest

from dstcc.engine import (
    Coding,
    Connection,
    EngineConfig,
    EngineResult,
    Flow,
    Hop,
    Link,
    Loss,
    Node,
    Restarts,
    simulate,
)
from dstcc.run.capture import write_capture
from dstcc.run.qlog import write_qlog
from dstcc.wire import ENDS
from scripts.random_trials.digest import differing, digests
from scripts.random_trials.draw import draw_trial
from tests.engine import net
from tests.run.test_packet_logs import alone, read

LOSSY = Loss("packet", 0.05)
LINKS = (
    net.link(1.2e6, 2.0, loss=LOSSY, up_loss=LOSSY, name="near"),
    net.link(6e5, 6.0, loss=LOSSY, name="far", outages_s=((8.0, 12.0),)),
)
LAYERS = net.live(30, (30_000, 15_000), chunk_s=0.5)
LAST = 3
"""A checkpoint that ends the red part and the block."""


def made(*, coded: bool = False, links: tuple[Link, ...] = LINKS, **more: Any) -> EngineConfig:
    one = net.config("ltp", links, objects=LAYERS, scheduler="none", duration_s=300.0)
    coding = Coding(np.zeros(0, dtype=np.int64), net.ns(2.0), (0.3, 0.1)) if coded else None
    return replace(one, coding=coding, trace=True, **more)


OVER_A_NODE = (
    replace(
        net.link(1.2e6, 2.0, name="near"),
        first_t_ns=(0,),
        first_delay_ns=(net.ns(0.5),),
        onward=(
            Hop(
                1,
                Node(
                    "n", 1, storage_bytes=20_000, restart_ns=(net.ns(4.0), net.ns(9.0)), boot_ns=net.ns(1.0)
                ),
                net.link(3e5, 1.0, loss=LOSSY, name="on"),
            ),
        ),
    ),
    LINKS[1],
)
"""Its node restarts twice, and its storage is soon full."""
TRIALS = {
    "plain": made(),
    "coded": made(coded=True),
    "over a node that restarts": made(links=OVER_A_NODE),
    "beside TCP": made(links=(replace(LINKS[0], flows=(Flow("cubic", 0, 200_000),)), LINKS[1])),
    "custody": made(
        links=(
            replace(
                OVER_A_NODE[0],
                onward=(
                    Hop(
                        1,
                        Node(
                            "n",
                            1,
                            storage_bytes=100_000,
                            forwards="custody",
                            restart_ns=(net.ns(9.0),),
                            boot_ns=net.ns(1.0),
                        ),
                        net.link(3e5, 1.0, loss=LOSSY, name="on"),
                    ),
                ),
            ),
            LINKS[1],
        ),
        restarts=Restarts((net.ns(6.0),), net.ns(1.0), True),
    ),
    "restarts": made(restarts=Restarts((net.ns(6.0), net.ns(11.0)), net.ns(1.0), True)),
    "restarts, coded": made(coded=True, restarts=Restarts((net.ns(6.0),), net.ns(1.0), False)),
}
Logged = tuple[EngineConfig, EngineResult, dict[str, "list[Segment]"]]


@dataclass
class Segment:
    """One of LTP, as it stands in a capture."""

    at_ns: int
    link: int
    down: bool
    code: int
    session: int
    fields: list[int]
    claims: list[tuple[int, int]] = field(default_factory=list)
    extensions: dict[int, bytes] = field(default_factory=dict)
    payload: int = 0


def number(of: Iterator[int]) -> int:
    """RFC 6256: seven bits a byte, the highest first; the last byte's top bit is 0."""
    value = 0
    for byte in of:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value


def parsed(at_ns: int, link: int, udp: dpkt.udp.UDP) -> Segment:
    """RFC 5326, section 3."""
    of = iter(bytes(udp.data))
    control = next(of)
    assert control >> 4 == 0, "version 0"
    originator, session = number(of), number(of)
    assert originator in (1, 2), "the sender's, or the node's that has custody"
    counts = next(of)
    assert counts & 0x0F == 0, "no trailer"
    extensions = {}
    for _ in range(counts >> 4):
        tag = next(of)
        extensions[tag] = bytes(next(of) for _ in range(number(of)))
    code = control & 0x0F
    down = code <= 7 or code in (9, 12, 15)
    one = Segment(at_ns, link, down, code, session, [], extensions=extensions)
    if code <= 7:
        one.fields = [
            number(of) for _ in range(5 if code in (1, 2, 3) else 3)
        ]  # a checkpoint has two serials more
        one.payload = udp.ulen - 8 - len(bytes(udp.data))
        assert one.payload == one.fields[2]
    elif code == 8:
        one.fields = [number(of) for _ in range(5)]
        one.claims = [(number(of), number(of)) for _ in range(one.fields.pop())]
    elif code == 9:
        one.fields = [number(of)]
    elif code in (12, 14):
        assert next(of) in ((0, 2) if code == 12 else (2, 4)), (
            "for the service, or too many tries; or no room"
        )
    else:
        assert code in (13, 15)
    assert next(of, None) is None, "nothing is left over"
    return one


def connections(config: EngineConfig, result: EngineResult) -> list[Connection]:
    return list(result.connections) or alone(result, config.objects)


def segments(config: EngineConfig, result: EngineResult, path: Path, end: str) -> list[Segment]:
    write_capture(path, connections(config, result), config.links, end=end, mss_bytes=net.MSS)
    found = []
    for link, at_ns, length, ip in read(path):
        assert dpkt.in_cksum(bytes(ip)[:20]) == 0 and ip.len == length
        if ip.p == dpkt.ip.IP_PROTO_UDP and ip.data.dport == 1113:
            assert ip.data.sport == 1113 and ip.data.ulen == length - 20
            found.append(parsed(at_ns, link, ip.data))
    return found


@pytest.fixture(scope="module", params=TRIALS)
def logged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Logged:
    config = TRIALS[request.param]
    result, folder = simulate(config), tmp_path_factory.mktemp("ltp")
    return config, result, {end: segments(config, result, folder / f"{end}.pcapng", end) for end in ENDS}


def layer_of(config: EngineConfig, result: EngineResult, session: int) -> tuple[int, int]:
    """A session's layer, and its bytes: sessions are numbered through all connections."""
    place = session - 1
    for connection in connections(config, result):
        if place < len(connection.layer):
            return int(connection.layer[place]), int(connection.objects.payload_bytes[place])
        place -= len(connection.layer)
    raise AssertionError(session)


def came(earth: list[Segment]) -> dict[int, set[int]]:
    """By session the bytes that arrived in data segments, as places of segments."""
    there: defaultdict[int, set[int]] = defaultdict(set)
    for one in earth:
        if one.code <= 7:
            assert one.fields[0] == 16_384 and one.fields[1] % net.MSS == 0
            there[one.session].add(one.fields[1] // net.MSS)
    return there


def test_what_is_delivered_came_in_segments(logged: Logged) -> None:
    config, result, seen = logged
    brought = {layer_of(config, result, session): places for session, places in came(seen["earth"]).items()}
    whole = {layer for (layer, size), places in brought.items() if len(places) == -(-size // net.MSS)}
    delivered = set(np.flatnonzero(result.objects.complete_ns >= 0).tolist())
    recovered = set() if result.coding is None else set(np.flatnonzero(result.coding.recovered).tolist())
    assert len(delivered) > 40
    assert delivered - whole <= recovered, "only what a matrix brought back did not come"
    assert whole <= delivered


def test_an_end_s_segments_are_those_that_left_the_other(logged: Logged) -> None:
    config, result, seen = logged
    text = {
        end: Counter(repr(replace(one, at_ns=0)) for one in all_ if one.down) for end, all_ in seen.items()
    }
    by_custody = any(one.ends for one in connections(config, result))
    assert by_custody or text["earth"] <= text["spacecraft"]
    back = {
        end: Counter(repr(replace(one, at_ns=0)) for one in all_ if not one.down)
        for end, all_ in seen.items()
    }
    assert by_custody or back["spacecraft"] <= back["earth"]
    data = sum(one.code <= 7 for one in seen["spacecraft"])
    repairs = 0 if result.coding is None else int(result.coding.repair_packets.sum())
    dropped = sum(
        int((one.trace.fate == 2).sum())
        for one in connections(config, result)
        if all(e.first for e in one.ends)
    )
    assert data + repairs == result.totals.data_packets - dropped


def test_reports_claim_what_came(logged: Logged) -> None:
    """Each new report answers a checkpoint that is there, within its scope, and claims just what arrived until then."""
    config, result, seen = logged
    there: defaultdict[int, set[int]] = defaultdict(set)
    asked: defaultdict[int, set[int]] = defaultdict(set)
    reported: set[tuple[int, int]] = set()
    for one in seen["earth"]:
        if one.code <= 7:
            there[one.session].add(one.fields[1] // net.MSS)
            if len(one.fields) == 5:
                asked[one.session].add(one.fields[3])
        elif one.code == 8 and (one.session, one.fields[0]) not in reported:
            serial, checkpoint, upper, lower = one.fields
            reported.add((one.session, serial))
            layer, size = layer_of(config, result, one.session)
            assert 0 <= lower < upper <= size
            claimed = {
                place
                for offset, length in one.claims
                for place in range((lower + offset) // net.MSS, -(-(lower + offset + length) // net.MSS))
            }
            scope = range(lower // net.MSS, -(-upper // net.MSS))
            brought_back = result.coding is not None and result.coding.recovered[layer]
            if brought_back:  # by a matrix, with the checkpoint perhaps
                assert claimed >= there[one.session] & set(scope)
            else:
                assert checkpoint in asked[one.session]
                if config.coding is None:  # else a matrix may say later what came before
                    assert claimed == there[one.session] & set(scope)
    assert len(reported) > 40


def test_reports_are_acknowledged_and_gaps_are_asked_about_again(logged: Logged) -> None:
    config, _, seen = logged
    reports = {(one.session, one.fields[0]): one.fields for one in seen["spacecraft"] if one.code == 8}
    acked = {(one.session, one.fields[0]) for one in seen["spacecraft"] if one.code == 9}
    assert acked <= set(reports) and len(acked) > 0.9 * len(reports)
    again = 0
    for one in seen["spacecraft"]:
        if len(one.fields) == 5 and one.code <= 7:
            assert one.fields[3] > 0 and (one.fields[4] == 0) == (one.fields[3] == 1)
            again += one.fields[4] > 0
            assert one.fields[4] == 0 or (one.session, one.fields[4]) in reports
    assert again > 0 or config.coding is not None, "what repair did not bring back"


def test_members_of_matrices_say_so() -> None:
    """A matrix's members are numbered one by one, and its repair has as many sources as there are members."""
    result = simulate(TRIALS["coded"])
    assert result.coding is not None
    assert result.coding.source_packets.sum() > 100 and result.coding.repair_packets.sum() > 10


def test_repair_goes_below(tmp_path: Path) -> None:
    config = TRIALS["coded"]
    result = simulate(config)
    assert result.coding is not None
    craft = segments(config, result, tmp_path / "c", "spacecraft")
    members: defaultdict[int, list[int]] = defaultdict(list)
    for one in craft:
        if 0xC0 in one.extensions:
            of = iter(one.extensions[0xC0])
            members[number(of)].append(number(of))
    assert all(places == list(range(len(places))) for places in members.values())
    assert {m: len(p) for m, p in members.items()} == dict(enumerate(result.coding.source_packets.tolist()))
    rows: Counter[int] = Counter()
    for _, _, length, ip in read(tmp_path / "c"):
        if ip.p == dpkt.ip.IP_PROTO_UDP and ip.data.dport == 1114:
            matrix, source, row = np.frombuffer(bytes(ip.data.data)[:12], ">u4").tolist()
            assert source == len(members[matrix]) and row == rows[matrix] and (length - 28 - 12) % 2 == 0
            rows[matrix] += 1
    assert [
        rows[m] for m in range(len(result.coding.repair_packets))
    ] == result.coding.repair_packets.tolist()


@pytest.mark.parametrize("name", TRIALS)
def test_keeping_segments_changes_nothing(name: str) -> None:
    config = TRIALS[name]
    kept, plain = simulate(config), simulate(replace(config, trace=False))
    assert plain.trace is None and not plain.connections
    assert differing(digests(kept), digests(plain), ("cost", "trace")) == []


@pytest.mark.parametrize("part", range(3))
def test_keeping_segments_of_random_trials_changes_nothing(part: int) -> None:
    done = 0
    for place in range(part, 2000, 3):
        trial = draw_trial(11, place)
        if trial.kind != "ltp":
            continue
        kept, plain = (digests(simulate(replace(trial.config, trace=trace))) for trace in (True, False))
        assert differing(kept, plain, ("cost", "trace")) == [], place
        done += 1
        if done == 12:
            return
    raise AssertionError(done)


def test_a_restart_ends_what_leaves(tmp_path: Path) -> None:
    """Nothing leaves or comes to the spacecraft while it boots; each connection has sessions of its own."""
    for name in ("restarts", "restarts, coded"):
        config = TRIALS[name]
        assert config.restarts is not None
        craft = segments(config, simulate(config), tmp_path / "c", "spacecraft")
        for at_ns in config.restarts.at_ns:
            up_ns = at_ns + config.restarts.boot_ns
            assert not [one for one in craft if at_ns < one.at_ns < up_ns]
            before = {one.session for one in craft if one.at_ns <= at_ns}
            assert before and not before & {one.session for one in craft if one.at_ns > at_ns}


@pytest.mark.parametrize(
    ("mode", "control"), [("stream", "cubic"), ("lanes", "cubic"), ("coded", "open-loop"), ("coded", "cubic")]
)
@pytest.mark.parametrize("links", [LINKS, OVER_A_NODE], ids=["lines", "over a node"])
def test_other_transports_that_restart_are_logged(
    mode: str, control: str, links: tuple[Link, ...], tmp_path: Path
) -> None:
    """Over lines, and over a node that restarts too."""
    one = net.config(control, links, objects=LAYERS, mode=mode, duration_s=60.0)
    restarts = Restarts((net.ns(8.0),), net.ns(2.0), True)
    coding = Coding(LAYERS.chunk // 5, net.ns(2.0), (0.3, 0.1)) if mode == "coded" else None
    config = replace(one, coding=coding, restarts=restarts)
    result = simulate(replace(config, trace=True))
    assert differing(digests(result), digests(simulate(config)), ("cost", "trace")) == []
    first, second = result.connections
    assert first.trace.t_ns[np.isin(first.trace.event, (0, 3))].max() <= net.ns(8.0)
    assert second.trace.t_ns.min() >= net.ns(10.0)
    sent = sum(
        int(((c.trace.event == 0) & (c.trace.syn == 0) & (c.trace.sender < c.trace.senders)).sum())
        for c in (first, second)
    )
    assert sent == result.totals.data_packets
    for end in ENDS:
        write_capture(tmp_path / "t", result.connections, links, end=end, mss_bytes=net.MSS)
        times = [at_ns for _, at_ns, _, _ in read(tmp_path / "t")]
        assert times == sorted(times) and times[-1] > net.ns(10.0)
    write_qlog(tmp_path / "q", "t", result.connections, result.samples, mss_bytes=net.MSS)
    records = [json.loads(line) for line in (tmp_path / "q").read_text().split("\x1e")[2:]]
    groups = {
        (one["group_id"].count("-"), one["time"] > 9000) for one in records if one["name"].endswith("sent")
    }
    assert groups == {(1, False), (2, True)}, "subflow-N, then subflow-N-1"


def test_a_qlog_has_every_segment(logged: Logged, tmp_path: Path) -> None:
    config, result, seen = logged
    write_qlog(tmp_path / "q", "t", connections(config, result), result.samples, mss_bytes=net.MSS)
    head, *records = [json.loads(line) for line in (tmp_path / "q").read_text().split("\x1e")[1:]]
    assert head["trace"]["common_fields"]["protocol_type"] == ["UDP"]
    assert [one["time"] for one in records] == sorted(one["time"] for one in records)
    own = {f"subflow-{s}" + (f"-{k}" if k else "") for s in (0, 1) for k in range(3)}
    sent = [one for one in records if one["name"] == "transport:packet_sent" and one["group_id"] in own]
    frames = [one["data"]["frames"][0] for one in sent]
    kinds = Counter(frame["frame_type"] for frame in frames)
    assert kinds["stream"] + kinds["repair"] == result.totals.data_packets
    for layer, size in enumerate(result.objects.sent_bytes.tolist()):
        assert (
            sum(frame["length"] for frame in frames if frame.get("stream_id") == layer and "length" in frame)
            == size
        )
    heard = [
        frame
        for one in records
        if one["name"] == "transport:packet_received" and one["group_id"] in own
        for frame in one["data"]["frames"]
    ]
    assert Counter(frame["frame_type"] for frame in heard)["report"] == sum(
        one.code == 8 for one in seen["spacecraft"]
    )
    fates = Counter(one["data"]["fate"] for one in sent)
    if not result.connections and not any(link.flows or link.onward for link in config.links):
        lost = sum(
            int(((c.trace.fate == 1) & (c.trace.event == 0)).sum()) for c in connections(config, result)
        )
        assert fates["lost on the link"] == lost > 0
    assert not any("congestion_window" in one["data"] for one in records if one["group_id"] in own)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark reads it")
@pytest.mark.parametrize("name", ["plain", "coded"])
def test_wireshark_reads_the_segments(name: str, tmp_path: Path) -> None:
    config = TRIALS[name]
    earth = segments(config, simulate(config), tmp_path / "e.pcapng", "earth")
    words = [
        "tshark",
        "-r",
        str(tmp_path / "e.pcapng"),
        "-d",
        "udp.port==1113,ltp",
        "--disable-protocol",
        "bundle",
    ]
    columns = ("ltp.type", "ltp.session.number", "ltp.data.offset", "ltp.rpt.sno")
    words += ["-Y", "ltp", "-T", "fields", *(word for column in columns for word in ("-e", column))]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(earth)
    for line, one in zip(lines, earth, strict=True):
        code, session, offset, serial = line.split("\t")
        assert (int(code, 16), int(session)) == (one.code, one.session)
        if one.code <= 7 and offset:
            assert int(offset) == one.fields[1]
        if one.code == 8 and serial:
            assert int(serial.split(",")[0]) == one.fields[0]
