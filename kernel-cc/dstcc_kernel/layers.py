"""What MPTCP's scheduler ``dstcc`` is told and tells, over the module's family: tables in, counters out.

The scheduler is compiled into a kernel (``kernel-cc/mptcp``); others refuse with ``EOPNOTSUPP``. Announcements of byte
ranges are the transfer program's (``kernel-cc/transfer/family.cpp``); :func:`announce` is the same in Python.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from .genetlink import attribute, attributes, nest, u32
from .netlink import Client, Command

SCHEDULER = "dstcc"
"""As ``net.mptcp.scheduler`` calls it."""
RANGES_MAX = 64
"""Of one announcement."""
Layers = IntEnum("Layers", "TOKEN PLACE RANGE ROW LIVING")
"""Attributes of the operations."""
Place = IntEnum("Place", "LAYER LOCAL_ID")
"""A row of the table."""
Range = IntEnum("Range", "LAYER BYTES DEADLINE_NS LOCAL_ID")
"""Bytes that are written next."""
RowPart = IntEnum("RowPart", "LAYER LOCAL_ID CARRIED STRAYED MOVED LATE PAD")
"""What a subflow carried of a layer."""


@dataclass(frozen=True)
class LayerBytes:
    """Bytes that a subflow carried of a layer, since its connection began."""

    layer: int
    local_id: int
    carried: int
    """For the first time."""
    strayed: int
    """Of these, those that were told to go on another subflow, which could not carry anything."""
    moved: int
    """Again, as the subflow that had them failed."""
    late: int
    """Of the carried, those past their deadline."""


def set_table(client: Client, token: int, places: Mapping[int, int | None]) -> None:
    """Say which subflow, by its local id, each layer has; None: any. A layer that is not named may go on any."""
    client.family.request(
        Command.TABLE_SET,
        u32(Layers.TOKEN, token) + b"".join(_place(layer, place) for layer, place in sorted(places.items())),
    )


def announce(
    client: Client, token: int, ranges: Iterable[tuple[int, int, int] | tuple[int, int, int, int]]
) -> None:
    """Say of the bytes that are written next their layer, how many, their deadline (monotonic ns, 0: none), and
    perhaps the local id of a subflow, in the place of the table's."""
    parts = [
        nest(
            Layers.RANGE,
            attribute(Range.LAYER, bytes([layer])),
            u32(Range.BYTES, count),
            attribute(Range.DEADLINE_NS, struct.pack("=Q", deadline_ns)),
            *(attribute(Range.LOCAL_ID, bytes([local_id])) for local_id in place),
        )
        for layer, count, deadline_ns, *place in ranges
    ]
    client.family.request(Command.ANNOUNCE, u32(Layers.TOKEN, token) + b"".join(parts))


def carried(client: Client, token: int) -> list[LayerBytes]:
    """What each subflow carried of each layer, in the order in which they first did."""
    answer = client.family.request(Command.LAYERS_GET, u32(Layers.TOKEN, token))[0]
    return [_row(value) for kind, value in attributes(answer.payload) if kind == Layers.ROW]


def _place(layer: int, local_id: int | None) -> bytes:
    parts = [attribute(Place.LAYER, bytes([layer]))]
    if local_id is not None:
        parts.append(attribute(Place.LOCAL_ID, bytes([local_id])))
    return nest(Layers.PLACE, *parts)


def _row(payload: bytes) -> LayerBytes:
    values = {RowPart(kind): int.from_bytes(value, "little") for kind, value in attributes(payload)}
    return LayerBytes(*(values[part] for part in RowPart if part is not RowPart.PAD))
