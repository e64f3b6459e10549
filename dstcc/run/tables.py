"""The Parquet tables of a run's trials: their columns, and a trial's rows of each.

Nothing in them depends on the clock, the machine or the order in which threads finish.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dstcc.algorithms import reconstructed
from dstcc.engine import EngineResult
from dstcc.engine.config import subflow_links
from dstcc.metrics import LEVELS, METRICS, NEVER, Metrics
from dstcc.scenario import describe

from .gather import Column, TableFile, Words
from .trials import Outcome, Trial, TrialKey

NS_PER_S = 1e9

CHUNKS = pa.schema(
    [
        pa.field("trial", pa.string(), nullable=False),
        pa.field("chunk", pa.int32(), nullable=False),
        pa.field("layer", pa.int8(), nullable=False),
        pa.field("capture_s", pa.float64(), nullable=False),
        pa.field("release_s", pa.float64(), nullable=False),
        pa.field("deadline_s", pa.float64()),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("first_sent_s", pa.float64()),
        pa.field("first_arrival_s", pa.float64()),
        pa.field("complete_s", pa.float64()),
        pa.field("sent_bytes", pa.int64(), nullable=False),
        pa.field("delivered_bytes", pa.int64(), nullable=False),
        pa.field("subflow", pa.int8(), nullable=False),
        pa.field("retransmissions", pa.int32(), nullable=False),
        pa.field("given_up", pa.bool_(), nullable=False),
        pa.field("played_level", pa.int8(), nullable=False),
        pa.field("block", pa.int32(), nullable=False),
        pa.field("block_whole", pa.bool_(), nullable=False),
        pa.field("recovered", pa.bool_(), nullable=False),
        pa.field("repair_bytes", pa.int64(), nullable=False),
    ]
)
"""A row per trial, chunk and layer. ``capture_s``: when the chunk's last frame is captured; ``deadline_s``:
when Earth shows it (in ``stall`` mode the moment it was shown), null if never; ``played_level``: of the
chunk, −1 none. Of a coded trial ``block`` is the block that the layer is in (−1 in none, as in other trials),
``block_whole`` whether all of its source packets are there in the end, ``recovered`` whether the layer came back by its
block's repair packets, ``repair_bytes`` the block's payload of repair packets divided among its layers' parts."""

CODED = ("block", "block_whole", "recovered", "repair_bytes")
ALWAYS = pa.schema([column for column in CHUNKS if column.name not in CODED])
"""The columns that runs of before coding have, too."""

SAMPLES = pa.schema(
    [
        pa.field("trial", pa.string(), nullable=False),
        pa.field("t_s", pa.float64(), nullable=False),
        pa.field("subflow", pa.int8(), nullable=False),
        pa.field("link", pa.string(), nullable=False),
        pa.field("cwnd_segments", pa.int64(), nullable=False),
        pa.field("inflight_segments", pa.int64(), nullable=False),
        pa.field("srtt_s", pa.float64()),
        pa.field("min_rtt_s", pa.float64()),
        pa.field("sent_segments", pa.int64(), nullable=False),
        pa.field("lost_segments", pa.int64(), nullable=False),
        pa.field("retransmitted_segments", pa.int64(), nullable=False),
        pa.field("loss", pa.float64(), nullable=False),
        pa.field("rate_bps", pa.float64(), nullable=False),
        pa.field("queue_bytes", pa.int64(), nullable=False),
        pa.field("pacing_bps", pa.float64(), nullable=False),
    ]
)
"""A row per trial, subflow and slot; a row describes the slot that ends at ``t_s``. ``loss``: of the segments
whose fate the sender learned in the slot, acknowledged or marked lost, the share marked lost (acknowledged
payload counted in full segments); ``rate_bps``: payload acknowledged in the slot ÷ its length."""


NODES = pa.schema(
    [
        pa.field("trial", pa.string(), nullable=False),
        pa.field("t_s", pa.float64(), nullable=False),
        pa.field("node", pa.string(), nullable=False),
        pa.field("held_bytes", pa.int64(), nullable=False),
        pa.field("dropped_packets", pa.int64(), nullable=False),
        pa.field("lost_in_restarts_packets", pa.int64(), nullable=False),
    ]
)
"""A row per trial, node on the way and slot: what the node holds at the slot's end, on the wire, and what it dropped in
the slot as it had no room, or lost as it restarted. Only of scenarios with nodes, as the table below."""

