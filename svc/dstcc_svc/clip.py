"""Short clips and single pictures of what Earth saw, as bytes for a page."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dstcc.clock import MISSION_TIME, Clock
from dstcc_svc.caption import Caption, words
from dstcc_svc.codecs import Codec, EncodeSettings, Sample, SourceFrame
from dstcc_svc.movie import coder, write_mp4
from dstcc_svc.played import black
from dstcc_svc.seen import Seen, seen, start_tick
from dstcc_svc.stream import Stream

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

CRF = 30
PRESET = "faster"
JPEG_QUALITY = 80


def captioned(
    shown: Iterable[Seen], caption: Caption, settings: EncodeSettings, *, end: int, origin: int
) -> Iterator[Sample]:
    """Code pictures with their captions; times in ticks from ``origin``, the last one lasts until ``end``.

    The first picture and every one that starts a second of mission time can be jumped to.
    """
    tall = replace(
        settings, width=caption.width, height=caption.height + caption.extra, layers=1, spatial_layers=1
    )
    codec = coder()
    return coded(codec, _frames(shown, caption, settings.time_base, origin, end), tall)


def coded(codec: Codec, frames: Iterable[SourceFrame], settings: EncodeSettings) -> Iterator[Sample]:
    """Code pictures into samples of a file."""
    for unit in codec.encode(frames, settings):
        yield from codec.samples([unit])


def clip(
    stream: Stream,
    levels: Sequence[int],
    span: range,
    *,
    width: int,
    clock: Clock = MISSION_TIME,
    crf: int = CRF,
    preset: str = PRESET,
) -> bytes:
    """An MP4 of what Earth saw of the mission chunks of ``span``, ``width`` pixels wide at most, with captions."""
    manifest = stream.manifest
    size = fitted(manifest.width, manifest.height, width)
    origin, end = start_tick(manifest, span.start), start_tick(manifest, span.stop)
    caption = Caption(size, manifest.layers, manifest.tick_s, clock)
    settings = replace(stream.settings, crf=crf, preset=preset)
    small = (one._replace(image=_smaller(one.image, size)) for one in seen(stream, levels, span))
    samples = captioned(small, caption, settings, end=end, origin=origin)
    file = io.BytesIO()
    tall = (caption.width, caption.height + caption.extra)
    write_mp4(file, samples, size=tall, tick_s=manifest.tick_s, end=end - origin)
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class Still:
    """A picture of what Earth saw."""

    state: str
    """What its caption says at the right: the layers, or since when it is frozen."""
    size: tuple[int, int]
    """Width and height, caption included."""
    jpeg: bytes


def still(
    stream: Stream,
    levels: Sequence[int],
    chunk: int,
    *,
    share: float,
    width: int,
    clock: Clock = MISSION_TIME,
) -> Still:
    """What Earth saw at ``share`` (0 to 1) of mission chunk ``chunk``'s frames, with its caption."""
    manifest = stream.manifest
    pictures = list(seen(stream, levels, range(chunk, chunk + 1)))
    one = pictures[min(len(pictures) - 1, int(share * len(pictures)))]
    size = fitted(manifest.width, manifest.height, width)
    caption = Caption(size, manifest.layers, manifest.tick_s, clock)
    image = caption(one._replace(image=_smaller(one.image, size)))
    state = words(one, manifest.layers, manifest.tick_s, clock)[1]
    return Still(state, (image.width, image.height), _jpeg(image))


def thumb(stream: Stream, chunk: int, level: int, share: float, *, width: int) -> bytes:
    """A small JPEG, without caption, of a picture of the stream's chunk at ``level``; of black for chunk -1."""
    manifest = stream.manifest
    if chunk < 0:
        image = black(manifest.width, manifest.height)
    else:
        pictures = stream.shown(manifest.chunks[chunk], level)
        image = pictures[min(len(pictures) - 1, int(share * len(pictures)))]
    return _jpeg(_smaller(image, fitted(manifest.width, manifest.height, width)))


def fitted(width: int, height: int, widest: int) -> tuple[int, int]:
    """The size in even numbers of a picture that is to be ``widest`` wide at most, in its own proportions."""
    if width <= widest:
        return width, height
    even = widest // 2 * 2
    return even, max(2, round(height * even / width / 2) * 2)


def _smaller(image: VideoFrame, size: tuple[int, int]) -> VideoFrame:
    if (image.width, image.height) == size:
        return image
    return image.reformat(width=size[0], height=size[1], interpolation="AREA")


def _jpeg(image: VideoFrame) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image.to_ndarray(format="rgb24")).save(file, format="JPEG", quality=JPEG_QUALITY)
    return file.getvalue()


def _frames(
    shown: Iterable[Seen], caption: Caption, tick_s: Fraction, origin: int, end: int
) -> Iterator[SourceFrame]:
    """The captioned pictures with their durations, a group a second."""
    second, place = -1, 0
    waiting: tuple[int, int, VideoFrame] | None = None

    def until(tick: int) -> Iterator[SourceFrame]:
        if waiting is not None:
            group, at, image = waiting
            assert image.pts is not None
            yield SourceFrame(group, at, image, tick - origin - image.pts)

    for one in shown:
        yield from until(one.tick)
        now = int(one.tick * tick_s)
        second, place = (now, 0) if now != second else (second, place + 1)
        image = caption(one)
        image.pts, image.time_base = one.tick - origin, tick_s
        waiting = (second, place, image)
    yield from until(end)
