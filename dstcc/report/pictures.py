"""What Earth saw under each algorithm: pictures evenly over the mission, and a short clip that all have in common.

Nobody picks the times: those of the strip are :data:`MOMENTS` in equal steps, and the clip is the stretch of
:data:`CLIP_S` in which each trial's shares of levels are nearest to its shares over the whole mission. So nobody is
shown at a better or a worse time than usual.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dstcc.errors import InputError, RunError
from dstcc.layers import level_name
from dstcc.outputs import Kind, stranger

from .model import Report, Section, Trial
from .numbers import quantity

if TYPE_CHECKING:
    from dstcc_svc.clip import Still
    from dstcc_svc.stream import Stream
    from numpy.typing import NDArray

    from dstcc.clock import Clock

CLIP_S = 10.0
"""Seconds of mission time that a clip lasts, in whole chunks."""
WIDTH = 480
"""Most pixels of a picture's width."""
SHARE = 0.5
"""Where in a chunk its picture is taken."""
MOMENTS = 8
"""Pictures of an algorithm in the strip."""
THUMB = 160
"""Most pixels of the width of one of them."""
EMBEDDED_BYTES = 6_000_000
"""Clips of a report that are larger together lie beside the page."""
SENT = "As captured"
"""The name of the pictures with every layer."""


@dataclass(frozen=True)
class Thumb:
    """A picture of the strip."""

    jpeg: bytes
    state: str
    """The layers, or how long it is frozen already."""
    frozen: bool

    @property
    def picture(self) -> str:
        """The picture as a ``data:`` address."""
        return _data("image/jpeg", self.jpeg)


@dataclass(frozen=True)
class Shot:
    """A clip, its picture, and under which algorithms just this was seen."""

    names: tuple[tuple[str, str], ...]
    """Algorithms, :data:`SENT` among them, and how the whole trial of each did."""
    still: Still
    mp4: bytes

    @property
    def picture(self) -> str:
        """The picture as a ``data:`` address."""
        return _data("image/jpeg", self.still.jpeg)

    @property
    def label(self) -> str:
        """Text for a screen reader."""
        return f"{', '.join(name for name, _ in self.names)}: {self.still.state}"

    @property
    def file(self) -> str:
        """The clip's name if it lies beside the page."""
        return f"{hashlib.sha256(self.mp4).hexdigest()[:16]}.mp4"


@dataclass(frozen=True)
class Screening:
    """The pictures of a section."""

    moments: tuple[str, ...]
    """When the strip's pictures were captured."""
    strip: tuple[tuple[str, tuple[Thumb, ...]], ...]
    """A row an algorithm."""
    clock: str
    """When the clips' pictures were captured."""
    begins: str
    """When the clips begin."""
    lasts_s: float
    shots: tuple[Shot, ...]


@dataclass(frozen=True)
class Screenings:
    """The pictures of a report: a screening for each section, or why there is none."""

    by_section: tuple[Screening | str, ...]
    folder: str | None = None
    """Where the clips lie, seen from the page; ``None``: in the page."""

    @cached_property
    def clips(self) -> dict[str, bytes]:
        """The clips by their file names."""
        return {
            shot.file: shot.mp4 for one in self.by_section if isinstance(one, Screening) for shot in one.shots
        }

    @property
    def embeddable(self) -> bool:
        """Whether the clips are small enough for the page."""
        return sum(map(len, self.clips.values())) <= EMBEDDED_BYTES

    def address(self, shot: Shot) -> str:
        """Where the page finds a clip."""
        return _data("video/mp4", shot.mp4) if self.folder is None else f"{self.folder}/{shot.file}"


def screen(report: Report, *, moved_to: Path | None = None) -> Screenings:
    """Take the pictures of every section that has any.

    ``moved_to`` is where the stream lies now; :class:`InputError` if it is that of no section.
    """
    taken: list[Screening | str] = []
    for section in report.sections:
        try:
            taken.append(_screening(section, moved_to))
        except RunError as error:
            taken.append(str(error))
    if moved_to is not None and all(isinstance(one, str) for one in taken):
        raise InputError(f"--stream {moved_to}: {taken[0] or 'the video is synthetic and has no stream'}")
    return Screenings(tuple(taken))


def typical(levels: Sequence[NDArray[np.int64]], length: int, within: range | None = None) -> int:
    """The first of the ``length`` chunks in which each trial is nearest to what it is over the mission.

    ``levels`` holds each trial's level of every chunk, -1 for none. The distance is the sum over the trials and levels
    of | share of these chunks - share of all chunks |; of equal ones the earliest. ``within`` limits where the chunks
    may begin and end.
    """
    table = np.stack(levels)
    count = table.shape[1]
    within = within or range(count)
    distance = np.zeros(count - length + 1, np.int64)
    for level in np.unique(table):
        here = (table == level).astype(np.int64)
        sums = np.concatenate([np.zeros((len(table), 1), np.int64), np.cumsum(here, axis=1)], axis=1)
        # In whole numbers, so that equal distances are equal: both shares times length * count.
        windows = (sums[:, length:] - sums[:, :-length]) * count
        distance += np.abs(windows - sums[:, -1:] * length).sum(axis=0)
    return within.start + int(np.argmin(distance[within.start : within.stop - length + 1]))


