"""A run of programs on this side of its guest: what it is given, how its end is judged, and what is told meanwhile."""

from __future__ import annotations

import json
import os
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel import guest
from dstcc_kernel.capture import BLOCK
from dstcc_kernel.endhosts import flight, native_bpf, own_module
from dstcc_kernel.endhosts.flight import Flown, _Followed, _stopped, fly
from dstcc_kernel.endhosts.mission import KEYS, Mission, Program
from dstcc_kernel.endhosts.packets import capture_name, write_capture
from dstcc_kernel.endhosts.planning import Options
from dstcc_kernel.job import LinkJob, Step, Way
from dstcc_kernel.module import BuildError

from dstcc.errors import DstccError, InputError, KernelError, MissingCapabilityError
from dstcc.scenario import load_scenario

from .flights import SHORT
from .test_network import STORE
from .test_planning import planned

dpkt = pytest.importorskip("dpkt")

OUTCOME = {
    **{"reason": "ended", "end_ns": 5, "congestion": "cubic", "full": [], "cut": [], "missed_packets": 0},
    "programs": [{"exit_code": 0, "ended_ns": 5, "asked": False, "failed": None}],
    "left_out": {},
}


class Guest:
    """In the guest's place: what it is booted with, and what it leaves."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.how: dict[str, Any] = {}
        self.found: dict[str, Any] = {}
        self.does: Callable[[Path, dict[str, Any]], None] = lambda out, how: None

    def run(self, kernel: Path, words: list[str], *, out: Path, **how: Any) -> None:
        self.words, self.how = words, {"kernel": kernel, **how}
        self.found = {path.name: path.readlink() if path.is_symlink() else None for path in out.iterdir()}
        self.found["lib"] = {path.name: path.readlink() for path in (out / "lib").iterdir()}
        (out / "console.log").write_text("one\ntwo\nthree\nfour\n")
        (out / "outcome.json").write_text(json.dumps(OUTCOME))
        self.does(out, how)


@pytest.fixture
def booted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Guest:
    made = Guest()
    monkeypatch.setattr(guest, "run", made.run)
    built = SimpleNamespace(kernel=Path("/linux"), facts={"version": "6.12", "sha256": "0"})
    monkeypatch.setattr(flight, "built", lambda: built)
    monkeypatch.setattr("dstcc_kernel.endhosts.outcome.built", lambda: built)
    kit = tmp_path / "kit"
    kit.mkdir()
    (kit / "preload.so").touch()
    (kit / "player").touch()
    monkeypatch.setattr(flight, "programs", lambda: kit)
    monkeypatch.setattr(flight, "program", lambda name: kit / "player")
    return made


def flown(
    folder: Path, scenario: Path = SHORT, wall_s: float = 60.0, keys: int | None = None, **options: Any
) -> Flown:
    given = Options(**{"command": ("true",), "here": folder, **options})
    return fly(folder / "run", load_scenario(scenario, []), given, argv=["dstcc"], wall_s=wall_s, keys=keys)


def test_a_guest_finds_the_mission_our_packages_and_the_callers_folder(booted: Guest, tmp_path: Path) -> None:
    done = flown(tmp_path, disk_mb=77)
    assert (done.exit_code, done.problem) == (0, None)
    assert booted.words[1:] == ["-S", "-P", "-m", "dstcc_kernel.endhosts.inside"]
    assert booted.found.keys() == {"lib", "here", "preload.so", "mission.json"}
    assert booted.found["here"] == tmp_path.resolve()
    assert booted.found["lib"].keys() == {"dstcc", "dstcc_kernel"}
    assert all(
        (path / "__init__.py").exists() and path.name == name for name, path in booted.found["lib"].items()
    )
    how = booted.how
    assert (how["kernel"], how["seed"], how["at"], how["wall_s"]) == (
        Path("/linux"),
        1,
        Path("/run/dstcc"),
        60.0,
    )
    assert how["environment"] == {"PYTHONPATH": "/run/dstcc/lib"} and how["at_start"] is None
    assert how["out_mb"] == 3 * 2 * 77 + 1024
    assert not (tmp_path / "run/.guest").exists()
    # a network's links are played
    flown(tmp_path / "kit", STORE)
    assert "player" in booted.found or "links" in booted.found


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"reason": "too long"}, "had not ended after 100 days"),
        ({"reason": "for"}, None),
    ],
)
def test_a_mission_that_outlasts_its_clock_is_a_problem(
    booted: Guest, tmp_path: Path, changes: dict[str, Any], problem: str | None
) -> None:
    from dstcc_kernel.endhosts.mission import AT_LIMIT, TOO_LONG

    reasons = {"too long": TOO_LONG, "for": AT_LIMIT}
    said = {**OUTCOME, **({"reason": reasons[changes["reason"]]} if changes else {})}

    def leave(out: Path, how: dict[str, Any]) -> None:
        (out / "outcome.json").write_text(json.dumps(said))

    booted.does = leave
    done = flown(tmp_path)
    assert (done.problem is None) if problem is None else problem in (done.problem or "")
    assert done.exit_code == (0 if problem is None else 1)


def test_exit_codes_are_the_first_programs_or_one() -> None:
    for code, problem, said in ((0, None, 0), (7, None, 7), (None, None, 1), (0, "a problem", 1)):
        assert Flown({"exit_code": code}, problem).exit_code == said


def test_what_a_guest_says_went_wrong_is_the_error(booted: Guest, tmp_path: Path) -> None:
    def fail(out: Path, how: dict[str, Any]) -> None:
        (out / "error.txt").write_text("a reason\n")

    booted.does = fail
    with pytest.raises(DstccError, match=r"^a reason\n?$"):
        flown(tmp_path)
    assert not (tmp_path / "run").exists()
    booted.does = lambda out, how: (out / "outcome.json").unlink()
    with pytest.raises(KernelError, match=r"the guest left no result; its last words: two / three / four"):
        flown(tmp_path)

    def die(out: Path, how: dict[str, Any]) -> None:
        raise guest.GuestError("it died", out / "console.log")

    booted.does = die
    with pytest.raises(KernelError, match=r"it died; its last words: two / three / four"):
        flown(tmp_path)

    def lack(out: Path, how: dict[str, Any]) -> None:
        raise MissingCapabilityError("no room")

    booted.does = lack
    with pytest.raises(MissingCapabilityError, match=r"^no room; --disk makes the hosts' folders smaller$"):
        flown(tmp_path)
    with pytest.raises(MissingCapabilityError, match=r"smaller, storage_bytes what nodes hold$"):
        flown(tmp_path, STORE)


def test_a_guest_at_its_limit_is_looked_at(
    booted: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mission time stood for half of 60 s; the busy program is named."""
    monkeypatch.setattr(flight, "busy_program", lambda boot: 0 if boot == 4711 else None)

    def hang(out: Path, how: dict[str, Any]) -> None:
        (out / "running").write_text("5000000000 0".ljust(256))
        then = time.time() - 30
        os.utime(out / "running", (then, then))
        how["at_limit"](4711)
        raise guest.GuestError("it still ran", out / "console.log")

    booted.does = hang
    done = flown(tmp_path)
    assert done.problem is not None and done.exit_code == 1
    assert done.problem.startswith(
        "`true` on craft computes without waiting: mission time stood at 5 s for 30 s, until"
    )


