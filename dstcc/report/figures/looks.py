"""The colour and line style of each algorithm: the same in every report, whoever else is in it.

Colours are at least 4.5 to 1 against the page, in light and dark, and stay apart for readers with protanopia,
deuteranopia and tritanopia (a test simulates them). Where a colour occurs twice, line styles and swatches differ.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from dstcc.report.model import plain_name

COLOURS = ("#005cff", "#bf5005", "#278654", "#812559", "#452a13", "#013a83", "#5d6b79")
DARK = ("#2a84ff", "#ffc877", "#57ce95", "#e984e9", "#9d7a21", "#cbf2fd", "#778190")
"""The same on a dark page; ``report.css`` has both."""
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
"""Line styles that distinguish algorithms of the same colour."""
FIXED: dict[str, tuple[int, int]] = {
    "cubic": (0, 0), "bbr-scaled": (1, 0), "ltp": (2, 0), "open-loop": (3, 0), "dstcc": (4, 0), "iodst-dqn": (5, 0),
    "fixed": (6, 0), "newreno": (0, 1), "bbr": (1, 1), "westwood": (2, 1), "olia": (3, 1), "pbq": (4, 1),
    "iodst-q": (5, 1), "lia": (6, 1), "bic": (0, 2), "vegas": (1, 2), "ledbat": (2, 2), "balia": (3, 2),
    "mpquic-rl": (4, 2), "drl-cc": (5, 2), "wvegas": (6, 2), "tp-planet": (0, 3), "remy": (1, 3),
    "gru-mpc": (2, 3), "paced": (3, 3), "iodst-dqn+": (5, 3), "dstcc-lanes": (4, 3),
}  # fmt: skip
"""Congestion control, transfer or controller → place of its colour and of its line style. A new algorithm gets a pair
that is free; the others keep theirs."""
USUAL = ("", "minrtt", "none")
"""Schedulers with which an algorithm has its own look."""
ALL = tuple((colour, turn) for turn in range(len(DASHES)) for colour in range(len(COLOURS)))


class Look(NamedTuple):
    """How an algorithm is drawn."""

    colour: str
    turn: int
    """Place of the line style, and of the swatch's form."""

    @property
    def dashes(self) -> Any:
        """The line style."""
        return DASHES[self.turn]


Looks = dict[str, Look]
"""By the name that a report shows."""


def looks(names: Iterable[str]) -> Looks:
    """A look for each name. Algorithms with their usual scheduler have that of :data:`FIXED`; variants and other
    schedulers one that is free, of the same colour where there is one, else of the colour that fewest have, chosen by
    their names. More names than looks share them."""
    shown = tuple(dict.fromkeys(names))
    chosen: dict[str, tuple[int, int]] = {}
    for name in shown:
        base, scheduler = _parts(name)
        if base in FIXED and scheduler in USUAL and FIXED[base] not in chosen.values():
            chosen[name] = FIXED[base]
    for name in sorted(set(shown) - set(chosen)):
        wanted = _wanted(name, Counter(colour for colour, _ in chosen.values()))
        free = (place for place in wanted if place not in chosen.values())
        chosen[name] = next(free, wanted[0])
    return {name: Look(COLOURS[chosen[name][0]], chosen[name][1]) for name in shown}


def _parts(name: str) -> tuple[str, str]:
    plain = plain_name(name)
    if plain in FIXED:  # a name may end in a plus: iodst-dqn+
        return plain, ""
    base, _, scheduler = plain.partition("+")
    return base, scheduler


def _wanted(name: str, taken: Counter[int]) -> list[tuple[int, int]]:
    """All looks in the order in which a name would have them: its algorithm's colour, then those that fewest have
    ``taken``, then what no algorithm has."""
    words = re.findall(r"[a-z0-9-]+[+]?", plain_name(name).lower())
    base = next((one for word in words for one in (word, word.rstrip("+")) if one in FIXED), "")
    start = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % len(ALL)
    turned = [*ALL[start:], *ALL[:start]]
    colour = FIXED[base][0] if base in FIXED else None
    return sorted(turned, key=lambda place: (place[0] != colour, taken[place[0]], place in FIXED.values()))
