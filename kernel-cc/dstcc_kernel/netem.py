"""netem's netlink options: what its kernel side takes and common tools cannot say.

64-bit delays (tc stops at 275 s), 64-bit rates, headers that the rate leaves out, both loss models, a seed::

    TCA_OPTIONS = struct tc_netem_qopt { latency, limit, loss, gap, duplicate, jitter }    (u32 each)
                + TCA_NETEM_LOSS { NETEM_LOSS_GE = struct tc_netem_gemodel { p, r, h, k1 } }
                + TCA_NETEM_RATE { rate, packet_overhead, cell_size, cell_overhead }, TCA_NETEM_RATE64
                + TCA_NETEM_LATENCY64 (ns, s64), TCA_NETEM_PRNG_SEED (u64, Linux 6.6 on; before that it is ignored)

A probability p is round(p (2^32 - 1)). Source: include/uapi/linux/pkt_sched.h, net/sched/sch_netem.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pyroute2.netlink import NLA_F_NESTED, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, nla
from pyroute2.netlink.rtnl import RTM_NEWQDISC
from pyroute2.netlink.rtnl.tcmsg import tcmsg

ROOT = 0xFFFFFFFF
"""TC_H_ROOT."""
U32 = (1 << 32) - 1
NO_LIMIT = 1 << 30
"""Packets: more than any memory holds."""


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


class _Chain(nla):  # type: ignore[misc]
    fields = (("p", "I"), ("r", "I"), ("h", "I"), ("k1", "I"))


class _Loss(nla):  # type: ignore[misc]
    nla_map = (("NETEM_LOSS_UNSPEC", "none"), ("NETEM_LOSS_GI", "none"), ("NETEM_LOSS_GE", "gemodel"))
    gemodel = _Chain


class _Rate(nla):  # type: ignore[misc]
    fields = (("rate", "I"), ("packet_overhead", "i"), ("cell_size", "I"), ("cell_overhead", "i"))


class _Latency(nla):  # type: ignore[misc]
    fields = (("value", "q"),)


class _Options(nla):  # type: ignore[misc]
    fields = tuple((name, "I") for name in ("latency", "limit", "loss", "gap", "duplicate", "jitter"))
    nla_map = (
        ("TCA_NETEM_UNSPEC", "none"),
        ("TCA_NETEM_CORR", "none"),
        ("TCA_NETEM_DELAY_DIST", "none"),
        ("TCA_NETEM_REORDER", "none"),
        ("TCA_NETEM_CORRUPT", "none"),
        ("TCA_NETEM_LOSS", "loss"),
        ("TCA_NETEM_RATE", "rate"),
        ("TCA_NETEM_ECN", "none"),
        ("TCA_NETEM_RATE64", "uint64"),
        ("TCA_NETEM_PAD", "none"),
        ("TCA_NETEM_LATENCY64", "latency64"),
        ("TCA_NETEM_JITTER64", "none"),
        ("TCA_NETEM_SLOT", "none"),
        ("TCA_NETEM_SLOT_DIST", "none"),
        ("TCA_NETEM_PRNG_SEED", "uint64"),
    )
    loss = _Loss
    rate = _Rate
    latency64 = _Latency


class _Message(tcmsg):  # type: ignore[misc]
    nla_map = (("TCA_UNSPEC", "none"), ("TCA_KIND", "asciiz"), ("TCA_OPTIONS", "netem"))
    netem = _Options


def probability(p: float) -> int:
    """A probability as netem counts it."""
    return min(U32, max(0, round(p * U32)))


def options(shape: Netem) -> dict[str, Any]:
    """The fields and attributes of ``TCA_OPTIONS``."""
    attributes: list[tuple[Any, ...]] = [("TCA_NETEM_LATENCY64", {"value": shape.delay_ns})]
    random = 0
    if isinstance(shape.loss, GilbertElliott):
        chain = shape.loss
        model = {
            "p": probability(chain.p),
            "r": probability(chain.r),
            "h": probability(1 - chain.bad),
            "k1": probability(chain.good),
        }
        attributes.append(("TCA_NETEM_LOSS", {"attrs": [("NETEM_LOSS_GE", model)]}, NLA_F_NESTED))
    else:
        random = probability(shape.loss)
    if shape.rate_bps:
        bytes_s = max(1, round(shape.rate_bps / 8))
        rate = {
            "rate": min(bytes_s, U32),
            "packet_overhead": shape.overhead_bytes,
            "cell_size": 0,
            "cell_overhead": 0,
        }
        attributes.append(("TCA_NETEM_RATE", rate))
        if bytes_s > U32:
            attributes.append(("TCA_NETEM_RATE64", bytes_s))
    if shape.seed:
        attributes.append(("TCA_NETEM_PRNG_SEED", shape.seed))
    numbers = {
        "latency": 0,
        "limit": shape.limit_packets,
        "loss": random,
        "gap": 0,
        "duplicate": 0,
        "jitter": 0,
    }
    return {**numbers, "attrs": attributes}


def stream(seed: int, *names: int) -> int:
    """A seed of its own for each use that ``names`` tell apart, the same in every checkout; never 0, which is none."""
    words = "/".join(map(str, (seed, *map(int, names))))
    return int.from_bytes(sha256(words.encode()).digest()[:8], "little") or 1


def message(device: int, shape: Netem, *, handle: int, parent: int = ROOT) -> Any:
    """``RTM_NEWQDISC`` for a device by its index."""
    made = _Message()
    made["index"], made["handle"], made["parent"] = device, handle, parent
    made["attrs"] = [("TCA_KIND", "netem"), ("TCA_OPTIONS", options(shape))]
    made["header"]["type"] = RTM_NEWQDISC
    made["header"]["flags"] = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE
    return made


def install(ip: Any, device: int, shape: Netem, *, handle: int, parent: int = ROOT) -> None:
    """Put a netem on a device, or change the one that is there, over an ``IPRoute``.

    A change starts its random draws anew and puts a Gilbert-Elliott chain into its good state.
    """
    ip.nlm_request_batch([message(device, shape, handle=handle, parent=parent)])
