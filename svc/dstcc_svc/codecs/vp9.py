"""Quality (SNR) and spatial layers with VP9 SVC: each picture once per layer, each layer finer or larger.

A prefix ``0..m`` has every frame; its frames of one picture are joined into a superframe (VP9 bitstream
specification, annex B), of which libvpx shows the last, the finest one. The lowest layers may grow by 2:1 a
side; where two neighbours have one size, the upper one is only finer. FFmpeg's own VP9 decoder shows
*every* frame of a superframe, so streams are decoded with libvpx and not muxed as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dstcc.errors import InputError, MissingCapabilityError, StreamError
from dstcc_svc.codecs.base import AccessUnit, Codec, EncodeSettings, Sample, SourceFrame
from dstcc_svc.codecs.native import check, encoded, load

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame


# Quantizers (0..63) of neighbouring layers: the wider apart, the less one repeats of the one below; but base
# layers beyond 56 are hard to look at: 24 in all, at most 12 a layer (about 3.5 dB).
_SPAN, _MAX_STEP = 24, 12
_MIN_STEP = 4  # near the coarse end; below, a layer would hardly be worth its overhead
# With several sizes: a base layer of half the size at 48 weighs and looks somewhat less than one of the full size at
# 56, hence 16 in all. A step in size shows by itself, hence 6 there: at 4 two layers weigh 31 % more than one of
# equal PSNR and the base layer's VMAF is 55, at 12 it is 22 % and 38 (first seconds of the clip at 360 rows).
_SIZES_SPAN, _SIZE_STEP = 16, 6

_EFFORT = {  # x264's preset names -> (VP8E_SET_CPUUSED, libvpx's real-time deadline)
    "placebo": (1, False),
    "veryslow": (1, False),
    "slower": (3, False),
    "slow": (3, False),
    "medium": (5, False),
    "fast": (5, True),
    "faster": (5, True),
    "veryfast": (9, True),
    "superfast": (9, True),
    "ultrafast": (9, True),
}


class Vp9(Codec):
    """VP9 SVC through libvpx; ``crf`` is the quantizer (8..63) of the highest layer."""

    name = "vp9"
    scalability = "quality"
    max_layers = 4
    max_spatial_layers = 3
    muxable = False
    default_crf = 32

    def require(self) -> None:
        """Raise :class:`~dstcc.errors.MissingCapabilityError` when the native part was not built."""
        _native()

    def encode(self, frames: Iterable[SourceFrame], settings: EncodeSettings) -> Iterator[AccessUnit]:
        """Code each chunk by itself."""
        native = _native()
        steps = _checked_quantizers(settings)
        divisors = [settings.divisor(layer) for layer in range(settings.layers)]
        options = settings.width, settings.height, steps, divisors, *_EFFORT[settings.preset]
        for source, made in encoded(self.name, frames, settings, lambda: native.Encoder(*options)):
            for layer, data in enumerate(made):
                yield AccessUnit(source.chunk, layer, source.frame, source.pts, source.pts, data)

    def samples(self, units: Iterable[AccessUnit]) -> list[Sample]:
        """Join the units of each frame into a superframe; the layers must be 0..m without a gap."""
        ordered = sorted(units, key=lambda unit: (unit.dts, unit.layer))
        result = []
        for _, group in groupby(ordered, key=lambda unit: unit.dts):
            frame = list(group)
            if [unit.layer for unit in frame] != list(range(len(frame))):
                raise StreamError(
                    f"VP9: frame {frame[0].frame} of chunk {frame[0].chunk} "
                    f"has layers {[unit.layer for unit in frame]}; they must be 0..m without a hole"
                )
            base = frame[0]
            data = superframe([unit.data for unit in frame])
            result.append(Sample(base.pts, base.dts, base.frame == 0, data))
        return result

    def decode(self, samples: Iterable[Sample], settings: EncodeSettings) -> Iterator[VideoFrame]:
        """Decode with libvpx: one frame per superframe, its finest."""
        import av

        decoder = _decoder()
        for count, sample in enumerate(samples):
            packet = av.Packet(sample.data)
            packet.pts, packet.dts, packet.time_base = sample.pts, sample.dts, settings.time_base
            try:
                images = decoder.decode(packet)
            except av.FFmpegError as error:
                raise StreamError(f"VP9 decoder: {error.strerror} after {count} frames") from error
            if len(images) != 1:
                raise StreamError(
                    f"VP9 decoder: {len(images)} pictures for superframe {count}; each must give one"
                )
            yield images[0]


def quantizers(crf: int, layers: int, largest: int, spatial_layers: int = 1) -> list[int]:
    """Return the quantizer of each layer, base first: ``crf`` at the top, coarser in even steps below.

    Steps between layers of one size are even among themselves, as are those between different sizes.
    """
    sizes, same = spatial_layers - 1, layers - spatial_layers
    span = min(_SIZES_SPAN if sizes else _SPAN, largest - crf)
    size_step = min(_SIZE_STEP, span // max(layers - 1, 1))
    step = min(_MAX_STEP, (span - sizes * size_step) // max(same, 1))
    return [
        crf + step * min(below, same) + size_step * max(below - same, 0) for below in reversed(range(layers))
    ]


def _checked_quantizers(settings: EncodeSettings) -> list[int]:
    """The quantizers; :class:`~dstcc.errors.InputError` for settings that the codec does not have."""
    native, sizes = _native(), settings.spatial_layers
    if not 1 <= sizes <= Vp9.max_spatial_layers or 1 < sizes > settings.layers:
        most = Vp9.max_spatial_layers
        raise InputError(f"spatial layers {sizes}: codec vp9 makes 1..{most}, not more than layers")
    max_crf = native.MAX_QUANTIZER - _MIN_STEP * (settings.layers - 1)
    min_side = native.MIN_SIDE * settings.divisor(0)
    check(Vp9.name, settings, Vp9.max_layers, (native.MIN_QUANTIZER, max_crf), min_side)
    if settings.preset not in _EFFORT:
        raise InputError(f"preset {settings.preset!r}: must be one of {', '.join(_EFFORT)}")
    return quantizers(settings.crf, settings.layers, native.MAX_QUANTIZER, sizes)


def superframe(frames: list[bytes]) -> bytes:
    """Join VP9 frames: the frames, then an index of their sizes between two equal marker bytes (annex B)."""
    if len(frames) == 1:
        return frames[0]
    width = (max(len(frame) for frame in frames).bit_length() + 7) // 8
    marker = bytes([0b110 << 5 | width - 1 << 3 | len(frames) - 1])
    sizes = b"".join(len(frame).to_bytes(width, "little") for frame in frames)
    return b"".join(frames) + marker + sizes + marker


def _native() -> Any:
    return load("dstcc_svc._vpx", "vp9", "libvpx-dev")


def _decoder() -> VideoCodecContext:
    import av

    try:
        decoder = av.CodecContext.create("libvpx-vp9", "r")
    except av.codec.codec.UnknownCodecError as error:
        raise MissingCapabilityError(
            "codec vp9: PyAV was built without libvpx-vp9; install PyAV's own wheel (pip install av)"
        ) from error
    decoder.thread_count = 0
    return decoder
