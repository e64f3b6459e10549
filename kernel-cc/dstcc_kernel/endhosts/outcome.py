"""The folder of a run of programs::

run.json            what was run, how each program ended; the only file with the wall clock in it
scenario.toml       the scenario as resolved
HOST.log            what programs printed: mission time (s), program's number, stream, text
HOST/               the files of each host
links.parquet       counters of each link and way over mission time
nodes.parquet       of a network, what each node stores
sockets.parquet     TCP_INFO of every TCP socket and MPTCP subflow over mission time
connections.parquet MPTCP's own state
N-LINK.pcapng       packets, on request
SHA256SUMS          the checksums of all of it
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_write
from dstcc.clock import Clock
from dstcc.errors import KernelError, RunError
from dstcc.machine import git_commit, machine
from dstcc.outputs import Kind
from dstcc.reading import read_json
from dstcc.scenario import Scenario, link_notes, to_toml
from dstcc.scenario.bounds import OF_PROGRAMS
from dstcc.scenario.distortions import distortions, uncounted
from dstcc.sums import NAME as SHA256SUMS
from dstcc.sums import write_sums
from dstcc.version import __version__

from .. import guest
from ..backend import built
from ..confinement import lacking
from ..plan import MAX_RTT_S
from ..remains import check_names, ends_of
from .link_records import full_rtts, links_record, network_record
from .logs import kept_log, lines_of, log_of
from .mission import NAMED, SAMPLES, Mission
from .packets import capture_name, write_capture
from .planning import PROGRAMS_RTT_S, Options
from .records import write_tables
from .said import read_devices, read_outcome

SCHEMA, KIND = 1, "programs"
"""Of ``run.json``."""
UNCHECKED = "expect: bounds of trials are not checked by dstcc run, only by dstcc emulate"
KILLED = "Out of memory: Killed process"
"""The kernel's words."""
GAVE_UP = re.compile(
    r"time[d ]?.?out|closed|reset by peer|broken pipe|protocol data stream|no route|unreachable",
    re.IGNORECASE,
)
"""Of last words: what programs say when they, or the other end, have waited too long."""
CLIPPED_S = 40.0
"""Linux's first timeout is three round trips, and 120 s at most."""


def digest(
    folder: Path,
    work: Path,
    scenario: Scenario,
    mission: Mission,
    options: Options,
    *,
    argv: Sequence[str],
    wall_s: float,
    problem: str | None,
) -> dict[str, Any]:
    """Fill a run's folder from what a guest left in ``work``; ``run.json``."""
    said, console = read_outcome(work, mission), ends_of(work / guest.CONSOLE)
    write_tables(work / SAMPLES, mission, read_devices(work, mission), folder)
    not_printed = {}
    for name in mission.hosts:
        not_printed[name] = kept_log(work / log_of(name), folder / log_of(name), mission.disk_mb)
        check_names(work / name)
        (work / name).rename(folder / name) if (work / name).is_dir() else (folder / name).mkdir()
    if mission.capture and said:
        for index in range(len(mission.links)):
            write_capture(folder / capture_name(mission, index), work, mission, index)
    text, congestion = to_toml(scenario), said.get("congestion", mission.congestion)
    meta = {
        "schema": SCHEMA,
        "kind": KIND,
        "dstcc_version": __version__,
        "git_commit": git_commit(),
        "argv": list(argv),
        "scenario_name": scenario.scenario.name,
        "scenario_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "backend": "kernel",
        "kernel": {name: built().facts[name] for name in ("version", "sha256")},
        "machine": machine(),
        "unconfined": list(lacking()),
        "seed": scenario.run.seed,
        "scale": mission.scale,
        "distortions": list(distortions_of(replace(mission, congestion=congestion))),
        "congestion": congestion,
        "mptcp": mission.mptcp,
        "virtual_s": said.get("end_ns", 0) / 1e9,
        "mission_s": said.get("end_ns", 0) / 1e9 * mission.scale,
        "wall_s": wall_s,
        "ended": said.get("reason", "stopped"),
        "links": links_record(scenario, mission, said.get("end_ns", 0) / 1e9 * mission.scale),
        **network_record(scenario, mission),
        "programs": _programs(mission, said, folder),
        "problem": problem,
    }
    meta["exit_code"] = meta["programs"][0]["exit_code"]
    meta["notes"] = [
        *link_notes(scenario),
        *([UNCHECKED] if any(not key.startswith(OF_PROGRAMS) for key in scenario.expect) else []),
        *_notes(meta, said, console, mission, Clock(scenario.scenario.start)),
        *(
            f"{log_of(name)}: {lines:,} lines are left out, which no program printed"
            for name, lines in not_printed.items()
            if lines
        ),
    ]
    meta["entries"] = _entries(folder)
    atomic_write(folder / "scenario.toml", f"# dstcc {__version__}\n{text}")
    atomic_write(folder / "run.json", json.dumps(meta, indent=2, ensure_ascii=False) + "\n")
    write_sums(folder, KernelError, meta["entries"]["files"])
    return meta


