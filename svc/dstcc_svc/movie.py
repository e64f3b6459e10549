"""MP4 files of coded pictures, each of which lasts until the next one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

from dstcc.errors import MissingCapabilityError
from dstcc.outputs import Kind
from dstcc.version import __version__
from dstcc_svc.codecs import Codec, Sample, get_codec

MARK = "dstcc play "
"""How the comment in a file's metadata begins; the version follows."""
_CODERS = ("x264", "x264-program")  # the first available one codes pictures again


def coder() -> Codec:
    """The codec that codes pictures for any player; :class:`MissingCapabilityError` if none is available."""
    first, second = map(get_codec, _CODERS)
    try:
        first.require()
    except MissingCapabilityError:
        second.require()
        return second
    return first


def write_mp4(
    target: str | BinaryIO, samples: Iterator[Sample], *, size: tuple[int, int], tick_s: Fraction, end: int
) -> int:
    """Write H.264 samples (times in ticks) as an MP4 that ends at tick ``end``; returns how many there were.

    Raises :class:`av.FFmpegError` where ``target`` cannot be written.
    """
    import av

    count = 0
    options = {"movflags": "+faststart"} if isinstance(target, str) else {}  # it opens the file a second time
    with av.open(target, "w", format="mp4", options=options) as container:
        container.metadata["comment"] = f"{MARK}{__version__}"
        track = container.add_mux_stream("h264", width=size[0], height=size[1], time_base=tick_s)
        for sample, duration in _lasting(samples, end):
            packet = av.Packet(sample.data)
            packet.pts, packet.dts, packet.duration = sample.pts, sample.dts, duration
            packet.time_base, packet.is_keyframe = tick_s, sample.key
            packet.stream = track
            container.mux(packet)
            count += 1
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
            yield from _take_until(group, sample.pts)
            group = []
        group.append(sample)
    assert lag is not None
    group[-1] = last = replace(group[-1], dts=max(group[-1].dts, group[-1].pts - lag))
    yield from list(_take_until(group, end))[:-1]
    yield last, max(1, end - last.dts - lag)


def _take_until(group: Sequence[Sample], end: int) -> Iterator[tuple[Sample, int]]:
    times = [*sorted(sample.pts for sample in group), end]
    for sample in group:
        yield sample, times[bisect_right(times, sample.pts)] - sample.pts
