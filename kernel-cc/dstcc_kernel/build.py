"""The virtual-time kernel: built once from the source package, kept in the cache, found again by its name.

A built kernel is a folder ``kernel/linux-VERSION-VARIANT-CHECKSUM`` of the cache: the version is the source
package's, the variant ``plain`` or ``debug``, the checksum the configuration's. In it:

    linux        the kernel, a program
    tree/        what building a module against it takes: make -C tree ARCH=um M=...
    config       the complete configuration
    build.json   how it was made

It is made in a hidden folder beside and renamed when whole, so a build that was killed leaves nothing that
looks built; what it left goes with the next build, as only one runs at a time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_write
from dstcc.cache import cache_folder, require_folder, written
from dstcc.errors import KernelError, MissingCapabilityError

from . import source
from .fragment import as_config, merge, read_fragment, refused
from .sources import folder
from .steps import Steps

TOOLS = {
    "make": "make",
    "gcc": "gcc",
    "ld": "binutils",
    "strip": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "xz": "xz-utils",
}
"""Program → Debian package that the build needs beside the source."""
LINES = {"plain": 1050, "debug": 1060}
"""Lines that a whole build prints, for the progress bar alone."""
ROOM_BYTES = 600_000_000
"""What must be free on the disk for a build: 400 MB of source and objects at its peak, and half as much again."""
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "dstcc",
    "KBUILD_BUILD_HOST": "dstcc",
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
}
"""The kernel's banner goes into its entropy: the same source, configuration and compiler must give the same."""

MACHINE = "x86_64"
"""What the kernel is built for; ``arch/um`` has no other 64-bit processor."""

LOCK, BUILDING = ".lock", ".dstcc-building"
MADE = re.compile(
    r"linux-.+-(plain|debug)-[0-9a-f]{12}|\.?(programs|transfer|trajectory)-[0-9a-f]{12,16}(\..+\.tmp)?"
)
"""What :func:`clean` removes beside a running build: kernels, programs, and what was left of their making. Anything
else in the folder is not dstcc's, whatever ``DSTCC_CACHE`` names."""

Advance = Callable[[float], None]


@dataclass(frozen=True)
class Built:
    """A kernel in the cache."""

    folder: Path
    facts: dict[str, Any]
    """``build.json``: version, variant, sha256 of the kernel, compiler, processor seconds, bytes."""

    @property
    def kernel(self) -> Path:
        """The program."""
        return self.folder / "linux"

    @property
    def tree(self) -> Path:
        """What modules are built against."""
        return self.folder / "tree"


def kernel(debug: bool = False, *, advance: Advance | None = None) -> Path:
    """The cached kernel's program; built first when it is missing.

    ``advance`` gets the progress, in parts of 1 that add up to 1. Raises what :func:`build` raises.
    """
    built_kernel = find(debug)
    return (built_kernel or build(debug, advance=advance)).kernel


def find(debug: bool = False) -> Built | None:
    """The kernel in the cache that this dstcc would build, or ``None``.

    Of :func:`dstcc_kernel.source.release`. Without its source package any of its versions with the same
    configuration will do. Raises :class:`MissingCapabilityError` where the cache is no folder.
    """
    require_folder()
    variant = _variant(debug)
    version = source.version()
    name = f"linux-{version or source.release().name + '.*'}-{variant}-{checksum(debug)}"
    for candidate in sorted(home().glob(name), reverse=True):
        facts = _facts(candidate)
        if facts is not None:
            return Built(candidate, facts)
    return None


def home() -> Path:
    """The cache's folder for kernels."""
    return cache_folder() / "kernel"


def checksum(debug: bool = False) -> str:
    """12 hex digits over what, besides the source, decides what is built."""
    return _checksum(configuration(debug))


def configuration(debug: bool = False) -> dict[str, str]:
    """Symbol to value of the kernel's configuration; what is not named is off."""
    names = ["virtual-time.config", *(["debug.config"] if debug else [])]
    release = source.release()
    values = merge(*(read_fragment(folder("lab") / name) for name in names)) | dict(release.adds)
    return {symbol: value for symbol, value in values.items() if symbol not in release.lacks}


def build(
    debug: bool = False, *, jobs: int | None = None, force: bool = False, advance: Advance | None = None
) -> Built:
    """Build the kernel into the cache, or return it if it is there and ``force`` is not given.

    ``jobs`` is how many compilers run at once (default: one per processor). Waits while another process
    builds. Raises :class:`MissingCapabilityError` naming the packages to install, :class:`KernelError` with
    the compiler's first complaint, :class:`OSError` for a full disk; nothing is left behind then.
    """
    with _alone():
        built_kernel = find(debug)
        if built_kernel and not force:
            return built_kernel
        require_machine()
        version = source.needed_version()
        require_tools()
        work = home() / BUILDING
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        try:
            _check_room()
            values = configuration(debug)  # once: the name is that of what was built
            target = home() / f"linux-{version}-{_variant(debug)}-{_checksum(values)}"
            facts = _make(work, values, _variant(debug), jobs or os.cpu_count() or 1, advance or _ignore)
            atomic_write(work / "build.json", json.dumps({"version": version, **facts}, indent=2) + "\n")
            shutil.rmtree(target, ignore_errors=True)
            work.rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return Built(target, _facts(target) or {})


