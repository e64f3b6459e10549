"""`paced` on links that nobody chose for it: any rate, round trip and queue, dead uplinks, links that come and go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import Coding, CrossTraffic, EngineConfig, EngineResult, Link, Loss, simulate
from tests.sampling import examples

from .net import WIRE, config, link, live, ns, relayed

S = 10**9
PACKETS = 500
"""A trial lasts as long as the line takes for so many, or ten round trips if those are longer."""
LONGER = 20
"""So many times the former at most."""


def lasts_s(rate_bps: float, rtt_s: float) -> float:
    """How long a trial captures video."""
    line_s = PACKETS * WIRE * 8 / rate_bps
    return min(max(line_s, 10 * rtt_s), LONGER * line_s)


def hostile(
    span_s: float, links: tuple[Link, ...], *, playout_s: float, load: float, seed: int
) -> EngineConfig:
    """Live video of three layers that asks for so many times the links' rates."""
    chunk_s = span_s / 25
    layer = max(int(load * sum(one.rate_bps for one in links) * chunk_s / 8 / 3), 64)
    objects = live(25, (layer, layer, layer), chunk_s=chunk_s, playout_s=playout_s)
    made = config(
        "paced",
        links,
        objects=objects,
        mode="coded",
        handshake=False,
        layer_first=True,
        drop_late=True,
        slot_s=span_s / 50,
        duration_s=2 * span_s + playout_s,
        seed=seed,
    )
    return replace(made, coding=Coding(objects.chunk // 2, ns(2 * chunk_s), None))


def same(one: EngineResult, other: EngineResult) -> bool:
    """Byte for byte, as far as layers and samples go."""
    return repr(one.totals) == repr(other.totals) and np.array_equal(
        one.objects.complete_ns, other.objects.complete_ns
    )


spans = st.tuples(st.floats(0, 1), st.floats(0.01, 0.5))


@st.composite
def strange_links(draw: st.DrawFn, *rates_bps: float) -> tuple[float, tuple[Link, ...]]:
    """One to three links and how long their trial lasts."""
    rate_bps = draw(st.sampled_from(rates_bps))
    rtt_s = draw(st.sampled_from((0.3, 2.6, 600.0, 2400.0)))
    span_s = lasts_s(rate_bps, rtt_s)
    links = []
    for number in range(draw(st.integers(1, 3))):
        own_bps = rate_bps * draw(st.sampled_from((1.0, 0.1)))
        starts = draw(st.lists(spans, max_size=3))
        away = [(ns(at * span_s), ns((at + long) * span_s)) for at, long in starts]
        known = draw(st.booleans())
        loss = draw(st.sampled_from((0.0, 0.01, 0.3)))
        up_loss = draw(st.sampled_from((0.0, 0.5, 1.0)))
        merged = tuple(joined(away))
        own = link(
            own_bps,
            rtt_s * draw(st.sampled_from((1.0, 1.0, 0.5))),
            up_rate_bps=draw(st.sampled_from((100.0, 2e3, 1e6))),
            queue_bytes=draw(st.sampled_from((2 * WIRE, 3_000, 10**6))),
            loss=Loss("packet", loss) if loss else None,
            up_loss=Loss("packet", up_loss) if up_loss else None,
            outages_ns=merged if known else (),
            unannounced_ns=() if known else merged,
        )
        if further_on := draw(st.sampled_from((None, 0.2, 3.0))):
            queue_bytes = draw(st.sampled_from((2 * WIRE, 10**6)))
            own = relayed(own, further_on * own_bps, queue_bytes, number=number)
        links.append(own)
    return span_s, tuple(links)


def joined(spans_ns: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that do not touch."""
    apart: list[tuple[int, int]] = []
    for begin, end in sorted(spans_ns):
        if apart and begin <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], end))
        else:
            apart.append((begin, end))
    return apart


Stranger = tuple[tuple[float, tuple[Link, ...]], float, float, int]
OTHERS = (st.sampled_from((0.3, 0.6, 1.0, 3.0)), st.sampled_from((0.3, 1.0, 4.0)), st.integers(1, 1000))
"""Playout delay in round trips, load, and seed."""


@examples(40)
@given(st.tuples(strange_links(1e3, 9.6e3, 500e3, 25e6), *OTHERS))
def test_no_link_is_too_strange(made: Stranger) -> None:
    check(*made)


@pytest.mark.slow
@examples(40)
@given(st.tuples(strange_links(1e9), *OTHERS))
def test_no_fast_link_is_too_strange(made: Stranger) -> None:
    """A trial takes seconds."""
    check(*made)


def check(made: tuple[float, tuple[Link, ...]], delay: float, load: float, seed: int) -> None:
    span_s, links = made
    light_s = max(max(one.delay_ns) for one in links) / S
    trial = hostile(span_s, links, playout_s=max(2 * light_s * delay, 1.0), load=load, seed=seed)
    result = simulate(trial)
    assert same(result, simulate(trial))
    # No more leaves than the lines carry; what their queues refused was sent, too, and is dropped.
    most = sum(one.rate_bps / 8 * result.end_ns / S + one.queue_bytes + 2 * WIRE for one in links)
    assert result.totals.sent_wire_bytes <= most + WIRE * (1 + result.totals.dropped_queue_packets)
    # Nothing is refused for long: the queue's target is little more than a packet once it was full. A node's refusals
    # are counted, too, and heard of a round trip later.
    if any(one.onward for one in links):
        return
    assert result.totals.dropped_queue_packets <= 0.7 * result.totals.data_packets + 4 * len(links)


@pytest.mark.parametrize("rate_bps", [1e3, 500e3, 1e9])
@pytest.mark.parametrize("up", ["lost", "none"])
def test_a_dead_uplink_stops_nothing(rate_bps: float, up: str) -> None:
    # Nothing is ever heard: the own line's rate is all there is, and all of a video that fits is brought.
    rtt_s = 100.0 if rate_bps < 1e6 else 0.3
    dead = {"up_loss": Loss("packet", 1.0)} if up == "lost" else {"up_outages_ns": ((0, ns(1e9)),)}
    one = link(rate_bps, rtt_s, queue_bytes=10**6, up_rate_bps=2e3, **dead)
    span_s = PACKETS * WIRE * 8 / rate_bps
    trial = hostile(span_s, (one,), playout_s=rtt_s + span_s / 4, load=0.7, seed=1)
    done = simulate(trial).objects.complete_ns
    assert ((done >= 0) & (done <= trial.objects.deadline_ns)).mean() > 0.97


@pytest.mark.parametrize("queue_bytes", [3_000, 10**6])
def test_a_line_that_a_slower_one_follows_is_not_overrun_for_long(queue_bytes: int) -> None:
    # A tenth passes further on. After six round trips no more than a quarter beyond that is sent.
    rate_bps, rtt_s = 500e3, 100.0
    own = link(rate_bps, rtt_s, queue_bytes=10**6, up_rate_bps=2e3)
    one = relayed(own, rate_bps / 10, queue_bytes)
    trial = hostile(20 * rtt_s, (one,), playout_s=6 * rtt_s, load=0.3, seed=1)
    samples = simulate(trial).samples
    late = (samples.t_ns > ns(6 * rtt_s)) & (samples.t_ns <= ns(20 * rtt_s))
    sent_bps = float(samples.sent_segments[late].sum()) * WIRE * 8 / (14 * rtt_s)
    assert 0.5 * rate_bps / 10 < sent_bps < 1.25 * rate_bps / 10


def test_a_rate_at_which_nothing_is_in_time_is_not_the_last_one() -> None:
    # Others take all but a twentieth of the line for ten round trips. A layer takes 24 s at the line's rate, 480 s at
    # that: it is never in time and nothing is sent. When the others have gone, layers come again.
    rate_bps, rtt_s = 500e3, 100.0
    others = CrossTraffic(0.95 * rate_bps, stop_ns=ns(10 * rtt_s))
    one = relayed(link(rate_bps, rtt_s, queue_bytes=10**6, up_rate_bps=2e3), rate_bps, 10**6, others)
    trial = hostile(40 * rtt_s, (one,), playout_s=2 * rtt_s, load=0.9, seed=1)
    objects, done = trial.objects, simulate(trial).objects.complete_ns
    late = (objects.release_ns > ns(25 * rtt_s)) & (objects.layer == 0)
    assert ((done >= 0) & (done <= objects.deadline_ns))[late].mean() > 0.8


def test_bursts_of_losses_under_a_source_that_pauses_are_no_slower_line() -> None:
    # The source asks for a tenth of the line, in bursts at its full rate; now and then 20 packets in a row are lost.
    # What came through of a burst says what the line carries, not how little was asked for.
    rate_bps, rtt_s = 500e3, 100.0
    fades = tuple((number, 20) for number in range(300, 20_000, 400))
    one = link(rate_bps, rtt_s, queue_bytes=10**7, up_rate_bps=2e3, drops=fades)
    trial = hostile(40 * rtt_s, (one,), playout_s=3 * rtt_s, load=0.1, seed=1)
    samples = simulate(trial).samples
    assert float(samples.pacing_bps[samples.t_ns > ns(5 * rtt_s)].min()) > 0.5 * rate_bps
