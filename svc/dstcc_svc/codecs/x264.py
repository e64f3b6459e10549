"""Temporal layers with x264: a strict B-pyramid whose picture types are the layers.

With four layers: IDR / P / reference B / non-reference B, mini-GOPs of four frames. ``b-pyramid=strict`` is
what makes a prefix exact: P pictures then never refer to a B, nor the B pictures of one mini-GOP to those
of another. (With ``normal`` they do, and the base layers decode to wrong pixels without one error line.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dstcc.errors import DstccError
from dstcc_svc.codecs.base import AccessUnit, EncodeSettings, SourceFrame
from dstcc_svc.codecs.h264 import NAL_IDR, SLICE_B, H264Codec, allow_frame_num_gaps, slice_kind

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.codeccontext import VideoCodecContext
    from av.video.stream import VideoStream

_OPTIONS = {
    "forced-idr": "1",  # the I asked for at a chunk's start is an IDR: closed GOP
    "x264-params": ":".join(
        (
            "b-pyramid=strict",
            "bframes=3",
            "b-adapt=0",  # always b B b P: the layers' rates stay predictable
            "scenecut=0",  # no I picture except the chunk's own
            "open-gop=0",
            "keyint=infinite",  # the chunk boundaries are forced, wherever pts put them
            "repeat-headers=1",  # every chunk carries its SPS and PPS
            "cpu-independent=1",  # or mbtree's rounding, and with it the bytes, differ from run to run
        )
    ),
}
_THREADS = 4  # x264's output depends on the number of threads: fixed, so that every machine gives equal bytes

_LAYER_OF_KIND = {  # layers -> layer of (IDR, P, reference B, other B)
    1: (0, 0, 0, 0),
    2: (0, 0, 1, 1),
    3: (0, 0, 1, 2),
    4: (0, 1, 2, 3),
}


class X264(H264Codec):
    """x264 through PyAV."""

    name = "x264"
    max_layers = 4

    def encode(self, frames: Iterable[SourceFrame], settings: EncodeSettings) -> Iterator[AccessUnit]:
        """Code all chunks in one encoder session, so that rate control and look-ahead run through."""
        import av
        from av.video.frame import PictureType

        encoder = _open(settings)
        waiting: dict[int, tuple[int, int]] = {}  # pts -> (chunk, frame)
        try:
            for source in frames:
                source.image.pict_type = PictureType.I if source.frame == 0 else PictureType.NONE
                waiting[source.pts] = (source.chunk, source.frame)
                for packet in encoder.encode(source.image):
                    yield _unit(packet, waiting, settings.layers)
            for packet in encoder.encode(None):
                yield _unit(packet, waiting, settings.layers)
        except av.FFmpegError as error:
            raise DstccError(f"x264: {error.strerror}") from error


def _open(settings: EncodeSettings) -> VideoCodecContext:
    import av

    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = settings.width, settings.height, "yuv420p"
    encoder.time_base, encoder.framerate = settings.time_base, settings.fps
    encoder.thread_count = _THREADS
    encoder.options = {"crf": str(settings.crf), "preset": settings.preset, **_OPTIONS}
    return encoder


def _unit(packet: Packet[VideoStream], waiting: dict[int, tuple[int, int]], layers: int) -> AccessUnit:
    data = bytes(packet)
    assert packet.pts is not None and packet.dts is not None
    chunk, frame = waiting.pop(packet.pts)
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
    return AccessUnit(chunk, layer, frame, packet.pts, packet.dts, data)
