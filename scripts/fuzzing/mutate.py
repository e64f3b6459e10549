"""Inputs from inputs: bytes changed at random, and documents whose values are changed and which stay documents."""

from __future__ import annotations

import json
from random import Random
from typing import Any

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
    *(b"\0\0\1", b"\0\0\3", b"\0\0\1\x67", b"/dev/zero", b"..", b"file.py:Class"),
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
    """The document, which is copied, with a value at one place changed, taken out, or put in twice."""
    whole = json.loads(json.dumps(document))
    places = list(_places(whole))
    if not places:
        return rng.choice(VALUES)
    node, key = rng.choice(places)
    what = rng.randrange(5)
    if what == 0:
        del node[key]
    elif what == 1 and isinstance(node, list):
        node.insert(key, node[key])
    elif what == 2:
        _, other = rng.choice(places)
        source = rng.choice(places)
        node[key] = source[0][source[1]] if other is not None else None
        return json.loads(json.dumps(whole)) if _depth(whole) < 50 else document
    elif what == 3 and isinstance(node[key], (int, float)) and not isinstance(node[key], bool):
        node[key] = node[key] * rng.choice((-1, 0, 1e-9, 0.5, 2, 1e9, 1e300))
    else:
        node[key] = rng.choice(VALUES)
    return whole


def _places(node: Any) -> Any:
    if isinstance(node, dict):
        for key, value in node.items():
            yield node, key
            yield from _places(value)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield node, index
            yield from _places(value)


def _depth(node: Any, above: int = 0) -> int:
    if above > 60:
        return above
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return max((_depth(child, above + 1) for child in children), default=above)
