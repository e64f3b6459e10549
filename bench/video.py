"""Layered encoding against plain FFmpeg with the same x264 settings."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from pathlib import Path

import dstcc_svc
import imageio_ffmpeg
from dstcc_svc.codecs.pyramid import THREADS
from dstcc_svc.codecs.x264 import OPTIONS

from .figure import Measured, child_cpu_s, cpu_s, interleaved, median_ratio

CLIP = Path(__file__).parents[1] / "examples/clips/big-buck-bunny.mp4"
CRF, PRESET, CHUNK_S = 28, "medium", 1.0
REPEATS = 3


def encode_fps() -> Measured:
    """720p, four temporal layers; both times include decoding the clip, neither includes measuring quality."""
    with tempfile.TemporaryDirectory() as folder:
        stream, plain = Path(folder) / "stream", Path(folder) / "plain.h264"
        frames = dstcc_svc.encode(CLIP, stream, crf=CRF, preset=PRESET, chunk_s=CHUNK_S, quality=False).frames

        def layered() -> None:
            dstcc_svc.encode(CLIP, stream, crf=CRF, preset=PRESET, chunk_s=CHUNK_S, quality=False, force=True)

        def ffmpeg() -> None:
            subprocess.run(_command(plain), capture_output=True, check=True)

        ours_s, plain_s = interleaved(REPEATS, lambda: cpu_s(layered), lambda: child_cpu_s(ffmpeg))
        sizes = {
            "layered_bytes": sum(path.stat().st_size for path in (stream / "payload").iterdir()),
            "ffmpeg_bytes": plain.stat().st_size,
        }
    return Measured(
        frames / statistics.median(ours_s),
        "frames/s CPU",
        "plain ffmpeg, same x264 settings",
        median_ratio(plain_s, ours_s),
        repeats=tuple(frames / taken for taken in ours_s),
        notes=(f"{sizes['layered_bytes'] / sizes['ffmpeg_bytes'] - 1:+.2%} of its bytes",),
        details={"frames": frames, "ffmpeg_fps": frames / statistics.median(plain_s), **sizes},
    )


def _command(output: Path) -> list[str]:
    options = {"crf": str(CRF), "preset": PRESET, "threads": str(THREADS), **OPTIONS}
    return [
        imageio_ffmpeg.get_ffmpeg_exe(),
        *("-v", "error", "-y", "-i", str(CLIP), "-an", "-fps_mode", "passthrough", "-pix_fmt", "yuv420p"),
        *("-c:v", "libx264", "-force_key_frames", f"expr:gte(t,n_forced*{CHUNK_S:g})"),
        *[word for name, value in options.items() for word in (f"-{name}", value)],
        *("-f", "h264", str(output)),
    ]
