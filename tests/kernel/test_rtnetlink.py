"""What topologies are laid with: requests as linux/rtnetlink.h has them, what the kernel refuses, and a host without
sockets is not asked for them."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest
from dstcc_kernel import netem
from dstcc_kernel.endhosts.sampling import NO_SOCKETS
from dstcc_kernel.genetlink import NetlinkError
from dstcc_kernel.rtnetlink import LOOPBACK, Routes

RTM_NEWLINK, RTM_GETLINK, RTM_NEWADDR, RTM_NEWROUTE, RTM_NEWNEIGH = 16, 18, 20, 24, 28
RTM_NEWRULE, RTM_NEWQDISC, RTM_NEWTFILTER = 32, 36, 44
REQUEST_ACK, MAKE, PUT = 0x5, 0x600, 0x500
"""NLM_F_REQUEST and NLM_F_ACK; NLM_F_CREATE with NLM_F_EXCL, and with NLM_F_REPLACE."""
IFINFO, IFADDR, NDMSG, RTMSG, TCMSG = "=BxHiII", "=BBBBI", "=BxxxiHBB", "=BBBBBBBBI", "=BxxxiIII"
"""The structures that requests begin with: ifinfomsg, ifaddrmsg, ndmsg, rtmsg (and fib_rule_hdr), tcmsg."""
Parts = dict[int, Any]


def parts_of(data: bytes) -> Parts:
    """Attributes by type; those that are flagged as nests as such."""
    found: Parts = {}
    while data:
        length, kind = struct.unpack_from("=HH", data)
        value = data[4:length]
        assert kind & 0x3FFF not in found and length >= 4
        found[kind & 0x3FFF] = parts_of(value) if kind & 0x8000 else value
        data = data[length + -length % 4 :]
    return found


def u32(value: int) -> bytes:
    return struct.pack("=I", value)


class Kernel:
    """In a socket's place: notes a request, says its answer and that all is well."""

    def __init__(self, *_: int) -> None:
        self.sent: list[bytes] = []
        self.answer = b""
        self.options: list[tuple[int, ...]] = []
        self.closed = False

    def setsockopt(self, *option: int) -> None:
        self.options.append(option)

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def recv(self, _size: int) -> bytes:
        done = struct.pack("=IHHIIi", 36, 2, 0x100, 0, 0, 0) + bytes(16)
        return self.answer + done

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> Routes:
    monkeypatch.setattr("dstcc_kernel.rtnetlink.socket.socket", Kernel)
    return Routes()


def asked(routes: Routes, head: str) -> tuple[int, int, tuple[int, ...], Parts]:
    """Type and flags of the last request, its structure's fields, its attributes."""
    (data,) = routes._socket.sent[-1:]  # type: ignore[attr-defined]
    length, kind, flags, sequence, port = struct.unpack_from("=IHHII", data)
    assert (length, sequence, port) == (len(data), 0, 0)
    at = 16 + struct.calcsize(head)
    return kind, flags, struct.unpack_from(head, data, 16), parts_of(data[at:])


def test_errors_come_with_the_kernels_text_and_the_socket_is_closed_in_the_end(routes: Any) -> None:
    with routes:
        assert sorted(routes._socket.options) == [(270, 10, 1), (270, 11, 1)]
        assert not routes._socket.closed
    assert routes._socket.closed


def test_a_device_is_asked_for_by_its_name(routes: Any) -> None:
    body = struct.pack(IFINFO, 0, 1, 12, 0, 0)
    routes._socket.answer = struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK, 0, 0, 0) + body
    assert routes.index("veth0") == 12
    assert asked(routes, IFINFO) == (RTM_GETLINK, REQUEST_ACK, (0, 0, 0, 0, 0), {3: b"veth0\0"})


def test_a_device_is_up_with_what_is_given(routes: Routes) -> None:
    routes.up(7)  # IFF_UP is 1, and the only flag that changes
    assert asked(routes, IFINFO) == (RTM_NEWLINK, REQUEST_ACK, (0, 0, 7, 1, 1), {})
    routes.up(7, mtu=1500, queue_length=1)  # IFLA_MTU, IFLA_TXQLEN
    assert asked(routes, IFINFO)[3] == {4: u32(1500), 13: u32(1)}


