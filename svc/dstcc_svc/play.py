"""``play``: an ordinary MP4 of the video as Earth saw it.

H.264 streams are copied, not coded again: the arrived layers of a chunk go in as they are, and a picture
stays on the screen until the next one that arrived. Streams that ordinary players cannot show (VP9 quality
layers) are decoded and coded again with x264.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.atomic import atomic_file
from dstcc.errors import DstccError, InputError, MissingCapabilityError
from dstcc.outputs import Kind, check_output
from dstcc.version import __version__
from dstcc_svc.codecs import Codec, EncodeSettings, Sample, SourceFrame, get_codec
from dstcc_svc.manifest import Manifest
from dstcc_svc.played import BLACK, checked_levels, last_picture, picture
from dstcc_svc.stream import NOTHING, Stream

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

_KEPT_CHUNKS = 128  # assembled chunks kept for the next loop of a short clip
_RECODE_CODECS = ("x264", "x264-program")  # for streams that are coded again: the first available one
_RECODE_CRF = 16  # visually the same as the decoded stream
MARK = "dstcc play "
"""How the comment in a file's metadata begins; the version follows."""


@dataclass(frozen=True, slots=True)
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

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
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
    force: bool = False,
) -> PlayReport:
    """Write the mission's video into the MP4 ``output``.

    ``levels`` as for :func:`~dstcc_svc.played.played_quality`. ``from_s`` and ``to_s`` are mission times; the
    chunks that overlap them are played whole. The picture is black until the first chunk that arrived.

    Raises :class:`StreamError` for a corrupt payload, :class:`InputError` when the output exists without ``force`` or
    is not a video of ours, or no chunk is between the times. A partial file is never left behind.
    """
    opened = Stream.open(stream)
    manifest = opened.manifest
    check_output(output, MOVIE, force=force, inputs=[stream, manifest.source_path])
    plain = checked_levels(manifest, levels)
    span = _span(manifest, len(plain), from_s, to_s)
    origin = _start(manifest, span[0])
    slots = [
        _Slot(at, plain[index], _start(manifest, index) - manifest.chunks[at].pts[0] - origin)
        for index in span
        for at in [index % len(manifest.chunks)]
    ]
    end = _start(manifest, span[-1] + 1) - origin
    lead = None
    if slots[0].level == NOTHING:
        lead = SourceFrame(0, 0, _before(opened, plain[: span[0]]), end)
        lead.image.pts, lead.image.time_base = 0, manifest.tick_s
    samples = _copied(opened, slots, lead) if opened.codec.muxable else _recoded(opened, slots, lead)
    frames = _mux(samples, manifest, end, output, force=force)
    return PlayReport(
        str(output),
        chunk_start_s(manifest, span[0]),
        float(end * manifest.tick_s),
        frames,
        len(slots),
        sum(slot.level == NOTHING for slot in slots),
        not opened.codec.muxable,
    )


def chunk_start_s(manifest: Manifest, index: int) -> float:
    """Mission time at which mission chunk ``index`` starts, in seconds."""
    return float(_start(manifest, index) * manifest.tick_s)


def _start(manifest: Manifest, index: int) -> int:
    """Mission time in ticks at which mission chunk ``index`` starts."""
    loop, chunk = divmod(index, len(manifest.chunks))
    return loop * manifest.chunks[-1].pts[1] + manifest.chunks[chunk].pts[0]


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


def _before(stream: Stream, levels: Sequence[int]) -> VideoFrame:
    """The picture on the screen after ``levels`` were played."""
    for index in range(len(levels) - 1, -1, -1):
        if levels[index] != NOTHING:
            chunk = index % len(stream.manifest.chunks)
            return picture(stream, last_picture(stream.manifest, chunk, levels[index]), levels[index])
    return picture(stream, BLACK, 0)


def _copied(stream: Stream, slots: Iterable[_Slot], lead: SourceFrame | None) -> Iterator[Sample]:
    """The stream's own samples at their times in the file."""
    if lead is not None:
        yield from _coded(stream.codec, [lead], stream.settings)
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
    return _coded(_recoder(), pictures(), settings)


def _recoder() -> Codec:
    """The codec that codes the pictures again; :class:`MissingCapabilityError` if none is available."""
    first, second = map(get_codec, _RECODE_CODECS)
    try:
        first.require()
    except MissingCapabilityError:
        second.require()
        return second
    return first


def _coded(codec: Codec, frames: Iterable[SourceFrame], settings: EncodeSettings) -> Iterator[Sample]:
    for unit in codec.encode(frames, settings):
        yield from codec.samples([unit])


def _mux(samples: Iterator[Sample], manifest: Manifest, end: int, output: Path, *, force: bool) -> int:
    """Write samples as MP4; each lasts until the next one in pts order, the last until ``end``."""
    import av

    output.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with atomic_file(output, replaces=MOVIE if force else None) as part:
        try:
            with av.open(str(part), "w", format="mp4", options={"movflags": "+faststart"}) as container:
                container.metadata["comment"] = f"{MARK}{__version__}"
                track = container.add_mux_stream(
                    "h264", width=manifest.width, height=manifest.height, time_base=manifest.tick_s
                )
                for sample, duration in _lasting(samples, end):
                    packet = av.Packet(sample.data)
                    packet.pts, packet.dts, packet.duration = sample.pts, sample.dts, duration
                    packet.time_base, packet.is_keyframe = manifest.tick_s, sample.key
                    packet.stream = track
                    container.mux(packet)
                    count += 1
        except av.FFmpegError as error:
            raise DstccError(f"{output}: cannot be written: {error.strerror}") from error
    return count


def _no_movie(path: Path) -> str | None:
    import av

    try:
        with av.open(str(path)) as container:
            ours = container.metadata.get("comment", "").startswith(MARK)
    except (av.FFmpegError, UnicodeError):
        ours = False
    return None if ours else "has no mark of a video of dstcc play"


MOVIE = Kind("a video", _no_movie)
"""What ``dstcc play`` writes."""


def _lasting(samples: Iterator[Sample], end: int) -> Iterator[tuple[Sample, int]]:
    """Pair each sample with its display duration; samples are held until the next key sample gives their end.

    In an MP4 durations are differences of decode times, and the file starts ``lag`` before its first picture
    is shown. The last sample gets the same lag, so that its duration ends at ``end`` and so does the file.
    """
    group: list[Sample] = []
    lag = None
    for sample in samples:
        lag = sample.pts - sample.dts if lag is None else lag
        if sample.key and group:
            yield from _until(group, sample.pts)
            group = []
        group.append(sample)
    assert lag is not None
    group[-1] = last = replace(group[-1], dts=max(group[-1].dts, group[-1].pts - lag))
    yield from list(_until(group, end))[:-1]
    yield last, max(1, end - last.dts - lag)


def _until(group: Sequence[Sample], end: int) -> Iterator[tuple[Sample, int]]:
    times = [*sorted(sample.pts for sample in group), end]
    for sample in group:
        yield sample, times[bisect_right(times, sample.pts)] - sample.pts
