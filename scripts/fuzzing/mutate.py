"""Inputs from inputs: bytes changed at random, and documents whose values are changed and which stay documents."""

from __future__ import annotations

from copy import copy
from random import Random
from typing import Any

DEVICES = ("/dev/zero", "/dev/full", "/dev/stdin", "/proc/self/mem")
"""In the place of any path: they have no end, no room, or nobody who writes."""
LONG_KEY = ".".join("a" * 600)


def _nested(levels: int) -> dict[str, Any]:
    """Tables within each other, as a key of so many parts makes them."""
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


TOKENS = (
    *(
        b"\0",
        b"\xff",
        b"\x1b[2J",
        b"[/red]",
        b"null",
        b"true",
        b"nan",
        b"inf",
        b"-1",
        b"1e308",
        b"1e400",
        b"0",
    ),
    *(
        b"9" * 400,
        b"[" * 200,
        b"{" * 200,
        b'"',
        b"\\u0000",
        b"\xed\xa0\x80",
        b"1979-05-27T07:32:00Z",
        b"\n",
        b"=",
    ),
    *(b"\0\0\1", b"\0\0\3", b"\0\0\1\x67", b"..", b"file.py:Class"),
    *(LONG_KEY.encode(), *(device.encode() for device in DEVICES)),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        5,
        -1,
        0,
        1e308,
        1e-320,
        10**30,
        -(2**63),
        "x",
        "[/red]",
        "\x1b[2J",
        "\0",
        "é" * 300,
        "nan",
        True,
    ),
    *([], {}, [None], [[]], {"a": 1}, [1, "a"], {"name": None}, [[0, 1], [2, 3]], "file.py:Class"),
    *(*DEVICES, LONG_KEY, {LONG_KEY: 1}, _nested(65), _nested(300)),
)


def mutated(rng: Random, data: bytes, others: list[bytes], most: int) -> bytes:
    """The bytes with up to eight changes."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        at, end = sorted((rng.randrange(len(made) + 1), rng.randrange(len(made) + 1)))
        end = min(end, at + 64)
        what = rng.randrange(7)
        if what == 0 and made:
            made[rng.randrange(len(made))] = rng.randrange(256)
        elif what == 1 and made:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
        elif what == 2:
            del made[at:end]
        elif what == 3:
            made[at:at] = rng.choice(TOKENS)
        elif what == 4:
            made[at:end] = rng.choice(TOKENS)
        elif what == 5:
            made[at:at] = made[at:end] * rng.choice((1, 2, 16))
        else:
            other = rng.choice(others)
            cut = rng.randrange(len(other) + 1)
            made[at:] = other[cut:]
    return bytes(made[:most])


def changed(rng: Random, document: Any) -> Any:
    """The document with a value at one place changed, taken out, or put in twice.

    It is not changed itself: the tables and lists above the place are copied, all else is shared.
    """
    place = _place(rng, document)
    if not place:
        return rng.choice(VALUES)
    *above, last = place
    whole = node = copy(document)
    for key in above:
        node[key] = copy(node[key])
        node = node[key]
    what = rng.randrange(5)
    if what == 0:
        del node[last]
    elif what == 1 and isinstance(node, list):
        node.insert(last, node[last])
    elif what == 2:
        node[last] = _find(document, _place(rng, document))
    elif what == 3 and isinstance(node[last], (int, float)) and not isinstance(node[last], bool):
        node[last] = _scaled(node[last], rng.choice((-1, 0, 1e-9, 0.5, 2, 1e9, 1e300)))
    else:
        node[last] = rng.choice(VALUES)
    return whole


def _scaled(value: float, factor: float) -> float:
    try:
        return value * factor
    except OverflowError:  # of an integer beyond floating point
        return factor


def _place(rng: Random, document: Any) -> list[Any]:
    """The keys to a value, from the top at random: in a long list as often as in a short one; none of a scalar.

    A step down costs no look at what lies beside it, so that large documents cost little more than small ones.
    """
    place: list[Any] = []
    node = document
    while isinstance(node, (dict, list)) and node and (not place or rng.random() < 0.75):
        place.append(rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node)))
        node = node[place[-1]]
    return place


def _find(document: Any, place: list[Any]) -> Any:
    node = document
    for key in place:
        node = node[key]
    return node