HOPS = pa.schema(
    [
        pa.field("trial", pa.string(), nullable=False),
        pa.field("t_s", pa.float64(), nullable=False),
        pa.field("link", pa.string(), nullable=False),
        pa.field("sent_packets", pa.int64(), nullable=False),
        pa.field("up_sent_packets", pa.int64(), nullable=False),
    ]
)
"""A row per trial, link between nodes and slot: packets that were put on it in the slot, both ways, others' too."""

CHUNK_TIMES = ("capture_s", "release_s", "deadline_s", "first_sent_s", "first_arrival_s", "complete_s")
SAMPLE_TIMES = ("t_s", "srtt_s", "min_rtt_s")
"""Columns of times, most of them different from row to row."""
CHUNK_SMALL = ("layer", "subflow", "retransmissions", "played_level")
SAMPLE_SMALL = ("subflow", "lost_segments", "retransmitted_segments", "queue_bytes", "pacing_bps")
"""Columns of small numbers, or of one number over and over."""


def trials_schema(layers: int) -> pa.Schema:
    """The columns of ``trials.parquet`` for a video of that many layers; a row per trial."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("congestion", pa.string(), nullable=False),
            pa.field("scheduler", pa.string(), nullable=False),
            pa.field("controller", pa.string()),
            pa.field("variant", pa.string()),
            pa.field("seed", pa.int64(), nullable=False),
            pa.field("status", pa.string(), nullable=False),
            pa.field("error", pa.string()),
            *(pa.field(name, pa.float64()) for name in (*LEVELS[: layers + 1], *METRICS)),
            pa.field("links", pa.string()),
            pa.field("flows", pa.string()),
            pa.field("contacts", pa.string()),
            pa.field("end_s", pa.float64()),
            pa.field("duration_s", pa.float64()),
        ]
    )


TRIALS = pa.schema([column for column in trials_schema(0) if column.name not in METRICS])
"""The columns that the trials of every run have; one of before a metric came to be has no value of it."""
VALUES = pa.schema([pa.field(name, pa.float64()) for name in (*LEVELS, *METRICS)])
"""The metrics, of which a run has those of its time."""


def trials_table(rows: Sequence[TrialRow], layers: int) -> pa.Table:
    """``trials.parquet`` of a video of so many layers."""
    return pa.Table.from_pylist([row.values for row in rows], schema=trials_schema(layers))


@dataclass(frozen=True)
class TrialRow:
    """A trial as it is kept once its rows are written: its own row of ``trials.parquet``, and what is beside that."""

    values: dict[str, Any]
    """By column; a failed one has no metrics."""
    layers: list[dict[str, int]] = field(default_factory=list)
    """What each link carried of each layer, where the kernel was told which has which."""
    warnings: Sequence[str] = ()
    """What became known with this trial."""

    @classmethod
    def of(cls, trial: Trial, warnings: Sequence[str] = ()) -> TrialRow:
        """Of a trial that was just carried."""
        row: dict[str, Any] = {
            "id": trial.id,
            **vars(trial.key),
            "status": trial.status,
            "error": trial.error,
        }
        outcome = trial.outcome
        if outcome is None:
            return cls(row, warnings=warnings)
        row |= outcome.metrics.flat()
        row["links"] = json.dumps([describe(link, outcome.setup.length_s) for link in outcome.setup.links])
        row["flows"] = json.dumps(outcome.flows) if outcome.flows else None
        row["contacts"] = json.dumps(outcome.contacts) if outcome.contacts else None
        row["end_s"] = outcome.result.end_ns / NS_PER_S
        row["duration_s"] = _duration_s(outcome.result)
        return cls(row, outcome.layers, warnings)

    @property
    def key(self) -> TrialKey:
        """Which trial it is."""
        return TrialKey(**{name: self.values[name] for name in TrialKey.__dataclass_fields__})

    @property
    def id(self) -> str:
        """The trial's name in every table."""
        return str(self.values["id"])

    @property
    def status(self) -> str:
        """``ok`` or ``failed``."""
        return str(self.values["status"])

    @property
    def error(self) -> str | None:
        """Why it failed."""
        return None if self.values["error"] is None else str(self.values["error"])

    @property
    def metrics(self) -> Metrics | None:
        """Its metrics; ``None`` when it failed."""
        return Metrics.of(self.values) if self.status == "ok" else None

    @property
    def flows(self) -> list[dict[str, Any]]:
        """What became of the background flows."""
        return list(json.loads(self.values.get("flows") or "[]"))

    @property
    def contacts(self) -> list[dict[str, float]]:
        """What each contact delivered, where links have outages."""
        return list(json.loads(self.values.get("contacts") or "[]"))

    def document(self) -> dict[str, object]:
        """The trial as ``dstcc emulate --json`` prints it: flows, contacts and layers where there are any."""
        key, metrics = self.key, self.metrics
        few = {
            "variant": key.variant,
            "reconstruction": list(reconstructed(key.congestion, key.scheduler)),
            "error": self.error,
            "flows": self.flows,
            "contacts": self.contacts,
            "layers": self.layers,
        }
        return {
            "id": self.id,
            "congestion": key.congestion,
            "scheduler": key.scheduler,
            "controller": key.controller,
            "seed": key.seed,
            "status": self.status,
            "metrics": metrics.document() if metrics else None,
            **{name: value for name, value in few.items() if value},
        }


