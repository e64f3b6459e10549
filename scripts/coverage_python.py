"""The share of Python's lines and branches that the tests ran, by package, from what `make coverage` left.

    python -m scripts.coverage_python

Of the packages, and of the folders within dstcc. Children and threads count (setup.cfg, coverage:run), and so do the
guests that a test boots in its own process (tests/covered_guests.py). Exit status 2 below ``fail_under`` of setup.cfg.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SUMMARY = ROOT / "build/coverage.json"
KEYS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def package(file: str) -> str:
    """The package of a file, with the folder below it in dstcc: ``dstcc.run``."""
    parts = Path(file).parts
    start = next(place for place, part in enumerate(parts) if part.startswith("dstcc"))
    deep = parts[start] == "dstcc" and len(parts) > start + 2
    return ".".join(parts[start : start + 1 + deep])


def sums(files: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[int, ...]]:
    """Lines, those run, branches and those taken, by package, and of all."""
    counted: dict[str, tuple[int, ...]] = {}
    for file, document in sorted(files.items()):
        numbers = tuple(int(document["summary"][key]) for key in KEYS)
        for name in (package(file), "all"):
            before = counted.get(name, (0,) * len(KEYS))
            counted[name] = tuple(a + b for a, b in zip(before, numbers, strict=True))
    return {name: counted[name] for name in sorted(counted, key=lambda name: (name == "all", name))}


def share(ran: int, there: int) -> str:
    """In percent, as the table has it."""
    return f"{100 * ran / there:.1f} %" if there else "–"


def main() -> int:
    """Print the table."""
    command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(SUMMARY)]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    if not SUMMARY.is_file():
        return status
    print("| package | lines | run | branches | taken |", "|---|---|---|---|---|", sep="\n")
    for name, (lines, run, branches, taken) in sums(json.loads(SUMMARY.read_text())["files"]).items():
        print(f"| {name} | {lines} | {share(run, lines)} | {branches} | {share(taken, branches)} |")
    return status


if __name__ == "__main__":
    sys.exit(main())
