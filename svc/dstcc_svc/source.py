"""Reading a video file into the frames a layered encoder takes: upright, even-sized, yuv420p, real times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dstcc.errors import InputError, StreamError
from dstcc.frozen import dataclass
from dstcc.reading import file_sha256
from dstcc_svc.codecs.base import SourceFrame

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

_MISSING_SHARE, _MISSING_S = 0.02, 0.15  # a file that ends this much before its declared end is truncated
MIN_HEIGHT = 16
"""Fewest rows a video is scaled to."""
_FALLBACK_FPS = Fraction(25)  # for a file that tells neither times nor rate


@dataclass(frozen=True)
class SourceInfo:
    """What is fixed before the first frame is coded."""

    path: Path
    width: int
    """Luma width after rotation, scaling and cropping: even."""
    height: int
    """Likewise."""
    time_base: Fraction
    """Seconds per tick."""
    fps: Fraction
    """Mean frame rate as the file declares it."""
    declared_s: float | None
    """Duration as the file declares it; ``None`` if it does not."""
    full_size: tuple[int, int]
    """Width and height after rotation, in square pixels, before scaling and cropping."""


def sha256_file(path: Path) -> str:
    """Hash a file; :class:`StreamError` if it cannot be read."""
    return file_sha256(path, StreamError)


def probe(path: Path, height: int | None = None) -> SourceInfo:
    """Open a video and find the size (``height`` scales it down), time base and rate to code it with.

    Raises :class:`StreamError` when it is missing, no video, or has no frame, and :class:`InputError` when
    ``height`` is more than the video has or less than 16.
    """
    with _opened(path) as (container, stream):
        first = next(_images(path, container, stream), None)
        if first is None:
            raise StreamError(f"{path}: zero frames; a video needs at least one")
        full = _upright_size(first, stream)
        if height is not None and not MIN_HEIGHT <= height <= full[1]:
            raise InputError(f"height {height}: outside {MIN_HEIGHT}..{full[1]}, the height of {path}")
        size = scaled_size(full, full[1] if height is None else height)
        if min(size) < 2:
            raise StreamError(f"{path}: {full[0]}x{full[1]} pixels; at least 2x2 are needed")
        rate = stream.average_rate or stream.guessed_rate or _FALLBACK_FPS
        time_base = stream.time_base or 1 / rate
        return SourceInfo(path, *size, time_base, rate, _declared_s(container, stream), full)


def scaled_size(full: tuple[int, int], height: int) -> tuple[int, int]:
    """Return width and height, made even, of a picture of size ``full`` scaled to ``height`` rows."""
    return round(Fraction(full[0] * height, full[1])) // 2 * 2, height // 2 * 2


def read_frames(source: SourceInfo, chunk_s: Fraction) -> Iterator[SourceFrame]:
    """Decode the video and cut it into chunks of ``chunk_s`` seconds by presentation time.

    Times start at 0. A chunk without a frame (a pause longer than ``chunk_s``) does not count: the chunk
    before it lasts longer. Raises :class:`StreamError` when the file ends early or a frame cannot be decoded.
    """
    chunk, frame, cell = -1, 0, -1
    end = 0
    for image, duration in _timed(source):
        assert image.pts is not None
        at = int(image.pts * source.time_base // chunk_s)
        if at != cell:
            chunk, frame, cell = chunk + 1, 0, at
        yield SourceFrame(chunk, frame, image, duration)
        frame += 1
        end = image.pts + duration
    end_s = float(end * source.time_base)
    if source.declared_s is not None and end_s < source.declared_s * (1 - _MISSING_SHARE) - _MISSING_S:
        raise StreamError(
            f"{source.path}: truncated: {end_s:.2f} s of {source.declared_s:.2f} s declared can be decoded"
        )


def _timed(source: SourceInfo) -> Iterator[tuple[VideoFrame, int]]:
    """Frames in the coded size with times from 0 in ``source.time_base``, each with its duration in ticks."""
    period = max(1, round(1 / (source.fps * source.time_base)))
    with _opened(source.path) as (container, stream):
        shape = _Shaper(source)
        held: VideoFrame | None = None
        origin, latest, gap = None, -period, period
        for raw in _images(source.path, container, stream):
            pts = raw.pts if raw.pts is not None else (origin or 0) + latest + period
            origin = pts if origin is None else origin
            if pts - origin <= latest:  # the time does not advance: no player would show that frame
                continue
            image = shape(raw, stream)
            if held is not None:
                gap = pts - origin - latest
                yield held, gap
            latest = image.pts = pts - origin
            image.time_base = source.time_base
            held = image
        if held is not None:
            yield held, held.duration or gap


class _Shaper:
    """Rotates, crops, scales and converts; the filter graph is rebuilt when the input's shape changes."""

    def __init__(self, source: SourceInfo) -> None:
        self._width, self._height = source.width, source.height
        self._key: object = None
        self._graph: FilterGraph | None = None

    def __call__(self, image: VideoFrame, stream: VideoStream) -> VideoFrame:
        key = (image.format.name, image.width, image.height, image.rotation)
        if key != self._key:
            self._key = key
            filters = self._filters(image, stream)
            self._graph = FilterGraph(image, stream.time_base, filters) if filters else None
        return self._graph(image) if self._graph else image

    def _filters(self, image: VideoFrame, stream: VideoStream) -> list[tuple[str, str]]:
        filters = _ROTATION_FILTERS.get(image.rotation % 360, [])
        width, height = _upright_size(image, stream)
        if (width // 2 * 2, height // 2 * 2) != (self._width, self._height) or _pixel_aspect(stream) != 1:
            filters = [*filters, ("scale", f"{self._width}:{self._height}"), ("setsar", "1")]
        elif (width, height) != (self._width, self._height):
            filters = [*filters, ("crop", f"{self._width}:{self._height}:0:0")]
        if image.format.name != "yuv420p":
            filters = [*filters, ("format", "yuv420p")]
        return filters


_ROTATION_FILTERS = {  # the display matrix's angle, anticlockwise -> the filter that rotates the picture upright
    90: [("transpose", "cclock")],
    180: [("hflip", ""), ("vflip", "")],
    270: [("transpose", "clock")],
}


class FilterGraph:
    """A chain of FFmpeg filters (name, options) for pictures like ``image``, a frame in and a frame out."""

    def __init__(self, image: VideoFrame, time_base: Fraction | None, filters: list[tuple[str, str]]) -> None:
        import av.filter

        self._graph = av.filter.Graph()
        last = self._source = self._graph.add_buffer(
            width=image.width,
            height=image.height,
            format=image.format,
            time_base=time_base or Fraction(1),
        )
        for name, options in filters:
            node = self._graph.add(name, options)
            last.link_to(node)
            last = node
        self._sink = self._graph.add("buffersink")
        last.link_to(self._sink)
        self._graph.configure()

    def __call__(self, image: VideoFrame) -> VideoFrame:
        """Filter one picture."""
        from av.video.frame import VideoFrame

        self._source.push(image)
        turned = self._sink.pull()
        assert isinstance(turned, VideoFrame)
        return turned


def exact(chunk_s: float) -> Fraction:
    """The chunk length that a decimal number means: 0.1 s is a tenth."""
    return Fraction(chunk_s).limit_denominator(1_000_000)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    import av

    if not path.is_file():
        raise StreamError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    try:
        container = av.open(str(path))
    except (av.FFmpegError, OSError) as error:
        raise StreamError(f"{path}: not a video file: {error.strerror}") from error
    with container:
        streams = [s for s in container.streams.video if not s.disposition & s.disposition.attached_pic]
        if not streams:
            raise StreamError(f"{path}: has no video stream")
        streams[0].thread_type = "AUTO"
        yield container, streams[0]


def _images(path: Path, container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
    import av

    count = 0
    try:
        for image in container.decode(stream):
            count += 1
            yield image
    except av.FFmpegError as error:
        raise StreamError(f"{path}: damaged after frame {count}: {error.strerror}") from error


def _pixel_aspect(stream: VideoStream) -> Fraction:
    return stream.sample_aspect_ratio or Fraction(1)


def _upright_size(image: VideoFrame, stream: VideoStream) -> tuple[int, int]:
    """Size in square pixels after the rotation that the file declares."""
    width, height = round(image.width * _pixel_aspect(stream)), image.height
    return (height, width) if image.rotation % 180 else (width, height)


def _declared_s(container: InputContainer, stream: VideoStream) -> float | None:
    """Shortest duration the file declares for its video (a container's alone may be that of longer audio)."""
    declared = []
    if stream.duration is not None and stream.time_base is not None:
        declared.append(float(stream.duration * stream.time_base))
        if container.duration is not None:
            declared.append(container.duration / 1e6)
    elif "DURATION" in stream.metadata:  # Matroska: a tag, hours:minutes:seconds
        hours, minutes, seconds = stream.metadata["DURATION"].split(":")
        declared.append(int(hours) * 3600 + int(minutes) * 60 + float(seconds))
    return min(declared, default=None)
