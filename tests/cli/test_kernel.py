"""``dstcc kernel load``, ``unload`` and ``status``, without loading anything; ``tests/kernel`` does that."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main
from dstcc_kernel import bpf, host, module

from dstcc.errors import MissingCapabilityError


def kernel(*words: str) -> Result:
    return CliRunner().invoke(main, ["kernel", *words], standalone_mode=False, catch_exceptions=True)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is loaded; loading and unloading are written down instead of done."""
    available: list[str] = []
    for name, way in (("bpf", bpf), ("module", module)):
        monkeypatch.setattr(way, "loaded", lambda name=name: name in available)
        monkeypatch.setattr(way, "unload", lambda name=name: available.remove(name))
    monkeypatch.setattr(bpf, "load", lambda: available.append("bpf"))
    monkeypatch.setattr(module, "load", lambda path: available.append("module"))
    monkeypatch.setattr(module, "build", lambda tree, out: out / "dstcc_cc.ko")
    return available


@pytest.mark.parametrize("way", ["bpf", "module"])
def test_load_and_unload_tell_how(way: str, ways: list[str]) -> None:
    assert json.loads(kernel("load", f"--{way}", "--json").stdout) == {"loaded": way}
    assert json.loads(kernel("status", "--json").stdout)["loaded"] == way
    assert json.loads(kernel("unload", "--json").stdout) == {"loaded": None}
    assert ways == []


def test_the_module_comes_first_where_headers_are(
    ways: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "HOST_TREE", tmp_path)
    assert host.load() == "module"
    ways.clear()
    monkeypatch.setattr(module, "HOST_TREE", tmp_path / "none")
    assert host.load() == "bpf"


def test_loading_twice_or_unloading_nothing_says_so(ways: list[str]) -> None:
    ways.append("bpf")
    assert "loaded already, as bpf" in str(kernel("load").exception)
    ways.clear()
    assert "dstcc is not loaded" in str(kernel("unload").exception)


def test_without_headers_the_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(host, "loaded", lambda: None)
    monkeypatch.setattr(module, "HOST_TREE", tmp_path)
    assert "apt install linux-headers-" in str(kernel("load", "--module").exception)


def test_without_btf_or_tools_bpf_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(host, "loaded", lambda: None)
    monkeypatch.setattr(bpf, "which", lambda tool: None)
    monkeypatch.setattr(bpf, "BTF", Path("/"))
    assert "apt install clang bpftool" in str(kernel("load", "--bpf").exception)
    monkeypatch.setattr(bpf, "BTF", tmp_path / "vmlinux")
    assert "no BTF" in str(kernel("load", "--bpf").exception)


def test_the_host_without_netem_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpf, "which", lambda tool: f"/sbin/{tool}")
    answer = subprocess.CompletedProcess([], 1, "", "Error: Specified qdisc kind is unknown.\n")
    monkeypatch.setattr(subprocess, "run", lambda *words, **options: answer)
    with pytest.raises(MissingCapabilityError, match=r"no netem.*apt install .*--backend kernel"):
        host.require_netem()
