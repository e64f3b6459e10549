"""How a guest is furnished, watched and judged, with a kernel that a test plays."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel import guest
from dstcc_kernel.guest import GuestError, reports, run

from dstcc.errors import KernelError, MissingCapabilityError

BOOTS = """#!/bin/sh
pwd > {asked}
printf '%s\\n' "$@" >> {asked}
printf '%s\\n' "seed $DSTCC_SEED" "$TMPDIR" >> {asked}
tr '\\0' '\\n' < job > {asked}.job
ls -1 >> {asked}
{more}
"""


class Kit:
    """Programs around a guest, of which ``boot`` does what a test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = folder / "asked"
        for name in ("host.so", "init"):
            (folder / name).write_text(name)
        self.play("echo words; printf '7 1.500000000' > said/ended")

    def play(self, more: str) -> None:
        (self.folder / "boot").write_text(BOOTS.format(asked=self.asked, more=more))
        (self.folder / "boot").chmod(0o755)


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    (tmp_path / "kit").mkdir()
    (tmp_path / "scratch").mkdir()
    made = Kit(tmp_path / "kit")
    monkeypatch.setattr(guest, "programs", lambda: made.folder)
    monkeypatch.setattr(guest, "_scratch_parents", lambda: [tmp_path / "scratch"])
    return made


def boot(folder: Path, **how: Any) -> guest.GuestResult:
    given = {"seed": 5, "memory_mb": 256, "wall_s": 60.0, **how}
    return run(folder / "linux", ["job", "a b"], out=folder / "out", **given)


def test_a_guest_is_booted_with_its_job_its_seed_and_its_limits(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/packages")
    done = boot(tmp_path, out_mb=300, environment={"A": "b", "HOME": "/h"})
    assert (done.exit_code, done.virtual_s, done.console) == (7, 1.5, tmp_path / "out/console.log")
    assert done.console.read_text() == "words\n" and 0 < done.wall_s < 60
    lines = kit.asked.read_text().splitlines()
    # what may lie in a file: the larger of memory and output; addresses: a gigabyte more than the memory
    assert lines[1:5] == ["300", str(256 + 1024), str(kit.folder / "host.so"), str(tmp_path / "linux")]
    words = lines[5:]
    assert words[:4] == [
        "time-travel=inf-cpu",
        f"time-travel-start={1_767_225_600 * 10**9}",
        "mem=256M",
        "hostfs=.",
    ]
    assert "seed 5" in words and words[words.index("seed 5") + 1] == "."
    assert {"host", "init", "job", "out", "said", "tree"} <= {*words}
    at, where, count, *rest = Path(f"{kit.asked}.job").read_text().splitlines()
    assert (at, where, count, rest[:2]) == (str(tmp_path / "out"), str(Path.cwd()), "2", ["job", "a b"])
    said = dict(line.split("=", 1) for line in rest[2:])
    assert said["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert (said["A"], said["HOME"], said["PYTHONPATH"], said["PYTHONHASHSEED"]) == (
        "b",
        "/h",
        "/packages",
        "0",
    )
    assert not list((tmp_path / "scratch").iterdir()), "its small folder goes"
    monkeypatch.delenv("PYTHONPATH")
    boot(tmp_path, at=Path("/run/x"), out_mb=100)
    at, where, *rest = Path(f"{kit.asked}.job").read_text().splitlines()
    assert (at, where) == ("/run/x", "/run/x") and not any(line.startswith("PYTHONPATH") for line in rest)
    assert kit.asked.read_text().splitlines()[1] == "256"


def test_a_kernel_that_shadows_addresses_has_no_limit_of_them(kit: Kit, tmp_path: Path) -> None:
    for config, limit in (("CONFIG_KASAN=y\n", "0"), ("# CONFIG_KASAN is not set\n", "1280")):
        (tmp_path / "config").write_text(config)
        boot(tmp_path)
        assert kit.asked.read_text().splitlines()[2] == limit


def test_memory_is_so_much_at_least(kit: Kit, tmp_path: Path) -> None:
    boot(tmp_path, memory_mb=64)
    with pytest.raises(ValueError, match="memory_mb = 63: a guest needs at least 64"):
        boot(tmp_path, memory_mb=63)


def test_who_asks_is_told_of_its_begin_and_of_its_limit(kit: Kit, tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    kit.play("printf '0 1.000000000' > said/ended; exec sleep 60")
    began = time.monotonic()
    with pytest.raises(
        GuestError, match=r"the guest was stopped: it still ran after 0\.3 s \(.*console\.log"
    ) as stopped:
        boot(
            tmp_path,
            wall_s=0.3,
            at_start=lambda pid: told.append(("start", pid)),
            at_limit=lambda pid: told.append(("limit", pid)),
        )
    assert time.monotonic() - began < 30
    (_, first), (_, second) = told
    assert [what for what, _ in told] == ["start", "limit"] and first == second > 0
    assert not Path(f"/proc/{first}").exists()
    assert (stopped.value.problem, stopped.value.console) == (
        "the guest was stopped: it still ran after 0.3 s",
        tmp_path / "out/console.log",
    )


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("head -c 3000000 /dev/zero > out/large; sleep 0", r"it has written more than 2 MB"),
        ("head -c 2000000 /dev/zero > out/large; printf '0 1.000000000' > said/ended", None),
        ("head -c 70000000 /dev/zero > large", r"its kernel has written more than 64 MB or 4,096 files beside"),
        ("head -c 60000000 /dev/zero > large; printf '0 1.000000000' > said/ended", None),
        ("mkdir m; cd m; seq 4200 | xargs touch", r"its kernel has written more than 64 MB or 4,096 files beside"),
    ],
)  # fmt: skip
def test_who_writes_too_much_is_stopped(kit: Kit, tmp_path: Path, more: str, problem: str | None) -> None:
    kit.play(more)
    if problem is None:
        assert boot(tmp_path, out_mb=2).exit_code == 0
        return
    with pytest.raises(GuestError, match=f"the guest was stopped: {problem}"):
        boot(tmp_path, out_mb=2)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            "echo first; echo; echo ' Kernel panic - not syncing: x'; echo last",
            "Kernel panic - not syncing: x",
        ),
        ("echo 'dstcc: the guest is out'; echo last", "dstcc: the guest is out"),
        ("echo 'BUG: x'; echo last", "BUG: x"),
        ("echo first; echo last; echo", "last"),
        (":", "it printed nothing"),
        (": > said/ended", "it printed nothing"),
    ],
)
def test_a_guest_that_dies_has_last_words(kit: Kit, tmp_path: Path, more: str, words: str) -> None:
    kit.play(more)
    with pytest.raises(GuestError, match=f"^the guest died: {words} "):
        boot(tmp_path)


