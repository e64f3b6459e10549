"""Build the native parts; everything else about the package is in setup.cfg."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension, build_ext
from setuptools import Extension, setup

FLAGS = ["-O3", "-ffp-contract=off", "-Wall", "-Wextra"]
if sysconfig.get_platform().endswith("x86_64"):
    FLAGS.append("-march=x86-64-v2")
if os.environ.get("DSTCC_WERROR"):  # ours alone: a newer compiler warns of more, and a user wants to install
    FLAGS.append("-Werror")

ENGINE, PARTS = Path("dstcc/engine/src"), Path("tests/engine/native")
FACES = {
    "dstcc.engine._engine": [ENGINE / f"python/{name}.cpp" for name in ("module", "stepper", "paths")],
    "dstcc.engine._testing": sorted(PARTS.glob("*.cpp")),
}
"""The extensions over the engine, each with the sources that are its own."""
ONLY_IN_PLACE = "dstcc.engine._testing"
"""For tests and benches: no part of a wheel."""
SHARED = sorted(set(ENGINE.rglob("*.cpp")).difference(*FACES.values()))


def paths(files: Iterable[Path]) -> list[str]:
    """As setuptools wants them."""
    return [str(path) for path in files]


def face(name: str) -> Pybind11Extension:
    """Describe an extension over the engine; :class:`Build` adds what they share."""
    return Pybind11Extension(
        name,
        paths(FACES[name]),
        include_dirs=[str(ENGINE)],
        depends=[
            *paths(sorted(Path("kernel-cc/law").iterdir())),
            "kernel-cc/dispatch/dstcc_dispatch.hpp",
            *paths(SHARED),
            *paths(sorted([*ENGINE.rglob("*.hpp"), *PARTS.glob("*.hpp")])),
        ],
        cxx_std=17,
        extra_compile_args=FLAGS,
    )


class Build(build_ext):  # type: ignore[misc]
    """Compile what the engine's extensions share once."""

    def run(self) -> None:
        """Leave out what only tests need, unless the build is in place and DSTCC_TESTING is not 0."""
        if not (self.inplace or self.editable_mode) or os.environ.get("DSTCC_TESTING") == "0":
            self.extensions = [ext for ext in self.extensions if ext.name != ONLY_IN_PLACE]
        super().run()

    def build_extensions(self) -> None:
        """Compile the shared sources if an extension is older than one of them, then all extensions."""
        faces = [ext for ext in self.extensions if ext.name in FACES]
        if any(self._stale(ext) for ext in faces):
            like = faces[0]
            objects = self.compiler.compile(
                paths(SHARED),
                output_dir=self.build_temp,
                include_dirs=like.include_dirs,
                extra_postargs=like.extra_compile_args,
                depends=like.depends,
            )
            for ext in faces:
                ext.extra_objects = objects
        super().build_extensions()

    def _stale(self, ext: Extension) -> bool:
        built = Path(self.get_ext_fullpath(ext.name))
        newest = max(Path(source).stat().st_mtime for source in (*ext.sources, *ext.depends))
        return bool(self.force) or not built.is_file() or newest > built.stat().st_mtime


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
    *map(face, FACES),
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
setup(ext_modules=extensions, cmdclass={"build_ext": Build})