def require_machine() -> None:
    """Raise :class:`MissingCapabilityError` where Linux cannot be built as a program (User Mode Linux)."""
    if platform.machine() != MACHINE:
        raise MissingCapabilityError(
            f"the virtual-time kernel needs an {MACHINE} machine, this one is {platform.machine()}: "
            "Linux has User Mode Linux for x86 only"
        )


def require_tools() -> None:
    """Raise :class:`MissingCapabilityError` naming every package that the build lacks."""
    tools = TOOLS | source.release().tools
    lacking = sorted({package for tool, package in tools.items() if shutil.which(tool) is None})
    if lacking:
        raise MissingCapabilityError(f"the kernel cannot be built: apt install {' '.join(lacking)}")


def clean() -> int:
    """Remove every kernel, and all else of the kernel side, from the cache; the bytes that became free.

    Waits for a running build. What dstcc did not make stays.
    """
    if not home().exists():
        return 0
    freed = 0
    with _alone():
        for entry in [entry for entry in home().iterdir() if _is_made(entry)]:
            freed += _bytes_in(entry)
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    return freed


def _is_made(entry: Path) -> bool:
    """Is it of :data:`MADE`, and, where it has a kernel's name, a kernel?"""
    if entry.is_symlink() or not (entry.name == BUILDING or MADE.fullmatch(entry.name)):
        return False
    return not entry.name.startswith("linux-") or (entry / "build.json").is_file()


def others() -> list[Path]:
    """Folders of the cache's kernels that no variant uses: of other configurations or versions."""
    used = set()
    for name in source.RELEASES:
        with source.using(name):
            used |= {built.folder for built in (find(False), find(True)) if built}
    return sorted(entry for entry in home().glob("linux-*") if entry not in used)


def _make(work: Path, values: dict[str, str], variant: str, jobs: int, advance: Advance) -> dict[str, Any]:
    """Fill ``work``; what ``build.json`` tells of it."""
    started, cpu = time.monotonic(), _cpu_s()
    tree = work / "tree"
    tree.mkdir()
    steps = Steps(work / "build.log", LINES[variant], advance)
    steps.run(source.unpack_command(tree), "unpacking the source")
    patching = source.patch_command(tree)
    if patching:
        steps.run(patching, "patching")
    wanted = work / "wanted"
    wanted.write_text(as_config(values))
    make = ["make", "-C", str(tree), "ARCH=um"]
    # Variables of an outer make, `make test` for one, are not for the kernel's.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment = inherited | REPRODUCIBLE
    steps.run([*make, f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig"], "configuring", environment)
    not_taken = refused(values, (tree / ".config").read_text())
    if not_taken:
        raise KernelError(
            f"{source.release().package} refuses {', '.join(not_taken)} of dstcc's configuration"
        )
    steps.run([*make, f"-j{jobs}"], "compiling", environment)
    steps.run(["strip", "--strip-debug", "-o", str(work / "linux"), str(tree / "vmlinux")], "stripping")
    shutil.copy(tree / ".config", work / "config")
    _keep_headers(tree)
    wanted.unlink()
    steps.log.unlink()
    advance(max(0.0, 1 - steps.reported))
    return {
        "variant": variant,
        "sha256": hashlib.sha256((work / "linux").read_bytes()).hexdigest(),
        "compiler": _first_line(["gcc", "--version"]),
        "cpu_s": round(_cpu_s() - cpu, 1),
        "wall_s": round(time.monotonic() - started, 1),
        "bytes": _bytes_in(work),
    }


def _keep_headers(tree: Path) -> None:
    """Remove what building a module does not read: objects, and the kernel's own C files."""
    for root, folders, files in os.walk(tree):
        here = Path(root)
        if here == tree:
            folders[:] = [name for name in folders if name not in ("scripts", "include")]
        for name in files:
            if name.endswith((".o", ".a", ".c", ".S", ".cmd")) or name.startswith(("vmlinux", ".tmp_")):
                (here / name).unlink()
    (tree / "linux").unlink(missing_ok=True)


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the cache's kernels alone; waits for whoever does."""
    with written():
        home().mkdir(parents=True, exist_ok=True)
        lock = (home() / LOCK).open("a")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _check_room() -> None:
    free = shutil.disk_usage(home()).free
    if free < ROOM_BYTES:
        raise KernelError(
            f"{home()}: {free // 10**6} MB are free, but building a kernel takes up to {ROOM_BYTES // 10**6} MB; "
            "DSTCC_CACHE names another folder"
        )


def _facts(candidate: Path) -> dict[str, Any] | None:
    """A cache folder's ``build.json``; ``None`` when it is no kernel's."""
    try:
        facts: dict[str, Any] = json.loads((candidate / "build.json").read_text())
    except (OSError, ValueError):
        return None
    return facts


def _checksum(values: dict[str, str]) -> str:
    digest = hashlib.sha256(as_config(values).encode())
    for path in source.added():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _variant(debug: bool) -> str:
    return "debug" if debug else "plain"


def _cpu_s() -> float:
    """Processor seconds of the processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _bytes_in(tree: Path) -> int:
    return sum(file.lstat().st_blocks * 512 for file in (tree, *tree.rglob("*")))


def _first_line(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.partition("\n")[0]


def _ignore(_part: float) -> None:
    """Nobody watches."""
