"""Build the native parts; everything else about the package is in setup.cfg."""

from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import Extension, setup

FLAGS = ["-O3", "-march=x86-64-v2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]

engine = Pybind11Extension(
    "dstcc.engine._engine",
    sorted(str(path) for path in Path("dstcc/engine/src").glob("*.cpp")),
    depends=sorted(str(path) for path in Path("dstcc/engine/src").glob("*.hpp")),
    cxx_std=17,
    extra_compile_args=FLAGS,
)


extensions: list[Extension] = [engine]

ParallelCompile("DSTCC_BUILD_JOBS", default=2).install()
setup(ext_modules=extensions)
