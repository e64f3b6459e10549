"""The guest's records as numbers: sockets' ``TCP_INFO``, MPTCP connections and links' counters, in mission time.

Code in the guest's kernel may have written them: a length, a host, a number that there cannot be is an error, and rows
go to their tables in pieces, however many there are.

Layouts: include/uapi/linux/tcp.h (``struct tcp_info``), mptcp.h (``struct mptcp_info``), inet_diag.h, pkt_sched.h,
gen_stats.h. Fields were only ever added at their ends.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from dstcc.errors import KernelError
from dstcc.reading import opened

from ..genetlink import attributes
from ..topology import ETHERNET_BYTES, INNER, OUTER
from .mission import HOSTS, Mission
from .naming import link_of_address
from .planning import SAMPLES_MB
from .said import MOST_NS
from .sampling import ALIGNED, HEAD, MPTCP, PLAYED, QDISC, TCP

MESSAGE_HEAD, DIAG_HEAD, TC_HEAD = 16, 72, 20
DIAG_INFO, DIAG_CONG, DIAG_ULP = 2, 4, 18
ULP_MPTCP, SUBFLOW_TOKEN = 3, 2
STATS2, STATS_BASIC, STATS_QUEUE = 7, 1, 3
MAPPED = bytes(10) + b"\xff\xff"
"""How the IPv6 form of an IPv4 address begins."""
STATES = {
    1: "established",
    2: "syn-sent",
    3: "syn-received",
    4: "fin-wait-1",
    5: "fin-wait-2",
    8: "close-wait",
    9: "last-ack",
    11: "closing",
}
US, COUNT, RATE = "us", "count", "rate"
FIELDS: dict[str, tuple[int, str, str]] = {
    "rto_s": (8, "I", US),
    "mss_bytes": (16, "I", COUNT),
    "unacked_segments": (24, "I", COUNT),
    "lost_segments": (32, "I", COUNT),
    "rtt_s": (68, "I", US),
    "rttvar_s": (72, "I", US),
    "ssthresh_segments": (76, "I", COUNT),
    "cwnd_segments": (80, "I", COUNT),
    "retransmitted_segments": (100, "I", COUNT),
    "pacing_bps": (104, "Q", RATE),
    "acked_bytes": (120, "Q", COUNT),
    "received_bytes": (128, "Q", COUNT),
    "segments_out": (136, "I", COUNT),
    "segments_in": (140, "I", COUNT),
    "notsent_bytes": (144, "I", COUNT),
    "min_rtt_s": (148, "I", US),
    "delivery_bps": (160, "Q", RATE),
    "busy_s": (168, "Q", US),
    "receiver_limited_s": (176, "Q", US),
    "buffer_limited_s": (184, "Q", US),
    "delivered_segments": (192, "I", COUNT),
    "sent_bytes": (200, "Q", COUNT),
    "retransmitted_bytes": (208, "Q", COUNT),
    "peer_window_bytes": (228, "I", COUNT),
}
"""Column → offset in ``struct tcp_info``, its type, its unit there."""
MPTCP_FIELDS = {"write_seq": 16, "snd_una": 24, "rcv_nxt": 32}
UNSET = {"ssthresh_segments": 0x7FFFFFFF, "min_rtt_s": 0xFFFFFFFF, "pacing_bps": (1 << 64) - 1}
"""What the kernel says of a value that it has not."""
SOCKETS = pa.schema(
    [
        ("t_s", pa.float64()),
        *(
            (name, pa.string())
            for name in ("host", "socket", "local", "remote", "link", "state", "congestion")
        ),
        ("token", pa.uint32()),
        *((name, pa.float64() if unit != COUNT else pa.int64()) for name, (_, _, unit) in FIELDS.items()),
    ]
)
CONNECTIONS = pa.schema(
    [
        ("t_s", pa.float64()),
        *((name, pa.string()) for name in ("host", "socket", "local", "remote", "state")),
        ("token", pa.uint32()),
        *(
            (name, pa.int64())
            for name in ("further_subflows", "written_bytes", "acked_bytes", "received_bytes")
        ),
    ]
)
LINKS = pa.schema(
    [
        ("t_s", pa.float64()),
        ("link", pa.string()),
        ("way", pa.string()),
        *(
            (name, pa.int64())
            for name in (
                "delivered_packets",
                "delivered_bytes",
                "lost_packets",
                "dropped_packets",
                "queued_packets",
                "queued_bytes",
                "under_way_packets",
            )
        ),
    ]
)


NODES = pa.schema(
    [
        ("t_s", pa.float64()),
        ("node", pa.string()),
        *(
            (name, pa.int64())
            for name in ("held_packets", "held_bytes", "dropped_packets", "lost_in_restarts_packets")
        ),
    ]
)
WAYS = ("down", "up")
"""Of a link, as the program that plays it counts them (``kernel-cc/links/ways.hpp``)."""
COUNTED = {"links": tuple(LINKS.names[3:]), "nodes": tuple(NODES.names[2:])}
"""Its numbers of a direction and of a node, 64 bits each."""

SCHEMAS = {"sockets": SOCKETS, "connections": CONNECTIONS, "links": LINKS}
PIECE = 1 << 15
"""Rows that are held before they are written."""
MOST_CONNECTIONS = 1 << 18
"""Of MPTCP's, whose first numbers are remembered."""
MOST_BYTES = SAMPLES_MB << 20


