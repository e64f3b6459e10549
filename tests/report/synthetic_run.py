"""Builds run directories that look like real ones, without the simulator.

The numbers are a cartoon of the physics (a backlog where the window is small, a round trip more for every
loss), but the tables agree with each other: what ``chunks`` says was in time is what ``trials`` counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MSS_BYTES = 1460
UNBOUNDED = 1 << 40
"""The window that the engine reports for a sender without one."""
ALGORITHMS: dict[str, float] = {"cubic": 0.08, "newreno": 0.05, "bbr-scaled": 0.93, "westwood": 0.55}
"""Congestion control → share of the links' rate its windows reach once grown."""


@dataclass(frozen=True)
class RunSpec:
    """What to build; the defaults are a quick two-link mission of ten minutes of video."""

    name: str = "mars-two-links"
    congestion: tuple[str, ...] = tuple(ALGORITHMS)
    scheduler: str = "minrtt"
    mode: str = "stream"
    seeds: tuple[int, ...] = (1, 2, 3)
    chunks: int = 600
    layer_bps: tuple[float, ...] = (90_000.0, 60_000.0, 60_000.0)
    delay_rtts: float = 2.5
    sha: str = "5f0c" * 16
    any_delay_sha: str | None = None
    scale: float = 30.0
    stalling: bool = False
    quality: bool = False
    failures: dict[str, str] = field(default_factory=dict)
    """Trial id → error of a trial that failed."""
    controllers: tuple[dict[str, Any], ...] = ()
    """What ``run.json`` says of each; a name in ``congestion`` that is one of theirs is that controller."""
    footings: tuple[dict[str, Any], ...] = ()
    """``algorithms`` of ``run.json``."""


@dataclass(frozen=True)
class DrawnLink:
    name: str
    rate_bps: float
    rtt_s: float
    loss: float


MADE: dict[str, dict[str, bytes]] = {}
"""The files of each spec that was built in this process."""


def build_run(path: Path, spec: RunSpec | None = None) -> Path:
    """Write a run directory at ``path`` and return it."""
    key = repr(spec := spec or RunSpec())
    path.mkdir(parents=True)
    if key not in MADE:
        _build(path, spec)
        MADE[key] = {file.name: file.read_bytes() for file in path.iterdir()}
    else:
        for name, content in MADE[key].items():
            (path / name).write_bytes(content)
    return path


def _build(path: Path, spec: RunSpec) -> None:
    trials: list[dict[str, Any]] = []
    chunks: list[pa.Table] = []
    samples: list[pa.Table] = []
    for congestion in spec.congestion:
        for seed in spec.seeds:
            scheduler = "none" if congestion == "ltp" else spec.scheduler
            trial_id = f"{congestion}+{scheduler}/s{seed}"
            links = draw_links(seed)
            row = trial_row(trial_id, congestion, seed, links) | {"scheduler": scheduler}
            if congestion in [about["name"] for about in spec.controllers]:
                trial_id = f"{congestion}/s{seed}"
                agent = {"congestion": "agent", "scheduler": "agent", "controller": congestion}
                row |= {"id": trial_id, **agent}
            if trial_id in spec.failures:
                row |= {"status": "failed", "error": spec.failures[trial_id]}
            else:
                table, metrics = chunk_table(spec, trial_id, ALGORITHMS.get(congestion, 0.4), links, seed)
                chunks.append(table)
                samples.append(sample_table(spec, trial_id, ALGORITHMS.get(congestion, 0.4), links, seed))
                row |= metrics
            trials.append(row)
    schema = trials_schema(len(spec.layer_bps))
    pq.write_table(pa.Table.from_pylist(trials, schema=schema), path / "trials.parquet")
    pq.write_table(
        pa.concat_tables(chunks) if chunks else empty_table(CHUNK_COLUMNS), path / "chunks.parquet"
    )
    pq.write_table(
        pa.concat_tables(samples) if samples else empty_table(SAMPLE_COLUMNS), path / "samples.parquet"
    )
    (path / "scenario.toml").write_text(scenario_toml(spec))
    (path / "run.json").write_text(json.dumps(run_document(spec, len(trials)), indent=2))


