"""`fixed` and `open-loop`: what they are told, and that nothing moves it."""

from __future__ import annotations

import pytest

from dstcc.engine import Loss

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


@pytest.mark.parametrize(("law", "window"), [("fixed", 200), ("open-loop", 10**9)])
def test_recoveries_leave_their_windows(law, window):
    # A loss in 50 segments, of 2,400 and more: proportional rate reduction is for those that reduce.
    result = net.run(
        law,
        net.link(12e6, 0.5, loss=Loss("packet", 0.02)),
        duration_s=8,
        fixed_cwnd_segments=(200,),
        open_loop_bps=(6e6,),
    )
    samples = result.samples
    windows = samples.cwnd_segments[samples.t_ns > 2 * net.S]
    assert samples.retransmitted_segments.sum() > 20
    assert windows.min() >= window
    assert law == "open-loop" or windows.max() == window


def test_fixeds_pace_follows_the_round_trip_that_its_acks_measure():
    # 0.5 s as it begins, 1.5 s from 4 s on: 200 segments a round trip are 400 a second, then 133.
    link = net.link(
        12e6, 0.5, delay_t_ns=(0, net.ns(4) - 1, net.ns(4)), delay_ns=tuple(map(net.ns, (0.25, 0.25, 0.75)))
    )
    samples = net.run("fixed", link, duration_s=20, fixed_cwnd_segments=(200,)).samples
    rates = samples.pacing_bps[samples.t_ns > 15 * net.S]
    assert rates == pytest.approx(200 * net.WIRE * 8 / 1.5, rel=0.01)