def write_tables(path: Path, mission: Mission, devices: list[dict[str, int]], folder: Path) -> None:
    """``sockets``, ``connections`` (MPTCP's) and ``links`` of a file of records, as Parquet.

    Raises :class:`~dstcc.errors.KernelError` for records that no guest of ours writes.
    """
    with ExitStack() as stack:
        tables = {
            name: stack.enter_context(_Table(folder / f"{name}.parquet", schema))
            for name, schema in schemas_of(mission).items()
        }
        try:
            with opened(path, KernelError, MOST_BYTES, follow=False) as (file, size):
                for name, row in _rows(file, size, mission, devices):
                    tables[name].add(row)
                file.seek(size)
        except FileNotFoundError:
            return  # it was stopped before
        except _WrongError as error:
            raise KernelError(f"{path.name}: {error}") from None
        except struct.error:
            raise KernelError(f"{path.name}: a message is shorter than what it holds") from None


def schemas_of(mission: Mission) -> dict[str, pa.Schema]:
    """The tables of a run."""
    return SCHEMAS if mission.network is None else {**SCHEMAS, "nodes": NODES}


class _WrongError(Exception):
    """A record that there cannot be; says which rule it breaks."""


class _Table(AbstractContextManager["_Table"]):
    """A table that is written in pieces, at least one."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer, self._schema = pq.ParquetWriter(path, schema, compression="zstd"), schema
        self._rows: list[dict[str, Any]] = []
        self._empty = True

    def __exit__(self, *_error: object) -> None:
        if self._rows or self._empty:
            self._write()
        self._writer.close()

    def add(self, row: dict[str, Any]) -> None:
        """Append one."""
        self._rows.append(row)
        if len(self._rows) == PIECE:
            self._write()

    def _write(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._empty = [], False


def _rows(
    file: BinaryIO, size: int, mission: Mission, devices: list[dict[str, int]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with its table's name."""
    first: dict[str, dict[str, int]] = {}
    for t_ns, host, kind, messages in _records(file, size, mission):
        t_s = t_ns / 1e9 * mission.scale
        if kind == PLAYED:
            for name, row in _played(messages, mission):
                yield name, {"t_s": t_s, **row}
            continue
        if kind == QDISC:
            for row in _links(messages, HOSTS[host], mission, devices):
                yield "links", {"t_s": t_s, **row}
            continue
        for body in _bodies(messages):
            if len(body) < DIAG_HEAD:
                raise _WrongError(f"a socket of {len(body)} bytes, of which its head takes {DIAG_HEAD}")
            if kind == TCP:
                yield "sockets", {"t_s": t_s, "host": mission.hosts[host], **_socket(body, mission)}
            else:
                yield "connections", {"t_s": t_s, "host": mission.hosts[host], **_connection(body, first)}


