"""Tables in Markdown: as lines, and printed row by row as their values come, as scripts print those of docs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dstcc.stats import estimate


def table_lines(columns: str, *rows: Sequence[str]) -> Iterator[str]:
    """A table whose first row is of headings, and an empty line; ``columns`` has an ``l`` for one of words and an ``r``
    for one of numbers, which all others are."""
    rule = "".join("---|" if column == "l" else "---:|" for column in columns.ljust(len(rows[0]), "r"))
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    yield from (head, f"|{rule}", *others, "")


def interval(values: Sequence[float], digits: int = 3, unit: float = 1.0) -> str:
    """Interquartile mean and 95 % interval of values, in a unit; one value alone has none."""
    mean = estimate([value / unit for value in values])
    if len(values) == 1:
        return f"{mean.value:.{digits}f}"
    return f"{mean.value:.{digits}f} [{mean.low:.{digits}f}, {mean.high:.{digits}f}]"


def heading(name: str, titles: Iterable[str]) -> None:
    """The top of a table."""
    head = list(titles)
    print(f"\n**{name}**\n")
    line(*head)
    print("|" + "---|" * len(head), flush=True)


def line(*texts: str) -> None:
    """A row, at once."""
    print("| " + " | ".join(texts) + " |", flush=True)
