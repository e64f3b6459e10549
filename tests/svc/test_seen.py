from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dstcc_svc.seen import Seen, seen, start_tick
from dstcc_svc.stream import NOTHING, Stream

FRAMES = (25, 25, 10)
"""Of the stream's chunks, 40 ms each."""


def screens(stream: Stream, levels: list[int], span: range | None = None) -> list[Seen]:
    return list(seen(stream, levels, span or range(len(levels))))


def ms(stream: Stream, ticks: int) -> int:
    return round(1000 * ticks * stream.manifest.tick_s)


@pytest.mark.parametrize(
    "levels", [[3, 3, 3], [0, 1, 2, 3, 0], [3, -1, 3], [2, -1, -1, -1, 0, 3, 3], [-1, 3, 3]]
)
def test_every_frame_time_of_the_mission_is_there(stream: Path, levels: list[int]) -> None:
    opened = Stream.open(stream)
    shown = screens(opened, levels)
    assert [ms(opened, one.tick) for one in shown] == list(range(0, 40 * len(shown), 40))
    assert [one.level for one in shown] == [
        level for index, level in enumerate(levels) for _ in range(FRAMES[index % 3])
    ]


def test_a_chunk_that_arrived_is_shown_at_its_level(stream: Path) -> None:
    opened = Stream.open(stream)
    for chunk, level in ((0, 3), (1, 0), (2, 1)):
        levels = [NOTHING] * chunk + [level]
        shown = screens(opened, levels, range(chunk, chunk + 1))
        wanted = opened.shown(opened.manifest.chunks[chunk], level)
        for one, image in zip(shown, wanted, strict=True):
            np.testing.assert_array_equal(one.image.to_ndarray(), image.to_ndarray())
            assert one.since is None


def test_a_lost_chunk_holds_the_last_picture_of_the_one_before(stream: Path) -> None:
    opened = Stream.open(stream)
    shown = screens(opened, [3, 1, -1, -1, 2])
    held = opened.shown(opened.manifest.chunks[1], 1)[-1].to_ndarray()
    for one in shown[50:85]:
        np.testing.assert_array_equal(one.image.to_ndarray(), held)
        assert one.since is not None
        assert ms(opened, one.since) == 2000  # where the first of the two lost chunks begins
    assert shown[85].since is None


def test_a_span_begins_with_the_picture_that_stood(stream: Path) -> None:
    opened = Stream.open(stream)
    levels = [1, -1, -1, -1, 3]
    assert [(ms(opened, one.tick), one.since) for one in screens(opened, levels, range(2, 4))] == [
        (ms(opened, one.tick), one.since) for one in screens(opened, levels)[50:85]
    ]
    first = screens(opened, levels, range(2, 4))[0]
    assert first.since is not None
    assert ms(opened, first.since) == 1000
    held = opened.shown(opened.manifest.chunks[0], 1)[-1].to_ndarray()
    np.testing.assert_array_equal(first.image.to_ndarray(), held)


def test_before_anything_it_is_black_since_the_start(stream: Path) -> None:
    opened = Stream.open(stream)
    for one in screens(opened, [-1, -1, 3], range(1, 2)):
        assert one.since == 0
        assert (one.image.to_ndarray()[:64] == 16).all()


def test_loops_go_on_in_mission_time(stream: Path) -> None:
    manifest = Stream.open(stream).manifest
    assert [round(1000 * start_tick(manifest, index) * manifest.tick_s) for index in (0, 1, 3, 4, 7)] == [
        0,
        1000,
        2400,
        3400,
        5800,
    ]
