"""What the module's client asks and reads, by the numbers of dstcc.yaml, of a family that a test plays."""

from __future__ import annotations

import errno
import socket
import struct
from typing import Any

import pytest
from dstcc_kernel import layers, netlink, path_manager
from dstcc_kernel.genetlink import Message, NetlinkError, attribute, nest
from dstcc_kernel.netlink import Action, Client, Group, Parameters

from dstcc.errors import MissingCapabilityError

from .test_netlink import state
from .test_rtnetlink import parts_of, u32

SUBFLOW_GET, ACT, PARAMETERS_GET, PARAMETERS_SET, LIMITS_SET, REPORT = 1, 2, 3, 4, 5, 6
TABLE_SET, ANNOUNCE, LAYERS_GET, GROUP_SET, GROUP_GET = 7, 8, 9, 10, 11


class Family:
    """Notes what is asked, and answers what a test says."""

    def __init__(self, name: str, version: int) -> None:
        self.name, self.version = name, version
        self.asked: list[tuple[int, bytes, bool]] = []
        self.answers: list[bytes] = []
        self.events: list[Message] = []
        self.joined: list[str] = []
        self.waited: list[float] = []
        self.closed = False

    def request(self, command: int, payload: bytes = b"", *, dump: bool = False) -> list[Message]:
        self.asked.append((command, payload, dump))
        return [Message(29, 1, command, answer) for answer in self.answers]

    def join(self, group: str) -> None:
        self.joined.append(group)

    def event(self, timeout_s: float) -> Message | None:
        self.waited.append(timeout_s)
        return self.events.pop(0) if self.events else None

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(netlink, "Family", Family)
    return Client()


