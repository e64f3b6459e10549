"""A trial's rows of the chunk and sample tables, as numpy arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dstcc.errors import RunError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from dstcc.run import Run

    from .model import Trial

    Columns = dict[str, NDArray[Any]]

CHUNK_COLUMNS = (
    "chunk",
    "layer",
    "capture_s",
    "deadline_s",
    "bytes",
    "first_sent_s",
    "complete_s",
    "played_level",
)
SAMPLE_COLUMNS = ("t_s", "subflow", "link", "cwnd_segments", "srtt_s", "rate_bps")


@dataclass
class Tables:
    """Reads each run's tables once, however many figures need them."""

    _loaded: dict[tuple[Path, str], pa.Table] = field(default_factory=dict)

    def chunks(self, trial: Trial) -> Columns:
        """A row per chunk and layer, :data:`CHUNK_COLUMNS`; missing times are NaN."""
        return self._columns(trial, "chunks", CHUNK_COLUMNS, trial.run.chunks)

    def samples(self, trial: Trial) -> Columns:
        """A row per subflow and slot, :data:`SAMPLE_COLUMNS`; missing RTTs are NaN."""
        return self._columns(trial, "samples", SAMPLE_COLUMNS, trial.run.samples)

    def _columns(self, trial: Trial, name: str, columns: tuple[str, ...], read: Callable[[], Any]) -> Columns:
        table = self._table(trial.run, name, columns, read)
        rows = trial.rows(table)
        return {column: rows[column].combine_chunks().to_numpy(zero_copy_only=False) for column in columns}

    def _table(self, run: Run, name: str, columns: tuple[str, ...], read: Callable[[], Any]) -> pa.Table:
        key = (run.path, name)
        if key not in self._loaded:
            table = read()
            missing = [column for column in ("trial", *columns) if column not in table.column_names]
            if missing:
                raise RunError(f"{run.path / f'{name}.parquet'}: lacks the column {missing[0]!r}")
            self._loaded[key] = table.select(["trial", *columns])
        return self._loaded[key]
