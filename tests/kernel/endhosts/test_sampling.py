"""What a host's kernel is asked for samples, and what is kept of its answers."""

from __future__ import annotations

import io
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel.endhosts import sampling
from dstcc_kernel.endhosts.sampling import HEAD, MPTCP, QDISC, TCP, Sampler

NLMSG_DONE, NLMSG_ERROR = 3, 2


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 2, 0, 0) + body + bytes(-len(body) % 4)


class Kernel:
    """In netlink sockets' place: it answers each request from a list of datagrams."""

    made: list[Kernel]
    answers: dict[bytes, list[bytes]]

    def __init__(self, *how: int) -> None:
        self.how, self.asked, self.waiting = how, list[bytes](), list[bytes]()
        type(self).made.append(self)

    def send(self, request: bytes) -> None:
        self.asked.append(request)
        self.waiting += type(self).answers.get(request, [message(NLMSG_DONE, bytes(4))])

    def recv_into(self, buffer: bytearray) -> int:
        data = self.waiting.pop(0)
        buffer[: len(data)] = data
        return len(data)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Kernel]]:
    made = type("Ours", (Kernel,), {"made": [], "answers": {}})
    monkeypatch.setattr("dstcc_kernel.endhosts.sampling.socket.socket", made)
    yield made
    for file in list(Path("/proc/self/fd").iterdir()):
        if "sockstat" in file.resolve().name:
            os.close(int(file.name))


def sampler(folder: Path, *, sockets: bool = True, netem: bool = True) -> Sampler:
    found = Sampler(1, netem=netem)
    for file in found._counts:
        os.close(file)
    text = "sockets: used 9\nTCP: inuse {n} orphan 0 tw 0 alloc 7 mem 0\nUDP: inuse 3\n"
    found._counts = []
    for name, number in (("sockstat", 1 if sockets else 0), ("sockstat6", 0)):
        (folder / name).write_text(
            text.format(n=number) if name == "sockstat" else "TCP6: inuse 0\nUDP6: inuse 9\n"
        )
        found._counts.append(os.open(folder / name, os.O_RDONLY))
    return found


def records(data: bytes) -> list[tuple[int, int, int, bytes]]:
    found = []
    while data:
        t_ns, host, kind, nothing, length = HEAD.unpack_from(data)
        assert nothing == 0
        found.append((t_ns, host, kind, data[16 : 16 + length]))
        data = data[16 + length :]
    return found


def request(family: int, protocol: int) -> bytes:
    """struct inet_diag_req_v2: family, protocol, extensions, pad, states, id; a protocol above 255 in an attribute."""
    # INET_DIAG_INFO is 2 and INET_DIAG_CONG 4, each a bit by its number less one; states by TCP's numbers
    extensions = 1 << 1 | 1 << 3
    states = sum(1 << state for state in (1, 2, 3, 4, 5, 8, 9, 11))
    body = struct.pack("=BBBBI", family, protocol if protocol < 256 else 255, extensions, 0, states) + bytes(
        48
    )
    body += struct.pack("=HHI", 8, 3, protocol) if protocol > 255 else b""  # INET_DIAG_REQ_PROTOCOL
    # SOCK_DIAG_BY_FAMILY is 20; NLM_F_REQUEST, NLM_F_DUMP
    return struct.pack("=IHHII", 16 + len(body), 20, 0x1 | 0x300, 0, 0) + body


TCP4, TCP6 = (request(family, 6) for family in (socket.AF_INET, socket.AF_INET6))
MPTCP4, MPTCP6 = (request(family, 262) for family in (socket.AF_INET, socket.AF_INET6))
QDISCS = struct.pack("=IHHII", 36, 38, 0x301, 0, 0) + bytes(20)  # RTM_GETQDISC, struct tcmsg


def test_a_sample_asks_for_sockets_of_both_families_and_for_disciplines(kernel: Any, tmp_path: Path) -> None:
    one, odd = message(20, b"abcd"), message(20, b"efghi")
    done = message(NLMSG_DONE, bytes(4))
    kernel.answers = {
        TCP4: [one, odd + done],
        TCP6: [message(NLMSG_ERROR, bytes(20)) + one],
        MPTCP4: [odd + done],
        QDISCS: [one + one + done],
    }
    made, file = sampler(tmp_path), io.BytesIO()
    diag, route = kernel.made
    assert (diag.how, route.how) == (
        (16, 3, 4),
        (16, 3, 0),
    )  # AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG and _ROUTE
    assert made.sample(77, file)
    assert diag.asked == [TCP4, TCP6, MPTCP4, MPTCP6] and route.asked == [QDISCS]
    assert records(file.getvalue()) == [
        *((77, 1, TCP, one + odd), (77, 1, MPTCP, odd), (77, 1, QDISC, one + one)),
    ]
    assert not made.sample(78, file), "nothing has moved"
    kernel.answers[MPTCP4] = [done]
    assert not made.sample(79, file), "MPTCP's sockets move with TCP's"
    kernel.answers[QDISCS] = [one + done]
    assert made.sample(80, file)


def test_where_there_are_no_sockets_nobody_asks_for_them(kernel: Any, tmp_path: Path) -> None:
    kernel.answers = {QDISCS: [message(20, b"x") + message(NLMSG_DONE, bytes(4))]}
    made, file = sampler(tmp_path, sockets=False), io.BytesIO()
    assert made.sample(1, file)
    diag, route = kernel.made
    assert diag.asked == [] and route.asked == [QDISCS]
    none = sampler(tmp_path, sockets=False, netem=False)
    assert not none.sample(1, io.BytesIO()), "links that a program plays have no disciplines to ask for"


def test_mptcp_is_asked_for_where_tcp_has_sockets(kernel: Any, tmp_path: Path) -> None:
    made, file = sampler(tmp_path), io.BytesIO()
    made.sample(1, file)
    assert kernel.made[0].asked == [TCP4, TCP6] and file.getvalue() == b""


def test_a_host_without_ipv6_has_one_count(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def without(path: Any, *how: Any, **more: Any) -> int:
        if "sockstat6" in str(path):
            raise FileNotFoundError(path)
        return opened(path, *how, **more)

    monkeypatch.setattr("dstcc_kernel.endhosts.sampling.os.open", without)
    made = Sampler(0)
    assert len(made._counts) == 1
    assert sampling.COUNTS == ("sockstat", "sockstat6")


def test_requests_are_made_as_they_are_asked() -> None:
    for family in (socket.AF_INET, socket.AF_INET6):
        for protocol in (6, 255, 256, 262):
            assert sampling._sockets(family, protocol) == request(family, protocol)
    assert sampling._message(38, bytes(20)) == QDISCS
