"""Published tables: every number on a page is what its command prints, at this commit.

    python -m scripts.figures [ONLY...]              write into the pages what their commands print
    python -m scripts.figures --check [ONLY...]      compare only; exit code 1 where a cell differs
    python -m scripts.figures --sample SEED          compare some cheap rows, as `make test` does
    python -m scripts.figures --list                 what there is, and what each costs

ONLY is part of PAGE or of PAGE#TABLE; --cost S leaves out what takes more seconds of a processor. The tables stand
between marks in their pages, or have a CSV file of their own; `scripts/figures.toml` names them, and those that no
command here makes again, with the reason.
"""

from __future__ import annotations

import os
import random
import resource
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from dstcc.atomic import atomic_write
from dstcc.report.printed import heading, line
from scripts.published.tables import (
    FENCE,
    Difference,
    csv_of,
    differences,
    markdown_of,
    marked,
    placed,
    shortened,
    table_of,
)

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".toml")
INPUTS = ("bench", "docs", "examples", "experiments", "scripts", "tests")
"""What commands read, by paths relative to the repository's root; what they write stays in the scratch folder."""
SAMPLE_S, MORE_S = 3.0, 40.0
"""Processor seconds of a sample in `make test`, and in `make test-slow`."""


@dataclass(frozen=True)
class Published:
    """A table between marks, or of a CSV file."""

    page: str
    """The file, from the repository's root."""
    name: str
    """Of its marks."""
    command: str
    """As the page prints it."""
    cpu_s: float
    """Processor seconds, with what runs before."""
    seeds: str = ""
    after: tuple[str, ...] = ()
    """Commands that have to run before."""
    title: str = ""
    """Part of the heading above the table, where a command prints several."""
    read: str = ""
    """The file in which the command leaves the table; standard output unless given."""
    rows: tuple[str, ...] = ()
    """How the lines begin that a page shows of a longer text; all unless given."""
    said: bool = False
    """Whether the page also has what the command says on standard error."""
    keys: int | None = None
    """How many cells name a row, where fewer than it takes to tell all apart."""
    sample: dict[str, float] = field(default_factory=dict)
    """Commands that print some of the rows, and their processor seconds; the command itself unless given."""

    @property
    def id(self) -> str:
        """``PAGE#TABLE``."""
        return f"{self.page}#{self.name}"

    def shown(self) -> str:
        """What its page has. Raises ValueError where that is not one table between marks, or of a CSV file."""
        text = page_text(self)
        return markdown_of(text) if self.page.endswith(".csv") else marked(text, self.name)

    def write(self, block: str) -> None:
        """Put a block in the place of what its page has."""
        text = csv_of(block) if self.page.endswith(".csv") else placed(page_text(self), self.name, block)
        atomic_write(ROOT / self.page, text)

    def cheap(self) -> dict[str, float]:
        """Commands for a sample and their cost."""
        return self.sample or {self.command: self.cpu_s}


@dataclass(frozen=True)
class Elsewhere:
    """Tables or pictures that :mod:`scripts.figures` does not make again."""

    page: str
    what: str
    """Part of a table's head, or a file."""
    by: str
    """What makes them."""
    why: str


class NoTableError(Exception):
    """A command that printed no such table; the message says which and why."""


def load(path: Path = LIST) -> tuple[list[Published], list[Elsewhere]]:
    """The list's tables, and what is not made here."""
    document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    tables = []
    for one in document["table"]:
        lists = {key: tuple(value) for key, value in one.items() if isinstance(value, list)}
        tables.append(Published(**{**one, **lists}))
    return tables, [Elsewhere(**one) for one in document["elsewhere"]]


