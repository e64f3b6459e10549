"""What codecs with a native part share: bounds of settings, pictures by chunk, and where a part is missing."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest
from dstcc_svc.codecs.base import EncodeSettings, SourceFrame
from dstcc_svc.codecs.native import by_chunk, check, load, picture

from dstcc.errors import DstccError, InputError, MissingCapabilityError


def settings(**more: Any) -> EncodeSettings:
    plain: dict[str, Any] = {"width": 64, "height": 32, "layers": 2, "crf": 20}
    return EncodeSettings(time_base=Fraction(1, 25), fps=Fraction(25), **(plain | more))


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({}, None),
        ({"layers": 1, "crf": 10}, None),
        ({"layers": 3, "crf": 30}, None),
        ({"layers": 0}, "layers 0: codec some makes 1..3"),
        ({"layers": 4}, "layers 4: codec some makes 1..3"),
        ({"crf": 9}, "crf 9: codec some with 2 layers takes 10..30"),
        ({"crf": 31}, "crf 31: codec some with 2 layers takes 10..30"),
        ({"height": 16}, None),
        ({"height": 15}, "size 64x15: codec some needs at least 16 pixels a side"),
        ({"width": 15}, "size 15x32: codec some needs at least 16 pixels a side"),
        (
            {"width": 15, "spatial_layers": 2},
            "size 15x32: codec some needs at least 16 pixels a side for 2 spatial layers",
        ),
    ],
)
def test_settings_lie_within_a_codecs_bounds(more: dict[str, Any], rule: str | None) -> None:
    if rule is None:
        check("some", settings(**more), 3, (10, 30), 16)
        return
    with pytest.raises(InputError) as error:
        check("some", settings(**more), 3, (10, 30), 16)
    assert str(error.value) == rule


def test_a_part_that_was_not_built_is_named_with_its_package() -> None:
    assert load("math", "some", "libsome-dev").__name__ == "math"
    with pytest.raises(
        MissingCapabilityError, match=r"codec some: its native part was not built \(.*dstcc_svc._none"
    ):
        load("dstcc_svc._none", "some", "libsome-dev")
    with pytest.raises(MissingCapabilityError, match="the Debian package libsome-dev"):
        load("dstcc_svc._none", "some", "libsome-dev")


def test_frames_are_split_where_their_chunk_changes() -> None:
    frames: list[Any] = [SimpleNamespace(chunk=chunk) for chunk in (0, 0, 1, 3, 3)]
    assert [list(part) for part in by_chunk(frames)] == [frames[:2], frames[2:3], frames[3:]]


@pytest.mark.parametrize(
    ("width", "height", "form"), [(64, 32, "yuv420p"), (32, 32, "yuv420p"), (64, 32, "gray")]
)
def test_a_picture_has_the_streams_shape(width: int, height: int, form: str) -> None:
    rows = height * 3 // 2 if form == "yuv420p" else height
    planes = np.arange(rows * width, dtype=np.uint32).astype(np.uint8).reshape(rows, width)
    source = SourceFrame(7, 3, av.VideoFrame.from_ndarray(planes, format=form), 1)
    if (width, form) == (64, "yuv420p"):
        assert (picture("some", source, settings()) == planes).all()
        return
    with pytest.raises(DstccError) as error:
        picture("some", source, settings())
    rule = f"codec some: frame 3 of chunk 7 is {width}x{height} {form}, the stream 64x32 yuv420p"
    assert str(error.value) == rule
