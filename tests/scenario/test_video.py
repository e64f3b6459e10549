from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path

import dstcc_svc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dstcc.errors import ScenarioError, StreamError
from dstcc.scenario import Source, any_delay_hash, content_hash, load_scenario, load_source, parse_override
from dstcc.scenario.model import Encode


@dataclass(frozen=True)
class Layer:
    bytes: int
    file: str = "payload"


@dataclass(frozen=True)
class Chunk:
    start_s: float
    end_s: float
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class Clip:
    path: str = "../clips/a.mp4"


@dataclass(frozen=True)
class Manifest:
    chunks: tuple[Chunk, ...]
    source: Clip = Clip()
    source_path: Path = Path("a.mp4")


# Two chunks, of 1 s and of 0.5 s; the second's enhancement layer is empty.
CLIP = Manifest(
    (
        Chunk(0.0, 1.0, (Layer(10, "0.0"), Layer(20, "0.1"))),
        Chunk(1.0, 1.5, (Layer(5, "1.0"), Layer(0, "1.1"))),
    )
)


def with_source(path: Path, video: str) -> Path:
    head, tail = path.read_text().split("[video]")
    path.write_text(f"{head}[video]\n{video}\n[[link]]{tail.partition('[[link]]')[2]}")
    return path


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "stream"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")

    def verify(path: Path) -> Manifest:
        if not path.exists():
            raise StreamError(f"{path}: no such stream directory")
        return CLIP

    monkeypatch.setattr(dstcc_svc, "verify", verify)
    return folder


def source_of(path: Path, *overrides: str) -> Source:
    return load_source(load_scenario(path, [parse_override(text) for text in overrides]))


def test_synthetic_layers(minimal: Path) -> None:
    source = source_of(minimal)
    assert (source.chunks, source.layers, source.stream) == (10, 3, None)
    assert source.layer_bytes[0].tolist() == [5000, 3750, 2500]
    assert source.end_s.tolist() == list(range(1, 11))


def test_too_many_chunks_are_refused_with_their_key(minimal: Path, stream: Path) -> None:
    with pytest.raises(ScenarioError) as refused:
        source_of(minimal, "video.synthetic.chunk_s=1e-9")
    assert str(refused.value) == (
        "two links: video.synthetic.chunk_s = 1e-09: 10,000,000,000 chunks × 3 layers are more than 10,000,000"
    )
    with pytest.raises(
        ScenarioError, match=r"two links: video.loop_to_s = 1e\+07: 13,333,334 chunks × 2 layers"
    ):
        source_of(with_source(minimal, 'stream = "stream"\nloop_to_s = 1e7'))


def test_a_mission_ends_with_the_chunk_that_starts_before_its_end(minimal: Path) -> None:
    assert source_of(minimal, "video.loop_to_s=3.5").chunks == 4


def test_the_shortest_of_missions_has_a_chunk(minimal: Path, stream: Path) -> None:
    """Less than the least float of a chunk, too."""
    assert source_of(minimal, "video.loop_to_s=1e-320", "video.synthetic.chunk_s=1e5").chunks == 1
    assert source_of(with_source(minimal, 'stream = "stream"\nloop_to_s = 5e-324')).chunks == 1


def test_a_stream_once(minimal: Path, stream: Path) -> None:
    source = source_of(with_source(minimal, 'stream = "stream"'))
    assert (source.stream, source.name) == (stream, "a.mp4")
    assert source.layer_bytes.tolist() == [[10, 20], [5, 1]]
    assert source.end_s.tolist() == [1.0, 1.5]


def test_a_looped_stream_repeats_its_chunks(minimal: Path, stream: Path) -> None:
    # rounds of 1.5 s: chunks start at 0, 1 | 1.5, 2.5 | 3, 4; those before 3.2 s are five
    source = source_of(with_source(minimal, 'stream = "stream"\nloop_to_s = 3.2'))
    assert source.start_s.tolist() == [0, 1, 1.5, 2.5, 3]
    assert source.layer_bytes[:, 0].tolist() == [10, 5, 10, 5, 10]
    assert source.payloads == tuple(stream.resolve() / name for name in ("0.0", "0.1", "1.0", "1.1"))


def test_an_input_is_encoded_once_per_content_and_settings(
    minimal: Path, stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, object]] = []

    def encode(_clip: Path, folder: Path, **settings: object) -> None:
        calls.append(settings)
        folder.mkdir(parents=True)

    monkeypatch.setattr(dstcc_svc, "encode", encode, raising=False)
    monkeypatch.setattr("dstcc.scenario.video._holds", lambda _path, _clip, _content: True)
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "cache"))
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"first")
    path = with_source(minimal, 'input = "clip.mp4"')
    first = source_of(path).stream
    assert source_of(path).stream == first
    assert source_of(path, "video.encode.crf=20").stream != first
    clip.write_bytes(b"second")
    assert source_of(path).stream != first
    assert [call["crf"] for call in calls] == [None, 20, None]  # None: the codec's own default


