"""Coded packets that follow one another are not chosen anew; each has the times that it would have by itself.

With ``DSTCC_ENGINE=packets`` the engine looks at everything for each: both must say the same of every trial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dstcc.engine import (
    Coding,
    CrossTraffic,
    EngineConfig,
    Flow,
    Link,
    Loss,
    Transport,
)
from scripts.random_trials.changing import changing_trial
from scripts.random_trials.draw import draw_trial
from scripts.random_trials.trial import Trial

from . import net
from .both_engines import both

RATE_BPS, RTT_S = 12e6, 6.0
"""A full packet takes 1 ms."""
CHUNKS, PACKETS = 40, 300
BLOCK_CHUNKS = 5


def path(**knobs: object) -> Link:
    return net.link(RATE_BPS, RTT_S, **knobs)  # type: ignore[arg-type]


def mission(
    *links: Link,
    law: str = "open-loop",
    repair: tuple[float, ...] | None = None,
    handshake: bool = False,
    **told: float,
) -> EngineConfig:
    """A chunk a second in two layers, of 300 packets each and 450 of the other; a block is five of them."""
    sizes = (PACKETS * net.MSS - 1, PACKETS * net.MSS * 3 // 2)
    objects = net.live(CHUNKS, sizes, playout_s=30.0)
    config = net.config("cubic", links or (path(),), objects=objects, duration_s=90.0)
    return replace(
        config,
        transport=Transport(
            law,
            "minrtt",
            mode="coded",
            layer_first=True,
            handshake=handshake,
            parameters={law: {name: (value,) for name, value in told.items()}},
        ),
        coding=Coding(objects.chunk // BLOCK_CHUNKS, net.ns(BLOCK_CHUNKS), repair),
    )


LOSSES = {
    "none": Loss(),
    "packet": Loss("packet", 0.01),
    "bursts": Loss("gilbert-elliott", p=0.002, r=0.1, good=0.0, bad=0.5),
}
RISING = replace(
    path(),
    delay_t_ns=(0, net.ns(1000)),
    delay_ns=(net.ns(RTT_S / 2), net.ns(RTT_S / 2 + 2)),
    delay_slope=(2e-3, 2e-3),
)
CHANGED: dict[str, EngineConfig] = {
    **{f"loss {name}": mission(path(loss=loss, up_loss=loss)) for name, loss in LOSSES.items()},
    "two links": mission(path(loss=LOSSES["packet"]), path()),
    "three subflows": mission(replace(path(loss=LOSSES["packet"]), subflows=3), path()),
    "paced": mission(path(loss=LOSSES["packet"]), path(), law="paced"),
    "paced, told": mission(path(), law="paced", told_rates=1.0),
    "reports that take longer than two packets": mission(
        path(up_rate_bps=0.012 * RATE_BPS), path(up_rate_bps=0.018 * RATE_BPS), law="paced", told_rates=1.0
    ),
    "a share of repair": mission(path(loss=LOSSES["bursts"]), path(), repair=(0.2, 0.05)),
    "a handshake": mission(path(loss=LOSSES["packet"]), path(), handshake=True),
    "outages": mission(
        replace(path(), outages_ns=((net.ns(3.2), net.ns(5.1)), (net.ns(9), net.ns(20.5)))), path()
    ),
    "an outage that nobody announced": mission(
        replace(path(), unannounced_ns=((net.ns(12.3), net.ns(22.9)),)), path()
    ),
    "a delay that grows": mission(RISING, path()),
    "reports over an uplink that slows down": mission(
        replace(path(), up_rate_t_ns=(0, net.ns(4.5), net.ns(31)), up_rate_share=(1.0, 0.05, 0.5)),
        law="paced",
    ),
    "reports in contacts of an uplink": mission(
        replace(path(), up_outages_ns=((net.ns(5.13), net.ns(8.3)), (net.ns(20.07), net.ns(22)))),
        path(),
        law="paced",
    ),
    "ACKs that wait for others": mission(replace(path(), up_rate_bps=0.02 * RATE_BPS), path()),
    "repair that comes before source packets": mission(
        path(loss=LOSSES["packet"]), net.link(RATE_BPS, 4 * RTT_S, loss=LOSSES["packet"])
    ),
    "paced, over a hundredth of the distance": mission(
        net.link(RATE_BPS, 0.1, loss=LOSSES["packet"]), net.link(RATE_BPS, 0.1), law="paced"
    ),
    "somebody's datagrams": mission(replace(path(), cross_traffic=(CrossTraffic(1e6),))),
}
TOO_MUCH: dict[str, EngineConfig] = {
    law: replace(config, objects=net.live(CHUNKS, (700 * net.MSS, 900 * net.MSS), playout_s=9.0))
    for law in ("open-loop", "paced")
    for config in (mission(path(loss=LOSSES["packet"], outages_s=((11.0, 14.0),)), law=law),)
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_follows_without_a_question_is_what_it_is_packet_by_packet(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets, runs = both(monkeypatch, CHANGED[name])
    assert packets.totals.data_packets > 20_000
    assert runs.totals.run_packets > 0.7 * runs.totals.data_packets
    assert runs.totals.events < packets.totals.events / 2


def test_packets_of_interleaved_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each word counts by itself; few of them stand in one record."""
    config = mission(
        path(), path(loss=LOSSES["packet"], up_rate_bps=0.01 * RATE_BPS), law="paced", repair=(0.3, 0.1)
    )
    assert config.coding is not None
    both(monkeypatch, replace(config, coding=replace(config.coding, word_packets=20_000, words=(3, 2))))


