"""What stands on the screen on Earth, frame after frame: chunks that arrived, or the last picture before a lost one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dstcc_svc.manifest import Manifest
from dstcc_svc.played import black, checked_levels
from dstcc_svc.stream import NOTHING, Stream

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

_KEPT_CHUNKS = 8  # decoded chunks kept for the next loop of a short clip


class Seen(NamedTuple):
    """The screen at one of the source's frame times."""

    tick: int
    """Mission time of the frame's capture, in the stream's ticks."""
    image: VideoFrame
    """What is shown then; its own times mean nothing."""
    level: int
    """Highest layer that arrived of the chunk; :data:`NOTHING` while the picture is frozen."""
    since: int | None
    """While frozen: mission time in ticks of the first frame that is missing."""


def start_tick(manifest: Manifest, index: int) -> int:
    """Mission time in ticks at which mission chunk ``index`` starts."""
    loop, chunk = divmod(index, len(manifest.chunks))
    return loop * manifest.chunks[-1].pts[1] + manifest.chunks[chunk].pts[0]


def last_arrived(levels: Sequence[int], before: int) -> int | None:
    """The last chunk below ``before`` of which anything arrived."""
    return next((index for index in range(before - 1, -1, -1) if levels[index] != NOTHING), None)


def seen(stream: Stream, levels: Sequence[int], span: range) -> Iterator[Seen]:
    """Yield the screen at every frame time of the mission chunks of ``span``.

    ``levels`` as for :func:`~dstcc_svc.played.played_quality`, for all of the mission: the picture that stands at the
    beginning of the span may be of an earlier chunk, and is black where nothing arrived before.
    """
    manifest = stream.manifest
    plain = checked_levels(manifest, levels)
    shown = lru_cache(_KEPT_CHUNKS)(lambda chunk, level: stream.shown(manifest.chunks[chunk], level))
    last = last_arrived(plain, span.start)
    if last is None:
        held = black(manifest.width, manifest.height)
    else:
        held = shown(last % len(manifest.chunks), plain[last])[-1]
    since = start_tick(manifest, 0 if last is None else last + 1)
    for index in span:
        chunk, level = manifest.chunks[index % len(manifest.chunks)], plain[index]
        start = start_tick(manifest, index)
        if level == NOTHING:
            images = [held] * chunk.frames
        else:
            images = shown(chunk.index, level)
            held, since = images[-1], start_tick(manifest, index + 1)
        for pts, image in zip(chunk.frame_times(), images, strict=True):
            yield Seen(start + pts - chunk.pts[0], image, level, since if level == NOTHING else None)
