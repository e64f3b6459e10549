"""Quantities with a unit, as people write them: ``"4 Mbit/s"``, ``"20 min"``, ``"64 KiB"``.

A key's name ends with the unit that its plain number has (``rate_bps``, ``delay_s``, ``queue_bytes``, ``ebn0_db``). A
text under such a key, in its lists and tables too, becomes that number before the scenario is checked. Other texts,
such as ``"auto"``, stay as they are.
"""

from __future__ import annotations

import re
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from dstcc.errors import InputError, ScenarioError

_TIME = {
    "us": "1e-6",
    "µs": "1e-6",
    "ms": "1e-3",
    "s": "1",
    "min": "60",
    "h": "3600",
    "d": "86400",
}
_SI = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_RATE = {
    f"{prefix}{unit}": str(factor * bits)
    for prefix, factor in _SI.items()
    for unit, bits in (("bit/s", 1), ("b/s", 1), ("bps", 1), ("B/s", 8))
}
_SIZE = {f"{prefix}B": str(factor) for prefix, factor in _SI.items()} | {
    f"{prefix}B": str(1024**power) for power, prefix in enumerate(("Ki", "Mi", "Gi", "Ti"), 1)
}
UNITS: dict[str, tuple[str, dict[str, str]]] = {
    "_s": ("time", _TIME),
    "_bps": ("rate", _RATE),
    "_bytes": ("size", _SIZE),
    "_db": ("level", {"dB": "1"}),
}
"""End of a key's name → what it measures, and how many of the key's own unit each unit is."""
TIMES = frozenset({"outages", "unannounced_outages"})
"""Keys whose numbers are seconds though their names do not say so."""
OTHERS = frozenset({"expect", "description", "name", "env", "sysctl"})
"""Keys below which nothing is a quantity: bounds are texts of their own, as is what programs and kernels get."""
_QUANTITY = re.compile(r"\s*([-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")
_LONGEST = 64
"""Characters of a quantity; nobody writes more."""


def duration_s(text: str, what: str) -> float:
    """Seconds of ``90``, ``90 s``, ``15 min`` (or ``15m``), ``2h``, ``10d``: a time above 0 in a scenario's units.

    Raises :class:`~dstcc.errors.InputError`, which begins with ``what``.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    number, unit = match.groups() if match else ("", "")
    factor = {**_TIME, "": "1", "m": _TIME["min"]}.get(unit)
    seconds = float(Decimal(number.replace("_", "")) * Decimal(factor)) if match and factor else 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"{what} {text}: a time above 0, like 90, '15 min', 2h or 10d")
    return seconds


def number_of(text: str, units: dict[str, str]) -> float | None:
    """The number of a quantity in one of these units; ``None`` for what is none."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or match[2] not in units:
        return None
    return float(Decimal(match[1].replace("_", "")) * Decimal(units[match[2]]))


def with_units(document: dict[str, Any], source: str) -> dict[str, Any]:
    """The document with plain numbers in the place of quantities.

    Raises :class:`~dstcc.errors.ScenarioError`, with ``source`` and the key, for a unit that is not of the key's kind.
    """
    converted: dict[str, Any] = _converted(document, "", (), source)
    return converted


def _converted(value: Any, kind: str, keys: tuple[str, ...], source: str) -> Any:
    if isinstance(value, dict):
        return {
            key: _converted(item, _kind(str(key), kind), (*keys, str(key)), source)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_converted(item, kind, (*keys, str(place)), source) for place, item in enumerate(value)]
    if kind and isinstance(value, str):
        return _number(value, kind, f"{source}: {'.'.join(keys)} = {value!r}")
    return value


def _kind(key: str, above: str) -> str:
    """The end of a key's name that says its unit; of a key without one that of the table it is in."""
    if key in OTHERS:
        return "none"
    if above == "none":
        return above
    own = next((end for end in UNITS if key.endswith(end)), None)
    return own or ("_s" if key in TIMES else above)


def _number(text: str, kind: str, where: str) -> Any:
    """A quantity as a number; any other text as it is."""
    if kind == "none":
        return text
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return text
    measure, factors = UNITS[kind]
    number, unit = match.groups()
    if unit not in factors:
        near = [one for one in factors if one.lower() == unit.lower()]
        near = near or (get_close_matches(unit, factors, 1, 0.5) if unit else [])
        known = f"one of {', '.join(factors)}"
        hint = f"did you mean '{number} {near[0]}'?" if near else known
        if not unit:
            negative = number.startswith("-") and kind != "_db"
            plain = f"a {measure} is not negative; write a number" if negative else f"write {number}"
            hint = f"{plain} without quotes, or with {known}"
        raise ScenarioError(
            f"{where}: {'no unit' if not unit else f'{unit!r} is no unit'} of a {measure}; {hint}"
        )
    amount = Decimal(number.replace("_", "")) * Decimal(factors[unit])
    return int(amount) if kind == "_bytes" and amount == amount.to_integral_value() else float(amount)