class Workshop:
    """Runs commands in a folder that holds the inputs and, afterwards, what they wrote; each once."""

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.folder, self.say = folder, say
        self.printed: dict[str, str] = {}
        self.told: dict[str, str] = {}
        for name in INPUTS:
            (folder / name).symlink_to(ROOT / name, target_is_directory=True)

    def run(self, command: str) -> str:
        """What a command prints. Raises NoTableError for an exit code other than 0."""
        if command not in self.printed:
            program, *arguments = shlex.split(command)
            here = Path(sys.executable).parent
            env = {**os.environ, "COLUMNS": "150", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
            before_s = children_s()
            done = subprocess.run(
                [here / program, *arguments],
                cwd=self.folder,
                env=env,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise NoTableError(f"{command}: exit code {done.returncode}: {done.stderr.strip()[-600:]}")
            self.printed[command], self.told[command] = done.stdout, done.stderr
            self.say(f"{children_s() - before_s:,.1f} s: {command}")
        return self.printed[command]

    def block(self, one: Published, command: str, shown: str) -> str:
        """What a command prints for a table, in the form that the page has it in now, ``shown``."""
        for before in one.after:
            self.run(before)
        text = self.run(command)
        if one.read:
            text = (self.folder / one.read).read_text(encoding="utf-8")
        if one.said:
            text += self.told[command]
        if shown.startswith(FENCE):
            return "\n".join([FENCE, *shortened(text, one.rows), FENCE])
        return markdown(text, one.title, command)


def children_s() -> float:
    """Processor seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def markdown(text: str, title: str, command: str) -> str:
    """The table of Markdown under a heading that contains ``title``, or the first. Raises NoTableError without one."""
    above = ""
    for is_table, part in groupby(filter(str.strip, text.splitlines()), lambda one: one.startswith("|")):
        lines = list(part)
        if is_table and title in above:
            return "\n".join(lines)
        above = lines[-1]
    raise NoTableError(f"{command}: prints no table {title!r}")


def page_text(one: Published) -> str:
    """The page of a table."""
    return (ROOT / one.page).read_text(encoding="utf-8")


def drift(workshop: Workshop, one: Published, command: str, shown: str | None = None) -> list[Difference]:
    """Where the page is not what ``command`` prints; the table's own command prints all rows, others some."""
    shown = one.shown() if shown is None else shown
    printed = table_of(shown, one.keys)
    keys = len(next(iter(printed.rows))) if printed.rows else None  # marks of a page that has no table yet
    block = workshop.block(one, command, shown)
    return list(differences(printed, table_of(block, keys), part=command != one.command))


def sample(tables: Iterable[Published], seed: str, budget_s: float = SAMPLE_S) -> list[tuple[Published, str]]:
    """Tables and commands for a sample that costs no more than the budget, drawn with a seed."""
    left = [(one, command, cost) for one in tables for command, cost in one.cheap().items()]
    random.Random(seed).shuffle(left)
    chosen = []
    for one, command, cost in left:
        if cost <= budget_s:
            chosen.append((one, command))
            budget_s -= cost
    return chosen


def heard(text: str) -> None:
    """On stderr: what ran, and what it cost."""
    click.echo(text, err=True)


def commit() -> str:
    """This commit, so that each commit has a sample of its own; where there is no repository, the same for all."""
    git = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return git.stdout.strip() or "none"


def check(work: Iterable[tuple[Published, str]]) -> list[str]:
    """A sentence per cell that differs and per command that failed."""
    found = []
    with TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder), heard)
        for one, command in work:
            try:
                found += [f"{one.id}: {cell} ({command})" for cell in drift(workshop, one, command)]
            except (NoTableError, ValueError, OSError) as error:
                found.append(f"{one.id}: {error}")
    return found


def write(tables: Iterable[Published]) -> Iterator[str]:
    """Write each table into its page; a sentence per cell that changed and per command that failed."""
    with TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder), heard)
        for one in tables:
            try:
                shown = one.shown()
                changed = drift(workshop, one, one.command)
                block = workshop.block(one, one.command, shown)
                one.write(block)
            except (NoTableError, ValueError, OSError) as error:
                yield f"failed: {one.id}: {error}"
                continue
            yield from (f"{one.id}: {cell}" for cell in changed)


def print_list(tables: Iterable[Published], elsewhere: Iterable[Elsewhere]) -> None:
    """What is made again, with its cost in seconds of a processor, and what is not."""
    heading("Made again", ("table", "command", "seeds", "s"))
    for one in tables:
        line(one.id, f"`{one.command}`", one.seeds or "–", f"{one.cpu_s:,.0f}")
    heading("Not made again", ("page", "table or picture", "made by", "why not here"))
    for other in elsewhere:
        line(other.page, " · ".join(filter(None, other.what.split(" | "))), other.by, other.why)


@click.command(help=__doc__)
@click.argument("only", nargs=-1)
@click.option("--check", "checked", is_flag=True, help="Compare, write nothing.")
@click.option("--sample", "seed", metavar="SEED", help="Compare a sample.")
@click.option(
    "--cost", type=float, default=float("inf"), metavar="S", help="At most so many seconds a table."
)
@click.option("--list", "listed", is_flag=True, help="Print the tables.")
def main(*, only: tuple[str, ...], checked: bool, seed: str | None, cost: float, listed: bool) -> None:
    """Write, compare or list."""
    every, elsewhere = load()
    tables = [
        one for one in every if one.cpu_s <= cost and (not only or any(text in one.id for text in only))
    ]
    if not tables:
        raise click.UsageError(f"no table matches {' '.join(only) or f'--cost {cost:g}'}")
    if listed:
        print_list(tables, elsewhere)
        return
    if seed is not None or checked:
        work = [(one, one.command) for one in tables] if seed is None else sample(tables, seed)
        found = check(work)
    else:
        found = list(write(tables))
    for sentence in found:
        click.echo(sentence)
    click.echo(
        f"{len(found)} differ, of {len(tables)} tables" if seed is None else f"{len(found)} differ", err=True
    )
    if checked or seed is not None or any(sentence.startswith("failed") for sentence in found):
        sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
