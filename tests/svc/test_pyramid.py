"""x264's pictures in layers: by their type and whether others refer to them."""

from __future__ import annotations

import pytest
from dstcc_svc.codecs.h264 import allow_frame_num_gaps
from dstcc_svc.codecs.pyramid import layered

from dstcc.errors import DstccError
from tests.svc.test_h264 import PPS, SPS, annex_b, exp_golomb, to_bytes


def slice_of(nal: int, idc: int, kind: int) -> bytes:
    """An access unit of one slice, with the parameter sets where it opens a chunk."""
    unit = bytes([idc << 5 | nal]) + to_bytes(exp_golomb(0) + exp_golomb(kind) + "1" * 20)
    return annex_b(SPS, PPS, unit) if nal == 5 else annex_b(unit)


IDR, P, REFERENCE_B, OTHER_B = slice_of(5, 3, 7), slice_of(1, 2, 0), slice_of(1, 1, 1), slice_of(1, 0, 6)


@pytest.mark.parametrize(
    ("layers", "kinds"), [(1, (0, 0, 0, 0)), (2, (0, 0, 1, 1)), (3, (0, 0, 1, 2)), (4, (0, 1, 2, 3))]
)
def test_a_pictures_layer_is_that_of_its_type(layers: int, kinds: tuple[int, ...]) -> None:
    for data, frame, layer in zip((IDR, P, REFERENCE_B, OTHER_B), (0, 4, 2, 1), kinds, strict=True):
        unit = layered(data, chunk=7, frame=frame, pts=90, dts=60, layers=layers)
        assert (unit.chunk, unit.layer, unit.frame, unit.pts, unit.dts) == (7, layer, frame, 90, 60)
        assert unit.data == (allow_frame_num_gaps(IDR) if data is IDR else data)
    assert allow_frame_num_gaps(IDR) != IDR


@pytest.mark.parametrize(("data", "frame", "nal"), [(IDR, 3, 5), (P, 0, 1), (OTHER_B, 0, 1)])
def test_only_the_first_picture_is_an_idr(data: bytes, frame: int, nal: int) -> None:
    with pytest.raises(DstccError) as error:
        layered(data, chunk=7, frame=frame, pts=0, dts=0, layers=4)
    assert (
        str(error.value) == f"x264: frame {frame} of chunk 7 is of NAL type {nal}; only the first is an IDR"
    )
