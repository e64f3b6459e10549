"""``encode``: a video file into a stream directory."""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_directory
from dstcc.errors import InputError, StreamError
from dstcc.frozen import dataclass
from dstcc.outputs import check_output
from dstcc_svc.codecs import DEFAULT_CODEC, AccessUnit, Codec, EncodeSettings, SourceFrame, get_codec
from dstcc_svc.ffmpeg import ffmpeg_path
from dstcc_svc.judge import judge, too_small
from dstcc_svc.manifest import (
    MANIFEST_NAME,
    PAYLOAD_FOLDER,
    STREAM,
    Chunk,
    Document,
    Encoding,
    Layer,
    Manifest,
    Quality,
    Source,
    Unit,
    dump,
    payload_name,
)
from dstcc_svc.sizes import check_halving
from dstcc_svc.source import exact, probe, read_frames, sha256_file
from dstcc_svc.stream import Stream, settings_of

_MIN_CHUNK_S = 0.05
_USUAL_LAYERS = 4
_JUDGING_SHARE = 0.6  # of the progress bar, when the quality is measured


@dataclass(frozen=True)
class LayerReport:
    """A layer of the whole stream."""

    layer: int
    width: int
    """Width of its coded pictures."""
    height: int
    bytes: int
    """Of this layer alone."""
    bitrate_bps: float
    """Of this layer alone, mean over the stream."""
    psnr_db: float | None
    """Of the prefix that ends at this layer, as ssim and vmaf; ``None`` if it was not measured."""
    ssim: float | None
    vmaf: float | None


@dataclass(frozen=True)
class EncodeReport:
    """The result that ``dstcc encode`` prints."""

    stream: str
    codec: str
    scalability: str
    duration_s: float
    frames: int
    chunks: int
    layers: tuple[LayerReport, ...]

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return asdict(self)


def encode(
    input: Path,
    output: Path,
    *,
    scalability: str = "temporal",
    codec: str | None = None,
    layers: int | None = None,
    spatial_layers: int = 1,
    chunk_s: float = 1.0,
    crf: int | None = None,
    height: int | None = None,
    preset: str = "medium",
    quality: bool = True,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> EncodeReport:
    """Encode the video ``input`` into the stream directory ``output``.

    The lowest ``spatial_layers`` layers grow in size by 2:1 a side up to the full size. ``layers`` defaults to
    ``spatial_layers`` where that is more than 1, else to 4 or to the codec's most if fewer; ``crf`` defaults to the
    codec's default, ``height`` (luma rows, aspect kept) to the source's. ``quality`` measures every prefix of every
    chunk and takes most of the time; pictures that are too small for that are not measured
    (:func:`~dstcc_svc.judge.too_small`).
    ``progress`` is called with the share done. ``force`` replaces a stream at ``output``, and nothing else.

    Raises :class:`StreamError` for a video that cannot be used, :class:`InputError` for an option,
    :class:`MissingCapabilityError` when the codec is not on this machine. Nothing is left behind on failure.
    """
    coder = _chosen_codec(scalability, codec)
    layers = _checked_layers(coder, layers, spatial_layers)
    if not (math.isfinite(chunk_s) and chunk_s >= _MIN_CHUNK_S):
        raise InputError(f"chunk length {chunk_s}: must be a number of seconds, at least {_MIN_CHUNK_S}")
    if crf is not None and not 0 <= crf <= coder.max_crf:
        raise InputError(f"crf {crf}: {coder.name} has 0..{coder.max_crf}")
    check_output(output, STREAM, force=force, inputs=[input])
    if quality:
        ffmpeg_path()  # raises before the long work where it is missing
    source = probe(input, height)
    quality = quality and too_small(source.width, source.height) is None
    named = _named(input, output)
    check_halving(source, spatial_layers)
    settings = EncodeSettings(
        source.width,
        source.height,
        source.time_base,
        source.fps,
        layers,
        coder.default_crf if crf is None else crf,
        preset,
        spatial_layers,
    )
    encoding = Encoding(settings.crf, preset, float(chunk_s), height)
    report_share = progress or (lambda _share: None)
    span_s = source.declared_s or math.inf
    with atomic_directory(output, replaces=STREAM if force else None) as folder:
        (folder / PAYLOAD_FOLDER).mkdir()
        share = 1 - _JUDGING_SHARE if quality else 1.0
        frames = read_frames(source, exact(chunk_s))
        counted = _Counted(frames, lambda end: report_share(share * min(1, end * source.time_base / span_s)))
        chunks = tuple(_write_chunks(coder.encode(counted, settings), counted, settings, folder))
        document = Document(
            codec=coder.name,
            scalability=coder.scalability,  # type: ignore[arg-type]
            source=Source(named, sha256_file(input)),
            encoding=encoding,
            width=settings.width,
            height=settings.height,
            fps=counted.total / chunks[-1].end_s,
            time_base=f"{settings.time_base.numerator}/{settings.time_base.denominator}",
            duration_s=chunks[-1].end_s,
            layers=layers,
            spatial_layers=spatial_layers,
            chunks=chunks,
        )
        if quality:
            again = read_frames(source, exact(chunk_s))
            chunks = tuple(_judged(document, folder, source_frames=again, report_share=report_share))
            document = replace(document, chunks=chunks)
        (folder / MANIFEST_NAME).write_text(dump(document), encoding="utf-8")
    report_share(1.0)
    return report_of(document, output)


def report_of(document: Document, stream: Path) -> EncodeReport:
    """The report of a stream, from its manifest."""
    rows = []
    sizes = settings_of(document)
    for index in range(document.layers):
        held = [chunk.layers[index] for chunk in document.chunks]
        total = sum(layer.bytes for layer in held)
        mean = mean_quality((chunk.frames, chunk.layers[index].quality) for chunk in document.chunks)
        rows.append(
            LayerReport(
                index,
                *sizes.layer_size(index),
                total,
                total * 8 / document.duration_s,
                mean.psnr_db if mean else None,
                mean.ssim if mean else None,
                mean.vmaf if mean else None,
            )
        )
    return EncodeReport(
        str(stream),
        document.codec,
        document.scalability,
        document.duration_s,
        document.frames,
        len(document.chunks),
        tuple(rows),
    )


def mean_quality(weighted: Iterable[tuple[int, Quality | None]]) -> Quality | None:
    """Mean of (frames, quality) over frames; ``None`` where a part was not measured."""
    parts = list(weighted)
    total = sum(frames for frames, _ in parts)
    known = [(frames, quality) for frames, quality in parts if quality is not None]
    if not total or len(known) < len(parts):
        return None
    vmaf = [(frames, quality.vmaf) for frames, quality in known if quality.vmaf is not None]
    return Quality(
        math.fsum(frames * quality.psnr_db for frames, quality in known) / total,
        math.fsum(frames * quality.ssim for frames, quality in known) / total,
        math.fsum(frames * value for frames, value in vmaf) / total if len(vmaf) == len(parts) else None,
    )


def _named(input: Path, output: Path) -> str:
    """The path by which the manifest names the source."""
    name = os.path.relpath(input.resolve(), output.resolve())
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"{input}: its path is not UTF-8, so that no manifest can name it") from None
    return name


