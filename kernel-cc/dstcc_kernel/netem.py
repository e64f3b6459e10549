"""netem's netlink options, what its kernel side takes and common tools cannot say; and how packets come to one.

64-bit delays (tc stops at 275 s), 64-bit rates, headers that the rate leaves out, both loss models, a seed::

    TCA_OPTIONS = struct tc_netem_qopt { latency, limit, loss, gap, duplicate, jitter }    (u32 each)
                + TCA_NETEM_LOSS { NETEM_LOSS_GE = struct tc_netem_gemodel { p, r, h, k1 } }
                + TCA_NETEM_RATE { rate, packet_overhead, cell_size, cell_overhead }, TCA_NETEM_RATE64
                + TCA_NETEM_LATENCY64 (ns, s64), TCA_NETEM_PRNG_SEED (u64, Linux 6.6 on; before that it is ignored)

A probability p is round(p (2^32 - 1)). Source: include/uapi/linux/pkt_sched.h, net/sched/sch_netem.c.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import sha256
from socket import htons

from .genetlink import attribute, nest
from .rtnetlink import Routes

ROOT = 0xFFFFFFFF
"""TC_H_ROOT."""
U32 = (1 << 32) - 1
NO_LIMIT = 1 << 30
"""Packets: more than any memory holds."""
LOSS, RATE, RATE64, LATENCY64, PRNG_SEED, LOSS_GE = 5, 6, 8, 10, 14, 2
"""TCA_NETEM_*, NETEM_LOSS_GE."""
INGRESS, TO_INGRESS = 0xFFFF0000, 0xFFFFFFF1
"""The queueing discipline of what arrives, and TC_H_INGRESS, its parent."""
ETH_P_ALL = 3
SHOT, PIPE = 2, 3
"""TC_ACT_*."""
REDIRECT = 1
"""TCA_EGRESS_REDIR."""
ACTIONS = 2
"""TCA_MATCHALL_ACT."""
ACTION_KIND, ACTION_OPTIONS, PARAMETERS = 1, 2, 2
"""TCA_ACT_*; TCA_MIRRED_PARMS and TCA_GACT_PARMS."""


@dataclass(frozen=True)
class GilbertElliott:
    """Chances a packet: good→bad, bad→good, and of a loss in each state."""

    p: float
    r: float
    good: float
    bad: float


@dataclass(frozen=True)
class Netem:
    """One netem queueing discipline, in emulated time."""

    delay_ns: int = 0
    limit_packets: int = NO_LIMIT
    loss: float | GilbertElliott = 0.0
    rate_bps: float = 0.0
    """0: no rate of its own."""
    overhead_bytes: int = 0
    """Added to each packet's length where the rate counts it; below 0 for headers that cost nothing."""
    seed: int = 0


def probability(p: float) -> int:
    """A probability as netem counts it."""
    return min(U32, max(0, round(p * U32)))


def options(shape: Netem) -> bytes:
    """What ``TCA_OPTIONS`` holds."""
    attributes = [attribute(LATENCY64, struct.pack("=q", shape.delay_ns))]
    random = 0
    if isinstance(shape.loss, GilbertElliott):
        chain = shape.loss
        chances = map(probability, (chain.p, chain.r, 1 - chain.bad, chain.good))
        attributes.append(nest(LOSS, attribute(LOSS_GE, struct.pack("=4I", *chances))))
    else:
        random = probability(shape.loss)
    if shape.rate_bps:
        bytes_s = max(1, round(shape.rate_bps / 8))
        rate = struct.pack("=IiII", min(bytes_s, U32), shape.overhead_bytes, 0, 0)
        attributes.append(attribute(RATE, rate))
        if bytes_s > U32:
            attributes.append(attribute(RATE64, struct.pack("=Q", bytes_s)))
    if shape.seed:
        attributes.append(attribute(PRNG_SEED, struct.pack("=Q", shape.seed)))
    return struct.pack("=6I", 0, shape.limit_packets, random, 0, 0, 0) + b"".join(attributes)


def stream(seed: int, *names: int) -> int:
    """A seed of its own for each use that ``names`` tell apart, the same in every checkout; never 0, which is none."""
    words = "/".join(map(str, (seed, *map(int, names))))
    return int.from_bytes(sha256(words.encode()).digest()[:8], "little") or 1


def install(ip: Routes, device: int, shape: Netem, *, handle: int, parent: int = ROOT) -> None:
    """Put a netem on a device, or change the one that is there.

    A change starts its random draws anew and puts a Gilbert-Elliott chain into its good state.
    """
    ip.discipline("netem", device, options(shape), handle=handle, parent=parent)


def redirect(ip: Routes, arriving: int, through: int) -> None:
    """Send what arrives on one device through another, both by index, as a clone; the original ends there.

    The clone is what makes the packet's sender see it gone: TCP does not repeat a segment whose only copy has yet to
    leave the host (``skb_still_in_host_queue``), and without it a packet in flight in netem counts as such for its
    whole flight. Hence mirred returns ``pipe`` (so it clones) and a drop follows. Source: net/sched/act_mirred.c,
    act_gact.c.
    """
    ip.discipline("ingress", arriving, b"", handle=INGRESS, parent=TO_INGRESS)
    ip.filter("matchall", arriving, actions(through), parent=INGRESS, info=1 << 16 | htons(ETH_P_ALL))


def actions(through: int) -> bytes:
    """What a filter does: mirred, and a drop."""
    mirred = struct.pack("=IIiiiiI", 0, 0, PIPE, 0, 0, REDIRECT, through)
    drop = struct.pack("=IIiii", 0, 0, SHOT, 0, 0)
    return nest(ACTIONS, _action(1, "mirred", mirred), _action(2, "gact", drop))


def _action(place: int, kind: str, parameters: bytes) -> bytes:
    options = nest(ACTION_OPTIONS, attribute(PARAMETERS, parameters))
    return nest(place, attribute(ACTION_KIND, kind.encode() + b"\0"), options)
