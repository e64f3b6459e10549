"""The machine's own kernel: what is asked of it, with tools that a test plays."""

from __future__ import annotations

import os
import time
from math import inf
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel import bpf, host, module, netlink, source
from dstcc_kernel.source import running

from dstcc.errors import KernelError, MissingCapabilityError


@pytest.mark.parametrize(
    ("files", "patience_s"),
    [
        ((), inf),
        (("blackhole_timeout",), 7.0),
        (("syn_retrans_before_tcp_fallback",), inf),
        (("blackhole_timeout", "syn_retrans_before_tcp_fallback"), inf),
    ],
)
def test_mptcp_waits_for_three_timeouts_unless_a_setting_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], patience_s: float
) -> None:
    """1 + 2 + 4 s."""
    monkeypatch.setattr(host, "MPTCP", tmp_path)
    for name in files:
        (tmp_path / name).touch()
    assert host.mptcp_patience_s() == patience_s


def test_the_client_is_of_what_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlink, "Client", lambda: "module's")
    monkeypatch.setattr(bpf, "Client", lambda: "program's")
    for loaded, named in ((True, "module's"), (False, "program's")):
        monkeypatch.setattr(module, "loaded", lambda loaded=loaded: loaded)
        assert host.client() == named


@pytest.mark.parametrize(("root", "rights"), [(True, []), (False, ["--user", "--map-root-user"])])
def test_a_job_runs_in_namespaces_of_its_own_and_ends_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: bool, rights: list[str]
) -> None:
    tool = tmp_path / "unshare"
    tool.write_text('#!/bin/sh\necho "$A $@"; echo error >&2; case "$*" in *slow) exec sleep 60;; esac\n')
    tool.chmod(0o755)
    monkeypatch.setattr(bpf, "which", lambda name: str(tool) if name == "unshare" else None)
    monkeypatch.setattr("dstcc_kernel.host.os.geteuid", lambda: 0 if root else 1000)
    log = tmp_path / "log"
    host.run(["job", "word"], log, wall_s=60.0, environment={"A": "b"})
    words = ["b", *rights, "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "job", "word"]
    assert log.read_text().split("\n")[:2] == [" ".join(words), "error"]
    began = time.monotonic()
    with pytest.raises(KernelError, match=r"the trial was stopped: it still ran after 0\.2 s"):
        host.run(["slow"], log, wall_s=0.2, environment={})
    assert time.monotonic() - began < 30
    monkeypatch.setattr(bpf, "which", lambda _: None)
    with pytest.raises(MissingCapabilityError, match="apt install util-linux"):
        host.run(["job"], log, wall_s=1.0, environment={})


def test_netem_is_asked_for_in_a_network_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "unshare"
    monkeypatch.setattr(bpf, "which", lambda name: str(tmp_path / name))
    monkeypatch.setattr("dstcc_kernel.host.os.geteuid", lambda: 0)

    def play(text: str) -> None:
        tool.write_text(f"#!/bin/sh\n{text}\n")
        tool.chmod(0o755)

    play(f'echo "$@" > {tmp_path}/asked')
    host.require_netem()
    assert (tmp_path / "asked").read_text().split() == [
        *("--net", str(tmp_path / "tc"), "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"),
    ]
    for said, remedy, last in (
        ("echo first >&2; echo 'unshare: no' >&2; exit 1", host.RIGHTS_REMEDY, "unshare: no"),
        ("echo 'unshare: first' >&2; echo 'Error: no' >&2; exit 1", host.NETEM_REMEDY, "Error: no"),
        ("exit 2", host.NETEM_REMEDY, "it says nothing"),
    ):
        play(said)
        with pytest.raises(MissingCapabilityError) as lacking:
            host.require_netem()
        assert str(lacking.value) == f"--backend host: {remedy} ({last})"
    monkeypatch.setattr(bpf, "which", lambda name: None if name == "tc" else str(tool))
    with pytest.raises(MissingCapabilityError, match="apt install iproute2 util-linux"):
        host.require_netem()


@pytest.mark.parametrize(
    ("way", "tree", "wanted"),
    [(None, True, "module"), (None, False, "bpf"), ("module", False, "module"), ("bpf", True, "bpf")],
)
def test_the_control_is_loaded_as_what_there_are_means_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str | None, tree: bool, wanted: str
) -> None:  # fmt: skip
    done: list[Any] = []
    monkeypatch.setattr(module, "HOST_TREE", tmp_path if tree else tmp_path / "none")
    for name in ("module", "bpf"):
        monkeypatch.setattr(getattr(host, name), "loaded", lambda: False)
    monkeypatch.setattr(bpf, "load", lambda: done.append("bpf"))
    monkeypatch.setattr(module, "build", lambda tree, out: out / "m.ko")
    monkeypatch.setattr(module, "load", lambda path: done.append(path.name))
    assert host.load(way) == wanted
    assert done == (["m.ko"] if wanted == "module" else ["bpf"])
    monkeypatch.setattr(bpf, "loaded", lambda: True)
    assert host.loaded() == "bpf"
    monkeypatch.setattr(module, "loaded", lambda: True)
    assert host.loaded() == "module"


@pytest.mark.parametrize(
    ("version", "receiver"),
    [
        ("6.12.1-amd64", "6.12"),
        ("7.0", "6.12"),
        ("6.1.0-13", "6.1"),
        ("5.10.0", "6.1"),
        ("x", "6.12"),
        ("10.1", "6.12"),
    ],
)
def test_a_running_kernels_receiver_is_that_of_the_release_before_or_since_its_change(
    version: str, receiver: str
) -> None:
    assert running(version).name == receiver
    major, minor = source.SHARED_SINCE
    assert running(f"{major}.{minor}").name == "6.12"
    assert running(f"{major}.{minor - 1}.9").name == "6.1" if minor else True


def test_a_version_is_meant_in_a_block_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(source.VARIABLE, raising=False)
    with source.using("6.1"):
        assert source.release().name == "6.1"
        with source.using("6.12"):
            assert source.release().name == "6.12"
        assert source.release().name == "6.1"
    assert source.VARIABLE not in os.environ
