"""``dstcc run``: unmodified programs on both ends of a scenario's links."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .kernel import WHICH
from .options import PATH, SCENARIO, SEED, SETTINGS
from .output import emit_json, notice

if TYPE_CHECKING:
    from dstcc_kernel.endhosts.flight import Flown

    from dstcc.clock import Clock

EXAMPLES = """\b
Examples:
  dstcc run mars.toml -o run --scale 1 -- ping -c 5 -W 3000 earth
  dstcc run mars.toml -o run --earth "iperf3 -s -1" -- iperf3 -c earth -t 600
  dstcc run mars.toml -o run --earth "python3 -m http.server 80" \\
      --for 2h -- curl -O http://earth/
  dstcc run mars.toml -o run --scale 1 --for 10d -- ping -i 60 earth
  dstcc run programs.toml -o run        # what its [programs] says
  dstcc run network.toml -o run --on orbiter "tcpdump -i link2" -- ping -6 earth
"""


@click.command(short_help="Run programs of yours on both ends of a scenario's links.", epilog=EXAMPLES)
@SCENARIO
@click.argument("cmd", nargs=-1, type=click.UNPROCESSED)
@click.option("-o", "--output", required=True, type=PATH, help="Folder to write.")
@click.option(
    "--earth", multiple=True, metavar="CMD", help="A program on Earth, started before CMD; repeatable."
)
@click.option(
    "--on",
    multiple=True,
    nargs=2,
    metavar="NODE CMD",
    help="A program on any host, or node of a network, started before CMD; repeatable.",
)
@click.option(
    "--for",
    "until",
    metavar="TIME",
    help="Mission time of the end: 90, '15 min', 2h, 10d.  [default: the scenario's duration_s, or CMD's end]",
)
@click.option("--mptcp", is_flag=True, help="Make programs' TCP sockets MPTCP sockets over all links.")
@click.option(
    "--congestion",
    metavar="NAME",
    help="Congestion control of sockets, unless a program sets one.  [default: cubic]",
)
@click.option(
    "--module",
    type=PATH,
    metavar="FOLDER",
    help="Your congestion control in C: built, loaded, and set for sockets.",
)
@click.option("--bpf", type=PATH, metavar="FILE", help="The same as a struct_ops source, compiled as C.")
@WHICH
@SEED
@click.option(
    "--scale",
    metavar="S",
    help="Mission seconds per second of the programs' clocks, or auto.  [default: auto]",
)
@SETTINGS
@click.option("--pcapng", is_flag=True, help="Also write each link's packets for Wireshark (large).")
@click.option(
    "--disk",
    "disk_mb",
    type=click.IntRange(1, 65_536),
    metavar="MB",
    help="Limit of a host's files, megabytes.  [default: 256]",
)
@click.option(
    "--wall",
    "wall_s",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Real seconds after which the run is aborted.  [default: 600]",
)
@click.option("--force", is_flag=True, help="Overwrite an existing run of programs (only if dstcc wrote it).")
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON document on stdout; CMD's output is in the log."
)
def command(
    *,
    scenario: Path,
    cmd: tuple[str, ...],
    output: Path,
    earth: tuple[str, ...],
    on: tuple[tuple[str, str], ...],
    until: str | None,
    mptcp: bool,
    congestion: str | None,
    module: Path | None,
    bpf: Path | None,
    seed: int | None,
    scale: str | None,
    settings: tuple[str, ...],
    pcapng: bool,
    disk_mb: int | None,
    wall_s: float | None,
    force: bool,
    as_json: bool,
) -> int:
    """Run CMD on the spacecraft of SCENARIO, and programs on other hosts, in virtual time, which skips waiting.

    Without CMD, what [programs] of the scenario says, checked against its [expect] (a missed bound: exit code 3).

    Hosts are called craft and earth, or as the scenario's nodes; CMD runs on the first node of the paths. Programs can
    read this machine's files, and write to a folder of their host, which the run keeps. The run ends with CMD or at
    --for, with CMD's exit code.
    """

    from dstcc_kernel.endhosts.flight import WALL_S, fly
    from dstcc_kernel.endhosts.planning import Options, meaning, options_of

    from dstcc.clock import Clock
    from dstcc.expect import MISSED, check_programs
    from dstcc.run.asked import overrides
    from dstcc.run.program_numbers import numbers_of
    from dstcc.scenario import load_scenario, scenario_files
    from dstcc.scenario.units import duration_s

    loaded = load_scenario(scenario, overrides(settings, scale=scale, seed=seed))
    if not cmd and (earth or on):
        raise click.UsageError(
            "--earth, --on: stand beside CMD; without it [programs] of the scenario says what runs"
        )
    options = Options(command=cmd) if cmd else options_of(loaded)
    given: dict[str, Any] = {
        "earth": earth,
        "on": on,
        "for_s": None if until is None else duration_s(until, "--for"),
        "congestion": congestion,
        "module": module,
        "bpf": bpf,
        "mptcp": mptcp,
        "pcapng": pcapng,
        "disk_mb": disk_mb,
    }
    options = replace(options, **{key: value for key, value in given.items() if value})
    programs = None if cmd else loaded.programs
    lost: set[str] = set()
    with meaning(programs):
        flown = fly(
            output,
            loaded,
            options,
            argv=sys.argv,
            wall_s=wall_s or (WALL_S if programs is None else programs.wall_s),
            force=force,
            inputs=[*scenario_files(scenario), *(path for path in (module, bpf) if path is not None)],
            tell=_mute if as_json else partial(tell_output, lost),
        )
    if as_json:
        emit_json(_document(output, flown))
    _say(output, flown, Clock(loaded.scenario.start))
    missed = []
    if programs is not None and flown.problem is None:
        numbers = numbers_of(output, flown.meta, programs.json_of)
        missed = check_programs(loaded.expect, numbers, where=str(scenario))
    for problem in (*sorted(lost), *map(str, missed)):
        notice(problem)
    if missed:
        return MISSED
    return flown.exit_code or bool(lost)


def tell_output(lost: set[str], stream: str, data: bytes) -> None:
    """Pass CMD's output on as it is; what cannot be written any more does not end the run."""
    to = getattr(sys, stream)
    try:
        to.buffer.write(data)
        to.buffer.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), to.fileno())
        if not isinstance(error, BrokenPipeError):  # its reader has all that it wanted
            lost.add(f"{stream}: {error.strerror}; the host's log has all of CMD's output")


