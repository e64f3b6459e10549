"""What a guest runs: ``python -m dstcc_kernel.endhosts.inside``, with a mission in ``/run/dstcc``.

Lays the links, starts the programs at a fixed time of the guest's clock, changes the links as time goes by, takes
samples, and ends what still runs when the first program has ended or ``--for`` has passed. Leaves ``outcome.json``,
logs, records and the end hosts' files in ``/run/dstcc``, or ``error.txt`` with a message for the user.
"""

from __future__ import annotations

import errno
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dstcc.errors import DstccError

from ..capture import Ring
from ..module import load, lock
from ..namespaces import MS_NODEV, MS_NOSUID, mount, new_users
from ..topology import PAGES, inside
from .host import GUARDED, EndHost, Furniture, folder_of, launch
from .keeping import keep
from .logs import STREAMS, Logs
from .mission import (
    AT,
    AT_LIMIT,
    DEVICES,
    ENDED,
    ERROR,
    HERE,
    KEYS,
    MISSION,
    NAMED,
    OUTCOME,
    RUNNING,
    SAMPLES,
    START_NS,
    TOO_LONG,
    WAITS,
    Mission,
    read_mission,
)
from .naming import hosts_file, variables
from .sampling import HEAD, PLAYED, Sampler
from .stage import Stage, stage_of

PRELOAD = "preload.so"
SETTINGS = Path("/proc/sys")
NO_SETTING = (errno.ENOENT, errno.EACCES)
"""Of a file below /proc/sys that there is not, and that cannot be made."""
PATIENCE_NS = 100 * 86_400 * 10**9
"""Of the guest's clock without --for, so that a program that waits for ever ends one day. Idle time is not free: the
kernel's own work every second or two makes a virtual day some tenths of a second."""
GRACE_NS = 10 * 10**9
"""Between the signals that end a program."""
ABOUT_TO, SOON_NS = 2, 100_000
"""A shell's answer that it will wait for keys soon, and when to ask again."""
COUNTED = 100_000
"""Between two looks for keys: to compute takes no time, but a look reads the clock, for 256 ns each time, and where the
machine is busy our halt comes late."""
STAGES = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
"""As Ctrl-C, for the first program; as a system that shuts down; for what listens to neither. Others, which are servers
as a rule, get SIGTERM in SIGINT's place."""
TICKS = 250
"""After so many samples the interval doubles, so that a run of any length has a bounded number of them."""
QUIET = 25
"""After so many samples in a row in which nothing has moved the pause doubles until something does."""
BUCKETS = "1024"
"""Of an end host's table of TCP sockets. A sample goes through all of them; the machine's own table is made for its
memory, and half a million empty buckets a sample are a second of real time in a long run."""
READ = 1 << 16
FILES_PER_MB = 256
"""Of an end host's folder: the smallest file takes 4 kB on the disk that it is kept on."""
RUNNING_BYTES = 256
"""Of the file that says how far the mission is: written in place."""


@dataclass
class State:
    """How a program does."""

    host: EndHost
    exit_code: int | None = None
    ended_ns: int | None = None
    asked: bool = False
    """Whether its end is our doing."""
    failed: str | None = None
    """Why it did not start."""

    @property
    def running(self) -> bool:
        """Whether it has neither ended nor failed to start."""
        return self.exit_code is None and self.failed is None


def main() -> int:
    """Carry out the mission."""
    try:
        _carry_out(read_mission(AT / MISSION))
    except (DstccError, OSError) as error:
        (AT / ERROR).write_text(f"{error}\n")
        return 1
    return 0


