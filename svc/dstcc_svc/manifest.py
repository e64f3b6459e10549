"""``manifest.json`` of a stream directory: its shape, its rules, reading and writing it.

The dataclasses are the JSON: each field is a key. Times are in ticks of ``time_base`` unless named ``_s``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, Lt, MinLen

from dstcc.errors import StreamError
from dstcc.frozen import dataclass
from dstcc.outputs import Kind, stranger
from dstcc.reading import read_bytes, read_json
from dstcc.rules import rule_of, value_of
from dstcc.version import __version__

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_BYTES = 1 << 30
"""Of a manifest: some hundred bytes a chunk and layer."""
MANIFEST_NAME = "manifest.json"
PAYLOAD_FOLDER = "payload"
_STRICT = {"extra": "forbid", "strict": True, "allow_inf_nan": False}

Count = Annotated[int, Ge(0)]
Positive = Annotated[int, Gt(0)]
Ticks = Annotated[int, Ge(0), Lt(2**63)]
"""A time as containers have it: 64 bits."""


class Unit(NamedTuple):
    """Where an access unit lies in its payload file, and when it is decoded and shown."""

    frame: Count
    """Place in the chunk in pts order."""
    offset: Count
    bytes: Positive
    pts: int
    dts: int


@dataclass(frozen=True)
class Quality:
    """Likeness to the source, mean over frames."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    psnr_db: Annotated[float, Ge(0), Le(100)]
    """Of a frame: 10 log10(255² / mean square error over all samples of the three planes), at most 100."""
    ssim: Annotated[float, Ge(-1), Le(1)]
    """FFmpeg's ``ssim`` filter, planes weighted by their samples."""
    vmaf: Annotated[float, Ge(0), Le(100)] | None
    """VMAF v0.6.1; ``None`` if the FFmpeg at hand has none."""


@dataclass(frozen=True)
class Layer:
    """The size of one layer of one chunk, and where its bytes are."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    layer: Count
    file: str
    """Relative to the stream directory."""
    bytes: Count
    """0 only where a short chunk has no frame of this layer."""
    sha256: str
    depends: tuple[Count, ...]
    """Layers that are needed to decode this one."""
    quality: Quality | None
    """Of the prefix that ends here, over this chunk; ``None`` if it was not measured."""
    access_units: tuple[Unit, ...]
    """In decode order."""


@dataclass(frozen=True)
class Chunk:
    """A stretch of video that decodes on its own."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    index: Count
    pts: tuple[Ticks, Ticks]
    """From, to (not included)."""
    start_s: Annotated[float, Ge(0)]
    end_s: Annotated[float, Gt(0)]
    frames: Positive
    layers: Annotated[tuple[Layer, ...], MinLen(1)]

    def frame_times(self) -> list[int]:
        """Presentation time of every frame."""
        return sorted({unit.pts for layer in self.layers for unit in layer.access_units})


@dataclass(frozen=True)
class Source:
    """The video the stream was made from."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    path: Annotated[str, MinLen(1)]
    """Relative to the stream directory, so that the two may move together."""
    sha256: str


@dataclass(frozen=True)
class Encoding:
    """How the stream was coded."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    crf: int
    preset: str
    chunk_s: Annotated[float, Gt(0)]
    height: int | None
    """Requested height; ``None`` if the source's was kept."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """``manifest.json``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {**_STRICT, "arbitrary_types_allowed": True}
    schema: Literal[1] = 1
    dstcc_version: str = __version__
    codec: str
    scalability: Literal["temporal", "quality"]
    source: Source
    encoding: Encoding
    width: Annotated[int, Ge(2), Le(65536)]
    height: Annotated[int, Ge(2), Le(65536)]
    fps: Annotated[float, Gt(0)]
    """Frames per second, mean."""
    time_base: Annotated[str, MinLen(3)]
    """Seconds per tick, ``numerator/denominator``."""
    duration_s: Annotated[float, Gt(0)]
    layers: Annotated[int, Ge(1), Le(8)]
    """Number of layers."""
    spatial_layers: Annotated[int, Ge(1), Le(3)] = 1
    """Number of sizes: each of the lowest layers has half the width and height of the one above, up to the full
    size at layer ``spatial_layers - 1``. Streams from versions without several sizes lack the key."""
    chunks: Annotated[tuple[Chunk, ...], MinLen(1)]

    @property
    def tick_s(self) -> Fraction:
        """Seconds per tick."""
        return Fraction(self.time_base)

    @property
    def frames(self) -> int:
        """Frames of the source in the stream."""
        return sum(chunk.frames for chunk in self.chunks)