@pytest.mark.parametrize(
    ("busy", "still_s", "spins"),
    [(0, 15.1, True), (0, 15.0, False), (1, 20.0, True), (2, 20.0, False), (None, 20.0, False)],
)
def test_a_program_spins_that_computes_while_time_stands(
    tmp_path: Path, busy: int | None, still_s: float, spins: bool
) -> None:
    """For more than a quarter of the limit; a number that no program has is nobody's."""
    mission = planned("run.scale=4", earth=("sleep 1",))
    (tmp_path / "running").write_text("5000000000 1")
    said = _stopped(tmp_path, mission, 60.0, busy, still_s)
    if spins:
        name = "`true` on craft" if busy == 0 else "`sleep 1` on earth"
        assert said.startswith(
            f"{name} computes without waiting: mission time stood at 20 s for {still_s:.0f} s"
        )
    else:
        assert said.startswith(
            "the limit of 60 s passed (--wall) at mission time 20 s; `sleep 1` on earth still ran"
        )
    (tmp_path / "running").write_text("")
    assert "at mission time 0 s; the guest still ran" in _stopped(tmp_path, mission, 60.0, None, 0.0)


def test_modules_and_bpf_are_built_for_the_guest(
    booted: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    for name in ("check_folder", "check_program", "build_module", "build_bpf"):
        monkeypatch.setattr(flight, name, lambda *what, name=name: done.append((name, *what)))
    missions: list[Mission] = []
    write = Mission.write
    monkeypatch.setattr(Mission, "write", lambda self, path: (missions.append(self), write(self, path)))  # type: ignore[func-returns-value]
    with pytest.raises(InputError, match="--bpf: cannot be combined with --module"):
        flown(tmp_path, module=Path("/m"), bpf=Path("/b.c"))
    for option, check, make in (
        ("module", "check_folder", "build_module"),
        ("bpf", "check_program", "build_bpf"),
    ):
        done.clear()
        (tmp_path / option).mkdir()
        given: Any = {option: Path("/x")}
        flown(tmp_path / option, **given)
        assert [name for name, *_ in done] == [check, make]
        assert done[1][1:3] == (Path("/x"), Path("/linux")) and done[1][3].name == "module.ko"
        assert missions[-1].module == "/run/dstcc/module.ko"
    (tmp_path / "none").mkdir()
    flown(tmp_path / "none")
    assert missions[-1].module is None


def test_keys_are_handed_on_while_the_guest_runs(booted: Guest, tmp_path: Path) -> None:
    read, write = os.pipe()

    def play(out: Path, how: dict[str, Any]) -> None:
        how["at_start"](os.getpid())
        os.write(write, b"ls\r")
        until = time.monotonic() + 20
        while not (out / KEYS.format(0)).exists() and time.monotonic() < until:
            time.sleep(0.002)
        booted.found["typed"] = (out / KEYS.format(0)).read_bytes()

    booted.does = play
    try:
        flown(tmp_path, keys=read, shell="", command=("bash",))
    finally:
        os.close(write)
        os.close(read)
    assert booted.found["typed"] == b"ls\r"


# ------------------------------------------------------------------------------------------------ what is told


def test_what_the_first_program_prints_is_told_as_it_comes(
    tmp_path: Path, mission: Mission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight, "POLL_S", 0.002)
    told: list[tuple[str, bytes]] = []
    came = threading.Event()

    def tell(stream: str, data: bytes) -> None:
        told.append((stream, data))
        came.set()

    with flight._telling(tmp_path, mission, tell):
        (tmp_path / "stdout").write_bytes(b"first")
        assert came.wait(20)
        (tmp_path / "stdout").write_bytes(b"first second")
        (tmp_path / "stderr").write_bytes(b"error")
    by_stream = {
        name: b"".join(data for stream, data in told if stream == name) for name in ("stdout", "stderr")
    }
    assert by_stream == {"stdout": b"first second", "stderr": b"error"}, "what comes at the end is told, too"


def test_a_file_that_grows_is_read_once_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight, "READ", 4)
    path = tmp_path / "stdout"
    followed = _Followed(path, "stdout", 10)
    assert [*followed.fresh()] == []
    path.write_bytes(b"abcdef")
    assert [*followed.fresh()] == [b"abcd", b"ef"]
    assert [*followed.fresh()] == []
    path.write_bytes(b"abcdefghijklmn")  # 14 are a read more than it may have
    assert b"".join(followed.fresh()) == b"ghijklmn" and followed.problem is None
    path.write_bytes(b"abcdefghijklmno")
    assert [*followed.fresh()] == []
    assert followed.problem == "stdout: what CMD prints cannot be read: has more than 0 MB"
    path.write_bytes(b"x" * 20)
    assert [*followed.fresh()] == [], "there is no more of it"


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_what_is_no_file_is_not_followed(tmp_path: Path, mission: Mission, kind: str) -> None:
    path = tmp_path / "stdout"
    if kind == "link":
        (tmp_path / "theirs").write_text("x")
        path.symlink_to(tmp_path / "theirs")
    elif kind == "fifo":
        os.mkfifo(path)
        writer = threading.Thread(target=lambda: os.close(os.open(path, os.O_RDWR)), daemon=True)
        writer.start()
    else:
        path.mkdir()
    with (
        pytest.raises(KernelError, match="stdout: what CMD prints cannot be read"),
        flight._telling(tmp_path, mission, lambda *_: pytest.fail("nothing is told")),
    ):
        pass


