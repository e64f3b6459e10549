"""Where the kernel side's files that are not Python are: C sources, configurations, specifications.

In a checkout they lie beside this package (``kernel-cc/lab``), in an installed dstcc inside it
(``dstcc_kernel/sources/lab``): ``setup.cfg`` maps one to the other.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
ENGINE = HERE.parents[1] / "dstcc/engine/src"
"""The simulator's sources in a checkout."""


def folder(name: str) -> Path:
    """The folder of that name: ``lab``, ``law``, ``dispatch``, ``coded``, ``flows``, ``links``, ``ltp``,
    ``module``, ``mptcp`` or ``bpf``; ``engine``: the simulator's sources.

    Raises :class:`FileNotFoundError` when this dstcc was packed without it.
    """
    beside = ENGINE if name == "engine" else HERE.parent / name
    for candidate in (HERE / "sources" / name, beside):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"dstcc was installed without its kernel sources ({name})")