@dataclass(frozen=True, kw_only=True)
class Manifest(Document):
    """A manifest that was read, with its folder and hash."""

    path: Path
    """The stream directory."""
    sha256: str
    """Hash of the manifest file: identifies the stream with all its payloads."""

    @property
    def source_path(self) -> Path:
        """Where the source should be."""
        return self.path / self.source.path


def dump(document: Document) -> str:
    """Write as JSON, access units one layer a line."""
    body = asdict(document)
    chunks = body.pop("chunks")
    head = json.dumps(body, indent=1, allow_nan=False).removesuffix("\n}")
    lines = ",\n".join("  " + json.dumps(chunk, separators=(",", ":"), allow_nan=False) for chunk in chunks)
    return f'{head},\n "chunks": [\n{lines}\n ]\n}}\n'


def load_manifest(stream: Path) -> Manifest:
    """Read and check the manifest of a stream directory; payloads are not touched.

    Raises :class:`StreamError` that names the file, the key and the rule it broke.
    """
    from pydantic import ValidationError

    path = stream / MANIFEST_NAME
    try:
        raw = read_bytes(path, StreamError, MOST_BYTES)
    except FileNotFoundError:
        why = (
            "not a stream directory: it has no manifest.json"
            if stream.is_dir()
            else "no such stream directory"
        )
        raise StreamError(f"{stream}: {why}") from None
    except NotADirectoryError:
        raise StreamError(f"{stream}: no such stream directory") from None
    try:
        document = _adapter().validate_json(raw)
    except ValidationError as error:
        raise StreamError(f"{path}: {_first(error)}") from None
    for key, rule in _broken_rules(document):
        raise StreamError(f"{path}: {key}: {rule}")
    values = {field.name: getattr(document, field.name) for field in fields(document)}
    return Manifest(path=stream, sha256=hashlib.sha256(raw).hexdigest(), **values)


def _no_stream(path: Path) -> str | None:
    """Why a folder is not a stream, or holds other files too; ``None`` for a stream. Payloads are not checked."""
    try:
        document = read_json(path / MANIFEST_NAME, StreamError, MOST_BYTES)
        if document["schema"] != 1 or not document["dstcc_version"]:
            return f"has a {MANIFEST_NAME} that is not dstcc's"
        files = {str(layer["file"]) for chunk in document["chunks"] for layer in chunk["layers"]}
    except FileNotFoundError:
        return f"has no {MANIFEST_NAME}"
    except (StreamError, TypeError, KeyError):
        return f"has a {MANIFEST_NAME} that is damaged, or not dstcc's"
    other = stranger(path, {MANIFEST_NAME, *files})
    return None if other is None else f"holds {other}, which is no part of the stream"


STREAM = Kind("a stream", _no_stream, folder=True)
"""What ``dstcc encode`` writes."""


@cache
def _adapter() -> TypeAdapter[Document]:
    from pydantic import TypeAdapter

    return TypeAdapter(Document)


def _first(error: Any) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"]) or "the whole file"
    return f"{key}: {rule_of(first)}, got {value_of(first)}"


