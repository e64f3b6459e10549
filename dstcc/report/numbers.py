"""Numbers for people: one unit for a row, three significant digits where possible, SI prefixes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dstcc.stats import Estimate

UNKNOWN = "–"
"""What stands for a value that there is not."""

SPACE = "\u202f"
"""Narrow no-break space between number and unit (SI brochure 5.4.3)."""
MINUS = "\u2212"

MORE_DECIMALS = 2
"""Most additional decimals that a number may get to differ from its neighbours."""
MOST_DIGITS = 4
"""Most significant digits in a table."""
SAME = 0.01
FAR_APART = 1e4
"""Values smaller than the largest by more than this do not count when a row's unit is chosen."""

_SECONDS = (
    (86_400.0 * 3, 86_400.0, "d"),
    (7_200.0, 3_600.0, "h"),
    (120.0, 60.0, "min"),
    (1.0, 1.0, "s"),
    (0.0, 1e-3, "ms"),
)
_BPS = ((1e9, 1e9, "Gb/s"), (1e6, 1e6, "Mb/s"), (1e3, 1e3, "kb/s"), (0.0, 1.0, "b/s"))
_BYTES = ((1e9, 1e9, "GB"), (1e6, 1e6, "MB"), (1e3, 1e3, "kB"), (0.0, 1.0, "B"))
_FIXED = {"share": (100.0, "%"), "db": (1.0, "dB"), "score": (1.0, ""), "count": (1.0, "")}
_LADDERS = {"seconds": _SECONDS, "bps": _BPS, "bytes": _BYTES}


@dataclass(frozen=True)
class Unit:
    """A unit and a number of decimals, chosen once for numbers that are shown together."""

    factor: float
    name: str
    decimals: int

    def telling_apart(self, values: Iterable[float]) -> Unit:
        """This unit, with up to two more decimals where they distinguish more of ``values`` from each other and from 0.

        Values are different if they differ by 1 % or more.
        """
        pairs = [
            (one, other)
            for one, other in combinations(sorted({0.0, *values}), 2)
            if not math.isclose(one, other, rel_tol=SAME)
        ]

        def digits(unit: Unit) -> int:
            return sum(unit.number(one) != unit.number(other) for one, other in pairs)

        finer = [replace(self, decimals=self.decimals + more) for more in range(MORE_DECIMALS + 1)]
        return max(finer, key=digits)

    def trimmed(self, values: Iterable[float]) -> Unit:
        """This unit, with fewer decimals where the largest of ``values`` had more than :data:`MOST_DIGITS` digits."""
        largest = max((abs(value) for value in values), default=0.0) / self.factor
        room = MOST_DIGITS - 1 - _exponent(largest) if largest else self.decimals
        return replace(self, decimals=max(0, min(self.decimals, room)))

    def number(self, value: float) -> str:
        """``value`` (in base units) in this unit, without its name."""
        text = f"{value / self.factor:,.{self.decimals}f}".replace(",", SPACE)
        if float(text.replace(SPACE, "")) == 0.0:
            text = text.lstrip("-")
        return text.replace("-", MINUS)

    def text(self, value: float) -> str:
        """``value`` (in base units) with the unit's name."""
        return f"{self.number(value)}{SPACE}{self.name}" if self.name else self.number(value)

    def signed(self, value: float) -> str:
        """As :meth:`number`, with a plus sign before a positive number."""
        text = self.number(value)
        return f"+{text}" if value > 0 and any(digit in text for digit in "123456789") else text


def unit_for(kind: str, values: Iterable[float]) -> Unit:
    """The unit in which the largest of ``values`` is easy to read, with about three digits."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if kind in _FIXED:
        multiple, name = _FIXED[kind]
        factor = 1.0 / multiple
        return Unit(factor, name, _decimals(kind, largest / factor))
    factor, name = next((factor, name) for floor, factor, name in _LADDERS[kind] if largest >= floor)
    if largest == 0.0:
        factor, name = _LADDERS[kind][-1][1:] if kind != "seconds" else (1.0, "s")
    return Unit(factor, name, _decimals(kind, largest / factor))


def unit_for_row(kind: str, values: Iterable[float]) -> Unit:
    """The unit for values shown side by side; if they are far apart, one that suits the values between."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    if kind not in _LADDERS or not sizes:
        return unit_for(kind, sizes)
    largest = max(sizes)
    between = unit_for(kind, [math.sqrt(largest * max(min(sizes), largest / FAR_APART))])
    return between if largest / between.factor < 10**MOST_DIGITS else unit_for(kind, [largest])


def quantity(kind: str, value: float) -> str:
    """``value`` with a unit that suits it, trailing zeros dropped: ``115.2 kb/s``, ``20 min``."""
    unit = unit_for(kind, [value])
    text = unit.number(value)
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text}{SPACE}{unit.name}" if unit.name else text


def span(kind: str, values: Iterable[float]) -> str:
    """One value, or the range of several: ``8.5–20 min``."""
    numbers = sorted(values)
    if not numbers:
        return "unknown"
    low, high = quantity(kind, numbers[0]), quantity(kind, numbers[-1])
    if low == high:
        return low
    low_number, _, low_unit = low.rpartition(SPACE)
    high_unit = high.rpartition(SPACE)[2]
    return f"{low_number}–{high}" if low_unit == high_unit else f"{low} – {high}"


def with_interval(
    one: Estimate | None, unit: Unit, bounds: Unit | None = None, *, factor: float = 1.0, signed: bool = False
) -> tuple[str, str]:
    """An estimate times ``factor`` as text, and its interval, empty without one; a dash without a value.

    ``bounds`` is the interval's unit where it is not the value's; ``signed`` is for differences.
    """
    if one is None:
        return UNKNOWN, ""
    value = (unit.signed if signed else unit.number)(one.value * factor)
    if one.low is None or one.high is None:
        return value, ""
    bounds = bounds or unit
    say, joint = (bounds.signed, " to ") if signed else (bounds.number, "–")
    return value, f"{say(one.low * factor)}{joint}{say(one.high * factor)}"


def grouped(number: int) -> str:
    """Digits in groups of three."""
    return f"{number:,}".replace(",", SPACE)


def scientific(value: float) -> str:
    """A small probability: ``0``, ``0.012`` or ``3.2 × 10⁻⁴``."""
    if value == 0.0 or 0.01 <= abs(value) < 1000:
        return f"{value:.3g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    mantissa = mantissa.removesuffix(".0")
    return f"10{power}" if mantissa == "1" else f"{mantissa}{SPACE}×{SPACE}10{power}"


def _decimals(kind: str, largest: float) -> int:
    if kind == "count":
        return 0 if largest >= 10 else 1
    if kind == "share":
        return 1 if largest >= 1 else min(6, 2 - _exponent(largest))
    if kind == "score" and largest <= 1.0:
        return 3
    return max(0, min(6, 2 - _exponent(largest)))


def _exponent(value: float) -> int:
    return math.floor(math.log10(value)) if value > 0 else 0


def listed(parts: Sequence[str]) -> str:
    """One, two and three."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
