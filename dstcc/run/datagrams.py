"""The datagrams of coded layers, as the kernel's program writes them (``kernel-cc/coded/packet.hpp``), from a trial's
packets: their headers, but for the CRC, which is 0, as there are no payloads, and for how many packets arrived before
ranges that were passed over, which no log says."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dstcc.engine import Objects, Trace

DATA_SENT, DATA_ARRIVED, ACK_SENT, ACK_ARRIVED = range(4)

EARTH_PORT, FIRST_PORT = 5000, 20_000
"""On the kernel; the spacecraft has one a subflow."""
MAGIC = 0xD5CD
SOURCE, REPAIR, PROBE, SYN, ANSWER, ACK = range(1, 7)
"""Kinds of datagrams."""
SENT_AT = 12
"""Where a data packet has its time of sending."""
PIECE_BYTES = 16
"""What a source packet says of its layer; of a repair packet a sum of these, which nobody made."""
U32, WORD_AT = 0xFFFF_FFFF, 24
"""The order of a probe; other orders are a block, and above these bits its word."""
U8 = 0xFF
"""Of a packet's place in its word, which is longer in the simulator where blocks are not cut into words."""
CARRIED = 0
MOST = 0xFFFF
"""Of packets in a range behind the newest, and missing before it: a wider hole ends an ACK."""
ASKED_REPORTS = 3
"""Of a sender: so many say which of the layers that are asked for are there (``engine/src/coding/flight.hpp``)."""


def ranges_from(trace: Trace) -> NDArray[np.int64]:
    """Where the ranges of each row begin, and where those of the last one end."""
    return np.searchsorted(trace.range_row, np.arange(len(trace.t_ns) + 1))


class Datagram(NamedTuple):
    """What is known of one, and how many bytes follow."""

    craft_port: int
    earth_port: int
    header: bytes
    payload: int


class Datagrams:
    """Those of the own senders of a trial, by the row of its trace."""

    def __init__(self, trace: Trace, objects: Objects, mss_bytes: int, there_ns: Sequence[int] = ()) -> None:
        self._trace, self._there_ns = trace, np.array(there_ns, dtype=np.int64)
        self._answers: Counter[int] = Counter()
        self._first: list[int] = ranges_from(trace).tolist()
        self._known: dict[int, tuple[bytes, int]] = {}
        self._came: dict[tuple[int, int], int] = {}
        """When a packet of a sender was there first."""
        self._note(_Packets(trace, objects, mss_bytes))

    def __getitem__(self, row: int) -> Datagram:
        return Datagram(FIRST_PORT + int(self._trace.sender[row]), EARTH_PORT, *self._known[row])

    def _note(self, packets: _Packets) -> None:
        """An end's packets and answers come as they were sent: a packet by its number, what has none in its turn."""
        trace = self._trace
        sent: dict[tuple[int, int], tuple[bytes, int]] = {}
        began: dict[int, int] = {}  # of the SYN that came last
        under_way: defaultdict[tuple[bool, int], deque[tuple[bytes, int]]] = defaultdict(deque)
        for row in np.flatnonzero(trace.sender < trace.senders).tolist():
            event, sender, number = int(trace.event[row]), int(trace.sender[row]), int(trace.number[row])
            syn, up = bool(trace.syn[row]), event in (ACK_SENT, ACK_ARRIVED)
            if event == DATA_SENT:
                made = packets.next(row)
                if not syn:
                    sent[sender, number] = made
            elif event == DATA_ARRIVED and not syn:
                made = sent[sender, number]
                self._came[sender, number] = int(trace.t_ns[row])
            elif event == ACK_SENT:
                made = self._answer(row, sender, began[sender]) if syn else self._ack(row, sender, sent)
            else:
                made = under_way[up, sender].popleft()
                if not up:
                    (began[sender],) = struct.unpack_from("<q", made[0], SENT_AT)
            if event in (DATA_SENT, ACK_SENT) and (syn or up) and trace.fate[row] == CARRIED:
                under_way[up, sender].append(made)
            self._known[row] = made

    def _answer(self, row: int, sender: int, began_ns: int) -> tuple[bytes, int]:
        took_ns = int(self._trace.t_ns[row]) - began_ns
        return _common(ANSWER, sender) + struct.pack("<qqI", began_ns, took_ns, 0), 0

    def _ack(
        self, row: int, sender: int, sent: Mapping[tuple[int, int], tuple[bytes, int]]
    ) -> tuple[bytes, int]:
        ranges = self._trace.ranges[self._first[row] : self._first[row + 1]].tolist()
        begin, end = ranges[-1]
        came = self._came[sender, end - 1]
        (left,) = struct.unpack_from("<q", sent[sender, end - 1][0], SENT_AT)
        older = []
        for (low, high), (after, _) in zip(ranges[-2::-1], ranges[:0:-1], strict=True):
            if after - high > MOST:
                break
            older.append(struct.pack("<HH", after - high, min(high - low, MOST)))
            if high - low > MOST:
                break
        at_ns, there = int(self._trace.t_ns[row]), b""
        if self._answers[sender] < ASKED_REPORTS:
            there = np.packbits(self._there_ns <= at_ns, bitorder="little").tobytes()
            self._answers[sender] += 1
        said = struct.pack(
            "<IqqHHI", end & U32, at_ns - came, came - left, 1 + len(older), len(there), end - begin
        )
        return _common(ACK, sender) + said + b"".join(older) + there, 0


class _Packets:
    """Data packets in the order in which they are sent."""

    def __init__(self, trace: Trace, objects: Objects, mss_bytes: int) -> None:
        self._trace, self._sizes, self._mss = trace, objects.payload_bytes.tolist(), mss_bytes
        self._of_object: Counter[int] = Counter()
        self._of_block: Counter[int] = Counter()
        self._of_word: Counter[tuple[int, int, bool]] = Counter()

    def next(self, row: int) -> tuple[bytes, int]:
        trace = self._trace
        sender, order, which = int(trace.sender[row]), int(trace.order[row]), int(trace.object[row])
        payload = int(trace.bytes[row])
        kind = SYN if trace.syn[row] else PROBE if order == U32 else SOURCE if which >= 0 else REPAIR
        head = _common(kind, sender) + struct.pack("<Iq", int(trace.number[row]) & U32, int(trace.t_ns[row]))
        if kind in (SYN, PROBE):
            return head + bytes(8 + PIECE_BYTES), payload
        block, word = order & (1 << WORD_AT) - 1, order >> WORD_AT
        index = self._of_word[block, word, kind == SOURCE] & U8
        self._of_word[block, word, kind == SOURCE] += 1
        if kind == REPAIR:
            return head + struct.pack(
                "<IBBH", block, word, index, self._of_block[block]
            ), PIECE_BYTES + payload
        self._of_block[block] += 1
        offset = self._of_object[which] * self._mss
        self._of_object[which] += 1
        piece = struct.pack("<IIIHH", which, offset, self._sizes[which], payload, 0)
        return head + struct.pack("<IBBH", block, word, index, 0) + piece, payload


def _common(kind: int, sender: int) -> bytes:
    return struct.pack("<HBBI", MAGIC, kind, sender & 0xFF, 0)
