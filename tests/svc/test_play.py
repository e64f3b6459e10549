from __future__ import annotations

import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import imageio_ffmpeg
import numpy as np
import pytest
from dstcc_svc import encode, play, play_together
from dstcc_svc.codecs.h264 import NAL_SPS, nal_units
from dstcc_svc.play import _span, _telling, shown
from dstcc_svc.stream import Stream
from numpy.typing import NDArray

from dstcc.errors import DstccError, InputError, StreamError

Picture = tuple[float, NDArray[Any]]
NAL_PPS = 8


def pictures(path: Path) -> list[Picture]:
    """(time in s, samples) of everything a decoder gives for the file."""
    with av.open(str(path)) as container:
        track = container.streams.video[0]
        return [(float(i.pts * track.time_base), i.to_ndarray()) for i in container.decode(track)]


def expected(stream: Path, levels: list[int]) -> list[Picture]:
    """The same from the chunks, decoded one by one."""
    opened = Stream.open(stream)
    chunks = opened.manifest.chunks
    shown: list[Picture] = []
    for index, level in enumerate(levels):
        chunk = chunks[index % len(chunks)]
        loop_s = index // len(chunks) * opened.manifest.duration_s
        for image in opened.decode(chunk, level) if level >= 0 else ():
            shown.append((loop_s + float(image.pts * opened.settings.time_base), image.to_ndarray()))
    return shown


def assert_same(played: list[Picture], wanted: list[Picture]) -> None:
    assert [at for at, _ in played] == pytest.approx([at for at, _ in wanted], abs=1e-6)
    assert all((one == other).all() for (_, one), (_, other) in zip(played, wanted, strict=True))


def length_s(path: Path) -> float:
    with av.open(str(path)) as container:
        return float(container.duration / 1e6)


@pytest.mark.parametrize(
    "levels",
    [[3, 3, 3], [0, 0, 0], [1, 2, 3], [3, -1, 2], [2, -1, -1], [0, -1, -1], [3, 1, -1, -1, 2, 0, 3]],
)
def test_the_file_shows_the_arrived_frames_at_their_times(stream: Path, tmp_path: Path, levels) -> None:
    report = play(stream, levels, tmp_path / "o.mp4")
    assert_same(pictures(tmp_path / "o.mp4"), expected(stream, levels))
    mission_s = 2.4 * (len(levels) // 3) + len(levels) % 3
    assert report.duration_s == pytest.approx(mission_s)
    assert length_s(tmp_path / "o.mp4") == pytest.approx(mission_s, abs=0.002)
    assert (report.chunks, report.frozen_chunks) == (len(levels), levels.count(-1))
    assert not report.recoded
    assert [path.name for path in tmp_path.iterdir()] == ["o.mp4"]


def test_before_anything_arrived_the_picture_is_black(stream: Path, tmp_path: Path) -> None:
    play(stream, [-1, -1, 3, 2], tmp_path / "o.mp4")
    first, *rest = pictures(tmp_path / "o.mp4")
    assert first[0] == 0
    np.testing.assert_array_equal(first[1][:64], 16)
    np.testing.assert_array_equal(first[1][64:], 128)
    assert_same(rest, expected(stream, [-1, -1, 3, 2]))


def test_the_black_picture_has_the_stream_s_parameter_sets(stream: Path, tmp_path: Path) -> None:
    """Players that read only the MP4's header, not those in the samples, then decode all of it."""
    play(stream, [-1, 3, 0], tmp_path / "o.mp4")
    with av.open(str(tmp_path / "o.mp4")) as container:
        header = container.streams.video[0].codec_context.extradata
    opened = Stream.open(stream)
    data = opened.samples(opened.manifest.chunks[1], 0)[0].data
    sets = [data[nal.start : nal.end] for nal in nal_units(data) if nal.type in (NAL_SPS, NAL_PPS)]
    assert header is not None and len(sets) == 2
    for one in sets:
        assert one in header


def test_nothing_at_all_is_black_for_the_whole_time(stream: Path, tmp_path: Path) -> None:
    assert play(stream, [-1] * 3, tmp_path / "o.mp4").frames == 1
    assert length_s(tmp_path / "o.mp4") == pytest.approx(2.4, abs=0.002)


def test_a_player_at_a_constant_rate_freezes(stream: Path, tmp_path: Path) -> None:
    """FFmpeg as the player: 25 pictures a second, chunk 1 lost, so picture 24 stays until chunk 2."""
    play(stream, [3, -1, 3], tmp_path / "o.mp4")
    arguments = ["-loglevel", "error", "-i", str(tmp_path / "o.mp4"), "-vf", "fps=25", "-f", "rawvideo", "-"]
    done = subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), *arguments], capture_output=True, check=True)
    assert done.stderr == b""
    shown = np.frombuffer(done.stdout, np.uint8).reshape(-1, 96, 96)
    assert len(shown) == 60
    arrived = [samples for _, samples in expected(stream, [3, -1, 3])]
    for index in range(60):
        wanted = index if index < 25 else 24 if index < 50 else index - 25
        np.testing.assert_array_equal(shown[index], arrived[wanted])