def _mute(_stream: str, _data: bytes) -> None:
    """With --json stdout is the document's."""


def _document(output: Path, flown: Flown) -> dict[str, Any]:
    meta = flown.meta
    return {
        "run": str(output),
        "scale": meta["scale"],
        "virtual_s": meta["virtual_s"],
        "mission_s": meta["mission_s"],
        "wall_s": meta["wall_s"],
        "exit_code": flown.exit_code,
        "ended_s": meta["programs"][0]["ended_s"],
        "ended": meta["ended"],
        "earth": [
            {"command": " ".join(program["argv"]), "exit_code": program["exit_code"]}
            for program in meta["programs"][1:]
            if program["host"] == "earth"
        ],
        "programs": [
            {key: program[key] for key in ("host", "exit_code", "ended_s")}
            | {"command": " ".join(program["argv"])}
            for program in meta["programs"]
        ],
        "notes": meta["notes"],
        **({"problem": flown.problem} if flown.problem else {}),
    }


def _say(output: Path, flown: Flown, clock: Clock) -> None:
    """On stderr: stdout is CMD's."""
    meta = flown.meta
    for line in (*meta["distortions"], *meta["notes"]):
        notice(line)
    if flown.problem:
        notice(flown.problem)
        return
    first = meta["programs"][0]
    how = "was ended by --for" if first["ended_by_dstcc"] else "ended"
    ended_s = meta["mission_s"] if first["ended_s"] is None else first["ended_s"]
    when = clock.reading(ended_s) if clock.dated else f"mission time {ended_s:,.6g} s"
    notice(
        f"{first['argv'][0]} {how} with {flown.exit_code} at {when} "
        f"(scale {meta['scale']:g}, {meta['wall_s']:.1f} s of real time); {output}"
    )