@pytest.mark.parametrize(
    "text", ["7", "1000 1.000000000", "-1 1.000000000", "7 1.0", "7 1.000000000 x", "x" * 65]
)
def test_an_end_that_no_guest_of_ours_says_is_an_error(kit: Kit, tmp_path: Path, text: str) -> None:
    kit.play(f"printf '%s' '{text}' > said/ended")
    with pytest.raises(KernelError, match="ended: "):
        boot(tmp_path)


def test_complaints_are_those_since_the_job_began() -> None:
    text = "BUG: early\ndstcc: the job starts\n WARNING: CPU: 0 \nfine\nx BUG: not at its begin\nKernel panic - x\n"
    assert reports(text) == ("WARNING: CPU: 0", "Kernel panic - x")
    key = "INFO: trying to register non-static key."  # kernel/locking/lockdep.c
    assert reports(f"{key}\nINFO: task x blocked\nINFO: tryings\n") == (key,)


def test_a_place_has_room_for_the_memory_and_may_hold_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / name for name in ("noexec", "small", "good")]
    for place in places:
        place.mkdir()
    room = {"noexec": (10**6, os.ST_NOEXEC), "small": (255, 0), "good": (256, 0)}

    def statvfs(path: Path) -> Any:
        blocks, flag = room[Path(path).name]
        return SimpleNamespace(f_bavail=blocks, f_frsize=1 << 20, f_flag=flag)

    monkeypatch.setattr("dstcc_kernel.guest.os.statvfs", statvfs)
    monkeypatch.setattr(guest, "_scratch_parents", lambda: places)
    with guest._scratch(256) as scratch:
        assert scratch.parent == places[2] and (scratch / "job").exists()
    assert not scratch.exists()
    monkeypatch.setattr(guest, "_scratch_parents", lambda: places[:2])
    with pytest.raises(
        MissingCapabilityError, match=r"no place for a guest's 256 MB of memory: none of .*noexec, .*small"
    ):
        guest._scratch(256).__enter__()


def test_who_does_not_end_when_asked_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "PATIENCE_S", 0.1)
    deaf = ["sh", "-c", "trap '' TERM; echo; while :; do sleep 0.02; done"]
    for words, how in ((deaf, -9), (["sh", "-c", "echo; exec sleep 60"], -15), (["echo"], 0)):
        with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"\n"
            if how == 0:
                process.wait()
            guest._end(process)
            assert process.returncode == how
