"""Temporal layers with x264 as a library, which PyAV loads into this process; the layers are :mod:`.pyramid`'s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dstcc.errors import DstccError, MissingCapabilityError
from dstcc_svc.codecs.base import AccessUnit, EncodeSettings, SourceFrame
from dstcc_svc.codecs.h264 import H264Codec
from dstcc_svc.codecs.pyramid import MAX_LAYERS, PARAMS, THREADS, layered

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.codeccontext import VideoCodecContext
    from av.video.stream import VideoStream

OPTIONS = {
    "forced-idr": "1",  # the I asked for at a chunk's start is an IDR: closed GOP
    "x264-params": PARAMS,
}
"""FFmpeg's options beside quality and effort."""


class X264(H264Codec):
    """x264 through PyAV."""

    name = "x264"
    max_layers = MAX_LAYERS

    def require(self) -> None:
        """Raise :class:`~dstcc.errors.MissingCapabilityError` where PyAV was built without x264."""
        import av

        if "libx264" not in av.codecs_available:
            raise MissingCapabilityError(
                f"codec x264: PyAV {av.__version__} has no libx264; pip install --force-reinstall av, "
                "or --codec x264-program, which runs the ffmpeg program"
            )

    def encode(self, frames: Iterable[SourceFrame], settings: EncodeSettings) -> Iterator[AccessUnit]:
        """Code all chunks in one encoder session, so that rate control and look-ahead cross chunk boundaries."""
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
    encoder.thread_count = THREADS
    encoder.thread_type = "FRAME"  # else PyAV cuts each picture into so many slices
    encoder.options = {"crf": str(settings.crf), "preset": settings.preset, **OPTIONS}
    return encoder


def _unit(packet: Packet[VideoStream], waiting: dict[int, tuple[int, int]], layers: int) -> AccessUnit:
    assert packet.pts is not None and packet.dts is not None
    chunk, frame = waiting.pop(packet.pts)
    return layered(bytes(packet), chunk=chunk, frame=frame, pts=packet.pts, dts=packet.dts, layers=layers)
