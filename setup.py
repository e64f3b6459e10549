"""Build the native parts; everything else about the package is in setup.cfg."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import Extension, setup

FLAGS = ["-O3", "-ffp-contract=off", "-Wall", "-Wextra"]
if sysconfig.get_platform().endswith("x86_64"):
    FLAGS.append("-march=x86-64-v2")
if os.environ.get("DSTCC_WERROR"):  # ours alone: a newer compiler warns of more, and a user wants to install
    FLAGS.append("-Werror")

engine = Pybind11Extension(
    "dstcc.engine._engine",
    sorted(str(path) for path in Path("dstcc/engine/src").rglob("*.cpp")),
    include_dirs=["dstcc/engine/src"],
    depends=[
        "kernel-cc/law/dstcc_law.h",
        *sorted(str(path) for path in Path("dstcc/engine/src").rglob("*.hpp")),
    ],
    cxx_std=17,
    extra_compile_args=FLAGS,
)


def pkg_config(kind: str, package: str) -> list[str]:
    """Return the package's compiler or linker flags; none if pkg-config or the package is unknown."""
    if shutil.which("pkg-config") is None:
        return []
    command = ["pkg-config", f"--{kind}", package]
    return subprocess.run(command, text=True, capture_output=True, check=False).stdout.split()


def optional(name: str, source: str, header: str, package: str, debian: str) -> list[Extension]:
    """Describe a codec's extension, or nothing where its library's headers are not installed.

    ``header`` is looked for by the compiler itself, with the flags pkg-config knows, if it knows any.
    """
    flags = {kind: pkg_config(kind, package) for kind in ("cflags", "libs")}
    probe = subprocess.run(
        [*os.environ.get("CXX", "c++").split(), *flags["cflags"], "-E", "-x", "c++", "-"],
        input=f"#include <{header}>",
        text=True,
        capture_output=True,
        check=False,
    )
    if probe.returncode != 0:
        print(f"{name} is left out: no {header}; its Debian package is {debian}", file=sys.stderr)
        return []
    return [
        Pybind11Extension(
            name,
            [source],
            depends=sorted(str(path) for path in Path("svc/dstcc_svc/src").glob("*.hpp")),
            cxx_std=17,
            extra_compile_args=[*FLAGS, *flags["cflags"]],
            extra_link_args=flags["libs"] or [f"-l{package}"],
        )
    ]


extensions: list[Extension] = [
    engine,
    *optional("dstcc_svc._vpx", "svc/dstcc_svc/src/vpx.cpp", "vpx/vpx_encoder.h", "vpx", "libvpx-dev"),
    *optional(
        "dstcc_svc._openh264",
        "svc/dstcc_svc/src/openh264.cpp",
        "wels/codec_api.h",
        "openh264",
        "libopenh264-dev",
    ),
]

ParallelCompile("DSTCC_BUILD_JOBS", default=2).install()
setup(ext_modules=extensions)
