"""The interface of a codec: frames to layered access units, and a prefix of layers back to frames.

Two kinds of scalability share the one interface:

* *temporal*: every frame is one access unit and belongs to one layer; the prefix ``0..m`` has the frames of
  layers ``0..m``, hence fewer frames than the source.
* *quality*: every frame has one access unit per layer; the prefix ``0..m`` has every frame, only coarser, and
  smaller where the layers have several sizes.

The rules a codec keeps:

1. A chunk is independent: nothing refers across a chunk boundary, so any chunk decodes without the others.
2. :meth:`Codec.encode` yields the units of a chunk in decode order and finishes a chunk before the next one.
3. Layer ``m`` refers to layers ``0..m`` only, so dropping layers above ``m`` changes no pixel of the rest.
4. The first frame of a chunk has a layer-0 unit, so layer 0 alone shows a picture at once.
5. :meth:`Codec.decode` gives frames of the size of the highest layer it was given, yuv420p, in pts order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dstcc.frozen import dataclass

if TYPE_CHECKING:
    from av.video.frame import VideoFrame


@dataclass(frozen=True)
class EncodeSettings:
    """The settings that are fixed for a whole stream."""

    width: int
    """Luma width, even."""
    height: int
    """Luma height, even."""
    time_base: Fraction
    """Seconds per tick of every pts, dts and duration."""
    fps: Fraction
    """Mean frame rate; the real times are in the pts."""
    layers: int
    """Number of layers, 1..``Codec.max_layers``."""
    crf: int = 28
    """Constant quality of the full stream, on the codec's scale (x264 0..51, VP9 0..63)."""
    preset: str = "medium"
    """Effort, by x264's names; other codecs map it or ignore it."""
    spatial_layers: int = 1
    """Number of sizes, 1..``Codec.max_spatial_layers``: each of the lowest layers has half the width and height
    of the one above, up to the full size at layer ``spatial_layers - 1``."""

    def divisor(self, layer: int) -> int:
        """How many times the full width and height are those of ``layer``."""
        return 1 << max(0, self.spatial_layers - 1 - layer)

    def layer_size(self, layer: int) -> tuple[int, int]:
        """Width and height of the pictures of ``layer``."""
        return self.width // self.divisor(layer), self.height // self.divisor(layer)


@dataclass(frozen=True)
class SourceFrame:
    """A picture on its way into the encoder."""

    chunk: int
    """Chunk it belongs to, from 0, never falling."""
    frame: int
    """Place within its chunk in pts order; 0 starts the chunk."""
    image: VideoFrame
    """yuv420p of the settings' size; ``pts`` in the settings' time base, strictly increasing."""
    duration: int
    """Ticks until the next picture."""

    @property
    def pts(self) -> int:
        """The picture's presentation time in ticks."""
        assert self.image.pts is not None
        return self.image.pts


@dataclass(frozen=True)
class AccessUnit:
    """The bytes one layer holds of one frame."""

    chunk: int
    """Chunk it belongs to."""
    layer: int
    """Temporal or quality layer, from 0."""
    frame: int
    """Place of its frame within the chunk in pts order."""
    pts: int
    """Presentation time in ticks, as the source frame's."""
    dts: int
    """Decode time in ticks; over a chunk's frames it strictly increases in decode order and is <= pts."""
    data: bytes
    """The coded bytes."""


@dataclass(frozen=True)
class Sample:
    """The unit that a decoder or a muxer takes: one frame of a prefix of layers."""

    pts: int
    dts: int
    key: bool
    """True where decoding can start."""
    data: bytes


class Codec(ABC):
    """One way of coding layered video. Stateless: calls do not depend on each other."""

    name: str
    """As given to ``--codec`` and written into the manifest."""
    scalability: str
    """``temporal`` or ``quality``."""
    max_layers: int
    max_spatial_layers: int = 1
    muxable: bool
    """Whether ordinary players show the :meth:`samples` of any prefix correctly from an MP4, without recoding."""
    default_crf: int = 28
    max_crf: int = 63

    def require(self) -> None:
        """Raise :class:`~dstcc.errors.MissingCapabilityError`, naming the package, if this machine cannot."""
        return

    @abstractmethod
    def encode(self, frames: Iterable[SourceFrame], settings: EncodeSettings) -> Iterator[AccessUnit]:
        """Code the frames of all chunks; lazily, so that neither frames nor units pile up."""

    @abstractmethod
    def samples(self, units: Iterable[AccessUnit]) -> list[Sample]:
        """Interleave units of one chunk (a prefix of its layers, any order) into samples in decode order.

        A temporal codec sorts by ``dts``; a quality codec joins the units of a frame into a superframe.
        """

    @abstractmethod
    def decode(self, samples: Iterable[Sample], settings: EncodeSettings) -> Iterator[VideoFrame]:
        """Decode the samples of one chunk; each sample gives exactly one frame with the sample's pts.

        Raises :class:`~dstcc.errors.StreamError` when the decoder refuses the bytes or loses a frame.
        """
