"""``dstcc kernel``: the kernel that scenarios run on in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from dstcc_kernel.source import RELEASES

from .options import AS_JSON
from .output import console, emit_json, notices, progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstcc_kernel.build import Built


def _choose(context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """Mean that version until the command ends: who calls it in a process of theirs gets their own back."""
    if name is not None:
        from dstcc_kernel import source

        context.with_resource(source.using(name))
    return name


WHICH = click.option(
    "--kernel",
    "release",
    type=click.Choice(list(RELEASES)),
    callback=_choose,
    expose_value=False,
    help="Linux version.  [default: $DSTCC_KERNEL, else 6.12]",
)


@click.group(short_help="Build the virtual-time kernel; load and unload the module.")
def command() -> None:
    """The Linux kernel that `--backend kernel` runs in virtual time, as a program and without root.

    Every command below takes --json.
    """


@command.command("build", short_help="Build the virtual-time kernel into the cache.")
@click.option("--debug", is_flag=True, help="The debug variant: KASAN, lockdep, kmemleak, UBSAN.")
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Parallel compilers.  [default: one per processor]"
)
@click.option("--force", is_flag=True, help="Build again even if it exists.")
@WHICH
@AS_JSON
def build_(*, debug: bool, jobs: int | None, force: bool, as_json: bool) -> None:
    """Build the kernel from Debian's linux-source package into the cache ($DSTCC_CACHE, else ~/.cache/dstcc).

    Four to five processor minutes, the debug variant six to seven. What is there already is not built again.
    """
    from dstcc_kernel import build
    from dstcc_kernel.source import release

    existing = build.find(debug)
    if existing and not force:
        _show(existing, debug, release().name, as_json)
        return
    variant = "debug" if debug else "plain"
    notices().print(f"building the virtual-time kernel ({release().name}, {variant}) into {build.home()}")
    with progress("building", 1.0) as advance:
        built = build.build(debug, jobs=jobs, force=force, advance=advance)
    _show(built, debug, release().name, as_json)


@command.command("status", short_help="Show which kernels are built, from which sources, and where.")
@AS_JSON
def status(*, as_json: bool) -> None:
    """Show which kernels are built, from which sources, and where, and whether the running one has `dstcc`."""
    from dstcc_kernel import build, host

    if as_json:
        emit_json(
            {
                "loaded": host.loaded(),
                "kernels": [_document(*which) for which in _all()],
                "others": [str(folder) for folder in build.others()],
            }
        )
        return
    for which in _all():
        _show(*which, as_json=False)
    _print_loaded(host.loaded(), as_json=False)
    if others := build.others():
        console().print(f"{len(others)} of other versions; `dstcc kernel clean` removes all")


@command.command("clean", short_help="Remove the built kernels and files of guests.")
@AS_JSON
def clean(*, as_json: bool) -> None:
    """Remove the built kernels, and files of killed guests; nothing that dstcc did not write."""
    from dstcc_kernel import backend, build, guest

    guest.sweep()
    backend.sweep()
    freed = build.clean()
    if as_json:
        emit_json({"freed_bytes": freed})
    else:
        console().print(f"{freed / 1e6:.0f} MB freed")


@command.command("load", short_help="Load our congestion control into the running kernel.")
@click.option("--bpf", "way", flag_value="bpf", help="As BPF; requires BTF, clang, bpftool and libbpf-dev.")
@click.option("--module", "way", flag_value="module", help="As a module; requires the kernel's headers.")
@AS_JSON
def load(*, way: str | None, as_json: bool) -> None:
    """Load our congestion control `dstcc` into the running kernel: as a module with headers, else as BPF."""
    from dstcc_kernel import host

    _print_loaded(host.load(way), as_json)


@command.command("unload", short_help="Remove it from the running kernel.")
@AS_JSON
def unload(*, as_json: bool) -> None:
    """Remove `dstcc` from the running kernel."""
    from dstcc_kernel import host

    host.unload()
    _print_loaded(None, as_json)


def _print_loaded(way: str | None, as_json: bool) -> None:
    """Print how the running kernel has the congestion control: as ``module``, as ``bpf``, or not."""
    if as_json:
        emit_json({"loaded": way})
    else:
        console().print(f"running kernel: dstcc {f'loaded as {way}' if way else 'not loaded'}")


def _all() -> Iterator[tuple[Built | None, bool, str]]:
    """Each kernel that can be built: where it is, whether it is a debug one, its version."""
    from dstcc_kernel import build, source

    for name in source.RELEASES:
        with source.using(name):
            found = [(build.find(debug), debug, name) for debug in (False, True)]
        yield from found


def _document(built: Built | None, debug: bool, name: str) -> dict[str, Any]:
    row = {"release": name, "variant": "debug" if debug else "plain"}
    if built is None:
        return {**row, "built": False, "kernel": None}
    return {**row, "built": True, "kernel": str(built.kernel), **built.facts}


def _show(built: Built | None, debug: bool, name: str, as_json: bool) -> None:
    if as_json:
        emit_json(_document(built, debug, name))
    elif built is None:
        option = " --debug" if debug else ""
        variant = "debug" if debug else "plain"
        console().print(f"{name} {variant}: not built (dstcc kernel build --kernel {name}{option})")
    else:
        facts = built.facts
        console().print(
            f"{name} {facts['variant']}: Linux {facts['version']}, {facts['bytes'] / 1e6:.0f} MB, "
            f"built in {facts['cpu_s']:.0f} processor seconds: {built.kernel}"
        )