def _broken_rules(document: Document) -> Iterator[tuple[str, str]]:
    """Yield (key, rule) for broken rules that the types cannot express."""
    parts = document.time_base.split("/")
    if len(parts) != 2 or not all(p.isascii() and p.isdigit() and 0 < len(p) < 12 and int(p) for p in parts):
        yield "time_base", f"{document.time_base!r} is not two positive integers NUM/DEN"
        return
    for key in ("width", "height"):
        if getattr(document, key) % 2:
            yield key, f"{getattr(document, key)} is not even"
        elif getattr(document, key) % 2**document.spatial_layers:
            sizes = f"{document.spatial_layers} spatial layers"
            yield key, f"{getattr(document, key)} is not a multiple of {2**document.spatial_layers}, {sizes}"
    if document.spatial_layers > (document.layers if document.scalability == "quality" else 1):
        yield (
            "spatial_layers",
            f"is {document.spatial_layers}, the stream has {document.layers} {document.scalability} layers",
        )
    end = 0
    for index, chunk in enumerate(document.chunks):
        key = f"chunks.{index}"
        if chunk.index != index:
            yield f"{key}.index", f"is {chunk.index}, chunks count from 0 without a hole"
        if chunk.pts[0] != end or chunk.pts[1] <= chunk.pts[0]:
            yield f"{key}.pts", f"{list(chunk.pts)} does not start at {end} and end later"
        end = chunk.pts[1]
        for at, ticks in (("start_s", chunk.pts[0]), ("end_s", chunk.pts[1])):
            if abs(getattr(chunk, at) - ticks * document.tick_s) > 1e-6:
                yield f"{key}.{at}", f"{getattr(chunk, at)} is not {ticks} ticks of {document.time_base} s"
        yield from _broken_layers(key, chunk, document)
    if abs(document.duration_s - end * document.tick_s) > 1e-6:
        yield "duration_s", f"{document.duration_s} is not the end of the last chunk"


def _broken_layers(key: str, chunk: Chunk, document: Document) -> Iterator[tuple[str, str]]:
    if len(chunk.layers) != document.layers:
        yield f"{key}.layers", f"has {len(chunk.layers)}, the stream has {document.layers}"
    seen: list[tuple[int, int]] = []
    for index, layer in enumerate(chunk.layers):
        name = f"{key}.layers.{index}"
        if layer.layer != index:
            yield f"{name}.layer", f"is {layer.layer}, layers count from 0"
        if layer.file != payload_name(chunk.index, index):
            yield f"{name}.file", f"{layer.file!r} is not {payload_name(chunk.index, index)!r}"
        if layer.depends != tuple(range(index)):
            yield f"{name}.depends", f"{list(layer.depends)} is not every layer below {index}"
        if len(layer.sha256) != 64 or set(layer.sha256) - set("0123456789abcdef"):
            yield f"{name}.sha256", f"{layer.sha256!r} is not 64 hexadecimal digits"
        at = 0
        for unit in layer.access_units:
            if unit.offset != at:
                yield (
                    f"{name}.access_units",
                    f"a unit starts at byte {unit.offset}, the one before ends at {at}",
                )
            if not chunk.pts[0] <= unit.pts < chunk.pts[1] or unit.dts > unit.pts:
                yield (
                    f"{name}.access_units",
                    f"pts {unit.pts}, dts {unit.dts}: not dts <= pts within the chunk",
                )
            at += unit.bytes
        if at != layer.bytes:
            yield f"{name}.bytes", f"is {layer.bytes}, its access units make {at}"
        seen += [(unit.pts, unit.frame) for unit in layer.access_units]
    wanted = list(range(chunk.frames)) if chunk.frames <= len(seen) else None
    if [frame for _, frame in sorted(set(seen))] != wanted:
        yield f"{key}.frames", f"is {chunk.frames}; the access units do not number that many frames by pts"
    first = [unit for unit in chunk.layers[0].access_units if unit.frame == 0]
    if len(first) != 1 or first[0].pts != chunk.pts[0]:
        yield f"{key}.layers.0.access_units", "the chunk's first frame is not there exactly once"


def payload_name(chunk: int, layer: int) -> str:
    """Name of a payload file, relative to the stream directory."""
    return f"{PAYLOAD_FOLDER}/{chunk:06d}-{layer}.bin"
