"""A guest's records as tables (``records.py``), against Linux's layouts; code in its kernel may have written them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from dstcc_kernel.endhosts import records
from dstcc_kernel.endhosts.mission import Mission
from dstcc_kernel.endhosts.naming import address
from dstcc_kernel.endhosts.records import write_tables
from dstcc_kernel.endhosts.said import MOST_NS
from dstcc_kernel.endhosts.sampling import HEAD, MPTCP, PLAYED, QDISC, TCP
from dstcc_kernel.network import Network

from dstcc.errors import KernelError
from scripts.fuzzing import guests
from scripts.fuzzing.targets import Room

DEVICES = [{"down": 3, "up": 4}]


def record(
    messages: bytes, *, t_ns: int = 1, host: int = 0, kind: int = TCP, length: int | None = None
) -> bytes:
    return HEAD.pack(t_ns, host, kind, 0, len(messages) if length is None else length) + messages


SOCKET = bytes(72)
FULL = guests._attribute(2, b"\xff" * 232)


WRONG_RECORDS = [
        (record(bytes(16)), "a message of 0 bytes where 16 are left"),  # for ever, at the same place
        (record(struct.pack("=I", 15) + bytes(12)), "a message of 15 bytes"),
        (record(struct.pack("=I", 17) + bytes(12)), "a message of 17 bytes where 16 are left"),
        (record(guests._message(SOCKET[:-1])), "a socket of 71 bytes, of which its head takes 72"),
        (record(guests._message(SOCKET + FULL)), "acked_bytes: 18446744073709551615, which no counter reaches"),
        (record(b"", host=2), "a record of host 2 and kind 0"),
        (record(b"", kind=3), "a record of host 0 and kind 3"),
        (record(b"", t_ns=-1), "a record of -1 ns"),
        (record(b"", t_ns=MOST_NS + 1), "which no guest's clock shows"),
        (record(guests._message(b""), kind=QDISC), "a message is shorter than what it holds"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "said"), WRONG_RECORDS, ids=[said for _, said in WRONG_RECORDS])
def test_records_that_there_cannot_be_are_refused(
    data: bytes, said: str, tmp_path: Path, mission: Mission
) -> None:
    path = tmp_path / "samples.bin"
    path.write_bytes(data)
    with pytest.raises(KernelError, match=rf"^samples.bin: .*{said}"):
        write_tables(path, mission, DEVICES, tmp_path)


def test_good_records_are_rows_and_a_record_that_is_cut_off_ends_them(
    tmp_path: Path, mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few rows are held at once."""
    (whole,) = guests.records(Room(tmp_path))
    path = tmp_path / "samples.bin"
    path.write_bytes(3 * whole + record(bytes(99), length=100))
    for piece in (1 << 15, 2, 1):
        monkeypatch.setattr(records, "PIECE", piece)
        write_tables(path, mission, DEVICES, tmp_path)
        rows = {name: pq.read_table(tmp_path / f"{name}.parquet") for name in records.SCHEMAS}
        assert {name: table.num_rows for name, table in rows.items()} == dict.fromkeys(rows, 3)
        assert rows["sockets"]["congestion"].to_pylist() == ["cubic"] * 3
        groups = pq.ParquetFile(tmp_path / "links.parquet").num_row_groups
        assert groups == -(-3 // piece)
    path.unlink()
    write_tables(path, mission, DEVICES, tmp_path)
    assert pq.read_table(tmp_path / "sockets.parquet").num_rows == 0


def test_connections_without_number_are_refused(
    tmp_path: Path, mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_CONNECTIONS", 2)
    each = [bytes(44) + struct.pack("=Q", cookie) + bytes(20) for cookie in range(3)]
    path = tmp_path / "samples.bin"
    path.write_bytes(b"".join(record(guests._message(body), kind=1) for body in each[:2] * 2))
    write_tables(path, mission, DEVICES, tmp_path)
    path.write_bytes(b"".join(record(guests._message(body), kind=1) for body in each))
    with pytest.raises(KernelError, match="more than 2 connections"):
        write_tables(path, mission, DEVICES, tmp_path)


def test_a_connections_numbers_begin_anywhere(tmp_path: Path, mission: Mission) -> None:
    """MPTCP draws them from 64 bits: what counts is how far they have come."""
    path = tmp_path / "samples.bin"
    said = [
        guests._message(
            bytes(72) + guests._attribute(2, bytes(16) + struct.pack("=QQQ", *[at] * 3) + bytes(24))
        )
        for at in (2**63 + 5, 2**63 + 12)
    ]
    path.write_bytes(b"".join(record(body, kind=1) for body in said))
    write_tables(path, mission, DEVICES, tmp_path)
    assert pq.read_table(tmp_path / "connections.parquet")["written_bytes"].to_pylist() == [0, 7]


def test_numbers_of_played_links_are_rows_of_links_and_nodes(tmp_path: Path, mission: Mission) -> None:
    """Seven of each way, then four of each node (``kernel-cc/links/ways.hpp``); another size is refused."""
    network = Network(("a", "b"), ((0, 1),), ((0,),), ("p",), (0, 0), ())
    over = replace(mission, network=network, hosts=("a", "b"), scale=2.0)
    path, numbers = tmp_path / "samples.bin", struct.pack("=22Q", *range(22))
    path.write_bytes(record(numbers, t_ns=3 * 10**9, kind=PLAYED))
    write_tables(path, over, [], tmp_path)
    down, up = pq.read_table(tmp_path / "links.parquet").to_pylist()
    assert (down["t_s"], down["way"], up["way"]) == (6.0, "down", "up")
    assert (down["delivered_packets"], down["under_way_packets"], up["delivered_packets"]) == (0, 6, 7)
    first, second = pq.read_table(tmp_path / "nodes.parquet").to_pylist()
    assert first == {
        "t_s": 6.0, "node": "a", "held_packets": 14, "held_bytes": 15, "dropped_packets": 16,
        "lost_in_restarts_packets": 17,
    }  # fmt: skip
    assert (second["node"], second["lost_in_restarts_packets"]) == ("b", 21)
    path.write_bytes(record(numbers[:-8], kind=PLAYED))
    with pytest.raises(KernelError, match="168 bytes of links and nodes, which have 176"):
        write_tables(path, over, [], tmp_path)


def test_addresses_of_ipv6_sockets_are_those_they_have(tmp_path: Path) -> None:
    """IPv4's in IPv6's clothes are IPv4's."""
    assert records._address(socket.AF_INET6, bytes(10) + b"\xff\xff\x0a\x01\x00\x02") == "10.1.0.2"
    assert records._address(socket.AF_INET6, b"\xfd" + bytes(14) + b"\x03") == "[fd00::3]"
    assert records._address(socket.AF_INET, b"\x0a\x01\x00\x02" + bytes(12)) == "10.1.0.2"


# ------------------------------------------------------------------------------------------------- Linux's layouts

Tables = Callable[..., dict[str, list[dict[str, Any]]]]


@pytest.fixture
def tables(tmp_path: Path, mission: Mission) -> Tables:
    """The rows of each table that records become."""

    def made(*some: bytes, scale: float = 1.0) -> dict[str, list[dict[str, Any]]]:
        (tmp_path / "samples.bin").write_bytes(b"".join(some))
        write_tables(tmp_path / "samples.bin", replace(mission, scale=scale), DEVICES, tmp_path)
        return {name: pq.read_table(tmp_path / f"{name}.parquet").to_pylist() for name in records.SCHEMAS}

    return made


TCP_INFO = (
    ("B", "state ca_state retransmits probes backoff options wscale app_limited"),
    (
        "I",
        "rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent last_data_recv "
        "last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space "
        "total_retrans",
    ),
    ("Q", "pacing_rate max_pacing_rate bytes_acked bytes_received"),
    ("I", "segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out"),
    ("Q", "delivery_rate busy_time rwnd_limited sndbuf_limited"),
    ("I", "delivered delivered_ce"),
    ("Q", "bytes_sent bytes_retrans"),
    ("I", "dsack_dups reord_seen rcv_ooopack snd_wnd"),
)
"""``struct tcp_info`` of include/uapi/linux/tcp.h up to the last field that a table has."""
MICROSECONDS = {
    "rto_s": "rto",
    "rtt_s": "rtt",
    "rttvar_s": "rttvar",
    "min_rtt_s": "min_rtt",
    "busy_s": "busy_time",
    "receiver_limited_s": "rwnd_limited",
    "buffer_limited_s": "sndbuf_limited",
}
BYTES_A_SECOND = {"pacing_bps": "pacing_rate", "delivery_bps": "delivery_rate"}
COUNTS = {
    "mss_bytes": "snd_mss",
    "unacked_segments": "unacked",
    "lost_segments": "lost",
    "ssthresh_segments": "snd_ssthresh",
    "cwnd_segments": "snd_cwnd",
    "retransmitted_segments": "total_retrans",
    "acked_bytes": "bytes_acked",
    "received_bytes": "bytes_received",
    "segments_out": "segs_out",
    "segments_in": "segs_in",
    "notsent_bytes": "notsent_bytes",
    "delivered_segments": "delivered",
    "sent_bytes": "bytes_sent",
    "retransmitted_bytes": "bytes_retrans",
    "peer_window_bytes": "snd_wnd",
}


def tcp_info(**given: int) -> tuple[bytes, dict[str, int]]:
    """One with a number of its own in each field, and these."""
    kinds = [(kind, name) for kind, names in TCP_INFO for name in names.split()]
    values = {
        name: number % 256 if kind == "B" else 0x0101_0100 + number
        for number, (kind, name) in enumerate(kinds)
    }
    values |= given
    return struct.pack("=" + "".join(kind for kind, _ in kinds), *values.values()), values


def socket_of(local: str, remote: str, *attributes: bytes, state: int = 1, cookie: int = 0xFEED) -> bytes:
    """``struct inet_diag_msg`` with what follows: family, state; ports, addresses, device, cookie; queues."""
    addresses = [socket.inet_aton(one).ljust(16, b"\0") for one in (local, remote)]
    head = struct.pack("=4B", 2, state, 0, 0) + struct.pack(">HH", 4321, 80) + b"".join(addresses)
    return (head + struct.pack("=IQ", 0, cookie)).ljust(72, b"\0") + b"".join(attributes)


CRAFT, EARTH = address("craft", 0), address("earth", 0)


def test_a_sockets_columns_are_the_kernels_fields_in_mission_time(tables: Tables) -> None:
    """Times are ten times as long, rates in bits a tenth."""
    info, values = tcp_info()
    ulp = guests._attribute(18, guests._attribute(3, guests._attribute(2, struct.pack("=I", 77))))
    body = socket_of(CRAFT, EARTH, guests._attribute(2, info), guests._attribute(4, b"bbr\0"), ulp)
    (row,) = tables(record(guests._message(body), t_ns=2 * 10**9, host=0), scale=10.0)["sockets"]
    times = {column: values[field] / 1e6 * 10 for column, field in MICROSECONDS.items()}
    rates = {column: values[field] * 8 / 10 for column, field in BYTES_A_SECOND.items()}
    assert row == {
        **{"t_s": 20.0, "host": "craft", "socket": "feed", "local": f"{CRAFT}:4321", "remote": f"{EARTH}:80"},
        **{"link": "a", "state": "established", "congestion": "bbr", "token": 77},
        **{column: values[field] for column, field in COUNTS.items()},
        **{column: pytest.approx(value) for column, value in (times | rates).items()},
    }


def test_what_the_kernel_has_not_is_nothing(tables: Tables) -> None:
    """A threshold without end, a least RTT before the first, a rate that nothing limits; an older kernel's shorter
    structure has zeros."""
    info, _ = tcp_info(snd_ssthresh=0x7FFFFFFF, min_rtt=0xFFFFFFFF, pacing_rate=(1 << 64) - 1)
    body = socket_of("127.0.0.1", "127.0.0.1", guests._attribute(2, info[:144]), state=10)
    (row,) = tables(record(guests._message(body), host=1))["sockets"]
    assert [row[name] for name in ("ssthresh_segments", "pacing_bps", "link", "token")] == [None] * 4
    assert [row[name] for name in ("min_rtt_s", "sent_bytes", "host", "state")] == [0.0, 0, "earth", "10"]
    body = socket_of(EARTH, CRAFT, guests._attribute(2, info))
    (row,) = tables(record(guests._message(body), host=1))["sockets"]
    assert (row["min_rtt_s"], row["link"]) == (None, "a")


def test_states_are_named_as_linux_numbers_them(tables: Tables) -> None:
    """include/net/tcp_states.h."""
    names = {
        1: "established",
        2: "syn-sent",
        3: "syn-received",
        4: "fin-wait-1",
        5: "fin-wait-2",
        8: "close-wait",
    }
    names |= {9: "last-ack", 11: "closing"}
    said = b"".join(guests._message(socket_of(CRAFT, EARTH, state=state)) for state in names)
    assert [row["state"] for row in tables(record(said))["sockets"]] == list(names.values())


def test_a_connections_columns_are_the_kernels_fields(tables: Tables) -> None:
    """``struct mptcp_info``: six bytes, flags, token, and three counters, which are told from where they began."""

    def said(written: int, acknowledged: int, received: int) -> bytes:
        info = struct.pack("=6B2xIIQQQ", 2, 9, 9, 9, 9, 9, 5, 78, written, acknowledged, received)
        return record(guests._message(socket_of(CRAFT, EARTH, guests._attribute(2, info))), kind=MPTCP)

    first, second = tables(said(1000, 2000, 3000), said(1010, 2200, 6000))["connections"]
    counters = ("further_subflows", "token", "written_bytes", "acked_bytes", "received_bytes")
    assert [[row[name] for name in counters] for row in (first, second)] == [
        [2, 78, 0, 0, 0],
        [2, 78, 10, 200, 3000],
    ]
    assert (first["local"], first["socket"], first["host"]) == (f"{CRAFT}:4321", "feed", "craft")
    # the other end's key is known from the second on: its numbers begin there
    first, second, third = tables(said(5, 5, 0), said(5, 5, 1 << 63), said(5, 5, (1 << 63) + 9))[
        "connections"
    ]
    assert [row["received_bytes"] for row in (first, second, third)] == [0, 0, 9]


def test_a_ways_columns_are_the_counters_of_its_two_netems(tables: Tables) -> None:
    """What arrives is the inner one's; what the outer has dropped beyond that was lost; the outer holds the inner's
    queue, too. Ten packets have ten Ethernet heads of 14 bytes."""

    def qdisc(device: int, handle: int, basic: tuple[int, int], queue: tuple[int, int, int]) -> bytes:
        stats = guests._attribute(1, struct.pack("=QI", *basic)) + guests._attribute(
            3, struct.pack("=5I", *queue, 0, 0)
        )
        return guests._message(struct.pack("=IiIII", 0, device, handle, 0, 0) + guests._attribute(7, stats))

    pair = qdisc(3, 0x10000, (99, 9), (7, 900, 25)) + qdisc(3, 0x20000, (1140, 10), (2, 228, 20))
    other = qdisc(4, 0x10000, (0, 0), (0, 0, 0)) + qdisc(4, 0x20000, (0, 0), (0, 0, 0))
    half = qdisc(9, 0x10000, (0, 0), (0, 0, 0))
    rows = tables(
        record(pair + other + half, kind=QDISC, host=1, t_ns=10**9),
        record(pair + other, kind=QDISC, host=0),
        record(half, kind=QDISC, host=0),
        scale=3.0,
    )["links"]
    assert rows[0] == {
        **{"t_s": 3.0, "link": "a", "way": "down", "delivered_packets": 10, "delivered_bytes": 1000},
        **{
            "lost_packets": 5,
            "dropped_packets": 20,
            "queued_packets": 2,
            "queued_bytes": 200,
            "under_way_packets": 5,
        },
    }
    assert [(row["way"], row["delivered_packets"]) for row in rows[1:]] == [("up", 0)]


def test_an_attribute_of_nothing_is_passed_and_one_of_less_ends_them(tmp_path: Path, tables: Tables) -> None:
    """Of four bytes, its own head; and of none, which would be read for ever."""
    congestion = guests._attribute(4, b"bbr\0")
    for before, said in (
        (guests._attribute(9, b""), "bbr"),
        (struct.pack("=HH", 0, 9), ""),
        (b"\3\0\4\0", ""),
    ):
        (row,) = tables(record(guests._message(socket_of(CRAFT, EARTH, before, congestion))))["sockets"]
        assert row["congestion"] == said


def test_a_link_is_that_of_the_spacecrafts_address(tables: Tables) -> None:
    """A subflow may begin at one of its own and end at that of another link."""
    ends = ((CRAFT, "10.9.0.2"), ("10.9.0.2", CRAFT), (EARTH, "10.9.0.1"))
    said = b"".join(guests._message(socket_of(*pair)) for pair in ends)
    assert [row["link"] for row in tables(record(said))["sockets"]] == ["a", "a", None]


def test_a_netem_without_numbers_is_no_way(tables: Tables) -> None:
    """Nor one whose queue is not told; where all that the outer one holds is queued nothing is under way."""

    def qdisc(handle: int, *stats: bytes) -> bytes:
        head = struct.pack("=IiIII", 0, 3, handle, 0, 0)
        return guests._message(head + guests._attribute(7, b"".join(stats)))

    basic, queue = guests._attribute(1, bytes(12)), guests._attribute(3, struct.pack("=5I", 2, 28, 0, 0, 0))
    for inner in ((), (basic,), (queue,)):
        said = qdisc(0x10000, basic, queue) + qdisc(0x20000, *inner)
        assert tables(record(said, kind=QDISC, host=1))["links"] == []
    said = qdisc(0x10000, basic, queue) + qdisc(0x20000, basic, queue)
    (row,) = tables(record(said, kind=QDISC, host=1))["links"]
    assert (row["queued_packets"], row["queued_bytes"], row["under_way_packets"]) == (2, 0, 0)


def test_a_counter_of_63_bits_is_one(tables: Tables) -> None:
    info, _ = tcp_info(bytes_acked=(1 << 63) - 1)
    (row,) = tables(record(guests._message(socket_of(CRAFT, EARTH, guests._attribute(2, info)))))["sockets"]
    assert row["acked_bytes"] == (1 << 63) - 1
    info, _ = tcp_info(bytes_acked=1 << 63)
    with pytest.raises(KernelError, match="acked_bytes: 9223372036854775808, which no counter reaches"):
        tables(record(guests._message(socket_of(CRAFT, EARTH, guests._attribute(2, info)))))


def test_messages_lie_at_multiples_of_four_bytes(tables: Tables) -> None:
    odd = guests._message(socket_of(CRAFT, EARTH) + b"x") + bytes(3)
    assert len(odd) % 4 == 0
    rows = tables(record(odd + guests._message(socket_of(EARTH, CRAFT))))["sockets"]
    assert [row["local"] for row in rows] == [f"{CRAFT}:4321", f"{EARTH}:4321"]


def test_times_are_those_of_a_guests_clock(tables: Tables) -> None:
    said = [record(guests._message(socket_of(CRAFT, EARTH)), t_ns=t_ns) for t_ns in (0, MOST_NS)]
    assert [row["t_s"] for row in tables(*said)["sockets"]] == [0.0, MOST_NS / 1e9]
