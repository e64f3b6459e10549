"""What tests and benches load into a guest beside the kernel module, and its build."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

from dstcc_kernel import module

HERE = Path(__file__).parent
FREESTANDING = ("PREFER_KERNEL_TYPES", "BIT_MACRO", "CAMELCASE")
"""Rules of checkpatch that the law's header, which C++ and BPF compile too, cannot follow: kernel types and macros."""
LAST = "dstcc_hold_test.ko"
"""Of the modules, the one by which a build is known to be whole."""


def tested_module(kernel: Path) -> Path:
    """The folder with the module for a virtual-time kernel of the cache, and in it ``test``; built unless it is
    there."""
    digest = hashlib.sha256(module.checksum().encode())
    for path in sorted((HERE / "Kbuild", *HERE.glob("*.[ch]"))):
        digest.update(path.read_bytes())
    out = kernel.parent / f"module-tests-{digest.hexdigest()[:12]}"
    with (kernel.parent / module.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (out / "module/test" / LAST).exists():
            build(kernel.parent / "tree", out)
    return out / "module"


def build(tree: Path, out: Path, *, sparse: bool = False) -> None:
    """Build the module and its tests into the folder ``out``, anew."""
    module.build(tree, out, arch="um", sparse=sparse)
    shutil.copytree(HERE, out / "module/test", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    module.make(tree, out / "module/test", "um", sparse=sparse)


def checkpatch(tree: Path, sources: list[Path]) -> str:
    """What the kernel's ``checkpatch.pl --strict`` says of sources, "" for nothing."""
    lines = []
    for path in sources:
        ignored = [f"--ignore={','.join(FREESTANDING)}"] if path.parent.name == "law" else []
        words = ["perl", str(tree / "scripts/checkpatch.pl"), "--strict", "--no-tree", "--terse", *ignored]
        done = subprocess.run(
            [*words, "-f", path.name], cwd=path.parent, capture_output=True, text=True, check=False
        )
        lines += [
            line
            for line in done.stdout.splitlines()
            if not line.startswith("total: 0 errors, 0 warnings, 0 checks")
        ]
    return "\n".join(lines)
