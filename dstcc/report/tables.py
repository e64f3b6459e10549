"""A trial's rows of the chunk and sample tables, as numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

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
    """Reads each trial's rows once, however many figures need them."""

    _read: dict[tuple[Path, str, str], Columns] = field(default_factory=dict)

    def chunks(self, trial: Trial) -> Columns:
        """A row per chunk and layer, :data:`CHUNK_COLUMNS`; missing times are NaN."""
        return self._columns(trial, "chunks", CHUNK_COLUMNS)

    def samples(self, trial: Trial) -> Columns:
        """A row per subflow and slot, :data:`SAMPLE_COLUMNS`; missing RTTs are NaN."""
        return self._columns(trial, "samples", SAMPLE_COLUMNS)

    def _columns(self, trial: Trial, name: str, columns: tuple[str, ...]) -> Columns:
        key = (trial.run.path, name, trial.id)
        if key not in self._read:
            rows = trial.run.rows(name, trial.id, columns)
            self._read[key] = {
                column: rows[column].combine_chunks().to_numpy(zero_copy_only=False) for column in columns
            }
        return self._read[key]
