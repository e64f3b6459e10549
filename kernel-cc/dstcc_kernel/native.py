"""The C++ programs that guests run: compiled once for their sources and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dstcc.atomic import atomic_file
from dstcc.cache import cache_folder, written
from dstcc.errors import MissingCapabilityError

from .names import CODED_CONGESTION
from .sources import folder

FLAGS = ("-std=c++17", "-O2", "-Wall", "-Wextra")
STATIC = "-static"
"""A guest starts such a program in a third of the time."""


SHARED = "dispatch"
"""The folder of headers that the simulator compiles too; every program may include them."""


@dataclass(frozen=True)
class Parts:
    """What a program is compiled of beside the C++ files of its own folder."""

    sources: tuple[Path, ...] = ()
    includes: tuple[Path, ...] = ()
    """Before :data:`SHARED`, in this order."""
    read: tuple[Path, ...] = ()
    """Folders of the headers that are included from there, or single ones, if not all of those."""
    library: str | None = None
    """With its Debian package in :data:`LIBRARIES`; the program is then linked to what is shared."""


ENGINE_ROOMS = ("coding", "congestion", "core", "dispatch", "link", "paths", "tcp")
"""Of the simulator's sources, those with what coded packets need; an installed dstcc has these, and those of ltp."""
LIBRARIES = {"isal": ("isa-l.h", "libisal-dev")}
"""A library's header, by which it is looked for, and its package."""


def has_library(name: str) -> bool:
    """Whether a program can be compiled with a library of :data:`LIBRARIES`."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        return False
    command = [compiler, "-E", "-x", "c++", "-"]
    text = f"#include <{LIBRARIES[name][0]}>"
    return subprocess.run(command, input=text, text=True, capture_output=True, check=False).returncode == 0


def strictness() -> tuple[str, ...]:
    """The flag by which a warning is an error: in our own builds, not in a user's, whose compiler may be newer."""
    return ("-Werror",) if os.environ.get("DSTCC_WERROR") else ()


def program(name: str = "transfer", *more: str) -> Path:
    """The file of the program whose sources are in that folder; see :func:`compiled`."""
    return compiled(name, folder(name), _parts(name), *more)


def compiled(name: str, home: Path, parts: Parts, *more: str) -> Path:
    """The file of the program of the sources in ``home`` and ``parts``, made if it is not there, with ``more`` flags.

    Raises :class:`MissingCapabilityError` where there is no C++ compiler, a library is missing, or it fails.
    """
    sources = (*sorted(home.glob("*.cpp")), *parts.sources)
    includes = (*parts.includes, folder(SHARED))
    shared = parts.library is not None or any(flag.startswith("-fsanitize") for flag in more)
    flags = (*FLAGS, *more) if shared else (*FLAGS, STATIC, *more)
    digest = hashlib.sha256(" ".join(flags).encode())
    for path in _read(sources, (home, folder(SHARED), *(parts.read or parts.includes))):
        digest.update(path.read_bytes())
    made = cache_folder() / "kernel" / f"{name}-{digest.hexdigest()[:16]}"
    if made.exists():
        return made
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise MissingCapabilityError("no C++ compiler: install g++ (on Debian: apt install g++)")
    if parts.library and not has_library(parts.library):
        header, package = LIBRARIES[parts.library]
        raise MissingCapabilityError(
            f"the {name} program needs {header}: install {package} (on Debian: apt install {package})"
        )
    with written():
        made.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(made) as temporary:
            words = [compiler, *flags, *strictness(), *(f"-I{path}" for path in includes)]
            words += [*map(str, sources), "-o", str(temporary)]
            words += [f"-l{parts.library}"] if parts.library else []
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise MissingCapabilityError(
                    f"{compiler} cannot compile the {name} program: {done.stderr[-500:]}"
                )
    made.chmod(0o755)
    return made


def _parts(name: str) -> Parts:
    """``coded`` is the simulator's two ends between real packets: its own files, with ours in the place of links;
    ``transfer`` and ``links`` have the simulator's lines."""
    engine = folder("engine")
    if name in ("flows", "transfer", "links"):
        lines = tuple(sorted((engine / "link").glob("*.cpp"))) if name != "flows" else ()
        headers = (folder("links"), folder("transfer") / "base.hpp", engine / "link", engine / "core")
        return Parts(lines, (engine,), headers)
    if name == "ltp":
        return _ltp_parts()
    if name != "coded":
        return Parts()
    simulated = {
        engine / f"coding/{part}.cpp" for part in ("coded", "stepper", "sending_runs", "receiving_runs")
    }
    ends = {*(engine / "coding").glob("*.cpp")} - simulated
    files = sorted({*CODED_CONGESTION.values(), "table"})
    laws = (engine / f"congestion/{name}.cpp" for name in files)
    lines = (*sorted((engine / "link").glob("*.cpp")), *sorted((engine / "paths").glob("*.cpp")))
    return coded_parts((*sorted(ends), *laws, *lines))


def _ltp_parts() -> Parts:
    """The simulator's two ends of ``ltp``, with ours in the place of what is under way."""
    home, coded, engine, transfer = folder("ltp"), folder("coded"), folder("engine"), folder("transfer")
    ends = {*(engine / "ltp").glob("*.cpp")} - {engine / "ltp/ltp.cpp"}
    lines = (*sorted((engine / "link").glob("*.cpp")), engine / "coding/repair_rule.cpp")
    ours = (coded / "plan.cpp", coded / "datagrams.cpp", transfer / "payloads.cpp")
    headers = (coded / f"{part}.hpp" for part in ("plan", "datagrams", "ends", "trial"))
    theirs = (*headers, transfer / "base.hpp", transfer / "payloads.hpp")
    shared = (
        *(f"coding/{part}.hpp" for part in ("blocks", "loss_heard", "repair_rule")),
        "tcp/segment_set.hpp",
    )
    rooms = ("core", "dispatch", "link", "ltp")
    read = (home, folder("links"), *theirs, *(engine / part for part in (*rooms, *shared)))
    return Parts((*sorted(ends), *lines, *ours), (home / "seam", home, engine), read)


def coded_parts(sources: Sequence[Path]) -> Parts:
    """``sources`` with the headers that the program ``coded`` finds."""
    home, engine, transfer = folder("coded"), folder("engine"), folder("transfer")
    theirs = (transfer / "base.hpp", transfer / "payloads.hpp")
    read = (home, folder("links"), *theirs, *(engine / room for room in ENGINE_ROOMS))
    includes = (home / "seam", home, engine)
    return Parts((*sources, transfer / "payloads.cpp"), includes, read, "isal")


def _read(sources: Sequence[Path], places: Sequence[Path]) -> list[Path]:
    """Every file that a compilation may read of ours: its sources, and the headers at these places."""
    within = (path for place in places for path in (place, *place.rglob("*")))
    return [*sources, *sorted(path for path in within if path.suffix in (".h", ".hpp"))]