def _screening(section: Section, moved_to: Path | None) -> Screening | str:
    """The pictures of a section; an empty text where its video is synthetic or no trial completed."""
    from dstcc_svc.seen import start_tick
    from dstcc_svc.stream import Stream

    trials = section.representative
    path = trials[0].run.stream(moved_to) if trials else None
    if path is None:
        return ""
    stream = Stream.open(path)
    levels = [np.array(trial.run.levels(trial.id), np.int64) for trial in trials]
    chunks = min(map(len, levels))
    levels = [one[:chunks] for one in levels]
    manifest = stream.manifest
    length = max(1, min(chunks, round(CLIP_S / (manifest.duration_s / len(manifest.chunks)))))
    first = typical(levels, length)
    span = range(first, first + length)
    still_of = typical(levels, 1, span)
    camera = _Camera(stream, section.clock)
    names = [SENT, *(trial.algorithm for trial in trials)]
    facts = ["every layer", *map(_facts, trials)]
    levels.insert(0, np.full(chunks, manifest.layers - 1))
    places = [chunks * (2 * step + 1) // (2 * MOMENTS) for step in range(MOMENTS)]
    looks: dict[bytes, tuple[Still, list[tuple[str, str]]]] = {}
    for name, fact, one in zip(names, facts, levels, strict=True):
        still, mp4 = camera.film(one, span, still_of)
        looks.setdefault(mp4, (still, []))[1].append((name, fact))
    moments = [section.clock.reading(start_tick(manifest, place) * manifest.tick_s) for place in places]
    begins, at, ends = (
        start_tick(manifest, index) * manifest.tick_s for index in (span.start, still_of, span.stop)
    )
    return Screening(
        tuple(moments),
        tuple(
            (name, tuple(camera.thumb(one, place) for place in places))
            for name, one in zip(names, levels, strict=True)
        ),
        section.clock.reading(at),
        section.clock.reading(begins),
        float(ends - begins),
        tuple(Shot(tuple(group), still, mp4) for mp4, (still, group) in looks.items()),
    )


def _facts(trial: Trial) -> str:
    """How a whole trial did."""
    metrics = trial.metrics
    frozen = 100 * (1.0 - metrics.get("playback_ratio", 0.0))
    words = [f"frozen {frozen:.1f} %"]
    if "vmaf" in metrics:
        words.insert(0, f"VMAF {metrics['vmaf']:.1f}")
    elif "psnr_db" in metrics:
        words.insert(0, f"PSNR {metrics['psnr_db']:.2f} dB")
    if "weighted_layers" in metrics:
        words.append(f"weighted layers {100 * metrics['weighted_layers']:.1f} %")
    return ", ".join(words)


class _Camera:
    """Takes pictures and clips of trials; what looks the same is taken once."""

    def __init__(self, stream: Stream, clock: Clock) -> None:
        self._stream, self._clock = stream, clock
        self._filmed: dict[tuple[int | None, ...], tuple[Still, bytes]] = {}
        self._thumbs: dict[tuple[int, int, float], bytes] = {}

    def film(self, levels: NDArray[np.int64], span: range, chunk: int) -> tuple[Still, bytes]:
        """The clip of the chunks of ``span``, and a picture of one of them."""
        from dstcc_svc.clip import clip, still
        from dstcc_svc.seen import last_arrived

        last = last_arrived(levels.tolist(), span.start) if levels[span.start] < 0 else -2
        key = (span.start, chunk, last, *levels[span.start : span.stop])
        if key not in self._filmed:
            plain = [int(level) for level in levels]
            one = still(self._stream, plain, chunk, share=SHARE, width=WIDTH, clock=self._clock)
            self._filmed[key] = (one, clip(self._stream, plain, span, width=WIDTH, clock=self._clock))
        return self._filmed[key]

    def thumb(self, levels: NDArray[np.int64], chunk: int) -> Thumb:
        """The small picture of a chunk."""
        from dstcc_svc.seen import last_arrived, start_tick

        manifest = self._stream.manifest
        level = int(levels[chunk])
        if level >= 0:
            words = level_name(level, manifest.layers)
            return Thumb(self._small(chunk, level, SHARE), words, frozen=False)
        last = last_arrived(levels.tolist(), chunk)
        if last is None:
            return Thumb(self._small(-1, 0, 0.0), "nothing yet", frozen=True)
        begin, end = start_tick(manifest, chunk), start_tick(manifest, chunk + 1)
        taken = begin + SHARE * (end - begin)
        frozen_s = (taken - start_tick(manifest, last + 1)) * float(manifest.tick_s)
        return Thumb(
            self._small(last, int(levels[last]), 1.0), f"frozen {quantity('seconds', frozen_s)}", frozen=True
        )

    def _small(self, chunk: int, level: int, share: float) -> bytes:
        from dstcc_svc.clip import thumb

        key = (chunk % len(self._stream.manifest.chunks) if chunk >= 0 else -1, level, share)
        if key not in self._thumbs:
            self._thumbs[key] = thumb(self._stream, *key, width=THUMB)
        return self._thumbs[key]


def _data(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _no_clips(path: Path) -> str | None:
    """Why a folder is not one of clips of ours."""
    from dstcc_svc.movie import MOVIE

    files = sorted(path.iterdir())
    if not files:
        return "is empty"
    other = stranger(path, {file.name for file in files if file.suffix == ".mp4"})
    if other is not None:
        return f"holds {other}, which is no clip of a report"
    return next((f"{file.name} {why}" for file in files if (why := MOVIE.wrong(file))), None)


CLIPS = Kind("a report's clips", _no_clips, folder=True)
"""The folder beside a report whose clips are too large for the page."""
