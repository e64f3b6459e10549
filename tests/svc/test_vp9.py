"""VP9's quality and spatial layers: exact prefixes, every one better than the last, and no way to hurt the library."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter, defaultdict
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
from dstcc_svc.codecs.vp9 import quantizers, superframe
from dstcc_svc.source import probe, read_frames
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import DstccError, InputError, MissingCapabilityError, StreamError
from tests.sampling import examples

BUNNY = Path(__file__).parents[2] / "examples/clips/big-buck-bunny.mp4"
CODEC = get_codec("vp9")
Picture = tuple[int, int, str]  # width, height, hash of the samples
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


def pictures(units: list[AccessUnit], settings: EncodeSettings) -> list[tuple[int | None, Picture]]:
    decoded = CODEC.decode(CODEC.samples(units), settings)
    return [(image.pts, of_frame(image)) for image in decoded]


def of_frame(image: av.VideoFrame) -> Picture:
    return image.width, image.height, digest(image.to_ndarray().tobytes())


def of_native(picture: tuple[int, int, bytes]) -> Picture:
    width, height, pixels = picture
    return width, height, digest(pixels)


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
            expected = [(pts, of_native(limited.decode(data))) for pts, data in whole.items()]
            assert {picture[:2] for _, picture in expected} == {settings.layer_size(level)}
            assert pictures([unit for unit in chunk if unit.layer <= level], settings) == expected
            in_the_whole = [of_frame(image) for image in shown[level :: settings.layers]]
            assert in_the_whole == [picture for _, picture in expected]


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


@pytest.mark.parametrize(("layers", "spatial_layers"), [(2, 2), (3, 3), (3, 2), (4, 3)])
@pytest.mark.parametrize("kind", ["moving", "noise", "cuts"])
def test_every_prefix_of_several_sizes_is_bit_identical(
    make_clip, kind: str, layers: int, spatial_layers: int
) -> None:
    frames, settings = frames_of(make_clip(kind=kind, frames=12), "0.32")
    settings = replace(settings, layers=layers, spatial_layers=spatial_layers)
    units = list(CODEC.encode(frames, settings))
    assert len(units) == 12 * layers
    assert_prefixes_are_exact(units, settings)


@examples(30)
@given(st.data())
def test_any_sizes_decode_as_they_were_coded(data: st.DataObject) -> None:
    """Against the encoder's own picture as well: a decoder that drifts from it makes no error."""
    spatial_layers = data.draw(st.integers(2, 3))
    layers = data.draw(st.integers(spatial_layers, 4))
    unit = 2**spatial_layers  # 8 units of it give the smallest layer its 16 pixels
    width, height = (unit * data.draw(st.integers(8, 24)) for _ in range(2))
    steps = sorted(data.draw(st.lists(st.integers(8, 63), min_size=layers, max_size=layers)), reverse=True)
    divisors = [1 << max(0, spatial_layers - 1 - layer) for layer in range(layers)]
    encoder = native.Encoder(
        width, height, steps, divisors, data.draw(st.integers(1, 9)), data.draw(st.booleans())
    )
    decoders = [native.LayerDecoder(level) for level in range(layers)]
    prefixes = [native.LayerDecoder(level) for level in range(layers)]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    texture = np.kron(rng.integers(0, 255, (height, width // 4), np.uint8), np.ones((2, 8), np.uint8))
    for at in range(4):
        frames = encoder.encode(np.ascontiguousarray(texture[at : at + height * 3 // 2, 3 * at :][:, :width]))
        for level, divisor in enumerate(divisors):
            picture = decoders[level].decode(superframe(frames))
            assert picture[:2] == (width // divisor, height // divisor)
            assert prefixes[level].decode(superframe(frames[: level + 1])) == picture
        assert picture == encoder.reconstruction()


@pytest.mark.parametrize("preset", ["veryslow", "medium", "fast"])
def test_large_pictures_of_several_sizes_are_coded(preset: str) -> None:
    """Where libvpx's search meets a smaller picture, it reads beyond its end and takes the process with it."""
    frames, settings = frames_of(BUNNY, count=3)
    settings = replace(settings, layers=3, spatial_layers=3, preset=preset)
    assert (settings.width, settings.height) == (1280, 720)
    assert_prefixes_are_exact(list(CODEC.encode(frames, settings)), settings)


@pytest.mark.parametrize("layers", [3, 4])
def test_a_long_chunk_of_several_sizes_is_exact(layers: int) -> None:
    """Long enough for libvpx to renew the older picture that the upper layers may refer to."""
    frames, settings = frames_of(BUNNY, "5", height=72, count=100)
    settings = replace(settings, layers=layers, spatial_layers=3, preset="medium")
    assert_prefixes_are_exact(list(CODEC.encode(frames, settings)), settings)


@pytest.mark.parametrize(
    "preset", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("medium", "fast")), "ultrafast"]
)
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


@given(st.integers(8, 51), st.integers(1, 4), st.integers(1, 3))
def test_quantizers_fall_to_crf(crf: int, layers: int, spatial_layers: int) -> None:
    values = quantizers(crf, layers, 63, min(spatial_layers, layers))
    assert values[-1] == crf and len(values) == layers
    assert all(4 <= coarser - finer <= 12 for coarser, finer in pairwise(values))
    assert 0 <= values[0] <= 63


@pytest.mark.parametrize(
    ("crf", "layers", "sizes", "steps"),
    [
        (32, 1, 1, [32]),
        (32, 2, 1, [44, 32]),  # at most 12 a layer
        (32, 3, 1, [56, 44, 32]),
        (32, 4, 1, [56, 48, 40, 32]),  # 24 in all
        (51, 4, 1, [63, 59, 55, 51]),  # up to the largest
        (8, 3, 1, [32, 20, 8]),
        (32, 2, 2, [38, 32]),  # 6 between two sizes
        (32, 3, 3, [44, 38, 32]),
        (32, 3, 2, [48, 42, 32]),  # 16 in all: 6 between sizes, 10 are left
        (32, 4, 2, [47, 42, 37, 32]),  # a third each: 5 between sizes, and of 11 twice 5
        (32, 4, 3, [48, 43, 38, 32]),
        (58, 2, 2, [63, 58]),
    ],
)
def test_quantizers_by_arithmetic(crf: int, layers: int, sizes: int, steps: list[int]) -> None:
    assert quantizers(crf, layers, 63, sizes) == steps


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
        ({"spatial_layers": 0}, r"spatial layers 0.*1\.\.3"),
        ({"spatial_layers": 4}, r"spatial layers 4.*1\.\.3"),
        ({"spatial_layers": 3, "layers": 2}, "spatial layers 3: .* not more than layers"),
        (
            {"spatial_layers": 3, "height": 56},
            "size 96x56: .* at least 64 pixels a side for 3 spatial layers",
        ),
        ({"spatial_layers": 3, "height": 68}, "size 96x68: the smallest layer needs even sides"),
    ],
)
def test_settings_out_of_bounds_are_refused(make_clip, change: dict[str, Any], named: str) -> None:
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
    encoder = native.Encoder(96, 64, [32, 24, 16, 8], [1, 1, 1, 1], 9, True)
    with pytest.raises(RuntimeError, match="no room"):
        for attempt in range(4):
            encoder.encode(np.roll(noise, 7 * attempt))
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
        native.Encoder(width, height, steps, [1] * len(steps), speed, True)


@pytest.mark.parametrize(
    ("divisors", "named"),
    [
        ([1], "one per layer"),
        ([2, 2], "the last one 1"),
        ([4, 1], "twice"),
        ([1, 2, 1], "twice"),
        ([8, 4, 2, 1], "at most 4"),
        ([4, 2, 1], "16 or more"),  # 72/4 = 18 columns, but 40/4 = 10 rows
    ],
)
def test_the_native_encoder_refuses_sizes_the_library_cannot(divisors: list[int], named: str) -> None:
    steps = [32] * max(2, len(divisors))
    with pytest.raises(ValueError, match=named):
        native.Encoder(72, 40, steps, divisors, 5, True)


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
        native.Encoder(96, 64, [40, 32], [1, 1], 5, True).encode(picture)


def test_before_the_first_picture_there_is_none() -> None:
    with pytest.raises(RuntimeError, match="no picture"):
        native.Encoder(96, 64, [40, 32], [1, 1], 5, True).reconstruction()


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
