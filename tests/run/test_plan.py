from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dstcc.engine.config import TcpConstants
from dstcc.run import Plan, plan
from dstcc.scenario import load_scenario, load_source, parse_override
from dstcc.scenario.distortions import distortions, longest_rtt_s
from tests.engine import net


def planned(path: Path, *overrides: str) -> Plan:
    scenario = load_scenario(path, [parse_override(text) for text in overrides])
    return plan(scenario, load_source(scenario), "simulator")


def test_links(scenario_file: Path) -> None:
    (link,) = planned(scenario_file, "link.0.delay_s=3", "link.0.outages=[[1, 2], [5, 9]]").links
    assert (link.rtt_s, link.rate_bps, link.loss) == (6, 80_000, {"packet": 1e-3})
    # 80,000 bit/s × 6 s / 8 / 1,500 bytes
    assert link.bdp_packets == pytest.approx(40)
    assert (link.outages, link.outage_s) == (2, 5)


def test_outages_count_as_far_as_the_run_goes(scenario_file: Path) -> None:
    # a contact plan is dark for ever after its last contact; a run is not
    outages = "link.0.outages=[[1, 2], [5, 900], [950, 999]]"
    (link,) = planned(scenario_file, outages, "scenario.duration_s=10").links
    assert (link.outages, link.outage_s) == (2, 1 + 5)
    plan_file = scenario_file.parent / "plan.txt"
    lines = ["a contact +0 +1000 2 1 10000", "a contact +0 +1000 1 2 10000", "a range +0 +1000 1 2 4"]
    plan_file.write_text("\n".join(lines))
    keys = [f"link.0.contacts='{plan_file}'", "link.0.source=2", "link.0.destination=1"]
    assert planned(scenario_file, *keys, "scenario.duration_s=1200").links[0].outage_s == 200
    assert planned(scenario_file, *keys).links[0].outage_s == 0, "the last deadline is at 3 + 10 s"


def test_others_on_the_link(scenario_file: Path) -> None:
    (link,) = planned(
        scenario_file,
        "link.0.mix={rate_bps = 10_000, tcp_flows = 2}",
        'link.0.flows=[{congestion = "cubic"}]',
        "link.0.cross_traffic=[{rate_bps = 500}]",
    ).links
    assert [(flow["congestion"], flow["rate_bps"]) for flow in link.flows] == [
        ("cubic", None),
        ("newreno", 4000),
        ("newreno", 4000),
    ]
    assert link.datagrams_bps == pytest.approx([500, 2000])


def test_reconstructions_are_named(scenario_file: Path) -> None:
    plan = planned(scenario_file, 'transport.congestion=["cubic", "tp-planet"]', "run.seeds=1")
    assert plan.reconstructions == ("tp-planet+minrtt/s1",)


def test_trials_and_packets(scenario_file: Path) -> None:
    plan = planned(scenario_file)
    assert plan.trials == ("cubic+minrtt/s1", "cubic+minrtt/s2", "newreno+minrtt/s1", "newreno+minrtt/s2")
    # 3 chunks of two layers of 1,000 bytes, a packet each, in 4 trials
    assert (plan.chunks, plan.layers, plan.payload_bytes) == (3, 2, 6000)
    assert plan.estimated_packets == 3 * 2 * 4


def test_a_large_layer_takes_several_packets(scenario_file: Path) -> None:
    # 1,000,000 bit/s for a second: 125,000 bytes = 86 packets of 1,460
    one = planned(
        scenario_file, "video.synthetic.layer_bps=[1e6]", "run.seeds=1", "transport.congestion=cubic"
    )
    assert one.estimated_packets == 3 * 86


def test_unscaled_runs_distort_nothing() -> None:
    assert distortions(1.0, ("cubic", "bbr"), 120.0) == ()


