"""What a coded sender asks after a restart (``coding/asking.cpp``): what it sent whole and nobody acknowledged is sent
again only where the first reports do not say that it is there.

As in ``test_restarts.py``: 100 packets a second, light of 5 s, 40 packets a second of video and a tenth of repair; the
sender stops at 49.9 s and is up at 56.9 s. Chunk k is captured at k + 1 s and sent within 0.44 s: chunks 39 to 48 are
sent whole and not yet acknowledged, and the first report is back at 66.9 s.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import Coding, EngineConfig, EngineResult, Loss, Restarts, simulate
from dstcc.run.datagrams import ACK_SENT, Datagrams
from tests.engine.net import MSS, S, link, live, ns
from tests.engine.net import config as net_config
from tests.engine.test_restarts import CODED, PACKETS, RATE_BPS, config

UP_S, ANSWER_S = 56.9, 66.9
HELD = range(39, 49)


def cut(from_s: float, to_s: float) -> EngineConfig:
    """What leaves then is lost, and nobody knows."""
    line = link(RATE_BPS, 10.0, queue_bdp=3, unannounced_ns=((ns(from_s), ns(to_s)),))
    return config(links=(line,), **CODED)


def sent_packets(result: EngineResult) -> list[int]:
    packets: list[int] = (result.objects.sent_bytes // MSS).tolist()
    return packets


def test_what_arrives_is_not_sent_again() -> None:
    result = simulate(config(**CODED))
    assert sent_packets(result) == [PACKETS] * 80
    assert (result.objects.complete_ns >= 0).all() and not result.objects.given_up.any()
    complete_s = result.objects.complete_ns / S
    assert complete_s[list(HELD)] == pytest.approx(np.array(HELD) + 1.4 + 5, abs=0.2)
    assert complete_s[49] == pytest.approx(UP_S + 0.4 + 5, abs=0.2), "what was never sent does not wait"
    assert result.end_ns < ns(ANSWER_S + 25), "and nothing is waited for in the end"


def test_what_does_not_arrive_goes_again_once_that_is_known() -> None:
    result = simulate(cut(43.0, 46.0))
    lost = [42, 43, 44]
    assert sent_packets(result) == [2 * PACKETS if k in lost else PACKETS for k in range(80)]
    complete_s = result.objects.complete_ns[lost] / S
    assert (complete_s > ANSWER_S + 5).all() and (complete_s < ANSWER_S + 9).all()


def test_three_reports_say_it() -> None:
    """Ten layers take two bytes."""
    result = simulate(replace(config(**CODED), trace=True))
    second = result.connections[1]
    assert len(second.there_ns) == len(HELD)
    datagrams = Datagrams(second.trace, second.objects, MSS, second.there_ns)
    rows = np.flatnonzero(second.trace.event == ACK_SENT).tolist()
    said = [datagrams[row].header for row in rows[:5]]
    answers = [struct.unpack_from("<H", header, 30)[0] for header in said]
    assert answers == [2, 2, 2, 0, 0] and all(header[-2:] == b"\xff\x03" for header in said[:3])


def test_what_shares_a_block_with_others_goes_with_them() -> None:
    """Blocks of five chunks: of that of chunks 45 to 49 no repair was sent."""
    wide: dict[str, Any] = {**CODED, "coding": Coding(np.arange(80) // 5, 5 * S, (0.1,))}
    again = [k for k, packets in enumerate(sent_packets(simulate(config(**wide)))) if packets > PACKETS]
    assert again == [45, 46, 47, 48]


def test_what_is_too_late_for_an_answer_is_given_up() -> None:
    """A playout delay of 16 s: chunk 44 must leave by 56 s, and that it is lost cannot be known by then."""
    objects = config(**CODED).objects
    due = replace(objects, deadline_ns=objects.release_ns + ns(16.0))
    made = replace(cut(43.0, 46.0), objects=due)
    result = simulate(replace(made, transport=replace(made.transport, drop_late=True)))
    assert sent_packets(result)[39:49] == [PACKETS] * 10
    missing = np.flatnonzero(result.objects.complete_ns < 0).tolist()
    assert missing == [42, 43, 44] and result.objects.given_up[missing].all()


def test_where_nothing_is_heard_what_is_too_late_is_given_up() -> None:
    objects = config(**CODED).objects
    due = replace(objects, deadline_ns=objects.release_ns + ns(30.0))
    line = link(
        RATE_BPS,
        10.0,
        queue_bdp=3,
        unannounced_ns=((ns(43.0), ns(46.0)),),
        up_outages_ns=((ns(50.0), ns(900.0)),),
    )
    made = replace(config(links=(line,), **CODED), objects=due)
    result = simulate(replace(made, transport=replace(made.transport, drop_late=True)))
    assert np.flatnonzero(result.objects.complete_ns < 0).tolist() == [42, 43, 44]
    assert result.objects.given_up[[42, 43, 44]].all()


def test_who_has_nothing_to_send_asks_all_the_same() -> None:
    """All 80 chunks were sent when it restarts."""
    result = simulate(config(restart_s=(81.0,), **CODED))
    assert sent_packets(result) == [PACKETS] * 80 and (result.objects.complete_ns >= 0).all()
    lossy = link(RATE_BPS, 10.0, queue_bdp=3, unannounced_ns=((ns(76.0), ns(77.0)),))
    result = simulate(config(links=(lossy,), restart_s=(81.0,), **CODED))
    assert sent_packets(result) == [2 * PACKETS if k == 75 else PACKETS for k in range(80)]
    assert (result.objects.complete_ns >= 0).all()


def test_where_all_answers_are_lost_what_was_sent_whole_goes_again() -> None:
    """The first three reports after the boot come as the uplink is away."""
    away = ((ns(61.8), ns(62.8)),)
    line = link(RATE_BPS, 10.0, queue_bdp=3, up_outages_ns=away)
    result = simulate(config(links=(line,), **CODED))
    again = [k for k, packets in enumerate(sent_packets(result)) if packets > PACKETS]
    assert again == list(HELD)


def test_every_path_is_asked() -> None:
    """What was under way on the longer path is not known by the first answer over the shorter one."""
    links = tuple(link(RATE_BPS / 2, rtt_s, queue_bdp=3) for rtt_s in (4.0, 40.0))
    result = simulate(config(links=links, **CODED))
    assert (result.objects.complete_ns >= 0).all()
    assert sent_packets(result) == [PACKETS] * 80


def test_what_the_second_connection_hears_the_third_need_not_ask() -> None:
    result = simulate(config(restart_s=(49.9, 75.6), **CODED))
    assert (result.objects.complete_ns >= 0).all()
    again = [k for k, packets in enumerate(sent_packets(result)) if packets > PACKETS]
    assert again == [], "what was under way both times arrives both times"


def test_without_a_spool_nothing_is_asked() -> None:
    made = config(spool=False, **CODED)
    result = simulate(replace(made, trace=True))
    assert not any(connection.there_ns for connection in result.connections[:1])
    assert np.flatnonzero(result.objects.given_up).tolist() == list(range(49, 56))


@pytest.mark.parametrize("spool", [True, False])
def test_nobody_knows_of_a_restart_before(spool: bool) -> None:
    """Layers that do not all fit are sent by a plan, which goes to the mission's end."""
    objects = live(150, (20_000, 15_000, 15_000), playout_s=60.0)
    made = net_config(
        "paced", link(RATE_BPS / 6, 20.0, loss=Loss("packet", 0.02)), objects=objects, mode="coded"
    )
    made = replace(
        made,
        transport=replace(made.transport, handshake=False, layer_first=True, drop_late=True),
        coding=Coding(objects.chunk // 5, 5 * S, None),
        duration_ns=220 * S,
    )
    whole = simulate(made)
    result = simulate(replace(made, restarts=Restarts((ns(80.0),), ns(5.0), spool)))
    assert result.objects.given_up.any()
    there = result.objects.complete_ns >= 0
    assert (result.objects.sent_bytes[there] > 0).all()
    assert (result.objects.first_sent_ns[there] < result.objects.first_arrival_ns[there]).all()
    before = (whole.objects.first_sent_ns >= 0) & (whole.objects.first_sent_ns < ns(80.0))
    assert (result.objects.first_sent_ns[before] == whole.objects.first_sent_ns[before]).all()


@pytest.mark.parametrize("asked", [((3,), ()), ((3, 3), (0, 0)), ((90,), (0,))])
def test_what_is_asked_must_be_there_to_ask_for(asked: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    made = config(restart_s=(), **CODED)
    assert made.coding is not None
    coding = replace(made.coding, asked=asked[0], there_ns=asked[1])
    with pytest.raises(ValueError, match="asked"):
        simulate(replace(made, coding=coding, restarts=None))


def test_an_answer_takes_its_bytes_on_the_uplink() -> None:
    """At 400 bit/s most of its 49 layers are still to be acknowledged at the restart."""
    slow = link(RATE_BPS, 10.0, queue_bdp=3, up_rate_bps=400.0)
    asking, other = (
        simulate(config(links=(slow,), spool=spool, **CODED, trace=True)).connections[1]
        for spool in (True, False)
    )
    took = [
        one.trace.t_ns[one.trace.event == 3][:6] - one.trace.t_ns[one.trace.event == ACK_SENT][0]
        for one in (asking, other)
    ]
    assert len(asking.there_ns) == 48 and not other.there_ns
    assert (took[0] - took[1]).tolist() == [k * 48 * S // 400 for k in (1, 2, 3, 3, 3, 3)]
