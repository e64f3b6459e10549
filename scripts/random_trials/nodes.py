"""A drawn trial over nodes: each link becomes a path of hops, of which paths share some."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from dstcc.engine import EngineConfig, Hop, Link, Loss, Node
from dstcc.engine.split import LEAST_SEGMENTS, PLANNING

from .chance import S, log_uniform, maybe, ns
from .links import draw_loss, draw_outages, draw_source
from .trial import LOSSES, Trial

MOST_HOPS = 4
WHEN_FULL = ("drop-tail", "drop-head", "lowest-layer")


def over_nodes(seed: int, trial: Trial) -> Trial:
    """The same data and transport, over nodes that forward packets, split connections, or take custody."""
    rng = Random(f"nodes {seed}/{trial.number}")
    plain = _plain(trial.config)
    forwards = "custody" if trial.kind == "ltp" else "packets"
    if forwards == "packets" and maybe(rng, 0.3) and _may_split(plain):
        forwards = "split"
        plain = replace(
            plain,
            links=tuple(replace(link, flows=()) for link in plain.links),
            transport=replace(plain.transport, receive_buffer_bytes=0),
        )
    return replace(trial, config=replace(plain, links=_paths(rng, plain, forwards)))


def _plain(config: EngineConfig) -> EngineConfig:
    """Without what paths over nodes have not."""
    parameters = {name: dict(of) for name, of in config.transport.parameters.items()}
    parameters.get("ltp", {}).pop("green_from_layer", None)
    transport = replace(config.transport, parameters=parameters)
    links = tuple(replace(link, drops=(), queue_packets=0) for link in config.links)
    coding = None if transport.congestion == "ltp" else config.coding
    return replace(config, links=links, transport=transport, coding=coding, trace=False, restarts=None)


def _may_split(config: EngineConfig) -> bool:
    t = config.transport
    single = sum(link.subflows for link in config.links) == 1 and t.scheduler not in PLANNING
    return t.mode == "lanes" or (t.mode == "stream" and single)


def _paths(rng: Random, config: EngineConfig, forwards: str) -> tuple[Link, ...]:
    span_s = config.duration_ns / S
    full = config.transport.mss_bytes + config.transport.header_bytes
    objects = config.objects.payload_bytes
    layer = int(objects.max()) * 2 if len(objects) else 0
    subflows = sum(link.subflows for link in config.links)
    least = {"packets": full, "split": LEAST_SEGMENTS * full * subflows, "custody": max(layer, full)}[
        forwards
    ]
    nodes = [_node(rng, n, forwards, least, span_s) for n in range(rng.randint(1, 6))]
    hops: dict[tuple[int, int], Hop] = {}
    paths: list[Link] = []
    firsts: dict[int, int] = {}
    for number, link in enumerate(config.links):
        # rising numbers, so that a hop of two paths leads to one node
        row = sorted(rng.sample(range(len(nodes)), rng.randint(1, min(MOST_HOPS, len(nodes)))))
        onward = tuple(
            hops.setdefault((a, b), Hop(100 * a + b, nodes[a], _line(rng, f"h{a}-{b}", link, span_s)))
            for a, b in zip(row, [*row[1:], 99], strict=True)
        )
        first = firsts.setdefault(row[0], number)
        base = link if first == number else replace(paths[first], cross_traffic=(), flows=(), onward=())
        delay = base.delay_ns if first == number else base.first_delay_ns
        times = base.delay_t_ns if first == number else base.first_t_ns
        further = sum(hop.line.delay_ns[0] for hop in onward)
        paths.append(
            replace(
                base,
                subflows=link.subflows,
                delay_t_ns=times,
                delay_ns=tuple(d + further for d in delay),
                first_t_ns=times,
                first_delay_ns=delay,
                first_slope=base.delay_slope if first == number else base.first_slope,
                onward=onward,
                first_hop_of=first if first < number else -1,
            )
        )
    return tuple(paths)


def _node(rng: Random, number: int, forwards: str, least: int, span_s: float) -> Node:
    packets = forwards == "packets"
    storage = int(least * rng.choice((1, 3, 40, 10**4)))
    restarts = sorted(rng.uniform(0.05, 0.9) * span_s for _ in range(rng.choice((0, 0, 1, 2))))
    boot_s = rng.choice((0.0, 0.02)) * span_s
    times = restarts[:1] + [at for at in restarts[1:] if at > restarts[0] + boot_s]
    return Node(
        f"n{number}",
        number,
        forwards,
        rng.choice((0, storage)) if packets else storage,
        rng.choice(WHEN_FULL) if packets else "drop-tail",
        restart_ns=tuple(map(ns, times)),
        boot_ns=ns(boot_s),
        keeps_over_restart=forwards == "split" or maybe(rng, 0.5),
    )


def _line(rng: Random, name: str, like: Link, span_s: float) -> Link:
    rate_bps = like.rate_bps * log_uniform(rng, 0.3, 3)
    delay_s = like.delay_ns[0] / S * log_uniform(rng, 0.001, 1)
    return Link(
        name=name,
        rate_bps=rate_bps,
        up_rate_bps=like.up_rate_bps * log_uniform(rng, 0.3, 3),
        delay_t_ns=(0,),
        delay_ns=(ns(delay_s),),
        queue_bytes=max(3000, int(rate_bps * 2 * delay_s / 8 * log_uniform(rng, 0.02, 3))),
        up_queue_bytes=rng.choice((5_000, 10**7)),
        loss=draw_loss(rng, rng.choice(LOSSES), span_s) if maybe(rng, 0.5) else Loss(),
        up_loss=draw_loss(rng, rng.choice(LOSSES[:4]), span_s) if maybe(rng, 0.3) else Loss(),
        outages_ns=draw_outages(rng, span_s),
        up_outages_ns=draw_outages(rng, span_s) if maybe(rng, 0.2) else None,
        cross_traffic=(draw_source(rng, rate_bps, span_s),) if maybe(rng, 0.2) else (),
    )
