"""Segments of ``ltp`` that nothing distinguishes go as runs; each has the times that it would have by itself.

With ``DSTCC_ENGINE=packets`` the engine takes one after another: both must say the same of every trial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import (
    Coding,
    CrossTraffic,
    EngineConfig,
    Flow,
    Link,
    Loss,
    Transport,
    simulate,
)
from scripts.random_trials.changing import changing_trial
from scripts.random_trials.digest import COST
from scripts.random_trials.draw import draw_trial
from scripts.random_trials.trial import Trial

from . import net
from .both_engines import both

RATE_BPS, RTT_S = 12e6, 10.0
"""A full segment takes 1 ms."""
BLOCKS, SEGMENTS = 24, 600


def path(**knobs: object) -> Link:
    return net.link(RATE_BPS, RTT_S, **knobs)  # type: ignore[arg-type]


def mission(*links: Link, **told: float) -> EngineConfig:
    """Blocks of 600 segments, one a second, less a byte of the last."""
    objects = net.live(BLOCKS, (SEGMENTS * net.MSS - 1,), playout_s=60.0)
    parameters = {"ltp": {name: (value,) for name, value in told.items()}}
    config = net.config("cubic", links or path(), objects=objects, duration_s=90.0)
    return replace(config, transport=Transport("ltp", "none", parameters=parameters))


LOSSES = {
    "none": Loss(),
    "packet": Loss("packet", 0.01),
    "bit": Loss("ber", 1e-6),
    "periodic": Loss("periodic", 1 / 97),
    "bursts": Loss("gilbert-elliott", p=0.002, r=0.1, good=0.0, bad=0.5),
}
CHANGED: dict[str, EngineConfig] = {
    **{f"loss {name}": mission(path(loss=loss)) for name, loss in LOSSES.items()},
    "two links": mission(path(loss=LOSSES["packet"]), path()),
    "outages": mission(replace(path(), outages_ns=((net.ns(3.2), net.ns(5.1)), (net.ns(9), net.ns(20.5))))),
    "an outage that nobody announced": mission(replace(path(), unannounced_ns=((net.ns(2.3), net.ns(2.9)),))),
    "another rate": mission(replace(path(), rate_t_ns=(0, net.ns(4.4)), rate_share=(0.7, 1.0))),
    "slower than the line": mission(path(loss=LOSSES["packet"]), rate_bps=7e6),
    "faster than the line": mission(replace(path(), queue_bytes=9_000), rate_bps=17e6),
    "green": mission(path(loss=LOSSES["packet"]), green_from_layer=0),
    "repair segments": replace(
        mission(path(loss=LOSSES["packet"])), coding=Coding(np.zeros(0, dtype=np.int64), net.ns(3), (0.05,))
    ),
    "too late for some": replace(
        mission(path(outages_s=((2.0, 18.0),))),
        objects=net.live(BLOCKS, (SEGMENTS * net.MSS,), playout_s=9.0),
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_run_gives_what_its_segments_give_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packets, runs = both(monkeypatch, CHANGED[name])
    assert packets.totals.data_packets > 5_000
    assert runs.totals.run_packets > 0.7 * runs.totals.data_packets
    assert runs.totals.events < packets.totals.events / 3


def test_a_block_costs_as_many_events_as_it_has_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    _, runs = both(monkeypatch, replace(mission(path()), slot_ns=net.ns(20)))
    assert runs.totals.run_packets >= BLOCKS * (SEGMENTS - 10)
    assert runs.totals.events < 20 * BLOCKS


BY_PACKET: dict[str, EngineConfig] = {
    "somebody's datagrams": mission(replace(path(), cross_traffic=(CrossTraffic(1e6),))),
    "somebody's connection": mission(replace(path(), flows=(Flow("cubic"),))),
}


@pytest.mark.parametrize("name", BY_PACKET)
def test_on_a_link_that_others_use_each_segment_is_by_itself(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets, runs = both(monkeypatch, BY_PACKET[name])
    assert runs.totals.run_packets == 0
    assert runs.totals.events == packets.totals.events


@pytest.mark.parametrize("first", range(9, 1_209, 300))
@pytest.mark.parametrize("draw", [draw_trial, changing_trial])
def test_random_trials_are_those_by_packet(
    draw: Callable[[int, int], Trial], first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = 0.0
    for number in range(first, first + 300, 10):
        config = draw(1, number).config
        assert config.transport.congestion == "ltp"
        try:
            _, runs = both(monkeypatch, config)
        except ValueError as error:  # a random block may be too large for its code, which is refused
            assert config.coding is not None, error
            continue
        shares += runs.totals.run_packets / max(runs.totals.data_packets, 1)
    assert shares > 5


def test_the_engine_knows_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTCC_ENGINE", "segments")
    with pytest.raises(ValueError, match='DSTCC_ENGINE is "segments"; it may be "runs" or "packets"'):
        simulate(mission())


def test_that_the_engine_ran_by_packet_is_a_matter_of_cost() -> None:
    assert "run_packets" in COST
