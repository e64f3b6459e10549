"""A checkpoint is whole, or refused by name, or the one before it is used."""

from __future__ import annotations

import errno
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from dstcc.errors import RunError
from dstcc.learn.training.checkpoint import load_checkpoint, save_checkpoint
from dstcc.train import train

ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array([True, False]),
    "c": np.zeros((0, 4)),
}


@pytest.fixture
def folder(tmp_path):
    for generation in (1, 2, 30):
        save_checkpoint(
            tmp_path, generation, {**ARRAYS, "g": np.array([generation])}, {"generation": generation}
        )
    return tmp_path


def _generation(folder):
    arrays, document, wrong = load_checkpoint(folder)
    assert arrays["g"][0] == document["generation"]
    return document["generation"], wrong


def test_it_comes_back_as_it_was_and_the_last_two_are_kept(folder):
    assert _generation(folder) == (30, [])
    arrays, _, _ = load_checkpoint(folder)
    for name, values in ARRAYS.items():
        assert (
            arrays[name].dtype == values.dtype
            and arrays[name].shape == values.shape
            and (arrays[name] == values).all()
        )
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"checkpoint-{g}.{kind}" for g in (2, 30) for kind in ("json", "safetensors")]


def _truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def _foreign(path):
    path.write_bytes(pickle.dumps({"no": "thanks"}))


def _retell(path):
    whole = json.loads(path.read_text())
    whole["document"]["generation"] = 31
    path.write_text(json.dumps(whole))


def _later(path):
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 2}))


DAMAGE = [
    (_truncate, "safetensors"),
    (_flip, "safetensors"),
    (_foreign, "safetensors"),
    (lambda path: path.unlink(), "safetensors"),
    (_truncate, "json"),
    (_foreign, "json"),
    (_retell, "json"),
    (_later, "json"),
    (lambda path: path.write_text("[]"), "json"),
]


@pytest.mark.parametrize(("damage", "kind"), DAMAGE)
def test_the_generation_before_stands_in_for_a_damaged_one(folder, damage, kind):
    damage(folder / f"checkpoint-30.{kind}")
    generation, wrong = _generation(folder)
    assert generation == 2
    assert len(wrong) == 1 and f"checkpoint-30.{kind}" in wrong[0]


def test_with_none_left_each_is_named(folder):
    for generation in (2, 30):
        _flip(folder / f"checkpoint-{generation}.safetensors")
    with pytest.raises(RunError, match=r"checkpoint-30.*checkpoint-2\b"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["nothing", "."])
def test_a_folder_without_one_is_refused(tmp_path, name):
    with pytest.raises(RunError, match="no checkpoint"):
        load_checkpoint(tmp_path / name)


def test_half_a_generation_is_none(folder):
    (folder / "checkpoint-40.safetensors").write_bytes(b"what a killed process leaves")
    assert _generation(folder) == (30, [])
    save_checkpoint(folder, 50, {"g": np.array([50])}, {"generation": 50})
    assert not (folder / "checkpoint-40.safetensors").exists()


def test_a_full_disk_is_an_error_of_the_system_and_leaves_the_older_ones(folder, monkeypatch):
    """safetensors' own writing makes another error of it, and another hidden file."""

    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(folder.iterdir())
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError) as caught:
        save_checkpoint(folder, 31, ARRAYS, {"generation": 31})
    assert caught.value.errno == errno.ENOSPC
    assert sorted(folder.iterdir()) == before


def test_what_names_no_file_is_said_of_the_run(tmp_path, monkeypatch):
    """TensorBoard's curves, where the disk is full."""

    def broken(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dstcc.learn.training.loop.train", broken)
    with pytest.raises(OSError) as caught:
        train(tmp_path / "s.toml", tmp_path / "run", algorithm="iodst-q")
    assert caught.value.filename == str(tmp_path / "run")
