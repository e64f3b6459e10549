"""Generic netlink over a plain socket: attributes as bytes, requests with the kernel's own words for what was wrong.

A message is a header, a command and attributes (length, type, value, padded to 4 bytes); see netlink(7) and the
kernel's Documentation/userspace-api/netlink. A caller waits for one message and a time at most, which is what an
agent with a clock needs.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from dstcc.errors import KernelError

SOL_NETLINK = 270
NETLINK_GENERIC = 16
ADD_MEMBERSHIP, CAP_ACK, EXT_ACK, STRICT_CHECK = 1, 10, 11, 12
"""Socket options. Errors come with the kernel's text and without the request's bytes; dumps check their request."""
REQUEST, MULTI, ACK, DUMP = 0x1, 0x2, 0x4, 0x300
"""Flags of a request; ``MULTI`` of an answer in parts."""
CAPPED, ACK_TLVS = 0x100, 0x200
"""Flags of an error: the request's bytes are left out; attributes follow."""
ERROR, DONE = 2, 3
"""Types of messages below those of families."""
CONTROL, GET_FAMILY = 0x10, 3
"""The family that knows families, and its command."""
FAMILY_ID, FAMILY_NAME, MCAST_GROUPS = 1, 2, 7
GROUP_NAME, GROUP_ID = 1, 2
NESTED = 0x8000
TYPE_MASK = 0x3FFF
HEADER = struct.Struct("=IHHII")
COMMAND = struct.Struct("=BBH")
ATTRIBUTE = struct.Struct("=HH")
ERROR_TEXT, ERROR_OFFSET = 1, 2
"""Attributes of an error."""
BUFFER = 1 << 16


class NetlinkError(KernelError):
    """The kernel refused a request.

    ``name`` is the error's (``ENOENT``), ``text`` the kernel's explanation or "", ``offset`` where in the request the
    attribute lies that it is about, or -1.
    """

    def __init__(self, family: str, number: int, text: str = "", offset: int = -1) -> None:
        self.number, self.text, self.offset = number, text, offset
        # 95 has two names on Linux; the manual pages of netlink use this one.
        self.name = "EOPNOTSUPP" if number == errno.EOPNOTSUPP else errno.errorcode.get(number, str(number))
        super().__init__(f"kernel, {family}: {text or os.strerror(number)} ({self.name})")


@dataclass(frozen=True)
class Message:
    """One message of a family."""

    type: int
    sequence: int
    command: int
    payload: bytes
    """Its attributes."""


def attribute(kind: int, value: bytes) -> bytes:
    """Encode one attribute."""
    length = ATTRIBUTE.size + len(value)
    return ATTRIBUTE.pack(length, kind) + value + bytes(-length % 4)


def u32(kind: int, value: int) -> bytes:
    """One of a number."""
    return attribute(kind, struct.pack("=I", value))


def nest(kind: int, *members: bytes) -> bytes:
    """Encode an attribute that holds attributes."""
    return attribute(kind | NESTED, b"".join(members))


def attributes(payload: bytes) -> Iterator[tuple[int, bytes]]:
    """Decode attributes, in their order: type and value. What is cut short ends the list."""
    at = 0
    while at + ATTRIBUTE.size <= len(payload):
        length, kind = ATTRIBUTE.unpack_from(payload, at)
        if length < ATTRIBUTE.size or at + length > len(payload):
            return
        yield kind & TYPE_MASK, payload[at + ATTRIBUTE.size : at + length]
        at += length + -length % 4


class Closing:
    """What is closed where its ``with`` ends."""

    def __enter__(self) -> Self:
        """Nothing is left to be done."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let go of what is held."""
        raise NotImplementedError


