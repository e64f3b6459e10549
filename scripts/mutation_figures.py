"""Mutation figures, from the file in which `mutants_cpp` and `mutants_python` record theirs.

    python -m scripts.mutation_figures

Prints both tables. `make test` compares the file with the lists of mutants: a family with entries that were never run,
or a module that has changed by more than a tenth of its mutants since its figures, fails there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "tests/mutants/figures.json"
CPP, PYTHON = "cpp", "python"
HEADS = {
    CPP: "| family of the engine | mutants | killed | live | equivalent | rate |\n|---|---|---|---|---|---|\n",
    PYTHON: "| Python | mutants | tried | killed | live | equivalent |\n|---|---|---|---|---|---|\n",
}
MOVED = 0.1
"""Share of a module's mutants by which it may grow or shrink before they are run again."""


@dataclass(frozen=True)
class Figure:
    """How the mutants of a family, or those that were tried of a module, fared."""

    of: int
    """In all; of a module, of which those that were tried are a sample."""
    killed: int
    live: int
    equivalent: int

    @property
    def tried(self) -> int:
        """Those that were run."""
        return self.killed + self.live + self.equivalent

    @property
    def rate(self) -> float:
        """Of those that are not equivalent, the share that a test notices."""
        return self.killed / max(1, self.killed + self.live)


Figures = Mapping[str, Mapping[str, Figure]]


def load(path: Path = FIGURES) -> Figures:
    """By kind (:data:`CPP`, :data:`PYTHON`), then by family or by path."""
    document = json.loads(path.read_text())
    return {
        kind: {name: Figure(**figure) for name, figure in rows.items()} for kind, rows in document.items()
    }


def record(kind: str, found: Mapping[str, Figure], path: Path = FIGURES) -> None:
    """Put figures in the place of those of the same name; those of other names stay as they are."""
    known = load(path)
    rows = {one: dict(known[one]) for one in HEADS}
    rows[kind] |= found
    kinds = [
        f"  {json.dumps(one)}: {{\n"
        + ",\n".join(
            f"    {json.dumps(name)}: {json.dumps(asdict(figure))}" for name, figure in rows[one].items()
        )
        + "\n  }"
        for one in HEADS
    ]
    path.write_text("{\n" + ",\n".join(kinds) + "\n}\n")


def table(kind: str, rows: Mapping[str, Figure]) -> str:
    """A table of Markdown."""
    lines = []
    if kind == CPP:
        whole = Figure(
            *(sum(getattr(one, name) for one in rows.values()) for name in asdict(Figure(0, 0, 0, 0)))
        )
        for name, one in {**rows, "all": whole}.items():
            lines.append(
                f"| {name} | {one.of} | {one.killed} | {one.live} | {one.equivalent} | {100 * one.rate:.1f} % |"
            )
    else:
        for name, one in rows.items():
            short = name.removesuffix(".py").removeprefix("channel-models/").removeprefix("svc/")
            lines.append(
                f"| `{short}` | {one.of} | {one.tried} | {one.killed} | {one.live} | {one.equivalent} |"
            )
    return HEADS[kind] + "\n".join(lines) + "\n"


@click.command(help=__doc__)
def main() -> None:
    """See the docstring of the module."""
    figures = load()
    click.echo("\n".join(table(kind, figures[kind]) for kind in HEADS), nl=False)


if __name__ == "__main__":
    main()
