"""The build's rules with programs of our own in the place of tar, make and gcc: they leave what the real ones leave."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main
from dstcc_kernel import build, source
from dstcc_kernel.programs import programs
from dstcc_kernel.steps import Steps

from dstcc.errors import KernelError, MissingCapabilityError

VERSION = "6.1.192-2"

TAR = """
while [ "$1" != -C ]; do shift; done
mkdir -p "$2/net/mptcp" "$2/include/net" && touch "$2/net/mptcp/protocol.h" "$2/net/mptcp/protocol.c"
"""
MAKE = """
tree=$2
for word; do case $word in
KCONFIG_ALLCONFIG=*) cat "${word#*=}" > "$tree/.config";;
-j*) echo '  CC      net/socket.o'; echo kernel > "$tree/vmlinux"; touch "$tree/net/socket.o" "$tree/Module.symvers";;
esac; done
"""
GCC = """
while [ $# -gt 0 ]; do
    [ "$1" = -o ] && echo program > "$2"
    [ "$1" = --version ] && echo 'gcc 12'
    shift
done
exit 0
"""
STRIP = 'while [ "$1" != -o ]; do shift; done\ncp "$3" "$2"\n'
IDLE = ("ld", "flex", "bison", "bc", "xz")
REAL = ("cat", "mkdir", "touch", "cp", "sleep", "sh")


class Bench:
    """A folder of programs that is the whole PATH, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self.cache = folder / "cache"
        self.programs.mkdir()
        for name, script in {"tar": TAR, "make": MAKE, "gcc": GCC, "strip": STRIP}.items():
            self.put(name, script)
        for name in IDLE:
            self.put(name, "")
        for name in REAL:
            (self.programs / name).symlink_to(
                next(p for p in (Path("/bin", name), Path("/usr/bin", name)) if p.exists())
            )

    def put(self, name: str, script: str) -> None:
        program = self.programs / name
        program.write_text(f"#!/bin/sh\n{script}")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def left(self) -> list[str]:
        """What the cache holds, but for the lock."""
        home = self.cache / "kernel"
        return (
            sorted(entry.name for entry in home.iterdir() if entry.name != ".lock") if home.exists() else []
        )


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench(tmp_path)
    monkeypatch.setenv("PATH", str(made.programs))
    monkeypatch.setenv("DSTCC_CACHE", str(made.cache))
    monkeypatch.setattr(source, "version", lambda: VERSION)
    monkeypatch.setenv(source.VARIABLE, "6.1")  # whose source is not patched
    monkeypatch.setattr(platform, "machine", lambda: build.MACHINE)
    return made


def kernel_command(*args: str) -> Result:
    return CliRunner().invoke(main, ["kernel", *args])


def test_each_version_is_a_kernel_of_its_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    old = build.build()
    bench.put("patch", f'echo "$@" > {bench.cache}/patched')
    with source.using("6.12"):
        assert build.find() is None
        new = build.build()
        assert build.find() == new
        assert "CONFIG_MPTCP_DSTCC=y" in (new.folder / "config").read_text().splitlines()
        # what a source has not is not asked of it
        assert "CONFIG_RANDOM_TRUST_BOOTLOADER" not in (new.folder / "config").read_text()
        assert build.others() == []
        assert (new.tree / "include/net/mptcp_dstcc.h").exists()
        # a scheduler that changed is another kernel
        with monkeypatch.context() as changed:
            changed.setattr(source, "added", lambda: [Path(__file__)])
            assert build.find() is None
    assert "--fuzz=0" in (bench.cache / "patched").read_text()
    assert build.find() == old
    assert "CONFIG_MPTCP_DSTCC" not in (old.folder / "config").read_text()


def test_a_patch_that_does_not_fit_ends_the_build(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(source.VARIABLE, "6.12")
    with pytest.raises(MissingCapabilityError, match="apt install patch"):
        build.build()
    bench.put("patch", "echo '1 out of 3 hunks FAILED -- saving rejects' >&2; exit 1")
    with pytest.raises(KernelError, match="patching the kernel failed: 1 out of 3 hunks FAILED"):
        build.build()
    assert bench.left() == []


def test_a_version_that_nobody_can_build_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(source.VARIABLE, "5.10")
    done = kernel_command("build")
    assert done.exit_code == 2
    assert done.stderr == "dstcc: DSTCC_KERNEL=5.10: dstcc builds Linux 6.1 and 6.12\n"
    assert kernel_command("build", "--kernel", "5.10").exit_code == 2


def test_kernel_says_which_version(bench: Bench) -> None:
    bench.put("patch", "")
    built = json.loads(kernel_command("build", "--kernel", "6.12", "--json").stdout)
    assert (built["release"], built["built"]) == ("6.12", True)
    rows = json.loads(kernel_command("status", "--json").stdout)["kernels"]
    assert [(row["release"], row["built"]) for row in rows if row["variant"] == "plain"] == [
        ("6.1", False),
        ("6.12", True),
    ]


def test_a_built_kernel_is_found_again(bench: Bench) -> None:
    advanced: list[float] = []
    built = build.build(advance=advanced.append)
    assert built.kernel.read_text() == "kernel\n"
    assert sum(advanced) == pytest.approx(1)
    assert built.facts["version"] == VERSION
    assert {file.name for file in built.folder.iterdir()} == {"linux", "tree", "config", "build.json"}
    bench.put("make", "exit 1")
    assert build.kernel() == built.kernel
    assert build.find(debug=True) is None


def test_what_modules_need_stays_and_objects_go(bench: Bench) -> None:
    tree = build.build().tree
    files = {str(file.relative_to(tree)) for file in tree.rglob("*") if file.is_file()}
    assert files == {".config", "Module.symvers", "net/mptcp/protocol.h"}


def test_the_name_follows_version_variant_and_configuration(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {build.build(debug).folder.name for debug in (False, True)}
    monkeypatch.setattr(source, "version", lambda: "6.1.200-1")
    assert build.find() is None
    names.add(build.build().folder.name)
    monkeypatch.setattr(build, "configuration", lambda debug: {"CONFIG_NET": "y"})
    assert build.find() is None
    names.add(build.build().folder.name)
    assert len(names) == 4
    assert sorted(name.split("-")[1] for name in names) == ["6.1.192", "6.1.192", "6.1.200", "6.1.200"]
    assert len(build.others()) == 3


def test_without_the_source_package_a_built_kernel_still_serves(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = build.build()
    monkeypatch.setattr(source, "version", lambda: None)
    assert build.kernel() == built.kernel
    with pytest.raises(MissingCapabilityError, match=r"apt install linux-source-6\.1"):
        build.build(debug=True)


def test_another_kind_of_machine_is_refused_before_anything_is_made(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(MissingCapabilityError, match="needs an x86_64 machine, this one is aarch64"):
        build.build()
    assert bench.left() == []


def test_missing_programs_are_named_with_their_packages(bench: Bench) -> None:
    for name in ("flex", "gcc"):
        (bench.programs / name).unlink()
    done = kernel_command("build", "--json")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "apt install flex gcc" in done.stderr
    assert bench.left() == []


def test_a_failed_compilation_says_why_and_leaves_nothing(bench: Bench) -> None:
    bench.put("make", MAKE + "case $* in *-j*) echo 'net/socket.c:7: error: no such field'; exit 2;; esac")
    done = kernel_command("build")
    assert done.exit_code == 1
    assert "compiling the kernel failed: net/socket.c:7: error: no such field" in done.stderr
    assert "Traceback" not in done.stderr
    assert bench.left() == []


def test_a_full_disk_is_called_that(bench: Bench) -> None:
    bench.put("tar", "echo 'tar: net/x.c: Cannot write: No space left on device' >&2; exit 2")
    with pytest.raises(KernelError, match="the disk is full"):
        build.build()
    assert bench.left() == []


def test_too_little_room_is_said_before_the_work(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "ROOM_BYTES", 10**18)
    with pytest.raises(KernelError, match=r"MB are free.*DSTCC_CACHE names another folder"):
        build.build()
    assert bench.left() == []


def test_a_symbol_that_the_source_refuses_ends_the_build(bench: Bench) -> None:
    bench.put("make", MAKE.replace('cat "${word#*=}"', "echo CONFIG_64BIT=y"))
    with pytest.raises(KernelError, match="refuses CONFIG_UML_TIME_TRAVEL_SUPPORT, "):
        build.build()
    assert bench.left() == []


def test_a_killed_build_leaves_nothing_that_looks_built(bench: Bench) -> None:
    bench.put("make", MAKE + f"case $* in *-j*) touch {bench.cache}/compiling; sleep 60;; esac")
    code = "from dstcc_kernel import build, source; source.version = lambda: '6.1.192-2'; build.build()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": ":".join(sys.path)}
    )
    while not (bench.cache / "compiling").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert build.find() is None
    bench.put("make", MAKE)
    assert build.build().kernel.exists()
    assert bench.left() == [build.build().folder.name]


def test_an_interrupted_build_ends_its_programs_and_leaves_nothing(bench: Bench) -> None:
    bench.put("make", MAKE + f"case $* in *-j*) echo $$ > {bench.cache}/pid; sleep 60;; esac")
    code = (
        "from dstcc_kernel import source; source.version = lambda: '6.1.192-2'\n"
        "from dstcc_cli.main import main; main(['kernel', 'build'])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    pid = bench.cache / "pid"
    while not (pid.exists() and pid.read_text().strip()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said.endswith("dstcc: interrupted\n")
    assert not Path("/proc", pid.read_text().strip()).exists()
    assert bench.left() == []


def test_an_interrupt_while_a_command_starts_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[str]] = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *words: object, **how: object) -> None:
            super().__init__(*words, **how)  # type: ignore[call-overload]
            begun.append(self)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        Steps(tmp_path / "log", 1, lambda _part: None).run(["sleep", "60"], "building")
    assert begun[0].returncode == -signal.SIGKILL
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_command_of_a_build_can_be_interrupted(tmp_path: Path) -> None:
    """It has no signals blocked, whatever waits while it starts."""
    Steps(tmp_path / "log", 1, lambda _part: None).run(["grep", "SigBlk", "/proc/self/status"], "building")
    assert (tmp_path / "log").read_text().split() == ["SigBlk:", "0" * 16]


def test_two_builds_at_once_build_once(bench: Bench) -> None:
    bench.put("make", MAKE + f"case $* in *-j*) echo once >> {bench.cache}/compiled; sleep 0.5;; esac")
    code = (
        "from dstcc_kernel import build, source; source.version = lambda: '6.1.192-2'; print(build.kernel())"
    )
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    both = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    first, second = (process.communicate()[0] for process in both)
    assert first == second == f"{build.kernel()}\n"
    assert (bench.cache / "compiled").read_text() == "once\n"


def test_force_builds_anew(bench: Bench) -> None:
    build.build()
    bench.put("make", MAKE.replace("echo kernel", "echo newer"))
    assert build.build().kernel.read_text() == "kernel\n"
    assert build.build(force=True).kernel.read_text() == "newer\n"


def test_status_and_clean(bench: Bench) -> None:
    before = json.loads(kernel_command("status", "--json").stdout)
    assert [(row["release"], row["variant"], row["built"]) for row in before["kernels"]] == [
        (release, variant, False) for release in ("6.1", "6.12") for variant in ("plain", "debug")
    ]
    built = json.loads(kernel_command("build", "--json").stdout)
    assert built["variant"] == "plain"
    after = json.loads(kernel_command("status", "--json").stdout)
    assert after["kernels"][0] == built
    assert "6.1 debug: not built (dstcc kernel build --kernel 6.1 --debug)" in kernel_command("status").stdout
    assert json.loads(kernel_command("clean", "--json").stdout)["freed_bytes"] > 0
    assert bench.left() == []


def test_the_programs_around_a_guest_are_compiled_once(bench: Bench) -> None:
    kit = programs()
    assert {file.name for file in kit.iterdir()} == {"boot", "init", "host.so", "preload.so"}
    bench.put("gcc", "echo 'init.c:1: error: what' >&2; exit 1")
    assert programs() == kit
    build.clean()
    with pytest.raises(KernelError, match=r"confine\.c does not compile: init\.c:1: error: what"):
        programs()
    (bench.programs / "gcc").unlink()
    with pytest.raises(MissingCapabilityError, match="apt install gcc"):
        programs()
    assert bench.left() == []


def test_no_package_no_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(source, "SOURCES", tmp_path)
    assert source.version() is None
    source.release().archive.touch()
    monkeypatch.setenv("PATH", str(tmp_path))  # not a Debian system
    assert source.version() is None


def test_clean_removes_nothing_that_dstcc_did_not_make(bench: Bench) -> None:
    """``DSTCC_CACHE`` may name a folder in which the user has a ``kernel`` of their own."""
    build.build()
    home = build.home()
    mine = [
        home / "linux-next-plain-1a2b3c4d5e6f" / "Makefile",
        home / "linux-6.1-debug-notes" / "build.json",
        home / "drivers" / "net" / "mine.c",
        home / "transfer-log.txt",
        home / ".lock",
        home / ".building" / "mine",
        home / "programs" / "boot",
    ]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("the only copy")
    (home / "transfer-0123456789abcdef").symlink_to(mine[0])
    (home / "transfer-fedcba9876543210").write_text("ours")
    (home / f".transfer-fedcba9876543210.0badf00d-{os.getpid()}.x.tmp").write_text("ours")
    build.clean()
    build.build()
    assert [path.read_text() for path in mine] == ["the only copy"] * len(mine)
    assert (home / "transfer-0123456789abcdef").is_symlink()
    assert sorted(entry.name for entry in home.iterdir() if "fedcba" in entry.name) == []


def test_progress_adds_up_to_1_and_each_line_is_its_share(tmp_path: Path) -> None:
    told: list[float] = []
    steps = Steps(tmp_path / "log", 4, told.append)
    steps.run(["sh", "-c", "echo a; echo b"], "printing")
    assert told == [0.25, 0.25] and steps.reported == 0.5
    steps.run(["sh", "-c", "echo c; echo d; echo e; echo f >&2"], "printing")
    assert told[2:] == [0.25, 0.25, 0.0, 0.0] and steps.reported == 1.0
    assert (tmp_path / "log").read_text() == "a\nb\nc\nd\ne\nf\n"


def test_a_command_that_fails_says_its_own_first_complaint(tmp_path: Path) -> None:
    """Not an earlier command's; without one its last line; without any that there is none."""
    steps = Steps(tmp_path / "log", 4, lambda _: None)
    steps.run(["sh", "-c", "echo 'old.c:1: error: earlier'"], "compiling")
    for text, said in (
        (
            "echo x; echo 'a.c:3:1: error: first'; echo 'b.c:1:1: error: second'; echo end",
            "a.c:3:1: error: first",
        ),
        ("echo x; echo ' last '; echo; exit 2", "last"),
        ("exit 2", "no message"),
        (
            "echo 'No space left on device'; echo 'a.c:3:1: error: x'; exit 1",
            "the disk is full (No space left",
        ),
    ):
        with pytest.raises(KernelError) as failed:
            steps.run(["sh", "-c", f"{text}; exit 1"], "compiling")
        assert str(failed.value).startswith(f"compiling the kernel failed: {said}"), text


def test_what_building_a_module_does_not_read_is_removed(tmp_path: Path) -> None:
    """Of the tree's scripts and includes nothing is, and neither headers nor symbols."""
    kept = (
        "scripts/a.o",
        "include/b.c",
        "net/c.h",
        "net/scripts.d/Kbuild",
        "Module.symvers",
        "arch/Makefile",
    )
    gone = (
        "net/c.o",
        "net/d.a",
        "net/e.c",
        "arch/f.S",
        "net/.g.cmd",
        "vmlinux",
        "vmlinux.o",
        ".tmp_x",
        "linux",
        "net/include/h.c",
    )
    for name in (*kept, *gone):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    build._keep_headers(tmp_path)
    assert sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    ) == sorted(kept)


def test_a_kernels_facts_are_of_what_was_built(bench: Bench) -> None:
    built = build.build(jobs=3)
    facts = json.loads((built.folder / "build.json").read_text())
    assert facts == built.facts
    assert (facts["version"], facts["variant"], facts["compiler"]) == (VERSION, "plain", "gcc 12")
    assert facts["sha256"] == hashlib.sha256((built.folder / "linux").read_bytes()).hexdigest()
    assert 0 <= facts["cpu_s"] < 60 and 0 <= facts["wall_s"] < 60
    files = [built.folder, *built.folder.rglob("*")]
    assert 0 < facts["bytes"] <= sum(path.lstat().st_blocks * 512 for path in files)
    assert not (built.folder / "wanted").exists() and not (built.folder / "build.log").exists()


def test_a_makes_variables_are_not_the_kernels(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKEFLAGS", "-n")
    bench.put("make", f'echo "$MAKEFLAGS $KBUILD_BUILD_USER $@" >> {bench.cache}.asked\n{MAKE}')
    build.build(jobs=3)
    configuring, compiling = Path(f"{bench.cache}.asked").read_text().splitlines()
    assert configuring.split()[:2] == ["dstcc", "-C"] and configuring.endswith(" allnoconfig")
    assert compiling.split()[0] == "dstcc" and compiling.endswith("ARCH=um -j3")


def test_progress_of_a_build_adds_up(bench: Bench) -> None:
    told: list[float] = []
    build.build(advance=told.append)
    assert sum(told) == pytest.approx(1) and min(told) >= 0