def test_the_family_is_the_modules(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (client.family.name, client.family.version) == ("dstcc", 1)
    with client:
        client.listen()
        assert client.family.joined == ["slots"]
    assert client.family.closed
    for number, raised in ((errno.ENOENT, MissingCapabilityError), (errno.EPERM, NetlinkError)):

        def refuse(*_: Any, number: int = number) -> None:
            raise NetlinkError("dstcc", number)

        monkeypatch.setattr(netlink, "Family", refuse)
        with pytest.raises(raised):
            Client()


def test_subflows_are_dumped(client: Any) -> None:
    client.family.answers = [state(id=u32(4)), state(id=u32(9))]
    assert [subflow.id for subflow in client.subflows()] == [4, 9]
    assert client.family.asked == [(SUBFLOW_GET, b"", True)]


def test_a_state_is_steered_or_joining_by_its_flags() -> None:
    for flags, steered, joining in ((0, False, False), (1, True, False), (8, False, True), (15, True, True)):
        subflow = netlink.parse_subflow(state(flags=u32(flags)))
        assert (subflow.steered, subflow.joining) == (steered, joining)


def test_actions_are_one_message_whose_answer_says_how_many(client: Any) -> None:
    client.family.answers = [attribute(2, u32(2))]
    assert client.act([Action(3, 5, -1), Action(4, None)]) == 2
    (command, payload, dump), *_ = client.family.asked
    assert (command, dump) == (ACT, False)
    assert payload == Action(3, 5, -1).encode() + Action(4, None).encode()


def test_groups_are_set_and_read(client: Any) -> None:
    client.family.answers = [attribute(4, u32(2))]
    assert client.set_group(7, [3, 4]) == 2
    words = [attribute(1, u32(7)), attribute(2, u32(3)), attribute(2, u32(4))]
    assert client.family.asked.pop() == (GROUP_SET, b"".join(words), False)
    client.set_group(7, beside=0)
    assert client.family.asked.pop()[1] == attribute(1, u32(7)) + attribute(3, u32(0))
    parts = {1: 7, 3: 11, 5: 13, 6: 17, 7: 19, 8: 23}
    unsent = attribute(9, struct.pack("=Q", 1 << 40))
    client.family.answers = [b"".join(attribute(kind, u32(value)) for kind, value in parts.items()) + unsent]
    assert client.group(7) == Group(
        id=7, beside=11, window=13, in_flight=17, members=19, waiting=23, unsent_bytes=1 << 40
    )
    assert client.family.asked == [(GROUP_GET, attribute(1, u32(7)), False)]


def test_parameters_are_read_and_what_is_given_is_set(client: Any) -> None:
    parts = {1: u32(1000), 2: u32(4), 3: u32(0), 4: b"\1", 5: u32(99)}
    client.family.answers = [b"".join(attribute(kind, value) for kind, value in parts.items())]
    assert client.parameters() == Parameters(1000, 4, 0, True, 99)
    assert client.family.asked.pop() == (PARAMETERS_GET, b"", False)
    client.set_parameters(slot_us=2000, silence_slots=5, headroom=0, reports=False)
    command, payload, _ = client.family.asked.pop()
    assert command == PARAMETERS_SET
    assert parts_of(payload) == {1: u32(2000), 2: u32(5), 3: u32(0), 4: b"\0"}
    client.set_parameters(reports=True)
    assert parts_of(client.family.asked.pop()[1]) == {4: b"\1"}
    client.set_parameters(headroom=3)
    assert parts_of(client.family.asked.pop()[1]) == {3: u32(3)}
    client.set_cwnd_max(77)
    assert client.family.asked == [(LIMITS_SET, attribute(5, u32(77)), False)]


def said(slot: int, *ids: int, more: bool = False, time_us: int = 5) -> Message:
    parts = [
        attribute(1, struct.pack("=Q", slot)),
        attribute(2, struct.pack("=Q", time_us)),
        attribute(3, bytes([more])),
    ]
    return Message(29, 0, REPORT, b"".join([*parts, *(nest(4, state(id=u32(number))) for number in ids)]))


def test_a_report_is_of_all_messages_of_its_slot(client: Any) -> None:
    """Of one whose end was lost nothing is left."""
    client.family.events = [said(1, 3, more=True), said(2, 3, 4, more=True), said(2, 5, time_us=9), said(3)]
    report = client.report(2.5)
    assert report is not None
    assert (report.slot, report.time_us, [one.id for one in report.subflows]) == (2, 9, [3, 4, 5])
    assert client.family.waited == [2.5] * 3
    assert client.report(1.0).subflows == ()
    assert client.report(1.0) is None
    client.family.events = [said(4, 3, more=True)]
    assert client.report(1.0) is None


def test_tables_and_announcements_are_of_a_connection(client: Any) -> None:
    layers.set_table(client, 9, {2: None, 0: 5})
    command, payload, _ = client.family.asked.pop()
    place = lambda *parts: nest(2, *parts)  # noqa: E731
    expected = [place(attribute(1, b"\0"), attribute(2, b"\5")), place(attribute(1, b"\2"))]
    assert (command, payload) == (TABLE_SET, attribute(1, u32(9)) + b"".join(expected))
    layers.announce(client, 9, [(1, 500, 1 << 40), (2, 600, 0, 7)])
    command, payload, _ = client.family.asked.pop()
    first = nest(3, attribute(1, b"\1"), attribute(2, u32(500)), attribute(3, struct.pack("=Q", 1 << 40)))
    second = nest(3, attribute(1, b"\2"), attribute(2, u32(600)), attribute(3, bytes(8)), attribute(4, b"\7"))
    assert (command, payload) == (ANNOUNCE, attribute(1, u32(9)) + first + second)


def test_what_subflows_carried_is_read_row_by_row(client: Any) -> None:
    def row(*values: int) -> bytes:
        small = [attribute(kind, bytes([value])) for kind, value in zip((1, 2), values[:2], strict=True)]
        large = [
            attribute(kind, struct.pack("=Q", value))
            for kind, value in zip((3, 4, 5, 6), values[2:], strict=True)
        ]
        return nest(4, *small, *large)

    client.family.answers = [attribute(5, u32(1)) + row(0, 1, 2, 3, 4, 5) + row(6, 7, 8, 9, 10, 11)]
    assert [tuple(vars(one).values()) for one in layers.carried(client, 9)] == [
        (0, 1, 2, 3, 4, 5),
        (6, 7, 8, 9, 10, 11),
    ]
    assert client.family.asked == [(LAYERS_GET, attribute(1, u32(9)), False)]


def test_backups_are_the_links_that_no_layer_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """linux/mptcp.h: ADD_ADDR 1, SET_FLAGS 7; ADDR 1 with FAMILY 1, ID 2, ADDR4 3 and FLAGS 6, of which BACKUP is 4."""
    monkeypatch.setattr(path_manager, "Family", Family)
    kept: Any = path_manager.Backups([["10.1.0.1", "10.1.1.1"], ["10.2.0.1"], ["10.3.0.1"]])
    asked = kept.family.asked
    inet = struct.pack("=H", socket.AF_INET)

    def said(address: str, flags: int) -> dict[int, Any]:
        return {1: {1: inet, 3: socket.inet_aton(address), 6: u32(flags)}}

    def taken() -> list[tuple[int, dict[int, Any]]]:
        found = [(command, parts_of(payload)) for command, payload, _ in asked]
        asked.clear()
        return found

    first = said("10.1.0.1", 0)
    assert (kept.family.name, kept.family.version) == ("mptcp_pm", 1)
    assert taken() == [(1, {1: {**first[1], 2: bytes([200])}})]
    kept.keep([1, 2, 1])
    assert taken() == [(7, said("10.1.0.1", 4)), (7, said("10.1.1.1", 4))]
    kept.keep([1, 2])
    assert taken() == [], "nothing has changed"
    kept.keep([0])
    assert taken() == [
        *((7, said("10.1.0.1", 0)), (7, said("10.1.1.1", 0))),
        *((7, said("10.2.0.1", 4)), (7, said("10.3.0.1", 4))),
    ]
    for anywhere in ([0, -1], []):
        kept.keep(anywhere)
        assert taken() == ([(7, said("10.2.0.1", 0)), (7, said("10.3.0.1", 0))] if anywhere else [])
    kept.close()
    assert kept.family.closed
