from __future__ import annotations

from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest
from dstcc_svc import source as source_module
from dstcc_svc.source import SourceInfo, exact, probe, read_frames, sha256_file

from dstcc.errors import InputError, StreamError


def test_times_start_at_zero_and_chunks_follow_them(make_clip) -> None:
    source = probe(make_clip(frames=60))
    frames = list(read_frames(source, Fraction(1)))
    seconds = [float(frame.pts * source.time_base) for frame in frames]
    assert seconds == pytest.approx([index / 25 for index in range(60)])
    assert [frame.chunk for frame in frames] == [0] * 25 + [1] * 25 + [2] * 10
    assert [frame.frame for frame in frames] == [*range(25), *range(25), *range(10)]
    assert float((frames[-1].pts + frames[-1].duration) * source.time_base) == pytest.approx(60 / 25)


def test_a_pause_lengthens_the_chunk_before_it(make_clip) -> None:
    source = probe(make_clip("vfr.mkv", times_ms=[0, 500, 4200, 4300]))
    assert [frame.chunk for frame in read_frames(source, Fraction(1))] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("size", "pix_fmt", "expected"),
    [((97, 65), "yuv444p", (96, 64)), ((96, 64), "yuv422p10le", (96, 64)), ((33, 64), "bgr0", (32, 64))],
)
def test_odd_sizes_are_cropped_and_formats_converted(make_clip, size, pix_fmt, expected) -> None:
    source = probe(make_clip("clip.mkv", size=size, pix_fmt=pix_fmt, codec="ffv1", frames=3))
    assert (source.width, source.height) == expected
    for frame in read_frames(source, Fraction(1)):
        assert (frame.image.width, frame.image.height, frame.image.format.name) == (*expected, "yuv420p")


def test_cropping_keeps_the_top_left_pixels(make_clip) -> None:
    path = make_clip("clip.mkv", size=(97, 65), pix_fmt="yuv420p", codec="ffv1", frames=1)
    with av.open(str(path)) as container:
        whole = next(container.decode(video=0)).to_ndarray(format="gray")
    cropped = next(read_frames(probe(path), Fraction(1))).image.to_ndarray(format="gray")
    np.testing.assert_array_equal(cropped, whole[:64, :96])


@pytest.mark.parametrize(("height", "expected"), [(32, (48, 32)), (31, (46, 30)), (64, (96, 64))])
def test_height_scales_and_keeps_the_aspect(make_clip, height: int, expected: tuple[int, int]) -> None:
    source = probe(make_clip(frames=2), height)
    assert (source.width, source.height) == expected
    assert {(f.image.width, f.image.height) for f in read_frames(source, Fraction(1))} == {expected}


