"""A rule table as a JSON file: boxes of Remy's memory with an action each, and the range it was trained for.

Memory, in this order: mean gap between ACKs, mean gap between the packets that they acknowledge (weight 1/8), the slow
mean of the first (1/256), all as shares of the least RTT; and RTT over the least RTT. See
``engine/src/congestion/remy.cpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dstcc.errors import InputError
from dstcc.reading import read_json

MEMORY = ("ack_gap", "send_gap", "slow_ack_gap", "rtt_ratio")
LOWEST = (0.0, 0.0, 0.0, 0.0)
HIGHEST = (1e9, 1e9, 1e9, 1e9)
"""Upper end of the memory space, which a table's boxes fill."""


@dataclass(frozen=True)
class Rule:
    """One box of the memory and its action."""

    low: tuple[float, ...] = LOWEST
    high: tuple[float, ...] = HIGHEST
    multiple: float = 1.0
    """m of W ← m W + b, once per round trip."""
    increment: float = 1.0
    """b, segments."""
    spacing: float = 0.0
    """Least gap between segments over the least RTT / W; 0: no pacing."""


@dataclass(frozen=True)
class RuleTable:
    """Rules, and the record of their training."""

    rules: tuple[Rule, ...]
    trained: dict[str, Any]
    """The range, the objective, the seed and the utility reached."""


def load(path: Path) -> RuleTable:
    """Read a table; :class:`InputError` names the file and what is wrong with it."""
    try:
        document = read_json(path, InputError)
        rules = tuple(
            Rule(**{**r, "low": tuple(r["low"]), "high": tuple(r["high"])}) for r in document["rules"]
        )
        table = RuleTable(rules, dict(document["trained"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise InputError(f"{path}: not a Remy table: {error}") from error
    if not table.rules or any(len(r.low) != len(MEMORY) or len(r.high) != len(MEMORY) for r in table.rules):
        raise InputError(f"{path}: not a Remy table: needs rules over {', '.join(MEMORY)}")
    return table


def numbers(rules: Sequence[Rule]) -> tuple[float, ...]:
    """The rules as the engine takes them, its parameter ``rules`` of ``remy``: eleven numbers each."""
    return tuple(value for r in rules for value in (*r.low, *r.high, r.multiple, r.increment, r.spacing))


def shipped_numbers() -> tuple[float, ...]:
    """The same of the table that comes with the package: what a scenario's ``remy`` runs by."""
    return numbers(shipped().rules)


@cache
def shipped() -> RuleTable:
    """The table that comes with the package."""
    return load(Path(str(files(__package__) / "trained.json")))