@pytest.mark.parametrize("law", TOO_MUCH)
def test_where_not_all_can_be_sent_each_choice_is_the_same(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, runs = both(monkeypatch, TOO_MUCH[law])
    assert runs.objects.given_up.any()
    assert runs.totals.run_packets > 0.9 * runs.totals.data_packets


def test_packets_that_come_later_than_an_ack_is_put_off_have_one_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A full packet takes 60 ms, and an ACK waits for a second one for 40."""
    packets, runs = both(monkeypatch, mission(path(), rate_bps=RATE_BPS / 60))
    assert runs.totals.run_packets > 0.4 * packets.totals.data_packets
    assert packets.totals.rtt_samples > 0.9 * packets.totals.data_packets


BY_PACKET: dict[str, EngineConfig] = {
    "somebody's connection": mission(replace(path(), flows=(Flow("cubic"),))),
    "a window": mission(path(), law="cubic"),
}


@pytest.mark.parametrize("name", BY_PACKET)
def test_where_others_or_a_window_decide_each_packet_is_by_itself(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, runs = both(monkeypatch, BY_PACKET[name])
    assert runs.totals.run_packets == 0


def by_random(draw: Callable[[int, int], Trial], number: int, law: str) -> EngineConfig:
    """A random trial under that law."""
    drawn = draw(1, number).config
    assert drawn.coding is not None
    handshake = law == "open-loop" and drawn.transport.handshake
    transport = replace(
        drawn.transport,
        congestion=law,
        congestion_extension=None,
        handshake=handshake,
        layer_first=not handshake,
    )
    return replace(drawn, transport=transport)


def test_what_waits_beside_free_subflows_is_offered_to_them_with_each_ack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one subflow sends repair, two are free, and an object for which they were too late has become too old."""
    both(monkeypatch, by_random(draw_trial, 785, "open-loop"))


def test_reports_take_as_long_as_an_uplink_whose_rate_changes_lets_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its rate falls to a fraction while packets come at equal distances."""
    both(monkeypatch, by_random(lambda _, number: changing_trial(7, number), 1535, "paced"))


@pytest.mark.parametrize("number", [135, 295])
def test_no_run_goes_on_over_a_path_that_rests(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line is away; or nothing of its packets is in flight, so that its rate may be another."""
    both(monkeypatch, by_random(draw_trial, number, "paced"))


@pytest.mark.parametrize("away_s", [((3000, 9000),), ((700, 1400), (2100, 2900))])
def test_what_is_acknowledged_once_an_uplink_is_back_is_heard_of_one_by_one(
    away_s: tuple[tuple[int, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = net.live(400, (125_000, 87_500, 62_500), chunk_s=10.0, playout_s=1500.0)
    away = tuple((net.ns(begin), net.ns(end)) for begin, end in away_s)
    uplink = {
        "up_rate_bps": 4000.0,
        "up_outages_ns": away,
        "queue_bytes": 10**7,
        "loss": Loss("packet", 0.02),
    }
    links = tuple(net.link(rate, rtt, **uplink) for rate, rtt in ((200e3, 400.0), (150e3, 240.0)))  # type: ignore[arg-type]
    config = net.config("cubic", links, objects=objects, duration_s=9000.0, slot_s=30.0)
    sender = Transport("open-loop", "minrtt", mode="coded", layer_first=True, drop_late=True, handshake=False)
    both(monkeypatch, replace(config, transport=sender, coding=Coding(objects.chunk // 6, net.ns(60), None)))


@pytest.mark.parametrize("rates", [(250e3, 150e3), (200e3, 200e3, 200e3)])
def test_an_answer_at_its_own_pace_lets_a_subflow_go_first(
    rates: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Packets of 48 and 80 ms (60 ms), light times and answers of whole milliseconds: paces and answers come together.
    objects = net.live(120, (150_000, 112_500, 75_000), chunk_s=10.0, playout_s=1300.0)
    losses = [Loss("packet", share) for share in (0.05, 0.02, 0.02)]
    links = tuple(
        net.link(rate, rtt, up_rate_bps=200.0, queue_bytes=10**8, loss=loss, up_loss=loss)
        for rate, rtt, loss in zip(rates, (400.0, 200.0, 200.0), losses, strict=False)
    )
    for seed in range(1, 7):
        config = net.config("cubic", links, objects=objects, duration_s=2000.0, slot_s=50.0, seed=seed)
        sender = Transport("open-loop", "minrtt", mode="coded", layer_first=True, handshake=False, scale=40.0)
        both(
            monkeypatch,
            replace(config, transport=sender, coding=Coding(objects.chunk // 9, net.ns(90), None)),
        )


@pytest.mark.parametrize("law", ["open-loop", "paced"])
@pytest.mark.parametrize(
    "first", [5, *(pytest.param(first, marks=pytest.mark.slow) for first in (305, 605, 905))]
)
@pytest.mark.parametrize("draw", [draw_trial, changing_trial])
def test_random_trials_are_those_by_packet(
    draw: Callable[[int, int], Trial], first: int, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = 0.0
    for number in range(first, first + 300, 20):
        config = by_random(draw, number, law)
        try:
            _, runs = both(monkeypatch, config)
        except ValueError:  # a random block may be too large for its code, which is refused
            continue
        shares += runs.totals.run_packets / max(runs.totals.data_packets, 1)
    assert shares > 1
