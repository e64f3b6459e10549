"""Windows of time, ``[(from_s, to_s), ..]``: rising, apart from each other, none empty; and their algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Windows = list[tuple[float, float]]

BLOCK = 50_000
"""Samples computed at once when windows are searched: a few megabytes, however long the run."""


def windows(mask: ArrayLike, t_s: ArrayLike) -> Windows:
    """Where ``mask`` is true: each run from its first sample to the first one after it (or to the last of all)."""
    inside = np.concatenate([[False], np.asarray(mask, dtype=bool), [False]])
    times = np.asarray(t_s, dtype=np.float64)
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    pairs = zip(edges[::2], edges[1::2], strict=True)
    last = times.size - 1
    return tidy((float(times[i]), float(times[min(j, last)])) for i, j in pairs)


def above(values: ArrayLike, t_s: ArrayLike, threshold: float) -> Windows:
    """Where ``values`` exceed ``threshold``, with the crossings put between the samples by a straight line."""
    over = np.asarray(values, dtype=np.float64) - threshold
    times = np.asarray(t_s, dtype=np.float64)
    inside = over > 0
    before = np.flatnonzero(inside[1:] != inside[:-1])
    rise = over[before + 1] - over[before]
    crossings = times[before] - over[before] * (times[before + 1] - times[before]) / rise
    starts = [float(times[0])] if inside.size and inside[0] else []
    ends = [float(times[-1])] if inside.size and inside[-1] else []
    edges = starts + [float(at) for at in crossings] + ends
    return tidy(zip(edges[::2], edges[1::2], strict=True))


def moments(from_s: float, duration_s: float, step_s: float) -> NDArray[np.float64]:
    """Even times from ``from_s`` on for ``duration_s``, both ends included, at most ``step_s`` apart."""
    return np.linspace(from_s, from_s + duration_s, max(2, int(np.ceil(duration_s / step_s)) + 1))


def where_above(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    threshold: float,
    from_s: float,
    duration_s: float,
    step_s: float,
) -> Windows:
    """Where ``function`` of time exceeds ``threshold``: :func:`above` on even times, a block of them at once."""
    times = moments(from_s, duration_s, step_s)
    blocks = range(0, times.size - 1, BLOCK)
    return union(*(above(function(part := times[i : i + BLOCK + 1]), part, threshold) for i in blocks))


def tidy(pieces: Iterable[tuple[float, float]]) -> Windows:
    """Sort; merge what overlaps or touches; drop what is empty."""
    merged: Windows = []
    for begin, end in sorted(pieces):
        if end <= begin:
            continue
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def union(*several: Iterable[tuple[float, float]]) -> Windows:
    """The times in any of several sets of windows."""
    return tidy(piece for pieces in several for piece in pieces)


def intersection(one: Iterable[tuple[float, float]], other: Iterable[tuple[float, float]]) -> Windows:
    """The times in both sets of windows."""
    left, right = tidy(one), tidy(other)
    both: Windows = []
    i = j = 0
    while i < len(left) and j < len(right):
        both.append((max(left[i][0], right[j][0]), min(left[i][1], right[j][1])))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tidy(both)


def complement(pieces: Iterable[tuple[float, float]], from_s: float, to_s: float) -> Windows:
    """The times of ``[from_s, to_s]`` that are in none of the windows."""
    gaps: Windows = []
    reached = from_s
    for begin, end in tidy(pieces):
        gaps.append((reached, min(begin, to_s)))
        reached = max(reached, end)
    return tidy([*gaps, (reached, to_s)])


def total_s(pieces: Sequence[tuple[float, float]]) -> float:
    """The total length of the windows, seconds."""
    return float(sum(end - begin for begin, end in pieces))
