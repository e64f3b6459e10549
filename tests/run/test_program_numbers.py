"""A run of programs as numbers, from tables and logs made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.errors import DstccError, ScenarioError
from dstcc.expect import check_programs
from dstcc.run.program_numbers import numbers_of

COUNTS = ("delivered_bytes", "delivered_packets", "lost_packets", "dropped_packets")
LINKS = [
    ("a b", "down", (0, 0, 0, 0)),
    ("a b", "up", (50, 1, 0, 0)),
    ("a b", "down", (3000, 2, 1, 4)),
    ("c", "down", (1000, 1, 2, 0)),
]
"""Link, way, counts; the last of each counts."""


def program(
    number: int, host: str, code: int | None = 0, ended_s: float | None = 9.0, **more: Any
) -> dict[str, Any]:
    own = {"number": number, "host": host, "argv": ["get", host], "exit_code": code, "ended_s": ended_s}
    return {**own, "ended_by_dstcc": False, **more}


def write(folder: Path, logs: dict[str, str], *, sockets: list[dict[str, Any]] | None = None) -> None:
    rows = [
        {"link": link, "way": way, **dict(zip(COUNTS, counts, strict=True))} for link, way, counts in LINKS
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "links.parquet")
    names = (
        "host",
        "socket",
        "local",
        "remote",
        "sent_bytes",
        "retransmitted_bytes",
        "retransmitted_segments",
    )
    schema = pa.schema([(name, pa.int64() if "_" in name else pa.string()) for name in names])
    pq.write_table(pa.Table.from_pylist(sockets or [], schema=schema), folder / "sockets.parquet")
    for host, text in logs.items():
        (folder / f"{host}.log").write_text(text)


def meta(*programs: dict[str, Any]) -> dict[str, Any]:
    return {"programs": list(programs), "mission_s": 12.0}


def test_links_count_by_way_and_hop(tmp_path: Path) -> None:
    write(tmp_path, {})
    found = numbers_of(tmp_path, meta(program(1, "craft")))
    assert (
        found["a b.down.bytes"] == 3000 and found["c.down.lost_packets"] == 2 and found["a b.up.packets"] == 1
    )
    assert (found["down_bytes"], found["down_packets"], found["up_bytes"]) == (4000, 3, 50)
    assert (found["lost_packets"], found["dropped_packets"]) == (3, 4)
    assert found["tcp_sent_bytes"] is None  # there was no TCP
    assert (found["succeeded"], found["completed_s"], found["mission_s"]) == (1, 9.0, 12.0)


@pytest.mark.parametrize(("code", "asked"), [(1, False), (0, True), (None, False)])
def test_what_did_not_end_well_has_no_time_of_completion(
    tmp_path: Path, code: int | None, asked: bool
) -> None:
    write(tmp_path, {})
    found = numbers_of(tmp_path, meta(program(1, "craft", code, ended_by_dstcc=asked)))
    assert (found["succeeded"], found["completed_s"], found["ended_s"]) == (0, None, 9.0)


def test_tcp_is_the_last_of_each_socket(tmp_path: Path) -> None:
    def row(socket: str, sent: int, again: int) -> dict[str, Any]:
        ends = {"host": "craft", "socket": socket, "local": "a", "remote": "b"}
        return {
            **ends,
            "sent_bytes": sent,
            "retransmitted_bytes": again,
            "retransmitted_segments": again // 100,
        }

    write(tmp_path, {}, sockets=[row("1", 100, 0), row("1", 900, 100), row("2", 50, 200)])
    found = numbers_of(tmp_path, meta(program(1, "craft")))
    assert (found["tcp_sent_bytes"], found["tcp_retransmitted_bytes"]) == (950, 300)
    assert found["tcp_retransmitted_segments"] == 3


def test_nodes_have_the_most_that_they_held(tmp_path: Path) -> None:
    write(tmp_path, {})
    held = [("relay", 5, 0), ("relay", 9, 1), ("relay", 0, 2)]
    rows = [{"node": name, "held_bytes": size, "dropped_packets": lost} for name, size, lost in held]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "nodes.parquet")
    found = numbers_of(tmp_path, meta(program(1, "craft")))
    assert (found["relay.most_held_bytes"], found["relay.dropped_packets"]) == (9, 2)


def test_the_last_line_of_json_is_numbers(tmp_path: Path) -> None:
    """Nested with dots; truth values as 0 and 1; texts, lists and what is no number left out. Of another host by its
    name, and only of the program that is asked for."""
    own = '0.1 1 out {"bytes": 1}\n'
    own += '0.2 1 out {"bytes": 7, "quic": {"lost": 2, "ok": true}, "why": "x", "a": [1], "n": null}\n'
    own += '0.3 1 err {"bytes": 9}\n0.4 2 out {"bytes": 8}\n'
    write(tmp_path, {"craft": own, "earth": '0.5 3 out {"sent": 1e3, "huge": 1e999}\n'})
    programs = meta(program(1, "craft"), program(2, "craft"), program(3, "earth", 3, None))
    found = numbers_of(tmp_path, programs, ("craft", "earth"))
    assert (found["bytes"], found["quic.lost"], found["quic.ok"], found["n"]) == (7, 2, 1, None)
    assert "why" not in found and "a" not in found
    assert (found["earth.sent"], found["earth.huge"], found["earth.exit_code"]) == (1000, None, 3)
    assert found["craft.ended_s"] == 9.0


@pytest.mark.parametrize(
    "line", ["", "0.1 1 out done\n", "0.1 1 out [1]\n", "0.1 1 out 3\n", "0.1 1 err {}\n"]
)
def test_a_last_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    write(tmp_path, {"craft": line})
    with pytest.raises(DstccError, match=r"`get craft` on craft: its last line must be a JSON object"):
        numbers_of(tmp_path, meta(program(1, "craft")), ("craft",))
    failed = numbers_of(tmp_path, meta(program(1, "craft", 1)), ("craft",))  # it had no time to print any
    assert failed["exit_code"] == 1


def test_a_number_that_every_run_has_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"craft": '0.1 1 out {"exit_code": 0}\n'})
    with pytest.raises(DstccError, match="prints 'exit_code', which every run has"):
        numbers_of(tmp_path, meta(program(1, "craft")), ("craft",))
    with pytest.raises(DstccError, match=r"programs\.json_of: no program runs on mars"):
        numbers_of(tmp_path, meta(program(1, "craft")), ("mars",))


def test_bounds_are_held_to_the_numbers() -> None:
    expect = {"programs.bytes": ">= 10, < 20", "playback_ratio": ">= 1"}
    assert check_programs(expect, {"bytes": 10}, where="it.toml") == []
    assert [str(miss) for miss in check_programs(expect, {"bytes": 20}, where="it.toml")] == [
        "programs: bytes is 20, expected >= 10, < 20"
    ]
    assert "has no value" in str(check_programs(expect, {"bytes": None}, where="it.toml")[0])
    with pytest.raises(
        ScenarioError, match=r"it\.toml: expect\.programs\.bytes: the run has no such number; there are x"
    ):
        check_programs(expect, {"x": 1}, where="it.toml")