def _carry_out(mission: Mission) -> None:
    Path("/proc/sys/net/ipv4/tcp_mem").write_text(PAGES)
    Path("/proc/sys/net/ipv4/tcp_child_ehash_entries").write_text(BUCKETS)
    Path("/proc/self/oom_score_adj").write_text(GUARDED)
    congestion = _module(mission)
    lock()
    Path("/proc/sys/kernel/dmesg_restrict").write_text("1")
    sysctls = {
        "net/ipv4/tcp_congestion_control": congestion,
        "net/mptcp/stale_loss_cnt": str(mission.stale_timers),
    }
    users = [new_users() for _ in mission.hosts]
    with stage_of(mission, sysctls, users) as stage:
        _set(mission.sysctls, stage.spaces)
        stage.lay()
        _files(mission)
        hosts = {
            name: _launch(name, root, space, mission)
            for name, root, space in zip(mission.hosts, users, stage.spaces, strict=True)
        }
        try:
            outcome = Flight(mission, stage, hosts).fly()
        finally:
            for host in hosts.values():
                host.kill()
    outcome["left_out"] = {
        name: {
            reason: {"count": len(paths), "named": paths[:NAMED]}
            for reason, paths in keep(name, mission.disk_mb).items()
        }
        for name in mission.hosts
    }
    outcome["congestion"] = congestion
    (AT / OUTCOME).write_text(json.dumps(outcome) + "\n")


def _module(mission: Mission) -> str:
    """Load the user's module; the congestion control that sockets then have by default."""
    settings = Path("/proc/sys/net/ipv4")
    before = (settings / "tcp_available_congestion_control").read_text().split()
    if mission.module is not None:
        load(Path(mission.module))
    there = (settings / "tcp_available_congestion_control").read_text()
    # an end host's namespace takes only those as its default that all may use
    (settings / "tcp_allowed_congestion_control").write_text(there)
    new = [name for name in there.split() if name not in before]
    if mission.congestion and mission.congestion not in there.split():
        raise DstccError(f"--congestion {mission.congestion}: the guest has {', '.join(there.split())}")
    if not mission.congestion and len(new) != 1:
        said = f"the module brings {', '.join(new)}" if new else "the module registers no congestion control"
        raise DstccError(f"--module, --bpf: {said}; --congestion says what sockets have")
    return mission.congestion or new[0]


def _set(settings: Mapping[str, str], spaces: Sequence[int]) -> None:
    """Set what the user sets of each host; what a kernel has once for all its namespaces can be written here only."""
    for name, value in settings.items():
        path, own = SETTINGS / name, False
        try:
            for space in spaces:
                with inside(space), suppress(FileNotFoundError, PermissionError):
                    path.write_text(value)
                    own = True
            if not own:
                path.write_text(value)
        except OSError as error:
            why = "there is no such setting" if error.errno in NO_SETTING else str(error.strerror).lower()
            raise DstccError(f"programs.sysctl.{name.replace('/', '.')} = {value}: {why}") from None


def _files(mission: Mission) -> None:
    """The hosts' own folders, and what all see of the run's."""
    for name in mission.hosts:
        folder_of(name).mkdir()
        options = f"size={mission.disk_mb}m,nr_inodes={FILES_PER_MB * mission.disk_mb},mode=755"
        mount("tmpfs", "tmpfs", folder_of(name), MS_NOSUID | MS_NODEV, options)
        (folder_of(name) / "tmp").mkdir()
    HERE.symlink_to((AT / HERE.name).readlink())
    shutil.copy(AT / PRELOAD, AT.parent / PRELOAD)


def _launch(name: str, users: int, network: int, mission: Mission) -> EndHost:
    environment = {
        **mission.environment,
        **variables(mission),
        "DSTCC_HOST": name,
        "LD_PRELOAD": str(AT.parent / PRELOAD),
        "HOME": str(folder_of(name)),
        "PWD": str(folder_of(name)),
        "TMPDIR": str(folder_of(name) / "tmp"),
    }
    if mission.mptcp:
        environment["DSTCC_MPTCP"] = "1"
    programs = {number: it for number, it in enumerate(mission.programs) if it.host == name}
    terminal = 0 if mission.terminal and 0 in programs else None
    shared = (HERE, AT.parent / PRELOAD)
    return launch(
        Furniture(name, users, network, programs, environment, hosts_file(mission), shared, terminal)
    )


