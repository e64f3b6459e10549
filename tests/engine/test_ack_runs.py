"""ACKs of one link that let segments leave by a window, in runs, are what they are one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dstcc.engine import CrossTraffic, EngineConfig, Flow, Link, Loss, Objects, TcpConstants
from scripts.random_trials.draw import draw_trial

from . import net
from .both_engines import both

PACKETS = 20_000
RATE_BPS, RTT_S = 12e6, 0.5
"""500 packets of bandwidth and delay."""


def path(rate_bps: float = RATE_BPS, rtt_s: float = RTT_S, **knobs: object) -> Link:
    return net.link(rate_bps, rtt_s, **knobs)  # type: ignore[arg-type]


def file(
    *links: Link, law: str = "cubic", objects: Objects | None = None, **transport: object
) -> EngineConfig:
    """A file over one link whose last packet is short."""
    whole = objects or net.bulk(PACKETS * net.MSS - 700)
    return net.config(law, links or (path(),), objects=whole, **transport)  # type: ignore[arg-type]


def layers(chunks: int = 60) -> Objects:
    """Chunks of some hundred packets in three layers, faster than the link."""
    return net.live(chunks, (200 * net.MSS, 151 * net.MSS - 700, 75 * net.MSS + 1), chunk_s=0.3)


GROWING = replace(
    path(),
    delay_t_ns=(0, net.ns(1000)),
    delay_ns=(net.ns(RTT_S / 2), net.ns(RTT_S / 2 + 2)),
    delay_slope=(2e-3, 2e-3),
)
IN_RUNS: dict[str, EngineConfig] = {
    "a queue that is full now and then": file(),
    "a queue that is never full": file(path(queue_bdp=1e4)),
    "a shallow queue": file(path(queue_bdp=0.1)),
    "losses": file(path(loss=Loss("packet", 2e-4))),
    "ACKs that are lost": file(path(up_loss=Loss("packet", 0.05))),
    "a line of ACKs that is narrow": file(path(up_rate_bps=2e5)),
    "outages": file(path(outages_s=((5.3, 6.1), (12.0, 15.5)))),
    "a delay that grows": file(GROWING),
    "layers, the last packets of which are short": file(objects=layers()),
    "newreno": file(law="newreno"),
    "vegas": file(law="vegas"),
    "westwood": file(law="westwood"),
    "bic": file(law="bic"),
    "timers without ticks": file(constants=TcpConstants(jiffy_s=1e-9)),
    "no quick ACKs": file(constants=TcpConstants(quick_acks=0)),
    "little light": file(path(rtt_s=0.05)),
    "a queue of packets": file(replace(path(), queue_packets=300)),
    "many ticks of a slow clock": file(constants=TcpConstants(jiffy_s=0.1)),
}


@pytest.mark.parametrize("name", IN_RUNS)
def test_acks_in_runs_let_leave_what_they_do_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packets, runs = both(monkeypatch, IN_RUNS[name])
    assert packets.totals.data_packets > 10_000
    assert runs.totals.run_packets > 0.2 * runs.totals.data_packets
    assert runs.totals.events < packets.totals.events


def test_without_losses_events_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one a packet and every second's ACK are events."""
    packets, runs = both(monkeypatch, IN_RUNS["vegas"])
    assert packets.totals.events > 1.4 * packets.totals.data_packets
    assert runs.totals.events < 0.3 * packets.totals.data_packets
    assert runs.totals.run_packets > 0.9 * runs.totals.data_packets


BY_PACKET: dict[str, EngineConfig] = {
    "a pace": file(law="bbr"),
    "receivers that stamp": file(law="ledbat"),
    "a connection of two links": file(path(), path()),
    "two subflows of a link": file(replace(path(), subflows=2)),
    "somebody's connection": file(replace(path(), flows=(Flow("cubic"),))),
    "somebody's datagrams": file(replace(path(), cross_traffic=(CrossTraffic(1e5),))),
    "a receiver's window": file(receive_buffer_bytes=10**7),
    "lanes": file(mode="lanes", lanes_per_link=4, objects=layers()),
    "deadlines": file(objects=net.live(60, (200 * net.MSS,), chunk_s=0.3, playout_s=3.0)),
}


@pytest.mark.parametrize("name", BY_PACKET)
def test_where_others_have_a_say_each_segment_is_by_itself(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, runs = both(monkeypatch, BY_PACKET[name])
    assert runs.totals.run_packets == 0


def by_random(seed: int, number: int, law: str, *, larger: int = 1, link: int = 0) -> EngineConfig:
    """A random trial as a stream over one of its links alone, of layers so many times as large."""
    drawn = draw_trial(seed, number).config
    alone = replace(drawn.links[link], subflows=1, flows=(), cross_traffic=(), drops=(), onward=())
    transport = replace(
        drawn.transport,
        congestion=law,
        scheduler="minrtt",
        congestion_extension=None,
        scheduler_extension=None,
        mode="stream",
        apart=False,
        lanes_per_link=1,
        receive_buffer_bytes=0,
        layer_links=(),
        drop_late=False,
    )
    objects = replace(drawn.objects, payload_bytes=drawn.objects.payload_bytes * larger)
    return replace(drawn, links=(alone,), transport=transport, objects=objects, trace=False, restarts=None)


@pytest.mark.parametrize("law", ["cubic", "newreno", "vegas"])
def test_random_trials_are_the_same(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_runs = 0
    for number in range(40):
        config = by_random(381, number, law, larger=10)
        if config.transport.handshake and config.coding is None:
            in_runs += both(monkeypatch, config)[1].totals.run_packets > 0
    assert in_runs > 10


def test_behind_a_hole_a_segment_that_came_again_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no answer of its own where one that was held back went before it: the next ACK names it."""
    both(monkeypatch, by_random(3, 3651, "fixed", link=2))
