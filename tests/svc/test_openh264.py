"""OpenH264's temporal layers: exact prefixes, even base layers, and no way to hurt the library."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from dstcc_svc import encode, verify
from dstcc_svc.codecs import AccessUnit, EncodeSettings, SourceFrame, get_codec
from dstcc_svc.source import probe, read_frames

from dstcc.errors import DstccError, InputError, MissingCapabilityError

BUNNY = Path(__file__).parents[2] / "examples/clips/big-buck-bunny.mp4"
CODEC = get_codec("openh264")
native = pytest.importorskip("dstcc_svc._openh264", reason="libopenh264-dev was not there at the build")


def frames_of(
    path: Path, chunk_s: str = "1", height: int | None = None
) -> tuple[list[SourceFrame], EncodeSettings]:
    source = probe(path, height)
    settings = EncodeSettings(source.width, source.height, source.time_base, source.fps, 4)
    return list(islice(read_frames(source, Fraction(chunk_s)), 50)), settings


def pictures(units: list[AccessUnit], settings: EncodeSettings) -> dict[int | None, str]:
    decoded = CODEC.decode(CODEC.samples(units), settings)
    return {image.pts: hashlib.sha256(image.to_ndarray().tobytes()).hexdigest() for image in decoded}


def assert_prefixes_are_exact(units: list[AccessUnit], settings: EncodeSettings) -> None:
    for _, group in groupby(units, key=lambda unit: unit.chunk):
        chunk = list(group)
        full = pictures(chunk, settings)
        assert set(full) == {unit.pts for unit in chunk}
        for level in range(settings.layers):
            prefix = [unit for unit in chunk if unit.layer <= level]
            decoded = pictures(prefix, settings)
            assert set(decoded) == {unit.pts for unit in prefix}
            assert decoded.items() <= full.items()


@pytest.mark.parametrize("kind", ["moving", "noise", "cuts", "fade", "still"])
@pytest.mark.parametrize(("layers", "chunk_s"), [(4, "1"), (3, "0.6"), (2, "1"), (1, "1"), (4, "0.28")])
def test_every_prefix_is_bit_identical(make_clip, kind: str, layers: int, chunk_s: str) -> None:
    frames, settings = frames_of(make_clip(kind=kind, frames=50), chunk_s)
    settings = replace(settings, layers=layers, crf=34)
    assert_prefixes_are_exact(list(CODEC.encode(frames, settings)), settings)


@pytest.mark.parametrize("layers", [2, 3, 4])
def test_every_prefix_of_a_real_clip_is_bit_identical(layers: int) -> None:
    frames, settings = frames_of(BUNNY, height=180)
    settings = replace(settings, layers=layers)
    assert_prefixes_are_exact(list(CODEC.encode(frames, settings)), settings)


@pytest.mark.parametrize(
    ("layers", "pattern"),
    [(1, [0] * 8), (2, [0, 1] * 4), (3, [0, 2, 1, 2] * 2), (4, [0, 3, 2, 3, 1, 3, 2, 3])],
)
def test_layers_are_dyadic(make_clip, layers: int, pattern: list[int]) -> None:
    frames, settings = frames_of(make_clip(kind="cuts", frames=40), "0.8")  # 20 pictures a chunk
    units = list(CODEC.encode(frames, replace(settings, layers=layers)))
    assert [unit.layer for unit in units] == [pattern[index % 20 % 8] for index in range(40)]
    assert [unit.frame for unit in units] == [index % 20 for index in range(40)]


def test_a_chunk_does_not_depend_on_the_others(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=50))
    units = list(CODEC.encode(frames, settings))
    alone = list(CODEC.encode((frame for frame in frames if frame.chunk == 1), settings))
    assert alone == [unit for unit in units if unit.chunk == 1]


def test_variable_frame_times_survive(make_clip) -> None:
    times = [0, 10, 50, 51, 300, 420, 430, 999, 1000, 1033, 2900, 2950, 4100]
    frames, settings = frames_of(make_clip("vfr.mkv", times_ms=times))
    units = list(CODEC.encode(frames, settings))
    assert [round(unit.pts * settings.time_base * 1000) for unit in units] == times
    assert Counter(unit.chunk for unit in units) == {0: 8, 1: 2, 2: 2, 3: 1}
    assert all(one.dts < other.dts and one.dts == one.pts for one, other in pairwise(units))
    assert_prefixes_are_exact(units, settings)


def test_the_stream_directory_end_to_end(make_clip, tmp_path: Path) -> None:
    report = encode(make_clip(frames=53), tmp_path / "out", codec="openh264")  # chunks of 25, 25 and 3
    psnr = [layer.psnr_db or 0.0 for layer in report.layers]
    assert psnr == sorted(psnr)
    assert [len(layer.access_units) for layer in verify(tmp_path / "out").chunks[0].layers] == [4, 3, 6, 12]
    assert json.loads(json.dumps(report.document()))["codec"] == "openh264"


@pytest.mark.parametrize(
    ("change", "named"), [({"layers": 0}, "layers 0"), ({"layers": 5}, "layers 5"), ({"crf": 52}, "crf 52")]
)
def test_settings_out_of_bounds_are_refused(make_clip, change: dict[str, Any], named: str) -> None:
    frames, settings = frames_of(make_clip(frames=2))
    with pytest.raises(InputError, match=named):
        list(CODEC.encode(frames, replace(settings, **change)))


def test_too_small_a_picture_is_refused(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=2, size=(32, 12)))
    with pytest.raises(InputError, match="at least 16"):
        list(CODEC.encode(frames, settings))


def test_too_large_a_picture_is_refused(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=2))
    with pytest.raises(InputError, match="size 20000x64"):
        list(CODEC.encode(frames, replace(settings, width=20000)))


def test_a_frame_of_another_size_is_refused(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=2))
    with pytest.raises(DstccError, match="96x64"):
        list(CODEC.encode(frames, replace(settings, width=128)))


def test_pictures_beyond_the_librarys_buffer_fail_cleanly(make_clip) -> None:
    _, settings = frames_of(make_clip(frames=2))
    noise = np.random.default_rng(1).integers(0, 256, (96, 96), dtype=np.uint8)
    image = av.VideoFrame.from_ndarray(noise, format="yuv420p")
    image.pts = 0
    with pytest.raises(DstccError, match=r"frame 0 of chunk 0.*--crf than 0"):
        list(CODEC.encode([SourceFrame(0, 0, image, 1)], replace(settings, crf=0)))
    encoder = native.Encoder(96, 64, 0, 4, 25.0)
    for message in ("8 bits per pixel", "has failed before"):
        with pytest.raises(RuntimeError, match=message):
            encoder.encode(noise)


@pytest.mark.parametrize(
    ("width", "height", "qp", "layers", "fps"),
    [
        (95, 64, 28, 4, 25.0),
        (96, 0, 28, 4, 25.0),
        (-96, 64, 28, 4, 25.0),
        (1 << 20, 1 << 20, 28, 4, 25.0),
        (96, 64, -1, 4, 25.0),
        (96, 64, 28, 5, 25.0),
        (96, 64, 28, 4, float("nan")),
        (96, 64, 28, 4, 0.0),
    ],
)
def test_the_native_encoder_refuses_what_the_library_cannot(
    width: int, height: int, qp: int, layers: int, fps: float
) -> None:
    with pytest.raises(ValueError, match=r"size|qp|layers|fps"):
        native.Encoder(width, height, qp, layers, fps)


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((96, 98), np.uint8),
        np.zeros((64, 96), np.uint8),
        np.zeros(96 * 96, np.uint8),
        np.zeros((96, 96), np.uint16),
        np.zeros((96, 96), np.int8),
        np.zeros((96, 192), np.uint8)[:, ::2],
        np.zeros((96, 96), np.uint8).T[:, ::-1],
    ],
)
def test_the_native_encoder_refuses_wrong_buffers(picture: np.ndarray) -> None:
    with pytest.raises(ValueError, match="picture"):
        native.Encoder(96, 64, 28, 4, 25.0).encode(picture)


def test_a_missing_library_names_its_package(make_clip, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "dstcc_svc._openh264", None)
    with pytest.raises(MissingCapabilityError, match="libopenh264-dev"):
        encode(make_clip(frames=2), tmp_path / "out", codec="openh264")
    assert not (tmp_path / "out").exists()
