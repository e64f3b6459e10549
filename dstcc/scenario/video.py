"""A scenario's video: the bytes of every layer of every chunk, and the capture time of each chunk."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import field, fields
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.cache import cache_folder, written
from dstcc.engine.config import NEVER_NS, Objects
from dstcc.errors import ScenarioError, StreamError
from dstcc.frozen import dataclass
from dstcc.reading import file_sha256

from .coding import is_rates_file
from .fields import AS_DOWN, NS_PER_S
from .model import MAX_OBJECTS, Encode, Scenario, Video
from .physics import profile_of
from .work import check_objects

if TYPE_CHECKING:
    from dstcc_svc import Manifest
    from numpy.typing import NDArray


NOT_EMULATED: Any = {
    "scenario": {"description"},
    "transport": {"congestion", "scheduler", "controller"},
    "run": {"seed", "seeds", "scale"},
    "programs": True,
    "variant": True,
    "expect": True,
}
"""The keys that :func:`content_hash` leaves out."""
RECORDED = {
    "link": (
        *("name", "profile", "contacts", "source", "destination", "rate_bps", "up_rate_bps", "delay_s"),
        *(
            "loss",
            "up_loss",
            "queue_bytes",
            "up_queue_bytes",
            "outages",
            "cross_traffic",
            "flows",
            "mix",
            "subflows",
        ),
    ),
    "loss": ("packet", "ber", "gilbert_elliott", "ebn0_db", "code"),
    "scenario": ("scenario", "video", "link", "transport", "coding", "playout", "run"),
    "transport": (
        *("mode", "handshake", "lanes_per_link", "mss_bytes", "initial_cwnd", "receive_buffer_bytes"),
        *("fixed_cwnd_segments", "open_loop_bps", "layer_links", "ltp_green_from_layer", "ltp_retry_limit"),
    ),
}
"""Keys that the first hashes hold, given or not; policy files have the hashes of their training scenarios. A key that
came later counts where it is given: a scenario without it keeps its hash."""
KEPT_SOURCES = 16
"""The most that :class:`Sources` holds at a time: of the largest mission each has some 500 MB."""
ENCODING = 2
"""Counts up where the same clip and settings come to give other bytes: the cache keys streams by it, too."""
NOT_PHYSICS: Any = {"name", "file", "summary", "references", "notes"}
"""The keys of a profile that :func:`content_hash` leaves out."""


@dataclass(frozen=True)
class Columns:
    """A source in integers. Trials share the arrays, and nothing writes into them."""

    chunk: NDArray[np.int64]
    """Here and below an entry per chunk and layer, in sending order."""
    layer: NDArray[np.int64]
    payload_bytes: NDArray[np.int64]
    captured_ns: NDArray[np.int64]
    """When the chunk's last frame is captured."""
    chunk_ns: NDArray[np.int64]
    """An entry per chunk: how long it is shown."""
    capture_ns: NDArray[np.int64]
    """Likewise: when its last frame is captured."""

    def __post_init__(self) -> None:
        """Make the shared arrays read-only."""
        for one in fields(self):
            getattr(self, one.name).flags.writeable = False


@dataclass(frozen=True)
class Source:
    """A mission's chunks in order."""

    start_s: Float64Array
    """When the first frame of each chunk is captured."""
    end_s: Float64Array
    """When its last frame is captured."""
    layer_bytes: NDArray[np.int64]
    """Payload by chunk and layer; at least 1, as an empty layer must be signalled too."""
    stream: Path | None = None
    """The stream directory it comes from; ``None`` for a synthetic source."""
    name: str = "synthetic"
    """Name for people: that of the video file that it was made from."""
    payloads: tuple[Path, ...] = ()
    """The files of the stream, by chunk and layer; those of a looped one once."""
    _objects: tuple[tuple[bool, int | None], Objects] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(self.start_s)

    @property
    def layers(self) -> int:
        """Number of layers of a chunk."""
        return int(self.layer_bytes.shape[1])

    @cached_property
    def columns(self) -> Columns:
        """The chunks in the engine's integers, an entry per chunk and layer; computed once for all seeds."""
        captured = np.round(self.end_s * NS_PER_S).astype(np.int64)
        return Columns(
            chunk=np.repeat(np.arange(self.chunks, dtype=np.int64), self.layers),
            layer=np.tile(np.arange(self.layers, dtype=np.int64), self.chunks),
            payload_bytes=np.ascontiguousarray(self.layer_bytes.ravel()),
            captured_ns=np.repeat(captured, self.layers),
            chunk_ns=np.round((self.end_s - self.start_s) * NS_PER_S).astype(np.int64),
            capture_ns=captured,
        )

    def objects(self, live: bool, delay_ns: int | None) -> Objects:
        """What the engine sends: from when it is captured on or all from time 0 on, due so long after that or never.

        Those made last are kept, for trials that differ in something else.
        """
        key = live, delay_ns
        kept = self._objects
        if kept is None or kept[0] != key:
            columns, captured_ns = self.columns, self.columns.captured_ns
            due_ns = np.full_like(captured_ns, NEVER_NS) if delay_ns is None else captured_ns + delay_ns
            release_ns = captured_ns if live else np.zeros_like(captured_ns)
            kept = key, Objects(columns.chunk, columns.layer, columns.payload_bytes, release_ns, due_ns)
            object.__setattr__(self, "_objects", kept)
        return kept[1]


