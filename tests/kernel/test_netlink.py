"""The netlink client without a kernel: one set of numbers in three languages, and what it makes of bytes."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest
import yaml
from dstcc_kernel import layers, netlink
from dstcc_kernel.genetlink import Message, attribute, attributes, nest
from dstcc_kernel.netlink import (
    Action,
    Command,
    Flags,
    ReportPart,
    State,
    parse_report,
    parse_subflow,
)
from hypothesis import given
from hypothesis import strategies as st

MODULE = Path(__file__).parents[2] / "kernel-cc/module"
SETS = {
    "subflow": netlink.State,
    "action": netlink.ActionPart,
    "act": netlink.Act,
    "parameter": netlink.Parameter,
    "report": netlink.ReportPart,
    "layers": layers.Layers,
    "place": layers.Place,
    "range": layers.Range,
    "row": layers.RowPart,
    "group": netlink.GroupPart,
}


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((MODULE / "dstcc.yaml").read_text())
    return document


@pytest.fixture(scope="module")
def header() -> dict[str, dict[str, int]]:
    """Name -> value of every enumeration of the header, by what the names share; without the ends that C wants."""
    text = re.sub(r"/\*.*?\*/", "", (MODULE / "dstcc_netlink.h").read_text(), flags=re.S)
    enums = {}
    for body in re.findall(r"enum(?: \w+)? \{(.*?)\};", text, flags=re.S):
        value, members = 0, {}
        for entry in filter(None, (line.strip() for line in body.split(","))):
            member, _, given_value = (part.strip() for part in entry.partition("="))
            value = int(given_value) if given_value.isdigit() else value + 1
            if not member.startswith("__") and "(" not in given_value:
                members[member] = value
        name = next(iter(members)).split("_")[1].lower()
        enums["command" if name == "cmd" else name] = members
    return enums


def numbered(names: list[str]) -> dict[str, int]:
    return {name.upper().replace("-", "_"): at for at, name in enumerate(names, start=1)}


@pytest.mark.parametrize("name", SETS)
def test_attributes_have_the_same_numbers_in_yaml_c_and_python(
    name: str, spec: dict[str, Any], header: dict[str, dict[str, int]]
) -> None:
    (described,) = (s for s in spec["attribute-sets"] if s["name"] == name)
    expected = numbered([a["name"] for a in described["attributes"]])
    assert {member.name: member.value for member in SETS[name]} == expected
    assert header[name] == {f"DSTCC_{name.upper()}_{k}": v for k, v in expected.items()}


def test_commands_have_the_same_numbers(spec: dict[str, Any], header: dict[str, dict[str, int]]) -> None:
    expected = numbered([operation["name"] for operation in spec["operations"]["list"]])
    assert {member.name: member.value for member in Command} == expected
    assert header["command"] == {f"DSTCC_CMD_{k}": v for k, v in expected.items()}


def test_every_set_of_attributes_is_compared(spec: dict[str, Any]) -> None:
    """But for ``state``, which has no numbers of its own."""
    assert {described["name"] for described in spec["attribute-sets"]} - {"state"} == set(SETS)


def test_the_transfer_program_has_these_numbers_of_groups(header: dict[str, dict[str, int]]) -> None:
    text = (MODULE.parent / "transfer/family.cpp").read_text()
    numbers = {
        re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper(): int(value)
        for name, value in re.findall(r"kGroup(\w+) = (\d+)", text)
    }
    assert numbers.pop("GET") == header["command"]["DSTCC_CMD_GROUP_GET"]
    assert sorted(numbers) == ["BESIDE", "ID", "IN_FLIGHT", "WINDOW"]
    assert all(header["group"][f"DSTCC_GROUP_{name}"] == value for name, value in numbers.items())


def test_flags_are_bits_in_the_order_of_the_spec(
    spec: dict[str, Any], header: dict[str, dict[str, int]]
) -> None:
    (described,) = (d for d in spec["definitions"] if d["name"] == "flag")
    expected = {entry["name"].upper(): 1 << bit for bit, entry in enumerate(described["entries"])}
    assert {flag.name: flag.value for flag in Flags} == expected
    assert header["flag"] == {f"DSTCC_FLAG_{k}": v for k, v in expected.items()}


def state(**changes: bytes) -> bytes:
    """A subflow's attributes, each its own number unless given."""
    parts = []
    for kind in State:
        width = 8 if kind.name in ("ACKED_BYTES", "UNSENT_BYTES", "DELIVERY_RATE", "PACING_RATE") else 4
        value = struct.pack("=Q", kind)[:width]
        if kind.name.endswith("ADDRESS"):
            value = bytes([10, 0, kind, 1])
        value = changes.get(kind.name.lower(), value)
        if kind is not State.PAD and value:
            parts.append(attribute(kind, value))
    return b"".join(parts)


def test_a_state_is_read_by_name() -> None:
    subflow = parse_subflow(state(flags=struct.pack("=I", 3)))
    assert (subflow.cwnd, subflow.srtt_us, subflow.acked_bytes) == (
        State.CWND,
        State.SRTT_US,
        State.ACKED_BYTES,
    )
    assert (subflow.local_address, subflow.remote_address) == ("10.0.5.1", "10.0.6.1")
    assert subflow.steered and subflow.token == State.TOKEN


def test_ids_are_unknown_where_the_module_does_not_tell() -> None:
    subflow = parse_subflow(state(token=b"", local_id=b"", remote_id=b""))
    assert (subflow.token, subflow.local_id, subflow.remote_id) == (None, None, None)


def test_mapped_addresses_are_shown_as_what_they_map() -> None:
    mapped = bytes(10) + b"\xff\xff" + bytes([192, 0, 2, 7])
    subflow = parse_subflow(state(local_address=mapped, remote_address=bytes(15) + b"\1"))
    assert (subflow.local_address, subflow.remote_address) == ("192.0.2.7", "::1")


def test_a_report_has_its_slot_and_all_its_subflows() -> None:
    payload = (
        attribute(ReportPart.MORE, b"\1")
        + attribute(ReportPart.SLOT, struct.pack("=Q", 7))
        + attribute(ReportPart.TIME_US, struct.pack("=Q", 10**12))
        + nest(ReportPart.SUBFLOW, state())
        + nest(ReportPart.SUBFLOW, state(id=struct.pack("=I", 9)))
    )
    report, more = parse_report(Message(0, 0, Command.REPORT, payload))
    assert more and (report.slot, report.time_us, [s.id for s in report.subflows]) == (7, 10**12, [1, 9])


@pytest.mark.parametrize(
    ("action", "parts"),
    [
        (Action(3, 1 << 15, -4), {1: 3, 3: 1 << 15, 4: (1 << 32) - 4}),
        (Action(3, None, token=9), {1: 3, 2: 9, 5: 0}),
    ],
)
def test_an_action_is_a_window_or_a_fall_back(action: Action, parts: dict[int, int]) -> None:
    ((kind, body),) = attributes(action.encode())
    assert kind == netlink.Act.ACTION
    assert {k: int.from_bytes(v, "little") for k, v in attributes(body)} == parts


@given(st.lists(st.tuples(st.integers(0, 0x3FFF), st.binary(max_size=40))))
def test_attributes_survive_encoding(parts: list[tuple[int, bytes]]) -> None:
    assert list(attributes(b"".join(attribute(*part) for part in parts))) == parts


@given(st.binary(max_size=200))
def test_whatever_bytes_come_decoding_ends(payload: bytes) -> None:
    assert sum(4 + len(value) for _, value in attributes(payload)) <= len(payload)
