"""Whether the tables of a run are whole and agree with each other: what somebody edited, or mixed up, is no run.

Each check raises :class:`RunError` naming the table, the trial and the rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.errors import RunError
from dstcc.metrics import LEVELS

from .trials import TrialKey

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

CHUNK_KEYS = ("chunk", "layer", "played_level")
SAMPLE_KEYS = ("subflow", "t_s", "link")
"""Columns that the checks of a trial's rows need."""


def check_trials(path: Path, rows: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> None:
    """The trials are those of ``run.json``, each of them once and under its own name."""
    twice = [name for name, count in Counter(row["id"] for row in rows).items() if count > 1]
    if twice:
        raise RunError(
            f"{path}: trial {twice[0]!r} is there {_times(rows, twice[0])} times, must be there once"
        )
    count, seeds = meta.get("trials"), meta.get("seeds")
    if count is not None and count != len(rows):
        raise RunError(f"{path}: trials: {len(rows)}, but run.json says {count}")
    known = {one["name"] for one in meta.get("algorithms") or ()}
    for row in rows:
        key = TrialKey(row["congestion"], row["scheduler"], row["seed"], row["controller"], row["variant"])
        if row["id"] != key.id:
            raise RunError(f"{path}: trial {row['id']!r} must be named {key.id!r} after its other columns")
        if seeds is not None and key.seed not in seeds:
            raise RunError(f"{path}: trial {key.id!r}: run.json has no seed {key.seed}")
        if known and key.name not in known:
            raise RunError(f"{path}: trial {key.id!r}: run.json has no algorithm {key.name!r}")


def check_counts(path: Path, counts: Mapping[str, int]) -> None:
    """All trials have as many chunks and layers as each other, for they send the same video."""
    if len(set(counts.values())) > 1:
        few, many = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
        raise RunError(
            f"{path}: trial {few!r} has {counts[few]} rows and {many!r} {counts[many]}, must have equally many"
        )


def check_chunks(path: Path, trial: str, rows: pa.Table, row: Mapping[str, Any] | None) -> None:
    """A row for every chunk and layer, and the levels that the trial's row of ``trials.parquet`` counts."""
    chunk, layer, level = (_numbers(rows, name) for name in CHUNK_KEYS)
    order = np.lexsort((layer, chunk))
    chunk, layer, level = chunk[order], layer[order], level[order]
    first = np.append(True, np.diff(chunk) != 0)
    follows = np.where(first, layer == 0, layer == np.append(0, layer[:-1]) + 1)
    if not follows.all() or not np.array_equal(chunk[first], np.arange(int(first.sum()))):
        raise RunError(f"{path}: trial {trial!r} has no row, or two, of a chunk's layer")
    played = level[first]
    if not np.array_equal(level, played[chunk]):
        raise RunError(f"{path}: trial {trial!r} has two played levels of a chunk")
    for wanted, name in enumerate(LEVELS, -1):
        found, share = float(np.mean(played == wanted)), (row or {}).get(name)
        if share is not None and not isclose(found, share, abs_tol=1e-9):
            raise RunError(
                f"{path}: trial {trial!r} has {name} {found:.4g}, but trials.parquet says {share:.4g}: not of one run"
            )


def check_samples(path: Path, trial: str, rows: pa.Table) -> None:
    """Each subflow's samples in the order of time, each once."""
    check_order(path, rows, ("subflow",), f"trial {trial!r}, ", twice=False)


def check_links(path: Path, rows: pa.Table, meta: Mapping[str, Any]) -> None:
    """The links are those of ``run.json``."""
    known = {link.get("name") for key in ("links", "hops") for link in meta.get(key) or ()}
    strange = [name for name in rows["link"].unique().to_pylist() if name not in known]
    if known and strange:
        raise RunError(f"{path}: run.json has no link {strange[0]!r}")


def check_order(
    path: Path, rows: pa.Table, whose: Sequence[str], before: str = "", *, twice: bool = True
) -> None:
    """The samples with the same values of the columns ``whose`` in the order of time, two at once if ``twice``."""
    group = np.zeros(rows.num_rows, dtype=np.int64)
    for name in whose:
        _, value = np.unique(_numbers(rows, name), return_inverse=True)
        group = np.unique(np.stack([group, value]), axis=1, return_inverse=True)[1].ravel()
    order = np.argsort(group, kind="stable")
    later = np.diff(_numbers(rows, "t_s")[order])
    back = ((later < 0) if twice else (later <= 0)) & (np.diff(group[order]) == 0)
    if back.any():
        at = int(order[1:][back][0])
        who = ", ".join(f"{name} {rows[name][at].as_py()}" for name in whose)
        raise RunError(
            f"{path}: {before}{who}: t_s = {rows['t_s'][at].as_py():g} does not come after the sample before"
        )


def _times(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(row["id"] == name for row in rows)


def _numbers(rows: pa.Table, name: str) -> NDArray[Any]:
    values: NDArray[Any] = rows[name].combine_chunks().to_numpy(zero_copy_only=False)
    return values
