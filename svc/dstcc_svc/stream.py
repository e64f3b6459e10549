"""Reading a stream directory: payloads checked against their hashes, any prefix assembled and decoded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dstcc.errors import InputError, StreamError
from dstcc.reading import read_bytes
from dstcc_svc.codecs import AccessUnit, EncodeSettings, Sample, get_codec
from dstcc_svc.manifest import Chunk, Document, Layer, Manifest, load_manifest
from dstcc_svc.sizes import Enlarger

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

NOTHING = -1
"""The level of a chunk without layer 0."""


class Stream:
    """A stream directory for reading.

    Its methods raise :class:`StreamError` when a payload is missing or its bytes are not those the manifest
    was written for.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        try:
            self.codec = get_codec(manifest.codec)
        except InputError as error:
            raise StreamError(f"{manifest.path / 'manifest.json'}: {error}") from None
        self.settings = settings_of(manifest)

    @classmethod
    def open(cls, path: Path) -> Stream:
        """Read the manifest; :class:`StreamError` names the file, the key and the rule it broke."""
        return cls(load_manifest(path))

    def payload(self, layer: Layer) -> bytes:
        """Read one payload and check it."""
        path = self.manifest.path / layer.file
        try:
            size = path.stat().st_size
            data = read_bytes(path, StreamError, layer.bytes) if size == layer.bytes else b""
        except OSError as error:
            raise StreamError(f"{path}: payload cannot be read: {error.strerror}") from error
        if size != layer.bytes:
            raise StreamError(f"{path}: corrupt: {size} bytes, the manifest says {layer.bytes}")
        if hashlib.sha256(data).hexdigest() != layer.sha256:
            raise StreamError(f"{path}: corrupt: its SHA-256 is not the manifest's {layer.sha256[:12]}...")
        return data

    def samples(self, chunk: Chunk, level: int) -> list[Sample]:
        """Assemble layers ``0..level`` of a chunk, in decode order."""
        units = []
        for layer in chunk.layers[: level + 1]:
            data = self.payload(layer)
            for unit in layer.access_units:
                body = data[unit.offset : unit.offset + unit.bytes]
                units.append(AccessUnit(chunk.index, layer.layer, unit.frame, unit.pts, unit.dts, body))
        return self.codec.samples(units)

    def decode(self, chunk: Chunk, level: int) -> Iterator[VideoFrame]:
        """Decode layers ``0..level`` of a chunk: the frames they hold, in pts order, enlarged to the full size."""
        enlarge = Enlarger(self.settings.width, self.settings.height)
        try:
            for image in self.codec.decode(self.samples(chunk, level), self.settings):
                width, height = self.settings.layer_size(level)
                if (image.width, image.height) != (width, height):
                    raise StreamError(f"a picture of {image.width}x{image.height}, not of {width}x{height}")
                yield enlarge(image)
        except StreamError as error:
            raise StreamError(
                f"{self.manifest.path}: chunk {chunk.index}, layers 0..{level}: {error}"
            ) from error

    def shown(self, chunk: Chunk, level: int) -> list[VideoFrame]:
        """Pictures on the screen at each of the chunk's frame times: a missing frame is frozen over."""
        decoded = {image.pts: image for image in self.decode(chunk, level)}
        pictures: list[VideoFrame] = []
        for pts in chunk.frame_times():
            pictures.append(
                decoded.get(pts) or pictures[-1]
            )  # rule 4 of codecs.base: the first frame always exists
        return pictures


def settings_of(document: Document) -> EncodeSettings:
    """Return a stream's settings for its codec."""
    return EncodeSettings(
        document.width,
        document.height,
        document.tick_s,
        Fraction(document.fps).limit_denominator(1001),
        document.layers,
        document.encoding.crf,
        document.encoding.preset,
        document.spatial_layers,
    )


def verify(path: Path) -> Manifest:
    """Check the manifest and every payload's size and hash; :class:`StreamError` names the corrupt file."""
    stream = Stream.open(path)
    for chunk in stream.manifest.chunks:
        for layer in chunk.layers:
            stream.payload(layer)
    return stream.manifest