def rows_of(trial: Trial) -> dict[str, Sequence[Column]]:
    """A trial's rows of the other tables by columns; of one that was ended early samples alone."""
    tables: dict[str, Sequence[Column]] = {}
    if trial.outcome is not None:
        tables["chunks"] = chunk_rows(trial.id, trial.outcome)
    if (seen := trial.outcome or trial.partial) is not None:
        tables["samples"] = sample_rows(trial.id, seen)
        if seen.result.nodes:
            tables |= {"nodes": node_rows(trial.id, seen), "hops": hop_rows(trial.id, seen)}
    return tables


def table_files(folder: Path, *, nodes: bool) -> dict[str, TableFile]:
    """The tables to be written, by name; :func:`rows_of` has a trial's rows of each. ``nodes``: also those of nodes."""
    files = {
        "chunks": TableFile(
            folder / "chunks.parquet", CHUNKS, split=CHUNK_TIMES, counting=("chunk",), plain=CHUNK_SMALL
        ),
        "samples": TableFile(folder / "samples.parquet", SAMPLES, split=SAMPLE_TIMES, plain=SAMPLE_SMALL),
    }
    for name, schema in (("nodes", NODES), ("hops", HOPS)) if nodes else ():
        files[name] = TableFile(folder / f"{name}.parquet", schema)
    return files


def chunk_rows(trial_id: str, outcome: Outcome) -> list[Column]:
    """A trial's rows of ``chunks.parquet``, by columns."""
    objects, done, playback = outcome.setup.objects, outcome.result.objects, outcome.playback
    shown_ns = playback.shown_ns[objects.chunk]
    return [
        _repeat(trial_id, len(objects.chunk)),
        objects.chunk,
        objects.layer,
        outcome.setup.capture_ns[objects.chunk] / NS_PER_S,
        objects.release_ns / NS_PER_S,
        _seconds(shown_ns, shown_ns != NEVER),
        objects.payload_bytes,
        _seconds(done.first_sent_ns, done.first_sent_ns >= 0),
        _seconds(done.first_arrival_ns, done.first_arrival_ns >= 0),
        _seconds(done.complete_ns, done.complete_ns >= 0),
        done.sent_bytes,
        done.delivered_bytes,
        done.subflow,
        done.retransmissions,
        done.given_up != 0,
        playback.levels[objects.chunk],
        *_coded(outcome.result, len(objects.chunk)),
    ]


def _coded(result: EngineResult, rows: int) -> list[Column]:
    """The columns of coding; the first part of a block has what its repair bytes leave over."""
    coding = result.coding
    if coding is None:
        no, none = np.zeros(rows, dtype=np.bool_), np.zeros(rows, dtype=np.int64)
        return [none - 1, no, no, none]
    inside = np.flatnonzero(coding.block >= 0)
    block = coding.block[inside]
    parts = np.bincount(block, minlength=len(coding.repair_bytes))
    share = coding.repair_bytes // np.maximum(parts, 1)
    repair, whole = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
    repair[inside] = share[block]
    whole[inside] = coding.whole[block] != 0
    first = np.unique(block, return_index=True)[1]
    repair[inside[first]] += (coding.repair_bytes - share * parts)[block[first]]
    return [coding.block, whole, coding.recovered != 0, repair]