def test_a_pair_has_a_name_an_address_and_a_namespace_at_each_end(routes: Routes) -> None:
    routes.pair(("near", "far"), ("02:00:00:00:00:01", "02:00:00:00:00:0f"), 9, {40: 1})
    kind, flags, head, parts = asked(routes, IFINFO)
    assert (kind, flags, head) == (RTM_NEWLINK, REQUEST_ACK | MAKE, (0,) * 5)
    info = parts.pop(18)  # IFLA_LINKINFO: IFLA_INFO_KIND, IFLA_INFO_DATA
    assert parts == {3: b"near\0", 1: bytes.fromhex("020000000001"), 40: u32(1)}
    assert info[1] == b"veth"
    peer = info[2][1]  # VETH_INFO_PEER: a structure, and attributes behind it
    assert struct.unpack_from(IFINFO, peer) == (0,) * 5
    # IFLA_NET_NS_FD is 28
    assert parts_of(peer[16:]) == {3: b"far\0", 1: bytes.fromhex("02000000000f"), 40: u32(1), 28: u32(9)}
    routes.pair(("near", "far"), ("02:00:00:00:00:01", None), 9, {})
    assert parts_of(asked(routes, IFINFO)[3][18][2][1][16:]) == {3: b"far\0", 28: u32(9)}


def test_an_ifb_is_made_and_asked_for(routes: Any) -> None:
    body = struct.pack(IFINFO, 0, 1, 5, 0, 0)
    routes._socket.answer = struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK, 0, 0, 0) + body
    assert routes.ifb("ifb0") == 5
    routes._socket.sent.pop()
    parts = {3: b"ifb0\0", 18: {1: b"ifb"}}
    assert asked(routes, IFINFO) == (RTM_NEWLINK, REQUEST_ACK | MAKE, (0,) * 5, parts)


@pytest.mark.parametrize(("address", "family"), [("10.1.2.3", socket.AF_INET), ("fd00::1", socket.AF_INET6)])
def test_addresses_and_neighbours_are_of_a_device(routes: Routes, address: str, family: int) -> None:
    raw = socket.inet_pton(family, address)
    routes.address(4, address, 24, flags=2)
    # IFA_ADDRESS, IFA_LOCAL
    expected = (RTM_NEWADDR, REQUEST_ACK | MAKE, (family, 24, 2, 0, 4), {1: raw, 2: raw})
    assert asked(routes, IFADDR) == expected
    routes.address(4, address, 24)
    assert asked(routes, IFADDR)[2] == (family, 24, 0, 0, 4)
    routes.neighbour(4, address, "02:00:00:00:00:0a")
    # NUD_PERMANENT is 0x80; NDA_DST, NDA_LLADDR
    said = {1: raw, 2: bytes.fromhex("02000000000a")}
    assert asked(routes, NDMSG) == (RTM_NEWNEIGH, REQUEST_ACK | PUT, (family, 4, 0x80, 0, 0), said)


def test_a_route_goes_through_a_device(routes: Routes) -> None:
    routes.route("10.1.0.0/16", 4)
    # RTPROT_STATIC 4, RT_SCOPE_UNIVERSE 0, RTN_UNICAST 1, table main 254; RTA_DST, RTA_OIF, RTA_TABLE, RTA_METRICS
    head = (socket.AF_INET, 16, 0, 0, 254, 4, 0, 1, 0)
    parts = {1: bytes([10, 1, 0, 0]), 4: u32(4), 15: u32(254), 8: {}}
    assert asked(routes, RTMSG) == (RTM_NEWROUTE, REQUEST_ACK | PUT, head, parts)
    routes.route(
        "10.2.0.1/32",
        5,
        gateway="10.2.0.9",
        source="10.2.0.3",
        table=1000,
        flags=4,
        scope=253,
        by=2,
        metrics={"initcwnd": 10, "rto_min": 200},
    )
    # a number of more than eight bits is an attribute only; RTA_GATEWAY, RTA_PREFSRC; RTAX_INITCWND, RTAX_RTO_MIN
    assert asked(routes, RTMSG)[2:] == (
        (socket.AF_INET, 32, 0, 0, 0, 2, 253, 1, 4),
        {
            **{
                1: bytes([10, 2, 0, 1]),
                4: u32(5),
                15: u32(1000),
                5: bytes([10, 2, 0, 9]),
                7: bytes([10, 2, 0, 3]),
            },
            8: {11: u32(10), 13: u32(200)},
        },
    )
    for table, small in ((255, 255), (256, 0)):
        routes.route("0.0.0.0/0", 5, table=table)
        assert asked(routes, RTMSG)[2][4] == small
    assert 1 not in asked(routes, RTMSG)[3], "the default route is to no addresses"
    assert asked(routes, RTMSG)[2][1] == 0


