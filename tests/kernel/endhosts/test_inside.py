"""A mission from its programs' start to their end, over hosts and links that a test plays."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel.endhosts import inside
from dstcc_kernel.endhosts.host import EndHost, Furniture, Output
from dstcc_kernel.endhosts.inside import Flight
from dstcc_kernel.endhosts.mission import AT_LIMIT, HERE, KEYS, TOO_LONG, Mission, Program

from dstcc.errors import DstccError

MS = 10**6
TERM, INT, KILL = int(signal.SIGTERM), int(signal.SIGINT), int(signal.SIGKILL)


class Host(EndHost):
    """Whose programs do what a test says; it notes what it is told, and when."""

    def __init__(self, name: str, *numbers: int) -> None:
        near, self.far = socket.socketpair()
        self.pipes = {number: (os.pipe(), os.pipe()) for number in numbers}
        outputs = {number: Output(out[0], err[0]) for number, (out, err) in self.pipes.items()}
        super().__init__(name, 0, near, outputs)
        self.told: list[tuple[Any, ...]] = []
        self.at_ns: list[int] = []
        self.on: Callable[[tuple[Any, ...]], None] = lambda what: None

    def note(self, *what: Any) -> None:
        self.told.append(what)
        self.at_ns.append(time.monotonic_ns())
        self.on(what)

    def start(self, number: int) -> None:
        self.note("start", number)

    def end(self, number: int, how: signal.Signals) -> None:
        self.note("end", number, int(how))

    def look(self, number: int) -> None:
        self.note("look", number)

    def type(self, number: int, keys: bytes) -> None:
        self.note("type", number, keys)

    def say(self, text: str) -> None:
        self.far.sendall(f"{text}\n".encode())

    def close(self) -> None:
        for pair in self.pipes.values():
            for one in pair:
                for file in one:
                    os.close(file)
        self.far.close()
        self._line.close()


class Sampler:
    """Says for each sample whether anything has moved."""

    moves: Callable[[int], bool] = lambda number: True
    times: list[tuple[int, int]]

    def __init__(self, host: int, *, netem: bool) -> None:
        self.host = host
        assert netem is False

    def sample(self, t_ns: int, file: Any) -> bool:
        type(self).times.append((self.host, t_ns))
        file.write(f"{self.host} {len(self.times)};".encode())
        return type(self).moves(len(self.times))


def times_of() -> list[tuple[int, int]]:
    """Each sample's host and time."""
    return vars(inside)["Sampler"].times


