"""Hosts' and nodes' namespaces: how they are made and left, with calls that a test plays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel import ground, topology
from dstcc_kernel.ground import build_ground
from dstcc_kernel.topology import build, inside, new_namespace

from .test_topology import NET, Routes


class Spaces:
    """Who is where: entering and leaving, and what is written to each namespace's settings."""

    def __init__(self) -> None:
        self.at = "home"
        self.count = 0
        self.files: dict[int, str] = {}
        self.written: dict[str, dict[str, str]] = {}
        self.lacks: set[str] = set()

    def unshare(self, kind: int) -> None:
        assert kind == 0x40000000  # CLONE_NEWNET
        self.count += 1
        self.at = f"own {self.count}"

    def enter(self, file: int, kind: int) -> None:
        assert kind == 0x40000000
        self.at = self.files[file]

    def new_network(self, users: int) -> int:
        self.count += 1
        file = os.open("/dev/null", os.O_RDONLY)
        self.files[file] = f"{users}'s {self.count}"
        return file

    def open(self, path: Any, flags: int) -> int:
        assert str(path) == "/proc/self/ns/net"
        file = os.dup(0)
        self.files[file] = self.at
        return file


@pytest.fixture
def spaces(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spaces]:
    made = Spaces()

    class Setting:
        def __init__(self, *parts: str) -> None:
            self.name = parts[-1]

        def exists(self) -> bool:
            return self.name not in made.lacks

        def write_text(self, text: str) -> None:
            if self.name in made.lacks:
                raise FileNotFoundError(self.name)
            made.written.setdefault(made.at, {})[self.name] = text

    opened = os.open

    def open_(path: Any, flags: int, *more: Any, **how: Any) -> int:
        return (
            made.open(path, flags) if str(path) == "/proc/self/ns/net" else opened(path, flags, *more, **how)
        )

    monkeypatch.setattr(topology, "unshare", made.unshare)
    monkeypatch.setattr(topology, "setns", made.enter)
    monkeypatch.setattr(topology, "new_network", made.new_network)
    monkeypatch.setattr(topology, "Path", Setting)
    monkeypatch.setattr(topology, "routes_of", Routes)
    monkeypatch.setattr(ground, "routes_of", Routes)
    monkeypatch.setattr("dstcc_kernel.topology.os.open", open_)
    yield made


FAR = {
    "net/ipv4/conf/all/rp_filter": "0", "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/tcp_slow_start_after_idle": "0", "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_syn_retries": "12", "net/ipv4/tcp_synack_retries": "12", "net/ipv4/tcp_retries2": "40",
    "net/ipv6/conf/default/disable_ipv6": "1", "net/ipv4/tcp_syn_linear_timeouts": "0",
    "net/mptcp/syn_retrans_before_tcp_fallback": "255",
    "net/ipv4/tcp_rmem": "4096 131072 88", "net/ipv4/tcp_wmem": "4096 131072 88",
}  # fmt: skip


def test_a_namespace_is_set_up_for_far_peers(spaces: Spaces) -> None:
    os.close(new_namespace(88, None))
    assert spaces.written == {"own 1": FAR}
    os.close(new_namespace(88, 99, {"net/x": "7", "net/ipv4/tcp_retries2": "3"}))
    assert spaces.written["own 2"] == {
        **FAR, "net/ipv4/tcp_retries2": "3", "net/x": "7", "net/ipv4/tcp_notsent_lowat": "99",
    }  # fmt: skip
    os.close(new_namespace(88, None, users=5))
    assert spaces.at == "5's 3" and spaces.written["5's 3"] == FAR


def test_settings_that_some_kernels_have_not_are_passed_and_others_are_needed(spaces: Spaces) -> None:
    some = {
        *("net/ipv6/conf/default/disable_ipv6", "net/ipv4/tcp_syn_linear_timeouts"),
        "net/mptcp/syn_retrans_before_tcp_fallback",
    }
    spaces.lacks = set(some)
    os.close(new_namespace(88, None))
    assert spaces.written["own 1"].keys() == FAR.keys() - some
    spaces.lacks = {"net/ipv4/tcp_retries2"}
    with pytest.raises(FileNotFoundError):
        new_namespace(88, None)


@pytest.mark.parametrize(("roots", "middle"), [(None, False), (None, True), ((5, 6), False)])
def test_two_hosts_are_built_and_home_is_where_it_was(
    spaces: Spaces, roots: tuple[int, int] | None, middle: bool
) -> None:
    with build(88, unsent_bytes=99, sysctls={"net/x": "7"}, roots=roots, middle=middle) as made:
        assert spaces.at == "home"
        own = {**FAR, "net/x": "7", "net/ipv4/tcp_notsent_lowat": "99"}
        names = ["5's 1", "6's 2"] if roots else ["own 1", "own 2"]
        assert [spaces.files[space] for space in (made.craft, made.earth)] == names
        assert [spaces.written[name] for name in names] == [own, own]
        assert (made.middle is not None) == middle
        if middle:
            assert spaces.files[made.middle or -1] == "own 3" and spaces.written["own 3"] == FAR
        held = [made.craft, made.earth, *([made.middle] if made.middle is not None else [])]
    assert not any(Path(f"/proc/self/fd/{space}").exists() for space in held)


def test_a_host_that_cannot_be_set_up_leaves_us_at_home(spaces: Spaces) -> None:
    spaces.lacks = {"net/ipv4/tcp_retries2"}
    with pytest.raises(FileNotFoundError), build(88):
        pass
    assert spaces.at == "home"
    with pytest.raises(FileNotFoundError), build_ground(NET, 88, sysctls={}):
        pass
    assert spaces.at == "home"


def test_who_is_inside_comes_back_whatever_happens(spaces: Spaces) -> None:
    space = new_namespace(88, None)
    spaces.at = "home"

    def fail() -> None:
        with inside(space):
            assert spaces.at == "own 1"
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert spaces.at == "home"
    os.close(space)


@pytest.mark.parametrize("roots", [None, (5, 6, 7, 8)])
def test_nodes_forward_and_the_middle_does_not(spaces: Spaces, roots: tuple[int, ...] | None) -> None:
    with build_ground(NET, 88, unsent_bytes=99, sysctls={"net/x": "7"}, roots=roots) as made:
        names = (
            [f"{root}'s {number}" for number, root in enumerate(roots, 1)]
            if roots
            else [f"own {n}" for n in range(1, 5)]
        )
        assert [spaces.files[space] for space in made.spaces] == names
        for name in names:
            assert spaces.written[name].items() >= {
                "net/x": "7", "net/ipv4/ip_forward": "1", "net/ipv6/conf/all/forwarding": "1",
                "net/ipv6/conf/default/disable_ipv6": "0", "net/ipv6/conf/default/accept_dad": "0",
                "net/ipv4/tcp_notsent_lowat": "99",
            }.items()  # fmt: skip
        assert spaces.written[spaces.files[made.middle]] == FAR
        assert spaces.at == "home"
        held = [*made.spaces, made.middle]
    assert not any(Path(f"/proc/self/fd/{space}").exists() for space in held)
