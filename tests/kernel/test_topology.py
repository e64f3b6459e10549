"""How hosts and nodes are joined: what Linux is asked for, and where packets go by the routes that it is given."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from dstcc_kernel import ground, path_manager, topology
from dstcc_kernel.ground import Ground, beside6, mac_of
from dstcc_kernel.netem import Netem
from dstcc_kernel.network import Network, node_address, node_address6, path_address6
from dstcc_kernel.topology import Shape, Topology, Wire, backup_address, craft_address, earth_address

from .test_rtnetlink import parts_of, u32

CRAFT, EARTH, MIDDLE = 31, 32, 33
"""Namespaces, as open files."""


class Routes:
    """In rtnetlink's place: it numbers devices, and notes what is asked."""

    def __init__(self, namespace: int) -> None:
        self.namespace = namespace
        self.asked: list[tuple[Any, ...]] = []
        self.devices: dict[str, int] = {}

    def index(self, name: str) -> int:
        return self.devices.setdefault(name, 100 * self.namespace + len(self.devices))

    def ifb(self, name: str) -> int:
        self.asked.append(("ifb", name))
        return self.index(name)

    def __getattr__(self, name: str) -> Any:
        def asked(*what: Any, **how: Any) -> None:
            self.asked.append((name, *what, how) if how else (name, *what))

        return asked


class Linux:
    """What is asked for beside routes."""

    def __init__(self) -> None:
        self.installed: list[tuple[Any, ...]] = []
        self.redirected: list[tuple[Any, ...]] = []
        self.offloads: list[tuple[Any, ...]] = []


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> Linux:
    made = Linux()
    for module in (topology, ground):
        monkeypatch.setattr(module, "routes_of", Routes)
    monkeypatch.setattr(
        topology, "install", lambda ip, *what, **how: made.installed.append((ip.namespace, *what, how))
    )
    monkeypatch.setattr(topology, "redirect", lambda ip, *what: made.redirected.append((ip.namespace, *what)))
    monkeypatch.setattr(topology, "offloads_off", lambda *what: made.offloads.append(what))
    return made


DOWN = Shape(delay_ns=5, loss=0.25, rate_bps=2e6, queue_packets=60, seed=7)
UP = Shape(delay_ns=6, loss=0.5, rate_bps=1e6, queue_packets=70, seed=8)
MACS = "02:00:00:00:01:01", "02:00:00:00:01:02"
COMMON = {4: 1500, 40: 1, 13: 10_000}
"""IFLA_MTU, IFLA_GSO_MAX_SEGS, IFLA_TXQLEN."""


def test_addresses_say_link_and_subflow() -> None:
    assert [craft_address(0), craft_address(2, 0), craft_address(2, 5)] == [
        "10.1.0.1",
        "10.3.0.1",
        "10.3.1.5",
    ]
    assert (backup_address(2), earth_address(2)) == ("10.3.2.1", "10.3.0.2")


