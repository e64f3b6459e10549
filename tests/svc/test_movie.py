"""MP4 files of coded pictures: how long each lasts, and whose they are."""

from __future__ import annotations

import io
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import pytest
from dstcc_svc import movie
from dstcc_svc.codecs import Codec, Sample
from dstcc_svc.movie import MOVIE, _lasting, coder, write_mp4
from dstcc_svc.stream import Stream

from dstcc.errors import MissingCapabilityError

TICK_S = Fraction(1, 1000)


def lasting(end: int, *samples: tuple[int, int, bool]) -> list[tuple[int, int, int]]:
    """(pts, dts, duration) of samples (pts, dts, key)."""
    given = [Sample(pts, dts, key, b"") for pts, dts, key in samples]
    return [(one.pts, one.dts, duration) for one, duration in _lasting(iter(given), end)]


def test_each_picture_lasts_until_the_next_that_is_shown() -> None:
    """In decode order 0, 30, 10, 20 of a group, then 50 alone, until 80: 30 lasts until the next group."""
    group = ((0, 0, True), (30, 5, False), (10, 10, False), (20, 20, False), (50, 50, True))
    assert lasting(80, *group) == [(0, 0, 10), (30, 5, 20), (10, 10, 10), (20, 20, 10), (50, 50, 30)]


def test_the_last_sample_is_decoded_as_long_before_it_is_shown_as_the_first() -> None:
    """20 ticks: so the file, whose durations are of decode times, ends 20 before the end of the last picture. It lasts
    a tick at least."""
    group = ((20, 0, True), (60, 10, False), (40, 20, False))
    assert lasting(80, *group) == [(20, 0, 20), (60, 10, 20), (40, 20, 40)]
    assert lasting(100, (20, 0, True), (60, 10, False)) == [(20, 0, 40), (60, 40, 40)]
    assert lasting(63, (20, 0, True), (60, 10, False))[-1] == (60, 40, 3)
    assert lasting(61, (20, 0, True), (60, 50, False))[-1] == (60, 50, 1)


def test_a_file_has_its_times_and_its_mark(stream: Path, tmp_path: Path) -> None:
    opened = Stream.open(stream)
    chunk = opened.manifest.chunks[0]
    samples = list(opened.samples(chunk, 3))
    end, size = chunk.pts[1], (opened.manifest.width, opened.manifest.height)
    path, memory = tmp_path / "o.mp4", io.BytesIO()
    for target in (str(path), memory):
        assert write_mp4(target, iter(samples), size=size, tick_s=opened.manifest.tick_s, end=end) == 25
    for target in (str(path), io.BytesIO(memory.getvalue())):
        with av.open(target, "r") as container:
            track = container.streams.video[0]
            assert (track.width, track.height) == size
            assert track.duration * track.time_base == pytest.approx(1.0, abs=0.002)
            packets = [packet for packet in container.demux(track) if packet.pts is not None]
            assert [packet.is_keyframe for packet in packets] == [True] + [False] * 24
            at = sorted(float(packet.pts * track.time_base) for packet in packets)
            assert at == pytest.approx([0.04 * n for n in range(25)])
    # where the head of a file stands first, players begin at once
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    assert MOVIE.wrong(path) is None
    for other in (b"", b"text", data.replace(b"dstcc play ", b"other play ")):
        path.write_bytes(other)
        assert MOVIE.wrong(path) == "has no mark of a video of dstcc play"


def test_the_first_coder_that_is_there_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    there: set[str] = set()

    class Fake:
        def __init__(self, name: str) -> None:
            self.name = name

        def require(self) -> None:
            if self.name not in there:
                raise MissingCapabilityError(f"no {self.name}")

    make: Callable[[str], Codec] = Fake  # type: ignore[assignment]
    monkeypatch.setattr(movie, "get_codec", make)
    with pytest.raises(MissingCapabilityError, match="no x264-program"):
        coder()
    there.add("x264-program")
    assert coder().name == "x264-program"
    there.add("x264")
    assert coder().name == "x264"