# ---------------------------------------------------------------------------------------------------- captures


def ring(path: Path, *packets: tuple[int, bytes, int]) -> None:
    """A block as packet_mmap has it: packets, each with its time (ns), bytes behind Ethernet, and pkttype."""
    block = bytearray(BLOCK)
    struct.pack_into("=I", block, 12, len(packets))
    struct.pack_into("=I", block, 16, 48)
    at = 48
    for t_ns, ip, kind in packets:
        frame = bytes(12) + b"\x08\0" + ip
        step = (82 + len(frame) + 15) // 16 * 16
        struct.pack_into("=5I", block, at, step, t_ns // 10**9, t_ns % 10**9, len(frame), len(frame) + 5)
        struct.pack_into("=H", block, at + 24, 82)
        block[at + 58] = kind
        block[at + 82 : at + 82 + len(frame)] = frame
        at += step
    path.write_bytes(block if packets else b"")


def test_a_links_capture_has_both_ends_in_order_and_in_mission_time(tmp_path: Path) -> None:
    """Scale 10: packets are as much later after the mission's begin as the scale; those that a device hears are seen
    behind netem by another."""
    way = Way(1e6, 9, (Step(0, 5, 0.0),))
    given = replace(
        planned("run.scale=10", "scenario.start=2000-01-01T00:00:00Z"),
        links=(LinkJob("Relay 1", way, way),) * 2,
    )
    zero = 946_684_800 * 10**9
    ips = [bytes([0x45, 0, 0, 24]) + bytes(16) + bytes([number] * 4) for number in range(5)]
    ring(tmp_path / "craft1.ring", (zero + 10**9, ips[0], 4), (zero + 2 * 10**9, ips[1], 0))
    ring(tmp_path / "up1.ring", (zero + 3 * 10**9, ips[2], 4))
    ring(tmp_path / "earth1.ring", (zero, ips[3], 4))
    ring(tmp_path / "down1.ring", (zero + 1_500_000_001, ips[4], 4))
    path = tmp_path / "out.pcapng"
    write_capture(path, tmp_path, given, 1)
    with path.open("rb") as file:
        found = [(t_s - 946_684_800, packet) for t_s, packet in dpkt.pcapng.Reader(file)]
    assert [packet[-4] for _, packet in found] == [3, 0, 4, 2]
    assert [t_s for t_s, _ in found] == pytest.approx([0, 10, 15.00000001, 30], abs=1e-6)
    data = path.read_bytes()
    assert data.count(struct.pack("<II", 24, 29)) == 4, "of 29 bytes 24 were kept"
    assert b"Relay 1 spacecraft" in data and b"Relay 1 earth" in data
    assert capture_name(given, 1) == "2-relay-1.pcapng"
    assert capture_name(replace(given, links=(LinkJob("λ", way, way),)), 0) == "1.pcapng"


@pytest.mark.parametrize(("after_ns", "fits"), [(0, True), (-1, False)])
def test_times_before_all_clocks_are_refused(tmp_path: Path, after_ns: int, fits: bool) -> None:
    """At scale 2 a packet that leaves half of the clock before the mission's begin is at 0."""
    way = Way(1e6, 9, (Step(0, 5, 0.0),))
    given = replace(planned("run.scale=2"), links=(LinkJob("a", way, way),), clock_s=1000)
    for name in ("up0", "earth0", "down0"):
        ring(tmp_path / f"{name}.ring")
    ring(tmp_path / "craft0.ring", (500 * 10**9 + after_ns, bytes([0x45]) + bytes(23), 4))
    if fits:
        write_capture(tmp_path / "o", tmp_path, given, 0)
        return
    with pytest.raises(KernelError, match="a packet in a ring of a: its time is that of no guest's clock"):
        write_capture(tmp_path / "o", tmp_path, given, 0)


def test_a_networks_captures_have_all_that_each_end_sees(tmp_path: Path) -> None:
    given = planned(scenario=STORE)
    for end in range(2):
        ring(tmp_path / f"link1-{end}.ring", (given.clock_s * 10**9 + end, bytes([0x45, end]) + bytes(22), 0))
    write_capture(tmp_path / "o", tmp_path, given, 1)
    with (tmp_path / "o").open("rb") as file:
        assert [packet[1] for _, packet in dpkt.pcapng.Reader(file)] == [0, 1]
    assert (
        b"x-band orbiter" in (tmp_path / "o").read_bytes()
        and b"x-band earth" in (tmp_path / "o").read_bytes()
    )


# ---------------------------------------------------------------------------------------------- users' modules


def test_a_modules_folder_has_one_source_or_a_recipe(tmp_path: Path) -> None:
    def said() -> str | None:
        try:
            own_module.check_folder(tmp_path)
        except InputError as error:
            return str(error)
        return None

    assert (said() or "").endswith("has none")
    (tmp_path / "a.c").touch()
    (tmp_path / "a.mod.c").touch()
    assert said() is None
    (tmp_path / "b.c").touch()
    assert (said() or "").endswith("has a.c, b.c")
    for recipe in ("Kbuild", "Makefile"):
        (tmp_path / recipe).touch()
        assert said() is None
        (tmp_path / recipe).unlink()
    with pytest.raises(InputError, match="no such folder"):
        own_module.check_folder(tmp_path / "none")


def test_a_module_is_built_from_a_copy_and_its_errors_are_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Path, str, list[str], str]] = []
    products = ["mine.ko"]
    complaint: list[str | None] = []

    def make(tree: Path, work: Path, arch: str) -> None:
        names = sorted(path.name for path in work.iterdir())
        recipe = (work / "Kbuild").read_text() if (work / "Kbuild").exists() else ""
        made.append((tree, arch, names, recipe))
        if complaint:
            error = BuildError("it", complaint[0].format(work=work) if complaint[0] else "")
            raise error
        for name in products:
            (work / name).write_text(name)

    monkeypatch.setattr(own_module, "make", make)
    folder, to = tmp_path / "folder", tmp_path / "module.ko"
    folder.mkdir()
    for name in ("mine.c", "mine.h", "asm.S", "old.mod.c", "notes.txt", "old.o"):
        (folder / name).write_text(name)
    (folder / "below").mkdir()
    own_module.build_module(folder, tmp_path / "cache/linux", to)
    (tree, arch, names, recipe) = made[-1]
    assert (tree, arch) == (tmp_path / "cache/tree", "um")
    assert names == ["Kbuild", "asm.S", "mine.c", "mine.h"] and recipe == "obj-m += mine.o\n"
    assert to.read_text() == "mine.ko" and not (folder / "Kbuild").exists()
    (folder / "Kbuild").write_text("theirs")
    products.append("another.ko")
    with pytest.raises(InputError, match=r"its Kbuild makes 2 modules; one is loaded"):
        own_module.build_module(folder, tmp_path / "cache/linux", to)
    assert made[-1][3] == "theirs"
    for text, said in (
        ("{work}/mine.c:3:1: error: no", f"--module {folder}/mine.c:3:1: error: no"),
        ("ERROR: modpost: x", f"--module {folder}: ERROR: modpost: x"),
    ):
        complaint[:] = [text]
        with pytest.raises(InputError) as failed:
            own_module.build_module(folder, tmp_path / "cache/linux", to)
        assert str(failed.value) == said
    complaint[:] = [None]
    with pytest.raises(BuildError):
        own_module.build_module(folder, tmp_path / "cache/linux", to)


