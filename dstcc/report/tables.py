"""A trial's rows of the chunk and sample tables, as numpy arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from dstcc.arrays import Arrays

if TYPE_CHECKING:
    from .model import Trial

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

    _read: dict[tuple[Path, str, str], Arrays] = field(default_factory=dict)

    def chunks(self, trial: Trial) -> Arrays:
        """A row per chunk and layer, :data:`CHUNK_COLUMNS`; missing times are NaN."""
        return self._once(trial, "chunks", CHUNK_COLUMNS)

    def samples(self, trial: Trial) -> Arrays:
        """A row per subflow and slot, :data:`SAMPLE_COLUMNS`; missing RTTs are NaN."""
        return self._once(trial, "samples", SAMPLE_COLUMNS)

    def links(self, trial: Trial) -> Arrays:
        """A row per link and moment of the trial's seed, :data:`LINK_COLUMNS`; missing values are NaN."""
        return self._once(trial, "links", LINK_COLUMNS, trial.run.links, "seed")

    def nodes(self, trial: Trial) -> Arrays:
        """A row per node and slot, :data:`NODE_COLUMNS`; none of a run without nodes."""
        return self._once(trial, "nodes", NODE_COLUMNS, trial.run.nodes)

    def hops(self, trial: Trial) -> Arrays:
        """A row per link between nodes and slot, :data:`HOP_COLUMNS`, likewise."""
        return self._once(trial, "hops", HOP_COLUMNS, trial.run.hops)

    def _once(
        self,
        trial: Trial,
        name: str,
        columns: tuple[str, ...],
        read: Callable[[], pa.Table] | None = None,
        whose: str = "trial",
    ) -> Arrays:
        """A trial's rows of a table; of one that is read as a whole those with its id, or its seed, in that column."""
        of: str | int = trial.seed if whose == "seed" else trial.id
        key = (trial.run.path, name, str(of))
        if key not in self._read:
            rows = read() if read else trial.run.rows(name, trial.id, columns)
            if read:
                rows = rows.filter(pc.equal(rows[whose], pa.scalar(of)))
            found = {column: rows[column].combine_chunks() for column in columns}
            self._read[key] = {column: each.to_numpy(zero_copy_only=False) for column, each in found.items()}
        return self._read[key]
