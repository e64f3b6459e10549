"""The segments of ``ltp`` and what goes below them, as the kernel's program writes them (``kernel-cc/ltp/segment.hpp``,
``matrices.hpp``; RFC 5326), from a trial's packets: their headers, without the bytes of video."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict, deque

import numpy as np

from dstcc.engine import Objects, Trace

from .datagrams import ACK_ARRIVED, ACK_SENT, CARRIED, DATA_ARRIVED, Datagram, ranges_from

DATA, MEMBER, REPAIR, REPORT_ACK, CANCEL, REFUSAL_ACK = range(6)
"""Kinds of what is sent; a member is data of a matrix."""
REPORT, CANCEL_ACK, REFUSAL, FEEDBACK = range(4)
"""Kinds of what comes back."""
BESIDES = 8
"""Beside a kind: of data, that nobody reports it (green); of a report, that it waited for a matrix; of a refusal, that
there was no room."""

PORT, BELOW = 1113, 1114
"""IANA's of LTP, and that of what is below it, at both ends."""
ENGINE, SERVICE = 1, 16_384
"""The spacecraft's engine, before those of nodes that have custody; a client service for private use."""
RED, CHECKPOINT, END_OF_RED_AND_BLOCK, GREEN, GREEN_END = 0, 1, 3, 4, 7
TYPES_DOWN = {REPORT_ACK: 9, CANCEL: 12, REFUSAL_ACK: 15}
TYPES_UP = {REPORT: 8, CANCEL_ACK: 13, REFUSAL: 14}
"""Segment type codes (section 3.1)."""
BY_SERVICE, RETRIES_EXCEEDED, BY_SYSTEM = 0, 2, 4
"""Why a session is cancelled (section 3.2.4)."""
MEMBER_TAG, WAITED_TAG = 0xC0, 0xC1
PLACE_BYTES = 10
"""Of a matrix's symbol, before a segment's bytes."""