def load_source(scenario: Scenario) -> Source:
    """The source of a scenario; a looped video repeats chunk ``i % n`` of its n chunks as chunk ``i``.

    Raises :class:`ScenarioError` when the mission has too many chunks or an algorithm needs more layers, and
    :class:`StreamError` naming the file when a payload differs from the stream's manifest.
    """
    return _checked(_read_source(scenario), scenario)


class Sources:
    """The sources of many scenarios; those of the same video and length share one, which is read once."""

    def __init__(self) -> None:
        self._read: dict[str, Source] = {}

    def of(self, scenario: Scenario) -> Source:
        """As :func:`load_source`."""
        same = f"{scenario.video.model_dump_json()} {scenario.scenario.duration_s}"
        if same not in self._read:
            if len(self._read) >= KEPT_SOURCES:
                self._read.clear()
            self._read[same] = _read_source(scenario)
        return _checked(self._read[same], scenario)


def _checked(source: Source, scenario: Scenario) -> Source:
    """The source, if the scenario's algorithms can do with its layers."""
    varied = [(f"variant {name}: ", one) for name, one in scenario.varied().items()]
    for whose, one in [("", scenario), *varied]:
        problem = one.misfit(layers=source.layers)
        if problem is not None:
            raise ScenarioError(f"{scenario.scenario.name}: {whose}{problem[0]}: {problem[1]}")
    return source


def _read_source(scenario: Scenario) -> Source:
    video = scenario.video
    if video.synthetic is not None:
        mission_s = video.loop_to_s or scenario.scenario.duration_s or 0.0
        return _synthetic(
            scenario.scenario.name, video.synthetic.chunk_s, video.synthetic.layer_bps, mission_s
        )
    from dstcc_svc import verify

    if video.stream is not None:
        return _of_stream(
            scenario.scenario.name, verify(Path(video.stream)), Path(video.stream), video.loop_to_s
        )
    return _of_stream(scenario.scenario.name, *_encoded_input(video), video.loop_to_s)


def _encoded_input(video: Video) -> tuple[Manifest, Path]:
    """The stream of ``[video] input``, encoded unless the cache holds it undamaged.

    The cache ($DSTCC_CACHE, else ~/.cache/dstcc) is keyed by the file's content, the settings and :data:`ENCODING`.
    A stream whose own source is gone is encoded again, since lost chunks are judged by that. The encoder
    measures no quality, since quality is measured after a trial.
    """
    from dstcc_svc import encode, verify

    clip, settings = Path(video.input or ""), video.encode or Encode()
    content = _file_hash(clip)
    options = json.dumps(settings.model_dump(), sort_keys=True)
    key = hashlib.sha256(f"{ENCODING}{content}{options}".encode())
    folder = cache_folder() / "streams" / key.hexdigest()[:32]
    try:
        manifest = verify(folder)
    except StreamError:  # not encoded yet, or damaged since
        manifest = None
    if manifest is None or not _holds(manifest.source_path, clip, content):
        shutil.rmtree(folder, ignore_errors=True)  # no other program uses such a name
        with written():
            encode(clip, folder, **settings.model_dump(), quality=False, force=True)
        manifest = verify(folder)
    return manifest, folder


def _holds(path: Path, clip: Path, content: str) -> bool:
    """Whether ``path`` is the clip, or another file with its ``content`` (a hash)."""
    return path.is_file() and (path.samefile(clip) or _file_hash(path) == content)


def content_hash(scenario: Scenario) -> str:
    """SHA-256 of the emulated mission; runs with the same hash can be compared.

    It leaves out the algorithms, the seeds, the scale (runs record it beside the hash), the bounds and the description;
    a stream, an input, a profile or a contact plan counts by its content, not by its path.
    """
    return _hash(_emulated(scenario))


def any_delay_hash(scenario: Scenario) -> str | None:
    """As :func:`content_hash` without ``playout.delay_rtts``: runs with the same one differ in that key at most.

    ``None`` where the playout delay is not in round trips, or not a deadline's.
    """
    if scenario.playout.mode != "deadline" or scenario.playout.delay_s is not None:
        return None
    document = _emulated(scenario)
    document["playout"].pop("delay_rtts")
    return _hash(document)


