"""Parts of the program for coded packets by themselves: its code, and what it makes of any datagrams."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from dstcc_kernel.coded import SETTINGS
from dstcc_kernel.coded_plan import coded_job, in_words, write_plan
from dstcc_kernel.plan import job_of

from dstcc.engine import EngineConfig

from .coded_parts import parts_program
from .test_coded import config_of, scenario

MSS, PREFIX, MAGIC = 1460, 16, 0xD5CD
SOURCE, REPAIR, PROBE, SYN, ANSWER, ACK = range(1, 7)
CHECKED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def said(*words: str, given: bytes = b"", checked: bool = True) -> str:
    """What the parts' program prints; a read beyond a datagram ends the checked one."""
    command = [str(parts_program(*(CHECKED if checked else ()))), *words]
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_any_k_symbols_of_a_word_bring_it_back() -> None:
    for seed in (1, 2):
        assert said("code", str(seed), "100") == "100\n"


# ------------------------------------------------------------------------------------ the code, a second time


@cache
def inverse(value: int) -> int:
    return next(other for other in range(1, 256) if times(value, other) == 1)


@cache
def times(a: int, b: int) -> int:
    """In GF(2^8) by x^8 + x^4 + x^3 + x^2 + 1, as ISA-L has it."""
    product = 0
    while b:
        product ^= a * (b & 1)
        a, b = (a << 1) ^ (0x11D * (a >> 7)), b >> 1
    return product


def repair_symbol(symbols: list[bytes], row: int, size: int) -> bytes:
    """The sum of a word's symbols, with 1 / ((k + row) xor i)."""
    total = np.zeros(size, dtype=np.uint8)
    for i, symbol in enumerate(symbols):
        factor = inverse((len(symbols) + row) ^ i)
        table = np.array([times(factor, value) for value in range(256)], dtype=np.uint8)
        total ^= table[np.frombuffer(symbol.ljust(size, b"\0"), dtype=np.uint8)]
    return total.tobytes()


# ------------------------------------------------------------------------------------------------ datagrams


@dataclass(frozen=True)
class Packet:
    """A data packet before it is written; ``symbol`` with its prefix."""

    kind: int
    block: int
    word: int
    index: int
    k: int
    symbol: bytes
    subflow: int = 0

    def datagram(self) -> bytes:
        head = struct.pack("<HBBI", MAGIC, self.kind, self.subflow, 0)
        head += struct.pack("<IqIBBH", 7, 1000, self.block, self.word, self.index, self.k)
        return sealed(head + self.symbol)


def sealed(datagram: bytes) -> bytes:
    blank = datagram[:4] + bytes(4) + datagram[8:]
    return datagram[:4] + struct.pack("<I", zlib.crc32(blank)) + datagram[8:]


