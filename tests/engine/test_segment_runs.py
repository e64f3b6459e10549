"""Segments that leave by themselves, in runs, and ACKs that only count, are what they are one by one.

With ``DSTCC_ENGINE=packets`` each is an event of its own: both engines must say the same of every trial.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from dstcc.engine import (
    CrossTraffic,
    EngineConfig,
    Flow,
    Link,
    Loss,
    TcpConstants,
    Transport,
)
from scripts.random_trials.draw import draw_trial

from . import net
from .both_engines import both

RATE_BPS, RTT_S = 1.2e6, 20.0
"""A full packet takes 10 ms."""
CHUNKS, PACKETS = 120, 40
"""In the base layer; a chunk has two and a half times as many."""
LOSS = Loss("packet", 0.002)
MANY = Loss("packet", 0.02)
BURSTS = Loss("gilbert-elliott", p=0.002, r=0.1, good=0.0, bad=0.5)


def path(rate_bps: float = RATE_BPS, rtt_s: float = RTT_S, **knobs: object) -> Link:
    return net.link(rate_bps, rtt_s, **knobs)  # type: ignore[arg-type]


def mission(
    *links: Link,
    law: str = "open-loop",
    lanes: int = 16,
    chunk_s: float = 1.0,
    playout_s: float | None = 70.0,
    constants: TcpConstants | None = None,
    scheduler: str = "minrtt",
    **told: tuple[float, ...],
) -> EngineConfig:
    """A chunk a second in three layers, the last packets of which are short."""
    sizes = (PACKETS * net.MSS, PACKETS * net.MSS - 700, PACKETS * net.MSS // 2 + 1)
    objects = net.live(CHUNKS, sizes, chunk_s=chunk_s, playout_s=playout_s)
    config = net.config("cubic", links or (path(),), objects=objects, duration_s=400.0, slot_s=7.0)
    sender = Transport(
        law,
        scheduler,
        mode="lanes",
        lanes_per_link=lanes,
        drop_late=playout_s is not None,
        scale=10.0,
        parameters={law: told},
        constants=constants or TcpConstants(),
    )
    return replace(config, transport=sender)


RISING = replace(
    path(loss=LOSS),
    delay_t_ns=(0, net.ns(1000)),
    delay_ns=(net.ns(RTT_S / 2), net.ns(RTT_S / 2 + 2)),
    delay_slope=(2e-3, 2e-3),
)
IN_RUNS: dict[str, EngineConfig] = {
    "no losses": mission(),
    "losses": mission(path(loss=LOSS)),
    "many, and of ACKs, too": mission(path(loss=MANY, up_loss=MANY)),
    "bursts": mission(path(loss=BURSTS)),
    "two links": mission(path(loss=LOSS, up_loss=LOSS), path(0.6e6, 31.7, loss=MANY)),
    "three links": mission(path(loss=LOSS), path(0.6e6, 31.7, loss=MANY), path(0.5e6, 8.3)),
    "one lane": mission(path(loss=LOSS), path(loss=LOSS), lanes=1, playout_s=None),
    "a lane of a link alone": mission(path(loss=LOSS), lanes=1, playout_s=None),
    "pinned layers, which go before others": mission(
        path(loss=LOSS), path(0.6e6, 31.7, loss=LOSS), scheduler="layer-pinned"
    ),
    "ACKs of one segment": mission(path(0.1e6, loss=MANY), path(0.05e6, loss=MANY), chunk_s=9.0),
    "ACKs of forty segments": mission(path(30e6, loss=LOSS), chunk_s=0.04, playout_s=None),
    "ACKs of forty-five segments": mission(path(90e6, loss=LOSS), chunk_s=0.02, playout_s=None),
    "outages": mission(path(loss=LOSS, outages_s=((40.3, 52.1), (90.0, 130.5))), path(loss=LOSS)),
    "an outage that nobody announced": mission(
        replace(path(loss=LOSS), unannounced_ns=((net.ns(41.3), net.ns(95.9)),)), path(0.9e6, 14.0)
    ),
    "a delay that grows": mission(RISING, path()),
    "a rate that is told, below the line's": mission(path(loss=LOSS), rate_bps=(0.9 * RATE_BPS,)),
    "a rate that is told, above the line's": mission(path(loss=LOSS), rate_bps=(1.3 * RATE_BPS,)),
    "more than goes": mission(path(loss=LOSS), path(0.3e6, 31.0, loss=LOSS), chunk_s=0.4, playout_s=16.0),
    "ACKs that wait for no tick": mission(path(loss=LOSS), constants=TcpConstants(jiffy_s=1e-9)),
    "no quick ACKs": mission(path(loss=LOSS), path(), constants=TcpConstants(quick_acks=0)),
    "little light": mission(path(rtt_s=0.05, loss=LOSS), path(rtt_s=0.3, loss=MANY), playout_s=3.0),
}


@pytest.mark.parametrize("name", IN_RUNS)
def test_segments_that_leave_by_themselves_are_what_they_are_one_by_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets, runs = both(monkeypatch, IN_RUNS[name])
    assert packets.totals.data_packets > 3_000
    assert runs.totals.run_packets > 0.5 * runs.totals.data_packets
    assert runs.totals.events < packets.totals.events


def test_behind_a_hole_events_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A packet is less than an event there, and two and a half and more one by one."""
    config = mission(path(0.1e6, loss=MANY), path(0.05e6, loss=MANY), chunk_s=9.0)
    packets, runs = both(monkeypatch, config)
    assert packets.totals.events > 2.5 * packets.totals.data_packets
    assert runs.totals.events < 0.9 * packets.totals.data_packets


