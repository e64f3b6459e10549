from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main

from dstcc import checks
from dstcc.checks import Check, Lacking


def doctor(*args: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *args])


def lacking() -> str:
    raise Lacking("nothing found")


def with_checks(monkeypatch: pytest.MonkeyPatch, *given: Check) -> None:
    monkeypatch.setattr(checks, "CHECKS", given)


def test_this_machine_has_what_is_required() -> None:
    done = doctor("--json")
    checks = {row["check"]: row for row in json.loads(done.stdout)}
    assert done.exit_code == 0
    assert all(row.keys() == {"check", "ok", "detail", "remedy"} for row in checks.values())
    assert checks["python"]["ok"]
    assert checks["engine"]["ok"]
    assert checks["x264 encoder"]["ok"]


def test_every_lack_comes_with_a_remedy_and_only_a_lack_does() -> None:
    for row in json.loads(doctor("--json").stdout):
        assert (row["remedy"] is None) is row["ok"]


def test_an_optional_lack_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with_checks(monkeypatch, Check("torch", lacking, "pip install it"))
    done = doctor()
    assert done.exit_code == 0
    assert done.stderr == ""
    for part in ("torch", "optional", "nothing found", "pip install it"):
        assert part in done.stdout


def test_a_required_lack_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with_checks(monkeypatch, Check("engine", lacking, "build it", required=True))
    assert doctor().exit_code == 1
    done = doctor("--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout) == [
        {"check": "engine", "ok": False, "detail": "nothing found", "remedy": "build it"}
    ]


def test_a_check_that_breaks_is_a_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks() -> str:
        raise ImportError("libfoo.so: cannot open")

    with_checks(monkeypatch, Check("foo", breaks, "install foo"))
    assert json.loads(doctor("--json").stdout)[0]["detail"] == "libfoo.so: cannot open"


def test_ffmpeg_is_asked_for_all_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_output", lambda *_: "V libx264 H.264\n")
    assert checks._ffmpeg_has("-encoders", "libx264")()
    with pytest.raises(Lacking, match="libvmaf"):
        checks._ffmpeg_has("-filters", "libvmaf")()


def test_an_extension_that_was_not_built() -> None:
    with pytest.raises(Lacking, match="not built"):
        checks._extension("dstcc_svc._nothing")()


@pytest.mark.parametrize("content", ["0\n", None])
def test_mptcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None) -> None:
    switch = tmp_path / "enabled"
    if content:
        switch.write_text(content)
    monkeypatch.setattr(checks, "Path", lambda *_: switch)
    with pytest.raises(Lacking, match="switched off" if content else "has no MPTCP"):
        checks._mptcp()


def test_a_kernel_that_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path))
    rows = {row["check"]: row for row in json.loads(doctor("--json").stdout)}
    for check, remedy in (("virtual-time kernel", "build"), ("debug kernel", "build --debug")):
        assert not rows[check]["ok"]
        assert rows[check]["detail"] == "not built"
        assert rows[check]["remedy"] == f"dstcc kernel {remedy}"


def test_a_machine_that_cannot_build_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dstcc_kernel.source.version", lambda: None)
    row = next(row for row in json.loads(doctor("--json").stdout) if row["check"] == "kernel source")
    assert row["detail"] == "the kernel's source is not here: apt install linux-source-6.12"


def test_what_guests_need_is_named_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    by_name = {check.name: check for check in checks.CHECKS}
    for name in ("guest programs", "guest memory", "ptrace"):
        assert checks.find(by_name[name]).ok, name
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checks.find(by_name["guest programs"]).detail == "no gcc and no g++"
    assert checks.find(by_name["tshark"]).remedy == by_name["tshark"].remedy
    monkeypatch.setattr(checks, "GUEST_MB", 1 << 40)
    assert "MB are free in /dev/shm" in checks.find(by_name["guest memory"]).detail
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert checks.find(by_name["ptrace"]).detail == "this host forbids ptrace"


def test_a_row_stays_on_one_line_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    remedy = " ".join(["install it"] * 30)
    with_checks(monkeypatch, Check("torch", lacking, remedy))
    (row,) = [line for line in doctor().stdout.splitlines() if "torch" in line]
    assert remedy in row
