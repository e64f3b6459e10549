"""Windows of time: how they are found, and that their algebra is that of sets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from dstcc_channels.geometry import above, complement, intersection, total_s, union, windows
from dstcc_channels.geometry.windows import where_above
from hypothesis import given
from hypothesis import strategies as st

EDGES = st.integers(-20, 20).map(float)
PIECES = st.lists(st.tuples(EDGES, EDGES), max_size=8)
POINTS = np.arange(-20, 20) + 0.5
"""Between all edges that are drawn, so that open or closed makes no difference."""


def inside(pieces):
    return np.array([any(begin < at < end for begin, end in pieces) for at in POINTS])


def is_tidy(pieces):
    return all(begin < end for begin, end in pieces) and all(
        one[1] < other[0] for one, other in pairwise(pieces)
    )


@given(PIECES, PIECES)
def test_the_algebra_is_that_of_sets(a, b):
    for result, expected in (
        (union(a, b), inside(a) | inside(b)),
        (intersection(a, b), inside(a) & inside(b)),
        (complement(a, -20.0, 20.0), ~inside(a)),
    ):
        assert is_tidy(result)
        assert (inside(result) == expected).all()


@given(PIECES, EDGES, EDGES)
def test_a_complement_stays_in_its_span_and_fills_it(pieces, begin, end):
    gaps = complement(pieces, begin, end)
    span = [(begin, end)]
    assert all(begin <= one and other <= end for one, other in gaps)
    assert total_s(gaps) + total_s(intersection(pieces, span)) == max(0.0, end - begin)


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_a_mask_becomes_windows(mask):
    times = np.arange(len(mask)) * 2.0
    result = windows(mask, times)
    middles = times[:-1] + 1.0
    covered = [any(begin < at < end for begin, end in result) for at in middles]
    assert covered == mask[:-1]  # sample i speaks for the time until sample i + 1


def test_crossings_lie_between_the_samples():
    # -1 to 3 over 4 s crosses 1 halfway; back down from 3 to 0 in 3 s after two of them.
    assert above([-1.0, 3.0, 0.0], [0.0, 4.0, 7.0], 1.0) == [(2.0, 6.0)]
    assert above([2.0, 2.0], [0.0, 4.0], 1.0) == [(0.0, 4.0)]
    assert above([0.0, 1.0], [0.0, 4.0], 1.0) == []


def test_blocks_join(monkeypatch):
    # sin t > 1/2 for a third of its turn, from pi/6 on; with blocks of 7 samples as with one.
    whole = where_above(np.sin, 0.5, 0.0, 40.0, 0.01)
    monkeypatch.setitem(where_above.__globals__, "BLOCK", 7)  # the module's name is its function's too
    assert np.array(where_above(np.sin, 0.5, 0.0, 40.0, 0.01)) == pytest.approx(np.array(whole))
    assert whole[0] == pytest.approx((np.pi / 6, 5 * np.pi / 6), abs=1e-4)
    assert len(whole) == 7
    assert where_above(np.sin, 0.5, 0.0, 0.0, 0.01) == []


@given(st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=2, max_size=20))
def test_above_and_below_share_the_time(values):
    times = np.arange(len(values), dtype=float)
    high, low = above(values, times, 0.25), above(-np.array(values), times, -0.25)
    touching = sum(1 for one, two in pairwise(values) if one == two == 0.25)
    assert total_s(high) + total_s(low) + touching == pytest.approx(times[-1], abs=1e-9)
