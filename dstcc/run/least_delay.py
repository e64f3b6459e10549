"""The least playout delay at which the clairvoyant bound is 1: with less no sender has everything in time."""

from __future__ import annotations

from collections.abc import Mapping

from dstcc.engine import least_playout_delay_ns
from dstcc.errors import DstccError
from dstcc.scenario import Scenario, Source, draw_trial, engine_config

from .backends import Backend
from .trials import scenarios_of, trial_keys

NS_PER_S = 1e9


MOST_SEEDS = 10
"""Of most so many seeds it is looked for: each costs some bounds."""


def least_playout_delays(scenario: Scenario, source: Source, backend: Backend) -> dict[int, float | None]:
    """Of the first seeds: seed → seconds; ``None`` where the run ends before any delay is enough.

    Empty without deadlines. A seed whose links cannot be drawn is left out, as its trials fail and say why.
    """
    found: dict[int, float | None] = {}
    if scenario.playout.mode != "deadline":
        return found
    key = trial_keys(scenario)[0]
    one = scenarios_of(scenario)[key.setting]
    for seed in scenario.seeds[:MOST_SEEDS]:
        try:
            setup = draw_trial(one, source, seed)
            config = backend.oracle(engine_config(one, setup, key.congestion, key.scheduler))
        except DstccError:
            continue
        least_ns = least_playout_delay_ns(config, setup.playout_delay_ns, any_packets=backend.fills_packets)
        found[seed] = None if least_ns is None else least_ns / NS_PER_S
    return found


def documents(delays: Mapping[int, float | None]) -> tuple[dict[str, float | None], ...]:
    """As JSON has them."""
    return tuple({"seed": seed, "delay_s": delay} for seed, delay in delays.items())