def test_encoding_an_input_takes_the_options_of_encode_with_its_defaults() -> None:
    known = {
        name: option.default
        for name, option in signature(dstcc_svc.encode).parameters.items()
        if option.kind is Parameter.KEYWORD_ONLY and name not in ("quality", "force", "progress")
    }
    assert Encode().model_dump() == known


def test_a_damaged_stream_is_named_and_a_damaged_cache_is_mended(
    minimal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "cache"))
    clip = Path(__file__).parents[2] / "examples" / "clips" / "big-buck-bunny.mp4"
    path = with_source(minimal, f'input = "{clip}"\nencode = {{height = 64, preset = "ultrafast"}}')
    stream = source_of(path).stream
    assert stream is not None
    payload = sorted((stream / "payload").iterdir())[5]
    payload.write_bytes(payload.read_bytes()[:-1])
    with pytest.raises(StreamError, match=rf"{payload.name}: corrupt"):
        source_of(with_source(minimal, f'stream = "{stream}"'))
    source_of(with_source(minimal, f'input = "{clip}"\nencode = {{height = 64, preset = "ultrafast"}}'))
    dstcc_svc.verify(stream)


def test_a_cached_stream_follows_its_clip(
    minimal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "cache"))
    original = Path(__file__).parents[2] / "examples" / "clips" / "big-buck-bunny.mp4"
    first, second = tmp_path / "first.mp4", tmp_path / "second.mp4"
    first.write_bytes(original.read_bytes())
    second.write_bytes(original.read_bytes())

    def source_path(clip: Path) -> Path:
        encoding = 'encode = {height = 64, preset = "ultrafast"}'
        stream = source_of(with_source(minimal, f'input = "{clip}"\n{encoding}')).stream
        assert stream is not None
        return dstcc_svc.verify(stream).source_path.resolve()

    assert source_path(first) == first
    assert source_path(second) == first  # one content, one stream
    first.unlink()
    assert source_path(second) == second  # lost chunks are judged by it


def test_a_missing_input_is_named(minimal: Path, tmp_path: Path) -> None:
    path = with_source(minimal, 'input = "none.mp4"')
    with pytest.raises(ScenarioError, match=r"none\.mp4: cannot be read"):
        source_of(path)


def test_a_mission_can_be_too_long(minimal: Path) -> None:
    with pytest.raises(ScenarioError, match="1,000,000,000 chunks"):
        source_of(minimal, "video.loop_to_s=1e9")


def test_the_hash_ignores_what_is_compared_and_sees_what_is_emulated(minimal: Path) -> None:
    def hashed(*overrides: str) -> str:
        return content_hash(load_scenario(minimal, [parse_override(text) for text in overrides]))

    same = [
        "transport.congestion=bbr",
        "transport.scheduler=redundant",
        "run.seeds=9",
        "run.seed=4",
        "run.scale=7",
    ]
    assert {hashed(), *(hashed(text) for text in same)} == {hashed()}
    assert hashed("link.0.loss.packet=0.002") != hashed()


EMULATED = (
    "scenario.duration_s=900",
    "video.loop_to_s=61",
    "video.source=stored",
    "link.0.loss.packet=0.002",
    "link.0.rate_bps=90000",
    "link.0.delay_s=241",
    "link.0.queue_bytes=70000",
    "transport.mode=coded",
    "transport.mss_bytes=1000",
    "transport.initial_cwnd=4",
    "run.slot_rtts=0.5",
)
"""Overrides that each change what is emulated."""


@given(
    st.floats(0.1, 5),
    st.floats(0.1, 5),
    st.sets(st.sampled_from(EMULATED)),
    st.sets(st.sampled_from(EMULATED)),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_hash_of_any_delay_ignores_the_delay_and_nothing_else(
    minimal: Path, delay: float, other: float, keys: set[str], other_keys: set[str]
) -> None:
    def hashed(rtts: float, overrides: set[str]) -> str | None:
        texts = [f"playout.delay_rtts={rtts}", *sorted(overrides)]
        return any_delay_hash(load_scenario(minimal, [parse_override(text) for text in texts]))

    assert hashed(delay, keys) is not None
    assert (hashed(delay, keys) == hashed(other, other_keys)) == (keys == other_keys)


@pytest.mark.parametrize("override", ["playout.delay_s=900", "playout.mode=stall"])
def test_without_a_delay_in_round_trips_or_a_deadline_there_is_no_such_hash(
    minimal: Path, override: str
) -> None:
    assert any_delay_hash(load_scenario(minimal)) is not None
    assert any_delay_hash(load_scenario(minimal, [parse_override(override)])) is None


def test_the_hash_follows_a_streams_content_not_its_place(
    minimal: Path, stream: Path, tmp_path: Path
) -> None:
    path = with_source(minimal, 'stream = "stream"')
    before = content_hash(load_scenario(path))
    moved = stream.rename(tmp_path / "moved")
    assert content_hash(load_scenario(path, [parse_override(f"video.stream={moved}")])) == before
    (moved / "manifest.json").write_text('{"other": 1}')
    assert content_hash(load_scenario(path, [parse_override(f"video.stream={moved}")])) != before
