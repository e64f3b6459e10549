"""Generic netlink, byte by byte as linux/netlink.h has it, against a kernel that a test plays."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable
from typing import Any

import pytest
from dstcc_kernel.genetlink import (
    Family,
    Message,
    NetlinkError,
    attribute,
    attributes,
    nest,
    raise_refusal,
    split,
)

ID, GROUP = 29, 7
"""What this kernel numbers the family and its group."""
NLMSG_ERROR, NLMSG_DONE, GENL_ID_CTRL, CTRL_CMD_NEWFAMILY, CTRL_CMD_GETFAMILY = 2, 3, 16, 1, 3
NLM_F_REQUEST, NLM_F_MULTI, NLM_F_ACK, NLM_F_DUMP, NLM_F_CAPPED, NLM_F_ACK_TLVS = 1, 2, 4, 0x300, 0x100, 0x200


def message(kind: int, sequence: int, body: bytes, flags: int = 0) -> bytes:
    """struct nlmsghdr (length, type, flags, sequence, port) and what follows, padded to four bytes."""
    return struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 4711) + body + bytes(-len(body) % 4)


def told(kind: int, sequence: int, command: int, attributes_: bytes = b"") -> bytes:
    """A family's: struct genlmsghdr (command, version, reserved) before attributes."""
    return message(kind, sequence, struct.pack("=BBH", command, 1, 0) + attributes_)


def error(sequence: int, number: int = 0) -> bytes:
    """struct nlmsgerr: the negative number and the request's header, without its bytes."""
    return message(NLMSG_ERROR, sequence, struct.pack("=i", -number) + bytes(16), NLM_F_CAPPED)


class Kernel:
    """In a socket's place: it notes what is asked, and answers by what a test says."""

    def __init__(self, answer: Callable[[int], list[bytes | OSError]]) -> None:
        self._answer = answer
        self.sent: list[bytes] = []
        self.waiting: list[bytes | OSError] = []
        self.options: list[tuple[int, int, int]] = []
        self.patience: list[float | None] = []
        self.bound: Any = None
        self.closed = False

    def setsockopt(self, *option: int) -> None:
        self.options.append(option)  # type: ignore[arg-type]

    def settimeout(self, patience_s: float | None) -> None:
        self.patience.append(patience_s)

    def bind(self, address: Any) -> None:
        self.bound = address

    def close(self) -> None:
        self.closed = True

    def send(self, data: bytes) -> None:
        self.sent.append(data)
        self.waiting += self._answer(struct.unpack_from("=I", data, 8)[0])

    def recv(self, size: int) -> bytes:
        assert size >= 1 << 16, "a datagram that does not fit is cut off"
        first = (
            self.waiting.pop(0)
            if self.waiting
            else BlockingIOError()
            if 0 in self.patience
            else TimeoutError()
        )
        if isinstance(first, OSError):
            raise first
        return first


def resolved(sequence: int) -> bytes:
    """What the family of families says of one: its number, and its groups with theirs, each in an array's entry."""
    groups = [
        nest(place, attribute(2, struct.pack("=I", number)), attribute(1, name + b"\0"))
        for place, (name, number) in enumerate(((b"others", 3), (b"slots", GROUP)), start=1)
    ]
    parts = attribute(2, b"dstcc\0") + attribute(1, struct.pack("=H", ID)) + nest(7, *groups)
    return told(GENL_ID_CTRL, sequence, CTRL_CMD_NEWFAMILY, parts)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """It knows the family ``dstcc``, and then says what ``later`` has, which a test fills."""
    later: list[Callable[[int], list[bytes | OSError]]] = []

    def answer(sequence: int) -> list[bytes | OSError]:
        return later.pop(0)(sequence) if sequence > 1 else [resolved(1), error(1)]

    made = Kernel(answer)
    made.later = later  # type: ignore[attr-defined]
    made.opened = []  # type: ignore[attr-defined]

    def opened(*how: int) -> Kernel:
        made.opened.append(how)  # type: ignore[attr-defined]
        return made

    monkeypatch.setattr("dstcc_kernel.genetlink.socket.socket", opened)
    return made