def _emulated(scenario: Scenario) -> dict[str, Any]:
    """The keys that decide what a trial of a given algorithm and seed does."""
    document: dict[str, Any] = scenario.model_dump(mode="json", exclude=NOT_EMULATED)
    _forget_later(document)
    if scenario.transport.handshake:
        document["transport"].pop("handshake")
    if scenario.coding is None:
        document.pop("coding")
    for link, keys in zip(scenario.link, document["link"], strict=True):
        if link.up_rate_bps == AS_DOWN and link.profile is None and link.contacts is None:
            keys["up_rate_bps"] = None  # the same mission, said or assumed
        if link.profile is not None:
            keys["profile"] = profile_of(link.profile).model_dump(mode="json", exclude=NOT_PHYSICS)
        if link.contacts is not None:
            keys["contacts"] = _file_hash(Path(link.contacts))
    if scenario.coding is not None and is_rates_file(scenario.coding.repair):
        document["coding"]["repair"] = _file_hash(Path(str(scenario.coding.repair)))
    video = scenario.video
    if video.stream is not None:
        document["video"]["stream"] = manifest_hash(Path(video.stream))
    if video.input is not None:
        document["video"]["input"] = _file_hash(Path(video.input))
    return document


def _forget_later(document: dict[str, Any]) -> None:
    """Take out what the scenario does not use of the keys that are not in :data:`RECORDED`."""
    losses = [link[way] for link in document["link"] for way in ("loss", "up_loss") if link[way]]
    of_kind = {
        "scenario": [document],
        "transport": [document["transport"]],
        "link": document["link"],
        "loss": losses,
    }
    for kind, tables in of_kind.items():
        for table in tables:
            for key in [key for key, value in table.items() if key not in RECORDED[kind] and not value]:
                del table[key]


def _hash(document: dict[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def manifest_hash(stream: Path) -> str:
    """SHA-256 of a stream's manifest, which holds the hash of every payload: the stream's identity."""
    return _file_hash(stream / "manifest.json")


def _file_hash(path: Path) -> str:
    return file_sha256(path, ScenarioError)


def _synthetic(scenario: str, chunk_s: float, layer_bps: tuple[float, ...], mission_s: float) -> Source:
    chunks = mission_s / chunk_s  # may be too many for an array
    _check_size(scenario, chunks, len(layer_bps), "video.synthetic.chunk_s", chunk_s)
    chunks = max(1, ceil(chunks))  # a quotient may be too small for a float
    row = np.maximum(1, np.round(np.array(layer_bps) * chunk_s / 8)).astype(np.int64)
    start = np.arange(chunks, dtype=np.float64) * chunk_s
    return Source(start, start + chunk_s, np.tile(row, (chunks, 1)))


def _of_stream(scenario: str, manifest: Manifest, stream: Path, loop_to_s: float | None) -> Source:
    first_s = manifest.chunks[0].start_s
    once_start: Float64Array = np.array([chunk.start_s - first_s for chunk in manifest.chunks])
    once_end: Float64Array = np.array([chunk.end_s - first_s for chunk in manifest.chunks])
    sizes = [[layer.bytes for layer in chunk.layers] for chunk in manifest.chunks]
    once_bytes = np.maximum(1, np.array(sizes, dtype=np.int64))
    name = Path(manifest.source.path).name
    files = tuple((stream / layer.file).resolve() for chunk in manifest.chunks for layer in chunk.layers)
    if loop_to_s is None:
        return Source(once_start, once_end, once_bytes, stream, name, files)
    length_s = float(once_end[-1])
    rounds = max(1, ceil(loop_to_s / length_s))
    _check_size(scenario, rounds * len(once_start), once_bytes.shape[1], "video.loop_to_s", loop_to_s)
    shift = np.repeat(np.arange(rounds) * length_s, len(once_start))
    start: Float64Array = np.tile(once_start, rounds) + shift
    end: Float64Array = np.tile(once_end, rounds) + shift
    keep = int(np.searchsorted(start, loop_to_s, side="left"))
    return Source(start[:keep], end[:keep], np.tile(once_bytes, (rounds, 1))[:keep], stream, name, files)


def _check_size(scenario: str, chunks: float, layers: int, key: str, value: float) -> None:
    """Raise :class:`ScenarioError` if the value of ``key`` makes too many chunks."""
    if chunks * layers > MAX_OBJECTS:
        raise ScenarioError(
            f"{scenario}: {key} = {value:g}: {chunks:,.0f} chunks × {layers} layers are more than {MAX_OBJECTS:,}"
        )
    check_objects(chunks, layers, key)
