"""Compile the engine's extensions apart from those in place: with wrong changes (mutants_cpp.py), or with a sanitizer
(sanitize.py). What goes into which extension is said in setup.py as well."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ENGINE = "dstcc/engine/src"
PARTS = "tests/engine/native"
"""Of `_testing`: parts of the engine by themselves."""
SOURCES = (ENGINE, PARTS, "kernel-cc/law", "kernel-cc/dispatch")
"""Folders whose files the extensions are made of; the engine includes those of the last two by relative paths."""
EXTENSIONS = ("_engine", "_testing")


class CompilerError(Exception):
    """What the compiler said of all sources that it refused."""


def included(path: Path, folders: Sequence[Path], known: dict[Path, set[Path]]) -> set[Path]:
    """A source and all that it includes of what lies beside it or under the folders; ``known`` keeps each file's."""
    found, waiting = {path}, [path]
    while waiting:
        file = waiting.pop()
        if file not in known:
            names = re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', file.read_text(), re.MULTILINE)
            places = [(folder / name).resolve() for name in names for folder in (file.parent, *folders)]
            known[file] = {place for place in places if place.is_file()}
        waiting += known[file] - found
        found |= known[file]
    return found


def compile_extensions(tree: Path, build: Path, flags: Sequence[str], jobs: int) -> list[Path]:
    """Compile what has changed of the sources under ``tree`` and link both extensions into ``build``.

    ``flags`` go to the compiler and the linker. An object is kept under a digest of its source, of what that includes
    and of its command, so that a second call compiles nothing. Raises :class:`CompilerError`.
    """
    import pybind11

    tree = tree.resolve()
    engine = tree / ENGINE
    include = [engine, pybind11.get_include(), sysconfig.get_path("include")]
    compiler = os.environ.get("CXX", "ccache g++" if shutil.which("ccache") else "g++").split()
    base = [*compiler, *flags, *(f"-I{path}" for path in include)]
    forced = b"".join(path.read_bytes() for path in sorted(tree.glob("*.hpp")))
    known: dict[Path, set[Path]] = {}
    said: list[str] = []
    objects = build / "objects"
    objects.mkdir(parents=True, exist_ok=True)

    def compiled(path: Path) -> Path:
        texts = b"".join(one.read_bytes() for one in sorted(included(path, [engine], known)))
        digest = hashlib.sha256(forced + texts + " ".join(base).encode()).hexdigest()[:16]
        name = f"{path.parent.name}-{path.stem}"
        target = objects / f"{name}.{digest}.o"
        if not target.is_file():
            for old in objects.glob(f"{name}.*.o"):
                old.unlink()
            part = target.with_suffix(".part")
            command = [*base, "-c", str(path), "-o", str(part)]
            run = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
            if run.returncode != 0:
                said.append(run.stderr)
            else:
                part.rename(target)
        return target

    sources = sorted((*engine.rglob("*.cpp"), *(tree / PARTS).glob("*.cpp")))
    with ThreadPoolExecutor(jobs) as pool:
        parts = dict(zip(sources, pool.map(compiled, sources), strict=True))
    if said:
        raise CompilerError("".join(said))
    faces = {
        "_engine": [engine / f"python/{name}.cpp" for name in ("module", "stepper", "paths")],
        "_testing": sorted((tree / PARTS).glob("*.cpp")),
    }
    extensions = []
    for name in EXTENSIONS:
        others = {path for other in faces.keys() - {name} for path in faces[other]}
        linked = [str(part) for path, part in parts.items() if path not in others]
        extension = build / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        subprocess.run([*compiler, "-shared", *flags, *linked, "-o", str(extension)], check=True)
        extensions.append(extension)
    return extensions
