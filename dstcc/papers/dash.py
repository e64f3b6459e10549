"""A DASH client: it asks for one chunk after the other, at a bit rate that it chooses, and plays from its buffer.

The client and the network wait for each other: when a chunk is asked for follows from when the one before came, and
when a chunk comes follows from what was asked for. A simulated trial has its layers' release times beforehand. So the
client's requests are found by repetition: simulate with supposed requests, work out what the client would have asked
for given the download times seen, and suppose that. Where a repetition finds no further request, that one was supposed
too early and disturbs the chunk before it; the next repetition is then without it. In the end no chunk is asked for
before the one before is there, so nothing that is asked for later can have changed what came before, and all requests
are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import BoolArray, Int64Array

S_NS = 1_000_000_000
AHEAD = 8
"""So many chunks at least are simulated beyond those that are settled."""


@dataclass(frozen=True)
class Client:
    """How a client asks and plays. The paper that this is for (Lee and Yoo, Sensors 2022) leaves its client's rules to
    a program; these are ours."""

    bitrates_bps: tuple[int, ...]
    """Rising."""
    chunks: int
    chunk_ns: int = S_NS
    buffer_ns: int = 10 * S_NS
    """A chunk is asked for when it fits into the buffer."""
    history: int = 5
    """The rate is taken to be the harmonic mean of so many chunks' (the rule of the model-predictive players, Yin
    et al., SIGCOMM 2015)."""
    counts_random: bool = True
    """Whether chunks that the server sent with actions at random are among those. Where all so far are such ones and
    none counts, the bit rate stays."""


@dataclass(frozen=True)
class Requests:
    """What a client asked for, chunk by chunk."""

    asked_ns: Int64Array
    bitrates_bps: Int64Array
    store_ns: Int64Array
    """What was left to play in its buffer when it asked; it tells the server."""
    stall_ns: int
    """How long the picture stood after it began."""


@dataclass(frozen=True)
class Supposed:
    """Requests as a network is given them."""

    asked_ns: Int64Array
    sizes_bytes: Int64Array
    store_ns: Int64Array

    def first(self, chunks: int) -> Supposed:
        """Those of the first chunks only."""
        return Supposed(self.asked_ns[:chunks], self.sizes_bytes[:chunks], self.store_ns[:chunks])


@dataclass(frozen=True)
class Carried:
    """What a network made of them."""

    whole_ns: Int64Array
    """When each chunk was whole."""
    random: BoolArray
    """Whether the server acted at random during a part of it."""


@dataclass(frozen=True)
class Session:
    """What came of it."""

    requests: Requests
    supposed: Supposed
    """The same as the network was given it."""
    download_ns: Int64Array
    """From the request to the last byte."""
    random: BoolArray
    """As :attr:`Carried.random`."""
    repetitions: int


def ask(
    client: Client, download_ns: Int64Array, sizes_bytes: Int64Array, random: BoolArray | None = None
) -> Requests:
    """What a client asks for, given how long each chunk would take, of the sizes that were supposed, and of which the
    server acted at ``random`` (of none unless given).

    Where it asks for another size than was supposed, the time is taken to be in proportion; only a guess, which the
    next repetition replaces.
    """
    asked, chosen = 0, client.bitrates_bps[0]
    asked_ns: list[int] = []
    bitrates: list[int] = []
    stores: list[int] = []
    rates: list[float] = []
    stall, plays_until = 0, 0
    for index in range(client.chunks):
        asked_ns.append(asked)
        stores.append(max(plays_until - asked, 0))
        bitrates.append(chosen)
        size = _bytes(chosen, client)
        span = round(int(download_ns[index]) * size / int(sizes_bytes[index]))
        came = asked + span
        if came > plays_until:
            stall += came - plays_until if index else 0
            plays_until = came
        plays_until += client.chunk_ns
        asked = max(came, plays_until + client.chunk_ns - client.buffer_ns)
        if client.counts_random or random is None or not random[index]:
            rates.append(8 * size / (span / S_NS))
        if seen := rates[-client.history :]:
            rate = len(seen) / sum(1 / one for one in seen)
            chosen = max((one for one in client.bitrates_bps if one <= rate), default=client.bitrates_bps[0])
    times, rates_bps, store = (np.array(column, np.int64) for column in (asked_ns, bitrates, stores))
    return Requests(times, rates_bps, store, stall)


def play(client: Client, carry: Callable[[Supposed], Carried]) -> Session:
    """Find what the client asks for. ``carry`` simulates: of supposed requests when the chunks were whole.

    Of requests that are not settled yet a simulation has a few only, twice as many as the one before settled: guesses
    that are far off teach nothing. The last one has all.
    """
    sizes = np.full(client.chunks, _bytes(client.bitrates_bps[0], client), np.int64)
    asked = np.arange(client.chunks, dtype=np.int64) * client.chunk_ns
    supposed = Supposed(asked, sizes, np.zeros_like(asked))
    spans, random = np.full_like(asked, client.chunk_ns), np.zeros(client.chunks, dtype=np.bool_)
    before, settled, stop = -1, 0, min(AHEAD, client.chunks)
    for repetition in range(1, 2 * client.chunks + 2):
        _take(carry, supposed, stop, spans, random)
        requests, wanted, first = _differ(client, supposed, spans, random)
        if first == stop == client.chunks:
            return Session(requests, supposed, spans, random, repetition)
        if first == before:
            _take(carry, supposed, first, spans, random)
            _, wanted, _ = _differ(client, supposed, spans, random)
        before = first if first < stop else -1
        gained, settled = min(first, stop) - settled, min(first, stop)
        supposed, stop = wanted, min(settled + max(2 * gained, AHEAD), client.chunks)
    raise RuntimeError("a client's requests did not settle: what is asked for later changed what came before")


def _take(
    carry: Callable[[Supposed], Carried], supposed: Supposed, stop: int, spans: Int64Array, random: BoolArray
) -> None:
    """Put in what comes of the requests up to ``stop``."""
    carried = carry(supposed.first(stop))
    spans[:stop], random[:stop] = carried.whole_ns - supposed.asked_ns[:stop], carried.random


def _differ(
    client: Client, supposed: Supposed, spans: Int64Array, random: BoolArray
) -> tuple[Requests, Supposed, int]:
    """What a client asks for given these download times, twice, and the first chunk that differs from what was
    supposed."""
    requests = ask(client, spans, supposed.sizes_bytes, random)
    sizes = np.array([_bytes(one, client) for one in requests.bitrates_bps.tolist()], np.int64)
    wanted = Supposed(requests.asked_ns, sizes, requests.store_ns)
    pairs = (
        (wanted.asked_ns, supposed.asked_ns),
        (wanted.sizes_bytes, supposed.sizes_bytes),
        (wanted.store_ns, supposed.store_ns),
    )
    differ = np.logical_or.reduce([one != other for one, other in pairs])
    return requests, wanted, int(differ.argmax()) if differ.any() else client.chunks


def _bytes(bitrate_bps: int, client: Client) -> int:
    return round(bitrate_bps * client.chunk_ns / S_NS / 8)


def mean(values: NDArray[Any], start: int, stop: int) -> float:
    """Of chunks ``start`` to ``stop``."""
    return float(np.mean(values[start:stop]))
