"""What a study varies: the values of a key, written as a list, a range or a logarithmic range.

::

    "link.0.loss.packet" = [1e-4, 1e-3]                                     # a list
    "link.0.delay_s"     = {from = "3 min", to = "22 min", steps = 20}      # evenly, both ends included
    "playout.delay_s"    = {from = 600, to = 3600, by = 600}                # the same by the distance
    "link.0.rate_bps"    = {from = "10 kbit/s", to = "10 Mbit/s", steps = 7, scale = "log"}

A value is what ``--set`` takes for the key: with a unit, or a table for a key that is one. Ranges are worked out in
fractions (logarithmic ones in floating point) and rounded to :data:`DIGITS` significant digits, so that 0.3 is 0.3 and
every machine has the same numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time
from fractions import Fraction
from math import exp, isfinite, log
from typing import Any

from dstcc.errors import InputError, ScenarioError
from dstcc.reading import MOST_DEPTH
from dstcc.scenario.units import with_units

DIGITS = 10
MOST_VALUES = 1_000_000
"""Of one axis."""
RANGE = frozenset({"from", "to", "steps", "by", "scale", "values", "as"})
"""Keys of a table that says an axis's values."""
OF_WORDS = "programs.words."
"""How the keys of words in command lines begin; their columns are called by the words."""
FIXED = frozenset(
    {
        "transport.congestion",
        "transport.scheduler",
        "transport.controller",
        "run.seed",
        "run.seeds",
        "scenario.name",
    }
)
"""Keys of which ``[study]`` has its own words, and the one that tells a scenario's trials in tables."""


@dataclass(frozen=True)
class Axis:
    """One key and its values, or several keys that vary together."""

    keys: tuple[str, ...]
    names: tuple[str, ...]
    """The columns that show them; the keys, unless the study names them."""
    rows: tuple[tuple[Any, ...], ...]
    """The values of the keys, in plain numbers; as many rows as the axis has steps."""

    def __len__(self) -> int:
        return len(self.rows)


def axis_of(key: str, given: Any, where: str, *, alone: bool = True) -> Axis:
    """The axis of one key; raises :class:`InputError`, which begins with ``where``.

    One that varies together with others may have a value several times.
    """
    check_key(key, where)
    name = key.removeprefix(OF_WORDS)
    if isinstance(given, dict):
        given = dict(given)
        name = given.pop("as", name)
        if not isinstance(name, str) or not name.isprintable() or not name.strip():
            raise InputError(f"{where}: as = {name!r}: must be a column's name")
        values = _table_values(key, given, where)
    elif isinstance(given, list):
        values = [plain(key, value, where) for value in given]
    else:
        raise InputError(
            f"{where}: must be a list of values, or a range {{from, to, steps}}; {given!r} is neither"
        )
    if not values:
        raise InputError(f"{where}: has no values")
    if alone and (twice := _twice(values)) is not None:
        raise InputError(f"{where}: has {twice} twice")
    return Axis((key,), (name,), tuple((value,) for value in values))


def _twice(values: list[Any]) -> str | None:
    """The first value that was there before, as JSON: there 1 and 1.0 are two values, and tables can be compared."""
    with suppress(TypeError):  # a table has no hash
        if len(set(values)) == len(values):
            return None
    seen: set[str] = set()
    for value in values:
        text = json.dumps(shown(value))
        if text in seen:
            return text
        seen.add(text)
    return None


def zipped(axes: Iterable[Axis], where: str) -> Axis:
    """Axes that vary together; raises :class:`InputError` unless all have as many values."""
    axes = tuple(axes)
    if len({len(one) for one in axes}) > 1:
        said = ", ".join(f"{one.keys[0]} has {len(one)}" for one in axes)
        raise InputError(f"{where}: keys that vary together need as many values each: {said}")
    rows = tuple(tuple(one.rows[place][0] for one in axes) for place in range(len(axes[0])))
    if (twice := _twice(list(rows))) is not None:
        raise InputError(f"{where}: has {twice} twice")
    return Axis(tuple(one.keys[0] for one in axes), tuple(one.names[0] for one in axes), rows)


def flattened(table: Mapping[str, Any], where: str, above: str = "") -> dict[str, Any]:
    """Keys with dots from TOML's nested tables: ``link.0.loss.packet = [..]`` needs no quotes."""
    flat: dict[str, Any] = {}
    for part, value in table.items():
        key = f"{above}.{part}" if above else part
        nested = isinstance(value, dict) and not (value.keys() & {"from", "values"})
        for name, item in (flattened(value, where, key) if nested else {key: value}).items():
            if name in flat:
                raise InputError(f"{where}: {name} is there twice")
            flat[name] = item
    return flat


