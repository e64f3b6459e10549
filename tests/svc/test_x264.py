"""Rule 3 of codecs.base on the bytes of both x264s: a prefix decodes to the very pixels of the full stream."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import pytest
from dstcc_svc.codecs import AccessUnit, Codec, EncodeSettings, SourceFrame, get_codec
from dstcc_svc.source import probe, read_frames


@pytest.fixture(params=["x264", "x264-program"])
def codec(request: pytest.FixtureRequest) -> Codec:
    """The same layers, by the library and by the program."""
    return get_codec(request.param)


def pixels(image: av.VideoFrame) -> str:
    return hashlib.sha256(image.to_ndarray().tobytes()).hexdigest()


def encoded(
    codec: Codec, path: Path, layers: int, chunk_s: Fraction, crf: int = 28
) -> tuple[EncodeSettings, list[AccessUnit]]:
    source = probe(path)
    settings = EncodeSettings(source.width, source.height, source.time_base, source.fps, layers, crf)
    return settings, list(codec.encode(read_frames(source, chunk_s), settings))


def chunks_of(units: list[AccessUnit]) -> Iterator[list[AccessUnit]]:
    for chunk in sorted({unit.chunk for unit in units}):
        yield [unit for unit in units if unit.chunk == chunk]


KINDS, CHUNKS = ("moving", "noise", "cuts", "fade", "still"), ((4, "1"), (3, "1"), (2, "0.6"), (4, "0.28"))
QUICK = {("moving", "0.28"), ("noise", "1"), ("cuts", "0.6"), ("fade", "0.28"), ("still", "0.6")}
"""Each kind of video and each chunk in `make test`; the others in `make test-slow`."""


@pytest.mark.parametrize(
    ("kind", "layers", "chunk_s"),
    [
        pytest.param(kind, layers, chunk_s, marks=() if (kind, chunk_s) in QUICK else pytest.mark.slow)
        for kind in KINDS
        for layers, chunk_s in CHUNKS
    ],
)
def test_every_prefix_is_bit_identical(codec: Codec, make_clip, kind: str, layers: int, chunk_s: str) -> None:
    clip = make_clip(kind=kind, frames=53, seed=layers)
    settings, units = encoded(codec, clip, layers, Fraction(chunk_s))
    for chunk in chunks_of(units):
        full = {image.pts: pixels(image) for image in codec.decode(codec.samples(chunk), settings)}
        assert len(full) == len(chunk)
        for level in range(layers):
            prefix = [unit for unit in chunk if unit.layer <= level]
            decoded = {image.pts: pixels(image) for image in codec.decode(codec.samples(prefix), settings)}
            assert set(decoded) == {unit.pts for unit in prefix}
            assert decoded.items() <= full.items()


def test_variable_frame_times_survive(codec: Codec, make_clip) -> None:
    times = [0, 10, 50, 51, 300, 420, 430, 999, 1000, 1033, 2900, 2950, 4100]
    settings, units = encoded(codec, make_clip("vfr.mkv", times_ms=times), 4, Fraction(1))
    assert sorted(round(unit.pts * settings.time_base * 1000) for unit in units) == times
    assert Counter(unit.chunk for unit in units) == {0: 8, 1: 2, 2: 2, 3: 1}


@pytest.mark.parametrize(
    ("layers", "counts"),
    # 25 pictures: 1 IDR, then 6 mini-GOPs of b B b P
    [(4, [1, 6, 6, 12]), (3, [7, 6, 12]), (2, [7, 18]), (1, [25])],
)
def test_picture_types_are_the_layers(codec: Codec, make_clip, layers: int, counts: list[int]) -> None:
    _, units = encoded(codec, make_clip(kind="cuts", frames=25), layers, Fraction(1))
    pictures_of = Counter(unit.layer for unit in units)
    assert [pictures_of[layer] for layer in range(layers)] == counts
    assert units[0].layer == 0


def test_the_same_input_gives_the_same_bytes(codec: Codec, make_clip) -> None:
    clip = make_clip(kind="noise", frames=30)
    assert encoded(codec, clip, 4, Fraction(1)) == encoded(codec, clip, 4, Fraction(1))


def test_a_picture_is_one_slice(codec: Codec, make_clip) -> None:
    """More would cost a header, and what the slice above has taught, each."""
    _, units = encoded(codec, make_clip(frames=30, size=(320, 256)), 4, Fraction(1))
    for unit in units:
        kinds = [nal[0] & 31 for nal in unit.data.split(b"\x00\x00\x01")[1:]]
        assert len([kind for kind in kinds if kind in (1, 5)]) == 1  # slices: of another picture, of an IDR


def test_decode_times_rise_and_never_pass_presentation(codec: Codec, make_clip) -> None:
    _, units = encoded(codec, make_clip(frames=53), 4, Fraction(1))
    assert all(unit.dts <= unit.pts for unit in units)
    assert all(one.dts < other.dts for one, other in pairwise(units))


def test_a_chunk_decodes_without_the_others(codec: Codec, make_clip) -> None:
    settings, units = encoded(codec, make_clip(kind="cuts", frames=60), 4, Fraction(1))
    middle = [unit for unit in units if unit.chunk == 1]
    alone = [pixels(image) for image in codec.decode(codec.samples(middle), settings)]
    together = [pixels(image) for image in codec.decode(codec.samples(units), settings)]
    assert alone == together[25:50]


def test_one_frame_is_a_chunk(codec: Codec, make_clip) -> None:
    settings, units = encoded(codec, make_clip(frames=1), 4, Fraction(1))
    assert [(unit.chunk, unit.layer, unit.frame) for unit in units] == [(0, 0, 0)]
    assert len(list(codec.decode(codec.samples(units), settings))) == 1


def test_source_frame_knows_its_time() -> None:
    image = av.VideoFrame(16, 16, "yuv420p")
    image.pts = 7
    assert SourceFrame(0, 0, image, 1).pts == 7
