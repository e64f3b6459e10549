"""Video into layered chunks, chunks into video again, and how much of the picture is left.

:func:`encode` writes a stream directory, :func:`load_manifest` and :func:`verify` read one,
:func:`played_quality` judges and :func:`play` shows what arrived of it.
"""

from __future__ import annotations

from dstcc_svc.encode import EncodeReport, LayerReport, encode
from dstcc_svc.manifest import Chunk, Layer, Manifest, Quality, load_manifest
from dstcc_svc.play import PlayReport, chunk_start_s, play, play_together, shown
from dstcc_svc.played import played_quality
from dstcc_svc.stream import verify

__all__ = [
    "Chunk",
    "EncodeReport",
    "Layer",
    "LayerReport",
    "Manifest",
    "PlayReport",
    "Quality",
    "chunk_start_s",
    "encode",
    "load_manifest",
    "play",
    "play_together",
    "played_quality",
    "shown",
    "verify",
]
