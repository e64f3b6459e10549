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
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64Array = NDArray[np.int64]

S_NS = 1_000_000_000


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


@dataclass(frozen=True)
class Requests:
    """What a client asked for, chunk by chunk."""

    asked_ns: Int64Array
    bitrates_bps: Int64Array
    stall_ns: int
    """How long the picture stood after it began."""


@dataclass(frozen=True)
class Session:
    """What came of it."""

    requests: Requests
    download_ns: Int64Array
    """From the request to the last byte."""
    repetitions: int


def ask(client: Client, download_ns: Int64Array, sizes_bytes: Int64Array) -> Requests:
    """What a client asks for, given how long each chunk would take, of the sizes that were supposed.

    Where it asks for another size than was supposed, the time is taken to be in proportion; only a guess, which the
    next repetition replaces.
    """
    asked, chosen = 0, client.bitrates_bps[0]
    asked_ns: list[int] = []
    bitrates: list[int] = []
    rates: list[float] = []
    stall, plays_until = 0, -1
    for index in range(client.chunks):
        asked_ns.append(asked)
        bitrates.append(chosen)
        size = _bytes(chosen, client)
        span = round(int(download_ns[index]) * size / int(sizes_bytes[index]))
        came = asked + span
        if plays_until < 0:
            plays_until = came
        elif came > plays_until:
            stall += came - plays_until
            plays_until = came
        plays_until += client.chunk_ns
        asked = max(came, plays_until + client.chunk_ns - client.buffer_ns)
        rates.append(8 * size / (span / S_NS))
        seen = rates[-client.history :]
        rate = len(seen) / sum(1 / one for one in seen)
        chosen = max((one for one in client.bitrates_bps if one <= rate), default=client.bitrates_bps[0])
    return Requests(np.array(asked_ns, np.int64), np.array(bitrates, np.int64), stall)


def play(client: Client, carried: Callable[[Int64Array, Int64Array], Int64Array]) -> Session:
    """Find what the client asks for. ``carried`` simulates: of request times and sizes in bytes the times at which the
    chunks were whole."""
    sizes = np.full(client.chunks, _bytes(client.bitrates_bps[0], client), np.int64)
    asked = np.arange(client.chunks, dtype=np.int64) * client.chunk_ns
    before = -1
    for repetition in range(1, 2 * client.chunks + 2):
        spans = carried(asked, sizes) - asked
        requests, wanted, first = _differ(client, asked, sizes, spans)
        if first == client.chunks:
            return Session(requests, spans, repetition)
        if first == before:
            spans[:first] = carried(asked[:first], sizes[:first]) - asked[:first]
            requests, wanted, _ = _differ(client, asked, sizes, spans)
        before = first
        asked, sizes = requests.asked_ns, wanted
    raise RuntimeError("a client's requests did not settle: what is asked for later changed what came before")


def _differ(
    client: Client, asked: Int64Array, sizes: Int64Array, spans: Int64Array
) -> tuple[Requests, Int64Array, int]:
    """What a client asks for given these download times, the sizes in bytes, and the first chunk that differs."""
    requests = ask(client, spans, sizes)
    wanted = np.array([_bytes(one, client) for one in requests.bitrates_bps.tolist()], np.int64)
    differ = (requests.asked_ns != asked) | (wanted != sizes)
    return requests, wanted, int(differ.argmax()) if differ.any() else client.chunks


def _bytes(bitrate_bps: int, client: Client) -> int:
    return round(bitrate_bps * client.chunk_ns / S_NS / 8)


def mean(values: NDArray[Any], start: int, stop: int) -> float:
    """Of chunks ``start`` to ``stop``."""
    return float(np.mean(values[start:stop]))
