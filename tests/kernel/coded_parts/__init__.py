"""Parts of the kernel's program of coded packets by themselves, for tests and benches."""

from __future__ import annotations

from pathlib import Path

from dstcc_kernel.native import coded_parts, compiled
from dstcc_kernel.sources import folder


def parts_program(*flags: str) -> Path:
    """The program of ``main.cpp``, compiled with these flags, too."""
    own = (folder("coded") / f"{part}.cpp" for part in ("code", "controller", "packet", "plan", "store"))
    rules = (folder("engine") / f"coding/{rule}.cpp" for rule in ("blocks", "action"))
    return compiled("coded-parts", Path(__file__).parent, coded_parts((*own, *rules)), *flags)