class Segments:
    """Those of the own senders of a trial, by the row of its trace; ``first`` is the number of the first layer's
    session, ``engine`` whose these are."""

    def __init__(
        self, trace: Trace, objects: Objects, mss_bytes: int, *, first: int = 1, engine: int = ENGINE
    ) -> None:
        self._trace, self._mss, self._first_session, self._engine = trace, mss_bytes, first, engine
        self._sizes: list[int] = objects.payload_bytes.tolist()
        self._range: list[int] = ranges_from(trace).tolist()
        self._members: Counter[int] = Counter()
        self._repairs: Counter[int] = Counter()
        self._reports: dict[tuple[int, int, int], int] = {}
        """Serial of the newest report of a layer that came back with that scope."""
        self._answers: dict[tuple[int, int], int] = {}
        """And of that which a checkpoint answers."""
        self._known: dict[int, Datagram] = {}
        self._note()

    def __getitem__(self, row: int) -> Datagram:
        return self._known[row]

    def _note(self) -> None:
        """On a path all arrives in the order in which it was sent, but for what is lost."""
        trace = self._trace
        under_way: defaultdict[tuple[bool, int], deque[Datagram]] = defaultdict(deque)
        for row in np.flatnonzero(trace.sender < trace.senders).tolist():
            event, sender = int(trace.event[row]), int(trace.sender[row])
            up = event in (ACK_SENT, ACK_ARRIVED)
            if event in (DATA_ARRIVED, ACK_ARRIVED):
                made = under_way[up, sender].popleft()
                if event == ACK_ARRIVED and trace.kind[row] & ~BESIDES == REPORT:
                    begin, end = self._named(row)[0]
                    self._reports[int(trace.object[row]), begin, end] = int(trace.number[row]) + 1
            else:
                made = self._up(row) if up else self._down(row)
                if trace.fate[row] == CARRIED:
                    under_way[up, sender].append(made)
            self._known[row] = made

    def _named(self, row: int) -> list[list[int]]:
        ranges: list[list[int]] = self._trace.ranges[self._range[row] : self._range[row + 1]].tolist()
        return ranges

    def _down(self, row: int) -> Datagram:
        trace = self._trace
        kind, besides = int(trace.kind[row]) & ~BESIDES, bool(trace.kind[row] & BESIDES)
        if kind == REPAIR:
            return self._repair(int(trace.order[row]), int(trace.bytes[row]))
        if kind in (DATA, MEMBER):
            return self._data(row, besides)
        fields = b""
        if kind == REPORT_ACK:
            fields = sdnv(int(trace.number[row]) + 1)
        elif kind == CANCEL:
            fields = bytes([BY_SERVICE])
        return Datagram(PORT, PORT, self._head(TYPES_DOWN[kind], row) + fields, 0)

    def _data(self, row: int, green: bool) -> Datagram:
        trace, which, size = self._trace, int(self._trace.object[row]), int(self._trace.bytes[row])
        offset, serial = int(trace.number[row]) * self._mss, int(trace.checkpoint[row])
        last = offset + size == self._sizes[which]
        if serial:
            code = END_OF_RED_AND_BLOCK if last else CHECKPOINT
        else:
            code = (GREEN_END if last else GREEN) if green else RED
        extensions = []
        if trace.kind[row] & ~BESIDES == MEMBER:
            matrix = int(trace.order[row])
            extensions = [(MEMBER_TAG, sdnv(matrix) + sdnv(self._members[matrix]))]
            self._members[matrix] += 1
        fields = [SERVICE, offset, size, *([serial, self._answered(row, serial)] if serial else [])]
        return Datagram(PORT, PORT, self._head(code, row, extensions) + b"".join(map(sdnv, fields)), size)

    def _answered(self, row: int, serial: int) -> int:
        """The serial of the report that a checkpoint answers: none of the first one, which asks about all of it."""
        if serial == 1:
            return 0
        which = int(self._trace.object[row])
        begin, end = self._named(row)[0]
        return self._answers.setdefault((which, serial), self._reports[which, begin, end])

    def _repair(self, matrix: int, symbol_bytes: int) -> Datagram:
        header = struct.pack(">III", matrix, self._members[matrix], self._repairs[matrix])
        self._repairs[matrix] += 1
        return Datagram(BELOW, BELOW, header, (PLACE_BYTES + symbol_bytes + 1) // 2 * 2)

    def _up(self, row: int) -> Datagram:
        trace = self._trace
        kind, besides = int(trace.kind[row]) & ~BESIDES, bool(trace.kind[row] & BESIDES)
        if kind == FEEDBACK:
            return Datagram(
                BELOW, BELOW, struct.pack(">II", int(trace.order[row]), int(trace.number[row])), 0
            )
        if kind == REPORT:
            extensions = [(WAITED_TAG, b"")] if besides else []
            return Datagram(PORT, PORT, self._head(TYPES_UP[kind], row, extensions) + self._report(row), 0)
        reason = BY_SYSTEM if besides else RETRIES_EXCEEDED
        return Datagram(
            PORT, PORT, self._head(TYPES_UP[kind], row) + (bytes([reason]) if kind == REFUSAL else b""), 0
        )

    def _report(self, row: int) -> bytes:
        trace, size = self._trace, self._sizes[int(self._trace.object[row])]
        (lower, upper), *claims = [
            [min(edge * self._mss, size) for edge in named] for named in self._named(row)
        ]
        fields = [int(trace.number[row]) + 1, int(trace.checkpoint[row]), upper, lower, len(claims)]
        for begin, end in claims:
            fields += [begin - lower, end - begin]
        return b"".join(map(sdnv, fields))

    def _head(self, code: int, row: int, extensions: list[tuple[int, bytes]] | None = None) -> bytes:
        session = self._first_session + int(self._trace.object[row])
        more = b"".join(bytes([tag]) + sdnv(len(value)) + value for tag, value in extensions or ())
        return bytes([code]) + sdnv(self._engine) + sdnv(session) + bytes([len(extensions or ()) << 4]) + more


def sdnv(value: int) -> bytes:
    """A number that delimits itself (RFC 6256)."""
    made = bytes([value & 0x7F])
    while value := value >> 7:
        made = bytes([0x80 | value & 0x7F]) + made
    return made
