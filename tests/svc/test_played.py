from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from dstcc_svc import encode, load_manifest, played_quality
from dstcc_svc import played as played_module
from dstcc_svc.judge import judge
from dstcc_svc.played import BLACK, Held, View, black, views_of
from dstcc_svc.source import exact, probe, read_frames
from dstcc_svc.stream import Stream

from dstcc.errors import InputError, StreamError


def own_psnr(stream: Path, levels: list[int]) -> float:
    """Play frame by frame, compare with the source, average: the rule itself, by numpy."""
    opened = Stream.open(stream)
    manifest = opened.manifest
    source = [f.image.to_ndarray() for f in read_frames(probe(manifest.source_path), exact(1.0))]
    screen = black(manifest.width, manifest.height).to_ndarray()
    values = []
    for index, level in enumerate(levels):
        chunk = manifest.chunks[index % len(manifest.chunks)]
        decoded = {}
        if level >= 0:
            decoded = {image.pts: image.to_ndarray() for image in opened.decode(chunk, level)}
        first = sum(c.frames for c in manifest.chunks[: chunk.index])
        for at, pts in enumerate(chunk.frame_times()):
            screen = decoded.get(pts, screen)
            error = np.mean((screen.astype(float) - source[first + at]) ** 2)
            values.append(10 * np.log10(255**2 / error))
    return float(np.mean(values))


@pytest.mark.parametrize(
    "levels",
    [
        [3, 3, 3],
        [0, 1, 2],
        [-1, -1, -1],
        [-1, 2, -1],
        [3, -1, -1],
        [0, -1, 1, -1, -1, 3, -1],  # looped
    ],
)
def test_played_psnr_is_our_own_arithmetic(stream: Path, levels: list[int]) -> None:
    quality = played_quality(stream, levels)
    assert quality.psnr_db == pytest.approx(own_psnr(stream, levels), abs=0.01)
    assert quality.vmaf is not None


@pytest.mark.parametrize("levels", [[0, 0, 0], [1, 0, 1], [0, -1, 1, -1, 0, -1]])
def test_small_pictures_are_judged_at_full_size(spatial_stream: Path, levels: list[int]) -> None:
    assert played_quality(spatial_stream, levels).psnr_db == pytest.approx(
        own_psnr(spatial_stream, levels), abs=0.01
    )


def test_a_held_picture_is_the_last_one_shown(stream: Path) -> None:
    # chunk 0 has 25 pictures: the last is a P (24); of layer 0 alone the IDR (0)
    views = list(views_of(load_manifest(stream), [-1, 0, -1, 3, -1]))
    assert views == [
        View(0, -1, BLACK),
        View(1, 0, None),
        View(2, -1, Held(1, 0, 0)),
        View(0, 3, None),
        View(1, -1, Held(0, 24, 0)),
    ]


def test_what_arrived_whole_needs_no_source(stream: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(stream, tmp_path / "away" / "stream"))
    assert played_quality(moved, [3, 1, 0]) == played_quality(stream, [3, 1, 0])
    with pytest.raises(StreamError, match=r"clip\.mp4: the source of .* is not there"):
        played_quality(moved, [3, -1, 0])


def test_another_source_is_noticed(stream: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(stream, tmp_path / "stream"))
    (tmp_path / "clip.mp4").write_bytes(b"another video")
    with pytest.raises(StreamError, match=r"clip\.mp4: is no longer the video"):
        played_quality(moved, [3, -1, 0])


def test_a_mission_of_loops_is_judged_once(stream: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []
    original = judge

    def counting(reference, shown):
        judged.extend(shown)
        return original(reference, shown)

    monkeypatch.setattr(played_module, "judge", counting)
    levels = [int(level) for level in np.random.default_rng(0).integers(-1, 4, 14_400)]
    first = played_quality(stream, levels)
    # 3 chunks frozen after each of 3, at 4 levels that end on 2 or 3 different pictures, or after black
    assert 0 < len(judged) <= 3 * (3 * 3 + 1)
    count = len(judged)
    assert played_quality(stream, levels) == first
    assert len(judged) == count


def test_a_stream_that_was_not_measured_is_judged_when_played(
    clip: Path, stream: Path, tmp_path: Path
) -> None:
    encode(clip, tmp_path / "bare", crf=30, quality=False)
    assert played_quality(tmp_path / "bare", [2, -1, 0]) == played_quality(stream, [2, -1, 0])


@pytest.mark.parametrize(
    "content", ["", "[]", '{"0<-1,0,0": 7}', '{"0<-1,0,0": ["x", 1.0, 1.0]}', '{"a": [1.0]}']
)
def test_a_damaged_cache_is_only_a_loss_of_time(stream: Path, own_cache: Path, content: str) -> None:
    fresh = played_quality(stream, [-1, 3, 3])
    (path,) = (own_cache / "quality").iterdir()
    assert list(json.loads(path.read_text())) == ["0<-1,0,0", "1:3", "2:3"]
    path.write_text(content)
    assert played_quality(stream, [-1, 3, 3]) == fresh


def test_a_cache_that_cannot_be_written_is_no_error(
    stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "file"))
    assert played_quality(stream, [-1, 3, 3]).psnr_db > 0


@pytest.mark.parametrize("levels", [[], [4], [0, -2]])
def test_impossible_levels_are_refused(stream: Path, levels: list[int]) -> None:
    with pytest.raises(InputError, match="level"):
        played_quality(stream, levels)
