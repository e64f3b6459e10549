"""Record trajectories of Linux's own congestion controls: ``python -m experiments.trajectories.record -o FOLDER``.

A case is a file, a control a section of it, a line the sender's state (``states`` says when). The same kernel writes
the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dstcc_kernel import guest
from dstcc_kernel.backend import built, python_path
from dstcc_kernel.layers import SCHEDULER
from dstcc_kernel.module import guest_module
from dstcc_kernel.native import Parts, compiled
from dstcc_kernel.source import DEFAULT, VARIABLE, release
from dstcc_kernel.sources import folder
from dstcc_kernel.transfer import STALE

from dstcc.atomic import atomic_write
from dstcc.errors import DstccError, InputError
from dstcc.wire import HEADER_BYTES

from .cases import CASES, DECISIONS, laws
from .states import (
    COLUMNS,
    ENDLESS,
    LANE,
    SEGMENT,
    SILENCE_SLOTS,
    SUBFLOW,
    VERSION,
    Case,
    Recorded,
    ScriptedLink,
    StateRow,
    by_lane,
    bytes_of,
    merged,
    thinned,
)

TCP_OPTIONS, MPTCP_DATA_OPTIONS, MPTCP_ACK_OPTIONS = 12, 24, 12
"""Bytes that the link does not charge: timestamps; MPTCP's mapping, and its acknowledgement alone."""
MEMORY_MB, WALL_S = 1024, 900.0
BOOT_S = 300.0
"""INITIAL_JIFFIES: Linux's ticks begin so long before 0."""
START_NS = 1_002_500_000
"""Of the guest's clock: a case starts then, a quarter of a tick after a tick. Its preparations, which take longer with
each module that the guest's Python imports, end some milliseconds after 0."""
LOOK_NS = 1_000_000
"""After a decision a row, though no packet comes or goes."""
REFUSED = "cannot be scripted"
"""What the program says of such a case (program/link.hpp)."""
MODULE_LAW = "dstcc"
"""The control that comes with a module, and that somebody decides for."""
UNPACED = (1 << 64) - 1
"""A pacing rate of no limit."""
LANE_AT = 19
"""Of an event's numbers; the bytes of layers follow."""
GAIN_ONE, GAIN_PROBE_BW = 256, 512
"""BBR's pacing gain as it cruises, and its window's in PROBE_BW."""


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m experiments.trajectories.record", description=__doc__)
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder for the cases' files")
    parser.add_argument("--only", action="append", help="a case's name; may be repeated")
    arguments = parser.parse_args(words)
    chosen = [case for case in CASES if arguments.only is None or case.name in arguments.only]
    arguments.out.mkdir(parents=True, exist_ok=True)
    for case in chosen:
        parts = [section(case, law, record(case, name)) for law, name in laws(case).items()]
        atomic_write(arguments.out / f"{case.name}.txt", text_of(case, parts).encode())
        print(arguments.out / f"{case.name}.txt", flush=True)
    return 0


def text_of(case: Case, sections: Sequence[str]) -> str:
    """A case's file."""
    named = release().name
    meant, folder = ("", "") if named == DEFAULT else (f"{VARIABLE}={named} ", f"-{named}")
    head = (
        f"# {case.what}.",
        f"{VERSION}{built().facts['version']}: {meant}python -m experiments.trajectories.record"
        f" -o tests/engine/trajectories{folder} --only {case.name}",
        f"# {COLUMNS}{LANE if case.lanes > 1 else SUBFLOW if case.paths else ''}",
    )
    return "\n".join((*head, *sections)) + "\n"


def section(case: Case, law: str, recorded: Recorded) -> str:
    """A control's part of it."""
    return "\n".join((recorded.head(law), *(row.line() for row in thinned(case, recorded.rows))))


def record(case: Case, congestion: str, *, keep: Path | None = None) -> Recorded:
    """Play a case on the kernel; a row per event.

    Raises :class:`DstccError` with what the guest said when it fails; :class:`InputError` where the order
    of two packets at an instant decides. ``keep``: a folder for what it leaves.
    """
    with tempfile.TemporaryDirectory(prefix=f"dstcc-trajectory-{os.getpid()}-") as scratch:
        out = keep or Path(scratch)
        out.mkdir(parents=True, exist_ok=True)
        (out / "setup.json").write_text(json.dumps(_setup(case, congestion)))
        done = guest.run(
            built().kernel,
            [sys.executable, "-m", "experiments.trajectories.inside", str(out)],
            out=out,
            seed=1,
            memory_mb=MEMORY_MB,
            wall_s=WALL_S,
            environment={"PYTHONPATH": python_path()},
        )
        if done.exit_code != 0:
            said = done.console.read_text().splitlines()
            if refused := [line[line.index(REFUSED) :] for line in said if REFUSED in line]:
                raise InputError(f"trajectory case '{case.name}' {refused[0]}")
            raise DstccError(f"{case.name}: {' / '.join(said[-3:])}")
        return parse((out / "events.txt").read_text())


def parse(text: str) -> Recorded:
    """What the program wrote."""
    start, *lines = text.splitlines()
    events = [tuple(map(int, line.split())) for line in lines]
    rows = [_row(event) for event in events]
    phases = tuple(_phases([event for event in events if event[LANE_AT] == lane]) for lane in by_lane(rows))
    return Recorded(rows, int(start) / 1e9 - BOOT_S, phases, release().name)