def test_a_rule_is_about_where_packets_come_from(routes: Routes) -> None:
    routes.rule("10.1.0.0", 16, 300)
    # struct fib_rule_hdr: family, lengths of destination and source, TOS, table, reserved, action, flags; FR_ACT_TO_TBL
    head = (socket.AF_INET, 0, 16, 0, 0, 0, 0, 1, 0)
    parts = {2: bytes([10, 1, 0, 0]), 6: u32(1000), 15: u32(300)}  # FRA_SRC, FRA_PRIORITY, FRA_TABLE
    assert asked(routes, RTMSG) == (RTM_NEWRULE, REQUEST_ACK | MAKE, head, parts)


def test_disciplines_and_filters_are_of_a_kind(routes: Routes) -> None:
    routes.discipline("netem", 4, b"abcd", handle=1 << 16, parent=0xFFFFFFFF)
    head = (0, 4, 1 << 16, 0xFFFFFFFF, 0)
    assert asked(routes, TCMSG) == (RTM_NEWQDISC, REQUEST_ACK | PUT, head, {1: b"netem\0", 2: b"abcd"})
    routes.filter("matchall", 4, b"efgh", parent=5, info=6)
    parts = {1: b"matchall\0", 2: b"efgh"}
    assert asked(routes, TCMSG) == (RTM_NEWTFILTER, REQUEST_ACK | MAKE, (0, 4, 0, 5, 6), parts)


def test_what_arrives_goes_through_another_device_as_a_clone(routes: Any) -> None:
    """linux/pkt_cls.h: the ingress discipline ffff: under TC_H_INGRESS; a filter of all protocols with priority 1."""
    netem.redirect(routes, 3, 8)
    kind, _, head, parts = asked(routes, TCMSG)
    # the protocol's number, 3 for all, is in network order
    assert (kind, head) == (RTM_NEWTFILTER, (0, 3, 0, 0xFFFF0000, 1 << 16 | 0x0300))
    assert parts[1] == b"matchall\0"
    actions = parts_of(parts[2])[2]  # TCA_MATCHALL_ACT
    mirred, drop = actions[1], actions[2]
    # struct tc_mirred: index, capab, action (TC_ACT_PIPE), refcnt, bindcnt, eaction (TCA_EGRESS_REDIR), ifindex
    assert (mirred[1], struct.unpack("=IIiiiiI", mirred[2][2])) == (b"mirred\0", (0, 0, 3, 0, 0, 1, 8))
    # struct tc_gact: index, capab, action (TC_ACT_SHOT), refcnt, bindcnt
    assert (drop[1], struct.unpack("=IIiii", drop[2][2])) == (b"gact\0", (0, 0, 2, 0, 0))
    assert actions.keys() == {1, 2} and mirred.keys() == drop.keys() == {1, 2}
    routes._socket.sent.pop()
    kind, _, head, parts = asked(routes, TCMSG)
    assert (kind, head) == (RTM_NEWQDISC, (0, 3, 0xFFFF0000, 0xFFFFFFF1, 0))
    assert parts == {1: b"ingress\0", 2: b""}


def test_a_device_is_found_by_its_name() -> None:
    with Routes() as ip:
        assert ip.index("lo") == LOOPBACK


def test_what_the_kernel_refuses_is_said_by_its_name() -> None:
    with Routes() as ip, pytest.raises(NetlinkError, match=r"kernel, rtnetlink: .*ENODEV"):
        ip.index("no such device")


@pytest.mark.parametrize(
    ("line", "none"),
    [
        (b"TCP: inuse 0 orphan 0 tw 0 alloc 7 mem 0", True),
        (b"TCP: inuse 1 orphan 0 tw 0 alloc 7 mem 0", False),
        (b"TCP: inuse 0 orphan 0 tw 2 alloc 7 mem 0", False),  # FIN-WAIT-2 is kept so
        (b"TCP6: inuse 0", True),
        (b"TCP6: inuse 12", False),
    ],
)
def test_the_counts_say_whether_a_host_has_a_socket_of_tcp(line: bytes, none: bool) -> None:
    assert bool(NO_SOCKETS.fullmatch(line)) == none