class Family(Closing):
    """A socket to one family of the calling thread's network namespace; use as a context manager.

    Raises :class:`NetlinkError` named ``ENOENT`` where the kernel has no such family.
    """

    def __init__(self, name: str, version: int) -> None:
        self.name, self.version = name, version
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self._sequence = 0
        self._events: list[Message] = []
        try:
            for option in (CAP_ACK, EXT_ACK, STRICT_CHECK):
                self._socket.setsockopt(SOL_NETLINK, option, 1)
            self._socket.bind((0, 0))
            self.id, self.groups = self._resolve()
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def request(self, command: int, payload: bytes = b"", *, dump: bool = False) -> list[Message]:
        """Send a request and return the answers.

        Raises :class:`NetlinkError` where the kernel refuses it.
        """
        return self._request(self.id, command, payload, DUMP if dump else 0)

    def join(self, group: str) -> None:
        """Have this group's messages sent to :meth:`event`."""
        self._socket.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, self.groups[group])

    def event(self, timeout_s: float) -> Message | None:
        """The next message of a group, or None when none comes in time.

        Raises :class:`NetlinkError` named ``ENOBUFS`` once when messages were lost.
        """
        if self._events:
            return self._events.pop(0)
        self._socket.settimeout(max(timeout_s, 1e-6))
        try:
            self._receive(0, self._events)
        except TimeoutError:
            return None
        finally:
            self._socket.settimeout(None)
        return self._events.pop(0) if self._events else None

    def _request(self, family: int, command: int, payload: bytes, flags: int) -> list[Message]:
        self._sequence += 1
        length = HEADER.size + COMMAND.size + len(payload)
        header = HEADER.pack(length, family, REQUEST | ACK | flags, self._sequence, 0)
        self._socket.send(header + COMMAND.pack(command, self.version, 0) + payload)
        answers: list[Message] = []
        while not self._receive(self._sequence, answers):
            pass
        return answers

    def _receive(self, sequence: int, answers: list[Message]) -> bool:
        """Take one datagram: messages with ``sequence`` are answers, others events; whether the last answer is in."""
        ended = False
        try:
            datagram = self._socket.recv(BUFFER)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            raise NetlinkError(self.name, errno.ENOBUFS, "reports were lost: too many at once") from None
        for (_, kind, flags, number, _), body in split(datagram):
            if kind in (ERROR, DONE):
                if number == sequence:
                    ended = True
                    raise_refusal(self.name, flags, kind, body)
                continue
            message = Message(kind, number, COMMAND.unpack_from(body)[0], body[COMMAND.size :])
            (answers if number == sequence else self._events).append(message)
        return ended

    def _resolve(self) -> tuple[int, dict[str, int]]:
        name = attribute(FAMILY_NAME, self.name.encode() + b"\0")
        version, self.version = self.version, 2
        payload = self._request(CONTROL, GET_FAMILY, name, 0)[0].payload
        self.version = version
        family = dict(attributes(payload))
        groups = {}
        for _, group in attributes(family.get(MCAST_GROUPS, b"")):
            entry = dict(attributes(group))
            groups[entry[GROUP_NAME].rstrip(b"\0").decode()] = struct.unpack("=I", entry[GROUP_ID])[0]
        return struct.unpack("=H", family[FAMILY_ID])[0], groups


def split(datagram: bytes) -> Iterator[tuple[tuple[int, int, int, int, int], bytes]]:
    """Messages of a datagram: header and body."""
    at = 0
    while at + HEADER.size <= len(datagram):
        header: tuple[int, int, int, int, int] = HEADER.unpack_from(datagram, at)
        if header[0] < HEADER.size:
            return
        yield header, datagram[at + HEADER.size : at + header[0]]
        at += header[0] + -header[0] % 4


def raise_refusal(family: str, flags: int, kind: int, body: bytes) -> None:
    """Raise what an error's message says, if it says one."""
    number = -struct.unpack_from("=i", body)[0] if len(body) >= 4 else 0
    if number <= 0:
        return
    after = 4 if kind == DONE else 4 + HEADER.size
    if kind == ERROR and not flags & CAPPED:
        after += struct.unpack_from("=I", body, 4)[0] - HEADER.size
    answer = dict(attributes(body[after:])) if flags & ACK_TLVS else {}
    text = answer.get(ERROR_TEXT, b"").rstrip(b"\0").decode(errors="replace")
    offset = struct.unpack("=I", answer[ERROR_OFFSET])[0] if ERROR_OFFSET in answer else -1
    raise NetlinkError(family, number, text, offset)
