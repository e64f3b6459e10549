"""What a stock kernel can do for layers on subflows: those that no layer has are backups, switched once a slot.

Linux's own scheduler gives a backup nothing while another subflow is there. So a table that has all layers on some of
the links is kept to; which of several links a layer is for, the kernel cannot be told (:mod:`dstcc_kernel.layers` can).

Messages are those of MPTCP's path manager, family ``mptcp_pm`` (include/uapi/linux/mptcp.h).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from .genetlink import Closing, Family, attribute, nest

FAMILY, VERSION = "mptcp_pm", 1
ADD_ADDR, SET_FLAGS = 1, 7
"""Commands."""
ADDR = 1
ADDR_FAMILY, ADDR_ID, ADDR_ADDR4, ADDR_FLAGS = 1, 2, 3, 6
BACKUP = 1 << 2
"""Of an endpoint's flags."""
FIRST_ID = 200
"""Of the endpoint that stands for the connection's first subflow, which has none by itself: past all others' ids."""


class Backups(Closing):
    """Which links' subflows are backups, in the network namespace in which it was made."""

    def __init__(self, addresses: Sequence[Sequence[str]]) -> None:
        """``addresses`` are those that each link's subflows start from; the very first is the connection's first."""
        self.family = Family(FAMILY, VERSION)
        self._addresses = tuple(addresses)
        self._idle = [False] * len(addresses)
        self._request(ADD_ADDR, addresses[0][0], 0, number=FIRST_ID)

    def close(self) -> None:
        """Close the socket."""
        self.family.close()

    def keep(self, links: Sequence[int]) -> None:
        """The layers' links; the others' subflows become backups. A layer of any link, below 0, needs all."""
        for link, addresses in enumerate(self._addresses):
            idle = link not in links and min(links, default=-1) >= 0
            if idle == self._idle[link]:
                continue
            for address in addresses:
                self._request(SET_FLAGS, address, BACKUP if idle else 0)
            self._idle[link] = idle

    def _request(self, command: int, address: str, flags: int, *, number: int | None = None) -> None:
        parts = [
            attribute(ADDR_FAMILY, struct.pack("=H", socket.AF_INET)),
            attribute(ADDR_ADDR4, socket.inet_aton(address)),
            attribute(ADDR_FLAGS, struct.pack("=I", flags)),
            *([attribute(ADDR_ID, bytes([number]))] if number is not None else []),
        ]
        self.family.request(command, nest(ADDR, *parts))