class Flight:
    """From the start of the programs to the end of all."""

    def __init__(self, mission: Mission, stage: Stage, hosts: dict[str, EndHost]) -> None:
        self._mission, self._stage, self._hosts = mission, stage, hosts
        self._logs = Logs(AT, mission.hosts, mission.scale, mission.disk_mb << 20)
        self._states = [State(hosts[program.host]) for program in mission.programs]
        self._pipes = {
            pipe: (host.name, number, stream)
            for host in hosts.values()
            for number, output in host.outputs.items()
            for stream, pipe in zip(STREAMS, (output.out, output.err), strict=True)
        }
        self._rings = self._open_rings() if mission.capture else []
        self._samplers = self._open_samplers()
        self._counts = b""
        self._full: set[str] = set()
        self._typed = 0
        self._waits: int | None = None
        self._reason = ENDED
        self._stop_ns = PATIENCE_NS if mission.until_ns is None else mission.until_ns

    def fly(self) -> dict[str, Any]:
        """Carry out the mission; what there is to say of it."""
        time.sleep(max(0.0, START_NS - time.monotonic_ns()) / 1e9)
        time.clock_settime(time.CLOCK_REALTIME, self._mission.clock_s)
        self._start_ns = time.monotonic_ns()
        self._stage.begin(self._start_ns)
        if self._stage.netem:
            (AT / DEVICES).write_text(json.dumps(self._stage.devices()))
        with (AT / SAMPLES).open("wb") as samples, (AT / RUNNING).open("wb") as running:
            self._samples, self._running = samples, running.fileno()
            self._fly()
            self._sample()
        end_ns = self._now()
        self._logs.close(end_ns)
        for state, program in zip(self._states, self._mission.programs, strict=True):
            if state.failed is not None:
                raise DstccError(f"{program.label} cannot be started: {state.failed}")
        return {
            "reason": self._reason,
            "end_ns": end_ns,
            "programs": [self._said_of(state) for state in self._states],
            "full": sorted(self._full),
            "cut": self._logs.cut,
            "missed_packets": sum(ring.close() for ring in self._rings),
        }

    def _fly(self) -> None:
        due = sorted(self._stage.changes(), key=lambda entry: entry[0])
        tick_ns, ticks, quiet, next_ns = self._mission.sample_ns, 0, 0, 0
        for number in (*range(1, len(self._states)), 0):  # servers first
            self._states[number].host.start(number)
        signals = list(STAGES)
        while any(state.running for state in self._states) and not self._stranded():
            if self._mission.terminal:
                self._type()
            now = self._now()
            while due and due[0][0] <= now:
                due.pop(0)[1]()
            if next_ns <= now:
                quiet = 0 if self._sample() else quiet + 1
                ticks += 1
                tick_ns <<= ticks % TICKS == 0
                next_ns += tick_ns << quiet // QUIET
            if self._stop_ns <= now:
                if not signals:
                    break
                self._stop(signals.pop(0), now)
            self._wait(min([next_ns, self._stop_ns, *(at for at, _ in due[:1])]))
        self._drain()

    def _now(self) -> int:
        return time.monotonic_ns() - self._start_ns

    def _stranded(self) -> bool:
        return any(state.failed is not None for state in self._states)

    def _stop(self, how: signal.Signals, now: int) -> None:
        """Ask all that still run to end."""
        if how is STAGES[0] and self._states[0].running:
            self._reason = AT_LIMIT if self._mission.until_ns is not None else TOO_LONG
        for number, state in enumerate(self._states):
            if state.running:
                state.asked = True
                state.host.end(number, signal.SIGTERM if number and how is STAGES[0] else how)
        self._stop_ns = now + GRACE_NS

    def _wait(self, until_ns: int) -> None:
        """Read what programs print and hosts say, until a time."""
        watched: list[int | EndHost | Ring] = [*self._pipes, *self._hosts.values(), *self._rings]
        left = self._start_ns + until_ns - time.monotonic_ns()
        for one in select.select(watched, [], [], max(0.0, left / 1e9))[0]:
            if isinstance(one, EndHost):
                for words in one.said():
                    self._hear(words)
            elif isinstance(one, Ring):
                one.take()
            else:
                self._read(one)

    def _type(self) -> None:
        """Give the shell what was typed. As long as it waits for keys so does all: looking for them takes no time."""
        host, waits = self._states[0].host, False
        while self._states[0].running and not self._stranded():
            keys = AT / KEYS.format(self._typed)
            try:
                typed = keys.read_bytes()
            except FileNotFoundError:
                if not waits:
                    self._waits = None
                    host.look(0)
                    while self._waits is None and self._states[0].running:
                        self._wait(self._now() + PATIENCE_NS)
                    if self._waits == ABOUT_TO:
                        self._wait(self._now() + SOON_NS)
                        continue
                    waits = bool(self._waits)
                    if not waits:
                        return
                    (AT / WAITS).write_text(str(self._typed))
                sum(range(COUNTED))
                continue
            self._typed += 1
            waits = False
            host.type(0, typed)
            return

    def _read(self, pipe: int) -> bool:
        """Read from a program's output; whether there was something."""
        data = os.read(pipe, READ)
        if data:
            self._logs.add(self._now(), *self._pipes[pipe], data)
        else:
            del self._pipes[pipe]
        return bool(data)

    def _hear(self, words: list[str]) -> None:
        kind, number = words[0], int(words[1])
        if number < 0:
            raise DstccError(f"an end host failed: {words[2]}")
        if kind == "looked":
            self._waits = int(words[2])
            return
        state, now = self._states[number], self._now()
        if kind == "failed":
            state.failed = words[2]
            return
        state.exit_code, state.ended_ns = int(words[2]), now
        self._look_at_disks()
        if number == 0:
            self._stop_ns = min(self._stop_ns, now + self._mission.linger_ns)

    def _look_at_disks(self) -> None:
        self._full |= {name for name in self._mission.hosts if os.statvfs(folder_of(name)).f_bavail == 0}

    def _drain(self) -> None:
        """Read what is left in the outputs; what programs left behind may hold them open."""
        for pipe in list(self._pipes):
            os.set_blocking(pipe, False)
            try:
                while self._read(pipe):
                    pass
            except BlockingIOError:
                pass
        self._look_at_disks()

    def _open_samplers(self) -> list[Sampler]:
        found = []
        for number, space in enumerate(self._stage.spaces):
            with inside(space):
                found.append(Sampler(number, netem=self._stage.netem))
        return found

    def _open_rings(self) -> list[Ring]:
        found = []
        for space, device, name in self._stage.seen():
            with inside(space):
                found.append(Ring(device, AT / f"{name}.ring"))
        return found

    def _sample(self) -> bool:
        """Take a sample; whether anything has moved since the last."""
        now = self._now()
        samples: BinaryIO = self._samples
        moved = [sampler.sample(now, samples) for sampler in self._samplers]
        counts = self._stage.counts()
        if counts:
            samples.write(HEAD.pack(now, 0, PLAYED, 0, len(counts)) + counts)
            moved.append(counts != self._counts)
            self._counts = counts
        still = " ".join(
            str(number) for number, state in enumerate(self._states) if state.running or state.asked
        )
        os.pwrite(self._running, f"{now} {still}".ljust(RUNNING_BYTES).encode(), 0)
        return any(moved)

    @staticmethod
    def _said_of(state: State) -> dict[str, Any]:
        return {name: value for name, value in vars(state).items() if name != "host"}


if __name__ == "__main__":
    sys.exit(main())
