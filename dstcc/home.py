"""What each contact delivered.

A *contact* is a time in which at least one link has no outage, by the spacecraft's clock. A layer counts to the contact
in which its last byte left: the last one that had begun a light time before the layer was complete. A run without
outages has no contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dstcc.arrays import Int64Array

from .engine.config import EngineResult, Link, Objects, subflow_links
from .frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .metrics import Playback


NS_PER_S = 1e9


@dataclass(frozen=True)
class Contact:
    """One contact of a trial."""

    from_s: float
    to_s: float
    """Mission time, at most the run's end."""
    bytes_in_time: int
    """Payload of layers that it brought and that were played."""
    full_quality_bytes: int
    """Payload of layers that it brought of chunks that were played with every layer."""
    capacity_bytes: int
    """What the links that were up could carry at their rates of the time, on the wire."""

    def document(self) -> dict[str, float]:
        """As ``dstcc emulate --json`` prints it."""
        return {
            "from_s": self.from_s,
            "to_s": self.to_s,
            "bytes_in_time": self.bytes_in_time,
            "full_quality_bytes": self.full_quality_bytes,
            "capacity_bytes": self.capacity_bytes,
        }


def played(objects: Objects, playback: Playback) -> NDArray[np.bool_]:
    """Which layers were played, an entry per object."""
    in_time: NDArray[np.bool_] = objects.layer <= playback.levels[objects.chunk]
    return in_time


def in_full(objects: Objects, playback: Playback) -> NDArray[np.bool_]:
    """Which layers are of chunks that were played with every layer, an entry per object."""
    top = int(objects.layer.max())
    whole: NDArray[np.bool_] = playback.levels[objects.chunk] == top
    return whole


def brought_home(
    links: Sequence[Link], objects: Objects, result: EngineResult, playback: Playback
) -> tuple[Contact, ...]:
    """The contacts of a trial and what each brought; their sums are the metrics of the same names."""
    windows = contacts(links, result.end_ns)
    if windows in ([], [(0, result.end_ns)]):
        return ()
    contact = _contact_of(links, windows, result)
    sums = [
        np.bincount(contact[chosen], weights=objects.payload_bytes[chosen], minlength=len(windows))
        for chosen in (played(objects, playback), in_full(objects, playback))
    ]
    return tuple(
        Contact(
            begin / NS_PER_S,
            end / NS_PER_S,
            round(in_time),
            round(full),
            round(sum(link.capacity_bits(begin, end) for link in links) / 8),
        )
        for (begin, end), in_time, full in zip(windows, *map(list, sums), strict=True)
    )


def contacts(links: Sequence[Link], end_ns: int) -> list[tuple[int, int]]:
    """When at least one link is up, until the run's end: (from, to) in ns, sorted."""
    dark = [(0, end_ns)]
    for link in links:
        dark = [
            (max(begin, start), min(end, stop))
            for begin, end in dark
            for start, stop in link.outages_ns
            if start < end and begin < stop
        ]
    edges = [0, *(edge for window in dark for edge in window), end_ns]
    return [(begin, end) for begin, end in zip(edges[::2], edges[1::2], strict=True) if begin < end]


def _contact_of(links: Sequence[Link], windows: list[tuple[int, int]], result: EngineResult) -> Int64Array:
    """Each object's contact: the last one whose first byte, over the link that carried most of the object, could have
    arrived before the object was complete; the first contact if there is none."""
    begins = np.array([begin for begin, _ in windows], dtype=np.int64)
    through = np.array(subflow_links(links))[np.maximum(result.objects.subflow, 0)]
    contact = np.zeros(len(through), dtype=np.int64)
    for index, link in enumerate(links):
        light = np.interp(begins, link.delay_t_ns, link.delay_ns).astype(np.int64)
        carried = through == index
        complete = result.objects.complete_ns[carried]
        contact[carried] = np.maximum(np.searchsorted(begins + light, complete, side="right") - 1, 0)
    return contact
