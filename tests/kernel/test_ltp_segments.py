"""Segments of ltp as bytes: what is written is RFC 5326's, and any bytes may come in."""

from __future__ import annotations

import json
import random
import struct
import subprocess
from collections.abc import Iterable
from typing import Any

from .ltp_parts import parts_program

CHECKED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
SERVICE = 16_384
DATA, CHECKPOINT, END, GREEN, REPORT, ACK, CANCEL, CANCEL_ACK = 0, 1, 3, 4, 8, 9, 12, 13


def said(*words: str, given: bytes = b"") -> list[Any]:
    """What the parts' program prints; a read beyond a datagram ends it."""
    done = subprocess.run(
        [str(parts_program(*CHECKED)), *words], input=given, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def stream(datagrams: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack("<I", len(one)) + one for one in datagrams)


def read(*datagrams: bytes) -> list[Any]:
    return said("read", given=stream(datagrams))


def number(value: int) -> bytes:
    """RFC 6256, section 2: seven bits a byte, the highest first, a set bit before each but the last."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F | 0x80)
    return bytes(reversed(groups))


def segment(kind: int, session: int, body: bytes, extensions: bytes = b"", counts: int = 0) -> bytes:
    """RFC 5326, section 3.1: version and type, session id, counts of extensions, those of the header, content."""
    return bytes([kind]) + number(1) + number(session) + bytes([counts]) + extensions + body


def test_numbers_are_those_of_the_rfcs_examples() -> None:
    """RFC 6256, section 2: 0xABC is 0x95 0x3C, 0x1234 is 0xA4 0x34, 0x4234 is 0x81 0x84 0x34, 0x7F is itself."""
    examples = {0xABC: "953c", 0x1234: "a434", 0x4234: "818434", 0x7F: "7f"}
    assert {value: number(value).hex() for value in examples} == examples
    for value in (*examples, 0, 1, 127, 128, 2**32, 2**63, 2**64 - 1):
        [one] = read(segment(ACK, value, number(5)))
        assert one["session"] == value
        assert one["again"] == segment(ACK, value, number(5)).hex()


def test_each_kind_is_read_and_written_as_the_rfc_has_it() -> None:
    place = number(SERVICE) + number(2920) + number(4)
    report = b"".join(map(number, (7, 3, 14_600, 1460, 2, 0, 1460, 4380, 2920)))
    given = [
        segment(DATA, 300, place + b"\1\2\3\4"),
        segment(END, 300, place + number(9) + number(0) + b"\1\2\3\4"),
        segment(CHECKPOINT, 300, place + number(10) + number(7) + b"\1\2\3\4"),
        segment(GREEN, 2, place + b"\1\2\3\4"),
        segment(REPORT, 300, report),
        segment(ACK, 300, number(7)),
        segment(CANCEL, 300, b"\2"),
        segment(CANCEL_ACK, 300, b""),
        segment(DATA, 5, place + b"abcd", b"\xc0" + number(3) + number(200) + number(4), 0x10),
        segment(REPORT, 5, report, b"\xc1\0", 0x10),
    ]
    rows = read(*given)
    assert [row["again"] for row in rows] == [one.hex() for one in given]
    data, end, later, green, told, ack, cancel, _, member, waited = rows
    assert (data["session"], data["offset"], data["data"]) == (300, 2920, "01020304")
    assert (end["checkpoint"], end["report"]) == (9, 0)
    assert (later["checkpoint"], later["report"]) == (10, 7)
    assert green["type"] == GREEN
    assert (told["report"], told["checkpoint"], told["upper"], told["lower"]) == (7, 3, 14_600, 1460)
    assert told["claims"] == [[0, 1460], [4380, 2920]]
    assert (ack["report"], cancel["reason"]) == (7, 2)
    assert (member["matrix"], member["place"]) == (200, 4)
    assert waited["waited"] == 1 and told["waited"] == 0


def test_what_is_no_whole_segment_is_none() -> None:
    place = number(SERVICE) + number(0) + number(4)
    whole = segment(DATA, 300, place + b"\1\2\3\4")
    wrong = [whole[:cut] for cut in range(len(whole))]
    wrong += [
        whole + b"\0",
        b"\x10" + whole[1:],  # version 1
        *(segment(kind, 1, place + b"\1\2\3\4") for kind in (10, 11)),  # no such types
        segment(DATA, 1, number(SERVICE) + number(0) + number(2**63) + b"\1"),
        segment(REPORT, 1, b"".join(map(number, (1, 1, 10, 0, 2**40)))),
        bytes([ACK]) + b"\xff" * 12 + b"\0\0\0",  # a number beyond 64 bits
        segment(DATA, 1, place + b"\1\2\3\4", b"\xc0" + number(200), 0x10),
    ]
    assert read(*wrong) == [None] * len(wrong)


def test_any_bytes_are_read_without_harm() -> None:
    draw = random.Random(1)
    place = number(SERVICE) + number(1460) + number(40)
    seeds = [
        segment(END, 300, place + number(9) + number(0) + bytes(40)),
        segment(REPORT, 300, b"".join(map(number, (7, 3, 14_600, 1460, 2, 0, 1460, 4380, 2920)))),
        segment(DATA, 5, place + bytes(40), b"\xc0" + number(3) + number(200) + number(4), 0x10),
    ]
    given = [draw.randbytes(draw.randrange(60)) for _ in range(2000)]
    for _ in range(4000):
        changed = bytearray(draw.choice(seeds))
        for _ in range(draw.randrange(1, 4)):
            changed[draw.randrange(len(changed))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        given.append(bytes(changed[: draw.choice((len(changed), draw.randrange(len(changed))))]))
    rows = read(*given)
    assert len(rows) == len(given)
    assert 0 < sum(row is not None for row in rows) < len(rows)
    for _ in range(2000):
        head = struct.pack(
            ">III", draw.choice((0, 1, 2)), draw.choice((0, 1, 3, 65_535, 2**32 - 1)), draw.randrange(4)
        )
        given.append(head + draw.randbytes(draw.choice((0, 9, 10, 11, 12, 60))))
    [counts] = said("below", given=stream(given))
    assert counts["taken"] > 0


def test_a_matrix_comes_back_from_any_of_its_segments() -> None:
    assert said("code", "1", "60") == [60]
