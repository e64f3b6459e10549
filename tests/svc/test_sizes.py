"""Layers of several sizes: which sizes halve, and how a small picture is shown."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from dstcc_svc.codecs import EncodeSettings
from dstcc_svc.sizes import Enlarger, check_halving
from dstcc_svc.source import SourceInfo, scaled_size
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dstcc.errors import InputError


def source_of(full: tuple[int, int], height: int) -> SourceInfo:
    return SourceInfo(
        Path("clip.mp4"), *scaled_size(full, height), Fraction(1, 25), Fraction(25), None, full_size=full
    )


def frame(samples: NDArray[np.uint8]) -> av.VideoFrame:
    image = av.VideoFrame.from_ndarray(samples, format="yuv420p")
    image.pts, image.time_base = 7, Fraction(1, 25)
    return image


@given(st.integers(1, 4), st.integers(1, 3))
def test_the_lowest_layers_double_and_the_others_have_the_full_size(layers: int, spatial_layers: int) -> None:
    spatial_layers = min(layers, spatial_layers)
    settings = EncodeSettings(640, 360, Fraction(1), Fraction(25), layers, spatial_layers=spatial_layers)
    sizes = [settings.layer_size(layer) for layer in range(layers)]
    assert len(set(sizes)) == spatial_layers
    assert set(sizes[spatial_layers - 1 :]) == {(640, 360)}
    for (width, height), above in pairwise(sizes[:spatial_layers]):
        assert (2 * width, 2 * height) == above


@given(st.tuples(st.integers(32, 4096), st.integers(32, 2304)), st.integers(16, 2304), st.integers(1, 3))
def test_a_size_halves_or_the_message_names_one_that_does(
    full: tuple[int, int], height: int, spatial_layers: int
) -> None:
    source = source_of(full, min(height, full[1]))
    multiple = 2**spatial_layers
    try:
        check_halving(source, spatial_layers)
    except InputError as error:
        named = re.search(r"; height (\d+) gives (\d+)x(\d+)$", str(error))
        if named is None:
            return
        at, width, rows = map(int, named.groups())
        assert at < height and scaled_size(full, at) == (width, rows)
    else:
        width, rows = source.width, source.height
    assert width % multiple == rows % multiple == 0


def test_the_nearest_height_below_is_named() -> None:
    # rows that are multiples of 8: 472 have 839.1 columns, made even 838 = 2 * 419; 464 have 824.9, 824 = 8 * 103
    with pytest.raises(InputError, match=r"size 852x480: .* multiples of 8; height 464 gives 824x464"):
        check_halving(source_of((1920, 1080), 480), 3)
    check_halving(source_of((1920, 1080), 480), 2)  # 852 = 4 * 213


@given(st.tuples(st.integers(32, 300), st.integers(32, 300)), st.integers(16, 300), st.integers(2, 3))
def test_the_greatest_height_that_halves_is_named(full: tuple[int, int], height: int, layers: int) -> None:
    """By trial: all sides even down to the smallest layer, which has 16 rows at least."""
    source, multiple = source_of(full, min(height, full[1])), 2**layers

    def fits(size: tuple[int, int]) -> bool:
        return size[0] > 0 and not size[0] % multiple and not size[1] % multiple

    rows = [
        rows
        for rows in range(16 * multiple // 2, source.height + 1, multiple)
        if fits(scaled_size(full, rows))
    ]
    try:
        check_halving(source, layers)
    except InputError as error:
        said = str(error)
    else:
        assert fits((source.width, source.height))
        return
    assert not fits((source.width, source.height))
    found = re.search(r"; height (\d+) gives", said)
    assert [int(one) for one in found.groups()] == [max(rows)] if found else not rows
    rule = f"{layers} spatial layers halve it to even sizes, so both sides must be multiples of {multiple}"
    assert f"size {source.width}x{source.height}: {rule}" in said


def test_one_layer_halves_nothing() -> None:
    check_halving(replace(source_of((101, 67), 67), width=101, height=67), 1)


def test_a_picture_of_full_size_passes() -> None:
    image = frame(np.full((96, 64), 128, np.uint8))
    assert Enlarger(64, 64)(image) is image


def test_enlarging_keeps_times_levels_and_places() -> None:
    """Samples are centred: column x of the large picture lies at (x + 1/2) / 2 - 1/2 of the small one."""
    samples = np.full((48, 64), 90, np.uint8)
    samples[:32] = 20 + 3 * np.arange(64)
    large = Enlarger(128, 64)(frame(samples))
    assert (large.width, large.height, large.pts, large.time_base) == (128, 64, 7, Fraction(1, 25))
    planes = large.to_ndarray()
    wanted = 20 + 3 * ((np.arange(128) + 0.5) / 2 - 0.5)
    np.testing.assert_allclose(planes[:64, 4:-4], np.tile(wanted[4:-4], (64, 1)), atol=1)
    np.testing.assert_array_equal(planes[64:], 90)
