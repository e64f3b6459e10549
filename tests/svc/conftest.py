"""Small clips made on the spot: moving shapes, noise, scene cuts; odd sizes, varying rates, sound only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from dstcc_svc import encode
from numpy.typing import NDArray

MakeClip = Callable[..., Path]


def draw(kind: str, frames: int, width: int, height: int, seed: int = 0) -> Iterator[NDArray[np.uint8]]:
    """RGB pictures: ``moving`` texture, ``noise``, ``cuts`` (scenes of 7 pictures), ``fade``, ``still``."""
    rng = np.random.default_rng(seed)
    size = (2 * height, 2 * width, 3)

    def scene() -> NDArray[np.uint8]:
        coarse = rng.integers(0, 255, (size[0] // 8 + 1, size[1] // 8 + 1, 3), dtype=np.uint8)
        return np.kron(coarse, np.ones((8, 8, 1), np.uint8))[: size[0], : size[1]]

    texture = scene()
    for index in range(frames):
        if kind == "cuts" and index % 7 == 0:
            texture = scene()
        step = 0 if kind == "still" else index
        y, x = 2 * step % height, 3 * step % width
        picture = texture[y : y + height, x : x + width]
        if kind == "noise":
            picture = rng.integers(0, 255, (height, width, 3), dtype=np.uint8)
        if kind == "fade":
            picture = (picture * abs(np.sin(index / 9))).astype(np.uint8)
        yield np.ascontiguousarray(picture)


def write_clip(
    path: Path,
    *,
    kind: str = "moving",
    frames: int = 30,
    size: tuple[int, int] = (96, 64),
    times_ms: Sequence[int] | None = None,
    seed: int = 0,
    pix_fmt: str = "yuv420p",
    codec: str = "libx264",
    rotation: int = 0,
) -> Path:
    """Write a clip at 25 frames/s, or with a picture at each of ``times_ms``."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
        stream.time_base = Fraction(1, 1000)
        stream.codec_context.time_base = Fraction(1, 1000)
        if codec == "libx264":
            stream.options = {"preset": "ultrafast", "crf": "12"}
        if rotation:
            stream.set_display_rotation(rotation)
        container.start_encoding()
        times = list(times_ms) if times_ms is not None else [40 * index for index in range(frames)]
        for at, rgb in zip(times, draw(kind, len(times), *size, seed=seed), strict=True):
            image = av.VideoFrame.from_ndarray(rgb, format="rgb24").reformat(format=pix_fmt)
            image.pts, image.time_base = at, Fraction(1, 1000)
            container.mux(stream.encode(image))
        container.mux(stream.encode(None))
    return path


@pytest.fixture
def make_clip(tmp_path: Path) -> MakeClip:
    """``make_clip(name="clip.mp4", **options of write_clip)`` -> its path."""

    def make(name: str = "clip.mp4", **options: object) -> Path:
        return write_clip(tmp_path / name, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def sound_only(tmp_path: Path) -> Path:
    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), format="fltp", layout="mono")
        sound.sample_rate, sound.pts = 8000, 0
        container.mux(stream.encode(sound))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 2.4 s clip of moving texture; do not change it."""
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", frames=60)


@pytest.fixture(scope="session")
def stream(clip: Path) -> Path:
    """The clip as three chunks (25, 25 and 10 frames) of four x264 layers, measured; do not change it."""
    output = clip.parent / "stream"
    encode(clip, output, crf=30)
    return output


@pytest.fixture(scope="session")
def spatial_stream(clip: Path) -> Path:
    """The clip as three chunks of two VP9 layers, 48x32 and 96x64, measured; do not change it."""
    pytest.importorskip("dstcc_svc._vpx", reason="libvpx-dev was not there at the build")
    output = clip.parent / "spatial"
    encode(clip, output, scalability="quality", spatial_layers=2, preset="ultrafast")
    return output


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder per test."""
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
