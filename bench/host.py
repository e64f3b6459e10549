"""The machine on which the figures were measured."""

from __future__ import annotations

import os
import subprocess

from dstcc.machine import git_commit, machine


def host() -> dict[str, object]:
    """The machine, the compiler of the native modules, the commit, and the machine's load now."""
    return {
        **machine(),
        "compiler": _first_line(os.environ.get("CXX", "c++").split()),
        "git_commit": git_commit(),
        "load_average": os.getloadavg(),
    }


def _first_line(compiler: list[str]) -> str | None:
    try:
        result = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.partition("\n")[0]
