"""Run tests on an engine that watches itself: memory out of bounds, undefined behaviour, data races.

    python -m scripts.sanitize address | thread [PYTEST WORDS]

``address`` builds the engine with AddressSanitizer and UBSan and runs ``tests/engine``; ``thread`` builds it with
ThreadSanitizer and runs the tests that step or simulate in threads. Pytest's words are test files in place of these, or
its options. The extensions go to ``build/sanitize``; those in place stay. The first finding ends the run with its
stack. CPython itself is not built so, and its leaks are not looked for.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

import click

from scripts.engine_build import EXTENSIONS, compile_extensions

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/sanitize"
FLAGS = (
    "-std=c++17",
    "-O1",
    "-g1",
    "-fno-omit-frame-pointer",
    "-ffp-contract=off",
    "-fPIC",
    "-fvisibility=hidden",
)
"""Without the -fwrapv and -DNDEBUG of CPython's own build: they would hide an overflow and the engine's checks."""


@dataclass(frozen=True)
class Sanitizer:
    """One way to build the engine, and what runs on it."""

    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    """Loaded before Python, which is not linked with them; libstdc++ with them, so that exceptions are seen."""
    options: dict[str, str]
    tests: tuple[str, ...]


SANITIZERS = {
    "address": Sanitizer(
        ("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"),
        ("libasan.so", "libubsan.so", "libstdc++.so"),
        {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"},
        ("tests/engine",),
    ),
    "thread": Sanitizer(
        ("-fsanitize=thread",),
        ("libtsan.so", "libstdc++.so"),
        {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66"},
        ("tests/engine/test_stepper.py", "tests/engine/test_threads.py"),
    ),
}


class Finder:
    """Finds the engine's extensions where they were built, and nothing else."""

    def __init__(self, extensions: Sequence[Path]) -> None:
        names = (f"dstcc.engine.{path.name.split('.')[0]}" for path in extensions)
        self.places = dict(zip(names, extensions, strict=True))

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Give the place of an extension for its name."""
        place = self.places.get(name)
        return None if place is None else importlib.util.spec_from_file_location(name, place)


def environment(sanitizer: Sanitizer) -> dict[str, str]:
    """Give the variables under which an unchanged Python loads the extensions."""
    answers = [
        subprocess.run(["g++", f"-print-file-name={library}"], capture_output=True, text=True, check=True)
        for library in sanitizer.libraries
    ]
    loaded = " ".join(str(Path(answer.stdout.strip()).resolve()) for answer in answers)
    # Python's allocator would hide what lies beside a block; a library that is not watched must not start threads.
    needed = {"LD_PRELOAD": loaded, "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **needed, **sanitizer.options}


def run(name: str, words: Sequence[str]) -> int:
    """Run pytest on the extensions in a process of its own; give its exit status."""
    # GCC 12's ThreadSanitizer knows few layouts of memory: not those that are drawn at random.
    fixed = ["setarch", "-R"] if name == "thread" and shutil.which("setarch") else []
    command = [*fixed, sys.executable, "-m", "scripts.sanitize", "--inside", name, "--", *words]
    return subprocess.run(command, env=environment(SANITIZERS[name]), cwd=ROOT, check=False).returncode


def pytest_on(extensions: Sequence[Path], words: Sequence[str]) -> int:
    """Run pytest in this process with the extensions in the engine's place."""
    import pytest

    finder = Finder(extensions)
    sys.meta_path.insert(0, finder)
    options = ["-q", "-m", "not slow and not kernel", "-p", "no:cacheprovider", "-p", "no:xdist"]
    status = int(pytest.main([*options, *words]))
    for name, place in finder.places.items():  # pytest wants to import the package itself
        module = sys.modules.get(name)
        if module is not None and module.__file__ != str(place):
            raise click.ClickException(f"{name} was not loaded from {place}")
    return status


@click.command(help=__doc__)
@click.argument("name", type=click.Choice(list(SANITIZERS)))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="compilers at once")
@click.option("--inside", is_flag=True, hidden=True)
def main(name: str, words: tuple[str, ...], jobs: int, inside: bool) -> None:
    """Build and run, or run what was built."""
    build = BUILD / name
    if inside:
        extensions = [next(build.glob(f"{extension}.*")) for extension in EXTENSIONS]
        sys.exit(pytest_on(extensions, words))
    compile_extensions(ROOT, build, (*FLAGS, *SANITIZERS[name].flags), jobs)
    files = () if any(Path(word.split("::")[0]).exists() for word in words) else SANITIZERS[name].tests
    sys.exit(run(name, [*files, *words]))


if __name__ == "__main__":
    main()
