"""Temporal layers with OpenH264: dyadic hierarchical P frames.

With ``M`` layers the group of pictures has ``2**(M - 1)`` frames and layer 0 one of them, so with four
layers the base layer has an eighth of the frame rate, evenly, where x264's has a single picture per chunk.
There are no B frames: decode order is display order. The library gives each access unit its temporal id and
quantizes the lower layers finer, since the upper ones are predicted from them.

FFmpeg's wrapper of the library has no option for temporal layers, hence the native module on the library's
interface. (Its *spatial* layers are simulcast, independent streams, and not used.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dstcc_svc.codecs.base import AccessUnit, EncodeSettings, SourceFrame
from dstcc_svc.codecs.h264 import H264Codec
from dstcc_svc.codecs.native import check, encoded, load


class OpenH264(H264Codec):
    """OpenH264 through the library's interface; ``crf`` is the H.264 quantizer (0..51) of the highest layer."""

    name = "openh264"
    max_layers = 4
    default_crf = 30  # lower layers are finer than that: the whole stream has the VMAF of x264's 28

    def require(self) -> None:
        """Raise :class:`~dstcc.errors.MissingCapabilityError` when the native part was not built."""
        _native()

    def encode(self, frames: Iterable[SourceFrame], settings: EncodeSettings) -> Iterator[AccessUnit]:
        """Code each chunk by itself."""
        native = _native()
        check(self.name, settings, self.max_layers, (0, native.MAX_QP), native.MIN_SIDE)
        fps = min(max(float(settings.fps), native.MIN_FPS), native.MAX_FPS)
        options = settings.width, settings.height, settings.crf, settings.layers, fps
        for source, made in encoded(self.name, frames, settings, lambda: native.Encoder(*options)):
            layer, idr, data = made
            assert idr == (source.frame == 0), "an IDR picture inside a chunk, though the intra period is 0"
            yield AccessUnit(source.chunk, layer, source.frame, source.pts, source.pts, data)


def _native() -> Any:
    return load("dstcc_svc._openh264", "openh264", "libopenh264-dev")
