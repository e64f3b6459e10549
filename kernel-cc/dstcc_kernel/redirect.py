"""A filter that sends all that arrives on a device through another one, as a clone; the original ends there.

The clone is what makes the packet's sender see it gone: TCP does not repeat a segment whose only copy has yet to leave
the host (``skb_still_in_host_queue``), and without it a packet in flight in netem counts as such for its whole flight.
Hence mirred returns ``pipe`` (so it clones) and a drop follows. Source: net/sched/act_mirred.c, act_gact.c.
"""

from __future__ import annotations

import struct
from socket import htons

from .genetlink import attribute, nest
from .rtnetlink import Routes

INGRESS, TO_INGRESS = 0xFFFF0000, 0xFFFFFFF1
"""The queueing discipline of what arrives, and TC_H_INGRESS, its parent."""
ETH_P_ALL = 3
SHOT, PIPE = 2, 3
"""TC_ACT_*."""
REDIRECT = 1
"""TCA_EGRESS_REDIR."""
ACTIONS = 2
"""TCA_MATCHALL_ACT."""
KIND, OPTIONS, PARAMETERS = 1, 2, 2
"""TCA_ACT_*; TCA_MIRRED_PARMS and TCA_GACT_PARMS."""


def redirect(ip: Routes, arriving: int, through: int) -> None:
    """Send what arrives on one device through another, both by index."""
    ip.discipline("ingress", arriving, b"", handle=INGRESS, parent=TO_INGRESS)
    ip.filter("matchall", arriving, actions(through), parent=INGRESS, info=1 << 16 | htons(ETH_P_ALL))


def actions(through: int) -> bytes:
    """What a filter does: mirred, and a drop."""
    mirred = struct.pack("=IIiiiiI", 0, 0, PIPE, 0, 0, REDIRECT, through)
    drop = struct.pack("=IIiii", 0, 0, SHOT, 0, 0)
    return nest(ACTIONS, _action(1, "mirred", mirred), _action(2, "gact", drop))


def _action(place: int, kind: str, parameters: bytes) -> bytes:
    options = nest(OPTIONS, attribute(PARAMETERS, parameters))
    return nest(place, attribute(KIND, kind.encode() + b"\0"), options)