class Stage:
    """Two hosts' links that do nothing but what a test says."""

    def __init__(self) -> None:
        self.spaces, self.netem = (5, 6), False
        self.due: list[tuple[int, Callable[[], None]]] = []
        self.counted: Iterator[bytes] = iter([])
        self.begun: list[int] = []

    def begin(self, start_ns: int) -> None:
        self.begun.append(start_ns)

    def changes(self) -> list[tuple[int, Callable[[], None]]]:
        return list(self.due)

    def counts(self) -> bytes:
        return next(self.counted, b"")

    def devices(self) -> list[dict[str, int]]:
        return [{"down": 1, "up": 2}]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the mission lies."""
    monkeypatch.setattr(inside, "AT", tmp_path)
    monkeypatch.setattr(inside, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(inside, "START_NS", 0)
    monkeypatch.setattr(inside, "inside", lambda _: nullcontext())
    monkeypatch.setattr(inside, "Sampler", type("Ours", (Sampler,), {"times": []}))
    monkeypatch.setattr("dstcc_kernel.endhosts.inside.time.clock_settime", lambda *_: None)
    return tmp_path


@pytest.fixture
def hosts() -> Iterator[dict[str, Host]]:
    made = {"craft": Host("craft", 0), "earth": Host("earth", 1, 2)}
    yield made
    for one in made.values():
        one.close()


Flown = tuple[Path, dict[str, Host], Mission]


@pytest.fixture
def flown(at: Path, hosts: dict[str, Host], mission: Mission) -> Flown:
    """All that a flight is of."""
    return at, hosts, mission


def of(mission: Mission, **changes: Any) -> Mission:
    """Of three programs, one on the spacecraft."""
    programs = (Program("craft", ("a",)), Program("earth", ("b",)), Program("earth", ("c",)))
    given = {"programs": programs, "capture": False, "sample_ns": 10 * MS, "linger_ns": 0, "until_ns": None}
    return replace(mission, **{**given, **changes})


def flight(mission: Mission, hosts: dict[str, Host], stage: Stage | None = None, **changes: Any) -> Flight:
    return Flight(of(mission, **changes), stage or Stage(), hosts)  # type: ignore[arg-type]


def test_servers_start_first_and_linger_after_the_first_programs_end(
    at: Path, hosts: dict[str, Host], mission: Mission
) -> None:
    """The first ends by itself, then the others have 30 ms, and get SIGTERM."""
    craft, earth = hosts["craft"], hosts["earth"]
    craft.on = lambda what: craft.say("ended 0 3")
    earth.on = lambda what: earth.say(f"ended {what[1]} -15") if what[0] == "end" else None
    outcome = flight(mission, hosts, linger_ns=30 * MS).fly()
    assert craft.told == [("start", 0)]
    assert earth.told == [("start", 1), ("start", 2), ("end", 1, TERM), ("end", 2, TERM)]
    assert earth.at_ns[1] <= craft.at_ns[0], "servers first"
    first, *others = outcome["programs"]
    assert earth.at_ns[2] - craft.at_ns[0] >= 30 * MS
    assert (first["exit_code"], first["asked"], first["failed"]) == (3, False, None)
    assert [(one["exit_code"], one["asked"]) for one in others] == [(-15, True)] * 2
    assert first["ended_ns"] + 30 * MS <= others[0]["ended_ns"] <= outcome["end_ns"]
    assert (outcome["reason"], outcome["full"], outcome["cut"], outcome["missed_packets"]) == (
        "ended",
        [],
        [],
        0,
    )
    assert json.loads(json.dumps(outcome)) == outcome


@pytest.mark.parametrize(("until_ns", "reason"), [(20 * MS, AT_LIMIT), (None, TOO_LONG)])
def test_who_listens_to_no_signal_is_killed_in_the_end(
    flown: Flown, monkeypatch: pytest.MonkeyPatch, until_ns: int | None, reason: str
) -> None:
    """SIGINT as Ctrl-C for the first, SIGTERM for servers, then SIGTERM, then SIGKILL, a grace apart; then all is
    over, whatever still runs."""
    monkeypatch.setattr(inside, "GRACE_NS", 15 * MS)
    monkeypatch.setattr(inside, "PATIENCE_NS", 20 * MS)
    _, hosts, mission = flown
    craft, earth = hosts["craft"], hosts["earth"]
    stage = Stage()
    outcome = flight(mission, hosts, stage, until_ns=until_ns).fly()
    assert craft.told[1:] == [("end", 0, INT), ("end", 0, TERM), ("end", 0, KILL)]
    assert earth.told[2:] == [("end", number, how) for how in (TERM, TERM, KILL) for number in (1, 2)]
    for at_ns, due_ms in zip(craft.at_ns[1:], (20, 35, 50), strict=True):
        assert at_ns - stage.begun[0] >= due_ms * MS
    assert outcome["end_ns"] >= (20 + 3 * 15) * MS
    assert [one["exit_code"] for one in outcome["programs"]] == [None] * 3
    assert outcome["reason"] in (
        reason,
        reason.replace(" ", "-"),
        AT_LIMIT if until_ns else TOO_LONG,
    )
    assert (outcome["reason"] == AT_LIMIT) == (until_ns is not None)


def test_servers_that_are_ended_after_the_first_are_no_limit(
    at: Path, hosts: dict[str, Host], mission: Mission
) -> None:
    craft, earth = hosts["craft"], hosts["earth"]
    craft.on = lambda what: craft.say("ended 0 0")
    earth.on = lambda what: earth.say(f"ended {what[1]} 0") if what[0] == "end" else None
    outcome = flight(mission, hosts, until_ns=10**12).fly()
    assert outcome["reason"] == "ended"
    assert outcome["end_ns"] < 10**11


def test_who_cannot_be_started_ends_all(at: Path, hosts: dict[str, Host], mission: Mission) -> None:
    hosts["earth"].on = lambda what: (
        hosts["earth"].say(f"failed {what[1]} no such program") if what[1] == 2 else None
    )
    with pytest.raises(DstccError, match=r"`c` on earth cannot be started: no such program"):
        flight(mission, hosts).fly()


def test_an_end_host_that_fails_ends_all(at: Path, hosts: dict[str, Host], mission: Mission) -> None:
    hosts["earth"].on = lambda what: hosts["earth"].say("failed -1 OSError: why")
    flown = flight(mission, hosts)
    with pytest.raises(DstccError, match=r"^an end host failed: OSError: why$"):
        flown.fly()
    flown._logs.close(0)


def test_what_programs_print_is_logged_until_nothing_is_left(
    at: Path, hosts: dict[str, Host], mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes with the end counts, and of a pipe that somebody left behind holds open what is in it."""
    monkeypatch.setattr(inside, "READ", 4)
    craft, earth = hosts["craft"], hosts["earth"]

    def begin(what: tuple[Any, ...]) -> None:
        os.write(craft.pipes[0][0][1], b"first line\n")
        os.write(craft.pipes[0][1][1], b"error\n")
        craft.say("ended 0 0")

    craft.on = begin

    def serve(what: tuple[Any, ...]) -> None:
        os.write(earth.pipes[what[1]][0][1], b"x\ny\n")
        earth.say(f"ended {what[1]} 0")

    earth.on = serve
    flight(mission, hosts).fly()
    lines = [line.split(" ", 3)[1:] for line in (at / "craft.log").read_text().splitlines()]
    assert sorted(lines) == [["1", "err", "error"], ["1", "out", "first line"]]
    lines = [line.split(" ", 3)[1:] for line in (at / "earth.log").read_text().splitlines()]
    assert sorted(lines) == [[number, "out", text] for number in "23" for text in "xy"]