METRICS = (
    *("playback_ratio", "full_quality_ratio", "weighted_layers", "bytes_in_time", "full_quality_bytes"),
    *("hol_blocking_ratio", "hol_wait_s"),
    *(
        "throughput_bps",
        "goodput_bps",
        "completion_s",
        "guard_actions",
        "startup_s",
        "stall_s",
        "stalls",
        "retransmitted_ratio",
    ),
    *(
        "sent_bytes",
        "delivered_bytes",
        "mean_rtt_s",
        "p95_queue_s",
        "fairness_jain",
        "own_share",
        "flows_bps",
        "psnr_db",
        "ssim",
        "vmaf",
        "oracle_ratio",
    ),
)
CHUNK_COLUMNS = {
    "trial": pa.string(),
    "chunk": pa.int32(),
    "layer": pa.int8(),
    "capture_s": pa.float64(),
    "release_s": pa.float64(),
    "deadline_s": pa.float64(),
    "bytes": pa.int64(),
    "first_sent_s": pa.float64(),
    "first_arrival_s": pa.float64(),
    "complete_s": pa.float64(),
    "sent_bytes": pa.int64(),
    "delivered_bytes": pa.int64(),
    "subflow": pa.int8(),
    "retransmissions": pa.int32(),
    "given_up": pa.bool_(),
    "played_level": pa.int8(),
}
SAMPLE_COLUMNS = {
    "trial": pa.string(),
    "t_s": pa.float64(),
    "subflow": pa.int8(),
    "link": pa.string(),
    "cwnd_segments": pa.int64(),
    "inflight_segments": pa.int64(),
    "srtt_s": pa.float64(),
    "min_rtt_s": pa.float64(),
    "sent_segments": pa.int64(),
    "lost_segments": pa.int64(),
    "retransmitted_segments": pa.int64(),
    "loss": pa.float64(),
    "rate_bps": pa.float64(),
    "queue_bytes": pa.int64(),
    "pacing_bps": pa.float64(),
}


def trials_schema(layers: int) -> pa.Schema:
    words = (
        "id",
        "congestion",
        "scheduler",
        "controller",
        "variant",
        "status",
        "error",
        "links",
        "flows",
        "contacts",
    )
    levels = [f"layers_played.{level}" for level in ("none", *range(layers))]
    numbers = (*levels, *METRICS, "end_s", "duration_s")
    fields = [pa.field(name, pa.string()) for name in words]
    return pa.schema(
        [*fields, pa.field("seed", pa.int64()), *(pa.field(name, pa.float64()) for name in numbers)]
    )


def empty_table(columns: dict[str, pa.DataType]) -> pa.Table:
    return pa.table({name: pa.array([], kind) for name, kind in columns.items()})


def typed_table(columns: dict[str, pa.DataType], values: dict[str, Any]) -> pa.Table:
    return pa.table(
        {name: pa.array(values[name], type=kind, from_pandas=True) for name, kind in columns.items()}
    )


def draw_links(seed: int) -> list[DrawnLink]:
    draw = np.random.default_rng(seed)
    return [
        DrawnLink("x-band", 115_200.0, float(draw.uniform(510, 1200)), float(10 ** draw.uniform(-4, -2))),
        DrawnLink("ka-band", 240_000.0, float(draw.uniform(600, 2400)), float(10 ** draw.uniform(-5, -3))),
    ]


def trial_row(trial_id: str, congestion: str, seed: int, links: list[DrawnLink]) -> dict[str, Any]:
    drawn = [
        {
            "name": link.name,
            "rate_bps": link.rate_bps,
            "delay_s": link.rtt_s / 2,
            "rtt_s": link.rtt_s,
            "loss": {"packet": link.loss},
        }
        for link in links
    ]
    return {
        "id": trial_id,
        "congestion": congestion,
        "scheduler": "minrtt",
        "controller": None,
        "seed": seed,
        "status": "ok",
        "error": None,
        "links": json.dumps(drawn),
        "end_s": None,
        "duration_s": None,
    }


