"""Checkpoints: a state of training that is whole or not there, and of which the one before is kept.

A generation g is two files: ``checkpoint-g.safetensors`` holds the arrays, ``checkpoint-g.json`` the rest, with the
SHA-256 of the arrays' file and of itself. Each is written aside, flushed and renamed, the JSON last: without it there
is no generation. Nothing read here can run code; safetensors and JSON hold data only.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.atomic import atomic_write
from dstcc.errors import RunError
from dstcc.reading import json_sha256, read_bytes, read_json

if TYPE_CHECKING:
    from dstcc.arrays import Arrays

SCHEMA = 1
KEPT = 2
"""Generations: the newest, and the one before in case the newest is damaged."""
MOST_JSON, MOST_ARRAYS = 1 << 30, 1 << 36
"""Bytes of a checkpoint's two files: replay buffers have gigabytes."""
NAME = re.compile(r"checkpoint-(\d{1,15})\.json")
HALF = re.compile(r"checkpoint-\d{1,15}\.(json|safetensors)")
"""Either file of a generation; what else somebody put beside them stays."""


def save_checkpoint(folder: Path, generation: int, arrays: Arrays, document: dict[str, Any]) -> None:
    """Write a generation, then remove all but the newest :data:`KEPT`.

    ``document`` is what JSON can hold. Raises :class:`OSError` when the disk is full; the older ones then stay.
    """
    from safetensors.numpy import save

    # Not save_file(): it writes a hidden file of its own, which stays where the process is killed, and says of a full
    # disk what is no OSError.
    data = save(_contiguous(arrays))
    digest = hashlib.sha256(data).hexdigest()
    atomic_write(_json(folder, generation).with_suffix(".safetensors"), data)
    whole = {"schema": SCHEMA, "generation": generation, "arrays_sha256": digest, "document": document}
    atomic_write(_json(folder, generation), json.dumps({**whole, "sha256": json_sha256(whole)}, indent=1))
    keep = {f"checkpoint-{g}" for g in _generations(folder)[:KEPT]}
    for old in folder.glob("checkpoint-*"):
        if HALF.fullmatch(old.name) and old.stem not in keep:
            old.unlink(missing_ok=True)


def load_checkpoint(folder: Path) -> tuple[Arrays, dict[str, Any], list[str]]:
    """The newest generation that is intact: its arrays, its document, and what was wrong with newer ones.

    Raises :class:`~dstcc.errors.RunError` when there is none, naming what is wrong with each.
    """
    wrong: list[str] = []
    for generation in _generations(folder):
        try:
            arrays, document = _load(_json(folder, generation))
        except RunError as error:
            wrong.append(str(error))
        else:
            return arrays, document, wrong
    raise RunError("; ".join(wrong) or f"{folder}: holds no checkpoint of dstcc train")


def _load(path: Path) -> tuple[Arrays, dict[str, Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        whole = read_json(path, RunError, MOST_JSON)
        digest, schema = whole.pop("sha256"), whole["schema"]
        arrays_sha256, document = whole["arrays_sha256"], whole["document"]
    except (OSError, TypeError, KeyError, AttributeError) as error:
        raise RunError(f"{path}: no checkpoint, or a damaged one ({error!r})") from error
    if schema != SCHEMA:
        raise RunError(f"{path}: schema {schema!r}, this version reads {SCHEMA}")
    if digest != json_sha256(whole):
        raise RunError(f"{path}: damaged, its checksum does not match")
    arrays_path = path.with_suffix(".safetensors")
    try:
        data = read_bytes(arrays_path, RunError, MOST_ARRAYS)
        if hashlib.sha256(data).hexdigest() != arrays_sha256:
            raise RunError(f"{arrays_path}: damaged, its checksum does not match")
        return load(data), document
    except (OSError, SafetensorError) as error:
        raise RunError(f"{arrays_path}: cannot be read ({error})") from error


def _generations(folder: Path) -> list[int]:
    """Those with a JSON file, newest first."""
    matches = (NAME.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted((int(match[1]) for match in matches if match), reverse=True)


def _json(folder: Path, generation: int) -> Path:
    return folder / f"checkpoint-{generation}.json"


def _contiguous(arrays: Arrays) -> Arrays:
    import numpy as np

    return {name: np.asarray(values, order="C") for name, values in arrays.items()}
