"""What this host lacks to confine a guest: nothing where tests run, but for root a limit of processes before 6.14."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from dstcc_kernel import confinement, programs

from dstcc.checks import CHECKS, Finding, find
from dstcc.errors import KernelError

NOBODY = "65534"


def found() -> Finding:
    """The line of ``dstcc doctor``."""
    return find(next(check for check in CHECKS if check.name == "guest confinement"))


LIMIT = "limit of processes: Function not implemented"


def old_for_root() -> bool:
    """Whether root's processes cannot be bounded on this machine."""
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    return os.geteuid() == 0 and release < (6, 14)


def test_this_machine_lacks_nothing() -> None:
    assert confinement.lacking() == (LIMIT,) * old_for_root()
    assert found().ok != old_for_root()


@pytest.mark.parametrize(
    "whoever", [(), ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")]
)
def test_whoever_starts_a_guest(whoever: tuple[str, ...], tmp_path: Path) -> None:
    """Root, and an ordinary user."""
    if os.geteuid() != 0:
        whoever = ()
    boot = tmp_path / "boot"
    boot.write_bytes((programs.programs() / "boot").read_bytes())
    (tmp_path / "out").mkdir()
    for path, mode in ((boot, 0o755), (tmp_path / "out", 0o777), (tmp_path, 0o777)):
        path.chmod(mode)
    for parent in list(tmp_path.parents)[:-2]:
        parent.chmod(parent.stat().st_mode | 0o011)
    done = subprocess.run(
        [*whoever, str(boot), "--check"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{LIMIT}\n" * (not whoever and old_for_root())


@pytest.fixture
def boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What is asked in the place of ``boot``: a script to be filled."""
    monkeypatch.setattr(confinement, "programs", lambda: tmp_path)
    confinement.lacking.cache_clear()
    (tmp_path / "boot").touch(mode=0o755)
    yield tmp_path / "boot"
    confinement.lacking.cache_clear()


def test_each_line_of_boot_is_a_part_that_is_missing(boot: Path, tmp_path: Path) -> None:
    """Asked once, in a folder like a guest's, which is gone after it."""
    log = tmp_path / "log"
    boot.write_text(
        f"#!/bin/sh\necho $# $1 $PWD >> {log}; ls >> {log}\necho 'a: b'; echo 'c: d'; echo e >&2\n"
    )
    assert [confinement.lacking(), confinement.lacking()] == [("a: b", "c: d")] * 2
    called, there = log.read_text().splitlines()
    assert called.startswith("1 --check ") and there == "out"
    assert not Path(called.split()[2]).exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no; echo first >&2; echo last words >&2; exit 1", "last words"),
        ("exit 127", "it says nothing"),
        ("kill -9 $$", "it says nothing"),
    ],
)
def test_a_confinement_that_cannot_be_tried_is_an_error(script: str, said: str, boot: Path) -> None:
    boot.write_text(f"#!/bin/sh\n{script}\n")
    with pytest.raises(KernelError, match=f"^a guest's confinement cannot be tried: {said}$"):
        confinement.lacking()


def test_it_is_not_tried_for_ever(boot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "PATIENCE_S", 0.2)
    boot.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(
        KernelError, match=r"^a guest's confinement cannot be tried: it takes more than 0.2 s$"
    ):
        confinement.lacking()


def test_what_is_missing_is_said_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        confinement, "lacking", lambda: ("Landlock: Function not implemented", "namespaces: x")
    )
    line = found()
    assert not line.ok
    assert line.detail == "this host has no Landlock: Function not implemented; no namespaces: x"