def distortions_of(mission: Mission) -> tuple[str, ...]:
    """What the scale makes of constants in seconds, the programs' own among them, or what a long round trip does."""
    scale, longest_s = mission.scale, _longest_s(mission)
    own = _own(mission)
    if longest_s > MAX_RTT_S:
        return (
            f"round trips of {longest_s:g} s: Linux's TCP measures at most {MAX_RTT_S:g} s, so TCP does not work; "
            "use --scale auto",
            *own,
        )
    clipped = (
        f"round trips of {longest_s:g} s: Linux's first timeout is clipped at 120 s, so TCP retransmits what is not "
        "lost; use --scale auto"
    )
    full_s = {name: scale * each for name, each in full_rtts(mission).items()}
    return (*((clipped,) if longest_s > CLIPPED_S else ()), *uncounted(scale, full_s), *own)


def _longest_s(mission: Mission) -> float:
    """The longest round trip, in emulated seconds."""
    if mission.network is not None:
        return 2 * mission.longest_ns / 1e9
    return 2 * max(step.delay_ns for link in mission.links for step in link.down.steps) / 1e9


def _own(mission: Mission) -> tuple[str, ...]:
    scale = mission.scale
    if scale == 1:
        return ()
    return (
        f"programs' clocks and timers run in emulated time: a second of theirs is {scale:g} s of mission time "
        f"(ping's pause of 1 s, and the times it prints; curl's patience of 300 s → {300 * scale:g} s)",
        *distortions(scale, (mission.congestion,), longest_s=0.0),  # a long round trip is said above
    )


