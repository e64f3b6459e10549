"""What keeps a guest to itself on this host, beside its own kernel: asked of ``boot``, which tries it around nothing.

``kernel-cc/lab/confine.c`` says what each part does, ``filter.c`` which system calls are left.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from dstcc.errors import KernelError

from .programs import programs

PATIENCE_S = 30.0


@lru_cache
def lacking() -> tuple[str, ...]:
    """The parts that this host has not or forbids, each with its reason; none is good.

    Raises :class:`~dstcc.errors.MissingCapabilityError` without a C compiler, and :class:`~dstcc.errors.KernelError`
    where that cannot be found out.
    """
    with tempfile.TemporaryDirectory(prefix="dstcc-confinement-") as name:
        (Path(name) / "out").mkdir()
        words = [str(programs() / "boot"), "--check"]
        try:
            tried = subprocess.run(
                words, cwd=name, capture_output=True, text=True, check=False, timeout=PATIENCE_S
            )
        except subprocess.TimeoutExpired:
            raise KernelError(
                f"a guest's confinement cannot be tried: it takes more than {PATIENCE_S:g} s"
            ) from None
    if tried.returncode != 0:
        said = (tried.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise KernelError(f"a guest's confinement cannot be tried: {said}")
    return tuple(tried.stdout.splitlines())
