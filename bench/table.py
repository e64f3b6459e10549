"""A figure as a line of the table and as an entry of the JSON document."""

from __future__ import annotations

from collections.abc import Mapping

from .figure import Figure, Measured

COLUMNS = (
    ("name", 24),
    ("value", 9),
    ("unit", 12),
    ("against", 44),
    ("ratio", 8),
    ("goal", 14),
    ("met", 3),
)


def header() -> str:
    return _line([name for name, _ in COLUMNS])


def row(figure: Figure, measured: Measured) -> str:
    return _line(
        [
            figure.name,
            _number(measured.value),
            measured.unit,
            measured.against,
            "" if measured.ratio is None else _number(measured.ratio),
            "" if figure.goal is None else str(figure.goal),
            "" if figure.goal is None else ("yes" if figure.goal.met(measured) else "NO"),
        ]
    )


def notes(measured: Measured) -> list[str]:
    return [f"    {note}" for note in measured.notes]


def document(
    host: Mapping[str, object], results: Mapping[str, tuple[Figure, Measured]]
) -> dict[str, Mapping[str, object]]:
    """``build/bench.json``."""
    return {"host": host, "figures": {name: _entry(*result) for name, result in results.items()}}


def _entry(figure: Figure, measured: Measured) -> dict[str, object]:
    entry: dict[str, object] = {
        "value": measured.value,
        "unit": measured.unit,
        "against": measured.against,
        "ratio": measured.ratio,
    }
    if figure.goal is not None:
        entry |= {"goal": str(figure.goal), "met": figure.goal.met(measured)}
    if measured.repeats:
        entry["spread"] = [min(measured.repeats), max(measured.repeats)]
        entry["repeats"] = list(measured.repeats)
    if measured.details:
        entry["details"] = measured.details
    return entry


def _line(cells: list[str]) -> str:
    padded = [
        f"{cell:>{width}}" if name in ("value", "ratio") else f"{cell:<{width}}"
        for cell, (name, width) in zip(cells, COLUMNS, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
