"""What a sender knows of its source: what was captured by now."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import Objects
from dstcc.learn.paths.captured import NOTHING, Captured

S = 10**9


def source(*chunks: tuple[float, tuple[int, ...]]) -> Captured:
    """When each chunk is captured, and the bytes of its layers."""
    rows = [
        (k, m, size, round(at * S)) for k, (at, sizes) in enumerate(chunks) for m, size in enumerate(sizes)
    ]
    chunk, layer, size, release = np.array(rows, dtype=np.int64).T
    return Captured.of(Objects(chunk, layer, size, release, np.full_like(release, 100 * S)))


def test_what_comes_later_is_not_known() -> None:
    # 300 bytes every two seconds, then ten times that: by 5.9 s there were two chunks, 300 bytes / 2 s each.
    captured = source((2, (200, 100)), (4, (200, 100)), (6, (2_000, 1_000)), (8, (2_000, 1_000)))
    assert captured.by(5.9) == (600, 150)
    assert captured.by(6.0) == (3_600, 3_600 / 6)  # three chunks in three intervals of 2 s
    assert captured.by(1e6) == (6_600, 6_600 / 8)


def test_a_steady_source_shows_its_rate_from_the_second_chunk_on() -> None:
    captured = source(*((4.0 * k, (70, 30)) for k in range(1, 50)))
    assert [captured.by(now)[1] for now in (8, 9, 40, 196)] == [25.0] * 4


@pytest.mark.parametrize(("now", "bytes_"), [(0.9, 0), (1.0, 300), (1.9, 300)])
def test_one_chunk_tells_no_rate(now: float, bytes_: int) -> None:
    assert source((1, (200, 100)), (2, (200, 100))).by(now) == (bytes_, 0)


def test_a_stored_video_tells_no_rate() -> None:
    assert source((0, (200, 100)), (0, (200, 100))).by(1000) == (600, 0)
    assert NOTHING.by(1000) == (0, 0)