def _chosen_codec(scalability: str, name: str | None) -> Codec:
    if scalability not in DEFAULT_CODEC:
        raise InputError(f"scalability {scalability!r}: must be one of {', '.join(DEFAULT_CODEC)}")
    codec = get_codec(name or DEFAULT_CODEC[scalability])
    if codec.scalability != scalability:
        raise InputError(f"codec {codec.name}: has {codec.scalability} layers, not {scalability} ones")
    codec.require()
    return codec


def _checked_layers(codec: Codec, layers: int | None, spatial_layers: int) -> int:
    """The number of layers; without one given, the number of sizes if there are several, since each is a layer."""
    most = codec.max_spatial_layers
    if not 1 <= spatial_layers <= most:
        why = f"has 1..{most}" if most > 1 else "has layers of one size (quality layers by vp9 have 1..3)"
        raise InputError(f"spatial layers {spatial_layers}: {codec.name} {why}")
    if layers is None:
        return spatial_layers if spatial_layers > 1 else min(_USUAL_LAYERS, codec.max_layers)
    if not 1 <= layers <= codec.max_layers:
        raise InputError(f"layers {layers}: {codec.name} has 1..{codec.max_layers}")
    if spatial_layers > layers:
        raise InputError(f"spatial layers {spatial_layers}: more than the {layers} layers in all")
    return layers


class _Counted:
    """Passes frames on, counts them, and records when each chunk ends."""

    def __init__(self, frames: Iterable[SourceFrame], report_share: Callable[[int], None]) -> None:
        self._frames, self._report_share = frames, report_share
        self.total = 0
        self.ends: dict[int, int] = {}
        self.counts: Counter[int] = Counter()

    def __iter__(self) -> Iterator[SourceFrame]:
        for source in self._frames:
            self.total += 1
            self.counts[source.chunk] += 1
            self.ends[source.chunk] = source.pts + source.duration
            self._report_share(self.ends[source.chunk])
            yield source


def _write_chunks(
    units: Iterable[AccessUnit], counted: _Counted, settings: EncodeSettings, folder: Path
) -> Iterator[Chunk]:
    tick = settings.time_base
    start = 0
    for index, group in groupby(units, key=lambda unit: unit.chunk):
        held = sorted(group, key=lambda unit: (unit.layer, unit.dts))
        end = counted.ends[index]
        yield Chunk(
            index,
            (start, end),
            float(start * tick),
            float(end * tick),
            counted.counts[index],
            tuple(_write_layer(index, layer, held, folder) for layer in range(settings.layers)),
        )
        start = end


def _write_layer(chunk: int, layer: int, units: list[AccessUnit], folder: Path) -> Layer:
    body = bytearray()
    index = []
    for unit in units:
        if unit.layer == layer:
            index.append(Unit(unit.frame, len(body), len(unit.data), unit.pts, unit.dts))
            body += unit.data
    name = payload_name(chunk, layer)
    (folder / name).write_bytes(body)
    digest = hashlib.sha256(body).hexdigest()
    return Layer(layer, name, len(body), digest, tuple(range(layer)), None, tuple(index))


def _judged(
    document: Document,
    folder: Path,
    *,
    source_frames: Iterable[SourceFrame],
    report_share: Callable[[float], None],
) -> Iterator[Chunk]:
    """Measure every prefix of every chunk against the source's frames."""
    stream = Stream(Manifest(path=folder, sha256="", **vars(document)))
    by_chunk = groupby(source_frames, key=lambda source: source.chunk)
    for chunk, (_, group) in zip(document.chunks, by_chunk, strict=True):
        reference = [source.image for source in group]
        if len(reference) != chunk.frames:
            raise StreamError(
                f"chunk {chunk.index}: the source gave {len(reference)} frames, then {chunk.frames}"
            )
        scores = judge(reference, [stream.shown(chunk, level) for level in range(document.layers)])
        measured = (replace(layer, quality=score) for layer, score in zip(chunk.layers, scores, strict=True))
        yield replace(chunk, layers=tuple(measured))
        report_share(1 - _JUDGING_SHARE * (1 - chunk.end_s / document.duration_s))