def sample_rows(trial_id: str, outcome: Outcome) -> list[Column]:
    """A trial's rows of ``samples.parquet``, by columns; subflows are numbered link by link."""
    samples, links = outcome.result.samples, outcome.links
    return [
        _repeat(trial_id, len(samples.t_ns)),
        samples.t_ns / NS_PER_S,
        samples.subflow,
        Words(tuple(link.name for link in links), np.array(subflow_links(links))[samples.subflow]),
        samples.cwnd_segments,
        samples.inflight_segments,
        _seconds(samples.srtt_ns, samples.srtt_ns > 0),
        _seconds(samples.min_rtt_ns, samples.srtt_ns > 0),
        samples.sent_segments,
        samples.lost_segments,
        samples.retransmitted_segments,
        _loss(outcome),
        samples.delivered_bytes * 8 / (_slot_lengths_ns(outcome) / NS_PER_S),
        samples.queue_bytes,
        samples.pacing_bps,
    ]


def node_rows(trial_id: str, outcome: Outcome) -> list[Column]:
    """A trial's rows of ``nodes.parquet``, by columns, node by node."""
    names = {hop.node.number: hop.node.name for link in outcome.links for hop in link.onward}
    nodes = outcome.result.nodes
    return [
        *_by_slot(trial_id, outcome, [names[node.number] for node in nodes]),
        np.concatenate([node.slot_held_bytes for node in nodes]),
        np.concatenate([np.diff(node.slot_dropped_packets, prepend=0) for node in nodes]),
        np.concatenate([np.diff(node.slot_lost_in_restarts_packets, prepend=0) for node in nodes]),
    ]


def hop_rows(trial_id: str, outcome: Outcome) -> list[Column]:
    """A trial's rows of ``hops.parquet``, by columns, link by link."""
    names = {hop.number: hop.line.name for link in outcome.links for hop in link.onward}
    hops = outcome.result.hops
    return [
        *_by_slot(
            trial_id,
            outcome,
            [
                names[hop.number] if hop.number >= 0 else outcome.links[hop.first_of].first_name
                for hop in hops
            ],
        ),
        np.concatenate([np.diff(hop.slot_sent_packets, prepend=0) for hop in hops]),
        np.concatenate([np.diff(hop.slot_up_sent_packets, prepend=0) for hop in hops]),
    ]


def _by_slot(trial_id: str, outcome: Outcome, names: list[str]) -> tuple[Column, Column, Column]:
    """The trial, the slot's end and the name of each row, name by name."""
    ends_s = outcome.slot_ends_ns / NS_PER_S
    count = len(ends_s)
    return (
        _repeat(trial_id, count * len(names)),
        np.tile(ends_s, len(names)),
        Words(tuple(names), np.repeat(np.arange(len(names)), count)),
    )


def _loss(outcome: Outcome) -> NDArray[np.float64]:
    """The share of lost segments in each slot; 0 where the sender learned nothing."""
    samples = outcome.result.samples
    known = samples.lost_segments + samples.delivered_bytes / outcome.setup.mss_bytes
    share: NDArray[np.float64] = samples.lost_segments / np.where(known > 0, known, 1.0)
    return share


def _slot_lengths_ns(outcome: Outcome) -> NDArray[np.int64]:
    """The length of each row's slot; the last one of a run may be cut short."""
    ends, slot = outcome.result.samples.t_ns, outcome.setup.slot_ns
    lengths: NDArray[np.int64] = np.where(ends % slot == 0, slot, np.maximum(ends % slot, 1))
    return lengths


def _duration_s(result: EngineResult) -> float | None:
    """From the first send to the last delivery; ``None`` when nothing was delivered."""
    active_s = result.totals.last_delivery_s - result.totals.first_send_s
    return float(active_s) if np.isfinite(active_s) else None


def _seconds(time_ns: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mission time; NaN, which is null in the file, where it is not known."""
    return np.where(known, time_ns / NS_PER_S, np.nan)


def _repeat(text: str, count: int) -> Words:
    return Words((text,), np.zeros(count, dtype=np.int8))
