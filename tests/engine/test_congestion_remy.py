"""Remy's rules at work: memory to action, once a round trip."""

from __future__ import annotations

import pytest

from dstcc.engine import Loss
from dstcc.remy.table import Rule
from experiments.remy_rules import split

from . import net
from .law import Law

GROW = Rule(multiple=1.0, increment=1.0)


def test_a_rule_is_applied_once_a_round_trip():
    law = Law("remy", 1.0, parameters=net.rules(Rule(multiple=0.5, increment=20.0)))
    law.set(cwnd=10)
    law.round()
    assert (
        law.cwnd() == 25
    )  # 0.5 · 10 + 20, at the first ACK; the rest of the round trip belongs to the next decision
    law.round()
    assert law.cwnd() == 32  # 0.5 · 25 + 20


def test_the_rtt_ratio_chooses_the_rule():
    full, empty = Rule(multiple=0.5, increment=0.0), Rule(multiple=2.0, increment=0.0)
    calm, crowded = split(Rule(), 3, 1.2)
    rules = (
        Rule(low=calm.low, high=calm.high, multiple=empty.multiple, increment=0.0),
        Rule(low=crowded.low, high=crowded.high, multiple=full.multiple, increment=0.0),
    )
    law = Law("remy", 1.0, parameters=net.rules(*rules))
    law.round()
    assert law.cwnd() == 20
    law.send(50)
    law.ack(30, rtt_s=1.5)
    assert law.cwnd() == 10


def test_spacing_paces_at_a_share_of_the_even_rate():
    law = Law("remy", 2.0, parameters=net.rules(Rule(multiple=1.0, increment=0.0, spacing=0.5)))
    law.round()
    assert law.pacing_bps() == pytest.approx(10 * net.WIRE * 8 / 2.0 / 0.5)


def test_losses_change_no_window():
    law = Law("remy", 1.0, parameters=net.rules(GROW))
    law.set(cwnd=100)
    law.lose()
    assert law.cwnd() == 100


@pytest.mark.parametrize(("rtt_s", "scale"), [(0.2, 1.0), (2400.0, 60.0)])
def test_the_shipped_table_uses_the_link_within_its_range(rtt_s, scale):
    # BDP 100 packets, loss 1e-3: √(1.5 / p) = 39 is what NewReno holds.
    link = net.link(100 * net.WIRE * 8 / rtt_s, rtt_s, loss=Loss("packet", 1e-3))
    result = net.run("remy", link, duration_s=200 * rtt_s, slot_s=rtt_s, scale=scale)
    assert net.utilisation(result, 100 * net.WIRE * 8 / rtt_s) > 0.6


# ------------------------------------------------------------------------------- the memory, step by step (section 4.1)

ACKS_S = [10.0, 10.013, 10.02, 10.05, 10.051, 10.2, 10.23, 10.31, 10.4, 10.407, 10.5]
"""Times of ACKs; those of the second half cover two segments each."""
RTTS_S = [1.0, 1.002, 1.001, 1.03, 1.02, 1.11, 1.12, 1.1, 1.15, 1.16, 1.25]


def covered(place: int) -> int:
    return 1 if place < 6 else 2


def memory() -> tuple[float, float, float, float]:
    """After these ACKs: means of the gaps between ACKs and between the sending times that they echo, by segment, each
    new gap with 1/8 (slow: 1/256), and the last RTT over the least; gaps as shares of the least RTT, 1 s."""
    ack_gap = send_gap = slow_gap = None
    last_sent = ACKS_S[0] - RTTS_S[0]
    for k in range(1, len(ACKS_S)):
        gap = (ACKS_S[k] - ACKS_S[k - 1]) / covered(k)
        sent = ACKS_S[k] - RTTS_S[k]
        between = max(sent - last_sent, 0.0) / covered(k)
        last_sent = max(last_sent, sent)
        if ack_gap is None or send_gap is None or slow_gap is None:
            ack_gap, send_gap, slow_gap = gap, between, gap
        else:
            ack_gap += (gap - ack_gap) / 8
            send_gap += (between - send_gap) / 8
            slow_gap += (gap - slow_gap) / 256
    assert ack_gap is not None and send_gap is not None and slow_gap is not None
    return ack_gap, send_gap, slow_gap, RTTS_S[-1] / min(RTTS_S)


