"""Which layers are sent where not all can be: a sender's plan over the contacts that it knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import Coding, EngineResult, Link, Loss, Objects, simulate
from dstcc.engine._testing import coding

from .net import MSS, WIRE, config, link, live, ns

RATE_BPS = 240e3
CARRIED = RATE_BPS / 8 * MSS / WIRE
"""Payload bytes a second that the link carries."""
RTT_S = 100.0


def video(*loads: float, seconds: int = 3000, chunk_s: float = 5.0, playout_s: float = 4 * RTT_S) -> Objects:
    """Live video whose layers are so many times what the link carries."""
    layers = tuple(int(load * CARRIED * chunk_s) for load in loads)
    return live(int(seconds / chunk_s), layers, chunk_s=chunk_s, playout_s=playout_s)


def trial(
    objects: Objects,
    *links: Link,
    congestion: str = "open-loop",
    block_s: float = 20.0,
    duration_s: float | None = None,
) -> EngineResult:
    """Layers coded over packets, without a handshake."""
    lines = links or (far(),)
    made = config(
        congestion,
        lines,
        objects=objects,
        mode="coded",
        handshake=False,
        layer_first=True,
        drop_late=True,
        slot_s=5.0,
        duration_s=duration_s,
    )
    period = (objects.release_ns - 1) // ns(block_s)
    return simulate(
        replace(made, coding=Coding(np.unique(period, return_inverse=True)[1], ns(block_s), None))
    )


def far(*dark_s: tuple[float, float], rate_bps: float = RATE_BPS, **more: object) -> Link:
    """A long link that the plan calls away then."""
    away = tuple((ns(begin), ns(end)) for begin, end in dark_s)
    return link(rate_bps, RTT_S, queue_bytes=10**7, outages_ns=away, **more)  # type: ignore[arg-type]


def in_time(result: EngineResult, objects: Objects) -> list[float]:
    """Of each layer, the share that came in time."""
    done = result.objects.complete_ns
    there = (done >= 0) & (done <= objects.deadline_ns)
    return [float(there[objects.layer == layer].mean()) for layer in range(int(objects.layer.max()) + 1)]


KB_A_S = 1e-6
"""In bytes in a nanosecond."""


def brings(plan: coding.Plan, at_s: float, kilobytes: float) -> None:
    """What is due then may have so many kilobytes and no more."""
    assert not plan.admit(ns(at_s), 1000 * kilobytes + 1)
    assert plan.admit(ns(at_s), 1000 * kilobytes - 1)


def test_a_path_whose_rate_nobody_knows_counts_as_the_mean_of_the_others() -> None:
    brings(coding.Plan([link(8e3, 0.0)] * 3, [KB_A_S, 0.0, 3 * KB_A_S], ns(100)), 50, 50 * (1 + 2 + 3))


@pytest.mark.parametrize("wait_s", [0.0, 20.0])
def test_what_leaves_behind_the_own_queue_is_there_a_light_time_later(wait_s: float) -> None:
    """Of 7 s."""
    plan = coding.Plan([link(8e3, 14.0)], [KB_A_S], ns(100), ns(wait_s))
    brings(plan, 50, 50 - wait_s - 7)


def test_a_contact_brings_all_of_it_by_its_end_and_a_light_time() -> None:
    """By then exactly, which is amid two steps: 80.3 s of 100 / 64 s each are 51.4."""
    away = link(8e3, 100.0, outages_s=((30.3, 90.0),), up_outages_ns=((ns(10), ns(90)),))
    brings(coding.Plan([away], [KB_A_S], ns(100)), 80.3, 30.3)


def test_a_rate_that_will_double_brings_twice_as_much_then() -> None:
    doubles = link(8e3, 0.0, rate_t_ns=(0, ns(50)), rate_share=(0.5, 1.0))
    brings(coding.Plan([doubles], [KB_A_S], ns(100)), 100, 50 + 2 * 50)


def test_the_plan_looks_at_eight_waits() -> None:
    brings(coding.Plan([link(8e3, 0.0)], [KB_A_S], ns(100)), 700, 700)
    brings(coding.Plan([link(8e3, 0.0)], [KB_A_S], ns(100)), 900, 800)


@pytest.mark.parametrize("steps", [10, 16])
def test_where_waits_are_unlike_steps_are_short_at_first(steps: int) -> None:
    """A 64th of the shortest, 5 s, up to its sixteenth: what the link brings by a step is known to the byte."""
    at_s = steps * 5 / 64
    brings(coding.Plan([link(8e3, 0.0)], [KB_A_S], ns(100), shortest=ns(5)), at_s, at_s)


def test_what_is_still_to_be_released_is_due_a_wait_after_that() -> None:
    """All that the link will bring after 100 s is for a lower layer's future: what is due by then has the 100 s, and
    what is due later no more."""
    plan = coding.Plan([link(8e3, 0.0)], [KB_A_S], ns(100))
    plan.expect(KB_A_S)
    plan.begin_layer()
    assert not plan.admit(ns(300), 100e3 + 1)
    brings(plan, 100, 100)


def test_what_is_admitted_leaves_less_for_what_is_due_with_it() -> None:
    """The link brings 50 kB by 50 s and 100 kB by 100 s: of what is due at 50 s, 30 kB are admitted, not 30 more, and
    20 are; then 50 more by 100 s."""
    plan = coding.Plan([link(8e3, 0.0)], [KB_A_S], ns(100))
    due = ((50, 30e3), (50, 30e3), (50, 20e3), (50, 1.0), (100, 50e3), (100, 1.0))
    assert [plan.admit(ns(at_s), octets) for at_s, octets in due] == [True, False, True, False, True, False]


@pytest.mark.parametrize("congestion", ["open-loop", "paced"])
def test_base_layers_are_sent_whatever_the_video_asks_for(congestion: str) -> None:
    # 2.7 times what the link carries, of which the base layer and three quarters of the next one fit.
    objects = video(0.42, 0.7, 0.85, 0.85, chunk_s=10.0, playout_s=1500.0)
    base, second, *_ = in_time(trial(objects, congestion=congestion, block_s=10.0), objects)
    assert base > 0.995
    assert second > 0.6


@pytest.mark.parametrize("congestion", ["open-loop", "paced"])
def test_a_pass_that_is_too_short_for_all_brings_the_lower_layers_of_all_chunks(congestion: str) -> None:
    # A pass of 300 s every 1,500 s: a fifth of the time. The layers are 0.08 each: the lower two take 0.16 of the
    # 0.2, the third has half of what it asks for.
    passes = [(start, start + 1200.0) for start in range(0, 15_000, 1500)]
    objects = video(0.08, 0.08, 0.08, seconds=12_000, playout_s=1800.0)
    first, second, third = in_time(trial(objects, far(*passes), congestion=congestion), objects)
    assert min(first, second) > 0.95
    assert 0.3 < third < 0.65


def test_what_can_all_be_in_time_is_sent_by_its_deadlines() -> None:
    # Nothing is sent for 700 s, when 0.9 x 700 s wait, of which those due first have 100 s left. Base layers alone,
    # with 0.6 x 700 s of backlog, would take 700 s or more: the upper layers of these chunks would be late. By
    # deadlines next to nothing is.
    objects = video(0.2, 0.3, 0.1, playout_s=850.0)
    shares = in_time(trial(objects, far((0.0, 700.0))), objects)
    assert min(shares) > 0.98


@pytest.mark.parametrize("playout_s", [1e8, 1e9])
def test_deadlines_of_years_are_no_overflow(playout_s: float) -> None:
    objects = video(0.2, 0.2, seconds=100, playout_s=playout_s)
    assert in_time(trial(objects), objects) == [1.0, 1.0]


def test_repair_goes_over_the_link_that_is_there() -> None:
    # The first link carries every block's beginning and is away from then on; its loss is brought back over the other.
    objects = video(0.2, seconds=300)
    away = far((60.0, 4000.0), drops=tuple((number, 1) for number in range(20, 200, 40)))
    other = replace(far(), rate_bps=RATE_BPS / 2, delay_ns=(ns(RTT_S),))
    assert in_time(trial(objects, away, other, block_s=100.0), objects) == [1.0]


def test_blocks_of_a_layer_that_does_not_fit_are_repaired_in_time() -> None:
    # 0.6 of the second layer fit. With 3 % of packets lost a chunk of 10 to 16 packets that went is whole in half of
    # the cases without repair.
    objects = video(0.55, 0.6, 0.5)
    result = trial(objects, far(loss=Loss("packet", 0.03)), congestion="open-loop")
    sent = (result.objects.first_sent_ns >= 0) & (objects.layer == 1)
    done = result.objects.complete_ns
    assert float(((done >= 0) & (done <= objects.deadline_ns))[sent].mean()) > 0.9
    assert in_time(result, objects)[0] > 0.985


@pytest.mark.parametrize("loss", [0.02, 0.04])
def test_where_losses_and_load_are_too_much_what_is_admitted_is_repaired(loss: float) -> None:
    # Of a second layer of 0.9 the 0.7 that the base layer leaves fit: 0.78 of it, less the losses. Were all that comes
    # sent by its deadline, half of it would lack a packet when that is there.
    objects = video(0.3, 0.9)
    base, second = in_time(trial(objects, far(loss=Loss("packet", loss))), objects)
    assert base > 0.99
    assert second > 0.78 * (1 - loss)


@pytest.mark.parametrize("ends_s", [4000.0, None])
def test_no_pass_after_the_missions_end_is_counted_on(ends_s: float | None) -> None:
    # A pass of 1,000 s, before which 1,500 s of video wait: its base layer alone takes 900 s. The next
    # pass begins at 4,000, in time for all of it; the mission ends then, or goes on.
    objects = video(0.6, 0.6, seconds=1500, playout_s=4000.0)
    result = trial(objects, far((0.0, 1500.0), (2500.0, 4000.0)), duration_s=ends_s)
    base, upper = in_time(result, objects)
    if ends_s is None:
        assert min(base, upper) > 0.98
    else:
        assert base > 0.98
        assert upper < 0.15


def test_where_the_base_layer_does_not_fit_chunks_are_sent_whole() -> None:
    """1.6 and twice 0.2 of the link: a byte of all three is worth 6 / 2.0, one of the base layer 3 / 1.6."""
    objects = video(1.6, 0.2, 0.2)
    result = trial(objects)
    shares = in_time(result, objects)
    assert min(shares) > 0.43
    assert max(shares) < 0.6
    done = (result.objects.complete_ns >= 0).reshape(-1, 3)
    assert np.mean(done[:, 2] >= done[:, 0]) > 0.9


def test_where_upper_layers_are_worth_no_more_base_layers_go_first() -> None:
    objects = video(1.5, 1.0, 0.5)
    base, *others = in_time(trial(objects), objects)
    assert base > 0.6
    assert max(others) < 0.06


def test_what_would_be_given_up_when_it_is_nearly_sent_is_not_begun() -> None:
    """Chunks of ten seconds, 1.2 times what two links carry, of which one is 25 s further: without a plan a third is
    given up when it is nearly sent."""
    objects = video(1.2, seconds=1500, chunk_s=10, playout_s=1.2 * RTT_S)
    half = link(RATE_BPS / 2, RTT_S, queue_bytes=10**7)
    result = trial(objects, half, replace(half, delay_ns=(ns(RTT_S / 4),)))
    assert in_time(result, objects)[0] > 0.8