def chunk_table(
    spec: RunSpec, trial_id: str, utilisation: float, links: list[DrawnLink], seed: int
) -> tuple[pa.Table, dict[str, Any]]:
    """The trial's chunks, and the metrics that follow from them."""
    draw = np.random.default_rng([seed, round(utilisation * 1000)])
    layers = len(spec.layer_bps)
    chunk = np.repeat(np.arange(spec.chunks), layers)
    layer = np.tile(np.arange(layers), spec.chunks)
    capture = chunk + 1.0
    deadline = capture + spec.delay_rtts * max(link.rtt_s for link in links)
    size = np.maximum(1, np.array(spec.layer_bps)[layer] / 8 * draw.uniform(0.7, 1.3, chunk.size)).astype(int)
    subflow = (layer + chunk) % len(links)
    rtt = np.array([link.rtt_s for link in links])[subflow]
    loss = np.array([link.loss for link in links])[subflow]
    reached = np.minimum(
        1.0, utilisation * (0.25 + 0.75 * np.minimum(1.0, (chunk + 1) / (spec.chunks * 0.4)))
    )
    wanted = sum(spec.layer_bps) / sum(link.rate_bps for link in links)
    backlog = np.maximum(
        0.0, np.cumsum(np.repeat(np.maximum(0.0, wanted - reached[::layers]), layers)) / layers
    )
    sent = capture + backlog * 1.6
    repeats = draw.geometric(np.power(1 - loss, size / MSS_BYTES * 3)) - 1
    complete = sent + rtt * (0.5 + repeats) + draw.exponential(8.0, chunk.size)
    given_up = sent + rtt / 2 > deadline + rtt
    complete[given_up] = np.nan
    in_time = np.nan_to_num(complete, nan=np.inf) <= deadline
    prefix = np.cumprod(in_time.reshape(-1, layers), axis=1).sum(axis=1) - 1
    sent_bytes = np.where(given_up, 0, size * (1 + repeats))
    values = {
        "trial": [trial_id] * chunk.size,
        "chunk": chunk,
        "layer": layer,
        "capture_s": capture,
        "release_s": capture,
        "deadline_s": deadline,
        "bytes": size,
        "first_sent_s": np.where(given_up, np.nan, sent),
        "first_arrival_s": np.where(given_up, np.nan, sent + rtt / 2),
        "complete_s": complete,
        "sent_bytes": sent_bytes,
        "delivered_bytes": np.where(np.isnan(complete), 0, size),
        "subflow": np.where(given_up, -1, subflow),
        "retransmissions": repeats,
        "given_up": given_up,
        "played_level": np.repeat(prefix, layers),
    }
    shares = {"none": float(np.mean(prefix == -1))} | {
        str(level): float(np.mean(prefix == level)) for level in range(layers)
    }
    weights = 100.0 * (layers - np.arange(layers))
    weighted = float((weights[layer] * (layer <= np.repeat(prefix, layers))).sum() / weights[layer].sum())
    finished = not given_up.any()
    span = float(np.nanmax(complete, initial=1.0) - 1.0)
    metrics: dict[str, Any] = {
        **{f"layers_played.{key}": share for key, share in shares.items()},
        "playback_ratio": 1.0 - shares["none"],
        "full_quality_ratio": shares[str(layers - 1)],
        "weighted_layers": weighted,
        "bytes_in_time": float((size * (layer <= np.repeat(prefix, layers))).sum()),
        "full_quality_bytes": float((size * (np.repeat(prefix, layers) == layers - 1)).sum()),
        "hol_blocking_ratio": float(np.mean(repeats > 0)) * 0.6,
        "hol_wait_s": float(np.mean(repeats * rtt)),
        "throughput_bps": float(values["delivered_bytes"].sum() * 8 / max(span, 1.0)),
        "goodput_bps": float((size * in_time).sum() * 8 / max(span, 1.0)),
        "completion_s": span if finished else None,
        "startup_s": float(rtt.max()) if spec.stalling else None,
        "stall_s": 120.0 / (0.1 + utilisation) if spec.stalling else None,
        "stalls": 4.0 if spec.stalling else None,
        "retransmitted_ratio": float((size * repeats).sum() / max(1, sent_bytes.sum())),
        "sent_bytes": float(sent_bytes.sum()),
        "delivered_bytes": float(values["delivered_bytes"].sum()),
        "mean_rtt_s": float(rtt.mean() * 1.03),
        "p95_queue_s": 4.0 + 30.0 * utilisation,
        "psnr_db": 24.0 + 16.0 * weighted if spec.quality else None,
        "ssim": 0.6 + 0.38 * weighted if spec.quality else None,
        "vmaf": None,
        "oracle_ratio": min(1.0, weighted / 0.995),
        "end_s": span + 1.0,
        "duration_s": span + 1.0,
    }
    return typed_table(CHUNK_COLUMNS, values), metrics


