"""PSNR, SSIM and VMAF of pictures against the source's, by the FFmpeg that imageio-ffmpeg brings.

FFmpeg is run as a program and gets raw pictures through pipes, not through files.
Calls are independent: VMAF's motion term starts at 0 with the first picture of each call.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dstcc.errors import MissingCapabilityError
from dstcc_svc.ffmpeg import REMEDY, ffmpeg_path, has
from dstcc_svc.manifest import Quality

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

PSNR_CAP_DB = 100.0
"""PSNR of identical pictures, whose mean square error is 0 (8-bit video cannot reach 100 dB otherwise)."""
LEAST_SIDE = 17
"""Of a picture: VMAF halves it four times, and libvmaf crashes on a side of 16; SSIM is no number below that."""


def judge(reference: Sequence[VideoFrame], shown: Sequence[Sequence[VideoFrame]]) -> list[Quality]:
    """Compare each sequence in ``shown`` with ``reference``, picture by picture; the mean of each.

    All are yuv420p of one size, as many as the reference. Raises :class:`MissingCapabilityError` without an
    FFmpeg, if it fails, and for pictures that are :func:`too_small`.
    """
    small = too_small(reference[0].width, reference[0].height)
    if small is not None:
        raise MissingCapabilityError(small)
    assert all(len(pictures) == len(reference) for pictures in shown)
    with tempfile.TemporaryDirectory(prefix="dstcc-judge-") as folder:
        _run_ffmpeg(Path(folder), [reference, *shown])
        return [_result(Path(folder), index) for index in range(len(shown))]


def too_small(width: int, height: int) -> str | None:
    """Why pictures of that size cannot be judged; ``None`` where they can."""
    if min(width, height) >= LEAST_SIDE:
        return None
    return f"a picture's sides need {LEAST_SIDE} pixels to be judged, not {width}x{height}"


def has_vmaf() -> bool:
    """Whether the FFmpeg program has the libvmaf filter."""
    return has("-filters", "libvmaf")


def _run_ffmpeg(folder: Path, sequences: list[Sequence[VideoFrame]]) -> None:
    width, height = sequences[0][0].width, sequences[0][0].height
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", f"{width}x{height}", "-framerate", "25"]
    pipes = [os.pipe() for _ in sequences]
    arguments = [ffmpeg_path(), "-hide_banner", "-nostdin", "-loglevel", "error"]
    for reader, _ in pipes:
        arguments += [*raw, "-thread_queue_size", "4", "-i", f"pipe:{reader}"]
    arguments += ["-filter_complex", _graph(len(sequences) - 1)]
    for index in range(1, len(sequences)):
        arguments += ["-map", f"[out{index - 1}]", "-f", "null", "-"]
    process = subprocess.Popen(
        arguments,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[r for r, _ in pipes],
    )
    for reader, _ in pipes:
        os.close(reader)
    feeders = [
        threading.Thread(target=_feed, args=(writer, pictures), daemon=True)
        for (_, writer), pictures in zip(pipes, sequences, strict=True)
    ]
    try:
        for feeder in feeders:
            feeder.start()
        _, complaint = process.communicate()
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()
        for feeder in feeders:
            feeder.join()
    if process.returncode:
        said = complaint.decode(errors="replace").strip()[-300:] or "without a message"
        raise MissingCapabilityError(
            f"FFmpeg failed to judge pictures of {width}x{height} ({_end(process.returncode)}): {said}; {REMEDY}"
        )


def _end(code: int) -> str:
    """How a program that failed ended."""
    return f"exit code {code}" if code > 0 else signal.Signals(-code).name


def _feed(handle: int, pictures: Sequence[VideoFrame]) -> None:
    """Write pictures into a pipe; a frozen picture is converted once."""
    with suppress(BrokenPipeError), open(handle, "wb", buffering=0) as pipe:
        last, raw = None, b""
        for picture in pictures:
            if picture is not last:
                last, raw = picture, picture.to_ndarray().tobytes()
            view = memoryview(raw)
            while view:
                view = view[pipe.write(view) :]


def _graph(count: int) -> str:
    """FFmpeg filters: each of ``count`` inputs against input 0, its scores in files named by its place."""
    uses = 3 if has_vmaf() else 2
    labels = [[f"r{index}{use}" for use in range(uses)] for index in range(count)]
    chains = [f"[0:v]split={uses * count}" + "".join(f"[{label}]" for group in labels for label in group)]
    for index, group in enumerate(labels):
        chain = f"[{index + 1}:v][{group[0]}]psnr=stats_file=psnr{index}[p{index}];"
        chain += f"[p{index}][{group[1]}]ssim=stats_file=ssim{index}"
        if has_vmaf():
            vmaf = f"libvmaf=log_fmt=json:log_path=vmaf{index}:n_threads={len(os.sched_getaffinity(0))}"
            chain += f"[s{index}];[s{index}][{group[2]}]{vmaf}"
        chains.append(f"{chain}[out{index}]")
    return ";".join(chains)


def _result(folder: Path, index: int) -> Quality:
    psnr = [min(PSNR_CAP_DB, value) for value in _column(folder / f"psnr{index}", "psnr_avg:")]
    ssim = _column(folder / f"ssim{index}", "All:")
    vmaf = None
    if has_vmaf():
        log = json.loads((folder / f"vmaf{index}").read_bytes())
        values = [frame["metrics"]["vmaf"] for frame in log["frames"]]
        vmaf = math.fsum(values) / len(values)
    return Quality(math.fsum(psnr) / len(psnr), math.fsum(ssim) / len(ssim), vmaf)


def _column(path: Path, key: str) -> list[float]:
    """The values after ``key`` in the lines of a psnr or ssim statistics file."""
    words = (word for line in path.read_text().splitlines() for word in line.split())
    return [float(word.removeprefix(key)) for word in words if word.startswith(key)]
