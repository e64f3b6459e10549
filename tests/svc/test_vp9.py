"""VP9's quality layers: exact prefixes, every one better than the last, and no way to hurt the library."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import groupby, islice, pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from dstcc_svc import encode, verify
from dstcc_svc.codecs import AccessUnit, EncodeSettings, SourceFrame, get_codec
from dstcc_svc.codecs.vp9 import quantizers, superframe
from dstcc_svc.source import probe, read_frames
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import DstccError, InputError, MissingCapabilityError, StreamError

BUNNY = Path(__file__).parents[2] / "examples/clips/big-buck-bunny.mp4"
CODEC = get_codec("vp9")
native = pytest.importorskip("dstcc_svc._vpx", reason="libvpx-dev was not there at the build")


def frames_of(
    path: Path, chunk_s: str = "1", height: int | None = None, count: int = 50
) -> tuple[list[SourceFrame], EncodeSettings]:
    source = probe(path, height)
    settings = EncodeSettings(
        source.width, source.height, source.time_base, source.fps, 4, 32, preset="veryfast"
    )
    return list(islice(read_frames(source, Fraction(chunk_s)), count)), settings


def digest(pixels: bytes) -> str:
    return hashlib.sha256(pixels).hexdigest()


def pictures(units: list[AccessUnit], settings: EncodeSettings) -> list[tuple[int | None, str]]:
    decoded = CODEC.decode(CODEC.samples(units), settings)
    return [(image.pts, digest(image.to_ndarray().tobytes())) for image in decoded]


def whole_superframes(chunk: list[AccessUnit]) -> dict[int, bytes]:
    held: dict[int, list[bytes]] = defaultdict(list)
    for unit in chunk:
        held[unit.pts].append(unit.data)
    return {pts: superframe(frames) for pts, frames in held.items()}


def assert_prefixes_are_exact(units: list[AccessUnit], settings: EncodeSettings) -> None:
    """Against two readings of the *whole* stream: libvpx up to a layer, FFmpeg showing every layer."""
    for _, group in groupby(units, key=lambda unit: unit.chunk):
        chunk = list(group)
        whole = whole_superframes(chunk)
        every_layer = av.CodecContext.create("vp9", "r")
        shown = [image for data in whole.values() for image in every_layer.decode(av.Packet(data))]
        shown += every_layer.decode(None)
        assert len(shown) == len(whole) * settings.layers
        for level in range(settings.layers):
            limited = native.LayerDecoder(level)
            expected = [(pts, digest(limited.decode(data)[2])) for pts, data in whole.items()]
            assert pictures([unit for unit in chunk if unit.layer <= level], settings) == expected
            in_the_whole = [digest(image.to_ndarray().tobytes()) for image in shown[level :: settings.layers]]
            assert in_the_whole == [found for _, found in expected]


@pytest.mark.parametrize("kind", ["moving", "noise", "cuts", "fade", "still"])
@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_every_prefix_is_bit_identical(make_clip, kind: str, layers: int) -> None:
    frames, settings = frames_of(make_clip(kind=kind, frames=12), "0.32")
    settings = replace(settings, layers=layers)
    units = list(CODEC.encode(frames, settings))
    assert [(unit.chunk, unit.frame, unit.layer) for unit in units] == [
        (index // 8, index % 8, layer) for index in range(12) for layer in range(layers)
    ]
    assert_prefixes_are_exact(units, settings)


@pytest.mark.parametrize("preset", ["medium", "fast", "ultrafast"])
def test_a_real_clip_is_exact_and_gains_with_every_layer(preset: str) -> None:
    frames, settings = frames_of(BUNNY, height=180)
    settings = replace(settings, preset=preset)
    units = list(CODEC.encode(frames, settings))
    assert_prefixes_are_exact(units, settings)
    errors = []
    for level in range(4):
        decoded = [
            image.to_ndarray().astype(float)
            for chunk in (0, 1)
            for image in CODEC.decode(
                CODEC.samples(unit for unit in units if unit.layer <= level and unit.chunk == chunk), settings
            )
        ]
        sources = [source.image.to_ndarray() for source in frames]
        errors.append(np.mean([np.mean((a - b) ** 2) for a, b in zip(decoded, sources, strict=True)]))
    # one quantizer step of 8 is worth 2 to 3 dB; 1 dB is a mean square error lower by a fifth
    assert all(finer < 0.8 * coarser for coarser, finer in pairwise(errors))


def test_layers_gain_at_both_ends_of_the_scale(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=6))
    for crf in (8, 51):
        report = [
            sum(
                float(np.sum((image.to_ndarray().astype(float) - source.image.to_ndarray()) ** 2))
                for image, source in zip(
                    CODEC.decode(CODEC.samples(unit for unit in units if unit.layer <= level), settings),
                    frames,
                    strict=True,
                )
            )
            for units in [list(CODEC.encode(frames, replace(settings, crf=crf)))]
            for level in range(4)
        ]
        assert all(finer < coarser for coarser, finer in pairwise(report))


def test_a_chunk_does_not_depend_on_the_others(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=20), "0.4")
    units = list(CODEC.encode(frames, settings))
    alone = list(CODEC.encode((frame for frame in frames if frame.chunk == 1), settings))
    assert alone == [unit for unit in units if unit.chunk == 1]


def test_variable_frame_times_survive(make_clip) -> None:
    times = [0, 10, 50, 51, 300, 420, 430, 999, 1000, 1033, 2900, 2950, 4100]
    frames, settings = frames_of(make_clip("vfr.mkv", times_ms=times))
    units = list(CODEC.encode(frames, settings))
    shown = [round(unit.pts * settings.time_base * 1000) for unit in units if unit.layer == 0]
    assert shown == times
    assert Counter(unit.chunk for unit in units) == {0: 32, 1: 8, 2: 8, 3: 4}
    assert_prefixes_are_exact(units, settings)


def test_the_stream_directory_end_to_end(make_clip, tmp_path: Path) -> None:
    report = encode(make_clip(frames=28), tmp_path / "out", scalability="quality", layers=3, preset="fast")
    assert (report.codec, report.frames, report.chunks) == ("vp9", 28, 2)
    psnr = [layer.psnr_db or 0.0 for layer in report.layers]
    assert all(lower < higher for lower, higher in pairwise(psnr))
    assert [len(layer.access_units) for layer in verify(tmp_path / "out").chunks[1].layers] == [3, 3, 3]


def test_a_hole_in_the_layers_is_refused(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=2))
    units = [unit for unit in CODEC.encode(frames, settings) if unit.layer != 1]
    with pytest.raises(StreamError, match=r"layers \[0, 2, 3\]"):
        CODEC.samples(units)


def test_corrupt_bytes_are_refused(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=2))
    units = [replace(unit, data=b"\x00" * 40) for unit in CODEC.encode(frames, settings)]
    with pytest.raises(StreamError, match="VP9 decoder"):
        list(CODEC.decode(CODEC.samples(units), settings))


@given(st.integers(8, 51), st.integers(1, 4))
def test_quantizers_fall_to_crf(crf: int, layers: int) -> None:
    found = quantizers(crf, layers, 63)
    assert found[-1] == crf and len(found) == layers
    assert all(4 <= coarser - finer <= 12 for coarser, finer in pairwise(found))
    assert 0 <= found[0] <= 63


@given(st.lists(st.integers(1, 300), min_size=2, max_size=4))
def test_a_superframe_index_holds_the_sizes(sizes: list[int]) -> None:
    data = superframe([bytes(size) for size in sizes])
    width = 1 if max(sizes) < 256 else 2
    index = data[sum(sizes) :]
    assert index[0] == index[-1] == 0b110 << 5 | width - 1 << 3 | len(sizes) - 1
    assert [int.from_bytes(index[1 + i * width :][:width], "little") for i in range(len(sizes))] == sizes
    assert len(index) == 2 + len(sizes) * width


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"layers": 0}, "layers 0"),
        ({"layers": 5}, "layers 5"),
        ({"crf": 52}, r"crf 52.*8\.\.51"),
        ({"crf": 7}, r"crf 7.*8\.\.51"),
        ({"crf": 64, "layers": 1}, r"crf 64.*8\.\.63"),
        ({"preset": "quick"}, "preset 'quick'"),
    ],
)
def test_settings_out_of_bounds_are_refused(make_clip, change: dict[str, int], named: str) -> None:
    frames, settings = frames_of(make_clip(frames=2))
    with pytest.raises(InputError, match=named):
        list(CODEC.encode(frames, replace(settings, **change)))


def test_too_large_a_picture_is_refused(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=2))
    with pytest.raises(InputError, match="size 20000x64"):
        list(CODEC.encode(frames, replace(settings, width=20000)))


def test_a_frame_of_another_size_is_refused(make_clip) -> None:
    frames, settings = frames_of(make_clip(frames=2))
    with pytest.raises(DstccError, match="96x64"):
        list(CODEC.encode(frames, replace(settings, width=128)))


def test_pictures_beyond_the_librarys_buffer_fail_cleanly() -> None:
    noise = (np.random.default_rng(1).integers(0, 2, (96, 96)) * 255).astype(np.uint8)
    encoder = native.Encoder(96, 64, [32, 24, 16, 8], 9, True)
    with pytest.raises(RuntimeError, match="no room"):
        for turn in range(4):
            encoder.encode(np.roll(noise, 7 * turn))
    with pytest.raises(RuntimeError, match="has failed before"):
        encoder.encode(noise)


@pytest.mark.parametrize(
    ("width", "height", "steps", "speed"),
    [
        (95, 64, [32], 5),
        (0, 64, [32], 5),
        (96, -64, [32], 5),
        (1 << 20, 1 << 20, [32], 5),
        (96, 64, [], 5),
        (96, 64, [50, 45, 40, 35, 30], 5),
        (96, 64, [64], 5),
        (96, 64, [7], 5),
        (96, 64, [32], 10),
        (96, 64, [32], -1),
    ],
)
def test_the_native_encoder_refuses_what_the_library_cannot(
    width: int, height: int, steps: list[int], speed: int
) -> None:
    with pytest.raises(ValueError, match=r"size|quantizer|speed"):
        native.Encoder(width, height, steps, speed, True)


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((96, 98), np.uint8),
        np.zeros((64, 96), np.uint8),
        np.zeros(96 * 96, np.uint8),
        np.zeros((96, 96), np.uint16),
        np.zeros((96, 192), np.uint8)[:, ::2],
        np.zeros((96, 96), np.uint8).T[:, ::-1],
    ],
)
def test_the_native_encoder_refuses_wrong_buffers(picture: np.ndarray) -> None:
    with pytest.raises(ValueError, match="picture"):
        native.Encoder(96, 64, [40, 32], 5, True).encode(picture)


def test_the_reference_decoder_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="layer 4"):
        native.LayerDecoder(4)
    decoder = native.LayerDecoder(0)
    with pytest.raises(ValueError, match="empty"):
        decoder.decode(b"")
    with pytest.raises(RuntimeError, match="libvpx"):
        decoder.decode(b"\x00" * 40)


def test_a_missing_library_names_its_package(make_clip, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "dstcc_svc._vpx", None)
    with pytest.raises(MissingCapabilityError, match="libvpx-dev"):
        encode(make_clip(frames=2), tmp_path / "out", scalability="quality")
    assert not (tmp_path / "out").exists()
