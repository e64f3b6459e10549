"""How long `dstcc run` takes to end on a signal, and what outlives it, on a machine whose processors are all busy.

    python -m tests.kernel.escapes.endings [--times 20] [--signal SIGTERM] [--load NAME]

Each load is a guest that does its worst; the signal goes to the process of `dstcc run` alone. Printed are the seconds
until that process has ended (median and most), and until the last of the guest's processes has (most); how many of
these there were, at least; how many lived a minute later; and how many folders were left in the run's place and in
`/dev/shm` (those of a killed `dstcc run` go with the next). Exit code 1 where an end took more than 5 s, a process
lived, or a signal other than SIGKILL left a folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

SCENARIO = """
[scenario]
name = "short"
[video]
synthetic = {chunk_s = 10.0, layer_bps = [100_000]}
loop_to_s = 60
[[link]]
name = "relay"
rate_bps = 2_000_000
delay_s = 0.5
"""
FOLDERS, FOLDER = Path("/dev/shm"), "dstcc-guest-{}-*"
"""Where guests boot from, and the name that a run's process gives such a folder."""
HERE = Path(__file__).parent
ENDS_S, GONE_S = 5.0, 60.0
UP_S = 120.0
SETTLE_S = 1.0
HERMITS = 3800
"""Processes of the host that the module makes, of the 4,096 that there may be."""
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
DEAF = (
    "import os, signal, time\n"
    "for number in range(1, 32):\n"
    "    if number not in (9, 19): signal.signal(number, signal.SIG_IGN)\n"
)
AWAY = DEAF + "for _ in range(20):\n    if os.fork() == 0: os.setsid()\nwhile True: time.sleep(1000)"
BOMB = DEAF + "while True:\n    try: os.fork()\n    except OSError: pass"
WORK = "ping -q -f -n earth & ping -q -f -n craft & exec dd if=/dev/zero of=/dev/null bs=1"


@dataclass(frozen=True)
class Load:
    """What a guest does when its run is told to end."""

    command: tuple[str, ...]
    least: int
    """Processes in its namespace from which on it is at it."""
    module: bool = False


LOADS = {
    "at full work": Load(("sh", "-c", WORK), 7),
    "computes without waiting": Load(("python3", "-S", "-c", "while True: pass"), 6),
    "children of other groups": Load(("python3", "-S", "-c", AWAY), 24),
    "makes processes without end": Load(("python3", "-S", "-c", BOMB), 500),
    "a module that forks and loops": Load(("true",), HERMITS, module=True),
}


@dataclass(frozen=True)
class Ending:
    """What one signal did."""

    ended_s: float
    before: int
    """The guest's processes."""
    gone_s: float
    """When the last of them had ended."""
    survivors: int
    folders: tuple[Path, ...]
    """What was left in the run's place and where it boots from."""


def ends(load: Load, how: signal.Signals, folder: Path) -> Ending:
    """Start a run in an empty folder, end it, and look at what is left. RuntimeError where it does not get that far."""
    place = folder / "place"
    place.mkdir()
    (folder / "short.toml").write_text(SCENARIO)
    words = [sys.executable, "-m", "dstcc_cli", "run", str(folder / "short.toml"), "-o", str(place / "run")]
    if load.module:
        (folder / "module").mkdir()
        for name in ("host_calls.h", "dstcc_hermits.c"):
            shutil.copy(HERE / name, folder / "module")
        words += ["--module", str(folder / "module"), "--congestion", "cubic"]
    with (folder / "said").open("wb") as said:
        run = subprocess.Popen([*words, "--", *load.command], stdout=said, stderr=said)
    space = -1
    try:
        # held open, so that no other namespace gets its number
        space = _awaited(lambda: _space_of(run.pid), "a guest", run, folder)
        before = _awaited(
            lambda: count if (count := within(space)) >= load.least else None, "it", run, folder
        )
        time.sleep(SETTLE_S)
        asked = time.monotonic()
        run.send_signal(how)
        run.wait()
        ended_s = time.monotonic() - asked
        while (lived := within(space)) and time.monotonic() - asked < GONE_S:
            time.sleep(0.1)
        gone_s = time.monotonic() - asked
        left = (*place.iterdir(), *FOLDERS.glob(FOLDER.format(run.pid)))
        return Ending(ended_s, before, gone_s, lived, left)
    finally:
        run.kill()
        run.wait()
        if space >= 0:
            os.close(space)


def _awaited(look: Callable[[], int | None], what: str, run: subprocess.Popen[bytes], folder: Path) -> int:
    until = time.monotonic() + UP_S
    while time.monotonic() < until and run.poll() is None:
        if (found := look()) is not None:
            return found
        time.sleep(0.05)
    raise RuntimeError(f"{what} did not start: {(folder / 'said').read_text(errors='replace')}")


def _space_of(process: int) -> int | None:
    """The PID namespace, as an open file, of the guest that a run's process has started: the child of its ``boot``."""
    for boot in _children(process):
        for keeper in _children(boot) if _name(boot) == "boot" else ():
            with suppress(OSError):
                space = os.open(f"/proc/{keeper}/ns/pid", os.O_RDONLY)
                if os.fstat(space).st_ino != _space(boot):
                    return space
                os.close(space)
    return None


def _children(of: int) -> list[int]:
    try:
        return [
            int(word)
            for path in Path(f"/proc/{of}/task").glob("*/children")
            for word in path.read_text().split()
        ]
    except OSError:
        return []


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def _space(process: int) -> int | None:
    try:
        return Path(f"/proc/{process}/ns/pid").stat().st_ino
    except OSError:
        return None


def within(space: int) -> int:
    """How many processes are in a PID namespace; such as have ended and wait to be heard of count, too."""
    number = os.fstat(space).st_ino
    return sum(_space(int(entry.name)) == number for entry in Path("/proc").glob("[0-9]*"))


@contextmanager
def busy() -> Iterator[None]:
    """All processors at work for somebody else."""
    others = [
        subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)
    ]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def main() -> int:
    """See the docstring of the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--signal", choices=[how.name for how in SIGNALS], action="append")
    parser.add_argument("--load", choices=LOADS, action="append")
    asked = parser.parse_args()
    good = True
    heads = ("times", "median s", "most s", "gone s", "before", "lived", "folders")
    print(f"{'load':<32}{'signal':<8}" + "".join(f"{head:>10}" for head in heads))
    for name in asked.load or LOADS:
        for how in SIGNALS:
            if asked.signal and how.name not in asked.signal:
                continue
            found = []
            for _ in range(asked.times):
                with tempfile.TemporaryDirectory(prefix="endings-") as folder, busy():
                    found.append(ends(LOADS[name], how, Path(folder)))
            seconds = [one.ended_s for one in found]
            lived, folders = sum(one.survivors for one in found), sum(len(one.folders) for one in found)
            values = (
                *(len(found), f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}"),
                *(
                    f"{max(one.gone_s for one in found):.2f}",
                    min(one.before for one in found),
                    lived,
                    folders,
                ),
            )
            print(f"{name:<32}{how.name:<8}" + "".join(f"{value:>10}" for value in values), flush=True)
            good &= max(seconds) < ENDS_S and not lived and (how is signal.SIGKILL or not folders)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
