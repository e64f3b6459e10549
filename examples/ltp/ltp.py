#!/usr/bin/env python3
"""A block by LTP (RFC 5326), all of it red, over UDP (RFC 7122): a receiver of one, and a sender.

    ltp.py receive --rtt S
    ltp.py send HOST BYTES --rate BPS --rtt S

Both end with a line of JSON. The sender keeps to the link's rate; either end repeats what is unanswered after a round
trip and a second: a checkpoint, a report.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

PORT, ENGINE, SESSION, SERVICE = 1113, 1, 1, 16384
"""The service is of those for private use."""
PAYLOAD, LARGEST = 1400, 65_536
CHECKPOINT, END, REPORT, ANSWER = 1, 3, 8, 9
"""Types of segments: red data at whose end a report is due; the same at the block's end; a report; what acknowledges
one."""
SPARE_S = 1.0
"""Beyond a round trip."""
TRIES = 20


def number(value: int) -> bytes:
    """An SDNV: seven bits a byte, the highest first, all but the last with bit 7 set."""
    parts = [value & 0x7F]
    while value := value >> 7:
        parts.append(value & 0x7F | 0x80)
    return bytes(reversed(parts))


def numbers(data: bytes) -> Iterator[int]:
    """All SDNVs from a place on."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            yield value
            value = 0


def segment(kind: int, *values: int, data: bytes = b"") -> bytes:
    """A segment of our session, without extensions."""
    head = bytes([kind]) + number(ENGINE) + number(SESSION) + b"\0"
    return head + b"".join(map(number, values)) + data


def parsed(raw: bytes) -> tuple[int, list[int]]:
    """A segment's kind and the numbers of its content; of data the first five, of which two are a checkpoint's."""
    read = numbers(raw[1:])
    given = [next(read), next(read), next(read)]
    if raw[0] >> 4 or given != [ENGINE, SESSION, 0]:
        raise ValueError("another session, or extensions")
    if raw[0] <= END:
        return raw[0], [next(read) for _ in range(5 if raw[0] else 3)]
    return raw[0], list(read)


def gaps(size: int, claims: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """What claims leave of a block, from and to."""
    found, at = [], 0
    for start, end in sorted(claims):
        if start > at:
            found.append((at, start))
        at = max(at, end)
    return [*found, (at, size)] if at < size else found


def merged(claims: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes in as few claims as there can be."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(claims):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


class End:
    """What both ends share: a socket, and one thing that is to be answered in time."""

    def __init__(self, patience_s: float) -> None:
        self.line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.began, self.patience_s = time.monotonic(), patience_s
        self.again: Callable[[], None] | None = None
        self.due, self.tries = 0.0, 0
        self.said: dict[str, Any] = {"sent_segments": 0, "repeats": 0}

    def send(self, raw: bytes, to: tuple[str, int]) -> None:
        """A datagram."""
        self.line.sendto(raw, to)
        self.said["sent_segments"] += 1

    def expect(self, again: Callable[[], None] | None) -> None:
        """Call that if no answer comes."""
        self.again, self.due, self.tries = again, time.monotonic() + self.patience_s, 0

    def next(self) -> tuple[int, list[int], tuple[str, int]] | None:
        """What comes next; nothing where nobody has answered for long."""
        while True:
            left = None if self.again is None else max(0.0, self.due - time.monotonic())
            if select.select([self.line], [], [], left)[0]:
                raw, address = self.line.recvfrom(LARGEST)
                try:
                    return *parsed(raw), address
                except (ValueError, StopIteration):
                    continue
            if self.again is None or self.tries == TRIES:
                return None
            self.tries += 1
            self.said["repeats"] += 1
            self.due = time.monotonic() + self.patience_s
            self.again()

    def finish(self, complete: bool) -> int:
        """The last line, and the exit code."""
        print(json.dumps(self.said | {"done_s": time.monotonic() - self.began}))
        return int(not complete)


def send(host: str, size: int, rate_bps: float, rtt_s: float) -> int:
    """0 where all has arrived."""
    end, to = End(rtt_s + SPARE_S), (socket.gethostbyname(host), PORT)
    end.said |= {"bytes": size, "data_bytes": 0}
    serial = 0

    def data(ranges: list[tuple[int, int]], report: int) -> None:
        nonlocal serial
        serial += 1
        pieces = [
            (at, min(at + PAYLOAD, stop)) for start, stop in ranges for at in range(start, stop, PAYLOAD)
        ]
        for start, stop in pieces:
            last = (start, stop) == pieces[-1]
            kind = (END if stop == size else CHECKPOINT) if last else 0
            about = (serial, report) if last else ()
            raw = segment(kind, SERVICE, start, stop - start, *about, data=bytes(stop - start))
            end.send(raw, to)
            end.said["data_bytes"] += stop - start
            time.sleep((len(raw) + 28) * 8 / rate_bps)
        end.expect(lambda: end.send(raw, to))

    data([(0, size)], 0)
    while (came := end.next()) is not None:
        kind, content, address = came
        if kind != REPORT:
            continue
        report, checkpoint, _upper, lower, _, *claims = content
        end.send(segment(ANSWER, report), address)
        if checkpoint != serial:
            continue
        pairs = zip(claims[::2], claims[1::2], strict=True)
        missing = gaps(size, [(lower + offset, lower + offset + length) for offset, length in pairs])
        if not missing:
            return end.finish(complete=True)
        data(missing, report)
    return end.finish(complete=False)


def receive(patience_s: float) -> int:
    """0 where a whole block has come."""
    end, came, size, serial, complete = End(patience_s), list[tuple[int, int]](), 0, 0, False
    end.said |= {"bytes": 0}
    end.line.bind(("", PORT))
    while (got := end.next()) is not None:
        kind, content, address = got
        if kind == ANSWER and content[0] == serial:
            end.expect(None)
            if complete:
                return end.finish(complete=True)
        if kind > END:
            continue
        start, length = content[1:3]
        came = merged([*came, (start, start + length)])
        end.said["bytes"] = sum(stop - begin for begin, stop in came)
        size = start + length if kind == END else size
        if kind:
            serial += 1
            complete = bool(size) and came == [(0, size)]
            upper = max(stop for _, stop in came)
            claims = [value for begin, stop in came for value in (begin, stop - begin)]
            report = segment(REPORT, serial, content[3], upper, 0, len(came), *claims)
            end.send(report, address)
            end.expect(lambda report=report, address=address: end.send(report, address))
    return end.finish(complete)


def main() -> int:
    """Do as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    does = parser.add_subparsers(required=True, dest="does")
    receives = does.add_parser("receive")
    sends = does.add_parser("send")
    sends.add_argument("host")
    sends.add_argument("bytes", type=int)
    sends.add_argument("--rate", type=float, required=True, metavar="BPS")
    for one in (receives, sends):
        one.add_argument("--rtt", type=float, required=True, metavar="S")
    given = parser.parse_args()
    if given.does == "receive":
        return receive(given.rtt + SPARE_S)
    return send(given.host, given.bytes, given.rate, given.rtt)


if __name__ == "__main__":
    sys.exit(main())
