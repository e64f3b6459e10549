"""Layers of several sizes: which sizes a picture can have, and showing a small one at full size.

With ``S`` spatial layers the lowest layers grow by 2:1 a side up to the full size at layer ``S - 1``
(:meth:`~dstcc_svc.codecs.EncodeSettings.layer_size`). 4:2:0 needs even sides in every layer, so those of the
full size are multiples of ``2**S``.

Wherever pictures are measured, played or frozen, small ones are enlarged to the full size by one filter: bicubic, which
is FFmpeg's default and about what a player does. Its samples are centred as in the encoder's downscaling, and its
rounding is exact, so that scores are the same on every processor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dstcc.errors import InputError
from dstcc_svc.source import MIN_HEIGHT, FilterGraph, SourceInfo, scaled_size

if TYPE_CHECKING:
    from av.video.frame import VideoFrame


def check_halving(source: SourceInfo, spatial_layers: int) -> None:
    """Raise :class:`~dstcc.errors.InputError` for a size that cannot be halved; it names a height that can."""
    multiple = 2**spatial_layers
    size = (source.width, source.height)
    if spatial_layers == 1 or not any(side % multiple for side in size):
        return
    message = (
        f"size {source.width}x{source.height}: {spatial_layers} spatial layers halve it to even sizes, "
        f"so both sides must be multiples of {multiple}"
    )
    least = MIN_HEIGHT * multiple // 2  # for the smallest layer as for any video
    for height in range(source.height // multiple * multiple, least - 1, -multiple):
        width, _ = scaled_size(source.full_size, height)
        if width % multiple == 0 < width:
            raise InputError(f"{message}; height {height} gives {width}x{height}")
    raise InputError(message)


class Enlarger:
    """Enlarges pictures to the full size; pictures of that size are returned unchanged."""

    def __init__(self, width: int, height: int) -> None:
        self._size = (width, height)
        self._graph: FilterGraph | None = None

    def __call__(self, image: VideoFrame) -> VideoFrame:
        """Return the picture, times kept, in the full size."""
        if (image.width, image.height) == self._size:
            return image
        if self._graph is None:
            width, height = self._size
            scale = ("scale", f"{width}:{height}:flags=bicubic+accurate_rnd+bitexact")
            self._graph = FilterGraph(image, image.time_base, [scale])
        return self._graph(image)
