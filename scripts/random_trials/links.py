"""Random links: their losses, outages, delays, and who else is on them."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from dstcc.algorithms import CONGESTION
from dstcc.engine import NEVER_NS, CrossTraffic, Flow, FrameSchedule, Link, Loss
from dstcc.engine.config import SAME

from .chance import log_uniform, maybe, ns
from .trial import FOREVER_NS, LOSSES


def draw_loss(rng: Random, kind: str, duration_s: float) -> Loss:
    """A loss process of that kind, neither void nor hopeless."""
    if kind in ("packet", "periodic"):
        return Loss(kind, log_uniform(rng, 2e-4, 0.05))
    if kind == "ber":
        return Loss(kind, log_uniform(rng, 1e-8, 5e-6))
    if kind == "gilbert-elliott":
        p, r = log_uniform(rng, 1e-3, 0.05), log_uniform(rng, 0.05, 1)
        return Loss(kind, p=p, r=r, good=0.0, bad=rng.uniform(0.2, 0.9))
    if kind == "frames":
        times = [ns(duration_s * x) for x in (0, 0.3, 0.7)]
        steady = maybe(rng, 0.5)
        schedule = FrameSchedule(
            frame_bits=rng.choice([1, 1784, 8920]),
            t_ns=np.array(times, dtype=np.int64),
            ebn0_db=np.array([rng.uniform(-1, 3) for _ in times]),
            scintillation_index=np.array([0.0 if steady else rng.uniform(0, 1) for _ in times]),
            coherence_ns=ns(duration_s / 50) + 1,
            curve_from_db=-2.0,
            curve_step_db=1.0,
            log10_fer=np.array([0.0, -0.3, -1.0, -2.5, -4.5, -6.0]),
        )
        return Loss(kind, frames=schedule)
    return Loss()


def draw_outages(rng: Random, duration_s: float) -> tuple[tuple[int, int], ...]:
    """None, one or two; now and then the last has no end."""
    out, at = [], 0.0
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        begin = at + rng.uniform(0.05, 0.4) * duration_s
        at = begin + rng.uniform(0.02, 0.3) * duration_s
        out.append((ns(begin), ns(at) + 1))
    if out and maybe(rng, 0.2):
        out[-1] = (out[-1][0], FOREVER_NS)
    return tuple(out)


def draw_source(rng: Random, rate_bps: float, duration_s: float) -> CrossTraffic:
    """Somebody else's datagrams, or what a background flow's application writes."""
    on_s, off_s = rng.uniform(0.02, 0.3) * duration_s, rng.uniform(0, 0.2) * duration_s
    return CrossTraffic(
        rate_bps=rate_bps * rng.uniform(0.1, 0.6),
        packet_bytes=rng.randint(200, 1500),
        start_ns=ns(rng.uniform(0, 0.3) * duration_s),
        stop_ns=rng.choice([NEVER_NS, ns(0.8 * duration_s)]),
        on_ns=rng.choice([NEVER_NS, ns(on_s) + 1]),
        off_ns=ns(off_s),
        periods=rng.choice(["constant", "exponential", "pareto"]),
    )


def draw_flow(rng: Random, rate_bps: float, duration_s: float, *, own: bool) -> Flow:
    """A background flow, under the trial's ``own`` control or any other."""
    return Flow(
        congestion=SAME if own else rng.choice(CONGESTION),
        start_ns=ns(rng.uniform(0, 0.4) * duration_s),
        stop_ns=rng.choice([NEVER_NS, ns(0.9 * duration_s)]),
        payload_bytes=rng.choice([0, rng.randint(10_000, 1_000_000)]),
        source=draw_source(rng, rate_bps, duration_s) if maybe(rng, 0.3) else None,
    )


def draw_delay(rng: Random, delay_s: float, duration_s: float) -> dict[str, Any]:
    """Constant, or a table over the trial, straight or curved between its rows."""
    if maybe(rng, 0.6):
        return {"delay_t_ns": (0,), "delay_ns": (ns(delay_s),)}
    times = tuple(ns(duration_s * x) for x in (0, 0.4, 1.0))
    delays = tuple(ns(delay_s * rng.uniform(0.8, 1.2)) for _ in times)
    table: dict[str, Any] = {"delay_t_ns": times, "delay_ns": delays}
    if maybe(rng, 0.5):
        secants = [
            (b - a) / (u - t) for a, b, t, u in zip(delays, delays[1:], times, times[1:], strict=False)
        ]
        table["delay_slope"] = (secants[0], sum(secants) / 2, secants[1])
    return table


def draw_link(rng: Random, number: int, base: dict[str, float], trial: dict[str, Any]) -> Link:
    """A link near the rate and the delay of ``base``."""
    rate, duration_s = base["rate_bps"] * log_uniform(rng, 0.3, 3), base["duration_s"]
    delay_s = base["delay_s"] * log_uniform(rng, 0.5, 2)
    bdp = rate * 2 * delay_s / 8
    flows = (
        ()
        if trial["kind"] == "ltp"
        else tuple(
            draw_flow(rng, rate, duration_s, own=maybe(rng, 0.6 if trial["kind"] == "steered" else 0.3))
            for _ in range(rng.choice([0, 0, 0, 1, 2]))
        )
    )
    return Link(
        name=f"link{number}",
        rate_bps=rate,
        up_rate_bps=rate * log_uniform(rng, 0.02, 2),
        queue_bytes=max(3000, int(bdp * log_uniform(rng, 0.02, 3))),
        up_queue_bytes=rng.choice([5_000, 10**7]),
        loss=draw_loss(rng, trial["losses"][number % len(trial["losses"])], duration_s),
        up_loss=draw_loss(rng, rng.choice(LOSSES[:4]), duration_s) if maybe(rng, 0.5) else Loss(),
        outages_ns=draw_outages(rng, duration_s),
        up_outages_ns=draw_outages(rng, duration_s) if maybe(rng, 0.2) else None,
        cross_traffic=(draw_source(rng, rate, duration_s),) if maybe(rng, 0.2) else (),
        subflows=trial["subflows"],
        flows=flows,
        drops=tuple((n, rng.randint(1, 3)) for n in sorted(rng.sample(range(80), 5)))
        if maybe(rng, 0.1)
        else (),
        **draw_delay(rng, delay_s, duration_s),
    )