def _programs(mission: Mission, said: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Each program with how it ended; signals as shells count them."""
    found = []
    for number, program in enumerate(mission.programs):
        state = said["programs"][number] if said else {}
        code = state.get("exit_code")
        ended_ns = state.get("ended_ns")
        found.append(
            {
                "number": number + 1,
                "host": program.host,
                "argv": list(program.argv),
                "exit_code": 128 - code if code is not None and code < 0 else code,
                "ended_s": None if ended_ns is None else ended_ns / 1e9 * mission.scale,
                "ended_by_dstcc": bool(state.get("asked")),
                "last_words": _last_words(folder / log_of(program.host), number + 1, failed=bool(code)),
            }
        )
    return found


def _last_words(log: Path, number: int, *, failed: bool) -> str | None:
    """The last line of a program's output; of one that failed, of its standard error."""
    last: dict[str, str] = {}
    for whose, stream, text in lines_of(log):
        if whose == number:
            last[stream] = text
    first, second = ("err", "out") if failed else ("out", "err")
    return last.get(first) or last.get(second)


def _notes(
    meta: dict[str, Any], said: dict[str, Any], console: str, mission: Mission, clock: Clock
) -> list[str]:
    notes = [
        f"the guest is not confined as it should be: this host has no {part}" for part in meta["unconfined"]
    ]
    for program in meta["programs"][1:]:
        if program["exit_code"] and not program["ended_by_dstcc"]:
            words = f": {program['last_words']}" if program["last_words"] else ""
            when = clock.reading(program["ended_s"]) if clock.dated else f"{program['ended_s']:g} s"
            notes.append(
                f"`{' '.join(program['argv'])}` on {program['host']} ended with {program['exit_code']} at {when}{words}"
            )
    if hint := _impatient(meta, mission):
        notes.append(hint)
    notes += [
        f"{host}'s folder was full ({mission.disk_mb} MB; --disk gives it more)"
        for host in said.get("full", [])
    ]
    notes += [f"{host}.log was cut at {mission.disk_mb} MB (--disk)" for host in said.get("cut", [])]
    for reason, (count, paths) in _left_out(said).items():
        more = f", and {count - NAMED:,} more" if count > NAMED else ""
        notes.append(f"not kept, {reason}: {', '.join(paths[:NAMED])}{more}")
    if said.get("missed_packets"):
        notes.append(f"the captures miss {said['missed_packets']} packets")
    if KILLED in console:
        notes.append("the guest ran out of memory, and its kernel ended a program")
    return notes


def _impatient(meta: dict[str, Any], mission: Mission) -> str:
    """The likely cause where a program ended as after a timeout and round trips are long by programs' clocks."""
    longest_s = _longest_s(mission)
    if longest_s <= PROGRAMS_RTT_S:
        return ""
    impatient = next(
        (
            program["argv"][0]
            for program in meta["programs"]
            if program["exit_code"]
            and not program["ended_by_dstcc"]
            and GAVE_UP.search(program["last_words"] or "")
        ),
        None,
    )
    if impatient is None:
        return ""
    return (
        f"{impatient} ended as after a timeout: by programs' clocks a round trip takes {longest_s:.4g} s here, and "
        f"many give up after one or two minutes; with --scale auto it takes {PROGRAMS_RTT_S:g} s at most"
    )


def _left_out(said: dict[str, Any]) -> dict[str, tuple[int, list[str]]]:
    """What stayed in the guest, of both hosts, by reason: how much, and the names of some."""
    found: dict[str, tuple[int, list[str]]] = {}
    for by_reason in said.get("left_out", {}).values():
        for reason, left in by_reason.items():
            count, named = found.get(reason, (0, []))
            found[reason] = count + left["count"], [*named, *left["named"]]
    return found


def _entries(folder: Path) -> dict[str, list[str]]:
    """All that the run consists of, so that nothing else is ever taken for it."""
    folders, files = [], ["run.json", "scenario.toml", SHA256SUMS]
    for root, below, names in os.walk(folder):
        here = Path(root).relative_to(folder)
        below[:] = sorted(name for name in below if not name.startswith(".guest"))
        folders += [(here / name).as_posix() for name in below]
        files += [(here / name).as_posix() for name in names]
    return {"folders": sorted(folders), "files": sorted(files)}


def _not_ours(path: Path) -> str | None:
    """What keeps a folder from being such a run and nothing else."""
    try:
        meta = read_json(path / "run.json", RunError)
        if meta["schema"] != SCHEMA or meta["kind"] != KIND:
            return "has a run.json that is not of `dstcc run`"
        known = {*meta["entries"]["folders"], *meta["entries"]["files"]}
    except FileNotFoundError:
        return "has no run.json"
    except (RunError, TypeError, KeyError):
        return "has a run.json that is damaged, or not of `dstcc run`"
    for root, below, names in os.walk(path):
        for name in sorted((*below, *names)):
            within = (Path(root) / name).relative_to(path).as_posix()
            if within not in known or (path / within).is_symlink():
                return f"holds {within}, which is no part of the run"
    return None


OUTPUT = Kind("a run of programs", _not_ours, folder=True)
"""What ``dstcc run`` writes."""
