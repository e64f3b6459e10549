"""``play``: an ordinary MP4 of the video as Earth saw it.

With captions every picture that the source has is in the file, frozen ones again and again, and a line below it says
the mission time, the layers that arrived and since when nothing did; all of it is coded with x264.

Without, H.264 streams are copied, not coded again: the arrived layers of a chunk go in as they are, and a picture
stays on the screen until the next one that arrived. Streams that ordinary players cannot show (VP9 quality
layers) are decoded and coded again with x264.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.atomic import atomic_file
from dstcc.clock import MISSION_TIME, Clock
from dstcc.errors import DstccError, InputError
from dstcc.frozen import dataclass
from dstcc.outputs import check_output
from dstcc_svc.caption import Caption
from dstcc_svc.clip import coded, filmed, fitted, flat, screen, tiled
from dstcc_svc.codecs import Sample, SourceFrame
from dstcc_svc.manifest import Manifest
from dstcc_svc.movie import MOVIE, coder, write_mp4
from dstcc_svc.played import BLACK, checked_levels, last_picture, picture
from dstcc_svc.seen import last_arrived, start_tick
from dstcc_svc.stream import NOTHING, Stream

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

DEFAULT_LENGTH_S = 600.0
"""How much is shown of a longer mission where nothing else is asked for."""
_KEPT_CHUNKS = 128  # assembled chunks kept for the next loop of a short clip
_RECODE_CRF = 16  # visually the same as the decoded stream
_CAPTIONED_CRF, _CAPTIONED_PRESET = 18, "veryfast"
WIDEST = 1920
"""Of screens side by side, in pixels: what every player and display takes."""


@dataclass(frozen=True)
class PlayReport:
    """The properties of the written file."""

    output: str
    start_s: float
    """Mission time of the first picture."""
    duration_s: float
    frames: int
    """Pictures in the file; a frozen one counts once."""
    chunks: int
    frozen_chunks: int
    """Chunks of which nothing arrived."""
    recoded: bool
    """Whether the pictures were coded again; otherwise they are the stream's own bits."""
    captions: bool
    """Whether a line below the picture says what is seen."""

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return asdict(self)


@dataclass(frozen=True)
class _Slot:
    """One chunk of the mission that is to be played."""

    chunk: int
    level: int
    shift: int
    """Ticks from the stream's time to that of the file."""


def play(
    stream: Path,
    levels: Sequence[int],
    output: Path,
    *,
    from_s: float = 0.0,
    to_s: float | None = None,
    captions: bool = False,
    clock: Clock = MISSION_TIME,
    force: bool = False,
    advance: Callable[[float], None] | None = None,
) -> PlayReport:
    """Write the mission's video into the MP4 ``output``.

    ``levels`` as for :func:`~dstcc_svc.played.played_quality`. ``from_s`` and ``to_s`` are mission times; the
    chunks that overlap them are played whole. The picture is black until the first chunk that arrived.
    ``captions`` adds the line below the picture, with times of ``clock``. ``advance`` is called with the
    share that is done since its last call.

    Raises :class:`StreamError` for a corrupt payload, :class:`InputError` when the output exists without ``force`` or
    is not a video of ours, or no chunk is between the times. A partial file is never left behind.
    """
    if captions:
        return play_together(
            stream, {"": levels}, output, from_s=from_s, to_s=to_s, clock=clock, force=force, advance=advance
        )[""]
    opened = _opened(stream, output, force=force)
    manifest = opened.manifest
    plain = checked_levels(manifest, levels)
    span = _span(manifest, len(plain), from_s, to_s)
    origin, end = start_tick(manifest, span[0]), start_tick(manifest, span[-1] + 1)
    samples = _plain(opened, plain, span, origin, end - origin)
    size = (manifest.width, manifest.height)
    frames = _written(output, samples, size, end - origin, manifest, force=force, advance=advance)
    return _report(output, opened, plain, span, frames, captions=False)