def test_a_family_is_looked_up_by_its_name(kernel: Any) -> None:
    with Family("dstcc", 9) as family:
        assert (family.id, family.groups, family.version) == (ID, {"others": 3, "slots": GROUP}, 9)
        assert kernel.opened == [(16, 3, 16)]  # AF_NETLINK, SOCK_RAW, NETLINK_GENERIC
        assert kernel.bound == (0, 0)
        # SOL_NETLINK with NETLINK_CAP_ACK, NETLINK_EXT_ACK and NETLINK_GET_STRICT_CHK
        assert sorted(kernel.options) == [(270, 10, 1), (270, 11, 1), (270, 12, 1)]
        (asked,) = kernel.sent
        # CTRL_ATTR_FAMILY_NAME is 2: ten bytes with its head, padded to twelve; the family of families has version 2
        name = struct.pack("=HH", 10, 2) + b"dstcc\0" + bytes(2)
        head = struct.pack("=IHHII", 16 + 4 + 12, GENL_ID_CTRL, NLM_F_REQUEST | NLM_F_ACK, 1, 0)
        assert asked == head + struct.pack("=BBH", CTRL_CMD_GETFAMILY, 2, 0) + name
        family.join("slots")
        assert kernel.options[-1] == (270, 1, GROUP)  # NETLINK_ADD_MEMBERSHIP
        assert not kernel.closed
    assert kernel.closed


def test_a_family_that_there_is_not_is_an_error_and_its_socket_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Kernel(lambda sequence: [error(sequence, errno.ENOENT)])
    monkeypatch.setattr("dstcc_kernel.genetlink.socket.socket", lambda *_: made)
    with pytest.raises(NetlinkError, match="ENOENT") as refused:
        Family("dstcc", 1)
    assert (refused.value.name, refused.value.number, refused.value.offset) == ("ENOENT", 2, -1)
    assert str(refused.value) == f"kernel, dstcc: {os.strerror(2)} (ENOENT)"
    assert made.closed


def test_a_request_has_all_answers_until_its_end(kernel: Any) -> None:
    """Over several datagrams, with others' messages between them, which wait as events in their order."""
    family = Family("dstcc", 9)
    first, second, third = b"\x08\0\x01\0abcd", b"", b"\x05\0\x02\0x\0\0\0"
    kernel.later.append(
        lambda sequence: [
            told(ID, sequence, 6, first) + told(ID, 0, 8, third),
            told(ID, 0, 9) + error(1, errno.EPERM) + told(ID, sequence, 7, second),
            message(NLMSG_DONE, sequence, struct.pack("=i", 0), NLM_F_MULTI),
        ]
    )
    answers = family.request(5, b"\x04\0\x03\0", dump=True)
    assert answers == [Message(ID, 2, 6, first), Message(ID, 2, 7, second)]
    head = struct.pack("=IHHII", 24, ID, NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP, 2, 0)
    assert kernel.sent[-1] == head + struct.pack("=BBH", 5, 9, 0) + b"\x04\0\x03\0"
    assert [family.event(1.0), family.event(1.0)] == [Message(ID, 0, 8, third), Message(ID, 0, 9, b"")]
    assert kernel.patience == [], "they were there"
    kernel.later.append(lambda sequence: [error(sequence)])
    assert family.request(2) == []
    assert kernel.sent[-1] == struct.pack("=IHHIIBBH", 20, ID, NLM_F_REQUEST | NLM_F_ACK, 3, 0, 2, 9, 0)


def test_an_event_is_waited_for_so_long(kernel: Any) -> None:
    family = Family("dstcc", 1)
    assert family.event(2.5) is None
    assert kernel.patience == [2.5, None], "and for requests without an end again"
    kernel.waiting = [told(ID, 0, 6) + told(ID, 0, 7), error(1)]
    assert family.event(0.0) == Message(ID, 0, 6, b"")
    assert kernel.patience[2:] == [1e-6, None], "0 would be not to wait at all, which is another error"
    assert family.event(0.0) == Message(ID, 0, 7, b"")
    assert family.event(1.0) is None, "what is no event is none"


def test_lost_events_are_said_once(kernel: Any) -> None:
    family = Family("dstcc", 1)
    kernel.waiting = [OSError(errno.ENOBUFS, "no room"), told(ID, 0, 6)]
    with pytest.raises(NetlinkError, match=r"kernel, dstcc: reports were lost: too many at once \(ENOBUFS\)"):
        family.event(1.0)
    assert kernel.patience == [1.0, None]
    assert family.event(1.0) == Message(ID, 0, 6, b"")
    kernel.waiting = [OSError(errno.EIO, "another")]
    with pytest.raises(OSError, match="another"):
        family.event(1.0)


