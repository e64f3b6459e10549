"""The share of the engine's lines and branches that its own tests run, by folder.

    python -m scripts.coverage_engine [--trials N]      `make coverage` installs gcovr first; some ten minutes

gcc builds the extensions with ``--coverage`` into ``build/coverage-engine``; those in place stay. Counted is what
``tests/engine`` and N random trials of ``scripts/simulation.py`` run. Two kinds of branches are left out, as gcovr's
``--exclude-throw-branches`` and ``--exclude-unreachable-branches`` do: the one out of each call that could throw, and
those that the compiler makes without a line of source. Exit status 1 below the floors.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from scripts.engine_build import ENGINE, EXTENSIONS, PARTS, SOURCES, compile_extensions
from scripts.sanitize import Finder, pytest_on

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/coverage-engine"
FLAGS = (
    "-std=c++17",
    "-O1",
    "-g1",
    "--coverage",
    "-fprofile-update=atomic",  # tests run threads
    "-fprofile-abs-path",
    "-DNDEBUG",  # as in the extension that is shipped
    "-ffp-contract=off",
    "-fPIC",
    "-fvisibility=hidden",
)
FLOORS = {"line": 98.0, "branch": 90.0}
"""Percent of the engine without its face to Python; below them the command fails."""
FACE = "python"
"""The folder whose branches are for the most part those of pybind11's templates."""
WORDS = {"line": "lines", "branch": "branches"}
TRIALS = 400


@dataclass(frozen=True)
class CoverageRow:
    """A folder's lines and branches: how many there are, and how many ran."""

    name: str
    lines: int
    lines_run: int
    branches: int
    branches_run: int

    def share(self, kind: str) -> float:
        """Percent of ``line`` or ``branch`` that ran; all of nothing is all."""
        there, ran = (self.lines, self.lines_run) if kind == "line" else (self.branches, self.branches_run)
        return 100.0 * ran / there if there else 100.0


def rows_of(files: Iterable[dict[str, Any]]) -> list[CoverageRow]:
    """One row a folder of gcovr's summary, in their order, the sum of all, and of all but the face to Python."""
    counted: dict[str, list[int]] = {}
    for one in files:
        folder = str(Path(one["filename"]).parent).removeprefix(f"{ENGINE}/")
        numbers = [one[f"{kind}_{what}"] for kind in ("line", "branch") for what in ("total", "covered")]
        before = counted.get(folder, [0] * len(numbers))
        counted[folder] = [a + b for a, b in zip(before, numbers, strict=True)]
    rows = [CoverageRow(name, *counted[name]) for name in sorted(counted)]
    inner = [numbers for name, numbers in counted.items() if name != FACE]
    return [*rows, _sum("all", counted.values()), _sum(f"all but {FACE}", inner)]


def _sum(name: str, several: Iterable[list[int]]) -> CoverageRow:
    return CoverageRow(name, *(sum(column) for column in zip(*several, strict=True)))


def below(whole: CoverageRow) -> list[str]:
    """What is below its floor, in words."""
    return [
        f"{whole.share(kind):.1f} % of the engine's {WORDS[kind]} run, below {floor:g} %"
        for kind, floor in FLOORS.items()
        if whole.share(kind) < floor
    ]


def counted() -> list[CoverageRow]:
    """What gcovr counts of the runs so far; pages in ``build/coverage-engine/pages``."""
    pages, summary = BUILD / "pages", BUILD / "summary.json"
    pages.mkdir(exist_ok=True)
    words = [sys.executable, "-m", "gcovr", "--root", str(ROOT), "--object-directory", str(BUILD / "objects")]
    for folder in (folder for folder in SOURCES if folder != PARTS):
        words += ["--filter", f"{folder}/"]
    words += ["--exclude-throw-branches", "--exclude-unreachable-branches"]
    # A header's function is compiled into many objects, at one line or, of a template, at several.
    words += ["--merge-mode-functions", "merge-use-line-min", "--gcov-ignore-parse-errors", "all"]
    words += ["--json-summary", str(summary), "--html-details", str(pages / "index.html"), "--print-summary"]
    subprocess.run([*words, str(BUILD / "objects")], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return rows_of(json.loads(summary.read_text())["files"])


def run_inside(words: Sequence[str], trials: int) -> int:
    """Run tests and trials on the extensions in this process; its end writes what ran."""
    extensions = [next(BUILD.glob(f"{extension}.*.so")) for extension in EXTENSIONS]
    status = pytest_on(extensions, words)
    sys.meta_path.insert(0, Finder(extensions))
    from scripts.simulation import run

    return status or int(bool(run(range(trials))))


def forget(objects: Path) -> None:
    """Remove the counts of earlier runs, and the notes of objects that are no longer there."""
    for path in [*objects.glob("*.gcda"), *objects.glob("*.gcno")]:
        if path.suffix == ".gcda" or not path.with_suffix(".o").is_file():
            path.unlink()


@click.command(help=__doc__)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option("--trials", default=TRIALS, show_default=True, help="random trials besides the tests")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="compilers at once")
@click.option("--inside", is_flag=True, hidden=True)
def main(words: tuple[str, ...], trials: int, jobs: int, inside: bool) -> None:
    """Build, run and count, or only run."""
    if inside:
        sys.exit(run_inside(words, trials))
    compile_extensions(ROOT, BUILD, FLAGS, jobs)
    forget(BUILD / "objects")
    command = [sys.executable, "-m", "scripts.coverage_engine", "--inside", "--trials", str(trials), "--"]
    ran = subprocess.run([*command, *(words or ["tests/engine"])], cwd=ROOT, check=False)
    rows = counted()
    print("| engine | lines | run | branches | run |", "|---|---|---|---|---|", sep="\n")
    for row in rows:
        cells = (row.name, row.lines, f"{row.share('line'):.1f} %", row.branches)
        print(f"| {' | '.join(map(str, cells))} | {row.share('branch'):.1f} % |")
    short = below(rows[-1])
    print(*short, sep="\n", end="\n" if short else "")
    sys.exit(ran.returncode or int(bool(short)))


if __name__ == "__main__":
    main()
