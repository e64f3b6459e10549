"""The small C programs around a guest (``kernel-cc/lab``), compiled once for their sources and kept in the cache.

``boot`` starts and ends the kernel, ``host.so`` is what it sees of its host, ``init`` is the guest's first process;
``preload.so`` is loaded into the programs of ``dstcc run``.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from dstcc.atomic import atomic_directory
from dstcc.cache import cache_folder, written
from dstcc.errors import KernelError, MissingCapabilityError
from dstcc.outputs import Kind

from .native import strictness
from .sources import folder

FLAGS = ("-O2", "-Wall", "-Wextra")
PROGRAMS = {
    "boot": (("boot.c", "confine.c"), ()),
    "init": (("init.c",), ("-static",)),  # runs where there are no libraries yet
    "host.so": (("host.c", "filter.c"), ("-shared", "-fPIC")),
    "preload.so": (("preload.c",), ("-shared", "-fPIC")),
}
HEADERS = ("confine.h",)

BUILT_PROGRAMS = Kind("the programs", lambda _path: None, folder=True)
"""By its name; two that compile at once replace each other's."""


def programs() -> Path:
    """The folder with all of :data:`PROGRAMS`, compiled now if it is not there.

    Raises :class:`MissingCapabilityError` without a C compiler, :class:`KernelError` with what it says.
    """
    digest = hashlib.sha256(repr((FLAGS, PROGRAMS)).encode())
    for file in (*HEADERS, *(file for files, _ in PROGRAMS.values() for file in files)):
        digest.update((folder("lab") / file).read_bytes())
    made = cache_folder() / "kernel" / f"programs-{digest.hexdigest()[:12]}"
    if not made.is_dir():
        if shutil.which("gcc") is None:
            raise MissingCapabilityError("guests cannot be started: apt install gcc libc6-dev")
        with written(), atomic_directory(made, replaces=BUILT_PROGRAMS) as work:
            for name, (files, options) in PROGRAMS.items():
                sources = [str(folder("lab") / file) for file in files]
                _compile([*FLAGS, *strictness(), *options, "-o", str(work / name), *sources])
    return made


def _compile(words: list[str]) -> None:
    done = subprocess.run(["gcc", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise KernelError(
            f"{Path(words[-1]).name} does not compile: {(done.stderr.splitlines() or ['?'])[0]}"
        )
