"""The FFmpeg program: where it is, and what it has."""

from __future__ import annotations

import subprocess
from functools import cache

from dstcc.errors import MissingCapabilityError

REMEDY = "pip install --force-reinstall imageio-ffmpeg, or let IMAGEIO_FFMPEG_EXE name another one"


@cache
def ffmpeg_path() -> str:
    """Path of the FFmpeg program: ``$IMAGEIO_FFMPEG_EXE``, else the one that imageio-ffmpeg brings."""
    import imageio_ffmpeg

    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:
        raise MissingCapabilityError(f"no FFmpeg program: {error}; pip install imageio-ffmpeg") from error


@cache
def has(listing: str, name: str) -> bool:
    """Whether FFmpeg lists ``name`` for the option ``listing``: ``-encoders`` or ``-filters``.

    Raises :class:`MissingCapabilityError` when it cannot be run.
    """
    path = ffmpeg_path()
    try:
        listed = subprocess.run([path, "-hide_banner", listing], capture_output=True, check=False)
    except OSError as error:
        raise MissingCapabilityError(f"{path}: no FFmpeg program ({error.strerror}); {REMEDY}") from error
    return f" {name} ".encode() in listed.stdout
