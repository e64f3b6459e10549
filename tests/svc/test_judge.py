"""FFmpeg's figures against our own arithmetic."""

from __future__ import annotations

import json
import os
from pathlib import Path

import av
import numpy as np
import pytest
from dstcc_svc import judge as judge_module
from dstcc_svc.judge import PSNR_CAP_DB, _result, has_vmaf, judge
from dstcc_svc.manifest import Quality
from numpy.typing import NDArray

from dstcc.errors import MissingCapabilityError

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
    expected = [psnr_db(one, other) for one, other in zip(pictures, worse, strict=True)]
    assert quality.psnr_db == pytest.approx(np.mean(expected), abs=0.01)  # FFmpeg prints two decimals
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
    expected = [psnr_db(one, pictures[0]) for one in pictures]
    assert quality.psnr_db == pytest.approx(np.mean(expected), abs=0.01)


def test_scores_are_means_over_pictures_of_what_ffmpeg_wrote(tmp_path: Path) -> None:
    # PSNR 40, 100 (for inf) and 31: 57. SSIM 0.9, 1 and 0.8: 0.9. VMAF 90, 97 and 20: 69.
    (tmp_path / "psnr1").write_text(
        "n:1 mse_avg:6.50 mse_y:6.50 psnr_avg:40.00 psnr_y:41.00\n"
        "n:2 mse_avg:0.00 mse_y:0.00 psnr_avg:inf psnr_y:inf\n"
        "n:3 mse_avg:51.65 mse_y:51.65 psnr_avg:31.00 psnr_y:30.00\n"
    )
    (tmp_path / "ssim1").write_text("".join(f"n:1 Y:0.5 U:0.5 All:{v} (9.9)\n" for v in (0.9, 1.0, 0.8)))
    frames = [{"metrics": {"vmaf": value, "integer_motion": 1.0}} for value in (90.0, 97.0, 20.0)]
    (tmp_path / "vmaf1").write_text(json.dumps({"frames": frames, "pooled_metrics": {"vmaf": {"mean": 5}}}))
    quality = _result(tmp_path, 1)
    assert (quality.psnr_db, quality.ssim, quality.vmaf) == (
        pytest.approx(57),
        pytest.approx(0.9),
        pytest.approx(69),
    )


@pytest.mark.parametrize("vmaf", [True, False])
def test_each_sequence_is_compared_with_the_first(monkeypatch: pytest.MonkeyPatch, vmaf: bool) -> None:
    """FFmpeg's filters: the reference is split for each use of each of two sequences, which are inputs 1 and 2."""
    monkeypatch.setattr(judge_module, "has_vmaf", lambda: vmaf)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2})
    labels = "[r00][r01][r02][r10][r11][r12]" if vmaf else "[r00][r01][r10][r11]"
    chains = [f"[0:v]split={6 if vmaf else 4}{labels}"]
    for at in range(2):
        more = f"[s{at}];[s{at}][r{at}2]libvmaf=log_fmt=json:log_path=vmaf{at}:n_threads=3" if vmaf else ""
        psnr = f"[{at + 1}:v][r{at}0]psnr=stats_file=psnr{at}[p{at}]"
        chains.append(f"{psnr};[p{at}][r{at}1]ssim=stats_file=ssim{at}{more}[out{at}]")
    assert judge_module._graph(2) == ";".join(chains)


def test_without_the_filter_there_is_no_vmaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_module, "has_vmaf", lambda: False)
    (tmp_path / "psnr0").write_text("psnr_avg:40.00\n")
    (tmp_path / "ssim0").write_text("All:0.9\n")
    assert _result(tmp_path, 0) == Quality(40.0, 0.9, None)


def test_several_at_once_are_as_each_alone(pictures: NDArray[np.uint8]) -> None:
    images = [image(p) for p in pictures]
    candidates = [[images[0]] * 4, images, [images[3]] * 4]
    assert judge(images, candidates) == [judge(images, [one])[0] for one in candidates]


def test_pictures_of_every_line_width_are_read_right() -> None:
    rng = np.random.default_rng(2)  # 70 columns: FFmpeg pads the lines
    planes = rng.integers(16, 235, (66 * 3 // 2, 70), dtype=np.uint8)
    graph = image(planes).reformat(format="yuv420p")
    assert judge([image(planes)], [[graph]])[0].psnr_db == PSNR_CAP_DB


@pytest.mark.parametrize(("width", "height"), [(1000, 16), (16, 64), (2, 2)])
def test_pictures_that_vmaf_has_no_scales_for_are_not_judged(width: int, height: int) -> None:
    tiny = [image(np.zeros((height * 3 // 2, width), np.uint8))]
    with pytest.raises(
        MissingCapabilityError, match=f"a picture's sides need 17 pixels to be judged, not {width}x{height}"
    ):
        judge(tiny, [tiny])


def test_the_least_pictures_are_judged() -> None:
    least = [image(np.zeros((18 * 3 // 2, 18), np.uint8))] * 2
    assert judge(least, [least])[0].vmaf is not None


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("kill -SEGV $$", "(SIGSEGV): without a message; "),
        ("echo worn out >&2; exit 3", "(exit code 3): worn out; "),
    ],
)
def test_how_ffmpeg_failed_is_said(
    pictures: NDArray[np.uint8], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(judge_module, "ffmpeg_path", lambda: str(program))
    images = [image(p) for p in pictures]
    with pytest.raises(MissingCapabilityError) as failed:
        judge(images, [images])
    assert f"FFmpeg failed to judge pictures of 192x128 {said}" in str(failed.value)