def test_a_link_is_a_pair_with_netems_behind_what_arrives(linux: Linux) -> None:
    made: Any = Topology(CRAFT, EARTH)
    wire = Wire(DOWN, UP, 1500, down_free_bytes=36, up_free_bytes=24, initial_cwnd=11, rto_min_ms=77)
    made.lay(1, wire, ["10.2.0.1", "10.2.1.1"])
    near, far = made.craft_ip.devices["craft1"], made.earth_ip.devices["earth1"]
    default = {"gateway": "10.2.0.2", "table": 101, "metrics": {"initcwnd": 11, "rto_min": 77}}
    bigger = {"mtu": 65_535, "queue_length": 10_000}
    up, down = made.craft_ip.devices["up1"], made.earth_ip.devices["down1"]
    assert made.craft_ip.asked == [
        ("pair", ("craft1", "earth1"), MACS, EARTH, COMMON),
        ("up", near),
        *(("address", near, "10.2.0.1", 16), ("address", near, "10.2.1.1", 16)),
        ("neighbour", near, "10.2.0.2", MACS[1]),
        ("route", "0.0.0.0/0", near, default),
        *(("rule", "10.2.0.1", 32, 101), ("rule", "10.2.1.1", 32, 101)),
        *(("ifb", "up1"), ("up", up, bigger)),
    ]
    assert made.earth_ip.asked == [
        ("up", far),
        *(("neighbour", far, "10.2.0.1", MACS[0]), ("neighbour", far, "10.2.1.1", MACS[0])),
        ("address", far, "10.2.0.2", 16),
        *(("ifb", "down1"), ("up", down, bigger)),
    ]
    outer, inner = {"handle": 0x10000}, {"handle": 0x20000, "parent": 0x10001}
    # the rate counts neither the 14 bytes of Ethernet nor the headers that are free
    assert linux.installed == [
        (EARTH, down, Netem(delay_ns=5, loss=0.25, seed=7), outer),
        (EARTH, down, Netem(limit_packets=60, rate_bps=2e6, overhead_bytes=-50), inner),
        (CRAFT, up, Netem(delay_ns=6, loss=0.5, seed=8), outer),
        (CRAFT, up, Netem(limit_packets=70, rate_bps=1e6, overhead_bytes=-38), inner),
    ]
    assert linux.redirected == [(EARTH, far, down), (CRAFT, near, up)]
    assert linux.offloads == [(CRAFT, "craft1"), (EARTH, "earth1")]
    for is_up, there in ((True, (CRAFT, up)), (False, (EARTH, down))):
        made.change(1, Shape(9, 1.0, 0, 0, 3), up=is_up)
        assert linux.installed[-1] == (*there, Netem(delay_ns=9, loss=1.0, seed=3), {"handle": 0x10000})
    made.craft_ip.asked.clear()
    made.lay(2, Wire(DOWN, UP, 1500, 0, 0, 11), ["10.3.0.1"])
    (route,) = (asked for asked in made.craft_ip.asked if asked[0] == "route")
    assert route[3]["metrics"] == {"initcwnd": 11}, "the least timeout is the kernel's own"
    assert route[3]["table"] == 102


def test_a_played_link_goes_through_the_middle(linux: Linux) -> None:
    made: Any = Topology(CRAFT, EARTH, MIDDLE)
    made.lay(1, Wire(DOWN, UP, 1500, 36, 24, 11, played=True), ["10.2.0.1"])
    near, far = made.craft_ip.devices["craft1"], made.earth_ip.devices["earth1"]
    assert made.craft_ip.asked[:2] == [
        ("pair", ("craft1", "near1"), (MACS[0], None), MIDDLE, COMMON),
        ("up", near),
    ]
    assert made.earth_ip.asked[:2] == [
        ("pair", ("earth1", "far1"), (MACS[1], None), MIDDLE, COMMON),
        ("up", far),
    ]
    ends = [made.middle_ip.devices[name] for name in ("near1", "far1")]
    assert made.middle_ip.asked == [("up", end) for end in ends]
    assert (linux.installed, linux.redirected) == ([], [])
    # ETHTOOL_STXCSUM, and then segmentation and its undoing; of the middle's ends these alone
    whole = (0x17, 0x1F, 0x24, 0x2C)
    assert linux.offloads == [
        *((MIDDLE, "near1"), (CRAFT, "craft1", whole)),
        *((MIDDLE, "far1"), (EARTH, "earth1", whole)),
    ]


def test_first_windows_are_those_of_both_ends(linux: Linux) -> None:
    made: Any = Topology(CRAFT, EARTH)
    made.open_windows(1, 11)
    how = {"scope": 253, "by": 2, "metrics": {"initcwnd": 11}}  # RT_SCOPE_LINK, RTPROT_KERNEL
    for ip, name, source in ((made.craft_ip, "craft1", "10.2.0.1"), (made.earth_ip, "earth1", "10.2.0.2")):
        assert ip.asked == [("route", "10.2.0.0/16", ip.devices[name], {"source": source, **how})]


