from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from dstcc_svc.caption import FROZEN
from dstcc_svc.clip import clip, fitted, still, thumb
from dstcc_svc.stream import Stream
from numpy.typing import NDArray
from PIL import Image


def frames(data: bytes) -> list[tuple[float, NDArray[Any]]]:
    """(time in s, luma) of every picture of an MP4."""
    with av.open(io.BytesIO(data), "r") as container:
        track = container.streams.video[0]
        assert track.time_base is not None
        return [
            (float(image.pts * track.time_base), image.to_ndarray()[: image.height].astype(int))
            for image in container.decode(track)
            if image.pts is not None
        ]


def test_a_clip_has_a_picture_for_every_frame_time_frozen_or_not(stream: Path) -> None:
    opened = Stream.open(stream)
    shown = frames(clip(opened, [3, -1, 3, 0], range(4), width=96, crf=1))
    assert [at for at, _ in shown] == pytest.approx([0.04 * index for index in range(85)])
    held = shown[24][1]
    for _, luma in shown[25:50]:
        assert np.abs(luma[:64] - held[:64]).mean() < 1
        assert abs(luma[-1, 0] - FROZEN[0][0]) < 4
    assert np.abs(shown[50][1][:64] - held[:64]).mean() > 4
    source = opened.shown(opened.manifest.chunks[0], 3)
    for (_, luma), image in zip(shown[:25], source, strict=True):
        assert np.abs(luma[:64] - image.to_ndarray()[:64]).mean() < 1


def test_a_clip_lasts_as_long_as_its_chunks(stream: Path) -> None:
    data = clip(Stream.open(stream), [3, -1, -1], range(1, 3), width=96)
    with av.open(io.BytesIO(data), "r") as container:
        assert container.duration is not None
        assert container.duration / 1e6 == pytest.approx(1.4, abs=0.002)


def test_a_clip_can_be_entered_at_every_second(stream: Path) -> None:
    with av.open(io.BytesIO(clip(Stream.open(stream), [3] * 6, range(6), width=96)), "r") as container:
        track = container.streams.video[0]
        assert track.time_base is not None
        keys = [
            float(p.pts * track.time_base)
            for p in container.demux(track)
            if p.is_keyframe and p.pts is not None
        ]
    assert keys == pytest.approx([0, 1, 2, 3, 4])


def test_the_same_clip_has_the_same_bytes(stream: Path) -> None:
    opened = Stream.open(stream)
    assert clip(opened, [3, 0, 2], range(3), width=64) == clip(opened, [3, 0, 2], range(3), width=64)


def test_a_still_is_the_picture_at_its_share_of_the_chunk(stream: Path) -> None:
    opened = Stream.open(stream)
    for share, place in ((0.0, 0), (0.5, 12), (1.0, 24)):
        taken = still(opened, [3, 3, 3], 1, share=share, width=96)
        assert (taken.state, taken.size) == ("up to EL3, full quality", (96, 84))
        wanted = opened.shown(opened.manifest.chunks[1], 3)[place].to_ndarray(format="rgb24").astype(int)
        image = np.asarray(Image.open(io.BytesIO(taken.jpeg)), int)
        assert image.shape == (84, 96, 3)
        others = [
            opened.shown(opened.manifest.chunks[1], 3)[at].to_ndarray(format="rgb24") for at in (0, 12, 24)
        ]
        near = [np.abs(image[:64] - other.astype(int)).mean() for other in others]
        assert np.abs(image[:64] - wanted).mean() == min(near) < 12
    assert still(opened, [3, -1, 3], 1, share=0.5, width=96).state == "frozen since T+00:00:01"


def test_a_thumb_is_small_and_of_the_level(stream: Path) -> None:
    opened = Stream.open(stream)
    image = Image.open(io.BytesIO(thumb(opened, 0, 0, 0.5, width=48)))
    assert image.size == (48, 32)
    assert np.asarray(Image.open(io.BytesIO(thumb(opened, -1, 0, 0.0, width=48)))).max() < 12


@pytest.mark.parametrize(
    ("size", "widest", "wanted"),
    [
        ((1280, 720), 480, (480, 270)),
        ((480, 270), 480, (480, 270)),
        ((1920, 800), 481, (480, 200)),
        ((4000, 2), 100, (100, 2)),
    ],
)
def test_sizes_are_even_and_keep_their_proportions(
    size: tuple[int, int], widest: int, wanted: tuple[int, int]
) -> None:
    assert fitted(*size, widest) == wanted
