"""Loss states over time as CSV, for other tools.

A physical link has a row a step (weather, Eb/N0, error rates, outages); a link with bursts has a row a change of state.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from dstcc.atomic import atomic_write
from dstcc.errors import InputError

from .mark import EXPORT, comments, marked
from .timeline import Timeline

MAX_SLOTS = 100_000_000
"""Slots of the longest trace of bursts: 20 minutes at 1 Gb/s."""


def write_trace(
    line: Timeline, path: Path, meta: dict[str, Any], seed: int, packet_bytes: int, *, force: bool = False
) -> None:
    """Write the loss states of a timeline; ``meta`` heads the file as comments, ``force`` replaces an existing
    export."""
    text = io.StringIO()
    text.writelines(f"{line}\n" for line in comments(marked(meta)))
    writer = csv.writer(text, lineterminator="\n")
    if line.bursts is None:
        writer.writerow(
            ["t_s", "state", "weather", "ebn0_db", "scintillation_index", "frame_error_rate", "packet_loss"]
        )
        writer.writerows(_by_step(line))
    else:
        writer.writerow(["t_s", "state", "packet_loss"])
        writer.writerows(_by_burst(line, float(meta["duration_s"]), seed, packet_bytes))
    atomic_write(path, text.getvalue(), replaces=EXPORT if force else None)


def _by_step(line: Timeline) -> list[list[Any]]:
    states = np.where(line.usable, "open", "out")
    sky = line.weather or [""] * len(line.t_s)
    figures = (line.ebn0_db, line.scintillation_index, line.frame_error_rate, line.packet_loss)
    return [
        [f"{t_s:.10g}", state, weather, *("" if np.isnan(value) else f"{value:.6g}" for value in values)]
        for t_s, state, weather, *values in zip(line.t_s, states, sky, *figures, strict=True)
    ]


def _by_burst(line: Timeline, duration_s: float, seed: int, packet_bytes: int) -> list[list[Any]]:
    """A row where the state changes; a slot is a packet's time on the link."""
    assert line.bursts is not None
    slot_s = 8 * packet_bytes / line.rate_bps
    slots = int(duration_s / slot_s)
    if slots > MAX_SLOTS:
        raise InputError(f"duration_s = {duration_s:g}: more than {MAX_SLOTS} packets; ask for less")
    bad = line.bursts.bad_slots(slots, seed)
    changes = np.flatnonzero(np.diff(bad)) + 1
    return [
        [
            f"{slot * slot_s:.10g}",
            "bad" if bad[slot] else "good",
            line.bursts.bad if bad[slot] else line.bursts.good,
        ]
        for slot in np.append([0], changes)
    ]
