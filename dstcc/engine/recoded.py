"""Layers that are coded anew when a sender restarts (:mod:`dstcc.engine.restarts`): its blocks, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Int64Array

from .config import Coding, CodingResults


def coding_of(coding: Coding | None, rows: Int64Array, asked: Int64Array) -> Coding | None:
    """Of these objects alone; periods are numbered without gaps. Of each object: when it is on Earth, if the sender
    asks for it, or else -1."""
    if coding is None or not len(coding.period):
        return coding
    there_ns = asked[rows]
    asks = np.flatnonzero(there_ns >= 0)
    return replace(
        coding,
        period=np.unique(coding.period[rows], return_inverse=True)[1],
        asked=tuple(asks.tolist()),
        there_ns=tuple(there_ns[asks].tolist()),
    )


def joined_coding(
    connections: Sequence[tuple[Int64Array, CodingResults | None, CodingResults | None]], count: int
) -> CodingResults | None:
    """Blocks of one connection after another: what was sent of each until the restart, what of it arrived in the end.

    A connection has the rows of its objects among ``count``, and its result at the restart and in the end. An object's
    block is the last that it was in.
    """
    columns: dict[str, list[NDArray[Any]]] = {}
    block, recovered, before = np.full(count, -1), np.zeros(count, dtype=np.int64), 0
    for rows, sent, heard in connections:
        if sent is None or heard is None:
            return None
        size = len(sent.source_packets)
        arrived, decoded = heard.arrived_packets[:size], heard.decoded_ns[:size]
        there = (decoded >= 0) | (heard.whole[:size] > 0) | (arrived >= sent.source_packets)
        of_earth = {
            "arrived_packets": arrived,
            "decoded_ns": decoded,
            "whole": (sent.source_packets > 0) & there,
        }
        for name, column in (vars(sent) | of_earth).items():
            if name not in ("block", "recovered") and column is not None:
                columns.setdefault(name, []).append(column)
        block[rows] = np.where(sent.block >= 0, sent.block + before, block[rows])
        recovered[rows] |= heard.recovered
        before += size
    joined = {name: np.concatenate(parts).astype(np.int64) for name, parts in columns.items()}
    return CodingResults(**joined, block=block, recovered=recovered)
