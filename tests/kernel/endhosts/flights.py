"""Runs of programs over short links, for the tests."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from click.testing import CliRunner
from dstcc_cli.main import main

SHORT = Path(__file__).parent / "short.toml"
WALL_S = 120
"""Far above what any of these takes on a busy machine."""


@dataclass(frozen=True)
class Flight:
    """What a call of ``dstcc run`` printed and left."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def meta(self) -> dict[str, Any]:
        """``run.json``."""
        found: dict[str, Any] = json.loads((self.folder / "run.json").read_text())
        return found

    def log(self, host: str = "craft") -> list[list[str]]:
        """Time, number, stream and text of each line."""
        return [line.split(" ", 3) for line in (self.folder / f"{host}.log").read_text().splitlines()]

    def text(self, host: str = "craft") -> str:
        """What the host's programs printed."""
        return "\n".join(row[3] for row in self.log(host))

    def table(self, name: str) -> list[dict[str, Any]]:
        """The rows of a Parquet file."""
        rows: list[dict[str, Any]] = pq.read_table(self.folder / f"{name}.parquet").to_pylist()
        return rows


def run(
    folder: Path,
    options: str,
    *command: str,
    scenario: Path = SHORT,
    earth: tuple[str, ...] = (),
    on: tuple[tuple[str, str], ...] = (),
) -> Flight:
    """``dstcc run`` with a command line; ``options`` are split as a shell does it."""
    words = ["run", str(scenario), "-o", str(folder), "--wall", str(WALL_S), *shlex.split(options)]
    for text in earth:
        words += ["--earth", text]
    for node, text in on:
        words += ["--on", node, text]
    done = CliRunner().invoke(main, [*words, "--", *command], standalone_mode=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Flight(done.exit_code, done.stdout, done.stderr, folder)


def python(code: str) -> tuple[str, ...]:
    """A program: Python code."""
    return ("python3", "-S", "-c", code)