def window_after(rules: tuple[Rule, ...]) -> int:
    """W = 10, decided on with the first of those ACKs and again with the last, which opens a round trip."""
    law = Law("remy", 1.0, parameters=net.rules(*rules))
    law.now_ns = net.ns(ACKS_S[0])
    law.send(sum(covered(k) for k in range(len(ACKS_S) - 1)))
    for k, (at, rtt) in enumerate(zip(ACKS_S, RTTS_S, strict=True)):
        law.now_ns = net.ns(at)
        if k + 1 == len(ACKS_S):
            law.send(covered(k))
        law.ack(covered(k), rtt_s=rtt)
    return law.cwnd()


@pytest.mark.parametrize("axis", range(4))
def test_the_memory_is_that_of_the_paper(axis):
    # A cut just below the expected number leaves it in the upper rule, one just above in the lower: W is tripled or
    # kept.
    for factor, after in ((1 - 1e-6, 30), (1 + 1e-6, 10)):
        below, above = split(Rule(multiple=1.0, increment=0.0), axis, memory()[axis] * factor)
        tripling = Rule(low=above.low, high=above.high, multiple=3.0, increment=0.0)
        assert window_after((below, tripling)) == after


def test_sending_times_that_go_back_are_no_gap():
    # An ACK that echoes an older segment (a repeat's first transmission) has a gap of nothing, not one below it.
    below, above = split(Rule(multiple=1.0, increment=0.0), 1, -1e-9)
    law = Law(
        "remy",
        1.0,
        parameters=net.rules(Rule(low=below.low, high=below.high, multiple=3.0, increment=0.0), above),
    )
    law.send(2)
    law.ack(1, rtt_s=1.0)
    law.ack(1, rtt_s=1.5)
    law.send(1)
    law.ack(1, rtt_s=1.5)
    assert law.cwnd() == 10


@pytest.mark.parametrize(
    ("multiple", "increment", "after"), [(0.1, 0.0, 2), (0.0, -5.0, 2), (1.25, -0.6, 11), (1.0, 0.9, 10)]
)
def test_the_window_is_m_w_plus_b_and_two_at_least(multiple, increment, after):
    law = Law("remy", 1.0, parameters=net.rules(Rule(multiple=multiple, increment=increment)))
    law.send(1)
    law.ack(1)
    assert law.cwnd() == after  # 1.25 · 10 - 0.6 = 11.9, and 0.9 is kept for the next decision
    if increment == 0.9:
        law.send(1)
        law.ack(1)
        assert law.cwnd() == 11


def test_a_point_that_no_rule_holds_takes_the_nearest_ones():
    # RTT ratio 3 between boxes that end at 2 and begin at 3.5: the upper one is nearer.
    low, _ = split(Rule(multiple=1.0, increment=0.0), 3, 2.0)
    _, high = split(Rule(multiple=2.0, increment=0.0), 3, 3.5)
    law = Law("remy", 1.0, parameters=net.rules(low, high))
    law.send(2)
    law.ack(1, rtt_s=1.0)
    assert law.cwnd() == 10
    law.send(1)
    law.ack(1, rtt_s=3.0)  # still the first round trip
    assert law.cwnd() == 10
    law.ack(1, rtt_s=3.0)
    assert law.cwnd() == 20
    law.send(1)
    law.ack(1, rtt_s=2.5)
    assert law.cwnd() == 20


def test_a_round_trip_ends_with_what_was_in_flight_when_it_began():
    # Eleven in flight at the first decision: the ACKs of these decide nothing, the next segment's does.
    law = Law("remy", 1.0, parameters=net.rules(GROW))
    law.send(11)
    seen = []
    for _ in range(12):
        law.ack(1)
        law.send(1)
        seen.append(law.cwnd())
    assert seen == [11] * 11 + [12]
