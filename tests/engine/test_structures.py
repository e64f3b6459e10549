"""The engine's containers against plain ones: sets of integers, a minimum over a list, a sorted list."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import NEVER_NS
from dstcc.engine._testing import structures
from tests.sampling import examples

places = st.integers(0, 40)
additions = st.tuples(st.just("add"), places, st.integers(0, 12))
steps = st.one_of(
    additions, additions, st.tuples(st.sampled_from(("drop_below", "pop_front")), places, st.just(0))
)


def spelled(ranges: list[tuple[int, int]]) -> list[int]:
    return [x for begin, end in ranges for x in range(begin, end)]


@given(st.lists(steps, max_size=40))
@examples(120)
def test_a_range_set_is_a_set_of_integers(steps: list[tuple[str, int, int]]) -> None:
    ranges, plain = structures.RangeSet(), set[int]()
    for step, begin, length in steps:
        if step == "add":
            new = [x for x in range(begin, begin + length) if x not in plain]
            assert spelled(ranges.add(begin, begin + length)) == new  # what is fresh, in rising order
            plain.update(new)
        elif step == "drop_below":
            ranges.drop_below(begin)
            plain = {x for x in plain if x >= begin}
        elif ranges:
            first = min(plain)
            ranges.pop_front()
            while first in plain:
                plain.remove(first)
                first += 1
        assert bool(ranges) == bool(plain)
        assert spelled(ranges.within(0, 60)) == sorted(plain)
        assert spelled(ranges.within(begin, begin + 7)) == [
            x for x in sorted(plain) if begin <= x < begin + 7
        ]
        assert [x for x in range(60) if ranges.contains(x)] == sorted(plain)


far = st.integers(0, 700)
"""Over eleven words of a bit window, so that it widens, wraps around and is cut within a word."""


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), far, st.sampled_from((0, 1, 2, 63, 64, 65, 130))),
            st.tuples(st.sampled_from(("insert", "drop_below")), far, st.just(0)),
        ),
        max_size=40,
    )
)
@examples(120)
def test_a_bit_window_is_a_set_of_integers(steps: list[tuple[str, int, int]]) -> None:
    bits, plain = structures.BitWindow(), set[int]()
    for step, begin, length in steps:
        if step == "add":
            new = [x for x in range(begin, begin + length) if x not in plain]
            assert spelled(bits.add(begin, begin + length)) == new  # what is fresh, in rising order
            plain.update(new)
        elif step == "insert":
            assert bits.insert(begin) == (begin not in plain)
            plain.add(begin)
        else:
            bits.drop_below(begin)
            plain = {x for x in plain if x >= begin}
        assert bool(bits) == bool(plain)
        assert not plain or bits.end == max(plain) + 1
        assert not plain or bits.least() == min(plain)
        assert [x for x in range(900) if bits.contains(x)] == sorted(plain)
        assert bits.first_missing(begin) == next(x for x in range(begin, 900) if x not in plain)
        for least in (0, begin):
            for x in (begin, begin + length, bits.end):
                gaps = [y for y in range(least, x) if y not in plain]
                assert bits.last_missing(least, x) == (gaps[-1] if gaps else least - 1)


@pytest.mark.parametrize("kind", [structures.TreeOfFours, structures.TreeOfEights])
@pytest.mark.parametrize("heads", [1, 2, 3, 4, 5, 16, 17, 64, 65, 257])
@given(st.data())
@examples(30)
def test_the_first_event_is_the_earliest_of_the_lowest_head(
    kind: Any, heads: int, data: st.DataObject
) -> None:
    tree, times = kind(heads), [NEVER_NS] * heads
    assert tree.first == (NEVER_NS, 0)
    moves = st.tuples(st.integers(0, heads - 1), st.sampled_from((0, 1, 2, NEVER_NS - 1)))
    for head, at in data.draw(st.lists(moves, max_size=60)):
        tree.set(head, at)
        times[head] = at
        assert tree.first == (min(times), times.index(min(times)))


@given(
    st.integers(1, 20).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 9), min_size=n, max_size=n)] * 3)
    )
)
def test_the_room_of_a_chunk_is_what_halls_condition_leaves(steps: tuple[list[int], ...]) -> None:
    q = list(accumulate(steps[0]))
    p = [begin + window for begin, window in zip(q, accumulate(steps[1]), strict=True)]
    tree, taken = structures.DemandTree(p, q), [0] * len(p)
    for number, wanted in enumerate(steps[2]):
        k = (7 * number) % len(p)
        room = min(p[j] - q[i] - sum(taken[i : j + 1]) for i in range(k + 1) for j in range(k, len(p)))
        assert tree.room(k) == room
        tree.take(k, min(wanted, max(room, 0)))
        taken[k] += min(wanted, max(room, 0))


@given(st.lists(st.tuples(st.sampled_from(("push", "pop", "pop to")), st.integers(1, 9)), max_size=60))
@examples(120)
def test_a_ring_is_a_queue_whose_places_keep_their_numbers(steps: list[tuple[str, int]]) -> None:
    ring, plain, popped, peak = structures.BlockRing(), list[int](), 0, 0
    for step, times in steps:
        if step == "push":
            for _ in range(times):
                ring.push_back(1000 + len(plain))
                plain.append(1000 + len(plain))
        elif step == "pop":
            for _ in range(min(times, len(plain) - popped)):
                ring.pop_front()
                popped += 1
        else:
            popped = min(popped + times, len(plain))
            ring.pop_front(popped)
        assert (ring.begin, ring.end) == (popped, len(plain))
        assert [ring[i] for i in range(popped, len(plain))] == plain[popped:]
        if popped < len(plain):
            assert ring.front == plain[popped]
        # Blocks of four integers, from the front's to the back's; the back's stays while it has room.
        blocks = (len(plain) + 3) // 4 - popped // 4
        assert ring.bytes == blocks * 4 * 8
        peak = max(peak, ring.bytes)
    assert ring.peak_bytes >= peak


@given(st.lists(st.integers(1, NEVER_NS), min_size=1, max_size=50), st.floats(0.01, 1))
def test_a_quantile_is_right_to_5_percent(values: list[int], q: float) -> None:
    histogram = structures.LogHistogram()
    for value in values:
        histogram.add(value)
    exact = sorted(values)[math.ceil(q * len(values)) - 1]
    assert histogram.quantile(q) == pytest.approx(exact, rel=0.05)


def test_of_nothing_there_is_no_quantile() -> None:
    histogram = structures.LogHistogram()
    assert math.isnan(histogram.quantile(0.5))
    histogram.add(0)
    assert histogram.quantile(0.5) == 0