def test_timers_wait_for_the_longest_round_trip() -> None:
    links = [net.link(rtt_s=rtt_s) for rtt_s in (3.0, 8.0, 5.0)]
    assert longest_rtt_s("stream", links) == 8.0
    assert longest_rtt_s("coded", links) == 0.0, "it has no timers of TCP"


def test_a_plan_without_nodes_has_no_network(scenario_file: Path) -> None:
    document = planned(scenario_file).document()
    assert document["dry_run"] is True and "links" in document and "network" not in document


def test_what_a_scale_distorts() -> None:
    text = "\n".join(distortions(10.0, ("cubic", "bbr", "westwood"), 400.0))
    for part in ("0.2 s → 2 s", "40 ms → 400 ms", "0.0004 segments/s³", "10 s → 100 s", "50 ms → 500 ms"):
        assert part in text
    assert "BBR" not in "\n".join(distortions(10.0, ("cubic",), 400.0))


def test_a_scale_does_not_touch_a_transfer_without_tcp() -> None:
    assert distortions(10.0, ("ltp",), 9e9) == ()
    assert distortions(10.0, ("ltp", "cubic"), 400.0) == distortions(10.0, ("cubic",), 400.0)


@pytest.mark.parametrize(
    ("scale", "rtt_s", "rto_max_s", "warns"),
    [
        (1.0, 120.0, 120.0, False),
        (1.0, 121.0, 120.0, True),
        (4.0, 400.0, 120.0, False),
        (3.0, 400.0, 120.0, True),
    ],
)
def test_a_longest_timeout_below_the_round_trip_is_said_at_every_scale(scale, rtt_s, rto_max_s, warns):
    # 4 x 120 s = 480 s of mission time hold a round trip of 400 s, 3 x 120 s = 360 s do not
    text = "\n".join(distortions(scale, ("cubic",), rtt_s, replace(TcpConstants(), rto_max_s=rto_max_s)))
    assert (f"below the round trip of {rtt_s:g} s" in text) == warns
    assert not warns or f"timeout {scale * rto_max_s:g} s" in text


@pytest.mark.parametrize(
    ("scale", "rtt_s", "warns"), [(1.0, 167.0, False), (1.0, 168.0, True), (3.0, 400.0, False)]
)
def test_a_round_trip_at_which_linux_has_no_rate_for_bbr_is_said(scale, rtt_s, warns):
    # 10 segments * 2^24 / 1e6 us = 167.8 s; three times as much at S = 3
    assert ("sends nothing" in "".join(distortions(scale, ("bbr",), rtt_s))) == warns
    assert "sends nothing" not in "".join(distortions(scale, ("cubic",), rtt_s))


@pytest.mark.parametrize(
    ("scale", "queue_bytes", "warns"), [(1, 136_000, False), (1, 137_000, True), (2, 137_000, False)]
)
def test_a_round_trip_that_linux_cannot_count_is_said_with_its_link(scenario_file, scale, queue_bytes, warns):
    # 2^32 / 8 us = 536.87 s: 400 s of light and 136 s of queue are below, 137 s above; at S = 2 it is 1,073.7 s
    link = ("link.0.delay_s=200", "link.0.rate_bps=8000", f"link.0.queue_bytes={queue_bytes}")
    plan = planned(scenario_file, f"run.scale={scale}", *link)
    for distorts in (plan.distorts, plan.algorithms[0].distorts):
        (said,) = [note for note in distorts if "srtt_us" in note] or [None]
        assert (said is not None) == warns
        assert not warns or said.startswith(f"link {plan.links[0].name}: a round trip of up to 537 s with")
        assert not warns or said.endswith("scale = 1.01 on")  # 537 / 536.87 = 1.0002


def test_what_a_scenario_sets_stands_in_the_scaled_constants_place() -> None:
    own = replace(TcpConstants(), rto_max_s=5.0)
    assert "longest 120 s → 50 s" in distortions(10.0, ("newreno",), 50.0, own)[0]
    assert "longest 120 s → 1200 s" in distortions(10.0, ("newreno",), 400.0)[0]
