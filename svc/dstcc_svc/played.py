"""Quality of the video as it was seen on Earth: chunks at the level that arrived, lost chunks frozen.

A chunk looks the same however often it is played at a level, and a frozen one the same after the same
picture. Such a *view* is measured once and cached: a mission of days over a looped clip costs little.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dstcc.atomic import atomic_write
from dstcc.cache import cache_folder
from dstcc.errors import InputError, StreamError
from dstcc.reading import read_json
from dstcc_svc.encode import mean_quality
from dstcc_svc.judge import judge
from dstcc_svc.manifest import Manifest, Quality
from dstcc_svc.source import exact, probe, read_frames, sha256_file
from dstcc_svc.stream import NOTHING, Stream

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

    from dstcc_svc.codecs import SourceFrame


class Held(NamedTuple):
    """A picture that stays on the screen; ``chunk`` is -1 for the black before the first one."""

    chunk: int
    frame: int
    level: int
    """Level it was decoded at; 0 with temporal layers, where a frame is the same at every level."""


BLACK = Held(-1, 0, 0)


class View(NamedTuple):
    """The pictures shown during one chunk: the chunk itself at ``level``, or a held picture throughout."""

    chunk: int
    level: int
    held: Held | None

    def key(self) -> str:
        """Name in the cache."""
        return (
            f"{self.chunk}:{self.level}"
            if self.held is None
            else f"{self.chunk}<{','.join(map(str, self.held))}"
        )


def played_quality(stream: Path, levels: Sequence[int]) -> Quality:
    """Judge the played video against the source, the mean over all frames, frozen ones included.

    ``levels[i]`` is the highest layer of mission chunk ``i`` with all lower ones in time, -1 for none; more
    levels than chunks mean that the stream is looped. Scores of frozen chunks, and of all in a stream
    encoded without measuring, need the source video: :class:`StreamError` if it is not where it was, or not
    the same. :class:`InputError` for a level the stream does not have.
    """
    opened = Stream.open(stream)
    views = Counter(views_of(opened.manifest, levels))
    scores = _known(opened.manifest, views)
    missing = sorted((view for view in views if view not in scores), key=View.key)
    if missing:
        scores.update(_judged(opened, missing))
        _remember(opened.manifest, scores)
    chunks = opened.manifest.chunks
    mean = mean_quality((chunks[view.chunk].frames * count, scores[view]) for view, count in views.items())
    assert mean is not None
    return mean


def checked_levels(manifest: Manifest, levels: Sequence[int]) -> list[int]:
    """Levels as plain numbers; :class:`InputError` if there are none or one is impossible."""
    plain = [int(level) for level in levels]
    if not plain:
        raise InputError(f"{manifest.path}: no levels; one per chunk is needed")
    for index, level in enumerate(plain):
        if not NOTHING <= level < manifest.layers:
            raise InputError(
                f"{manifest.path}: level {level} of chunk {index}: outside -1..{manifest.layers - 1}"
            )
    return plain


def views_of(manifest: Manifest, levels: Sequence[int]) -> Iterator[View]:
    """The view of each mission chunk."""
    held = BLACK
    last = {}
    for index, level in enumerate(checked_levels(manifest, levels)):
        chunk = index % len(manifest.chunks)
        if level == NOTHING:
            yield View(chunk, NOTHING, held)
            continue
        if (chunk, level) not in last:
            last[chunk, level] = last_picture(manifest, chunk, level)
        held = last[chunk, level]
        yield View(chunk, level, None)


def last_picture(manifest: Manifest, chunk: int, level: int) -> Held:
    """The picture that stays when the chunk after this one is lost."""
    units = [unit for layer in manifest.chunks[chunk].layers[: level + 1] for unit in layer.access_units]
    last = max(unit.frame for unit in units)
    return Held(chunk, last, level if manifest.scalability == "quality" else 0)


def picture(stream: Stream, held: Held, level: int) -> VideoFrame:
    """Decode a held picture from a chunk of which layers ``0..level`` arrived."""
    if held == BLACK:
        return black(stream.manifest.width, stream.manifest.height)
    return stream.shown(stream.manifest.chunks[held.chunk], level)[held.frame]


def black(width: int, height: int) -> VideoFrame:
    """A black picture."""
    import av
    import numpy as np

    planes = np.full((height * 3 // 2, width), 128, np.uint8)
    planes[:height] = 16  # black in limited range
    return av.VideoFrame.from_ndarray(planes, format="yuv420p")


def _known(manifest: Manifest, views: Iterable[View]) -> dict[View, Quality]:
    """Scores that the manifest or the cache holds."""
    cached = _read_cache(_cache_file(manifest))
    known = {}
    for view in views:
        measured = manifest.chunks[view.chunk].layers[view.level].quality if view.held is None else None
        measured = measured or cached.get(view.key())
        if measured is not None:
            known[view] = measured
    return known


def _judged(stream: Stream, views: Sequence[View]) -> dict[View, Quality]:
    """Measure views against the source, all views of one chunk in one call."""
    source = _checked_source(stream.manifest)
    by_chunk: dict[int, list[View]] = {}
    for view in views:
        by_chunk.setdefault(view.chunk, []).append(view)
    pictures: dict[Held, VideoFrame] = {}
    scores: dict[View, Quality] = {}
    for chunk, group in groupby(source, key=lambda frame: frame.chunk):
        if chunk not in by_chunk:
            continue
        reference = [frame.image for frame in group]
        shown = [_shown(stream, view, len(reference), pictures) for view in by_chunk[chunk]]
        scores.update(zip(by_chunk[chunk], judge(reference, shown), strict=True))
        if len(scores) == len(views):
            break
    return scores


def _shown(stream: Stream, view: View, frames: int, pictures: dict[Held, VideoFrame]) -> list[VideoFrame]:
    if view.held is None:
        return stream.shown(stream.manifest.chunks[view.chunk], view.level)
    if view.held not in pictures:
        temporal = stream.manifest.scalability == "temporal"
        pictures[view.held] = picture(
            stream, view.held, stream.manifest.layers - 1 if temporal else view.held.level
        )
    return [pictures[view.held]] * frames


def _checked_source(manifest: Manifest) -> Iterator[SourceFrame]:
    path = manifest.source_path
    if not path.is_file():
        raise StreamError(f"{path}: the source of {manifest.path} is not there; lost chunks cannot be judged")
    if sha256_file(path) != manifest.source.sha256:
        raise StreamError(f"{path}: is no longer the video {manifest.path} was made from; encode it again")
    return read_frames(probe(path, manifest.encoding.height), exact(manifest.encoding.chunk_s))


def _cache_file(manifest: Manifest) -> Path:
    return cache_folder() / "quality" / f"{manifest.sha256}.json"


def _read_cache(path: Path) -> dict[str, Quality]:
    """Scores by view; empty when there is no usable cache."""
    try:
        return {key: Quality(*map(_score, values)) for key, values in read_json(path, StreamError).items()}
    except (OSError, StreamError, ValueError, TypeError, AttributeError):
        return {}


def _score(value: object) -> Any:
    if not isinstance(value, float | None):
        raise TypeError(f"{value!r} is not a score")
    return value


def _remember(manifest: Manifest, scores: dict[View, Quality]) -> None:
    path = _cache_file(manifest)
    known = {key: astuple(quality) for key, quality in _read_cache(path).items()}
    known |= {view.key(): astuple(quality) for view, quality in scores.items()}
    with suppress(OSError):  # a cache that cannot be written costs time, not results
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, json.dumps(known, sort_keys=True))
