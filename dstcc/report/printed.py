"""Tables in Markdown, printed row by row as their values come: those of model cards and docs, which scripts print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dstcc.stats import estimate


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
