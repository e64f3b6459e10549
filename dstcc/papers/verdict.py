"""Whether a measured number is the published one, in plain words.

The rule, of a measured mean m with its 95 % interval over seeds, and a published number p:

* A *level* is *reproduced* where p lies in the interval, or m is within 20 % of p, or, both being percentages, within
  5 points. Else it is *smaller* or *larger by a factor of* what m and p differ by, and beyond 2 *not reproduced* with
  that. Of a published range each point counts as p.
* An *effect* (by how much one is better than another; positive as the paper has it) is *not reproduced: opposite*
  where the whole interval is below 0, and *not reproduced: no difference seen* where it contains 0, or where m is less
  than 1 % (or a point) either way and p is not; *undecided*, if it contains 0 and p. Else it is *reproduced* where p
  lies in the interval or m is within 20 % of p, and else, as a level, *smaller* or *larger by a factor of* so much,
  after *same direction*: who is ahead is the same.
* A *claim* has no number: it is *reproduced* where the whole interval is above 0 and m at least 1 % (or a point), and
  else as an effect.

With one seed there is no interval; m stands for it, and the verdict ends with *(one seed)*. Where the comparison
divides by 0 since the other brought nothing, m is infinite.
"""

from __future__ import annotations

from math import isfinite

from dstcc.stats import Estimate

REPRODUCED, UNDECIDED, UNMEASURED = "reproduced", "undecided", "not measured"
OPPOSITE, NO_DIFFERENCE = "not reproduced: opposite", "not reproduced: no difference seen"
NOT = "not reproduced"
SAME, SMALLER, LARGER = "same direction", "smaller by a factor of", "larger by a factor of"
CLASSES = {
    REPRODUCED: (REPRODUCED,),
    "within a factor of two": (SMALLER, LARGER, SAME),
    "no difference seen": (NO_DIFFERENCE,),
    "opposite": (OPPOSITE,),
    "beyond a factor of two": (NOT,),
    UNDECIDED: (UNDECIDED,),
}
"""How the verdicts of a class begin; the first that matches counts."""
NEAR = 0.2
"""Of the published number."""
POINTS = 5.0
"""Of percentages."""
FACTOR = 2.0
LEAST, WITH_LEAST = 1.0, ("%", "points")
"""An effect below that is none, however sure it is."""

Published = float | tuple[float, float] | None


def judge(
    measured: Estimate | None, published: Published, *, effect: bool, unit: str = "", drawn: bool = True
) -> str:
    """The verdict; ``None`` for a claim's ``published``, and for what could not be ``measured``; ``drawn`` is false for
    what no seed draws."""
    if measured is None:
        return UNMEASURED
    said = _effect(measured, published, unit) if effect else _level(measured, published, unit)
    return f"{said} (one seed)" if drawn and measured.n == 1 else said


def class_of(verdict: str) -> str:
    """The class of a verdict. Raises ValueError where it has none."""
    for name, beginnings in CLASSES.items():
        if verdict.startswith(beginnings):
            return name
    raise ValueError(f"{verdict!r}: a verdict of no class")


def _level(measured: Estimate, published: Published, unit: str) -> str:
    if published is None:
        raise ValueError("a claim compares two")
    low, high = published if isinstance(published, tuple) else (published, published)
    nearest = min(max(measured.value, low), high)
    if _is_between(measured, low, high) or _is_close(measured.value, nearest, POINTS if unit == "%" else 0.0):
        return REPRODUCED
    return _apart(measured.value, nearest)


def _effect(measured: Estimate, published: Published, unit: str) -> str:
    low, high = measured.bounds()
    p = published if not isinstance(published, tuple) else published[0]
    if unit in WITH_LEAST and abs(measured.value) < LEAST and (p is None or abs(p) >= LEAST):
        return NO_DIFFERENCE
    if high < 0:
        return OPPOSITE
    if low <= 0:
        return UNDECIDED if p is not None and low <= p <= high else NO_DIFFERENCE
    if p is None or low <= p <= high or _is_close(measured.value, p, 0.0):
        return REPRODUCED
    return _apart(measured.value, p, SAME)


def _apart(value: float, published: float, *before: str) -> str:
    """By what factor two numbers differ, if they have one sign, and whether that is too much."""
    ratio = value / published if published else 0.0
    factor = max(ratio, 1 / ratio) if ratio > 0 else 0.0
    if not factor:
        return NOT
    size = "∞" if not isfinite(factor) else f"{factor:,.0f}" if round(factor, 1) >= 10 else f"{factor:.1f}"
    said = ", ".join((*before, f"{LARGER if ratio > 1 else SMALLER} {size}"))
    return said if factor <= FACTOR else f"{NOT}: {said}"


def _is_between(measured: Estimate, low: float, high: float) -> bool:
    """Whether the interval and the range have a point in common."""
    least, most = measured.bounds()
    return least <= high and low <= most


def _is_close(value: float, published: float, points: float) -> bool:
    return abs(value - published) <= max(NEAR * abs(published), points)
