"""Who else uses a link, from the scenario to the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.engine import CrossTraffic, Flow, Link
from dstcc.engine.config import NEVER_NS
from dstcc.errors import ScenarioError
from dstcc.scenario import Scenario, draw_links, load_scenario, parse_override, to_toml

S = 1_000_000_000


def loaded(path: Path, *overrides: str) -> Scenario:
    return load_scenario(path, [parse_override(text) for text in overrides])


def first_link(path: Path, *overrides: str, seed: int = 1) -> Link:
    return draw_links(loaded(path, *overrides), seed)[0]


def test_a_link_is_the_connections_alone_unless_told(minimal: Path) -> None:
    link = first_link(minimal)
    assert (link.subflows, link.flows, link.cross_traffic) == (1, (), ())


def test_flows_are_counted_and_greedy_unless_told(minimal: Path) -> None:
    link = first_link(
        minimal, "link.0.flows=[{congestion = 'cubic', count = 3}, {bytes = 5000, start_s = 2}]"
    )
    assert link.flows == (*[Flow("cubic")] * 3, Flow("same", start_ns=2 * S, payload_bytes=5000))


def test_an_application_writes_full_segments(minimal: Path) -> None:
    override = "link.0.flows=[{rate_bps = 1e6, on_s = 0.5, off_s = 2, periods = 'exponential', stop_s = 9}]"
    (flow,) = first_link(minimal, override, "transport.mss_bytes=1000").flows
    assert flow == Flow("same", 0, 9 * S, 0, CrossTraffic(1e6, 1040, 0, 9 * S, S // 2, 2 * S, "exponential"))


def test_starts_are_drawn_flow_by_flow_and_seed_by_seed(minimal: Path) -> None:
    override = "link.0.flows=[{count = 20, start_s = {uniform = [1, 9]}}]"
    starts = [flow.start_ns for flow in first_link(minimal, override).flows]
    assert len(set(starts)) == 20
    assert all(S <= start <= 9 * S for start in starts)
    assert starts == [flow.start_ns for flow in first_link(minimal, override).flows]
    assert starts != [flow.start_ns for flow in first_link(minimal, override, seed=2).flows]
    # one flow more changes no other's start
    more = [flow.start_ns for flow in first_link(minimal, override.replace("20", "21")).flows]
    assert more[:20] == starts


def test_the_mix_is_four_tcp_to_one_udp_source_of_a_fifth_each(minimal: Path) -> None:
    link = first_link(minimal, "link.0.mix={rate_bps = 1e6, on_s = 1, off_s = 1, periods = 'pareto'}")
    assert [flow.congestion for flow in link.flows] == ["newreno"] * 4
    offered = [flow.source.rate_bps for flow in link.flows if flow.source]
    assert offered == pytest.approx([2e5] * 4)
    assert [source.rate_bps for source in link.cross_traffic] == pytest.approx([2e5])
    assert {source.periods for source in link.cross_traffic} == {"pareto"}


@pytest.mark.parametrize(("share", "tcp", "udp"), [(0, 0, 3), (0.5, 2, 3), (1, 2, 0)])
def test_the_mix_can_be_another(minimal: Path, share: float, tcp: int, udp: int) -> None:
    override = f"link.0.mix={{rate_bps = 1e6, tcp_share = {share}, tcp_flows = 2, udp_sources = 3}}"
    link = first_link(minimal, override)
    assert (len(link.flows), len(link.cross_traffic)) == (tcp, udp)
    offered = [flow.source.rate_bps for flow in link.flows if flow.source]
    assert sum(offered) + sum(source.rate_bps for source in link.cross_traffic) == pytest.approx(1e6)


def test_the_mix_stands_beside_flows_and_datagrams(minimal: Path) -> None:
    link = first_link(
        minimal, "link.0.mix={rate_bps = 1e6}", "link.0.flows=[{}]", "link.0.cross_traffic=[{rate_bps = 5}]"
    )
    assert (len(link.flows), len(link.cross_traffic)) == (5, 2)
    assert link.flows[0] == Flow("same")
    assert link.cross_traffic[0] == CrossTraffic(5.0, stop_ns=NEVER_NS)


def test_pinned_layers_need_one_subflow_a_link(minimal: Path) -> None:
    overrides = ("transport.scheduler=layer-pinned", "transport.layer_links=['relay']", "link.1.subflows=2")
    with pytest.raises(ScenarioError, match=r"transport\.layer_links: needs one subflow a link"):
        loaded(minimal, *overrides)


def test_traffic_survives_being_written_back(minimal: Path, tmp_path: Path) -> None:
    scenario = loaded(
        minimal,
        "link.0.mix={rate_bps = 1e6, on_s = 1, off_s = 1, periods = 'pareto', pareto_shape = 1.2}",
        "link.0.flows=[{congestion = 'cubic', count = 2, start_s = {uniform = [0, 5]}}, {rate_bps = 1e5}]",
        "link.1.subflows=3",
    )
    again = tmp_path / "again.toml"
    again.write_text(to_toml(scenario))
    assert load_scenario(again) == scenario


@pytest.mark.parametrize(
    "overrides",
    [
        ("transport.congestion=ltp",),
        ("transport.congestion=paced", "transport.mode=coded", "coding={block_s=2}"),
    ],
)
def test_a_flow_takes_the_control_under_test_only_if_that_is_of_tcp(
    minimal: Path, overrides: tuple[str, ...]
) -> None:
    name = overrides[0].partition("=")[2]
    with pytest.raises(
        ScenarioError, match=f"link.0.flows.0.congestion: \"same\" is '{name}' here, and flows are TCP"
    ):
        loaded(minimal, *overrides, "link.0.flows=[{}]")
    (flow,) = first_link(minimal, *overrides, "link.0.flows=[{congestion='cubic'}]").flows
    assert flow.congestion == "cubic"


OWN_TWICE = 'link.0.flows=[{congestion = "cubic"}, {}]'
SECOND_SENDER = (
    "\"same\" is 'paced' here, and flows are TCP connections; name a congestion control of TCP; subflows = 2 gives a "
    "link or path a second sender of coded packets"
)


@pytest.mark.parametrize(
    ("who", "algorithm"),
    [
        ("'dstcc'", "transport={controller = 'dstcc', congestion = []}"),
        ("variant 'told'", "variant=[{label = 'told', controller = 'dstcc', set = {told_rates = true}}]"),
    ],
)
def test_flows_are_not_of_coded_packets_and_the_error_has_their_own_key(
    minimal: Path, who: str, algorithm: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        loaded(minimal, OWN_TWICE, algorithm)
    assert str(error.value) == f"{minimal}: link.0.flows.1.congestion: {who}: {SECOND_SENDER}"
    assert loaded(minimal, "link.0.subflows=2", algorithm).ways[0].subflows == 2  # what it says instead