def sample_table(
    spec: RunSpec, trial_id: str, utilisation: float, links: list[DrawnLink], seed: int
) -> pa.Table:
    draw = np.random.default_rng([seed, 77, round(utilisation * 1000)])
    tables = []
    paced = trial_id.startswith("open-loop")
    end = spec.chunks + 2.0 * max(link.rtt_s for link in links)
    for index, link in enumerate(links):
        t = np.arange(link.rtt_s / 4, end, max(link.rtt_s / 4, end / 1500))
        bdp = link.rate_bps * link.rtt_s / 8 / (MSS_BYTES + 40)
        grown = np.minimum(1.0, 10 * 2 ** (t / link.rtt_s) / bdp)
        saw = 1.0 - 0.3 * ((t / link.rtt_s / 3) % 1.0 < 0.3) if utilisation < 0.9 else 1.0
        cwnd = np.maximum(2, bdp * np.minimum(grown, utilisation) * saw * draw.uniform(0.97, 1.03, t.size))
        rate = np.minimum(link.rate_bps, cwnd * MSS_BYTES * 8 / link.rtt_s) * draw.uniform(0.9, 1.0, t.size)
        srtt = link.rtt_s * (1 + 0.05 * utilisation * draw.uniform(0, 1, t.size))
        srtt[t < link.rtt_s] = np.nan
        sent = np.round(rate * np.gradient(t) / 8 / MSS_BYTES).astype(int)
        lost = draw.binomial(sent, link.loss)
        tables.append(
            typed_table(
                SAMPLE_COLUMNS,
                {
                    "trial": [trial_id] * t.size,
                    "t_s": t,
                    "subflow": np.full(t.size, index),
                    "link": [link.name] * t.size,
                    "cwnd_segments": np.full(t.size, UNBOUNDED) if paced else np.round(cwnd).astype(int),
                    "inflight_segments": np.round(cwnd * 0.95).astype(int),
                    "srtt_s": srtt,
                    "min_rtt_s": np.where(np.isnan(srtt), np.nan, link.rtt_s),
                    "sent_segments": sent,
                    "lost_segments": lost,
                    "retransmitted_segments": lost,
                    "loss": lost / np.maximum(1, sent),
                    "rate_bps": np.where(t < link.rtt_s, 0.0, rate),
                    "queue_bytes": np.full(t.size, 4096),
                    "pacing_bps": np.zeros(t.size),
                },
            )
        )
    return pa.concat_tables(tables)


def scenario_toml(spec: RunSpec) -> str:
    playout = 'mode = "stall"' if spec.stalling else f'mode = "deadline"\ndelay_rtts = {spec.delay_rtts}'
    return f"""[scenario]
name = {json.dumps(spec.name)}
description = "The main paper's table 1, drawn anew for every seed."

[video]
synthetic = {{ chunk_s = 1.0, layer_bps = {list(spec.layer_bps)} }}
loop_to_s = {float(spec.chunks)}

[[link]]
name = "x-band"
rate_bps = 115200.0
delay_s = {{ uniform = [255.0, 600.0] }}
loss = {{ packet = {{ log_uniform = [1e-4, 1e-2] }} }}

[[link]]
name = "ka-band"
rate_bps = 240000.0
delay_s = {{ uniform = [300.0, 1200.0] }}
loss = {{ packet = {{ log_uniform = [1e-5, 1e-3] }} }}

[transport]
mode = "{spec.mode}"
mss_bytes = {MSS_BYTES}

[playout]
{playout}

[run]
seed = {spec.seeds[0] if spec.seeds else 1}
seeds = {len(spec.seeds)}
"""


def run_document(spec: RunSpec, trials: int) -> dict[str, Any]:
    argv = ["dstcc", "emulate", "examples/mars table1.toml", "-o", "build/run"]
    for congestion in spec.congestion:
        argv += ["--congestion", congestion]
    return {
        "schema": 1,
        "dstcc_version": "0.1.0",
        "git_commit": "63c98a5e4b1f",
        "argv": [*argv, "--seeds", str(len(spec.seeds))],
        "created": "2026-11-21T00:00:00Z",
        "scenario_name": spec.name,
        "scenario_sha256": spec.sha,
        "any_delay_sha256": spec.any_delay_sha,
        "video": {"name": "synthetic", "manifest_sha256": None},
        "backend": "simulator",
        "scale": spec.scale,
        "seeds": list(spec.seeds),
        "machine": {"system": "Linux", "machine": "x86_64", "python": "3.11.7", "cpus": 2},
        "wall_s": 2.31,
        "links": [
            {"name": "x-band", "rate_bps": 115200.0, "rtt_s": {"uniform": [510.0, 1200.0]}, "loss": 0.01},
            {"name": "ka-band", "rate_bps": 240000.0, "rtt_s": {"uniform": [600.0, 2400.0]}, "loss": 0.001},
        ],
        "trials": trials,
        "controllers": list(spec.controllers),
        **({"algorithms": list(spec.footings)} if spec.footings else {}),
        "warnings": [],
    }
