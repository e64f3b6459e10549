"""How the papers' published numbers compare with ours, counted from `examples/papers/*/measured.csv`.

python -m scripts.verdicts
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dstcc.report.printed import heading, line

PAPERS = Path(__file__).resolve().parents[1] / "examples/papers"
CLASSES = {
    "reproduced": ("reproduced",),
    "within a factor of two": ("within a factor of two", "same direction"),
    "no difference seen": ("not reproduced: no difference seen",),
    "opposite": ("not reproduced: opposite",),
    "beyond a factor of two": ("not reproduced",),
}
"""How the verdicts of a class begin; the first that matches counts."""


def class_of(verdict: str) -> str:
    """The class of a verdict. Raises ValueError where it has none."""
    for name, beginnings in CLASSES.items():
        if verdict.startswith(beginnings):
            return name
    raise ValueError(f"{verdict!r}: a verdict of no class")


def counted(verdicts: Iterable[str]) -> list[int]:
    """Verdicts of each class, in the classes' order."""
    counts = Counter(map(class_of, verdicts))
    return [counts[name] for name in CLASSES]


def main() -> None:
    """Print a row a paper."""
    heading("Verdicts", ("paper", "numbers", *CLASSES))
    for path in sorted(PAPERS.glob("*/measured.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            counts = counted(row["verdict"] for row in csv.DictReader(file))
        line(path.parent.name, *map(str, [sum(counts), *counts]))


if __name__ == "__main__":
    main()
