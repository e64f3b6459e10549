"""The check of an abstract profile's ``[link]``: keys of a scenario's ``[[link]]``, with their values.

A scenario checks them again with its own messages; this check reports a mistake before a scenario uses the profile.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import Any

from dstcc.errors import InputError

from ..codes import CODE_NAMES
from ..data import nearest
from ..gilbert_elliott import GilbertElliott

LINK_KEYS = (
    "rate_bps",
    "up_rate_bps",
    "delay_s",
    "loss",
    "up_loss",
    "queue_bytes",
    "up_queue_bytes",
    "outages",
    "cross_traffic",
)
NEEDED = ("rate_bps", "delay_s")
DRAWS = ("uniform", "log_uniform")
BOUNDS = {
    "rate_bps": (1.0, 1e12),
    "up_rate_bps": (1.0, 1e12),
    "delay_s": (1e-6, 1e6),
    "loss.packet": (0.0, 1.0),
    "loss.ber": (0.0, 1.0),
    "loss.ebn0_db": (-50.0, 100.0),
}
GE_KEYS = ("p", "r", "good", "bad")
LOSSES = ("packet", "ber", "gilbert_elliott", "ebn0_db")
"""The keys of loss processes that channel models describe."""


def check_link(link: dict[str, Any], losses: tuple[str, ...]) -> None:
    """Raise :class:`InputError`, which begins with the key, for a value that no link can have.

    ``losses`` are the keys of which a loss has one.
    """
    _known(link, LINK_KEYS, "link")
    for key in NEEDED:
        if key not in link:
            raise InputError(f"link.{key}: missing")
    for key in ("rate_bps", "up_rate_bps", "delay_s"):
        if key in link:
            _drawable(f"link.{key}", link[key], *BOUNDS[key])
    for key in ("loss", "up_loss"):
        if key in link:
            _loss(f"link.{key}", link[key], losses)


def _loss(key: str, loss: Any, losses: tuple[str, ...]) -> None:
    if not isinstance(loss, dict):
        raise InputError(f"{key} = {loss!r}: must be a table, like {{packet = 1e-3}}")
    _known(loss, (*losses, "code"), key)
    kinds = [name for name in losses if name in loss]
    if len(kinds) != 1:
        raise InputError(f"{key}: needs exactly one of {', '.join(losses)} (ebn0_db with code)")
    (kind,) = kinds
    if (kind == "ebn0_db") != ("code" in loss):
        raise InputError(f"{key}: ebn0_db and code need each other")
    if kind == "gilbert_elliott":
        _chain(f"{key}.{kind}", loss[kind])
        return
    if f"loss.{kind}" in BOUNDS:  # of other kinds the scenario says what values there are
        _drawable(f"{key}.{kind}", loss[kind], *BOUNDS[f"loss.{kind}"])
    if kind == "ebn0_db" and loss["code"] not in CODE_NAMES:
        raise InputError(f"{key}.code = {loss['code']!r}: not known; {nearest(loss['code'], CODE_NAMES)}")


def _chain(key: str, chain: Any) -> None:
    if not isinstance(chain, dict):
        raise InputError(f"{key} = {chain!r}: must be a table of p, r, good and bad")
    _known(chain, GE_KEYS, key)
    for name in ("p", "r"):
        if name not in chain:
            raise InputError(f"{key}.{name}: missing")
    for name, value in chain.items():
        _number(f"{key}.{name}", value, 0, 1)
    try:
        GilbertElliott(**chain)
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _drawable(key: str, value: Any, low: float, high: float) -> None:
    """A number, a draw of one, or (delays) rows of time and value."""
    if isinstance(value, dict):
        if len(value) != 1 or not set(value) <= set(DRAWS):
            raise InputError(
                f"{key} = {value}: must be a number, {{uniform = [a, b]}} or {{log_uniform = [a, b]}}"
            )
        ((kind, ends),) = value.items()
        if not isinstance(ends, list) or len(ends) != 2:
            raise InputError(f"{key}.{kind} = {ends!r}: must be a pair of bounds")
        for end in ends:
            _number(f"{key}.{kind}", end, low, high)
        if ends[0] > ends[1] or (kind == "log_uniform" and ends[0] <= 0):
            raise InputError(f"{key}.{kind} = {ends}: must rise, log_uniform from above 0")
    elif isinstance(value, list) and key == "link.delay_s":
        _rows(key, value, low, high)
    else:
        _number(key, value, low, high)


def _rows(key: str, rows: list[Any], low: float, high: float) -> None:
    if not rows or any(not isinstance(row, list) or len(row) != 2 for row in rows):
        raise InputError(f"{key}: a table has rows [t_s, delay_s]")
    for time_s, delay_s in rows:
        _number(key, time_s, 0, 1e9)
        _number(key, delay_s, low, high)
    if any(after[0] <= before[0] for before, after in pairwise(rows)):
        raise InputError(f"{key}: times must rise")


def _number(key: str, value: Any, low: float, high: float) -> None:
    # Compared, as an integer may be larger than any float.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -inf < value < inf:
        raise InputError(f"{key} = {value!r}: must be a number")
    if not low <= value <= high:
        raise InputError(f"{key} = {value!r}: must be between {low:g} and {high:g}")


def _known(table: dict[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in names:
            raise InputError(f"{where}.{key}: unknown key; {nearest(key, names)}")
