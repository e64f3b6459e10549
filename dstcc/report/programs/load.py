"""A run of programs read back."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
from dstcc_kernel.endhosts import records
from dstcc_kernel.endhosts.mission import HOSTS
from numpy.typing import NDArray

from dstcc.clock import Clock
from dstcc.errors import RunError
from dstcc.reading import opened, read_json, read_text, read_toml
from dstcc.run.agreement import check_order
from dstcc.run.reading import read_table
from dstcc.run.record import NUMBER, SCENARIO, Whole, misshapen
from dstcc.sums import read_sums

KIND, SCHEMA = "programs", 1
HOST = re.compile(r"[a-z0-9-]{1,63}")
Columns = Mapping[str, NDArray[Any]]
PROGRAM = Whole(
    number=(int,),
    host=(str,),
    argv=[(str,)],
    exit_code=(int, NoneType),
    ended_s=(*NUMBER, NoneType),
    ended_by_dstcc=(bool,),
    last_words=(str, NoneType),
)
LINK = Whole(name=(str,), rtt_s=NUMBER, rate_bps=NUMBER, up_rate_bps=NUMBER, outages=(int,), outage_s=NUMBER)
SHAPE = Whole(
    argv=[(str,)],
    scenario_name=(str,),
    programs=[PROGRAM],
    problem=(str, NoneType),
    mission_s=NUMBER,
    notes=[(str,)],
    links=[LINK],
    distortions=[(str,)],
    dstcc_version=(str,),
    git_commit=(str, NoneType),
    seed=(int,),
    scale=NUMBER,
    kernel=Whole(version=(str,)),
    congestion=(str,),
    mptcp=(bool,),
    wall_s=NUMBER,
)
"""Of ``run.json``."""
OF_NETWORK = Whole(
    nodes=[Whole(host=(str,), storage_bytes=(int,))],
    paths=[Whole(name=(str,), rtt_s=NUMBER)],
    links=[Whole(contacts=[[NUMBER]], **{"from": (str,), "to": (str,)})],
)
"""And of a network's."""


def _shown(table: pa.Schema, *names: str) -> pa.Schema:
    """These columns of a table; when a row is from and whose it is is never missing."""
    columns = (table.field(name) for name in ("t_s", *names))
    return pa.schema([one.with_nullable(one.name != "t_s" and one.type != pa.string()) for one in columns])


SOCKETS = _shown(
    records.SOCKETS,
    *("host", "socket", "local", "remote", "link", "state"),
    *("rtt_s", "cwnd_segments", "acked_bytes", "received_bytes"),
)
LINKS = _shown(records.LINKS, "link", "way", "delivered_bytes", "lost_packets", "dropped_packets")
NODES = _shown(records.NODES, *records.NODES.names[1:])
"""The columns that the page is made of; the tables have more."""
SHOWN_LINES = 120
"""Of a log: so many from its beginning and from its end."""
MOST_LOG, MOST_LINE = 1 << 40, 1 << 17
"""Bytes of a log, which has a host's disk, and of a line."""


@dataclass(frozen=True)
class Log:
    """What a host's programs printed, as far as it is shown."""

    host: str
    first: str
    last: str
    """Empty if the first lines are all."""
    left_out: int


@dataclass(frozen=True)
class ProgramRun:
    """``run.json``, the tables and the logs."""

    path: Path
    meta: dict[str, Any]
    scenario: str
    clock: Clock
    sockets: Columns
    links: Columns
    logs: tuple[Log, ...]
    nodes: Columns = field(default_factory=dict)
    """What each node of a network stores."""


def is_program_run(path: Path) -> bool:
    """Whether a folder is what ``dstcc run`` writes, as far as its ``run.json`` says."""
    try:
        meta = read_json(path / "run.json", RunError)
    except (OSError, RunError):
        return False
    return isinstance(meta, dict) and meta.get("kind") == KIND


def load_program_run(path: Path) -> ProgramRun:
    """Read such a folder; raises :class:`RunError` with the file that is missing or cannot be used."""
    meta = read_json(path / "run.json", RunError)
    if meta.get("schema") != SCHEMA:
        raise RunError(f"{path / 'run.json'}: schema {meta.get('schema')}; this version reads {SCHEMA}")
    problem = misshapen(meta, SHAPE)
    if problem is None and "nodes" in meta:
        problem = _network_misfit(meta)
    if problem is None and not (meta["programs"] and all(one["argv"] for one in meta["programs"])):
        problem = "programs: must be a list of programs, each with its argv"
    if problem is not None:
        raise RunError(f"{path / 'run.json'}: {problem}")
    try:
        scenario = read_text(path / "scenario.toml", RunError)
        document = read_toml(path / "scenario.toml", RunError)
        if (problem := misshapen(document, SCENARIO)) is not None:
            raise RunError(f"{path / 'scenario.toml'}: {problem}")
        clock = Clock.of(document)
        hosts = [node["host"] for node in meta["nodes"]] if "nodes" in meta else HOSTS
        logs = tuple(_log(path, host) for host in hosts if (path / f"{host}.log").exists())
        run = ProgramRun(
            path,
            meta,
            scenario,
            clock,
            _table(path / "sockets.parquet", SOCKETS, ("host", "socket")),
            _table(path / "links.parquet", LINKS, ("link", "way")),
            logs,
            _table(path / "nodes.parquet", NODES, ("node",)) if "nodes" in meta else {},
        )
        read_sums(path, RunError).check(
            "run.json",
            "scenario.toml",
            "sockets.parquet",
            "links.parquet",
            "nodes.parquet",
            *(f"{log.host}.log" for log in logs),
        )
        return run
    except OSError as error:
        raise RunError(f"{error.filename}: {error.strerror}") from None


def _network_misfit(meta: dict[str, Any]) -> str | None:
    """What of a network's ``run.json`` cannot be."""
    if (problem := misshapen(meta, OF_NETWORK)) is not None:
        return problem
    for number, node in enumerate(meta["nodes"]):
        if not HOST.fullmatch(node["host"]):
            return f"nodes.{number}.host: must be a host's name"
    for number, link in enumerate(meta["links"]):
        if any(len(contact) != 2 for contact in link["contacts"]):
            return f"links.{number}.contacts: must be pairs of times"
    return None


def _table(path: Path, schema: pa.Schema, whose: Sequence[str]) -> Columns:
    """A table's columns; the samples of each value of ``whose`` are in the order of time."""
    table = read_table(path, schema)
    check_order(path, table, whose)
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}


def _log(path: Path, host: str) -> Log:
    """The beginning and the end of a host's log, which may be as large as its host's disk."""
    begin: list[str] = []
    end: deque[str] = deque(maxlen=SHOWN_LINES)
    left_out = 0
    with opened(path / f"{host}.log", RunError, MOST_LOG) as (file, _):
        for line in iter(partial(file.readline, MOST_LINE), b""):
            text = line.decode(errors="replace").rstrip("\n")
            if len(begin) < SHOWN_LINES:
                begin.append(text)
                continue
            left_out += len(end) == SHOWN_LINES
            end.append(text)
    if not left_out:
        return Log(host, "\n".join([*begin, *end]), "", 0)
    return Log(host, "\n".join(begin), "\n".join(end), left_out)


def of_link(columns: Columns, link: str) -> Columns:
    """The rows of one link."""
    mine = columns["link"] == link
    return {name: values[mine] for name, values in columns.items()}


def finite(values: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers with NaN where the table has none."""
    return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
