"""Parts of the kernel's program of ``ltp`` by themselves, for tests."""

from __future__ import annotations

from pathlib import Path

from dstcc_kernel.native import Parts, compiled
from dstcc_kernel.sources import folder


def parts_program(*flags: str) -> Path:
    """The program of ``main.cpp``, compiled with these flags, too."""
    home = folder("ltp")
    own = tuple(home / f"{part}.cpp" for part in ("field", "matrices", "segment"))
    return compiled("ltp-parts", Path(__file__).parent, Parts(own, (home,), (home,)), *flags)
