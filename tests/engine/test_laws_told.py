"""`fixed` and `open-loop`: what they are told, and that nothing moves it."""

from __future__ import annotations

import pytest

from . import net
from .law import Law


def test_fixed_holds_its_window_and_paces_it_over_the_round_trip():
    law = Law("fixed", 2.0)
    law.state.set_fixed_cwnd(0, 500)
    law.now_ns += 1
    law.state.establish(0, law.now_ns, net.ns(2.0))
    assert law.cwnd() == 500
    assert law.pacing_bps() == pytest.approx(500 * net.WIRE * 8 / 2.0)
    law.send(500)
    law.lose()
    law.ack(100)
    law.time_out()
    assert law.cwnd() == 500
    law.state.set_srtt_ns(0, net.ns(4.0))
    law.ack(1)
    assert law.pacing_bps() == pytest.approx(500 * net.WIRE * 8 / 4.0)


@pytest.mark.parametrize(("set_bps", "sent_bps"), [(0.0, 6e6), (1e6, 1e6), (24e6, 24e6)])
def test_open_loop_sends_at_the_links_rate_or_at_the_one_set(set_bps, sent_bps):
    law = Law("open-loop", 2.0, open_loop_bps=(6e6,))  # of the bench: the link's
    law.state.set_open_loop_bps(0, set_bps)
    law.state.establish(0, law.now_ns, net.ns(2.0))
    law.send(100)
    law.lose()
    law.time_out()
    assert law.pacing_bps() == pytest.approx(sent_bps)
    assert law.cwnd() > 10**9
