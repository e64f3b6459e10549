"""Which programs are statically linked, by files as elf(5) describes them."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from dstcc_kernel.elf import MOST_HEADERS, is_static

PT_LOAD, PT_INTERP = 1, 3


def elf(
    *kinds: int,
    magic: bytes = b"\x7fELF",
    bits: int = 2,
    order: int = 1,
    size: int = 56,
    at: int = 64,
    number: int | None = None,
) -> bytes:
    """A header of 64 bytes, and program headers of ``size`` bytes that begin with their types."""
    ident = magic + bytes([bits, order, 1]) + bytes(9)
    rest = struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, 0, at, 0, 0, 64, size, len(kinds) if number is None else number, 0, 0, 0
    )
    return (ident + rest).ljust(at, b"\0") + b"".join(
        struct.pack("<I", kind).ljust(size, b"\0") for kind in kinds
    )


@pytest.mark.parametrize(
    ("data", "static"),
    [
        (elf(PT_LOAD, PT_LOAD), True),
        (elf(PT_INTERP), False),
        (elf(PT_LOAD, PT_LOAD, PT_INTERP), False),
        (elf(PT_LOAD, PT_INTERP, at=128), False),
        (elf(PT_LOAD, PT_INTERP, size=80), False),
        (elf(PT_LOAD, PT_INTERP, number=1), True),  # what lies behind the headers is none
        (elf(PT_LOAD), True),
        (elf(), True),
        (elf(PT_INTERP, size=0), True),  # headers of no size have no types
        (elf(PT_LOAD, magic=b"\x7fELG"), False),
        (elf(PT_LOAD, bits=1), False),
        (elf(PT_LOAD, order=2), False),
        (elf(PT_LOAD)[:57], False),
        (elf(PT_LOAD)[:66], True),  # a type that is cut off is none
        (elf(*[PT_LOAD] * (MOST_HEADERS - 1), PT_INTERP), False),
        (elf(*[PT_LOAD] * MOST_HEADERS, PT_INTERP), True),
        (b"#!/bin/sh\n" * 20, False),
        (b"", False),
    ],
)  # fmt: skip
def test_a_program_with_an_interpreter_is_linked_dynamically(
    tmp_path: Path, data: bytes, static: bool
) -> None:
    (tmp_path / "program").write_bytes(data)
    assert is_static(tmp_path / "program") is static


def test_this_python_is_linked_dynamically() -> None:
    assert not is_static(Path(sys.executable))