def made_bytes(object_: int, size: int) -> bytes:
    """The layers' bytes where there is no video, as ``payloads.cpp`` makes them."""
    mask = (1 << 64) - 1
    words = range(-(-size // 8))
    made = (((object_ * 0x9E3779B97F4A7C15 & mask) ^ i) * 0xD1342543DE82EF95 & mask for i in words)
    return b"".join(word.to_bytes(8, "little") for word in made)[:size]


class Mission:
    """A plan for the reader, and the packets that a sender would make of it."""

    def __init__(self, folder: Path, *, code_word: int = 255) -> None:
        given = scenario(loop_to_s=20, coding={"code_word": code_word})
        self.config: EngineConfig = in_words(config_of(given))
        job = coded_job(job_of(self.config, program=Path()), self.config)
        write_plan(job, self.config, folder)
        self.plan = folder / SETTINGS
        coding, objects = self.config.coding, self.config.objects
        assert coding is not None
        self.block_of = coding.period * 2 + objects.layer
        self.words = coding.words or (1, 1)

    def sources(self, block: int) -> list[list[Packet]]:
        """Its source packets by word."""
        words = self.words[block % 2]
        made: list[list[Packet]] = [[] for _ in range(words)]
        place = 0
        for object_ in np.flatnonzero(self.block_of == block).tolist():
            payload = made_bytes(object_, int(self.config.objects.payload_bytes[object_]))
            for offset in range(0, len(payload), MSS):
                part = payload[offset : offset + MSS]
                symbol = struct.pack("<IIIHH", object_, offset, len(payload), len(part), 0) + part
                word = made[place % words]
                word.append(Packet(SOURCE, block, place % words, len(word), 0, symbol))
                place += 1
        return made

    def repair(self, block: int, word: int, row: int) -> Packet:
        words = self.sources(block)
        symbols = [packet.symbol for packet in words[word]]
        size = max(len(packet.symbol) for each in words for packet in each)
        k = sum(map(len, words))
        return Packet(REPAIR, block, word, row, k, repair_symbol(symbols, row, size))

    def read(self, datagrams: Iterator[bytes] | list[bytes]) -> dict[str, int]:
        stream = b"".join(struct.pack("<I", len(datagram)) + datagram for datagram in datagrams)
        counts: dict[str, int] = json.loads(said("read", str(self.plan), given=stream))
        assert counts["wrong"] == 0
        return counts


@pytest.fixture(scope="module")
def mission(tmp_path_factory: pytest.TempPathFactory) -> Mission:
    return Mission(tmp_path_factory.mktemp("mission"))


def test_what_is_lost_is_put_together_from_repair_packets(mission: Mission) -> None:
    """By a code of our own, whose factors are written down here: the program decodes what it says it does."""
    for block in range(4):
        [word] = mission.sources(block)
        lost = {0, 3, len(word) - 1}
        packets = [packet for i, packet in enumerate(word) if i not in lost]
        packets += [mission.repair(block, 0, row) for row in (5, 0, 2)]
        counts = mission.read([packet.datagram() for packet in packets])
        assert (counts["decoded"], counts["taken"]) == (1, len(packets))
        assert counts["parts"] == (mission.block_of == block).sum()
        one_less = mission.read([packet.datagram() for packet in packets[:-1]])
        assert one_less["decoded"] == 0 and one_less["parts"] < counts["parts"]


def test_each_word_of_a_block_is_brought_back_by_itself(tmp_path: Path) -> None:
    mission = Mission(tmp_path, code_word=40)
    words = mission.sources(0)
    assert len(words) > 1
    packets = [packet for word in words for packet in word[1:]]
    repair = [mission.repair(0, word, 1) for word in range(len(words))]
    assert mission.read([packet.datagram() for packet in packets + repair])["decoded"] == 1
    same = [mission.repair(0, 0, row) for row in range(len(words))]
    assert mission.read([packet.datagram() for packet in packets + same])["decoded"] == 0


def variants(mission: Mission) -> Iterator[Packet]:
    """Packets that are whole, and wrong: each of them differs in one thing from one that is taken."""
    source, repair = mission.sources(0)[0][1], mission.repair(0, 0, 1)
    k = repair.k
    for packet in (source, repair):
        yield replace(packet, block=len(mission.block_of))
        yield replace(packet, block=packet.block + 1) if packet is source else replace(packet, block=9)
        yield replace(packet, word=1)
        yield replace(packet, index=255)
        yield replace(packet, subflow=1)
        yield replace(packet, kind=9)
        yield replace(packet, symbol=packet.symbol[:PREFIX])
        yield replace(packet, symbol=b"")
    yield replace(source, symbol=source.symbol[:-1])
    yield replace(source, symbol=source.symbol + b"\0")
    yield replace(source, k=k)
    for at, value in ((0, 10**6), (0, 1), (4, 7), (4, 10**6), (8, 3), (12, 5)):
        changed = source.symbol[:at] + struct.pack("<I", value) + source.symbol[at + 4 :]
        yield replace(source, symbol=changed)
    yield replace(repair, k=0)
    yield replace(repair, k=k + 1)
    yield replace(repair, index=255 - k)
    yield replace(repair, symbol=repair.symbol + bytes(1))


def test_what_is_of_no_block_or_of_another_size_is_dropped_and_counted(mission: Mission) -> None:
    wrong = [packet.datagram() for packet in variants(mission)]
    counts = mission.read(wrong)
    assert (counts["fields"], counts["taken"], counts["damaged"]) == (len(wrong), 0, 0)


def test_nothing_of_what_was_dropped_is_used(mission: Mission) -> None:
    [word] = mission.sources(0)
    right = [packet.datagram() for packet in word[1:]] + [mission.repair(0, 0, 0).datagram()]
    wrong = [packet.datagram() for packet in variants(mission)]
    counts = mission.read([*wrong, *right])
    assert (counts["decoded"], counts["taken"]) == (1, len(right))


def test_a_place_that_is_taken_is_not_taken_again(mission: Mission) -> None:
    [word] = mission.sources(0)
    right = [packet.datagram() for packet in (*word[1:8], mission.repair(0, 0, 0))]
    counts = mission.read([*right, *right])
    assert (counts["again"], counts["taken"]) == (len(right), len(right))


def test_a_block_that_was_forgotten_since_all_was_there_is_back_with_its_repair(mission: Mission) -> None:
    [word] = mission.sources(0)
    right = [packet.datagram() for packet in word]
    counts = mission.read([*right, b"", mission.repair(0, 0, 0).datagram()])
    assert (counts["decoded"], counts["parts"]) == (1, (mission.block_of == 0).sum())


def test_what_comes_when_all_deadlines_are_over_is_not_used(mission: Mission) -> None:
    [word] = mission.sources(0)
    datagrams = [packet.datagram() for packet in (*word[1:], mission.repair(0, 0, 0))]
    counts = mission.read([*datagrams[:30], b"\0", *datagrams[30:]])
    assert (counts["decoded"], counts["taken"]) == (0, len(datagrams))
    assert counts["parts"] < (mission.block_of == 0).sum()
    assert mission.read(datagrams)["decoded"] == 1


def test_a_repair_packet_of_another_k_or_size_than_its_blocks_is_dropped(mission: Mission) -> None:
    first, second = (mission.repair(0, 0, row) for row in (0, 1))
    for other in (
        replace(second, k=second.k - 1),
        replace(second, symbol=second.symbol[:-1]),
    ):
        counts = mission.read([first.datagram(), other.datagram()])
        assert (counts["taken"], counts["fields"]) == (1, 1)
    # and of fewer source packets than there are, or shorter than one of them
    [word] = mission.sources(0)
    few = replace(first, k=20)
    short = replace(first, symbol=first.symbol[:1000])
    for other in (few, short):
        counts = mission.read([word[30].datagram(), other.datagram()])
        assert (counts["taken"], counts["fields"]) == (1, 1)


def test_a_damaged_datagram_is_dropped(mission: Mission) -> None:
    draw = random.Random(1)
    [word] = mission.sources(0)
    damaged = []
    for _ in range(2000):
        datagram = bytearray(draw.choice(word).datagram())
        if draw.random() < 0.3:
            datagram = datagram[: draw.randrange(len(datagram))]
        else:
            datagram[draw.randrange(len(datagram))] ^= 1 << draw.randrange(8)
        damaged.append(bytes(datagram))
    counts = mission.read(damaged)
    assert (counts["damaged"], counts["taken"]) == (len(damaged), 0)
    assert counts["heard_damaged"] == len(damaged)


def test_an_answer_has_a_bit_for_each_layer_that_is_asked_for(mission: Mission) -> None:
    """The reader asks for twelve: two bytes, which its ACK names, or none."""

    def ack(named: int, answer: bytes) -> bytes:
        head = struct.pack("<HBBI", MAGIC, ACK, 0, 0) + struct.pack("<IqqHHI", 5, 0, 10, 1, named, 5)
        return sealed(head + answer)

    fine = [ack(2, b"\xff\x0f"), ack(2, bytes(2)), ack(0, b"")]
    bad = [ack(3, bytes(3)), ack(1, bytes(1)), ack(2, b""), ack(0, bytes(2)), ack(2, bytes(3))]
    assert mission.read(fine)["heard_fields"] == 0
    assert mission.read(bad)["heard_fields"] == len(bad)


def test_any_bytes_are_read_without_harm(mission: Mission) -> None:
    """Also those whose CRC is right: all fields are drawn, most of them near what is possible."""
    draw = random.Random(2)
    stream = [b"", b"\0", bytes(7), bytes(8)]
    for _ in range(4000):
        body = bytearray(draw.randbytes(draw.choice((0, 1, 19, 20, 28, 35, 36, 40, 200, 1480))))
        for at in range(0, len(body) - 4, 4):
            if draw.random() < 0.7:
                body[at : at + 4] = struct.pack("<I", draw.choice((0, 1, 2, 60, 255, 1460, 2**31, 2**32 - 1)))
        head = struct.pack("<HBBI", MAGIC, draw.randrange(8), draw.choice((0, 0, 1, 255)), 0)
        stream.append(sealed(head + bytes(body)))
    counts = mission.read(stream)
    assert counts["taken"] == counts["parts"] == counts["decoded"] == 0
    assert counts["heard_fields"] > 0
