"""Kernel configuration fragments: a symbol and its reason on each line.

::

    # a comment
    CONFIG_MPTCP=y        # what runs are about

Only ``y`` and numbers occur: everything that no fragment names is off (``make allnoconfig``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dstcc.errors import InputError

LINE = re.compile(r"(CONFIG_[A-Z0-9_]+)=(y|-?[0-9]+)\s+# (\S.*)")


@dataclass(frozen=True)
class Choice:
    """One line of a fragment."""

    symbol: str
    value: str
    reason: str


def read_fragment(path: Path) -> tuple[Choice, ...]:
    """The choices of a fragment, in its order.

    Raises :class:`InputError` for a line of another form, one without a reason, or a symbol named twice.
    """
    choices: dict[str, Choice] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line.rstrip())
        if match is None:
            raise InputError(f"{path}:{number}: '{line}' is not CONFIG_NAME=y or a number, then '# reason'")
        choice = Choice(*match.groups())
        if choice.symbol in choices:
            raise InputError(f"{path}:{number}: {choice.symbol} is named twice")
        choices[choice.symbol] = choice
    return tuple(choices.values())


def merge(*fragments: tuple[Choice, ...]) -> dict[str, str]:
    """Symbol to value; a later fragment overrides an earlier one."""
    return {choice.symbol: choice.value for fragment in fragments for choice in fragment}


def as_config(values: dict[str, str]) -> str:
    """The values as a kernel's ``.config`` has them."""
    return "".join(f"{symbol}={value}\n" for symbol, value in values.items())


def refused(values: dict[str, str], config: str) -> list[str]:
    """Which of the wanted symbols a finished ``.config`` has at another value or not at all."""
    lines = set(config.splitlines())
    return [symbol for symbol, value in values.items() if f"{symbol}={value}" not in lines]