def _records(file: BinaryIO, size: int, mission: Mission) -> Iterator[tuple[int, int, int, bytes]]:
    """Time, host, kind and messages; a record that was cut off ends the file."""
    at = 0
    while at + HEAD.size <= size:
        t_ns, host, kind, _, length = HEAD.unpack(file.read(HEAD.size))
        at += HEAD.size + length
        if at > size:
            return
        if not 0 <= t_ns <= MOST_NS:
            raise _WrongError(f"a record of {t_ns} ns, which no guest's clock shows")
        known = (TCP, MPTCP, QDISC if mission.network is None else PLAYED)
        if host >= len(mission.hosts) or kind not in known:
            raise _WrongError(f"a record of host {host} and kind {kind}, which there is not")
        yield t_ns, host, kind, file.read(length)


def _bodies(messages: bytes) -> Iterator[bytes]:
    """What follows the heads of netlink messages."""
    at = 0
    while at + MESSAGE_HEAD <= len(messages):
        (length,) = struct.unpack_from("=I", messages, at)
        if not MESSAGE_HEAD <= length <= len(messages) - at:
            raise _WrongError(f"a message of {length} bytes where {len(messages) - at} are left")
        yield messages[at + MESSAGE_HEAD : at + length]
        at += -(-length // ALIGNED) * ALIGNED


def _number(value: int, what: str) -> int:
    """A counter as the tables have it."""
    if value >= 1 << 63:
        raise _WrongError(f"{what}: {value}, which no counter reaches")
    return value


def _attributes(data: bytes) -> dict[int, bytes]:
    return dict(attributes(data))


def _ends(body: bytes) -> dict[str, str]:
    ports = struct.unpack_from(">HH", body, 4)
    local, remote = (_address(body[0], body[at : at + 16]) for at in (8, 24))
    return {
        "socket": f"{struct.unpack_from('=Q', body, 44)[0]:x}",
        "local": f"{local}:{ports[0]}",
        "remote": f"{remote}:{ports[1]}",
        "state": STATES.get(body[1], str(body[1])),
    }


def _address(family: int, data: bytes) -> str:
    """Of a socket; IPv4's as such on an IPv6 socket, too."""
    if family != socket.AF_INET6:
        return socket.inet_ntoa(data[:4])
    if data.startswith(MAPPED):
        return socket.inet_ntoa(data[len(MAPPED) :])
    return f"[{socket.inet_ntop(socket.AF_INET6, data)}]"


def _socket(body: bytes, mission: Mission) -> dict[str, Any]:
    ends, attributes = _ends(body), _attributes(body[DIAG_HEAD:])
    info = attributes.get(DIAG_INFO, b"").ljust(256, b"\0")
    subflow = _attributes(_attributes(attributes.get(DIAG_ULP, b"")).get(ULP_MPTCP, b""))
    token = subflow.get(SUBFLOW_TOKEN)
    return {
        **ends,
        "link": _link_of(ends, mission),
        "congestion": attributes.get(DIAG_CONG, b"").rstrip(b"\0").decode(errors="backslashreplace"),
        "token": struct.unpack_from("=I", token)[0] if token else None,
        **{name: _value(info, name, mission.scale) for name in FIELDS},
    }


def _value(info: bytes, name: str, scale: float) -> float | int | None:
    offset, kind, unit = FIELDS[name]
    value: int = struct.unpack_from(f"={kind}", info, offset)[0]
    if value == UNSET.get(name):
        return None
    if unit == US:
        return value / 1e6 * scale
    return value * 8 / scale if unit == RATE else _number(value, name)


def _link_of(ends: Mapping[str, str], mission: Mission) -> str | None:
    """Of the link whose address the socket's own is, on either end; a subflow's source says it on the spacecraft."""
    found = (link_of_address(ends[name].rpartition(":")[0], mission) for name in ("local", "remote"))
    return next((name for name in found if name is not None), None)


def _connection(body: bytes, first: dict[str, dict[str, int]]) -> dict[str, Any]:
    ends = _ends(body)
    info = _attributes(body[DIAG_HEAD:]).get(DIAG_INFO, b"").ljust(64, b"\0")
    now = {name: struct.unpack_from("=Q", info, offset)[0] for name, offset in MPTCP_FIELDS.items()}
    began = first.setdefault(ends["socket"], now)
    if len(first) > MOST_CONNECTIONS:
        raise _WrongError(f"more than {MOST_CONNECTIONS:,} connections")
    # they begin anywhere in 64 bits, and anew when the other end's key is known
    began.update({name: value for name, value in now.items() if value < began[name] or not began[name]})
    so_far = {name: _number(value - began[name], name) for name, value in now.items()}
    return {
        **ends,
        "token": struct.unpack_from("=I", info, 12)[0],
        "further_subflows": info[0],
        "written_bytes": so_far["write_seq"],
        "acked_bytes": so_far["snd_una"],
        "received_bytes": so_far["rcv_nxt"],
    }


def _sent(basic: bytes) -> tuple[int, int]:
    """Bytes and packets."""
    size, packets = struct.unpack_from("=QI", basic)
    return _number(size, "delivered_bytes"), packets


def _played(numbers: bytes, mission: Mission) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the program that plays a network's links says of each link and way, and of each node."""
    assert mission.network is not None
    rows: list[tuple[str, dict[str, Any]]] = [
        *(("links", {"link": link.name, "way": way}) for link in mission.links for way in WAYS),
        *(("nodes", {"node": host}) for host in mission.network.nodes),
    ]
    wanted = 8 * sum(len(COUNTED[name]) for name, _ in rows)
    if len(numbers) != wanted:
        raise _WrongError(f"{len(numbers)} bytes of links and nodes, which have {wanted}")
    values = iter(struct.unpack(f"={wanted // 8}Q", numbers))
    for name, row in rows:
        yield name, {**row, **{column: _number(next(values), column) for column in COUNTED[name]}}


def _links(
    messages: bytes, host: str, mission: Mission, devices: list[dict[str, int]]
) -> Iterator[dict[str, Any]]:
    """The counters of the ways whose netems the end host has: those of what arrives there."""
    found = {}
    for body in _bodies(messages):
        device, handle = struct.unpack_from("=iI", body, 4)
        stats = _attributes(_attributes(body[TC_HEAD:]).get(STATS2, b""))
        if handle in (OUTER, INNER) and STATS_BASIC in stats and STATS_QUEUE in stats:
            found[device, handle] = (
                *_sent(stats[STATS_BASIC]),
                *struct.unpack_from("=III", stats[STATS_QUEUE]),
            )
    way = "up" if host == HOSTS[0] else "down"
    for link, device_of in zip(mission.links, devices, strict=True):
        outer, inner = (found.get((device_of[way], handle)) for handle in (OUTER, INNER))
        if outer is None or inner is None:
            continue
        size, packets, queued, backlog, dropped = inner
        yield {
            "link": link.name,
            "way": way,
            "delivered_packets": packets,
            "delivered_bytes": size - ETHERNET_BYTES * packets,
            "lost_packets": outer[4] - dropped,
            "dropped_packets": dropped,
            "queued_packets": queued,
            "queued_bytes": max(0, backlog - ETHERNET_BYTES * queued),
            "under_way_packets": max(0, outer[2] - queued),
        }
