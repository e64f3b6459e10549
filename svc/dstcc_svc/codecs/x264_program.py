"""Temporal layers with x264 inside the ``ffmpeg`` program: no call into x264 in this process, the same layers.

One run of the program codes one chunk: raw pictures in, coded pictures out (in NUT, which keeps the display order). So
a chunk is a function of its pictures alone, and it begins with an IDR as any stream does. The program gets the mean
frame rate; this module sets the real times of the units. Decode times are those of the pictures shown ``DELAY`` before.
"""

from __future__ import annotations

import io
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import IO

from dstcc.errors import DstccError, MissingCapabilityError
from dstcc_svc.codecs.base import AccessUnit, EncodeSettings, SourceFrame
from dstcc_svc.codecs.h264 import H264Codec
from dstcc_svc.codecs.native import by_chunk, picture
from dstcc_svc.codecs.pyramid import DELAY, MAX_LAYERS, PARAMS, THREADS, layered
from dstcc_svc.ffmpeg import REMEDY, ffmpeg_path, has

SHOWN = 300
"""Characters of the program's error output that a message shows."""


class X264Program(H264Codec):
    """x264 through the ffmpeg program."""

    name = "x264-program"
    max_layers = MAX_LAYERS
    default_crf = (
        26  # its look-ahead ends with the chunk, so the IDR gets fewer bits: rate and VMAF of x264's 28
    )

    def require(self) -> None:
        """Raise :class:`~dstcc.errors.MissingCapabilityError` without the program, or without x264 in it."""
        if not has("-encoders", "libx264"):
            raise MissingCapabilityError(f"codec {self.name}: {ffmpeg_path()} has no libx264; {REMEDY}")

    def encode(self, frames: Iterable[SourceFrame], settings: EncodeSettings) -> Iterator[AccessUnit]:
        """Code each chunk with one run of the program."""
        shown: deque[int] = deque(maxlen=DELAY)  # times of the pictures before
        for part in by_chunk(frames):
            chunk, times, coded = self._coded(part, settings)
            order = sorted(range(len(coded)), key=lambda index: coded[index][0])
            place = {index: frame for frame, index in enumerate(order)}
            if not shown:
                shown.extend(times[0] - before for before in range(DELAY, 0, -1))
            for index, (_, data) in enumerate(coded):
                frame, dts = place[index], shown[0]
                shown.append(times[index])
                yield layered(
                    data, chunk=chunk, frame=frame, pts=times[frame], dts=dts, layers=settings.layers
                )

    def _coded(
        self, part: Iterator[SourceFrame], settings: EncodeSettings
    ) -> tuple[int, list[int], list[tuple[int, bytes]]]:
        """A chunk's number, its pictures' times, and its coded pictures (place in time, bytes) in decode order."""
        times: list[int] = []
        chunk = 0
        with tempfile.TemporaryFile() as stderr:
            process = subprocess.Popen(
                _command(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
            )
            assert process.stdin is not None and process.stdout is not None
            output: list[bytes] = []
            reader = threading.Thread(target=_drain, args=(process.stdout, output), daemon=True)
            reader.start()
            try:
                with suppress(BrokenPipeError):  # its stderr says why
                    for source in part:
                        chunk = source.chunk
                        times.append(source.pts)
                        process.stdin.write(picture(self.name, source, settings).tobytes())
                    process.stdin.close()
                process.wait()
            except BaseException:
                process.kill()
                raise
            finally:
                with suppress(BrokenPipeError):
                    process.stdin.close()
                process.wait()
                reader.join()
                process.stdout.close()
            stderr.seek(0)
            complaint = stderr.read().decode(errors="replace").strip()[-SHOWN:]
        coded = _demuxed(output[0]) if process.returncode == 0 else []
        if process.returncode or len(coded) != len(times):
            why = complaint or f"{len(times)} pictures in, {len(coded)} out"
            raise DstccError(f"codec {self.name}: the ffmpeg program failed in chunk {chunk}: {why}")
        return chunk, times, coded


def _command(settings: EncodeSettings) -> list[str]:
    size = f"{settings.width}x{settings.height}"
    return [
        *(ffmpeg_path(), "-hide_banner", "-nostdin", "-loglevel", "error"),
        *("-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", size, "-framerate", str(settings.fps)),
        *("-i", "pipe:0", "-c:v", "libx264", "-preset", settings.preset, "-crf", str(settings.crf)),
        *("-threads", str(THREADS), "-x264-params", PARAMS),
        *("-flags", "-global_header", "-f", "nut", "pipe:1"),
    ]


def _drain(pipe: IO[bytes], output: list[bytes]) -> None:
    output.append(pipe.read())


def _demuxed(data: bytes) -> list[tuple[int, bytes]]:
    """The packets of a NUT file."""
    import av

    try:
        with av.open(io.BytesIO(data), "r", format="nut") as container:
            packets = [packet for packet in container.demux(video=0) if packet.size]
    except av.FFmpegError as error:
        raise DstccError(
            f"codec {X264Program.name}: what the ffmpeg program wrote: {error.strerror}"
        ) from error
    return [(packet.pts, bytes(packet)) for packet in packets if packet.pts is not None]