def play_together(
    stream: Path,
    screens: Mapping[str, Sequence[int]],
    output: Path,
    *,
    from_s: float = 0.0,
    to_s: float | None = None,
    clock: Clock = MISSION_TIME,
    force: bool = False,
    advance: Callable[[float], None] | None = None,
) -> dict[str, PlayReport]:
    """Write several senders' video side by side, each with its name in the line below it; else as :func:`play`.

    ``screens`` are levels by name. Up to three stand in a row, more in as many rows as columns or one less; together
    they are at most :data:`WIDEST` pixels wide, unless there is but one.
    """
    opened = _opened(stream, output, force=force)
    manifest = opened.manifest
    plain = {name: checked_levels(manifest, levels) for name, levels in screens.items()}
    span = _span(manifest, min(map(len, plain.values())), from_s, to_s)
    origin, end = start_tick(manifest, span[0]), start_tick(manifest, span[-1] + 1)
    count = len(plain)
    columns = count if count <= 3 else math.ceil(math.sqrt(count))
    size = (manifest.width, manifest.height)
    if count > 1:
        size = fitted(*size, WIDEST // columns)
    tiles = []
    for name, levels in plain.items():
        caption = Caption(size, manifest.layers, manifest.tick_s, clock, name)
        tiles.append(screen(opened, levels, span, caption))
    whole = (caption.size[0] * columns, caption.size[1] * math.ceil(count / columns))
    settings = flat(opened.settings, whole, _CAPTIONED_CRF, _CAPTIONED_PRESET)
    samples = filmed(tiled(tiles, columns) if count > 1 else tiles[0], settings, end=end, origin=origin)
    frames = _written(output, samples, whole, end - origin, manifest, force=force, advance=advance)
    return {
        name: _report(output, opened, levels, span, frames, captions=True) for name, levels in plain.items()
    }


def _opened(stream: Path, output: Path, *, force: bool) -> Stream:
    opened = Stream.open(stream)
    check_output(output, MOVIE, force=force, inputs=[stream, opened.manifest.source_path])
    return opened


def _written(
    output: Path,
    samples: Iterator[Sample],
    size: tuple[int, int],
    end: int,
    manifest: Manifest,
    *,
    force: bool,
    advance: Callable[[float], None] | None,
) -> int:
    """Write the file in one step; returns how many pictures it has."""
    import av

    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(output, replaces=MOVIE if force else None) as part:
        try:
            told = _telling(samples, end, advance) if advance else samples
            return write_mp4(str(part), told, size=size, tick_s=manifest.tick_s, end=end)
        except av.FFmpegError as error:
            raise DstccError(f"{output}: cannot be written: {error.strerror}") from error


def _report(
    output: Path, opened: Stream, levels: Sequence[int], span: range, frames: int, *, captions: bool
) -> PlayReport:
    manifest = opened.manifest
    origin, end = start_tick(manifest, span[0]), start_tick(manifest, span[-1] + 1)
    return PlayReport(
        str(output),
        chunk_start_s(manifest, span[0]),
        float((end - origin) * manifest.tick_s),
        frames,
        len(span),
        sum(levels[index] == NOTHING for index in span),
        captions or not opened.codec.muxable,
        captions,
    )


def _telling(samples: Iterator[Sample], end: int, advance: Callable[[float], None]) -> Iterator[Sample]:
    """Hand on samples, and say how far they are."""
    done = 0
    for sample in samples:
        advance(max(0, sample.dts - done) / end)
        done = max(done, sample.dts)
        yield sample


def _plain(opened: Stream, plain: Sequence[int], span: range, origin: int, end: int) -> Iterator[Sample]:
    """The pictures that arrived, each once; times in ticks from ``origin``."""
    manifest = opened.manifest
    slots = [
        _Slot(at, plain[index], start_tick(manifest, index) - manifest.chunks[at].pts[0] - origin)
        for index in span
        for at in [index % len(manifest.chunks)]
    ]
    lead = None
    if slots[0].level == NOTHING:
        lead = SourceFrame(0, 0, _opening_picture(opened, plain[: span[0]]), end)
        lead.image.pts, lead.image.time_base = 0, manifest.tick_s
    return _copied(opened, slots, lead) if opened.codec.muxable else _recoded(opened, slots, lead)


def chunk_start_s(manifest: Manifest, index: int) -> float:
    """Mission time at which mission chunk ``index`` starts, in seconds."""
    return float(start_tick(manifest, index) * manifest.tick_s)


def shown(
    manifest: Manifest, levels: Sequence[int], from_s: float | None = None, to_s: float | None = None
) -> tuple[float, float]:
    """Start and end in seconds of what is shown of a mission where they are not given.

    All of it, or, of one that lasts longer than :data:`DEFAULT_LENGTH_S`, so much from the first chunk that arrived on.
    """
    if from_s is None:
        from_s = 0.0
        if chunk_start_s(manifest, len(levels)) > DEFAULT_LENGTH_S:
            first = next((index for index, level in enumerate(levels) if level >= 0), 0)
            from_s = chunk_start_s(manifest, first)
    return from_s, from_s + DEFAULT_LENGTH_S if to_s is None else to_s


def _span(manifest: Manifest, count: int, from_s: float, to_s: float | None) -> range:
    """Mission chunks that overlap ``from_s``..``to_s``."""
    if not (0 <= from_s < (math.inf if to_s is None else to_s)):
        raise InputError(f"from {from_s} to {to_s}: must be two mission times in seconds, the later one last")
    starts = [chunk_start_s(manifest, index) for index in range(count + 1)]
    first = bisect_right(starts, from_s) - 1
    last = count if to_s is None else min(count, bisect_right(starts, to_s - 1e-9))
    if first >= last:
        raise InputError(f"from {from_s}: the mission's video ends at {starts[-1]:.3f} s")
    return range(first, last)


def _opening_picture(stream: Stream, levels: Sequence[int]) -> VideoFrame:
    """The picture on the screen after ``levels`` were played."""
    last = last_arrived(levels, len(levels))
    if last is None:
        return picture(stream, BLACK, 0)
    chunk = last % len(stream.manifest.chunks)
    return picture(stream, last_picture(stream.manifest, chunk, levels[last]), levels[last])


def _copied(stream: Stream, slots: Iterable[_Slot], lead: SourceFrame | None) -> Iterator[Sample]:
    """The stream's own samples at their times in the file."""
    if lead is not None:
        yield from coded(stream.codec, [lead], stream.settings)
    assembled = lru_cache(_KEPT_CHUNKS)(
        lambda chunk, level: stream.samples(stream.manifest.chunks[chunk], level)
    )
    for slot in slots:
        for sample in assembled(slot.chunk, slot.level) if slot.level != NOTHING else ():
            yield replace(sample, pts=sample.pts + slot.shift, dts=sample.dts + slot.shift)


def _recoded(stream: Stream, slots: Iterable[_Slot], lead: SourceFrame | None) -> Iterator[Sample]:
    """The decoded pictures coded again; each chunk starts with an IDR."""

    def pictures() -> Iterator[SourceFrame]:
        if lead is not None:
            yield lead
        for index, slot in enumerate(slots, start=1):
            if slot.level == NOTHING:
                continue
            for frame, image in enumerate(stream.decode(stream.manifest.chunks[slot.chunk], slot.level)):
                assert image.pts is not None
                image.pts, image.time_base = image.pts + slot.shift, stream.settings.time_base
                yield SourceFrame(index, frame, image, 1)

    settings = replace(stream.settings, layers=1, spatial_layers=1, crf=_RECODE_CRF)
    return coded(coder(), pictures(), settings)
