"""How the papers' published numbers compare with ours, counted from `examples/papers/*/measured*.csv`.

python -m scripts.verdicts
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dstcc.papers.verdict import CLASSES, UNDECIDED, class_of
from dstcc.report.printed import heading, line

PAPERS = Path(__file__).resolve().parents[1] / "examples/papers"
COLUMNS = tuple(name for name in CLASSES if name != UNDECIDED)


def counted(verdicts: Iterable[str]) -> list[int]:
    """All verdicts, then those of each column."""
    counts = Counter(map(class_of, verdicts))
    return [sum(counts.values()), *(counts[name] for name in COLUMNS)]


def main() -> None:
    """Print a row a paper."""
    heading("Verdicts", ("paper", "numbers", *COLUMNS))
    verdicts: dict[str, list[str]] = {}
    for path in sorted(PAPERS.glob("*/measured*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            verdicts.setdefault(path.parent.name, []).extend(row["verdict"] for row in csv.DictReader(file))
    for name, said in verdicts.items():
        line(name, *map(str, counted(said)))


if __name__ == "__main__":
    main()