BY_PACKET: dict[str, EngineConfig] = {
    "a window": mission(law="cubic"),
    "a rate that follows ACKs": mission(law="bbr-scaled"),
    "somebody's connection": mission(replace(path(), flows=(Flow("cubic"),))),
    "somebody's datagrams": mission(replace(path(), cross_traffic=(CrossTraffic(1e5),))),
    "two subflows of a link": mission(replace(path(), subflows=2)),
    "segments of a stream": replace(
        mission(), transport=replace(mission().transport, mode="stream", lanes_per_link=1)
    ),
    "layers of a stream, whose places follow each other": replace(
        mission(path(), path(), scheduler="layer-pinned"),
        transport=replace(mission(scheduler="layer-pinned").transport, mode="stream", lanes_per_link=1),
    ),
    "a receiver's window": replace(
        mission(), transport=replace(mission().transport, receive_buffer_bytes=10**7)
    ),
    "a scheduler that waits": mission(path(), path(), scheduler="blest"),
}


@pytest.mark.parametrize("name", BY_PACKET)
def test_where_others_or_acks_decide_each_segment_is_by_itself(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, runs = both(monkeypatch, BY_PACKET[name])
    assert runs.totals.run_packets == 0


def by_random(seed: int, number: int, scheduler: str, lanes: int) -> EngineConfig:
    """A random trial over lines of its own."""
    drawn = draw_trial(seed, number).config
    links = tuple(
        replace(one, subflows=1, flows=(), cross_traffic=(), drops=(), onward=()) for one in drawn.links
    )
    transport = replace(
        drawn.transport,
        congestion="open-loop",
        scheduler=scheduler,
        congestion_extension=None,
        scheduler_extension=None,
        mode="lanes",
        apart=False,
        lanes_per_link=lanes,
        receive_buffer_bytes=0,
        layer_links=(),
    )
    return replace(drawn, links=links, transport=transport, trace=False, restarts=None)


@pytest.mark.parametrize(
    ("seed", "number", "scheduler", "lanes"),
    [
        pytest.param(1, 41, "minrtt", 2, id="ACKs come before the next of what goes by itself"),
        pytest.param(2, 132, "round-robin", 16, id="the last layers are given up"),
        pytest.param(2, 8141, "minrtt", 2, id="what a subflow owes goes over another first"),
        pytest.param(2, 8451, "minrtt", 1, id="copies fill a hole"),
        pytest.param(2, 15714, "minrtt", 16, id="copies fill a hole of three links"),
        pytest.param(5, 511, "minrtt", 16, id="packets of a run wait"),
        pytest.param(5, 813, "minrtt", 16, id="a pace lets others go between ACKs"),
        pytest.param(5, 131, "minrtt", 2, id="timeouts follow ACKs that count"),
        pytest.param(5, 723, "round-robin", 2, id="a probe is due as a hole shows"),
        pytest.param(5, 704, "minrtt", 2, id="a probe counts from the last of a run"),
    ],
)
def test_random_trials_in_which_it_matters(
    seed: int, number: int, scheduler: str, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, runs = both(monkeypatch, by_random(seed, number, scheduler, lanes))
    assert runs.totals.run_packets > 0