def _row(event: tuple[int, ...]) -> StateRow:
    t, _, _, una, cwnd, ssthresh, srtt, _, rto, pacing, state, backoff, sacked, lost, retrans, unacked, *_ = (
        event
    )
    pacing_bps = 0 if pacing == UNPACED else 8 * pacing
    flight, placed = unacked - sacked - lost + retrans, event[LANE_AT + 1 :]
    return StateRow(
        *(t, una, cwnd, ssthresh, srtt, rto, pacing_bps, merged(state), backoff, lost, event[LANE_AT]),
        *((flight, placed) if placed else ()),
    )


def _phases(events: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Where BBR's gain cycle began each time that it came to PROBE_BW, from how long it cruised before it probed.

    A phase takes RTprop and until the next ACK. Where it left before it probed, phase 2 stands for all that cruise.
    """
    drawn: list[int] = []
    cruises = probes = False
    since = 0
    for t, *_, pacing_gain, cwnd_gain, rtprop_us, _ in (event[: LANE_AT + 1] for event in events):
        came, probes = not probes, cwnd_gain == GAIN_PROBE_BW
        if not probes:
            cruises = False
        elif came:
            since, cruises = t, pacing_gain == GAIN_ONE
            drawn.append(2 if cruises else 0)
        elif cruises and pacing_gain != GAIN_ONE:
            cruises = False
            drawn[-1] = 8 - max(1, round((t - since) / (rtprop_us * 1e3)))
    return tuple(drawn)


def recorder() -> Path:
    """The program that carries a case's packets. It speaks with our module, as the transfer program does."""
    there, engine = folder("transfer"), folder("engine")
    seen = (there / "base.hpp", there / "family.hpp", engine / "link", engine / "core")
    parts = Parts((there / "family.cpp",), (there, engine), seen)
    return compiled("trajectory", Path(__file__).with_name("program"), parts)


def address(path: int) -> str:
    """The spacecraft's on a further link."""
    return f"10.0.0.{10 + path}"


def _link(path: ScriptedLink, down: int, up: int) -> tuple[str, ...]:
    return (
        "link",
        f"down {path.rate_bps!r} {path.queue_bytes} {down}",
        f"up {path.rate_bps!r} 1000000000 {up}",
    )


def _setup(case: Case, congestion: str) -> dict[str, object]:
    down = TCP_OPTIONS + (MPTCP_DATA_OPTIONS if case.mptcp else 0)
    up = TCP_OPTIONS + (MPTCP_ACK_OPTIONS if case.mptcp else 0)
    buffer = case.buffer_bytes
    decisions = DECISIONS if congestion == MODULE_LAW else ()
    plan = [
        f"mptcp {case.mptcp:d}",
        f"congestion {congestion}",
        f"mss {SEGMENT}",
        f"buffers {buffer} {buffer}",
        f"reads {round(case.reads_s * 1e9)}",
        f"layers {case.layers if case.paths else 0}",
        *(f"place {place}" for place in case.places),
        *_link(case.links[0], down, up),
        f"start {START_NS}",
        f"end {round(case.end_s * 1e9)}",
        *(f"delay {t} {delay}" for t, delay in case.delay_table),
        *(f"outage {round(a * 1e9)} {round(b * 1e9)}" for a, b in case.outages_s),
        *(f"deaf {round(a * 1e9)} {round(b * 1e9)}" for a, b in case.deaf_s),
        *("lane" for _ in range(case.lanes)),
        *(f"drop {segment} {times}" for segment, times in case.drops),
        *(
            f"{'write' if case.lanes == 1 else 'layer'} {round(t * 1e9)} "
            f"{-1 if n * SEGMENT >= ENDLESS // 2 else bytes_of(n)}"
            for t, n in case.writes
        ),
        *(
            line
            for k, path in enumerate(case.paths)
            for line in (
                *_link(path, down, up),
                f"delay 0 {round(path.rtt_s / 2 * 1e9)}",
                f"path {address(k)}",
                *(f"drop {segment} {times}" for segment, times in path.drops),
            )
        ),
        *(f"look {round(d.at_s * 1e9) + LOOK_NS} {2**62}" for d in decisions if d.at_s < case.end_s),
    ]
    return {
        "module": str(guest_module(built().kernel)) if congestion == MODULE_LAW or case.places else None,
        "decisions": [(d.at_s, d.alpha_q16, d.beta) for d in decisions],
        "silence_slots": SILENCE_SLOTS,
        "start_s": START_NS / 1e9,
        "buffer_bytes": buffer,
        "sysctls": {
            **({"net/mptcp/scheduler": SCHEDULER} if case.places else {}),
            **({STALE: str(case.stale_timers)} if case.stale_timers else {}),
        },
        "plan": "\n".join(plan) + "\n",
        "program": str(recorder()),
        "addresses": [address(k) for k in range(len(case.paths))],
        "mtu": SEGMENT + HEADER_BYTES + down,
        "initial_cwnd": 10,
        "initial_rwnd": 45,
    }


if __name__ == "__main__":
    sys.exit(main())