@pytest.mark.parametrize("height", [65, 15, -2])
def test_an_impossible_height_is_refused(make_clip, height: int) -> None:
    with pytest.raises(InputError, match=f"height {height}: outside 16..64"):
        probe(make_clip(frames=2), height)


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_rotated_video_is_set_upright(make_clip, rotation: int) -> None:
    plain = next(read_frames(probe(make_clip("plain.mp4", frames=1)), Fraction(1))).image
    source = probe(make_clip("turned.mp4", frames=1, rotation=rotation))
    upright = next(read_frames(source, Fraction(1))).image.to_ndarray(format="gray")
    # the display matrix's angle is anticlockwise, as numpy's
    np.testing.assert_array_equal(upright, np.rot90(plain.to_ndarray(format="gray"), rotation // 90))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match=r"nowhere\.mp4: no such file"):
        probe(tmp_path / "nowhere.mp4")
    with pytest.raises(StreamError, match="is not a file"):
        probe(tmp_path)
    with pytest.raises(StreamError, match="cannot be read"):
        sha256_file(tmp_path / "nowhere.mp4")


@pytest.mark.parametrize("content", [b"", b"just some text\n" * 50, bytes(4096)])
def test_a_file_that_is_no_video_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.mp4"
    path.write_bytes(content)
    with pytest.raises(StreamError, match=r"notes\.mp4: (not a video file|has no video stream|damaged|zero)"):
        probe(path)


def test_sound_alone_is_refused(sound_only: Path) -> None:
    with pytest.raises(StreamError, match=r"sound\.mp4: has no video stream"):
        probe(sound_only)


def test_zero_frames_are_refused(make_clip) -> None:
    with pytest.raises(StreamError, match=r"empty\.avi: zero frames"):
        probe(make_clip("empty.avi", codec="ffv1", frames=0))


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
def test_a_truncated_file_is_refused(make_clip, name: str, share: float) -> None:
    path = make_clip(name, frames=100, kind="noise")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StreamError, match=r"clip\.m..: (truncated|damaged|not a video file)"):
        list(read_frames(probe(path), Fraction(1)))


def test_an_mp4_cut_behind_its_index_is_refused(make_clip, tmp_path: Path) -> None:
    whole = make_clip("whole.mp4", frames=100, kind="noise")
    path = tmp_path / "front.mp4"
    with av.open(str(whole)) as given, av.open(str(path), "w", options={"movflags": "faststart"}) as made:
        track = made.add_stream_from_template(given.streams.video[0])
        for packet in given.demux(video=0):
            if packet.dts is not None:
                packet.stream = track
                made.mux(packet)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    with pytest.raises(StreamError, match=r"front\.mp4: (truncated|damaged)"):
        list(read_frames(probe(path), Fraction(1)))


def timed(monkeypatch, frames, **info):
    """What is read of stand-ins for pictures, (time, duration) in ticks of 40 ms, of a film of 25 a second."""
    plain: dict[str, Any] = {
        **{"path": Path("x"), "width": 2, "height": 2, "full_size": (2, 2), "declared_s": None},
        **{"time_base": Fraction(1, 25), "fps": Fraction(25)},
    }
    source = SourceInfo(**(plain | info))
    images = [SimpleNamespace(pts=pts, duration=duration, time_base=None) for pts, duration in frames]
    monkeypatch.setattr(source_module, "_opened", lambda _path: nullcontext((None, None)))
    monkeypatch.setattr(source_module, "_images", lambda *_: iter(images))
    monkeypatch.setattr(source_module, "_Shaper", lambda _source: lambda image, _stream: image)
    return source


def test_times_are_from_the_first_on_and_advance(monkeypatch) -> None:
    """From tick 10 on; one that stands still and one that goes back are left out; one without a time is a period after
    the one before. Each lasts until the next, the last as long as it says, or else as the one before."""
    frames = [(10, 0), (12, 9), (12, 9), (11, 9), (15, 9), (None, 9), (30, 0)]
    source = timed(monkeypatch, frames, fps=Fraction(25, 2))
    read = list(read_frames(source, Fraction(1)))
    assert [frame.pts for frame in read] == [0, 2, 5, 7, 20]
    assert [frame.duration for frame in read] == [2, 3, 2, 13, 13]
    assert {frame.image.time_base for frame in read} == {Fraction(1, 25)}
    source = timed(monkeypatch, [(10, 0), (12, 4)])
    assert [frame.duration for frame in read_frames(source, Fraction(1))] == [2, 4]
    # without any times: 3 ticks each at 8 1/3 a second, and never less than one
    for fps, period in ((Fraction(25, 3), 3), (Fraction(1000), 1)):
        source = timed(monkeypatch, [(None, 0)] * 3, fps=fps)
        read = list(read_frames(source, Fraction(1)))
        assert [(frame.pts, frame.duration) for frame in read] == [(period * n, period) for n in range(3)]


def test_a_cell_of_chunks_begins_at_its_whole_multiple(monkeypatch) -> None:
    """Chunks of 0.4 s are ten ticks: 9 is in the first, 10 in the second; 35 and 39 in the fourth, which is the third
    as no picture is in that from 20 on."""
    source = timed(monkeypatch, [(at, 1) for at in (0, 9, 10, 19, 35, 39, 40)])
    read = list(read_frames(source, Fraction(2, 5)))
    assert [(frame.chunk, frame.frame) for frame in read] == [
        *((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0))
    ]


@pytest.mark.parametrize(("declared_s", "whole"), [(None, True), (10.35, True), (10.36, False), (1.0, True)])
def test_a_film_may_be_a_fiftieth_and_a_moment_shorter_than_declared(monkeypatch, declared_s, whole) -> None:
    """250 pictures last 10 s: 0.98 of 10.357 s less 0.15 s are as much."""
    source = timed(monkeypatch, [(at, 1) for at in range(250)], declared_s=declared_s)
    if whole:
        assert len(list(read_frames(source, Fraction(1)))) == 250
        return
    with pytest.raises(StreamError, match=r"x: truncated: 10\.00 s of 10\.36 s declared can be decoded"):
        list(read_frames(source, Fraction(1)))


@pytest.mark.parametrize(
    ("ticks", "of_container", "tag", "declared_s"),
    [
        (50, None, None, 2.0),
        (50, 1_500_000, None, 1.5),
        (50, 2_500_000, "00:00:01", 2.0),
        (None, 1_500_000, None, None),
        (None, 1_500_000, "01:02:03.5", 3723.5),
    ],
)
def test_the_shortest_duration_that_a_file_declares_counts(ticks, of_container, tag, declared_s) -> None:
    stream: Any = SimpleNamespace(
        duration=ticks, time_base=Fraction(1, 25), metadata={} if tag is None else {"DURATION": tag}
    )
    container: Any = SimpleNamespace(duration=of_container)
    assert source_module._declared_s(container, stream) == declared_s


@pytest.mark.parametrize(
    ("aspect", "rotation", "size"),
    [
        (None, 0, (90, 60)),
        (Fraction(4, 3), 0, (120, 60)),
        (Fraction(4, 3), 180, (120, 60)),
        (None, 90, (60, 90)),
    ],
)
def test_a_size_is_of_square_pixels_and_upright(aspect, rotation, size) -> None:
    image: Any = SimpleNamespace(width=90, height=60, rotation=rotation)
    stream: Any = SimpleNamespace(sample_aspect_ratio=aspect)
    assert source_module._upright_size(image, stream) == size


def test_pixels_that_are_not_square_are_made_so(tmp_path: Path) -> None:
    path = tmp_path / "wide.mkv"
    with av.open(str(path), "w") as container:
        track = container.add_stream("libx264", rate=25)
        track.width, track.height, track.pix_fmt = 96, 64, "yuv420p"
        track.codec_context.sample_aspect_ratio = Fraction(4, 3)
        image = av.VideoFrame.from_ndarray(np.full((96, 96), 90, np.uint8), format="yuv420p")
        container.mux(track.encode(image))
        container.mux(track.encode(None))
    source = probe(path)
    assert (source.width, source.height) == source.full_size == (128, 64)
    assert {(f.image.width, f.image.height) for f in read_frames(source, Fraction(1))} == {(128, 64)}


def test_two_pixels_a_side_are_the_least(make_clip) -> None:
    source = probe(make_clip("least.mkv", size=(3, 2), pix_fmt="bgr0", codec="ffv1", frames=1))
    assert (source.width, source.height, source.full_size) == (2, 2, (3, 2))
    narrow = make_clip("narrow.mkv", size=(2, 64), pix_fmt="bgr0", codec="ffv1", frames=1)
    assert (probe(narrow).width, probe(narrow, 48).width) == (2, 2)
    with pytest.raises(StreamError, match=r"2x64 pixels; at least 2x2 are needed"):
        probe(narrow, 16)


def test_decimal_chunk_lengths_mean_what_they_say() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1.001) == Fraction(1001, 1000)
