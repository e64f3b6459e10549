"""x264's temporal layers: a strict B-pyramid whose picture types are the layers.

With four layers: IDR / P / reference B / non-reference B, mini-GOPs of four frames. ``b-pyramid=strict`` is
what makes a prefix exact: P pictures then never refer to a B, nor the B pictures of one mini-GOP to those
of another. (With ``normal`` they do, and the base layers decode to wrong pixels without an error message.)
"""

from __future__ import annotations

from dstcc.errors import DstccError
from dstcc_svc.codecs.base import AccessUnit
from dstcc_svc.codecs.h264 import NAL_IDR, SLICE_B, allow_frame_num_gaps, slice_kind

PARAMS = ":".join(
    (
        "b-pyramid=strict",
        "bframes=3",
        "b-adapt=0",  # always b B b P: the layers' rates stay predictable
        "scenecut=0",  # no I picture except the one that starts the chunk
        "open-gop=0",
        "keyint=infinite",  # key frames are forced at the chunk boundaries only
        "repeat-headers=1",  # every chunk carries its SPS and PPS
        "cpu-independent=1",  # otherwise mbtree's rounding, and with it the bytes, differ between runs
    )
)
"""x264's own parameters, ``key=value:..``."""
THREADS = 4
"""x264's output depends on the number of threads: fixed, so that every machine gives equal bytes."""
MAX_LAYERS = 4
DELAY = 2
"""Pictures that a P and a reference B are decoded before they are shown, at most."""

_LAYER_OF_KIND = {  # layers -> layer of (IDR, P, reference B, other B)
    1: (0, 0, 0, 0),
    2: (0, 0, 1, 1),
    3: (0, 0, 1, 2),
    4: (0, 1, 2, 3),
}


def layered(data: bytes, *, chunk: int, frame: int, pts: int, dts: int, layers: int) -> AccessUnit:
    """The access unit of one picture, in the layer of its type; :class:`DstccError` for an unexpected IDR."""
    nal_type, ref_idc, slice_type = slice_kind(data)
    kinds = _LAYER_OF_KIND[layers]
    if nal_type == NAL_IDR:
        layer, data = kinds[0], allow_frame_num_gaps(data)
    elif slice_type == SLICE_B:
        layer = kinds[2] if ref_idc else kinds[3]
    else:
        layer = kinds[1]
    if (nal_type == NAL_IDR) != (frame == 0):
        raise DstccError(
            f"x264: frame {frame} of chunk {chunk} is of NAL type {nal_type}; only the first is an IDR"
        )
    return AccessUnit(chunk, layer, frame, pts, dts, data)
