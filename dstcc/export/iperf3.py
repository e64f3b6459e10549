"""A trial as the JSON of ``iperf3 --json`` at the sender, which many scripts and plotters read.

An interval a slot, a stream a subflow (``socket`` is its number). ``bytes`` is what was acknowledged in the interval;
``sum_received`` is what Earth had in the end. Times are seconds of mission time, ``rtt`` is the
smoothed one in microseconds, ``snd_cwnd`` bytes. What a trial has no equal of (CPU, ``rttvar``, ``pmtu``) is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dstcc.run import Run
from dstcc.run.logs import stem
from dstcc.version import __version__

MSS_BYTES = 1460
COLUMNS = ("t_s", "subflow", "cwnd_segments", "srtt_s", "retransmitted_segments", "rate_bps")


def write(run: Run, trials: Sequence[str], folder: Path) -> Iterator[list[str]]:
    """Write ``TRIAL.json`` for each trial."""
    for trial in trials:
        name = f"{stem(trial)}.json"
        text = json.dumps(document(run, trial), indent="\t", ensure_ascii=False)
        (folder / name).write_text(text + "\n", encoding="utf-8")
        yield [name]


def document(run: Run, trial: str) -> dict[str, Any]:
    """The JSON document of one trial."""
    samples = run.rows("samples", trial, COLUMNS).to_pydict()
    received = sum(run.rows("chunks", trial, ("delivered_bytes",))["delivered_bytes"].to_pylist())
    row, mss = run.trial(trial), run.scenario.get("transport", {}).get("mss_bytes", MSS_BYTES)
    streams = sorted(set(samples["subflow"]))
    intervals = _intervals(samples, mss)
    end_s = intervals[-1]["sum"]["end"] if intervals else 0.0
    return {
        "start": {
            "connected": [
                {"socket": stream, "remote_host": "earth", "remote_port": 5201} for stream in streams
            ],
            "version": f"dstcc {__version__}",
            "system_info": f"{run.meta['scenario_name']}, {trial}, backend {run.meta['backend']}",
            "connecting_to": {"host": "earth", "port": 5201},
            "tcp_mss_default": mss,
            "test_start": {
                "protocol": "TCP",
                "num_streams": len(streams),
                "omit": 0,
                "duration": end_s,
                "reverse": 0,
            },
        },
        "intervals": intervals,
        "end": {
            "streams": [{"sender": _whole(intervals, stream)} for stream in streams],
            "sum_sent": _sum([_whole(intervals, stream) for stream in streams], 0.0, end_s),
            "sum_received": {
                "start": 0.0,
                "end": end_s,
                "seconds": end_s,
                "bytes": received,
                "bits_per_second": received * 8 / end_s if end_s else 0.0,
                "sender": True,
            },
            "sender_tcp_congestion": row["congestion"],
        },
    }


def _intervals(samples: dict[str, list[Any]], mss: int) -> list[dict[str, Any]]:
    intervals: list[dict[str, Any]] = []
    slots: dict[float, list[tuple[Any, ...]]] = {}
    for end, *row in zip(*(samples[name] for name in COLUMNS), strict=True):
        slots.setdefault(end, []).append(tuple(row))
    begin = 0.0
    for end, rows in slots.items():
        streams = []
        for subflow, cwnd, srtt, again, rate in rows:
            streams.append(
                {
                    "socket": subflow,
                    "start": begin,
                    "end": end,
                    "seconds": end - begin,
                    "bytes": round(rate * (end - begin) / 8),
                    "bits_per_second": rate,
                    "retransmits": again,
                    "snd_cwnd": cwnd * mss,
                    "rtt": 0 if srtt is None or np.isnan(srtt) else round(srtt * 1e6),
                    "omitted": False,
                    "sender": True,
                }
            )
        intervals.append({"streams": streams, "sum": _sum(streams, begin, end)})
        begin = end
    return intervals


def _whole(intervals: list[dict[str, Any]], stream: int) -> dict[str, Any]:
    """A stream over the whole transfer."""
    mine = [one for interval in intervals for one in interval["streams"] if one["socket"] == stream]
    rtts = [one["rtt"] for one in mine if one["rtt"]]
    return {
        "socket": stream,
        **_sum(mine, 0.0, mine[-1]["end"]),
        "max_snd_cwnd": max(one["snd_cwnd"] for one in mine),
        "max_rtt": max(rtts, default=0),
        "min_rtt": min(rtts, default=0),
        "mean_rtt": round(sum(rtts) / len(rtts)) if rtts else 0,
    }


def _sum(streams: Sequence[dict[str, Any]], begin: float, end: float) -> dict[str, Any]:
    total = sum(one["bytes"] for one in streams)
    return {
        "start": begin,
        "end": end,
        "seconds": end - begin,
        "bytes": total,
        "bits_per_second": total * 8 / (end - begin) if end > begin else 0.0,
        "retransmits": sum(one["retransmits"] for one in streams),
        "omitted": False,
        "sender": True,
    }
