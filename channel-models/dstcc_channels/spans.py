"""In which of a code's frames packets are: a link is one stream of bits, cut into frames wherever packets begin.

::

    one packet of L bits                n or n + 1 frames of k bits,  n = 1 + (L - 1) div k,
                                        n + 1 with probability ((L - 1) mod k) / k;  1 + (L - 1) / k on average
    two, the second D bits behind       those of either
    under fading                        the frames of one coherence time share a gain; cuts anywhere in C bits

Any bit of a frame, and any of a coherence time, is as likely to be a packet's first. The engine lays packets over
frames by the same rule (``engine/src/link/frames.hpp``). An uncoded packet has one gain; its bits err independently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dstcc.errors import InputError

Spans = tuple[tuple[tuple[int, ...], float], ...]
"""Each way to lie: how many frames of each coherence time, and its probability."""

ONE_FRAME: Spans = (((1,), 1.0),)
MOST_BYTES = 65_535
"""Of an IP packet."""


@lru_cache(maxsize=256)
def spans(
    packet_bytes: int, frame_bits: int, *, behind_bits: float = 0.0, gain_bits: float = np.inf
) -> Spans:
    """How a packet lies over frames; with ``behind_bits`` it and the next one, which begins so much later.

    ``gain_bits`` is what is sent in a coherence time. Raises :class:`InputError` for a size that no packet has.
    """
    check_packet(packet_bytes)
    bits, starts = 8 * packet_bytes, (0.0, behind_bits) if behind_bits else (0.0,)
    if frame_bits == 1:
        together = max(0.0, 1 - behind_bits / gain_bits)
        found = (((bits * len(starts),), together), ((bits,) * len(starts), 1 - together))
        return tuple((way, share) for way, share in found if share > 0)
    ways: defaultdict[tuple[int, ...], float] = defaultdict(float)
    edges = (start + reach for start in starts for reach in (0, bits - 1))
    for first, share in _cuts(edges, frame_bits):
        frames = {
            frame
            for start in starts
            for frame in range(
                int((first + start) // frame_bits), int((first + start + bits - 1) // frame_bits) + 1
            )
        }
        for way, part in _by_gain(sorted(frames), frame_bits, gain_bits):
            ways[way] += share * part
    return tuple(ways.items())


def check_packet(packet_bytes: int) -> None:
    """Raise :class:`InputError` for a size that no packet has."""
    if not 1 <= packet_bytes <= MOST_BYTES:
        raise InputError(f"bytes = {packet_bytes}: a packet has between 1 and {MOST_BYTES} bytes")


def lost(ways: Spans, of_one_gain: Callable[[int], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Probability that a frame is lost of those that lie in ``ways``; ``of_one_gain`` gives it for so many frames of
    one coherence time."""
    with np.errstate(divide="ignore"):  # log1p(-1) is -inf, and one of them is lost
        return np.asarray(
            sum(
                share * -np.expm1(sum(np.log1p(-of_one_gain(frames)) for frames in way))
                for way, share in ways
            )
        )


def burst_end(one: NDArray[np.float64], either: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability that the packet after a lost one gets through, from those that one packet is lost and that one of two
    neighbours is: P(kept | lost before) = P(either) / P(lost) - 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(one > 0, np.clip(either / one - 1, 0, 1), 1.0)


def _cuts(edges: Iterable[float], period: float) -> Iterable[tuple[float, float]]:
    """Where a stretch may begin in a period, as ranges in which each of its ``edges`` stays in one: a place inside, and
    the range's share."""
    at = np.unique([0.0, period, *((-edge) % period for edge in edges)])
    return [((low + high) / 2, (high - low) / period) for low, high in pairwise(at)]


def _by_gain(frames: list[int], frame_bits: int, gain_bits: float) -> Iterable[tuple[tuple[int, ...], float]]:
    """So many of the frames in each coherence time, those in which they begin."""
    if not np.isfinite(gain_bits):
        return [((len(frames),), 1.0)]
    begins = frame_bits * np.array(frames, dtype=np.float64)
    return [
        (tuple(np.unique((begins + cut) // gain_bits, return_counts=True)[1].tolist()), share)
        for cut, share in _cuts(begins, gain_bits)
    ]
