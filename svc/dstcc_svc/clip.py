"""Short clips and single pictures of what Earth saw, as bytes for a page."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dstcc.clock import MISSION_TIME, Clock
from dstcc.frozen import dataclass
from dstcc_svc.caption import Caption, planes, words
from dstcc_svc.codecs import Codec, EncodeSettings, Sample, SourceFrame
from dstcc_svc.movie import coder, write_mp4
from dstcc_svc.played import black
from dstcc_svc.seen import seen, start_tick
from dstcc_svc.stream import Stream

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

CRF = 30
PRESET = "faster"
JPEG_QUALITY = 80


def filmed(
    pictures: Iterable[tuple[int, VideoFrame]], settings: EncodeSettings, *, end: int, origin: int
) -> Iterator[Sample]:
    """Code pictures, each with its tick; times in ticks from ``origin``, the last one lasts until ``end``.

    ``settings`` has their size. The first picture and every one that starts a second of mission time can be jumped to.
    """
    return coded(coder(), _frames(pictures, settings.time_base, origin, end), settings)


def screen(
    stream: Stream, levels: Sequence[int], span: range, caption: Caption
) -> Iterator[tuple[int, VideoFrame]]:
    """The captioned pictures of mission chunks, each with its tick, in the caption's size."""
    size = (caption.width, caption.height)
    for one in seen(stream, levels, span):
        yield one.tick, caption(one._replace(image=_smaller(one.image, size)))


def tiled(
    screens: Sequence[Iterator[tuple[int, VideoFrame]]], columns: int
) -> Iterator[tuple[int, VideoFrame]]:
    """Screens of one stream and span side by side, in rows of ``columns``; what is left of the last row is black."""
    import av
    import numpy as np

    for ones in zip(*screens, strict=True):
        (tick, first), *_ = ones
        empty = [black(first.width, first.height)] * (-len(ones) % columns)
        tiles = [planes(image) for image in [*(image for _, image in ones), *empty]]
        rows = [tiles[place : place + columns] for place in range(0, len(tiles), columns)]
        whole = [np.vstack([np.hstack([one[kind] for one in row]) for row in rows]) for kind in range(3)]
        height, width = whole[0].shape
        flat_planes = np.concatenate([plane.ravel() for plane in whole]).reshape(height * 3 // 2, width)
        yield tick, av.VideoFrame.from_ndarray(flat_planes, format="yuv420p")


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
    settings = flat(stream.settings, caption.size, crf, preset)
    samples = filmed(screen(stream, levels, span, caption), settings, end=end, origin=origin)
    file = io.BytesIO()
    write_mp4(file, samples, size=caption.size, tick_s=manifest.tick_s, end=end - origin)
    return file.getvalue()


def flat(settings: EncodeSettings, size: tuple[int, int], crf: int, preset: str) -> EncodeSettings:
    """The stream's settings for pictures of another size, without layers."""
    return replace(
        settings, width=size[0], height=size[1], layers=1, spatial_layers=1, crf=crf, preset=preset
    )


@dataclass(frozen=True)
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
    pictures: Iterable[tuple[int, VideoFrame]], tick_s: Fraction, origin: int, end: int
) -> Iterator[SourceFrame]:
    """The pictures with their durations, a group a second."""
    second, place = -1, 0
    waiting: tuple[int, int, VideoFrame] | None = None

    def until(tick: int) -> Iterator[SourceFrame]:
        if waiting is not None:
            group, at, image = waiting
            assert image.pts is not None
            yield SourceFrame(group, at, image, tick - origin - image.pts)

    for tick, image in pictures:
        yield from until(tick)
        now = int(tick * tick_s)
        second, place = (now, 0) if now != second else (second, place + 1)
        image.pts, image.time_base = tick - origin, tick_s
        waiting = (second, place, image)
    yield from until(end)