def test_links_change_when_it_is_time_and_in_its_order(
    at: Path, hosts: dict[str, Host], mission: Mission
) -> None:
    stage, done = Stage(), []
    craft, earth = hosts["craft"], hosts["earth"]
    earth.on = lambda what: earth.say(f"ended {what[1]} 0")

    def change(due_ms: int) -> Callable[[], None]:
        def now() -> None:
            done.append((due_ms, time.monotonic_ns() - stage.begun[0]))
            if due_ms == 40:
                craft.say("ended 0 0")

        return now

    stage.due = [(due_ms * MS, change(due_ms)) for due_ms in (40, 0, 20, 10**6)]
    flight(mission, hosts, stage, sample_ns=10**10).fly()
    assert [due for due, _ in done] == [0, 20, 40]
    assert all(at_ns >= due_ms * MS for due_ms, at_ns in done)


def test_samples_are_taken_in_time_and_say_how_far_all_is(
    at: Path, hosts: dict[str, Host], mission: Mission
) -> None:
    """One at once, one an interval of 10 ms, and one at the end; of each host in turn."""
    craft, earth = hosts["craft"], hosts["earth"]
    earth.on = lambda what: earth.say(f"ended {what[1]} 0")
    stage = Stage()
    stage.due = [(35 * MS, lambda: craft.say("ended 0 0"))]
    stage.counted = iter([b"ab", b"ab", b"cd"])
    flown = flight(mission, hosts, stage)
    outcome = flown.fly()
    times = times_of()
    assert [host for host, _ in times[:4]] == [0, 1, 0, 1]
    by_time = [t_ns for host, t_ns in times if host == 0]
    assert len(by_time) >= 3
    for number, t_ns in enumerate(by_time[:-1]):
        assert t_ns >= 10 * MS * number
    assert by_time[-1] <= outcome["end_ns"]
    data = (at / "samples.bin").read_bytes()
    # what the program that plays links says comes behind the hosts': time, 0, kind 3, 0, length
    assert data.startswith(b"0 1;1 2;" + struct.pack("<qBBHI", by_time[0], 0, 3, 0, 2) + b"ab0 3;1 4;")
    running = (at / "running").read_bytes()
    assert len(running) == 256 and running.split() == [str(by_time[-1]).encode()]
    assert not (at / "devices.json").exists()


