"""From a seed and a number to a trial: its algorithms, its data and its links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from dstcc.algorithms import CONGESTION, SCHEDULERS
from dstcc.engine import AGENT, NEVER_NS, EngineConfig, Link, Objects, Restarts, TcpConstants, Transport
from dstcc.engine.config import AGENT_LATE, AGENT_POLICIES
from dstcc.extensions import Extension
from dstcc.remy.table import shipped_numbers

from .chance import S, log_uniform, maybe, ns
from .coded import as_coded
from .links import draw_link
from .python_algorithms import HalfWindow, MostRoom
from .trial import AGENT_CONTROLS, AGENT_SCHEDULERS, EXTENSION, KINDS, LOSSES, MODES, Trial


def draw_objects(rng: Random, total_bps: float, duration_s: float, longest_s: float) -> Objects:
    """A file, or chunks in layers, live or all there from the start, with deadlines or without."""
    if maybe(rng, 0.1):
        one = np.ones(1, dtype=np.int64)
        size = int(total_bps * duration_s / 8 * rng.choice([0.5, 4.0])) + 1
        return Objects(0 * one, 0 * one, size * one, 0 * one, NEVER_NS * one)
    layers, chunks = rng.randint(1, 4), rng.randint(2, 60)
    chunk_s = duration_s * rng.uniform(0.4, 0.9) / chunks
    mean = max(1.0, total_bps * chunk_s / 8 / layers * log_uniform(rng, 0.2, 1.6))
    chunk = np.repeat(np.arange(chunks, dtype=np.int64), layers)
    layer = np.tile(np.arange(layers, dtype=np.int64), chunks)
    payload = np.array([max(1, int(mean * rng.uniform(0.3, 1.7))) for _ in chunk], dtype=np.int64)
    release = (chunk + 1) * ns(chunk_s) if maybe(rng, 0.85) else 0 * chunk
    deadline = np.full_like(release, NEVER_NS)
    if maybe(rng, 0.7):
        playout = ns(longest_s * rng.choice([1.05, 1.5, 2.0, 4.0])) + ns(chunk_s)
        deadline = (chunk + 1) * ns(chunk_s) + playout
        if maybe(rng, 0.1):
            deadline[layer == layers - 1] = NEVER_NS
    return Objects(chunk, layer, payload, release, deadline)


def draw_constants(rng: Random) -> TcpConstants:
    """Linux's constants, mostly."""
    if maybe(rng, 0.6):
        return TcpConstants()
    return TcpConstants(
        rto_min_s=rng.choice([0.2, 1.0]),
        delayed_ack_s=rng.choice([1e-4, 0.04, 0.2]),
        hystart=maybe(rng, 0.5),
        jiffy_s=rng.choice([1e-9, 0.001, 0.004]),
        uptime_s=rng.choice([0.0, -300.0, 17.3]),
        quick_acks=rng.choice([0, 16]),
    )


