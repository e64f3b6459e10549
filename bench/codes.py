"""The erasure code of coded packets with real bytes (``kernel-cc/coded/code.cpp``): GB of source a CPU second."""

from __future__ import annotations

import statistics
import subprocess

from tests.kernel.coded_parts import parts_program

from .figure import Measured

REPEATS = 5
SOURCE, REPAIR, BYTES = 110, 11, 1460
"""Of a code word: source and repair packets, and a packet's payload."""
SECONDS = 0.5


def coded_gb_s() -> Measured:
    """Encoding a word's repair packets, and bringing as many lost source packets back; the slower of both."""
    command = [str(parts_program()), "speed", str(SOURCE), str(REPAIR), str(BYTES), str(SECONDS)]
    rows = []
    for _ in range(REPEATS):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        encoded, decoded = map(float, done.stdout.split())
        rows.append((encoded, decoded))
    encode, decode = (statistics.median(column) for column in zip(*rows, strict=True))
    return Measured(
        min(encode, decode),
        "GB/s CPU",
        "",
        repeats=tuple(min(row) for row in rows),
        details={"encode_gb_s": encode, "decode_gb_s": decode},
        notes=(
            f"k = {SOURCE}, r = {REPAIR}, {BYTES} bytes: encode {encode:.2f} GB/s, decode of {REPAIR} lost "
            f"{decode:.2f} GB/s",
        ),
    )
