"""What nodes and paths of a network are called, and which link an address of a socket stands for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from dstcc_kernel.endhosts import naming
from dstcc_kernel.endhosts.mission import Mission
from dstcc_kernel.endhosts.naming import check_hosts, hosts_file, hosts_of, link_of_address, variables
from dstcc_kernel.network import Network

from dstcc.errors import InputError, KernelError

from .test_planning import planned

NET = Network(
    nodes=("rover", "relay-1", "earth"),
    ends=((0, 1), (1, 2), (0, 2)),
    paths=((0, 1), (2,)),
    names=("Over it", "λ"),
    storage_bytes=(0, 9, 0),
    config=(),
)


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mission:
    (tmp_path / "gai.conf").touch()
    monkeypatch.setattr(naming, "ORDER", tmp_path / "gai.conf")
    return replace(planned(), network=NET, hosts=NET.nodes, mtu=1500)


V4 = {
    "10.0.0.1 rover", "10.0.0.2 relay-1", "10.0.0.3 earth",
    "10.1.0.1 rover-1 rover-over-it", "10.1.0.2 earth-1 earth-over-it", "10.2.0.1 rover-2", "10.2.0.2 earth-2",
}  # fmt: skip
V6 = {
    "fd00::1 rover", "fd00::2 relay-1", "fd00::3 earth",
    "fd00:0:0:1::1 rover-1 rover-over-it", "fd00:0:0:1::2 earth-1 earth-over-it",
    "fd00:0:0:2::1 rover-2", "fd00:0:0:2::2 earth-2",
}  # fmt: skip


def test_a_node_has_its_name_and_the_ends_one_a_path_by_both_kinds(network: Mission) -> None:
    lines = hosts_file(network).splitlines()
    assert lines[:2] == ["127.0.0.1 localhost", "::1 localhost"]
    assert {*lines[2:]} == V4 | V6 and len(lines) == 2 + len(V4 | V6)
    assert hosts_file(network).endswith("\n")


@pytest.mark.parametrize(
    ("mtu", "ordered", "six"), [(1280, True, True), (1279, True, False), (1500, False, False)]
)
def test_names_are_ipv4s_alone_where_ipv6_is_not_or_would_go_first(
    network: Mission, tmp_path: Path, mtu: int, ordered: bool, six: bool
) -> None:
    if not ordered:
        (tmp_path / "gai.conf").unlink()
    lines = hosts_file(replace(network, mtu=mtu)).splitlines()
    assert {*lines} == (
        {"127.0.0.1 localhost", "::1 localhost"} | V4 | V6 if six else {"127.0.0.1 localhost"} | V4
    )


def test_a_paths_name_that_a_node_has_or_that_is_too_long_is_none(network: Mission) -> None:
    taken = replace(NET, nodes=("rover", "earth-1", "earth"), names=("x" * 58, "x" * 57))
    lines = hosts_file(replace(network, network=taken, mtu=100)).splitlines()
    assert "10.1.0.2" not in " ".join(lines), "earth-1 is a node, and the other name has 64 letters"
    assert f"10.2.0.2 earth-2 earth-{'x' * 57}" in lines
    assert "10.1.0.1 rover-1" in lines, "rover- and 58 letters are 64"


def test_programs_are_told_of_nodes_and_paths(network: Mission) -> None:
    assert variables(network) == {
        **{"DSTCC_NODES": "3", "DSTCC_PATHS": "2", "DSTCC_PATH_1": "Over it", "DSTCC_PATH_2": "λ"},
        **{"DSTCC_NODE_1": "rover", "DSTCC_NODE_2": "relay-1", "DSTCC_NODE_3": "earth"},
        **{"DSTCC_ROVER": "10.0.0.1", "DSTCC_RELAY_1": "10.0.0.2", "DSTCC_EARTH": "10.0.0.3"},
        **{"DSTCC_ROVER_6": "fd00::1", "DSTCC_RELAY_1_6": "fd00::2", "DSTCC_EARTH_6": "fd00::3"},
    }


def test_programs_are_told_of_links_between_two_hosts() -> None:
    assert variables(planned()) == {
        **{"DSTCC_LINKS": "2", "DSTCC_LINK_1": "Relay 1", "DSTCC_LINK_2": "direct"},
        **{"DSTCC_CRAFT": "10.1.0.1", "DSTCC_CRAFT_1": "10.1.0.1", "DSTCC_CRAFT_2": "10.2.0.1"},
        **{"DSTCC_EARTH": "10.1.0.2", "DSTCC_EARTH_1": "10.1.0.2", "DSTCC_EARTH_2": "10.2.0.2"},
    }


@pytest.mark.parametrize(
    ("at", "link"),
    [
        *(("10.1.0.1", "Over it"), ("10.1.0.2", "Over it"), ("10.2.0.1", "λ"), ("10.2.0.2", "λ")),
        *(("[fd00:0:0:1::1]", "Over it"), ("[fd00:0:0:2::2]", "λ")),
        *(("10.0.0.1", "Over it"), ("[fd00::1]", "Over it")),  # the source's own address goes the first way
        *(("10.0.0.3", None), ("10.0.0.2", None), ("10.3.0.1", None)),
    ],
)
def test_an_address_stands_for_a_path(network: Mission, at: str, link: str | None) -> None:
    assert link_of_address(at, network) == link


def test_of_two_hosts_the_spacecrafts_address_stands_for_a_link() -> None:
    mission = planned()
    found = [link_of_address(at, mission) for at in ("10.1.0.1", "10.2.0.1", "10.2.0.2", "10.3.0.1")]
    assert found == ["Relay 1", "direct", None, None]


def test_hosts_of_nodes_are_called_after_them_or_by_their_number() -> None:
    assert hosts_of(["Rover 1", "λ", "x" * 70, f"{'y' * 62} z"]) == ("rover-1", "node-2", "x" * 63, "y" * 62)
    with pytest.raises(InputError, match=r"node\.1\.name = 'A b': its host would be a-b, as node\.0's"):
        hosts_of(["a-b", "A b"])
    with pytest.raises(InputError, match=r"node\.0\.name = 'localhost': no host can be called localhost"):
        hosts_of(["localhost"])


def test_a_host_that_is_named_is_one_of_the_missions(tmp_path: Path) -> None:
    check_hosts(tmp_path / "x.json", planned(), {"craft"})
    with pytest.raises(KernelError, match=r"^x\.json: there is no host mars$"):
        check_hosts(tmp_path / "x.json", planned(), {"craft", "venus", "mars"})
