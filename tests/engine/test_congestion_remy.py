"""Remy's rules at work: memory to action, once a round trip."""

from __future__ import annotations

import pytest

from dstcc.engine import Loss
from dstcc.remy.table import Rule

from . import net
from .law import Law

GROW = Rule(multiple=1.0, increment=1.0)


def test_a_rule_is_applied_once_a_round_trip():
    law = Law("remy", 1.0, remy_rules=(Rule(multiple=0.5, increment=20.0),))
    law.set(cwnd=10)
    law.round()
    assert (
        law.cwnd() == 25
    )  # 0.5 · 10 + 20, at the first ACK; the rest of the round trip belongs to the next decision
    law.round()
    assert law.cwnd() == 32  # 0.5 · 25 + 20


def test_the_rtt_ratio_chooses_the_rule():
    full, empty = Rule(multiple=0.5, increment=0.0), Rule(multiple=2.0, increment=0.0)
    calm, crowded = Rule().split(3, 1.2)
    rules = (
        Rule(low=calm.low, high=calm.high, multiple=empty.multiple, increment=0.0),
        Rule(low=crowded.low, high=crowded.high, multiple=full.multiple, increment=0.0),
    )
    law = Law("remy", 1.0, remy_rules=rules)
    law.round()
    assert law.cwnd() == 20
    law.send(50)
    law.ack(30, rtt_s=1.5)
    assert law.cwnd() == 10


def test_spacing_paces_at_a_share_of_the_even_rate():
    law = Law("remy", 2.0, remy_rules=(Rule(multiple=1.0, increment=0.0, spacing=0.5),))
    law.round()
    assert law.pacing_bps() == pytest.approx(10 * net.WIRE * 8 / 2.0 / 0.5)


def test_losses_change_no_window():
    law = Law("remy", 1.0, remy_rules=(GROW,))
    law.set(cwnd=100)
    law.lose()
    assert law.cwnd() == 100


@pytest.mark.parametrize(("rtt_s", "scale"), [(0.2, 1.0), (2400.0, 60.0)])
def test_the_shipped_table_uses_the_link_within_its_range(rtt_s, scale):
    # BDP 100 packets, loss 1e-3: √(1.5 / p) = 39 is what NewReno holds.
    link = net.link(100 * net.WIRE * 8 / rtt_s, rtt_s, loss=Loss("packet", 1e-3))
    result = net.run("remy", link, duration_s=200 * rtt_s, slot_s=rtt_s, scale=scale)
    assert net.utilisation(result, 100 * net.WIRE * 8 / rtt_s) > 0.6