PROGRAM = 'SEC(".struct_ops")\nstruct tcp_congestion_ops mine = {{\n}};\n{more}'


def test_a_struct_ops_program_is_built_as_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path] = []

    def make(tree: Path, work: Path, arch: str) -> None:
        assert {"mine.bpf.c", "own.h", "vmlinux.h", "bpf", "dstcc_bpf.c", "Kbuild"} == {
            path.name for path in work.iterdir()
        }
        assert "tcp_register_congestion_control(&mine)" in (work / "dstcc_bpf.c").read_text()
        assert '#include "mine.bpf.c"' in (work / "dstcc_bpf.c").read_text()
        assert (work / "vmlinux.h").read_text() != "theirs", "the kernel's own headers stand for it"
        (work / "dstcc_bpf.ko").write_text("made")
        seen.append(tree)

    monkeypatch.setattr(own_module, "make", make)
    program = tmp_path / "mine.bpf.c"
    program.write_text(PROGRAM.format(more=""))
    (tmp_path / "own.h").touch()
    (tmp_path / "vmlinux.h").write_text("theirs")
    own_module.build_bpf(program, tmp_path / "cache/linux", tmp_path / "o.ko")
    assert (tmp_path / "o.ko").read_text() == "made" and seen == [tmp_path / "cache/tree"]
    for text, said in (
        (PROGRAM.format(more='struct { } m SEC(".maps");'), "has maps"),
        (PROGRAM.format(more=PROGRAM.format(more="")), "has 2 SEC"),
        ("int x;", "has 0 SEC"),
    ):
        program.write_text(text)
        with pytest.raises(InputError, match=said):
            native_bpf.check_program(program)
    program.write_text(PROGRAM.format(more="").replace(".struct_ops", ".struct_ops.link"))
    assert native_bpf.check_program(program) == "mine"
    program.write_bytes(b"\x7fELF\xff")
    with pytest.raises(InputError, match="is not C source"):
        native_bpf.check_program(program)
    assert Program("craft", ("a", "b")).label == "`a b` on craft"
