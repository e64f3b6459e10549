"""Where the kernel side's files that are not Python are: C sources, configurations, specifications.

In a checkout they lie beside this package (``kernel-cc/lab``), in an installed dstcc inside it
(``dstcc_kernel/sources/lab``): ``setup.cfg`` maps one to the other.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder of that name: ``lab``, ``law``, ``dispatch``, ``module``, ``mptcp`` or ``bpf``.

    Raises :class:`FileNotFoundError` when this dstcc was packed without it.
    """
    for candidate in (HERE / "sources" / name, HERE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"dstcc was installed without its kernel sources ({name})")
