"""What a trial has beyond :mod:`.draw`: channels that change, outages that nobody announced, jumps of the delay,
others' flows and restarts beside coded packets and ``ltp``.

These draws have streams of their own, so that a trial without them is the same trial.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from dstcc.engine import Coding, EngineConfig, Link, Loss

from .chance import log_uniform, maybe, ns
from .draw import draw_restarts, draw_trial
from .links import draw_flow
from .trial import Trial


def changing_trial(seed: int, number: int) -> Trial:
    """The trial of that number, its links with what may change on them."""
    trial = draw_trial(seed, number)
    rng = Random(f"changing {seed}/{number}")
    config = with_changes(rng, trial.config)
    config = with_company(Random(f"company {seed}/{number}"), trial, config)
    return replace(trial, config=with_rates(Random(f"rates {seed}/{number}"), config))


def with_changes(rng: Random, config: EngineConfig) -> EngineConfig:
    """The trial with other links."""
    links = []
    for link in config.links:
        changed = link
        if maybe(rng, 0.25):
            changed = replace(changed, loss=_schedule(rng, config.duration_ns))
        if maybe(rng, 0.25):
            times, shares = _steps(rng, config.duration_ns)
            changed = replace(changed, rate_t_ns=times, rate_share=shares)
        if maybe(rng, 0.2):
            changed = replace(changed, unannounced_ns=_outages(rng, config.duration_ns))
        if maybe(rng, 0.15) and not link.delay_slope:
            changed = _jump(rng, changed, config.duration_ns)
        if maybe(rng, 0.15):
            changed = replace(changed, queue_bytes=rng.choice([1500, 4000, 10**9]))
        links.append(changed)
    return replace(config, links=tuple(links))


def with_company(rng: Random, trial: Trial, config: EngineConfig) -> EngineConfig:
    """Coded packets and ``ltp``, which :mod:`.draw` leaves alone, with TCP flows of others or a sender that restarts;
    and ``ltp`` with matrices."""
    if trial.kind not in ("coded", "ltp"):
        return config
    if trial.kind == "ltp" and maybe(rng, 0.4):
        layers = int(config.objects.layer.max()) + 1
        none = np.zeros(0, dtype=np.int64)
        block_ns = max(1, round(config.duration_ns * log_uniform(rng, 0.002, 0.2)))
        config = replace(config, coding=Coding(none, block_ns, (rng.choice([0.05, 0.3]),) * layers))
    if maybe(rng, 0.5):
        seconds = config.duration_ns / 1e9
        links = [
            replace(
                link,
                flows=tuple(
                    draw_flow(rng, link.rate_bps, seconds, own=False) for _ in range(rng.choice([0, 1, 2]))
                ),
            )
            for link in config.links
        ]
        return replace(config, links=tuple(links), restarts=None)
    if trial.kind == "coded":
        return replace(config, restarts=draw_restarts(rng, "tcp", config))
    return config


def with_rates(rng: Random, config: EngineConfig) -> EngineConfig:
    """The trial with rates of acknowledgements that change on some of its links, and some that nobody announced."""
    links = []
    for link in config.links:
        changed = link
        if maybe(rng, 0.2):
            times, shares = _steps(rng, config.duration_ns)
            changed = replace(changed, up_rate_t_ns=times, up_rate_share=shares)
        if maybe(rng, 0.2):
            times, shares = _steps(rng, config.duration_ns)
            changed = replace(changed, hidden_t_ns=times, hidden_share=shares)
        links.append(changed)
    return replace(config, links=tuple(links))


def _times(rng: Random, length_ns: int, most: int) -> tuple[int, ...]:
    """From 0 on, rising."""
    inner = {rng.randrange(1, max(2, length_ns)) for _ in range(rng.randint(1, most))}
    return (0, *sorted(inner))


def _schedule(rng: Random, length_ns: int) -> Loss:
    times = _times(rng, length_ns, 5)
    return Loss(
        "schedule",
        t_ns=times,
        rates=tuple(rng.choice([0.0, log_uniform(rng, 1e-4, 0.5), 1.0]) for _ in times),
    )


def _steps(rng: Random, length_ns: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    times = _times(rng, length_ns, 6)
    return times, tuple(log_uniform(rng, 0.02, 1.0) for _ in times)


def _outages(rng: Random, length_ns: int) -> tuple[tuple[int, int], ...]:
    edges = sorted({rng.randrange(1, max(8, length_ns)) for _ in range(4)})
    return tuple((edges[i], edges[i + 1]) for i in range(0, len(edges) - 1, 2))


def _jump(rng: Random, link: Link, length_ns: int) -> Link:
    """A path change: the delay goes to another within a hundredth of the trial, falling no faster than time passes."""
    before = link.delay_ns[0]
    after = max(1, round(before * log_uniform(rng, 0.3, 3)))
    at = rng.randrange(1, max(2, length_ns))
    took = max(length_ns // 100, round(1.2 * (before - after)), ns(1e-6)) + 1
    return replace(link, delay_t_ns=(at, at + took), delay_ns=(before, after), delay_slope=())
