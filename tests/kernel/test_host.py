"""``--backend host``: refused where the running kernel cannot, and tried where there is one that can: in a guest."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_kernel import bpf, guest, host, native, source

from dstcc.errors import KernelError, MissingCapabilityError

MINI = Path(__file__).parent / "mini.toml"


def test_without_netem_nothing_is_simulated_in_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def lacking() -> None:
        raise MissingCapabilityError(f"--backend host: {host.NETEM_REMEDY}")

    monkeypatch.setattr(host, "require_netem", lacking)
    done = CliRunner().invoke(main, ["emulate", str(MINI), "--backend", "host", "-o", str(tmp_path / "run")])
    assert done.exit_code == 1
    assert "no netem" in done.stderr and "apt install" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("unshare: unshare failed: Operation not permitted", "refused to this user: run as root"),
        ("Error: Specified qdisc kind is unknown.", "the running kernel has no netem"),
    ],
)
def test_missing_rights_are_not_called_a_missing_netem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, remedy: str
) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(bpf, "which", lambda tool: str(refusing))
    done = CliRunner().invoke(main, ["emulate", str(MINI), "--backend", "host", "-o", str(tmp_path / "run")])
    assert done.exit_code == 1
    assert remedy in done.stderr and said in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_round_trip_that_the_kernels_mptcp_does_not_wait_for_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Links of 200 and 300 s: 25 and 37.5 emulated s at the default scale of 8."""
    monkeypatch.setattr(host, "require_netem", lambda: None)
    monkeypatch.setattr(host, "MPTCP", tmp_path)
    assert host.mptcp_patience_s() == float("inf")  # before 6.12
    (tmp_path / "blackhole_timeout").touch()
    words = ["emulate", str(MINI), "--backend", "host", "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "a round trip of 37.5 emulated s; the running kernel falls back to TCP after 7 s" in done.stderr
    (tmp_path / "syn_retrans_before_tcp_fallback").touch()
    assert host.mptcp_patience_s() == float("inf")


def test_a_policy_needs_the_control_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(host, "require_netem", lambda: None)
    monkeypatch.setattr(host, "loaded", lambda: None)
    words = [
        "emulate",
        str(MINI),
        "--backend",
        "host",
        "--controller",
        "iodst-dqn",
        "-o",
        str(tmp_path / "run"),
    ]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, "dstcc kernel load" in done.stderr) == (1, True)


def test_a_machine_with_netem_carries_the_scenario_itself(kernel: Path, tmp_path: Path) -> None:
    """The machine is a guest, whose 100 real seconds pass at once."""
    words = [
        "-m",
        "dstcc_cli",
        "emulate",
        str(MINI),
        "--backend",
        "host",
        "-o",
        str(tmp_path / "run"),
        "--json",
    ]
    words += ["--set", "scenario.duration_s=800"]
    native.program()  # a guest finds the cache read-only
    paths = {"PATH": f"{os.defpath}:/usr/sbin:/sbin"}
    for name in ("DSTCC_CACHE", "HOME"):
        if name in os.environ:
            paths[name] = os.environ[name]
    done = guest.run(
        kernel, [sys.executable, *words], out=tmp_path, seed=1, memory_mb=1024, wall_s=300, environment=paths
    )
    assert done.exit_code == 0, done.console.read_text()[-2000:]
    assert done.virtual_s > 100
    meta = json.loads((tmp_path / "run/run.json").read_text())
    assert meta["backend"] == "host" and meta["kernel"]["version"].startswith(source.release().name)


def test_a_job_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    if bpf.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("needs unshare, and root to share nothing")
    code = "import subprocess, sys; subprocess.run(['sleep', '98765'])"
    with pytest.raises(KernelError, match="still ran after 1 s"):
        host.run([sys.executable, "-S", "-c", code], tmp_path / "log", wall_s=1, environment={})
    end = time.monotonic() + 20
    while any(b"98765" in command for command in commands()):
        assert time.monotonic() < end
        time.sleep(0.05)


def commands() -> Iterator[bytes]:
    """Command lines of all processes but this one."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):  # it ended while we looked
                yield (entry / "cmdline").read_bytes()
