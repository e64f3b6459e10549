"""MPTCP's path manager, family ``mptcp_pm`` (include/uapi/linux/mptcp.h): further subflows, and which are backups."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from .genetlink import Closing, Family, attribute, nest, u32

FAMILY, VERSION = "mptcp_pm", 1
ADD_ADDR, SET_LIMITS, SET_FLAGS = 1, 5, 7
"""Commands."""
ADDR, MOST_ADDRESSES, MOST_SUBFLOWS = 1, 2, 3
ADDR_FAMILY, ADDR_ID, ADDR_ADDR4, ADDR_FLAGS = 1, 2, 3, 6
SUBFLOW, BACKUP = 1 << 1, 1 << 2
"""Of an endpoint's flags."""
MAX_PM_SUBFLOWS = 8
"""MPTCP_PM_ADDR_MAX: endpoints of a host, and subflows beyond a connection's first."""
FIRST_ID = 200
"""Of the endpoint that stands for the connection's first subflow, which has none by itself: past all others' ids."""


class PathManager(Closing):
    """Of the network namespace in which it was made."""

    def __init__(self) -> None:
        self.family = Family(FAMILY, VERSION)

    def close(self) -> None:
        """Close the socket."""
        self.family.close()

    def allow_joins(self) -> None:
        """Let connections have further subflows."""
        self.family.request(SET_LIMITS, u32(MOST_ADDRESSES, 0) + u32(MOST_SUBFLOWS, MAX_PM_SUBFLOWS))

    def join(self, number: int, address: str, *, backup: bool) -> None:
        """Open a further subflow from ``address`` for every connection that stands, and for each that will."""
        self._ask(ADD_ADDR, address, SUBFLOW | (BACKUP if backup else 0), number)

    def _ask(self, command: int, address: str, flags: int, number: int | None = None) -> None:
        parts = (
            attribute(ADDR_FAMILY, struct.pack("=H", socket.AF_INET)),
            attribute(ADDR_ID, bytes([number])) if number is not None else b"",
            attribute(ADDR_ADDR4, socket.inet_aton(address)),
            u32(ADDR_FLAGS, flags),
        )
        self.family.request(command, nest(ADDR, *parts))


class Backups(PathManager):
    """What a stock kernel can do for layers on subflows: those that no layer has are backups, switched once a slot.

    Linux's own scheduler gives a backup nothing while another subflow is there. So a table that has all layers on some
    of the links is kept to; which of several links a layer is for, the kernel cannot be told (:mod:`.layers` can).
    """

    def __init__(self, addresses: Sequence[Sequence[str]]) -> None:
        """``addresses`` are those that each link's subflows start from; the very first is the connection's first."""
        super().__init__()
        self._addresses = tuple(addresses)
        self._idle = [False] * len(addresses)
        self._ask(ADD_ADDR, addresses[0][0], 0, FIRST_ID)

    def keep(self, links: Sequence[int]) -> None:
        """The layers' links; the others' subflows become backups. A layer of any link, below 0, needs all."""
        for link, addresses in enumerate(self._addresses):
            idle = link not in links and min(links, default=-1) >= 0
            if idle == self._idle[link]:
                continue
            for address in addresses:
                self._ask(SET_FLAGS, address, BACKUP if idle else 0)
            self._idle[link] = idle