# ------------------------------------------------------------------------------------------------------ messages


def test_messages_of_a_datagram_begin_at_multiples_of_four() -> None:
    datagram = message(1, 5, b"abc") + message(2, 6, b"") + message(3, 7, b"defgh")
    found = list(split(datagram))
    assert [header[:4] for header, _ in found] == [(19, 1, 0, 5), (16, 2, 0, 6), (21, 3, 0, 7)]
    assert [body for _, body in found] == [b"abc", b"", b"defgh"]
    assert len(list(split(datagram[:-9]))) == 2, "a header that is cut off is none"
    assert list(split(struct.pack("=IHHII", 15, 1, 0, 1, 0))) == [], "one shorter than its header is none"
    assert [body for _, body in split(struct.pack("=IHHII", 16, 1, 0, 1, 0))] == [b""]


def test_attributes_end_where_one_is_cut_off() -> None:
    whole = attribute(1, b"abc") + attribute(0x8002, b"")
    assert whole == b"\x07\0\x01\0abc\0" + b"\x04\0\x02\x80"
    assert list(attributes(whole)) == [(1, b"abc"), (2, b"")], "the flag of nests is no part of the type"
    assert list(attributes(b"\x07\0\x01\0abc")) == [(1, b"abc")], "the last needs no padding"
    assert list(attributes(b"\x08\0\x01\0abc")) == []
    assert list(attributes(b"\x03\0\x01\0abc\0")) == []
    assert list(attributes(whole + b"\x04\0\x01")) == [(1, b"abc"), (2, b"")]
    assert nest(3, b"ab", b"cd") == b"\x08\0\x03\x80abcd"


# -------------------------------------------------------------------------------------------------------- errors

TEXT = attribute(1, b"out of range\0")
"""NLMSGERR_ATTR_MSG."""
OFFSET = attribute(2, struct.pack("=I", 44))
"""NLMSGERR_ATTR_OFFS."""


def refusal(flags: int, kind: int, body: bytes) -> tuple[str, str, int] | None:
    """Name, text and offset of what is raised; None where nothing is."""
    try:
        raise_refusal("dstcc", flags, kind, body)
    except NetlinkError as raised:
        return raised.name, raised.text, raised.offset
    return None


def test_an_error_has_the_kernels_text_and_place() -> None:
    number = struct.pack("=i", -errno.ERANGE)
    request = struct.pack(
        "=IHHII", 28, ID, 5, 2, 0
    )  # its header; 12 bytes more follow where they are not left out
    parts = TEXT + OFFSET
    capped, both = NLM_F_CAPPED | NLM_F_ACK_TLVS, ("ERANGE", "out of range", 44)
    assert refusal(capped, NLMSG_ERROR, number + request + parts) == both
    assert refusal(NLM_F_ACK_TLVS, NLMSG_ERROR, number + request + bytes(12) + parts) == both
    assert refusal(NLM_F_ACK_TLVS, NLMSG_DONE, number + parts) == both
    assert refusal(capped, NLMSG_DONE, number + parts) == both
    assert refusal(capped, NLMSG_ERROR, number + request + TEXT) == ("ERANGE", "out of range", -1)
    assert refusal(NLM_F_CAPPED, NLMSG_ERROR, number + request + parts) == ("ERANGE", "", -1)
    assert refusal(NLM_F_ACK_TLVS, NLMSG_DONE, struct.pack("=i", -1)) == ("EPERM", "", -1)


def test_no_error_is_none() -> None:
    for body in (struct.pack("=i", 0), struct.pack("=i", 3), b"\xff\xff\xff", b""):
        assert refusal(0, NLMSG_ERROR, body + bytes(16) if len(body) == 4 else body) is None


def test_names_of_errors_are_those_of_the_manual() -> None:
    assert NetlinkError("dstcc", 95).name == "EOPNOTSUPP", "ENOTSUP has the same number"
    assert NetlinkError("dstcc", 5000).name == "5000"
    assert str(NetlinkError("dstcc", 34, "too far")) == "kernel, dstcc: too far (ERANGE)"
