"""netem's netlink options: what its kernel side takes and common tools cannot say.

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

from .genetlink import attribute, nest
from .rtnetlink import Routes

ROOT = 0xFFFFFFFF
"""TC_H_ROOT."""
U32 = (1 << 32) - 1
NO_LIMIT = 1 << 30
"""Packets: more than any memory holds."""
LOSS, RATE, RATE64, LATENCY64, PRNG_SEED, LOSS_GE = 5, 6, 8, 10, 14, 2
"""TCA_NETEM_*, NETEM_LOSS_GE."""


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
