"""``--module FOLDER``: a kernel module of the user's, built for the guest's kernel.

The folder has one C file, or a ``Kbuild`` (or ``Makefile``) that says what is built of several. A copy is built; the
folder stays as it is.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from dstcc.errors import InputError

from ..module import BuildError, make
from .native_bpf import module_folder

RECIPES = ("Kbuild", "Makefile")


def check_folder(folder: Path) -> None:
    """Raise :class:`InputError` for what cannot be a module's folder."""
    if not folder.is_dir():
        raise InputError(f"--module {folder}: no such folder")
    sources = sorted(path.name for path in folder.glob("*.c") if not path.name.endswith(".mod.c"))
    if any((folder / name).is_file() for name in RECIPES):
        return
    if len(sources) != 1:
        found = ", ".join(sources) or "none"
        raise InputError(
            f"--module {folder}: holds one C file, or a Kbuild that says what is built; has {found}"
        )


def build_module(folder: Path, kernel: Path, to: Path) -> None:
    """Build the module of ``folder`` for ``kernel`` and put it at ``to``.

    Raises :class:`InputError` with the compiler's first error, by the user's file and line, and
    :class:`~dstcc.errors.KernelError` where the kernel's build fails without one.
    """
    check_folder(folder)
    with tempfile.TemporaryDirectory(prefix="dstcc-module-") as name:
        work = Path(name)
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.suffix in (".c", ".h", ".S", "") and not path.name.endswith(".mod.c"):
                shutil.copyfile(path, work / path.name)
        if not any((work / recipe).is_file() for recipe in RECIPES):
            (source,) = work.glob("*.c")
            (work / "Kbuild").write_text(f"obj-m += {source.stem}.o\n")
        made = _made(work, kernel, "--module", str(folder))
        if len(made) != 1:
            raise InputError(f"--module {folder}: its Kbuild makes {len(made)} modules; one is loaded")
        shutil.copyfile(made[0], to)


def build_bpf(program: Path, kernel: Path, to: Path) -> None:
    """The same for a struct_ops program (:mod:`~dstcc_kernel.endhosts.native_bpf`)."""
    with tempfile.TemporaryDirectory(prefix="dstcc-bpf-") as name:
        work = Path(name) / "module"
        module_folder(program, work)
        (made,) = _made(work, kernel, "--bpf", f"{program.parent}")
        shutil.copyfile(made, to)


def _made(work: Path, kernel: Path, option: str, named: str) -> list[Path]:
    """What the kernel's build makes in a folder; its errors are of the file as the user has it."""
    try:
        make(kernel.parent / "tree", work, "um")
    except BuildError as error:
        if error.complaint is None:
            raise
        said = error.complaint.replace(str(work), named)
        raise InputError(
            f"{option} {said}" if said.startswith(named) else f"{option} {named}: {said}"
        ) from None
    return sorted(work.glob("*.ko"))
