"""What holds of every trial, whatever is drawn; checked on its result, from outside the engine."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dstcc.engine import NEVER_NS, EngineConfig, EngineResult, Trace, clairvoyant_weight
from dstcc.layers import layer_weights
from dstcc.metrics import compute, play_by_deadline

SHARES = (
    "playback_ratio",
    "full_quality_ratio",
    "weighted_layers",
    "hol_blocking_ratio",
    "repair_ratio",
    "decoded_ratio",
)
"""Metrics from 0 to 1."""
TIMES = ("first_send_s", "last_delivery_s")
"""Totals without a value where nothing was delivered."""
AMOUNTS = (
    "hol_wait_s",
    "throughput_bps",
    "goodput_bps",
    "retransmitted_ratio",
    "sent_bytes",
    "delivered_bytes",
)
"""Metrics that are 0 or more."""


def breaches(config: EngineConfig, result: EngineResult) -> Iterator[str]:
    """A sentence for each thing that must not be."""
    yield from _objects(config, result)
    yield from _totals(config, result)
    yield from _samples(config, result)
    yield from _flows(config, result)
    yield from _packets(config, result)
    yield from _metrics(config, result)


def least_light_ns(config: EngineConfig) -> float:
    """A one-way delay that no packet can be faster than; a curve may run below its rows."""
    return min(min(link.delay_ns) * (0.5 if link.delay_slope else 1.0) for link in config.links)


def _objects(config: EngineConfig, result: EngineResult) -> Iterator[str]:
    objects, out = config.objects, result.objects
    light_ns = least_light_ns(config)
    sent, arrived, whole = out.first_sent_ns >= 0, out.first_arrival_ns >= 0, out.complete_ns >= 0
    recovered = np.zeros(len(sent), dtype=bool)
    if result.coding is not None:
        recovered = result.coding.recovered > 0
    payload, delivered = objects.payload_bytes, out.delivered_bytes
    rules = {
        "delivered bytes are not from 0 to the layer's": ~((delivered >= 0) & (delivered <= payload)),
        "whole, and not all of its bytes delivered": whole & (delivered != payload),
        "all bytes delivered, and not whole": ~whole & (delivered == payload),
        "arrived and never sent": arrived & ~sent & ~recovered,
        "delivered more than was sent": (delivered > out.sent_bytes) & ~recovered,
        "whole and never sent": whole & ~sent & ~recovered,
        "sent before its release": sent & (out.first_sent_ns < objects.release_ns),
        "arrived before light does": arrived & sent & (out.first_arrival_ns - out.first_sent_ns < light_ns),
        "whole before light from its release": whole & (out.complete_ns < objects.release_ns + light_ns),
        "whole before its first byte arrived": whole
        & arrived
        & (out.complete_ns < out.first_arrival_ns)
        & ~recovered,
        "whole after the end": whole & (out.complete_ns > result.end_ns),
        "a subflow that is not there": out.subflow >= sum(link.subflows for link in config.links),
        "retransmissions below 0": out.retransmissions < 0,
    }
    for rule, broken in rules.items():
        if broken.any():
            yield f"object {int(np.flatnonzero(broken)[0])}: {rule}"


def _totals(config: EngineConfig, result: EngineResult) -> Iterator[str]:
    total = result.totals
    of_layers = float(result.objects.sent_bytes.sum()) + total.repair_payload_bytes
    probes = (
        config.coding is not None and config.transport.mode == "coded"
    )  # repair for what may be there already
    rules = {
        "delivered in all is not the sum of the layers": total.delivered_payload_bytes
        != float(result.objects.delivered_bytes.sum()),
        "less sent in all than of the layers and repair": total.sent_payload_bytes < of_layers,
        "sent in all is not the sum of the layers": not probes and total.sent_payload_bytes != of_layers,
        "more arrived than was sent": total.arrived_payload_bytes > total.sent_payload_bytes,
        "more delivered than arrived or was recovered": total.delivered_payload_bytes
        > total.arrived_payload_bytes + total.recovered_payload_bytes,
        "more repeated than sent": total.retransmitted_payload_bytes > total.sent_payload_bytes,
        "fewer bytes on the wire than payload": total.sent_wire_bytes < total.sent_payload_bytes,
        "more arrived than the links carry": total.arrived_payload_bytes * 8
        > sum(link.rate_bps for link in config.links) * result.end_ns / 1e9 + 8 * config.transport.mss_bytes,
        "an end beyond the duration": result.end_ns > config.duration_ns,
    }
    yield from (f"totals: {rule}" for rule, broken in rules.items() if broken)
    for name, value in vars(total).items():
        if value is None:
            continue
        if value < 0 or (math.isnan(value) and name not in TIMES and total.arrived_payload_bytes > 0):
            yield f"totals: {name} is {value}"


def _samples(config: EngineConfig, result: EngineResult) -> Iterator[str]:
    s = result.samples
    counts = [s.cwnd_segments, s.inflight_segments, s.srtt_ns, s.min_rtt_ns, s.sent_segments, s.lost_segments]
    counts += [s.retransmitted_segments, s.delivered_bytes, s.queue_bytes]
    if any((column < 0).any() for column in counts) or not (s.pacing_bps >= 0).all():
        yield "samples: a count below 0"
    if len(s.t_ns) and (s.t_ns.min() <= 0 or (np.diff(s.t_ns) < 0).any()):
        yield "samples: times do not rise"
    light_ns = least_light_ns(config)
    tick_ns = (
        1e6 * config.transport.scale
    )  # timestamps, and round trips by them, are whole milliseconds (tcp/rtt.hpp)
    heard = s.min_rtt_ns > 0
    if heard.any() and s.min_rtt_ns[heard].min() < 2 * light_ns - tick_ns - 1:
        yield "samples: a round trip below twice the light time"
    limit = max(link.queue_bytes for link in config.links)
    if len(s.queue_bytes) and s.queue_bytes.max() > max(limit, 65_535 + 40):
        yield f"samples: a queue of {s.queue_bytes.max()} bytes, and at most {limit} have room"


def _flows(config: EngineConfig, result: EngineResult) -> Iterator[str]:
    for number, flow in enumerate(result.flows):
        if flow.delivered_bytes > flow.sent_bytes or flow.retransmitted_bytes > flow.sent_bytes:
            yield f"flow {number}: more delivered or repeated than sent"
        if 0 <= flow.complete_ns < flow.start_ns + min(config.links[flow.link].delay_ns) * 0.5:
            yield f"flow {number}: complete before light from its start"


def _packets(config: EngineConfig, result: EngineResult) -> Iterator[str]:
    """Of a traced trial: what arrived was sent, and as much earlier as light takes; no packet arrives twice."""
    logged = [one.trace for one in result.connections] if result.trace is None else [result.trace]
    for trace in logged:
        yield from _logged(config, trace)


def _logged(config: EngineConfig, trace: Trace) -> Iterator[str]:
    if (np.diff(trace.t_ns) < 0).any():
        yield "trace: times fall"
    light_ns = least_light_ns(config)
    columns = (trace.sender, trace.syn, trace.kind, trace.object, trace.number, trace.t_ns)
    for put, taken, what in ((0, 1, "data"), (2, 3, "an ACK")):
        sent, came = (trace.event == put) & (trace.fate == 0), trace.event == taken
        first: dict[tuple[int, ...], int] = {}
        for *name, t in zip(*(column[sent].tolist() for column in columns), strict=True):
            first.setdefault(tuple(name), t)
        for *name, t in zip(*(column[came].tolist() for column in columns), strict=True):
            if tuple(name) not in first:
                yield f"trace: {what} arrived that was never sent"
                return
            if t - first[tuple(name)] < light_ns:
                yield f"trace: {what} arrived {t - first[tuple(name)]} ns after it was first sent"
                return
        if int(came.sum()) > int(sent.sum()):
            yield f"trace: {what} arrived more often than it was sent"


def _metrics(config: EngineConfig, result: EngineResult) -> Iterator[str]:
    objects = config.objects
    if (objects.deadline_ns >= NEVER_NS).any():
        return
    layers = int(objects.layer.max()) + 1
    weights = layer_weights(objects.layer, layers)
    best = clairvoyant_weight(config, weights)
    playback = play_by_deadline(objects, result)
    played = playback.levels[objects.chunk] >= objects.layer
    weight = float(weights[played].sum())
    if weight > best * (1 + 1e-9):
        yield f"the clairvoyant bound {best} is beaten: {weight}"
    metrics = compute(objects, result, playback, best_weight=best, links=config.links)
    values = metrics.flat()
    for name in SHARES:
        value = values.get(name)
        if value is not None and not 0 <= value <= 1 + 1e-9:
            yield f"metric {name} is {value}"
    for name in AMOUNTS:
        value = values.get(name)
        if value is not None and not (value >= 0 and math.isfinite(value)):
            yield f"metric {name} is {value}"
    if abs(sum(metrics.layers_played) - 1) > 1e-9:
        yield f"metric layers_played sums to {sum(metrics.layers_played)}"
