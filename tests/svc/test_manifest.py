from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dstcc_svc import load_manifest
from dstcc_svc.manifest import Document, Manifest, dump
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dstcc.errors import StreamError

Change = Callable[[dict[str, Any]], object]


def written(folder: Path, document: object) -> Path:
    (folder / "manifest.json").write_text(json.dumps(document))
    return folder


@pytest.fixture
def document(stream: Path) -> dict[str, Any]:
    return dict(json.loads((stream / "manifest.json").read_text()))


def test_a_manifest_says_what_the_interface_fixes(stream: Path) -> None:
    manifest = load_manifest(stream)
    assert (manifest.codec, manifest.scalability, manifest.layers) == ("x264", "temporal", 4)
    assert (manifest.width, manifest.height, manifest.fps) == (96, 64, pytest.approx(25))
    assert manifest.duration_s == pytest.approx(2.4)
    assert [(chunk.index, chunk.start_s, chunk.end_s, chunk.frames) for chunk in manifest.chunks] == [
        (0, 0.0, pytest.approx(1.0), 25),
        (1, pytest.approx(1.0), pytest.approx(2.0), 25),
        (2, pytest.approx(2.0), pytest.approx(2.4), 10),
    ]
    for chunk in manifest.chunks:
        for layer in chunk.layers:
            assert (stream / layer.file).stat().st_size == layer.bytes
            assert layer.depends == tuple(range(layer.layer))


def test_writing_and_reading_give_the_same(stream: Path, tmp_path: Path) -> None:
    manifest = load_manifest(stream)
    (tmp_path / "manifest.json").write_bytes((stream / "manifest.json").read_bytes())
    again = load_manifest(tmp_path)
    assert again.sha256 == manifest.sha256
    assert again.chunks == manifest.chunks
    values = {key: value for key, value in vars(manifest).items() if key not in ("path", "sha256")}
    assert dump(Document(**values)) == (stream / "manifest.json").read_text()


def test_a_stream_of_before_there_were_sizes_has_one(document: dict[str, Any], tmp_path: Path) -> None:
    assert document.pop("spatial_layers") == 1
    assert load_manifest(written(tmp_path, document)).spatial_layers == 1


def test_no_stream_directory(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="no such stream directory"):
        load_manifest(tmp_path / "nowhere")
    with pytest.raises(StreamError, match="not a stream directory"):
        load_manifest(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 0.999])
def test_a_truncated_manifest(stream: Path, tmp_path: Path, share: float) -> None:
    whole = (stream / "manifest.json").read_bytes()
    (tmp_path / "manifest.json").write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StreamError, match=r"manifest\.json: the whole file: invalid JSON"):
        load_manifest(tmp_path)


def _layer(document: dict[str, Any], chunk: int = 1, layer: int = 2) -> dict[str, Any]:
    entry: dict[str, Any] = document["chunks"][chunk]["layers"][layer]
    return entry


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema=2), "schema: input should be 1, got 2"),
        (lambda d: d.update(extra=1), "extra: unexpected keyword argument"),
        (lambda d: d.pop("codec"), "codec: field required"),
        (lambda d: d.update(width="96"), "width: input should be a valid integer, got '96'"),
        (lambda d: d.update(width=95), "width: 95 is not even"),
        (lambda d: d.update(spatial_layers=0), "spatial_layers: .* greater than or equal to 1"),
        (lambda d: d.update(spatial_layers=4), "spatial_layers: .* less than or equal to 3"),
        (lambda d: d.update(spatial_layers=2), "spatial_layers: is 2, the stream has 4 temporal layers"),
        (
            lambda d: d.update(scalability="quality", spatial_layers=3, width=92),
            "width: 92 is not a multiple of 8, 3 spatial layers",
        ),
        (lambda d: d.update(time_base="1/0"), "time_base: '1/0' is not two positive integers"),
        (lambda d: d.update(duration_s=3.0), "duration_s: 3.0 is not the end of the last chunk"),
        (lambda d: d.update(chunks=[]), r"chunks: must have at least 1 values, has 0, got \[\]"),
        (lambda d: d["chunks"].pop(1), r"chunks\.1\.index: is 2"),
        (lambda d: d["chunks"][1].update(start_s=0.5), r"chunks\.1\.start_s: 0.5 is not"),
        (
            lambda d: d["chunks"][0].update(pts=[0, 2**63]),
            r"chunks\.0\.pts\.1: .* less than 9223372036854775808",
        ),
        (lambda d: d["chunks"][1]["layers"].pop(), r"chunks\.1\.layers: has 3, the stream has 4"),
        (lambda d: d["chunks"][1].update(frames=24), r"chunks\.1\.frames: is 24"),
        (lambda d: _layer(d).update(bytes=-1), r"chunks\.1\.layers\.2\.bytes: .* greater than or equal to 0"),
        (lambda d: _layer(d).update(bytes=1), r"chunks\.1\.layers\.2\.bytes: is 1"),
        (lambda d: _layer(d).update(sha256="x"), r"chunks\.1\.layers\.2\.sha256: 'x' is not 64"),
        (lambda d: _layer(d).update(depends=[0]), r"chunks\.1\.layers\.2\.depends: \[0\] is not every"),
        (lambda d: _layer(d).update(file="../../etc/passwd"), r"chunks\.1\.layers\.2\.file: '../../etc"),
        (lambda d: _layer(d, layer=0).update(access_units=[], bytes=0), r"chunks\.1\..*frame"),
    ],
)
def test_a_broken_rule_is_named(
    document: dict[str, Any], tmp_path: Path, change: Change, message: str
) -> None:
    change(document)
    with pytest.raises(StreamError, match=message) as caught:
        load_manifest(written(tmp_path, document))
    assert str(tmp_path / "manifest.json") in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def _places(value: object) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in [(value, key), *_places(inner)]]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_gives_a_manifest_or_a_stream_error(
    stream: Path, tmp_path: Path, data: st.DataObject
) -> None:
    document = json.loads((stream / "manifest.json").read_text())
    for _ in range(data.draw(st.integers(1, 2))):
        places = _places(document)
        container, key = places[data.draw(st.integers(0, len(places) - 1))]
        if data.draw(st.booleans()):
            container[key] = data.draw(JSON)
        else:
            del container[key]
    try:
        assert isinstance(load_manifest(written(tmp_path, document)), Manifest)
    except StreamError as error:
        assert "manifest.json" in str(error)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_a_foreign_file_gives_a_stream_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(StreamError, match=r"manifest\.json"):
        load_manifest(tmp_path)