def test_samples_become_rarer_where_nothing_moves_and_in_long_runs(
    at: Path, hosts: dict[str, Host], mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After 3 quiet samples the pause doubles, after 3 more again, until something moves; after every 8 the interval
    doubles for good. The clock is a test's."""
    monkeypatch.setattr(inside, "QUIET", 3)
    monkeypatch.setattr(inside, "TICKS", 8)
    clock = [10**9]
    monkeypatch.setattr("dstcc_kernel.endhosts.inside.time", SimpleNamespace(
        monotonic_ns=lambda: clock[0], sleep=lambda s: None, clock_settime=lambda *_: None, CLOCK_REALTIME=0
    ))  # fmt: skip
    monkeypatch.setattr(
        "dstcc_kernel.endhosts.inside.Sampler.moves", staticmethod(lambda number: number > 28)
    )

    def waited(self: Flight, until_ns: int) -> None:
        clock[0] = max(clock[0], self._start_ns + until_ns)
        if len(times_of()) >= 40:
            for state in self._states:
                state.exit_code = 0

    monkeypatch.setattr(Flight, "_wait", waited)
    flight(mission, hosts, sample_ns=100).fly()
    times = [t_ns for host, t_ns in inside.Sampler.times if host == 0]  # type: ignore[attr-defined]
    expected, interval, quiet, at_ns = [0], 100, 0, 0
    for number in range(1, 20):
        quiet = 0 if 2 * number > 28 else quiet + 1  # of each sample the second host's is the last
        interval *= 2 if number % 8 == 0 else 1
        at_ns += interval * 2 ** (quiet // 3)
        expected.append(at_ns)
    assert times[:20] == expected


def test_a_full_disk_is_noted(
    at: Path, hosts: dict[str, Host], mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    craft, earth = hosts["craft"], hosts["earth"]
    craft.on = lambda what: craft.say(f"ended {what[1]} 0")
    earth.on = lambda what: earth.say(f"ended {what[1]} 0")
    monkeypatch.setattr(inside, "folder_of", lambda name: name)
    monkeypatch.setattr(
        "dstcc_kernel.endhosts.inside.os.statvfs", lambda name: SimpleNamespace(f_bavail=name == "craft")
    )
    assert flight(mission, hosts).fly()["full"] == ["earth"]


# -------------------------------------------------------------------------------------------------------- a shell


def test_a_shell_gets_each_file_of_keys_once_and_time_stands_while_it_waits(
    at: Path, hosts: dict[str, Host], mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It computes (0), is about to wait (2), waits (1); then the first keys are there."""
    craft, earth = hosts["craft"], hosts["earth"]
    earth.on = lambda what: earth.say(f"ended {what[1]} 0")
    answers = ["0", "2", "1"]
    looked: list[str] = []

    def told(what: tuple[Any, ...]) -> None:
        if what[0] == "look":
            craft.say(f"looked 0 {answers.pop(0) if answers else '1'}")
            looked.append((at / "waits").read_text() if (at / "waits").exists() else "")
        elif what[0] == "type":
            craft.say("ended 0 0") if what[2] == b"two" else None

    craft.on = told
    counted = []

    def count(numbers: Any) -> int:
        if not isinstance(numbers, range):
            return 0
        counted.append((at / "waits").read_text())
        if len(counted) == 3:
            (at / KEYS.format(0)).write_bytes(b"one")
            (at / KEYS.format(1)).write_bytes(b"two")
        return 0

    monkeypatch.setattr(inside, "sum", count, raising=False)
    flight(mission, hosts, terminal=True).fly()
    assert [what for what in craft.told if what[0] == "type"] == [("type", 0, b"one"), ("type", 0, b"two")]
    assert counted == ["0", "0", "0"], "as long as there are no keys nothing else is done"
    assert looked[:3] == ["", "", ""]


# ------------------------------------------------------------------------------------------------ before the flight


def test_settings_are_each_hosts_or_else_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what only the machine has the hosts have no file; what nobody has is an error by its name."""
    now = [0]
    for space in (0, 5, 6):
        (tmp_path / str(space)).mkdir()
        (tmp_path / str(space) / "own").write_text("")
    (tmp_path / "0/all").write_text("")

    class Settings:
        def __truediv__(self, name: str) -> Any:
            path = tmp_path / str(now[0]) / name

            def write(value: str) -> None:
                here = tmp_path / str(now[0]) / path.name
                if not here.exists():
                    raise FileNotFoundError(errno.ENOENT, "none")
                if value == "bad":
                    raise OSError(errno.EINVAL, "Invalid argument")
                here.write_text(value)

            return SimpleNamespace(write_text=write)

    class Inside:
        def __init__(self, space: int) -> None:
            self.space = space

        def __enter__(self) -> None:
            now[0] = self.space

        def __exit__(self, *_: Any) -> None:
            now[0] = 0

    monkeypatch.setattr(inside, "SETTINGS", Settings())
    monkeypatch.setattr(inside, "inside", Inside)
    inside._set({"own": "1", "all": "2"}, (5, 6))
    said = {
        path.relative_to(tmp_path).as_posix(): path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert said == {"0/own": "", "5/own": "1", "6/own": "1", "0/all": "2"}
    with pytest.raises(DstccError, match=r"^programs\.sysctl\.net\.none = 1: there is no such setting$"):
        inside._set({"net/none": "1"}, (5, 6))
    with pytest.raises(DstccError, match=r"^programs\.sysctl\.own = bad: invalid argument$"):
        inside._set({"own": "bad"}, (5, 6))


def test_an_end_host_is_launched_with_its_programs_and_environment(
    at: Path, mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Furniture] = []
    monkeypatch.setattr(inside, "launch", given.append)
    monkeypatch.setattr(inside, "folder_of", lambda name: Path("/run", name))
    inside._launch("earth", 71, 72, of(mission, environment={"X": "y", "HOME": "/"}))
    inside._launch("craft", 73, 74, of(mission, mptcp=True, terminal=True))
    inside._launch("earth", 75, 76, of(mission, terminal=True))
    earth, craft, other = given
    assert (earth.name, earth.users, earth.network, [*earth.programs], earth.terminal) == (
        "earth",
        71,
        72,
        [1, 2],
        None,
    )
    assert (craft.name, craft.users, craft.network, [*craft.programs], craft.terminal) == (
        "craft",
        73,
        74,
        [0],
        0,
    )
    assert other.terminal is None, "the shell is on another host"
    preload = str(at.parent / "preload.so")
    own = {"X": "y", "DSTCC_HOST": "earth", "LD_PRELOAD": preload, "HOME": "/run/earth", "PWD": "/run/earth"}
    assert earth.environment.items() >= {**own, "TMPDIR": "/run/earth/tmp", "DSTCC_EARTH": "10.1.0.2"}.items()
    assert "DSTCC_MPTCP" not in earth.environment and craft.environment["DSTCC_MPTCP"] == "1"
    assert earth.shared == (HERE, Path(preload))
    assert earth.hosts_file.startswith("127.0.0.1 localhost\n10.1.0.1 craft ")


@pytest.mark.parametrize(
    ("controls", "named", "found"),
    [
        (("reno cubic", "reno cubic"), ("cubic", None), "cubic"),
        (("reno cubic", "reno cubic mine"), ("", "/m.ko"), "mine"),
        (("reno cubic", "reno cubic mine"), ("cubic", "/m.ko"), "cubic"),
        (("reno cubic", "reno cubic a b"), ("", "/m.ko"), "--module, --bpf: the module brings a, b; --congestion says"),
        (("reno cubic", "reno cubic"), ("", "/m.ko"), "--module, --bpf: the module registers no congestion control;"),
        (("reno", "reno"), ("vegas", None), "--congestion vegas: the guest has reno$"),
    ],
)  # fmt: skip
def test_sockets_have_the_control_that_is_named_or_comes_with_the_module(
    mission: Mission,
    monkeypatch: pytest.MonkeyPatch,
    controls: tuple[str, str],
    named: tuple[str, str | None],
    found: str,
) -> None:
    (before, after), (wanted, module) = controls, named
    files = {"tcp_available_congestion_control": before, "tcp_allowed_congestion_control": ""}
    loaded = []

    class File:
        def __init__(self, *parts: str) -> None:
            self.name = parts[-1]

        def __truediv__(self, name: str) -> File:
            return File(name)

        def read_text(self) -> str:
            return files[self.name]

        def write_text(self, text: str) -> None:
            files[self.name] = text

    def load(path: Any) -> None:
        loaded.append(path.name)
        files["tcp_available_congestion_control"] = after

    monkeypatch.setattr(inside, "Path", File)
    monkeypatch.setattr(inside, "load", load)
    given = of(mission, congestion=wanted, module=module)
    if found in after.split():
        assert inside._module(given) == found
        assert files["tcp_allowed_congestion_control"] == (after if module else before), (
            "all may use all of them"
        )
    else:
        with pytest.raises(DstccError, match=found):
            inside._module(given)
    assert loaded == ([module] if module else [])


def test_a_mission_that_fails_says_why(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (DstccError("a reason"), OSError(5, "a disk")):

        def fail(_path: Path, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(inside, "read_mission", fail)
        assert inside.main() == 1
        assert (at / "error.txt").read_text() == f"{error}\n"
    monkeypatch.setattr(inside, "read_mission", lambda _: None)
    monkeypatch.setattr(inside, "_carry_out", lambda _: None)
    assert inside.main() == 0


def test_rings_are_taken_and_counted(
    at: Path, hosts: dict[str, Host], mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class Ring:
        def __init__(self, device: str, path: Path) -> None:
            self.pipe = os.pipe()
            os.write(self.pipe[1], b"x")
            self.what, self.taken = (device, path), 0
            made.append(self)

        def fileno(self) -> int:
            return self.pipe[0]

        def take(self) -> None:
            assert os.read(self.pipe[0], 1) == b"x"
            self.taken += 1

        def close(self) -> int:
            for file in self.pipe:
                os.close(file)
            return 3

    stage = Stage()
    stage.seen = lambda: [(5, "up0", "a"), (6, "down0", "b")]  # type: ignore[attr-defined]
    stage.due = [(20 * MS, lambda: hosts["craft"].say("ended 0 0"))]
    hosts["earth"].on = lambda what: hosts["earth"].say(f"ended {what[1]} 0")
    monkeypatch.setattr(inside, "Ring", Ring)
    outcome = flight(mission, hosts, stage, capture=True).fly()
    assert outcome["missed_packets"] == 6
    assert [one.what for one in made] == [("up0", at / "a.ring"), ("down0", at / "b.ring")]
    assert [one.taken for one in made] == [1, 1]
    assert select.select([], [], [], 0) == ([], [], [])


def test_a_mission_is_carried_out_in_its_order(
    at: Path, mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts end whatever happens; what the guest cannot keep of their files is named, the first so many of it."""
    done: list[Any] = []

    class File:
        def __init__(self, name: str) -> None:
            self.name = name

        def write_text(self, text: str) -> None:
            done.append((self.name, text))

    class Stage:
        spaces = (5, 6)

        def lay(self) -> None:
            done.append("lay")

    @contextmanager
    def stage_of(given: Mission, sysctls: dict[str, str], users: list[int]) -> Iterator[Stage]:
        done.append(("stage", sysctls, users))
        yield Stage()
        done.append("left")

    def launch(name: str, users: int, space: int, given: Mission) -> Any:
        done.append((name, users, space))
        return SimpleNamespace(kill=lambda: done.append(f"kill {name}"))

    def fly() -> dict[str, Any]:
        done.append("fly")
        return {"reason": "ended"}

    users = iter((71, 72))
    for name, part in (
        *(("Path", File), ("lock", lambda: done.append("lock")), ("new_users", lambda: next(users))),
        *(("_module", lambda _: "cubic"), ("_set", lambda *what: done.append(("set", *what)))),
        *(("stage_of", stage_of), ("_files", lambda _: done.append("files")), ("_launch", launch)),
        ("Flight", lambda given, stage, hosts: SimpleNamespace(fly=fly)),
        (
            "keep",
            lambda host, mb: {"a pipe": [f"{host}/{mb}/{n}" for n in range(7)]} if host == "craft" else {},
        ),
    ):
        monkeypatch.setattr(inside, name, part)
    inside._carry_out(of(mission, stale_timers=9, sysctls={"a": "b"}, disk_mb=77))
    sysctls = {"net/ipv4/tcp_congestion_control": "cubic", "net/mptcp/stale_loss_cnt": "9"}
    assert done == [
        ("/proc/sys/net/ipv4/tcp_mem", "4000000 8000000 16000000"),
        ("/proc/sys/net/ipv4/tcp_child_ehash_entries", "1024"),
        ("/proc/self/oom_score_adj", "-900"),
        *("lock", ("/proc/sys/kernel/dmesg_restrict", "1"), ("stage", sysctls, [71, 72])),
        *(("set", {"a": "b"}, (5, 6)), "lay", "files", ("craft", 71, 5), ("earth", 72, 6)),
        *("fly", "kill craft", "kill earth", "left"),
    ]
    named = [f"craft/77/{n}" for n in range(5)]
    assert json.loads((at / "outcome.json").read_text()) == {
        "reason": "ended",
        "left_out": {"craft": {"a pipe": {"count": 7, "named": named}}, "earth": {}},
        "congestion": "cubic",
    }
    done.clear()
    users = iter((71, 72))

    def fail(*_: Any) -> Any:
        raise DstccError("a reason")

    monkeypatch.setattr(inside, "Flight", fail)
    with pytest.raises(DstccError, match="a reason"):
        inside._carry_out(of(mission))
    assert done[-2:] == ["kill craft", "kill earth"]
