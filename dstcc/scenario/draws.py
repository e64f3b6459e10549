"""What a seed draws before a trial starts: link values, the same for every algorithm (common random numbers).

Each value has a stream of its own, named by ("scenario", link, key, seed), so that adding a link or a key
changes no other draw.
"""

from __future__ import annotations

import hashlib

import numpy as np

from dstcc.engine.config import Flow as EngineFlow
from dstcc.engine.config import Link as EngineLink
from dstcc.engine.config import Loss as EngineLoss

from .fields import NS_PER_S, Draw, ns
from .model import Link, LossModel, Scenario
from .traffic import engine_flows, engine_traffic

MIN_QUEUE_BYTES = 64_000
"""The least default queue: 43 full packets."""


def draw_links(scenario: Scenario, seed: int) -> tuple[EngineLink, ...]:
    """The links of the trials with this seed, as the engine takes them."""
    mss_bytes = scenario.transport.mss_bytes
    return tuple(_link(link, seed, mss_bytes) for link in scenario.link)


def rtt_s(link: EngineLink) -> float:
    """Round-trip propagation time: twice the one-way delay, the longest of a table."""
    return 2 * max(link.delay_ns) / NS_PER_S


def longest_possible_rtt_s(scenario: Scenario) -> float:
    """The longest round trip that any seed can draw, in seconds."""
    return 2 * max(_bounds(link.delay_s)[1] for link in scenario.link)


def describe(link: EngineLink) -> dict[str, object]:
    """A drawn link as it is recorded beside its trials (one-way delay, RTT in seconds; rates in bit/s)."""
    others = [_describe_flow(flow) for flow in link.flows]
    table = [[t / NS_PER_S, d / NS_PER_S] for t, d in zip(link.delay_t_ns, link.delay_ns, strict=True)]
    return {
        "name": link.name,
        "rate_bps": link.rate_bps,
        "up_rate_bps": link.up_rate_bps,
        "delay_s": table[0][1] if len(table) == 1 else table,
        "rtt_s": rtt_s(link),
        "loss": describe_loss(link.loss),
        "up_loss": describe_loss(link.up_loss),
        "queue_bytes": link.queue_bytes,
        "up_queue_bytes": link.up_queue_bytes,
        "subflows": link.subflows,
        "flows": others,
        "datagrams_bps": [source.rate_bps for source in link.cross_traffic],
    }


def _describe_flow(flow: EngineFlow) -> dict[str, object]:
    return {
        "congestion": flow.congestion,
        "start_s": flow.start_ns / NS_PER_S,
        "bytes": flow.payload_bytes or None,
        "rate_bps": flow.source.rate_bps if flow.source else None,
    }


def describe_loss(loss: EngineLoss) -> dict[str, object]:
    """A loss process in the words of a scenario; empty when nothing is lost."""
    if loss.kind == "none":
        return {}
    if loss.kind == "gilbert-elliott":
        return {"gilbert_elliott": {"p": loss.p, "r": loss.r, "good": loss.good, "bad": loss.bad}}
    return {loss.kind: loss.rate}


def _link(link: Link, seed: int, mss_bytes: int) -> EngineLink:
    rate = _draw(link.rate_bps, seed, link.name, "rate_bps")
    up_rate = rate if link.up_rate_bps is None else _draw(link.up_rate_bps, seed, link.name, "up_rate_bps")
    times, delays = _delay(link, seed)
    round_trip_s = 2 * max(delays) / NS_PER_S
    loss = _loss(link.loss, seed, link.name, "loss")
    return EngineLink(
        name=link.name,
        rate_bps=rate,
        up_rate_bps=up_rate,
        delay_t_ns=times,
        delay_ns=delays,
        queue_bytes=link.queue_bytes or _default_queue(rate, round_trip_s),
        up_queue_bytes=link.up_queue_bytes or _default_queue(up_rate, round_trip_s),
        loss=loss,
        up_loss=loss if link.up_loss is None else _loss(link.up_loss, seed, link.name, "up_loss"),
        outages_ns=tuple((ns(start), ns(end)) for start, end in link.outages),
        cross_traffic=engine_traffic(link.cross_traffic, link.mix),
        subflows=link.subflows,
        flows=engine_flows(
            link.flows, link.mix, mss_bytes, lambda value, key: _draw(value, seed, link.name, key)
        ),
    )


def _delay(link: Link, seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(link.delay_s, tuple):
        return tuple(ns(t) for t, _ in link.delay_s), tuple(ns(delay) for _, delay in link.delay_s)
    return (0,), (ns(_draw(link.delay_s, seed, link.name, "delay_s")),)


def _default_queue(rate_bps: float, round_trip_s: float) -> int:
    return max(MIN_QUEUE_BYTES, round(rate_bps * round_trip_s / 8))


def _loss(model: LossModel | None, seed: int, link: str, key: str) -> EngineLoss:
    if model is None:
        return EngineLoss()
    if model.gilbert_elliott is not None:
        ge = model.gilbert_elliott
        return EngineLoss("gilbert-elliott", p=ge.p, r=ge.r, good=ge.good, bad=ge.bad)
    kind, value = ("packet", model.packet) if model.packet is not None else ("ber", model.ber)
    return EngineLoss(kind, rate=_draw(value or 0.0, seed, link, f"{key}.{kind}"))


def _bounds(value: object) -> tuple[float, float]:
    if isinstance(value, Draw):
        return value.bounds
    if isinstance(value, tuple):
        delays = [delay for _time, delay in value]
        return min(delays), max(delays)
    return float(str(value)), float(str(value))


def _draw(value: float | Draw, seed: int, link: str, key: str) -> float:
    if not isinstance(value, Draw):
        return float(value)
    low, high = value.bounds
    name = "\0".join(("scenario", link, key, str(seed)))
    entropy = int.from_bytes(hashlib.sha256(name.encode()).digest(), "big")
    share = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy))).random()
    even = value.uniform is not None
    drawn = low + (high - low) * share if even else low * (high / low) ** share
    return float(min(max(drawn, low), high))
