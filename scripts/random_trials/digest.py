"""A result as one digest a part, and the parts in which two differ."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from dstcc.engine import EngineResult

PARTS = ("objects", "samples", "totals", "cost", "flows", "trace", "coding", "nodes", "values", "bound")
COST = ("events", "run_packets", "engine_peak_bytes", "reorder_peak_bytes")


class Digest:
    """Eight bytes of SHA-256 over whatever is put in, with names and types."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def put(self, name: str, value: Any) -> None:
        """Take a value in under its name."""
        self._hash.update(name.encode())
        if isinstance(value, np.ndarray):
            self._hash.update(f"{value.dtype} {value.shape}".encode())
            self._hash.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, float):
            self._hash.update(value.hex().encode())
        else:
            self._hash.update(repr(value).encode())

    def put_all(self, values: Iterable[tuple[str, Any]]) -> None:
        """Take pairs of names and values in."""
        for name, value in values:
            self.put(name, value)

    def text(self) -> str:
        """As it is written down."""
        return self._hash.hexdigest()[:16]


def digests(result: EngineResult) -> dict[str, str]:
    """The parts of a result that the engine itself answers."""
    parts = {part: Digest() for part in PARTS[:8]}
    parts["objects"].put_all(vars(result.objects).items())
    parts["objects"].put("end_ns", result.end_ns)
    parts["samples"].put_all(vars(result.samples).items())
    for name, value in sorted(vars(result.totals).items()):
        parts["cost" if name in COST else "totals"].put(name, value)
    for flow in result.flows:
        parts["flows"].put_all(vars(flow).items())
    for table in (result.trace, result.steps):
        parts["trace"].put_all([] if table is None else vars(table).items())
    parts["coding"].put_all([] if result.coding is None else vars(result.coding).items())
    for each in (*result.nodes, *result.hops):
        parts["nodes"].put_all(vars(each).items())
    return {part: digest.text() for part, digest in parts.items()}


def differing(old: dict[str, str], new: dict[str, str], ignored: Iterable[str] = ()) -> list[str]:
    """The parts in which two results differ, or that one of them lacks."""
    return [part for part in PARTS if part not in ignored and old.get(part) != new.get(part)]
