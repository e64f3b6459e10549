"""A link as netem parameters: delay, rate and loss over time, as rows or as ``tc`` commands.

netem loses packets by its Gilbert-Elliott chain (``loss gemodel p r 1-h 1-k``, tc-netem(8)); a link whose packets share
code frames is given the chain that has the same loss and the same probability of two in a row::

    bad: lost,  good: kept;   r from the timeline,   p = r loss / (1 - loss)

At scale S an emulated second stands for S mission seconds: delays and times are S times shorter, the rate is S times
higher, and the bytes in flight stay the same. Links to a planet need a scale, since ``tc`` takes delays up to 274 s.

Source: tc-netem(8), and S. Salsano et al., "Definition of a general and intuitive loss model for packet networks and
its implementation in the Netem module in the Linux kernel" (2012).
"""

from __future__ import annotations

import csv
import io
import json
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from dstcc.atomic import atomic_write
from dstcc.errors import InputError

from .data import nearest
from .mark import EXPORT, comments, marked
from .timeline import Timeline

FORMATS = (".csv", ".json", ".sh")
QUEUE_ROOM = 1.5
"""netem's limit also counts packets in flight: a delay's worth at full rate, and half as many in the queue."""
MAX_SCALE = 1e6
"""Brings a round trip of hours down to milliseconds."""
LEAST_LIMIT = 1000
"""netem's default."""
TC_DELAY_S = 274.0
"""The most that ``tc`` takes: a 32-bit count of 64 ns (the kernel itself takes 64 bits of nanoseconds by netlink)."""


def netem_rows(line: Timeline, packet_bytes: int, scale: float = 1.0) -> list[dict[str, float]]:
    """One row of netem parameters per step: seconds, milliseconds, bit/s, percent, packets; emulated at ``scale``.

    Raises :class:`InputError` for a scale below 1 or above :data:`MAX_SCALE`.
    """
    if not 1 <= scale <= MAX_SCALE:
        raise InputError(
            f"scale = {scale:g}: must be between 1 and {MAX_SCALE:g}, mission seconds per emulated second"
        )
    rows = []
    for t_s, delay_s, lost, end in zip(line.t_s, line.delay_s, line.packet_loss, line.burst_end, strict=True):
        bursts = line.bursts
        if bursts is not None and lost < 1:
            p, r, bad, good = bursts.p, bursts.r, bursts.bad, bursts.good
        else:
            p, r, bad, good = chain(float(lost), float(end))
        in_flight = delay_s * line.rate_bps / (8 * packet_bytes)
        rows.append(
            {
                "t_s": float(t_s) / scale,
                "delay_ms": round(1e3 * float(delay_s) / scale, 6),
                "rate_bps": round(line.rate_bps * scale),
                "loss_percent": 100 * float(lost),
                "gemodel_p_percent": 100 * p,
                "gemodel_r_percent": 100 * r,
                "gemodel_1_h_percent": 100 * bad,
                "gemodel_1_k_percent": 100 * good,
                "limit_packets": max(LEAST_LIMIT, round(QUEUE_ROOM * in_flight)),
            }
        )
    return rows


def write_netem(
    rows: list[dict[str, float]], path: Path, meta: dict[str, Any], *, force: bool = False
) -> None:
    """Write the rows by the file's ending: ``.csv``, ``.json``, or ``.sh`` with the ``tc`` commands.

    ``meta`` heads the file; its ``duration_s`` is in the rows' seconds. ``force`` replaces an existing export.
    Raises :class:`InputError` for another ending, and for commands that ``tc`` would refuse.
    """
    ending = netem_format(path)
    longest_s = max(row["delay_ms"] for row in rows) / 1e3
    if ending == ".sh" and longest_s > TC_DELAY_S:
        raise InputError(
            f"{path}: a delay of {longest_s:.6g} s is more than the {TC_DELAY_S:g} s that tc takes; "
            f"{ceil(longest_s / TC_DELAY_S)} times the scale makes it fit, .csv and .json take any"
        )
    render = {".csv": _csv, ".json": _json, ".sh": _shell}[ending]
    atomic_write(path, render(rows, marked(meta)), replaces=EXPORT if force else None)


def netem_format(path: Path) -> str:
    """The ending that says how a file is written. Raises :class:`InputError` for another one."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"{path}: cannot tell the format from {ending!r}; {nearest(ending, FORMATS)}")
    return ending


def chain(lost: float, end: float) -> tuple[float, float, float, float]:
    """netem's Gilbert-Elliott chain for a loss and the probability that a burst ends: p, r, and the loss in the bad and
    the good state."""
    if lost <= 0:
        return 0.0, 1.0, 1.0, 0.0
    if lost >= 1:
        # Lossy in both states: netem moves to the bad one only after its first packet.
        return 1.0, 0.0, 1.0, 1.0
    # p must be at most 1: where nearly all is lost, that bounds how often bursts end
    r = min(end, (1 - lost) / lost)
    return r * lost / (1 - lost), r, 1.0, 0.0


def _csv(rows: list[dict[str, float]], meta: dict[str, Any]) -> str:
    text = io.StringIO()
    text.writelines(f"{line}\n" for line in comments(meta))
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _json(rows: list[dict[str, float]], meta: dict[str, Any]) -> str:
    return json.dumps({**meta, "rows": rows}, indent=1) + "\n"


def _shell(rows: list[dict[str, float]], meta: dict[str, Any]) -> str:
    lines = ["#!/bin/sh", "# Shapes what leaves a device. Usage: sh FILE DEVICE"]
    lines += comments(meta)
    lines += ["set -eu", "DEVICE=${1:?give the device}", "trap 'tc qdisc del dev \"$DEVICE\" root' EXIT"]
    ends = np.append([row["t_s"] for row in rows[1:]], float(meta["duration_s"]))
    verb = "replace"
    for row, end in zip(rows, ends, strict=True):
        chain = " ".join(f"{row[f'gemodel_{key}_percent']:.7g}%" for key in ("p", "r", "1_h", "1_k"))
        lines.append(
            f'tc qdisc {verb} dev "$DEVICE" root netem limit {row["limit_packets"]:.0f} '
            f"delay {row['delay_ms']:.6f}ms rate {row['rate_bps']:.0f}bit loss gemodel {chain}"
        )
        lines.append(f"sleep {end - row['t_s']:g}")
        verb = "change"
    return "\n".join(lines) + "\n"
