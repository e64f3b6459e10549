"""What this host lacks to confine a guest: nothing where tests run, but for root a limit of processes before 6.14."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from dstcc_kernel import confinement, programs

from dstcc.checks import CHECKS, Finding, find

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


def test_what_is_missing_is_said_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        confinement, "lacking", lambda: ("Landlock: Function not implemented", "namespaces: x")
    )
    line = found()
    assert not line.ok
    assert line.detail == "this host has no Landlock: Function not implemented; no namespaces: x"
