"""Bundles (BPv7, RFC 9171) over UDP (RFC 7122) from node to node: sender, storing forwarder, receiver.

    pip install pyd3tn
    dstcc export examples/programs/store.toml --format ionrc -o store.ionrc
    dstcc run examples/programs/store.toml -o runs/bundles --scale 1 --pcapng \\
        --on orbiter "python3 /run/here/examples/programs/bundles.py forward 2 store.ionrc 3=earth" \\
        --on earth "python3 /run/here/examples/programs/bundles.py receive 3" \\
        -- python3 /run/here/examples/programs/bundles.py send 1 3 16 30 orbiter

The forwarder keeps a bundle until the contact plan has a contact to its destination, as an agent with contact graph
routing does; without one it drops the bundle when its lifetime is over. UDP repeats nothing.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import cbor2
from pyd3tn.bundle7 import (
    BlockType,
    Bundle,
    CRCType,
    CreationTimestamp,
    HopCountBlock,
    PayloadBlock,
    PreviousNodeBlock,
    PrimaryBlock,
)

PORT = 4556
"""IANA's of bundles."""
SERVICE, HOP_LIMIT, LIFETIME_S = 1, 8, 3600
BYTES = 400
IDLE_S = 600.0
"""A receiver that has heard something ends after so much silence."""


def here(name: str) -> Path:
    """A file of the folder in which dstcc was called."""
    return Path(os.environ.get("DSTCC_HERE", "."), name)


def put(sock: socket.socket, bundle: Bundle, host: str) -> None:
    """A datagram a bundle."""
    sock.sendto(bytes(bundle), (host, PORT))


def send(own: int, to: int, count: int, every_s: float, host: str) -> None:
    """Make bundles and give them to a neighbour."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(count):
        primary = PrimaryBlock(
            destination=f"ipn:{to}.{SERVICE}",
            source=f"ipn:{own}.{SERVICE}",
            report_to="dtn:none",
            lifetime=LIFETIME_S * 1000,
            crc_type=CRCType.CRC32,
        )
        primary.creation_time = CreationTimestamp(primary.creation_time.time, number)
        payload = PayloadBlock(f"bundle {number} ".encode().ljust(BYTES, b"."), crc_type=CRCType.CRC32)
        put(sock, Bundle(primary, payload, [HopCountBlock(HOP_LIMIT, 0, crc_type=CRCType.CRC32)]), host)
        print(f"sent {number}", flush=True)
        time.sleep(every_s)


def contacts(plan: Path, own: int, to: int) -> list[tuple[float, float]]:
    """When the plan lets one node send to another, in seconds of the run."""
    rows = (line.split() for line in plan.read_text().splitlines() if line.startswith("a contact "))
    return sorted((float(row[2]), float(row[3])) for row in rows if (int(row[4]), int(row[5])) == (own, to))


def forward(own: int, plan: Path, neighbours: dict[int, str]) -> None:
    """Keep what comes until there is a contact to where it goes; for ever."""
    begun = time.monotonic()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("", PORT))
    waiting: list[tuple[Bundle, int]] = []
    plans = {to: contacts(plan, own, to) for to in neighbours}
    while True:
        now = time.monotonic() - begun
        later: list[tuple[Bundle, int]] = []
        for bundle, to in waiting:
            if any(start <= now < end for start, end in plans[to]):
                put(sock, bundle, neighbours[to])
                print(f"{now:.0f} s: forwarded to {to}", flush=True)
            else:
                later.append((bundle, to))
        waiting = later
        opens = [start for _, to in waiting for start, _ in plans[to] if start > now]
        sock.settimeout(max(min(opens) - now, 0.001) if opens else None)
        try:
            data, _ = sock.recvfrom(65_535)
        except TimeoutError:
            continue
        came = Bundle.parse(data)
        hops = next((block for block in came.blocks if block.block_type == BlockType.HOP_COUNT), None)
        limit, count = cbor2.loads(hops.data) if hops is not None else (HOP_LIMIT, 0)
        kept = [PreviousNodeBlock(f"ipn:{own}.0", crc_type=CRCType.CRC32)]
        kept.append(HopCountBlock(limit, count + 1, crc_type=CRCType.CRC32))
        to = came.primary_block.destination[1][0]
        print(f"{time.monotonic() - begun:.0f} s: took a bundle for {to}", flush=True)
        if to in neighbours and count < limit:
            waiting.append((Bundle(came.primary_block, came.payload_block, kept), to))


def receive(own: int) -> None:
    """Say what comes."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("", PORT))
    count = 0
    while True:
        try:
            data, _ = sock.recvfrom(65_535)
        except TimeoutError:
            break
        bundle = Bundle.parse(data)
        assert bundle.primary_block.destination[1][0] == own
        count += 1
        sock.settimeout(IDLE_S)
        print(
            f"{bundle.primary_block.source} {bundle.payload_block.data.split(b'.')[0].decode()}", flush=True
        )
    print(f"{count} bundles", flush=True)


def main(words: list[str]) -> None:
    """The node's part."""
    match words:
        case ["send", own, to, count, every_s, host]:
            send(int(own), int(to), int(count), float(every_s), host)
        case ["forward", own, plan, *pairs]:
            named = dict(pair.split("=") for pair in pairs)
            forward(int(own), here(plan), {int(node): host for node, host in named.items()})
        case ["receive", own]:
            receive(int(own))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
