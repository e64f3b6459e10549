"""Where the figures were measured, for whoever compares them."""

from __future__ import annotations

import os
import subprocess

from dstcc.run.machine import git_commit, machine


def host() -> dict[str, object]:
    """The machine, what built the native parts, the commit, and how busy the machine is now."""
    return {
        **machine(),
        "compiler": _first_line(os.environ.get("CXX", "c++").split()),
        "git_commit": git_commit(),
        "load_average": os.getloadavg(),
    }


def _first_line(compiler: list[str]) -> str | None:
    try:
        found = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.partition("\n")[0]
