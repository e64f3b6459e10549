"""Channels that change: chances of loss and rates over time, and outages that no contact plan has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import Coding, EngineResult, Link, Loss, clairvoyant_weight, opening, simulate
from dstcc.engine.simulate import channel_losses

from .net import MSS, WIRE, config, link, live, ns, rates, run

SLOTS = 4000
SLOT_NS = 1_000_000
"""1,500 bytes at 12 Mbit/s."""


def schedule(*rows: tuple[float, float]) -> Loss:
    """Seconds and chances."""
    return Loss("schedule", t_ns=tuple(ns(t) for t, _ in rows), rates=tuple(p for _, p in rows))


def losses(loss: Loss, *, first: int = 0, slots: int = SLOTS) -> np.ndarray:
    return channel_losses(link(loss=loss), 7, 0, WIRE, slots, first=first)


def test_a_chance_that_stays_loses_the_packets_of_a_constant_one() -> None:
    assert (losses(schedule((0, 0.1))) == losses(Loss("packet", 0.1))).all()
    assert (losses(schedule((1, 0.1), (2, 0.1))) == losses(Loss("packet", 0.1))).all()


def test_between_rows_the_chance_runs_in_a_straight_line_and_outside_it_is_constant() -> None:
    ramp = schedule((1, 0.0), (3, 0.8))
    seen = losses(ramp)
    assert not seen[:1001].any()  # 0 until slot 1,000 begins, at 1 s
    for slot in (1500, 2000, 2600, 3000, 3999):
        chance = 0.8 * min(slot * 1e-3 - 1, 2) / 2
        assert seen[slot] == losses(Loss("packet", chance), first=slot, slots=1)[0]
    assert seen[3000:].mean() == pytest.approx(0.8, abs=0.04)
    assert 0.3 < seen[1900:2100].mean() < 0.5  # 0.4 in the mean; 200 packets have a deviation of 0.035


def test_the_chance_is_that_of_the_moment_at_which_a_slot_begins() -> None:
    step = schedule((0, 0.0), (1, 0.0), (1.000000001, 1.0))
    seen = losses(step)
    assert not seen[:1001].any() and seen[1001:].all()  # slot 1,000 begins at 1 s, and ends after the step


def test_any_order_of_questions_has_the_same_answers() -> None:
    steps = schedule((0, 0.01), (1, 0.01), (1.000000001, 0.3), (2, 0.3), (2.000000001, 0.05))
    whole = losses(steps)
    assert (
        np.concatenate([losses(steps, first=at, slots=500) for at in range(0, SLOTS, 500)]) == whole
    ).all()
    assert whole[1001:2001].sum() > 200 > whole[2001:].sum()


@pytest.mark.parametrize(
    ("rows", "rule"),
    [((), "a chance at each time"), (((0, 0.1), (0, 0.2)), "must rise"), (((0, 1.5),), "between 0 and 1")],
)
def test_a_schedule_that_is_none_is_refused(rows: tuple[tuple[float, float], ...], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        run("cubic", link(loss=schedule(*rows)), duration_s=1)


# ------------------------------------------------------------------------------------------------------------- rates


def line(*rows: tuple[float, float], **more: object) -> Link:
    """12 Mbit/s, of which a share is left from each time on."""
    return link(rate_t_ns=tuple(ns(t) for t, _ in rows), rate_share=tuple(share for _, share in rows), **more)  # type: ignore[arg-type]


def coded(
    on: Link, packets: int = 20, *, pace_bps: float = 12e6, playout_s: float | None = None
) -> EngineResult:
    """One chunk of so many packets, there at 1 s, at a pace over a line, without a handshake."""
    made = config(
        "open-loop",
        on,
        objects=live(1, (packets * MSS,), playout_s=playout_s),
        mode="coded",
        handshake=False,
        parameters=rates(pace_bps),
    )
    return simulate(replace(made, coding=Coding(made.objects.chunk, ns(1), ())))


def test_a_packet_in_service_goes_on_at_the_new_rate() -> None:
    # 20 packets of 1 ms each from 1 s on; from 1.0105 s on the line has half: 10.5 ms of work are done, 9.5 take 19 ms.
    done = coded(line((0, 1.0), (1.0105, 0.5))).objects.complete_ns[0]
    assert done == ns(1.0105 + 0.019 + 0.5)
    # Back to all of it 4 ms later: 2 ms of work in these, 7.5 ms are left.
    done = coded(line((0, 1.0), (1.0105, 0.5), (1.0145, 1.0))).objects.complete_ns[0]
    assert done == ns(1.0145 + 0.0075 + 0.5)


def test_a_share_of_one_is_the_constant_rate_and_a_share_of_half_the_half_rate() -> None:
    plain, whole = coded(link()), coded(line((0, 1.0)))
    assert plain.totals == whole.totals
    assert plain.objects.complete_ns[0] == whole.objects.complete_ns[0]
    half, slow = coded(line((0, 0.5)), pace_bps=6e6), coded(link(6e6), pace_bps=6e6)
    assert half.objects.complete_ns[0] == slow.objects.complete_ns[0] == ns(1 + 0.04 + 0.5)


def test_the_queues_limit_is_in_bytes_whatever_the_rate() -> None:
    # At a quarter of the rate four packets come while one leaves: of n the queue has n - n / 4. It holds 10 with the
    # one in service: the first that is dropped is the one that would be the 11th.
    on = replace(line((0, 0.25)), queue_bytes=10 * WIRE)
    assert coded(on, 13).totals.dropped_queue_packets == 0
    assert coded(on, 14).totals.dropped_queue_packets == 1
    # What stands there of 40 packets a quarter of a second later, when half are served... the sampler sees bytes.
    queue = coded(replace(line((0, 0.01)), queue_bytes=10**6), 100).samples.queue_bytes
    # Sent from 1 s to 1.1 s; at 1.25 s a hundredth of 0.25 s is served: 2.5 packets.
    assert queue[4] == pytest.approx(97.5 * WIRE, abs=1)


def test_a_sender_passes_over_what_its_queue_makes_late_at_the_rate_of_now() -> None:
    # Ten packets wait for 40 ms each at a fortieth of the rate: with a playout delay of 0.5 s + 0.2 s five fit.
    late = coded(line((0, 0.025)), 10, playout_s=0.7)
    assert late.objects.complete_ns[0] == -1
    assert 4 <= late.totals.arrived_payload_bytes / MSS <= 6


def test_the_bound_counts_what_the_line_carries() -> None:
    def bound(on: Link) -> float:
        made = config("cubic", on, objects=live(40, (2 * MSS,) * 250, chunk_s=0.1, playout_s=0.8))
        return clairvoyant_weight(made, np.ones(40 * 250))

    assert bound(line((0, 1.0))) == bound(link())
    assert bound(line((0, 0.25))) == pytest.approx(bound(link(3e6)), rel=0.01)
    assert bound(line((0, 1.0), (2, 0.25))) < 0.9 * bound(link())
    # A packet takes 4 of its slots of 1 ms. Who knows the draws waits for one that gets through: 0.2 / 0.8 of them.
    lossy = bound(line((0, 0.25), loss=Loss("packet", 0.2)))
    assert lossy == pytest.approx(4 / 4.25 * bound(line((0, 0.25))), rel=0.02)


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        (((1, 1.0),), "begins at 0"),
        (((0, 1.0), (0, 0.5)), "must rise"),
        (((0, 0.0),), "1e-6 to 1"),
        (((0, 1.5),), "1e-6 to 1"),
    ],
)
def test_a_rate_over_time_that_is_none_is_refused(rows: tuple[tuple[float, float], ...], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        run("cubic", line(*rows), duration_s=1)


# -------------------------------------------------------------------------------------------------- unannounced outages


def test_what_is_sent_into_an_outage_nobody_announced_is_lost_and_its_sender_does_not_wait() -> None:
    dark = ((ns(1.005), ns(1.01)),)
    announced = coded(replace(link(), outages_ns=dark))
    surprised = coded(replace(link(), unannounced_ns=dark))
    assert announced.totals.lost_channel_packets == 0
    # 5 packets are in service within [1.005 s, 1.01 s); the one that ends at 1.005 s gets through.
    assert surprised.totals.lost_channel_packets == 5
    assert opening(replace(link(), unannounced_ns=((0, ns(5)),))) == 0
    assert opening(replace(link(), outages_ns=((0, ns(5)),))) == ns(5)


def test_both_kinds_of_outages_are_one_where_they_touch() -> None:
    on = replace(link(), outages_ns=((ns(1), ns(1.006)),), unannounced_ns=((ns(1.004), ns(1.01)),))
    made = config("open-loop", on, objects=live(1, (20 * MSS,)), mode="coded", handshake=False)
    result = simulate(replace(made, coding=Coding(made.objects.chunk, ns(1), ())))
    # The plan says that the link is up at 1.006 s: 4 packets are lost until 1.01 s.
    assert result.totals.lost_channel_packets == 4


def test_acknowledgements_are_lost_in_it_too() -> None:
    # The data of 5 s is there at 5.52 s; its ACKs meet the outage, and the sender probes before it sends that of 10 s.
    def timeouts(*dark: tuple[int, int]) -> float:
        on = replace(link(), unannounced_ns=dark)
        made = config("open-loop", on, objects=live(2, (20 * MSS,), chunk_s=5), mode="coded", handshake=False)
        result = simulate(replace(made, coding=Coding(made.objects.chunk, ns(5), ())))
        assert result.totals.lost_channel_packets == 0
        return result.totals.timeouts

    assert timeouts() == 0
    assert timeouts((ns(5.5), ns(5.6))) >= 1