def draw_names(rng: Random, number: int, kind: str) -> tuple[str, str]:
    """Each control and each scheduler in its turn, the other of the pair at random."""
    if kind == "ltp":
        return "ltp", rng.choice(["none", "layer-pinned"])
    if kind == "steered":
        return AGENT_CONTROLS[number % len(AGENT_CONTROLS)], rng.choice(AGENT_SCHEDULERS)
    controls = (*CONGESTION, AGENT, EXTENSION)
    schedulers = (*SCHEDULERS, AGENT, AGENT_LATE, AGENT_POLICIES, EXTENSION)
    if number % 2:
        return controls[number // 2 % len(controls)], rng.choice(schedulers)
    return rng.choice(controls), schedulers[number // 2 % len(schedulers)]


def draw_parameters(rng: Random, links: tuple[Link, ...]) -> dict[str, dict[str, tuple[float, ...]]]:
    """What ``fixed``, ``open-loop`` and ``ltp`` are given, at times; and Remy's rules."""
    given: dict[str, dict[str, tuple[float, ...]]] = {"remy": {"rules": shipped_numbers()}}
    if maybe(rng, 0.3):
        given["fixed"] = {"cwnd_segments": tuple(rng.randint(2, 200) for _ in links)}
    if maybe(rng, 0.3):
        rates_bps = tuple(link.rate_bps * rng.uniform(0.5, 1.2) for link in links)
        given |= {"open-loop": {"rate_bps": rates_bps}, "ltp": {"rate_bps": rates_bps}}
    return given


def with_parameters(transport: Transport, name: str, values: Mapping[str, tuple[float, ...]]) -> Transport:
    """With these parameters of that control, beside those that it has."""
    given = {**transport.parameters.get(name, {}), **values}
    return replace(transport, parameters={**transport.parameters, name: given})


def draw_restarts(rng: Random, kind: str, config: EngineConfig) -> Restarts | None:
    """At times, of a sender that may restart (:mod:`dstcc.engine.restarts`)."""
    green = config.transport.parameters["ltp"].get("green_from_layer", ())
    shared = any(link.flows for link in config.links)
    if kind in ("coded", "steered") or config.trace or shared or green or not maybe(rng, 0.7):
        return None
    span, boot_s = config.duration_ns / S, rng.choice([0.0, 1.0, 100.0])
    first_s = span * rng.uniform(0.05, 0.6)
    times_s = (first_s, first_s + boot_s + span * rng.uniform(0.05, 0.4))[: rng.choice([1, 2])]
    return Restarts(tuple(map(ns, times_s)), ns(boot_s), maybe(rng, 0.6))


def draw_trial(seed: int, number: int) -> Trial:
    """The trial of that number."""
    rng = Random(f"{seed}/{number}")
    kind, mode = KINDS[number % len(KINDS)], rng.choice(MODES)
    if kind == "ltp":
        mode = "stream"
    count = rng.choice([1, 2, 2, 3])
    subflows = rng.choice([1, 2, 5, 20]) if mode in ("lanes", "apart") else rng.choice([1, 1, 1, 2])
    trial = {
        "kind": kind,
        "subflows": 1 if kind == "ltp" else subflows,
        "losses": [LOSSES[number // 10 % len(LOSSES)], rng.choice(LOSSES), rng.choice(LOSSES)],
    }
    base = {
        "rate_bps": log_uniform(rng, 1e5, 2e7),
        "delay_s": log_uniform(rng, 5e-3, rng.choice([0.5, 10, 1200])),
    }
    packets = log_uniform(rng, 1000, 60_000)
    base["duration_s"] = max(packets * 12_000 / base["rate_bps"] / count, 12 * base["delay_s"])
    # A long delay needs a slow link, or the trial has more packets than it should.
    base["rate_bps"] = min(base["rate_bps"], packets * 12_000 / base["duration_s"])
    links = tuple(draw_link(rng, i, base, trial) for i in range(count))
    longest_s = max(max(link.delay_ns) for link in links) / S
    congestion, scheduler = draw_names(rng, number, kind)
    extensions: dict[str, Any] = {}
    if congestion == EXTENSION:
        extensions["congestion_extension"] = Extension("HalfWindow", "congestion", HalfWindow, "here", None)
    if scheduler == EXTENSION:
        extensions["scheduler_extension"] = Extension("MostRoom", "scheduler", MostRoom, "here", None)
    lanes = {"stream": 1, "apart": 1}.get(mode, rng.choice([1, 2, 16]))
    layer_links = tuple(rng.randrange(count) for _ in range(4))
    pinned = scheduler == "layer-pinned" and (mode == "apart" or trial["subflows"] == 1) and maybe(rng, 0.5)
    transport = Transport(
        congestion=congestion,
        scheduler=scheduler,
        mode="stream" if mode == "stream" else "lanes",
        lanes_per_link=lanes,
        apart=mode == "apart",
        mss_bytes=rng.choice([500, 1460, 1460]),
        option_bytes=rng.choice([0, 24]),
        initial_cwnd=rng.choice([1, 10, 10]),
        receive_buffer_bytes=rng.choice([0, 0, 30_000, 1_000_000]),
        scale=max(1.0, longest_s / 20) if maybe(rng, 0.7) else 1.0,
        parameters=draw_parameters(rng, links),
        layer_links=layer_links if pinned else (),
    )
    green, limit = rng.randint(-1, 3), rng.choice([0, 1, 20])
    parts = {"green_from_layer": (green,) if green >= 0 else (), "retry_limit": (limit,)}
    transport = with_parameters(transport, "ltp", parts)
    transport = replace(
        transport,
        drop_late=maybe(rng, 0.85),
        layer_first=maybe(rng, 0.5),
    )
    if kind == "steered":
        transport = with_parameters(transport, congestion, {"headroom": (rng.choice([1, 2, 4]),)})
    transport = replace(transport, constants=draw_constants(rng), **extensions)
    total_bps = sum(link.rate_bps for link in links)
    config = EngineConfig(
        seed=rng.randrange(2**31),
        links=links,
        transport=transport,
        objects=draw_objects(rng, total_bps, base["duration_s"], longest_s),
        slot_ns=ns(max(longest_s / 4, base["duration_s"] / 60)) + 1,
        duration_ns=ns(base["duration_s"] * rng.choice([1.0, 1.5, 3.0])) + 1,
        trace=maybe(rng, 0.25),
    )
    if kind == "coded":
        config, mode = as_coded(Random(f"coded {seed}/{number}"), config), "coded"
    config = replace(config, restarts=draw_restarts(Random(f"restarts {seed}/{number}"), kind, config))
    return Trial(number, kind, mode, config)
