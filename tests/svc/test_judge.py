"""FFmpeg's figures against our own arithmetic."""

from __future__ import annotations

import av
import numpy as np
import pytest
from dstcc_svc.judge import PSNR_CAP_DB, has_vmaf, judge
from numpy.typing import NDArray

WIDTH, HEIGHT = 192, 128


def image(planes: NDArray[np.uint8]) -> av.VideoFrame:
    return av.VideoFrame.from_ndarray(planes, format="yuv420p")


@pytest.fixture
def pictures() -> NDArray[np.uint8]:
    """Four smooth pictures as (picture, row, column) of yuv420p."""
    rows = np.arange(HEIGHT * 3 // 2)[:, None]
    columns = np.arange(WIDTH)[None, :]
    return np.stack([(columns + 2 * rows + 5 * at) % 200 for at in range(4)]).astype(np.uint8)


def psnr_db(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """Mean square error over all samples of the three planes, as they are weighted by their size."""
    error = np.mean((one.astype(float) - other.astype(float)) ** 2)
    return float(min(PSNR_CAP_DB, 10 * np.log10(255**2 / error))) if error else PSNR_CAP_DB


def test_psnr_is_the_mean_over_frames_of_our_own_arithmetic(pictures: NDArray[np.uint8]) -> None:
    rng = np.random.default_rng(1)
    # a different error in each picture and each plane: luma rows come first, then the two chroma planes
    noise = rng.integers(0, [[[2]], [[5]], [[9]], [[20]]], pictures.shape)
    noise[:, HEIGHT:] *= 2
    worse = np.clip(pictures + noise, 0, 255).astype(np.uint8)
    quality = judge([image(p) for p in pictures], [[image(p) for p in worse]])[0]
    own = [psnr_db(one, other) for one, other in zip(pictures, worse, strict=True)]
    assert quality.psnr_db == pytest.approx(np.mean(own), abs=0.01)  # FFmpeg prints two decimals
    assert 0.3 < quality.ssim < 1


def test_identical_pictures_score_the_cap(pictures: NDArray[np.uint8]) -> None:
    images = [image(p) for p in pictures]
    quality = judge(images, [images])[0]
    assert (quality.psnr_db, quality.ssim) == (PSNR_CAP_DB, pytest.approx(1))
    assert has_vmaf()
    assert quality.vmaf is not None
    assert quality.vmaf > 90


def test_a_held_picture_is_compared_with_every_source_picture(pictures: NDArray[np.uint8]) -> None:
    images = [image(p) for p in pictures]
    quality = judge(images, [[images[0]] * 4])[0]
    own = [psnr_db(one, pictures[0]) for one in pictures]
    assert quality.psnr_db == pytest.approx(np.mean(own), abs=0.01)


def test_several_at_once_are_as_each_alone(pictures: NDArray[np.uint8]) -> None:
    images = [image(p) for p in pictures]
    candidates = [[images[0]] * 4, images, [images[3]] * 4]
    assert judge(images, candidates) == [judge(images, [one])[0] for one in candidates]


def test_pictures_of_every_line_width_are_read_right() -> None:
    rng = np.random.default_rng(2)  # 70 columns: FFmpeg pads the lines
    planes = rng.integers(16, 235, (66 * 3 // 2, 70), dtype=np.uint8)
    graph = image(planes).reformat(format="yuv420p")
    assert judge([image(planes)], [[graph]])[0].psnr_db == PSNR_CAP_DB