def test_variable_frame_times_are_kept(make_clip, tmp_path: Path) -> None:
    times = [0, 10, 50, 51, 300, 420, 430, 999, 1000, 1033, 2900, 2950, 4100]
    encode(make_clip("c.mkv", times_ms=times), tmp_path / "s", quality=False)
    play(tmp_path / "s", [3, 3, 3, 3], tmp_path / "o.mp4")
    assert_same(pictures(tmp_path / "o.mp4"), expected(tmp_path / "s", [3, 3, 3, 3]))


def test_a_stretch_starts_with_the_picture_before_it(stream: Path, tmp_path: Path) -> None:
    report = play(stream, [3, -1, 3, 3], tmp_path / "o.mp4", from_s=1.5, to_s=2.1)
    assert (report.start_s, report.duration_s, report.chunks) == (pytest.approx(1), pytest.approx(1.4), 2)
    first, *rest = pictures(tmp_path / "o.mp4")
    held = expected(stream, [3])[-1][1]
    assert np.abs(first[1].astype(int) - held).mean() < 6  # coded again on its own, as coarsely
    assert_same([(at + 1, samples) for at, samples in rest], expected(stream, [-1, -1, 3]))


def seconds(count: int) -> Any:
    """The manifest of a film of so many chunks of a second."""
    chunks = [SimpleNamespace(pts=(1000 * at, 1000 * at + 1000)) for at in range(count)]
    return SimpleNamespace(chunks=chunks, tick_s=Fraction(1, 1000))


def test_of_a_long_mission_ten_minutes_are_shown_from_what_arrived_first() -> None:
    assert shown(seconds(3), [3] * 3) == (0, 600)
    assert shown(seconds(600), [-1] * 2 + [3] * 598) == (0, 600)
    assert shown(seconds(601), [-1] * 2 + [0] * 599) == (2, 602)
    assert shown(seconds(7), [-1] * 601) == (0, 600)
    assert shown(seconds(601), [3] * 601, from_s=5.5) == (5.5, 605.5)
    assert shown(seconds(601), [3] * 601, to_s=7.0) == (0, 7)
    assert shown(seconds(601), [-1] + [3] * 600, from_s=3.0, to_s=7.0) == (3, 7)


@pytest.mark.parametrize(
    ("from_s", "to_s", "chunks"),
    [
        *((0.0, None, range(7)), (1.0, None, range(1, 7)), (0.999, None, range(7)), (6.9, None, range(6, 7))),
        *((0.0, 1.0, range(1)), (0.0, 1.001, range(2)), (2.5, 2.6, range(2, 3)), (2.0, 99.0, range(2, 7))),
    ],
)
def test_the_chunks_that_overlap_a_stretch_are_played(
    from_s: float, to_s: float | None, chunks: range
) -> None:
    """A film of three seconds again and again."""
    assert _span(seconds(3), 7, from_s, to_s) == chunks


def test_how_far_a_file_is_is_told_as_shares() -> None:
    """Samples that are decoded at -2, 3, 1 and 10 of 20 ticks: what is behind tells nothing."""
    told: list[float] = []
    samples = [SimpleNamespace(dts=dts) for dts in (-2, 3, 1, 10)]
    assert list(_telling(iter(samples), 20, told.append)) == samples  # type: ignore[arg-type]
    assert told == pytest.approx([0, 3 / 20, 0, 7 / 20])


