"""`fixed` and `open-loop`: what they are told, and that nothing moves it."""

from __future__ import annotations

import pytest

from dstcc.engine import Flow, Loss

from . import net
from .law import Law


def test_fixed_holds_its_window_and_paces_it_over_the_round_trip():
    law = Law("fixed", 2.0, bdp_segments=300, parameters=net.windows(500))
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
    law = Law("open-loop", 2.0, line_bps=6e6, parameters=net.rates(set_bps))
    law.send(100)
    law.lose()
    law.time_out()
    assert law.pacing_bps() == pytest.approx(sent_bps)
    assert law.cwnd() > 10**9


@pytest.mark.parametrize(
    ("name", "parameters", "rule"),
    [
        ("fixed", {"fixed": {"cwnd_segments": (0,)}}, "fixed: cwnd_segments must be 1 to"),
        ("fixed", {"fixed": {"cwnd_segments": (float("nan"),)}}, "fixed: cwnd_segments must be 1 to"),
        ("fixed", {"fixed": {"cwnd_segments": (1e13,)}}, "fixed: cwnd_segments must be 1 to"),
        ("open-loop", {"open-loop": {"rate_bps": (-1.0,)}}, "open-loop: rate_bps must not be negative"),
        (
            "open-loop",
            {"open-loop": {"rate_bps": (float("nan"),)}},
            "open-loop: rate_bps must not be negative",
        ),
        ("agent", {"agent": {"headroom": (-1,)}}, "agent: headroom must be 0"),
        ("agent-rate", {"agent-rate": {"headroom": (1025,)}}, "agent: headroom must be 0"),
        ("agent-bbr", {"agent-bbr": {"silence_slots": (0.5,)}}, "agent: silence_slots must be at least 1"),
        ("remy", {"remy": {"rules": ()}}, "remy: rules must be 11 numbers for each rule"),
        ("remy", {"remy": {"rules": (1.0,) * 12}}, "remy: rules must be 11 numbers for each rule"),
        ("cubic", {"cubic": {"beta": (0.7,)}}, "'cubic' has no parameter 'beta'"),
        ("cubic", {"fixed": {"rate_bps": (1e6,)}}, "'fixed' has no parameter 'rate_bps'"),
        ("cubic", {"reno": {}}, "parameters of 'reno': no such congestion control"),
    ],
)
def test_a_parameter_that_means_nothing_is_refused_by_its_name(name, parameters, rule):
    with pytest.raises(ValueError, match=rule):
        net.run(name, net.link(), duration_s=1, parameters=parameters)


def test_parameters_with_a_value_per_link_are_the_connections_not_a_background_flows():
    # Two share 500 segments: the flow holds its half, 250, whatever the connection is told.
    shared = net.link(12e6, 0.5, queue_bdp=3, flows=(Flow("fixed"),))
    result = net.run("fixed", shared, duration_s=20, parameters=net.windows(100))
    assert result.samples.cwnd_segments.max() == 100
    assert result.flows[0].slot_cwnd_segments.max() == pytest.approx(250, abs=2)


def test_each_link_has_its_own_value():
    links = (net.link(12e6, 0.5), net.link(12e6, 0.5), net.link(12e6, 0.5))
    samples = net.run("fixed", links, duration_s=20, parameters=net.windows(100, 50)).samples
    held = [samples.cwnd_segments[samples.subflow == s].max() for s in range(3)]
    assert held[:2] == [100, 50]
    assert held[2] == pytest.approx(500, abs=2)  # none is given: the bandwidth-delay product


@pytest.mark.parametrize(("law", "window"), [("fixed", 200), ("open-loop", 10**9)])
def test_recoveries_leave_their_windows(law, window):
    # A loss in 50 segments, of 2,400 and more: proportional rate reduction is for those that reduce.
    result = net.run(
        law,
        net.link(12e6, 0.5, loss=Loss("packet", 0.02)),
        duration_s=8,
        parameters=net.windows(200) | net.rates(6e6),
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
    samples = net.run("fixed", link, duration_s=20, parameters=net.windows(200)).samples
    rates = samples.pacing_bps[samples.t_ns > 15 * net.S]
    assert rates == pytest.approx(200 * net.WIRE * 8 / 1.5, rel=0.01)