def test_namespaces_are_let_go_of(linux: Linux, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []
    monkeypatch.setattr("dstcc_kernel.topology.os.close", closed.append)
    for spaces in ((CRAFT, EARTH), (CRAFT, EARTH, MIDDLE)):
        made: Any = Topology(*spaces)
        made.close()
        assert sorted(closed) == sorted(spaces)
        assert all(ip.asked == [("close",)] for ip in (made.craft_ip, made.earth_ip, made.middle_ip) if ip)
        closed.clear()


def test_mptcps_path_manager_is_asked_for_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    """linux/mptcp.h: SET_LIMITS (5) with RCV_ADD_ADDRS (2) and SUBFLOWS (3), ADD_ADDR (1) with an ADDR (1) of FAMILY
    (1), ID (2), ADDR4 (3) and FLAGS (6), of which SUBFLOW is 2 and BACKUP 4."""
    asked: list[tuple[int, dict[int, Any]]] = []
    at: list[int] = []

    class Family:
        def __init__(self, name: str, version: int) -> None:
            assert (name, version) == ("mptcp_pm", 1) and at

        def request(self, command: int, payload: bytes) -> None:
            asked.append((at[-1], command, parts_of(payload)))  # type: ignore[arg-type]

        def close(self) -> None:
            pass

    @contextmanager
    def inside(namespace: int) -> Iterator[None]:
        at.append(namespace)
        yield
        at.pop()

    monkeypatch.setattr(path_manager, "Family", Family)
    monkeypatch.setattr(topology, "inside", inside)
    monkeypatch.setattr(topology, "routes_of", Routes)
    made = Topology(CRAFT, EARTH)
    made.allow_joins()
    limits = {2: u32(0), 3: u32(8)}
    assert asked == [(CRAFT, 5, limits), (EARTH, 5, limits)]
    asked.clear()
    made.join(3, "10.2.1.1", backup=False)
    made.join(200, "10.2.2.1", backup=True)
    inet = struct.pack("=H", socket.AF_INET)
    assert asked == [
        (CRAFT, 1, {1: {1: inet, 2: b"\x03", 3: bytes([10, 2, 1, 1]), 6: u32(2)}}),
        (CRAFT, 1, {1: {1: inet, 2: b"\xc8", 3: bytes([10, 2, 2, 1]), 6: u32(6)}}),
    ]


def test_offloads_are_switched_off_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """linux/sockios.h: SIOCETHTOOL with a struct ifreq, a name of 16 bytes and a pointer to (command, value)."""
    import ctypes

    asked = []

    def ioctl(_file: Any, number: int, request: bytes) -> None:
        name, place = struct.unpack("16sP", request)
        asked.append((number, name.rstrip(b"\0"), *(ctypes.c_uint32 * 2).from_address(place)))

    monkeypatch.setattr(topology, "inside", lambda _: nullcontext())
    monkeypatch.setattr("dstcc_kernel.topology.fcntl.ioctl", ioctl)
    topology.offloads_off(CRAFT, "craft0")
    assert asked == [(0x8946, b"craft0", command, 0) for command in (0x1F, 0x24, 0x2C)]


# --------------------------------------------------------------------------------------------------------- networks


class Node:
    """Routes packets as Linux does, by what it was asked: rules by the source first, then the main table; of a table
    the longest prefix."""

    def __init__(
        self, net: Network, number: int, asked: list[tuple[Any, ...]], devices: dict[str, int]
    ) -> None:
        self.net, self.number = net, number
        names = {index: name for name, index in devices.items()}
        self.own = {what[2]: what[3:] for what in asked if what[0] == "address"}
        self.beside = {(names[what[1]], what[2]): what[3] for what in asked if what[0] == "neighbour"}
        self.rules = [(_net(f"{what[1]}/{what[2]}"), what[3]) for what in asked if what[0] == "rule"]
        self.routes: dict[int, dict[Any, tuple[str, dict[str, Any]]]] = {}
        for what in asked:
            if what[0] == "route":
                table = self.routes.setdefault(what[3]["table"], {})
                table[_net(what[1])] = (names[what[2]], what[3])
        self.ups = [what[1] for what in asked if what[0] == "up"]

    def route(self, source: str, destination: str) -> tuple[str, dict[str, Any]]:
        """The device and what else the route says."""
        tables = [table for subnet, table in self.rules if _within(source, subnet)]
        for table in (*tables, 254):
            fits = [subnet for subnet in self.routes.get(table, {}) if _within(destination, subnet)]
            if fits:
                return self.routes[table][max(fits, key=lambda subnet: subnet.prefixlen)]
        raise AssertionError(f"node {self.number}: no route to {destination}")

    def next(self, source: str, destination: str) -> int:
        """The node to which it sends a packet: that whose device has the gateway's MAC address."""
        device, how = self.route(source, destination)
        link = int(device.removeprefix("link")) - 1
        assert self.number in self.net.ends[link] and how["flags"] == 4  # RTNH_F_ONLINK
        other = self.net.other(self.number, link)
        assert self.beside[device, how["gateway"]] == mac_of(other, link)
        assert how["source"] in self.own
        return other


def _net(text: str) -> Any:
    return ipaddress.ip_network(text)


def _within(address: str, subnet: Any) -> bool:
    at = ipaddress.ip_address(address)
    return at.version == subnet.version and at in subnet


NET = Network(
    nodes=("a", "b", "c", "d"),
    ends=((0, 1), (1, 3), (0, 2), (2, 3), (1, 2)),
    paths=((0, 1), (2, 3), (0, 4, 3)),
    names=("x", "y", "z"),
    storage_bytes=(0, 9, 9, 0),
    config=(),
)
"""Three paths from a to d, over b, over c, and over both; the first and the third begin on one link."""
SOURCES = {0: ["10.1.0.1", "10.1.2.1"], 1: ["10.2.0.1"], 2: ["10.3.0.1"]}


def laid(mtu: int = 1500, rto_min_ms: int = 0) -> tuple[Any, list[Node]]:
    made: Any = Ground(NET, (41, 42, 43, 44), MIDDLE)
    made.lay(mtu, 11, SOURCES, rto_min_ms)
    return made, [Node(NET, number, ip.asked, ip.devices) for number, ip in enumerate(made._ip)]


def walk(nodes: list[Node], start: int, source: str, destination: str) -> list[int]:
    at = [start]
    while destination not in nodes[at[-1]].own:
        at.append(nodes[at[-1]].next(source, destination))
        assert len(at) < 9, "a loop"
    return at


def test_what_a_paths_ends_send_goes_along_it_there_and_back(linux: Linux) -> None:
    _, nodes = laid()
    for path, own in SOURCES.items():
        way = list(NET.route(path))
        for source, destination in (
            *((source, earth_address(path)) for source in own),
            *((source, node_address(3)) for source in own),  # Earth's own address
            *(
                (source, earth_address((path + 1) % 3)) for source in own
            ),  # and those that it has on other paths
            (path_address6(path, sink=False), path_address6(path, sink=True)),
            (path_address6(path, sink=False), node_address6(3)),
        ):
            assert walk(nodes, 0, source, destination) == way, (source, destination)
        back = [(earth_address(path), source) for source in own]
        for source, destination in (*back, (path_address6(path, sink=True), path_address6(path, sink=False))):
            assert walk(nodes, 3, source, destination) == way[::-1]
        assert nodes[0].route("10.9.9.9", earth_address(path))[1]["source"] == craft_address(path)
        assert nodes[3].route("10.9.9.9", craft_address(path))[1]["source"] == earth_address(path)
        assert nodes[0].route("fd00::99", path_address6(path, sink=True))[1]["source"] == path_address6(
            path, sink=False
        )
        assert nodes[3].route("fd00::99", path_address6(path, sink=False))[1]["source"] == path_address6(
            path, sink=True
        )


def test_every_node_reaches_every_other(linux: Linux) -> None:
    _, nodes = laid()
    for start in range(4):
        for end in range(4):
            for address in (node_address, node_address6):
                assert walk(nodes, start, address(start), address(end))[-1] == end
                if start != end:
                    assert nodes[start].route(address(start), address(end))[1]["source"] == address(start)


def test_a_node_has_its_addresses_and_the_ends_one_a_path(linux: Linux) -> None:
    made, nodes = laid()
    single, no_check = (32,), (128, 2)  # IFA_F_NODAD
    assert nodes[1].own == {"10.0.0.2": single, "fd00::2": no_check}
    assert nodes[0].own == {
        **dict.fromkeys(("10.0.0.1", "10.1.0.1", "10.1.2.1", "10.2.0.1", "10.3.0.1"), single),
        **dict.fromkeys(("fd00::1", "fd00:0:0:1::1", "fd00:0:0:2::1", "fd00:0:0:3::1"), no_check),
    }
    assert nodes[3].own == {
        **dict.fromkeys(("10.0.0.4", "10.1.0.2", "10.2.0.2", "10.3.0.2"), single),
        **dict.fromkeys(("fd00::4", "fd00:0:0:1::2", "fd00:0:0:2::2", "fd00:0:0:3::2"), no_check),
    }
    assert all(
        asked[1] == 1 for ip in made._ip for asked in ip.asked if asked[0] == "address"
    )  # the loopback's
    assert all(node.ups[0] == 1 for node in nodes)
    assert nodes[1].beside["link1", beside6(0)] == mac_of(0, 0)
    assert (made.craft, made.earth) == (41, 44)


def test_links_of_nodes_go_through_the_middle(linux: Linux) -> None:
    made, _ = laid()
    pairs = [asked for ip in made._ip for asked in ip.asked if asked[0] == "pair"]
    assert sorted(pairs) == sorted(
        (
            "pair",
            (f"link{link + 1}", f"{end}{link}"),
            (f"02:00:00:01:{link:02x}:{node:02x}", None),
            MIDDLE,
            COMMON,
        )
        for link, ends in enumerate(NET.ends)
        for node, end in zip(ends, ("near", "far"), strict=True)
    )


def test_windows_are_every_routes_and_the_least_timeout_the_first_nodes(linux: Linux) -> None:
    _, nodes = laid(rto_min_ms=77)
    for node in nodes:
        for table in node.routes.values():
            for _, how in table.values():
                assert how["metrics"] == {"initcwnd": 11, **({"rto_min": 77} if node.number == 0 else {})}
    _, nodes = laid()
    assert all("rto_min" not in how["metrics"] for _, how in nodes[0].routes[254].values())


@pytest.mark.parametrize(("mtu", "six"), [(1280, True), (1279, False)])
def test_links_below_1280_bytes_have_ipv4_alone(linux: Linux, mtu: int, six: bool) -> None:
    """RFC 8200, section 5."""
    _, nodes = laid(mtu)
    said = [
        text
        for node in nodes
        for text in (*node.own, *(at for _, at in node.beside), *(str(net) for net, _ in node.rules))
    ]
    routes = [str(net) for node in nodes for table in node.routes.values() for net in table]
    assert any(":" in text for text in (*said, *routes)) == six
    assert walk(nodes, 0, "10.3.0.1", "10.3.0.2") == [0, 1, 2, 3]


def test_subflows_join_at_a_networks_ends(linux: Linux, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(ground, "join_from", lambda *what, **how: done.append((*what, how)))
    monkeypatch.setattr(ground, "allow_joins", done.append)
    made, _ = laid()
    made.allow_joins()
    made.join(3, "10.1.1.1", backup=True)
    assert done == [41, 44, (41, 3, "10.1.1.1", {"backup": True})]
