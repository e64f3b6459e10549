"""Where a run was made: the machine and the commit, for the record."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


def machine() -> dict[str, object]:
    """The machine in words that a reader of the run can compare."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def cores() -> int:
    """Of this machine, as far as it says."""
    return os.cpu_count() or 1


def git_commit() -> str | None:
    """The commit of the source tree that dstcc runs from; ``None`` when it is installed or has no git."""
    root = Path(__file__).parents[1]
    if not (root / ".git").exists():
        return None
    try:
        finished = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return finished.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
