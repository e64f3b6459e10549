from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from dstcc_svc.source import exact, probe, read_frames, sha256_file

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


def test_decimal_chunk_lengths_mean_what_they_say() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1.001) == Fraction(1001, 1000)
