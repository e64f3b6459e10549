"""The C++ programs that guests run: compiled once for their sources and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from dstcc.atomic import atomic_file
from dstcc.cache import cache_folder, written
from dstcc.errors import MissingCapabilityError

from .sources import folder

FLAGS = ("-std=c++17", "-O2", "-Wall", "-Wextra", "-static")
"""Static: a guest starts it in a third of the time."""


SHARED = "dispatch"
"""The folder of headers that the simulator compiles too; every program may include them."""


def strictness() -> tuple[str, ...]:
    """The flag by which a warning is an error: in our own builds, not in a user's, whose compiler may be newer."""
    return ("-Werror",) if os.environ.get("DSTCC_WERROR") else ()


def program(name: str = "transfer") -> Path:
    """The file of the program whose sources are in that folder, compiled if it is not there.

    Raises :class:`MissingCapabilityError` where there is no C++ compiler or it fails.
    """
    home = folder(name)
    sources = sorted(home.glob("*.cpp"))
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in (*sorted(home.iterdir()), *sorted(folder(SHARED).iterdir())):
        digest.update(path.read_bytes())
    made = cache_folder() / "kernel" / f"{name}-{digest.hexdigest()[:16]}"
    if made.exists():
        return made
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise MissingCapabilityError("no C++ compiler: install g++ (on Debian: apt install g++)")
    with written():
        made.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(made) as temporary:
            include = f"-I{folder(SHARED)}"
            command = [compiler, *FLAGS, *strictness(), include, *map(str, sources), "-o", str(temporary)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise MissingCapabilityError(
                    f"{compiler} cannot compile the {name} program: {done.stderr[-500:]}"
                )
    made.chmod(0o755)
    return made