@pytest.mark.parametrize(("from_s", "to_s"), [(-1, None), (2, 1), (0, 0), (2.4, None), (float("nan"), None)])
def test_impossible_stretches_are_refused(stream: Path, tmp_path: Path, from_s: float, to_s) -> None:
    with pytest.raises(InputError, match="from"):
        play(stream, [3, 3, 3], tmp_path / "o.mp4", from_s=from_s, to_s=to_s)
    assert not list(tmp_path.glob("*"))


def test_an_existing_file_needs_force(stream: Path, tmp_path: Path) -> None:
    (tmp_path / "o.mp4").write_text("precious")
    with pytest.raises(InputError, match="--force"):
        play(stream, [3], tmp_path / "o.mp4")
    assert (tmp_path / "o.mp4").read_text() == "precious"
    with pytest.raises(InputError, match="has no mark of a video of dstcc play"):
        play(stream, [3], tmp_path / "o.mp4", force=True)
    (tmp_path / "o.mp4").unlink()
    new = tmp_path / "in" / "folders" / "o.mp4"
    for level in (0, 3):
        play(stream, [level], new, force=True)
    assert len(pictures(new)) == 25


def test_a_corrupt_payload_is_named_and_nothing_is_left(stream: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(stream, tmp_path / "s"))
    (copied / "payload" / "000001-0.bin").write_bytes(b"")
    with pytest.raises(StreamError, match=r"000001-0\.bin: corrupt"):
        play(copied, [3, 3, 3], tmp_path / "o.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_streams_that_players_do_not_show_are_coded_again(
    stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dstcc_svc.codecs.x264 import X264

    monkeypatch.setattr(X264, "muxable", False)
    assert play(stream, [-1, 3, -1, 1], tmp_path / "o.mp4").recoded
    black, *played = pictures(tmp_path / "o.mp4")
    wanted = expected(stream, [-1, 3, -1, 1])
    assert black[0] == 0
    assert [at for at, _ in played] == pytest.approx([at for at, _ in wanted], abs=1e-6)
    assert (
        max(
            np.abs(one.astype(int) - other).mean()
            for (_, one), (_, other) in zip(played, wanted, strict=True)
        )
        < 4
    )
    assert length_s(tmp_path / "o.mp4") == pytest.approx(3.4, abs=0.002)


@pytest.mark.parametrize("levels", [[1, 0, 1], [-1, 0, -1, 1, -1, 0]])
def test_layers_of_several_sizes_play_at_one(spatial_stream: Path, tmp_path: Path, levels) -> None:
    assert play(spatial_stream, levels, tmp_path / "o.mp4").recoded
    played, wanted = pictures(tmp_path / "o.mp4"), expected(spatial_stream, levels)
    played = played[1:] if levels[0] < 0 else played  # the black one
    assert [at for at, _ in played] == pytest.approx([at for at, _ in wanted], abs=1e-6)
    for (_, one), (_, other) in zip(played, wanted, strict=True):
        assert one.shape == other.shape == (96, 96)
        assert np.abs(one.astype(int) - other).mean() < 4  # coded again at a fine quantizer


def test_a_long_mission_keeps_its_clock(stream: Path, tmp_path: Path) -> None:
    play(stream, [0, -1, -1] * 500, tmp_path / "o.mp4")
    times = [Fraction(at).limit_denominator(100) for at, _ in pictures(tmp_path / "o.mp4")]
    assert times == [Fraction(12, 5) * loop for loop in range(500)]


def test_with_captions_every_picture_is_there_and_says_so(stream: Path, tmp_path: Path) -> None:
    told: list[float] = []
    report = play(stream, [-1, 3, -1, 1], tmp_path / "o.mp4", captions=True, advance=told.append)
    assert (report.frames, report.captions, report.recoded) == (85, True, True)
    shown = pictures(tmp_path / "o.mp4")
    assert [at for at, _ in shown] == pytest.approx([0.04 * index for index in range(85)])
    assert length_s(tmp_path / "o.mp4") == pytest.approx(3.4, abs=0.002)
    assert sum(told) == pytest.approx(1, abs=0.1)
    assert min(told) >= 0
    luma = [samples[:84].astype(int) for _, samples in shown]
    amber = [abs(int(one[-1, 0]) - 180) < 6 for one in luma]
    assert amber == [True] * 25 + [False] * 25 + [True] * 10 + [False] * 25
    assert (luma[0][:64] < 24).all()
    wanted = dict(zip(range(25, 50), [samples for _, samples in expected(stream, [-1, 3])], strict=True))
    for index, samples in wanted.items():
        assert np.abs(luma[index][:64] - samples[:64]).mean() < 4


def test_a_captioned_stretch_starts_with_the_picture_before_it(stream: Path, tmp_path: Path) -> None:
    report = play(stream, [3, -1, 3], tmp_path / "o.mp4", from_s=1.5, to_s=2.1, captions=True)
    assert (report.start_s, report.duration_s, report.chunks) == (pytest.approx(1), pytest.approx(1.4), 2)
    held = expected(stream, [3])[-1][1]
    first = pictures(tmp_path / "o.mp4")[0][1]
    assert np.abs(first[:64].astype(int) - held[:64]).mean() < 4


def test_a_disk_that_is_full_is_named(stream: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> int:
        raise av.FFmpegError(28, "No space left on device")

    monkeypatch.setattr(
        sys.modules["dstcc_svc.play"], "write_mp4", full
    )  # the package has a function of that name
    with pytest.raises(DstccError, match=r"o\.mp4: cannot be written: No space left"):
        play(stream, [3], tmp_path / "o.mp4", captions=True)
    assert not list(tmp_path.glob("*"))


@pytest.mark.parametrize(("count", "columns"), [(2, 2), (3, 3), (4, 2), (5, 3)])
def test_screens_side_by_side_are_each_as_alone(
    stream: Path, tmp_path: Path, count: int, columns: int
) -> None:
    """Each tile is the picture of its sender played alone, but for what it costs to code it again."""
    manifest = Stream.open(stream).manifest
    ways = {
        f"way {place}": way
        for place, way in enumerate([[3, -1, 0], [-1, 3, 3], [0, 0, -1], [3, 3, 3], [-1, -1, 1]])
    }
    ways = dict(list(ways.items())[:count])
    reports = play_together(stream, ways, tmp_path / "all.mp4")
    assert [report.frozen_chunks for report in reports.values()] == [way.count(-1) for way in ways.values()]
    whole = pictures(tmp_path / "all.mp4")
    for place, (name, way) in enumerate(ways.items()):
        play(stream, way, tmp_path / f"{place}.mp4", captions=True)
        alone = pictures(tmp_path / f"{place}.mp4")
        assert [at for at, _ in alone] == [at for at, _ in whole]
        height, width = alone[0][1].shape[0] * 2 // 3, alone[0][1].shape[1]
        assert whole[0][1].shape == (height * -(-count // columns) * 3 // 2, width * columns), name
        row, column = divmod(place, columns)
        for (_, tiles), (_, one) in zip(whole, alone, strict=True):
            luma = tiles[row * height :, column * width : (column + 1) * width][: manifest.height]
            assert abs(luma.astype(int) - one[: manifest.height]).mean() < 4
    if count == 5:  # the sixth place is black
        assert whole[0][1][height : height + manifest.height, 2 * width :].max() < 30


def test_together_they_last_as_long_as_the_shortest(stream: Path, tmp_path: Path) -> None:
    reports = play_together(stream, {"one": [3, 3, 3], "another": [3]}, tmp_path / "both.mp4")
    assert [(report.chunks, report.duration_s) for report in reports.values()] == [(1, 1.0)] * 2
    assert length_s(tmp_path / "both.mp4") == pytest.approx(1.0, abs=0.002)


def test_many_screens_are_made_smaller(stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["dstcc_svc.play"], "WIDEST", 100)
    play_together(stream, {"one": [3, 3, 3], "another": [3, -1, 3]}, tmp_path / "both.mp4")
    assert pictures(tmp_path / "both.mp4")[0][1].shape[1] == 100
