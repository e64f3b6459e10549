"""A run of programs as numbers: what a study has as columns, and what ``[expect]`` may bound.

They are read from the run's folder. What the programs print as JSON is untrusted like all that a guest leaves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dstcc.errors import DstccError, shortened

Numbers = dict[str, float | None]
WAYS = ("down", "up")
OF_WAYS = {
    "bytes": "delivered_bytes",
    "packets": "delivered_packets",
    "lost_packets": "lost_packets",
    "dropped_packets": "dropped_packets",
}
"""Number → column of ``links.parquet``."""
OF_SOCKETS = {
    "tcp_sent_bytes": "sent_bytes",
    "tcp_retransmitted_bytes": "retransmitted_bytes",
    "tcp_retransmitted_segments": "retransmitted_segments",
}
MOST_LINE, MOST_NUMBERS = 1 << 17, 1000
"""Bytes of a log's line, and numbers of one JSON object."""


def numbers_of(folder: Path, meta: Mapping[str, Any], json_of: Sequence[str] = ()) -> Numbers:
    """A run's numbers; ``meta`` is its ``run.json``, ``json_of`` are the hosts that print JSON.

    Raises :class:`~dstcc.errors.DstccError` where a program that ended with 0 printed no JSON, or a name that is taken.
    """
    first, *others = meta["programs"]
    ended_well = first["exit_code"] == 0 and not first["ended_by_dstcc"]
    found: Numbers = {
        "succeeded": float(ended_well),
        "exit_code": _float(first["exit_code"]),
        "ended_s": _float(first["ended_s"]),
        "completed_s": _float(first["ended_s"]) if ended_well else None,
        "mission_s": float(meta["mission_s"]),
        **_of_links(pq.read_table(folder / "links.parquet")),
        **_of_sockets(pq.read_table(folder / "sockets.parquet")),
        **_of_nodes(folder / "nodes.parquet"),
    }
    for name, program in _named(others):
        found[f"{name}.exit_code"] = _float(program["exit_code"])
        found[f"{name}.ended_s"] = _float(program["ended_s"])
    for host in json_of:
        own = host == first["host"]
        there = [first] if own else [one for one in others if one["host"] == host]
        if not there:
            raise DstccError(f"programs.json_of: no program runs on {host}")
        program = there[0]
        for key, value in _printed(folder, program).items():
            name = key if own else f"{host}.{key}"
            if name in found:
                raise DstccError(f"{_label(program)} prints {key!r}, which every run has; call it otherwise")
            found[name] = value
    return found


def _named(programs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The other programs: ``earth``, and ``earth.2`` for another there."""
    seen: dict[str, int] = {}
    for program in programs:
        host = program["host"]
        seen[host] = seen.get(host, 0) + 1
        yield host if seen[host] == 1 else f"{host}.{seen[host]}", program


def _of_links(links: pa.Table) -> Numbers:
    """What each link has carried each way at the end, and all of them together."""
    each: Numbers = {}
    total = {f"{way}_{name}": 0.0 for way in WAYS for name in ("bytes", "packets")}
    total |= {"lost_packets": 0.0, "dropped_packets": 0.0}
    for row in _last(links, ("link", "way")):
        for name, column in OF_WAYS.items():
            each[f"{row['link']}.{row['way']}.{name}"] = _float(row[column])
            total[name if name in total else f"{row['way']}_{name}"] += row[column]
    return {**total, **each}


def _of_sockets(sockets: pa.Table) -> Numbers:
    """Of all TCP sockets and subflows together; none without any."""
    if not sockets.num_rows:
        return dict.fromkeys(OF_SOCKETS)
    last = list(_last(sockets, ("host", "socket", "local", "remote")))
    return {name: math.fsum(row[column] for row in last) for name, column in OF_SOCKETS.items()}


def _of_nodes(path: Path) -> Numbers:
    """The most that each node of a network held, of its samples, and what it dropped."""
    if not path.exists():
        return {}
    nodes = pq.read_table(path)
    found: Numbers = {}
    for row in _last(nodes, ("node",)):
        held = pc.filter(nodes["held_bytes"], pc.equal(nodes["node"], pa.scalar(row["node"])))
        found[f"{row['node']}.most_held_bytes"] = _float(pc.max(held).as_py())
        found[f"{row['node']}.dropped_packets"] = _float(row["dropped_packets"])
    return found


def _last(table: pa.Table, whose: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The last row of each value of ``whose``, which are in the order of time."""
    last = {tuple(row[name] for name in whose): row for row in table.to_pylist()}
    yield from last.values()


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _printed(folder: Path, program: Mapping[str, Any]) -> Numbers:
    """The numbers of a program's last line of output; none of one that failed without a JSON object there."""
    line = _last_line(folder / f"{program['host']}.log", program["number"])
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        if program["exit_code"] or program["ended_by_dstcc"]:
            return {}
        said = f"is {shortened(line)!r}" if line else "is missing"
        raise DstccError(
            f"{_label(program)}: its last line must be a JSON object, as programs.json_of has it, and {said}"
        )
    found = dict(_flat(document))
    if len(found) > MOST_NUMBERS:
        raise DstccError(f"{_label(program)} prints {len(found):,} numbers; at most {MOST_NUMBERS:,}")
    return found


def _flat(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float | None]]:
    """Numbers, truth values and nulls by their keys, those of inner objects with a dot; all else is left out."""
    for key, value in document.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif value is None or isinstance(value, (bool, int, float)):
            number = _finite(value)
            if name.isprintable() and name.strip():
                yield name, number


def _finite(value: float | None) -> float | None:
    try:
        number = None if value is None else float(value)
    except OverflowError:
        return None
    return number if number is not None and math.isfinite(number) else None


def _last_line(log: Path, number: int) -> str:
    """What a program printed last to its standard output."""
    last, mine = b"", f" {number} out ".encode()
    with log.open("rb") as file:
        while line := file.readline(MOST_LINE):
            _, found, text = line.rstrip(b"\n").partition(mine)
            if found and b" " not in line[: line.index(mine)]:
                last = text
    return last.decode(errors="replace")


def _label(program: Mapping[str, Any]) -> str:
    return f"`{shortened(' '.join(program['argv']))}` on {program['host']}"
