"""A trial's rows of the chunk and sample tables, as numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

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
LINK_COLUMNS = ("link", "t_s", "open", "ebn0_db", "sun_earth_probe_deg")
NODE_COLUMNS = ("t_s", "node", "held_bytes", "dropped_packets", "lost_in_restarts_packets")
HOP_COLUMNS = ("t_s", "link", "sent_packets", "up_sent_packets")
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

    def links(self, trial: Trial) -> Columns:
        """A row per link and moment of the trial's seed, :data:`LINK_COLUMNS`; missing values are NaN."""
        key = (trial.run.path, "links", str(trial.seed))
        if key not in self._read:
            rows = trial.run.links()
            rows = rows.filter(pc.equal(rows["seed"], pa.scalar(trial.seed)))
            self._read[key] = {name: _numbers(rows[name]) for name in LINK_COLUMNS}
        return self._read[key]

    def nodes(self, trial: Trial) -> Columns:
        """A row per node and slot, :data:`NODE_COLUMNS`; none of a run without nodes."""
        return self._of_network(trial, "nodes", NODE_COLUMNS)

    def hops(self, trial: Trial) -> Columns:
        """A row per link between nodes and slot, :data:`HOP_COLUMNS`, likewise."""
        return self._of_network(trial, "hops", HOP_COLUMNS)

    def _of_network(self, trial: Trial, name: str, columns: tuple[str, ...]) -> Columns:
        key = (trial.run.path, name, trial.id)
        if key not in self._read:
            rows = trial.run.nodes() if name == "nodes" else trial.run.hops()
            rows = rows.filter(pc.equal(rows["trial"], pa.scalar(trial.id)))
            self._read[key] = {column: _numbers(rows[column]) for column in columns}
        return self._read[key]

    def _columns(self, trial: Trial, name: str, columns: tuple[str, ...]) -> Columns:
        key = (trial.run.path, name, trial.id)
        if key not in self._read:
            rows = trial.run.rows(name, trial.id, columns)
            self._read[key] = {column: _numbers(rows[column]) for column in columns}
        return self._read[key]


def _numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    values: NDArray[Any] = column.combine_chunks().to_numpy(zero_copy_only=False)
    return values
