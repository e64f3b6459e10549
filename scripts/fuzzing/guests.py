"""The readers of what a guest left on the host: code in its kernel may have written all of it."""

from __future__ import annotations

import json
import struct
from functools import cache
from typing import TYPE_CHECKING

from tests.quick import QUICK

if TYPE_CHECKING:
    from dstcc_kernel.endhosts.mission import Mission

    from dstcc.engine import EngineConfig
    from scripts.fuzzing.targets import Room

OUTCOME = {
    "reason": "ended",
    "end_ns": 10**9,
    "programs": [{"exit_code": 0, "ended_ns": 10**9, "asked": False, "failed": None}],
    "full": ["craft"],
    "cut": [],
    "missed_packets": 0,
    "left_out": {"craft": {"neither file nor folder": {"count": 1, "named": ["craft/pipe"]}}, "earth": {}},
    "congestion": "cubic",
}
TRIAL = {
    **dict.fromkeys(("objects", "samples", "rtt_samples", "data_packets", "arrived_packets"), 1),
    **dict.fromkeys(("end_ns", "first_send_ns", "last_delivery_ns"), 10**9),
    **{
        f"{name}_bytes": 1000
        for name in (
            *("sent_wire", "sent_payload", "retransmitted_payload", "arrived_payload"),
            *("delivered_payload", "duplicate_payload", "hol_payload"),
        )
    },
    **dict.fromkeys(("hol_wait_byte_s", "rtt_sum_s", "queue_p95_s"), 0.5),
    "placed": [],
}


@cache
def _mission() -> Mission:
    from dstcc_kernel.endhosts.planning import Options, plan

    from dstcc.reading import parse_toml
    from dstcc.scenario import parse_scenario

    return plan(parse_scenario(parse_toml(QUICK), source="quick"), Options(command=("true",), pcapng=True))


@cache
def _config() -> EngineConfig:
    from dstcc.reading import parse_toml
    from dstcc.scenario import draw_trial, engine_config, load_source, parse_scenario

    scenario = parse_scenario(parse_toml(QUICK), source="quick")
    return engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), "cubic", "minrtt")


def outcome(room: Room, data: bytes) -> None:
    """How a mission ended, and which devices it had."""
    from dstcc_kernel.endhosts.mission import DEVICES
    from dstcc_kernel.endhosts.mission import OUTCOME as NAME
    from dstcc_kernel.endhosts.said import read_devices, read_outcome

    room.file(NAME if data[:1] == b"{" else DEVICES, data)
    (read_outcome if data[:1] == b"{" else read_devices)(room.folder, _mission())


def outcomes(_room: Room) -> list[bytes]:
    """Good ones."""
    devices = [{"down": 3, "up": 4} for _ in _mission().links]
    return [json.dumps(OUTCOME).encode(), json.dumps(devices).encode()]


def samples(room: Room, data: bytes) -> None:
    """Records of sockets and links."""
    from dstcc_kernel.endhosts.records import write_tables

    devices = [{"down": 3, "up": 4} for _ in _mission().links]
    write_tables(room.file("samples.bin", data), _mission(), devices, room.folder)


def _message(body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), 20, 0, 0, 0) + body


def _attribute(kind: int, body: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(body), kind) + body + bytes(-len(body) % 4)


def records(_room: Room) -> list[bytes]:
    """One of each kind."""
    from dstcc_kernel.endhosts.sampling import HEAD, MPTCP, QDISC, TCP

    socket = bytes(72) + _attribute(2, bytes(232)) + _attribute(4, b"cubic\0")
    stats = _attribute(7, _attribute(1, bytes(16)) + _attribute(3, bytes(20)))
    qdiscs = b"".join(
        _message(struct.pack("=IiIII", 0, device, handle, 0, 0) + stats)
        for device in (3, 4)
        for handle in (0x10000, 0x20000)
    )
    kinds = ((TCP, _message(socket)), (MPTCP, _message(socket)), (QDISC, qdiscs))
    return [b"".join(HEAD.pack(10**9, 0, kind, 0, len(said)) + said for kind, said in kinds)]


def ring(room: Room, data: bytes) -> None:
    """A device's packets: the beginning of a block, and the rest of it."""
    from dstcc_kernel.capture import BLOCK
    from dstcc_kernel.endhosts.packets import write_capture

    for device in ("craft0", "up0", "earth0", "down0"):
        room.file(f"{device}.ring", b"")
    room.file("craft0.ring", data.ljust(BLOCK, b"\0"))
    write_capture(room.folder / "1.pcapng", room.folder, _mission(), 0)


def rings(_room: Room) -> list[bytes]:
    """A block of two packets."""
    frame = bytes(12) + b"\x08\x00" + bytes(40)
    packet = struct.pack("=6IHH", 176, 1_767_225_600, 5, len(frame), len(frame), 0, 80, 94).ljust(58, b"\0")
    packet = (packet + b"\x04").ljust(80, b"\0") + frame
    return [struct.pack("=5I", 1, 0, 1, 2, 48).ljust(48, b"\0") + packet.ljust(176, b"\0") + packet]


def log(room: Room, data: bytes) -> None:
    """What programs printed; what is kept of it is lines of ours."""
    from dstcc_kernel.endhosts.logs import kept_log, lines_of

    kept = room.folder / "kept.log"
    kept.unlink(missing_ok=True)
    kept_log(room.file("craft.log", data), kept, 1)
    text = kept.read_bytes()
    assert len(list(lines_of(kept))) == text.count(b"\n") and b"\x1b" not in text


def trial(room: Room, data: bytes) -> None:
    """A trial's result."""
    from dstcc_kernel.outcome import missing_packets, read_result

    path = room.file("result.bin", data)
    read_result(path, _config())
    if b'"missing"' in data:
        missing_packets(path)


def trials(_room: Room) -> list[bytes]:
    """One of TCP's, one of coded packets."""
    numbers = struct.pack("8q", *range(8)) + struct.pack("11qd", *range(11), 1e6)
    coded = {**TRIAL, "blocks": 1, "missing": 1}
    return [
        json.dumps(TRIAL).encode() + b"\n" + numbers,
        json.dumps(coded).encode() + b"\n" + numbers + struct.pack("11q", *range(11)),
    ]