def check_key(key: str, where: str) -> None:
    """Raise :class:`InputError` for what is no key that a study may vary or set."""
    parts = key.split(".")
    if len(parts) > MOST_DEPTH:
        raise InputError(f"{where}: {len(parts)} parts of a key; at most {MOST_DEPTH}")
    if not all(part.strip() == part and part for part in parts):
        raise InputError(f"{where}: {key!r} is no key, like link.0.loss.packet")
    if key in FIXED:
        raise InputError(f"{where}: {key} cannot be varied here; [study] has {key.rpartition('.')[2]}")


def plain(key: str, value: Any, where: str) -> Any:
    """A value with its unit turned into the key's; raises :class:`InputError`."""
    nested: Any = value
    for part in reversed(key.split(".")):
        nested = {part: nested}
    try:
        nested = with_units(nested, where)
    except ScenarioError as error:
        raise InputError(str(error)) from None
    for part in key.split("."):
        nested = nested[part]
    if isinstance(nested, float) and not isfinite(nested):
        raise InputError(f"{where}: {value!r} is no finite number")
    return nested


def shown(value: Any) -> Any:
    """A value as JSON can hold it, for tables and hashes."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return [shown(item) for item in value] if isinstance(value, (list, tuple)) else value


def _table_values(key: str, given: dict[str, Any], where: str) -> list[Any]:
    if strange := given.keys() - RANGE:
        raise InputError(f"{where}: {min(strange)!r} is none of {', '.join(sorted(RANGE))}")
    if "values" in given:
        if len(given) > 1 or not isinstance(given["values"], list):
            raise InputError(f"{where}: values must be a list, with nothing else but 'as'")
        return [plain(key, value, where) for value in given["values"]]
    ends = [plain(key, given.get(name), f"{where}: {name}") for name in ("from", "to")]
    for name, end in zip(("from", "to"), ends, strict=True):
        if isinstance(end, bool) or not isinstance(end, (int, float)):
            raise InputError(
                f"{where}: {name} = {given.get(name)!r}: must be a number, or one with the key's unit"
            )
    scale = given.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise InputError(f"{where}: scale = {scale!r}: must be 'linear' or 'log'")
    if ("steps" in given) == ("by" in given) or ("by" in given and scale == "log"):
        raise InputError(f"{where}: a range needs steps{'' if scale == 'log' else ', or by, and not both'}")
    if scale == "log" and min(ends) <= 0:
        raise InputError(f"{where}: a logarithmic range has both ends above 0")
    low, high = ends
    if low == high:
        raise InputError(f"{where}: from and to are the same, {low}")
    steps = (
        _steps(given["steps"], where) if "steps" in given else _steps_by(key, given["by"], low, high, where)
    )
    if scale == "log":
        return [
            low,
            *(
                _rounded(exp(log(low) + log(high / low) * i / (steps - 1)), low, high)
                for i in range(1, steps - 1)
            ),
            high,
        ]
    if "by" in given:
        by = _fraction(plain(key, given["by"], where))
        return [low, *(_rounded(_fraction(low) + by * i, low, high, given["by"]) for i in range(1, steps))]
    span = _fraction(high) - _fraction(low)
    return [
        low,
        *(_rounded(_fraction(low) + span * i / (steps - 1), low, high) for i in range(1, steps - 1)),
        high,
    ]


def _steps(steps: Any, where: str) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int) or not 2 <= steps <= MOST_VALUES:
        raise InputError(
            f"{where}: steps = {steps!r}: must be a whole number of at least 2 (at most {MOST_VALUES:,})"
        )
    return steps


def _steps_by(key: str, given: Any, low: float, high: float, where: str) -> int:
    by = plain(key, given, f"{where}: by")
    if isinstance(by, bool) or not isinstance(by, (int, float)) or by == 0 or (by > 0) != (high > low):
        raise InputError(f"{where}: by = {given!r}: must be a number that leads from {low} to {high}")
    steps = (_fraction(high) - _fraction(low)) / _fraction(by)
    if steps >= MOST_VALUES:
        raise InputError(f"{where}: by = {given!r} makes more than {MOST_VALUES:,} values")
    return int(steps) + 1


def _fraction(value: float) -> Fraction:
    """The decimal number as it is written: 0.1 is one tenth."""
    return Fraction(repr(value))


def _rounded(value: Fraction | float, *like: Any) -> float | int:
    """The nearest number of :data:`DIGITS` digits; whole between whole ends."""
    number = float(f"{float(value):.{DIGITS}g}")
    return int(number) if all(isinstance(one, int) for one in like) and number.is_integer() else number
