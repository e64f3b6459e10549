"""Whether a program is statically linked, by its ELF file (``elf(5)``)."""

from __future__ import annotations

import struct
from pathlib import Path

MAGIC, BITS_64, LITTLE = b"\x7fELF", 2, 1
INTERPRETER = 3
"""PT_INTERP: the segment that names the dynamic linker, which preloads libraries; a static program has none."""
HEAD = struct.Struct("<16x16xQ14xHH")
"""The file's header up to its program headers' number: their offset, their size, their number."""
MOST_HEADERS = 1024


def is_static(path: Path) -> bool:
    """Whether a file is a 64-bit ELF program without a dynamic linker; a script or another format is not."""
    with path.open("rb") as file:
        head = file.read(HEAD.size)
        if head[:4] != MAGIC or len(head) < HEAD.size or head[4] != BITS_64 or head[5] != LITTLE:
            return False
        offset, size, number = HEAD.unpack(head)
        file.seek(offset)
        headers = file.read(size * min(number, MOST_HEADERS))
    kinds = (headers[at : at + 4] for at in range(0, len(headers), max(1, size)))
    return all(len(kind) < 4 or struct.unpack("<I", kind)[0] != INTERPRETER for kind in kinds)
