"""Background flows of the controller under test: each is steered by itself, from what its own sender knows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc import algorithms
from dstcc.engine import NEVER_NS, CrossTraffic, EngineConfig, EngineResult, Flow, Link, Objects, Transport
from dstcc.engine.stepper import FALL_BACK, FLOW_VALUES, LAYER_VALUES, SILENT, SUBFLOW_VALUES
from dstcc.errors import InputError
from dstcc.learn.env import beside
from dstcc.learn.env.beside import Beside, Written
from dstcc.learn.policies.drive import drive
from dstcc.learn.policies.policy import Policy, load_policy
from dstcc.learn.spaces.branched import MultiActions
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.run import load_controllers, run_trials
from dstcc.scenario import Scenario, load_scenario, load_source, parse_override, parse_scenario
from dstcc.sharing import sharing_metrics

S = 10**9
START_S = 30
UNBOUNDED = ("drl-cc", "iodst-dqn", "iodst-dqn+", "iodst-q")
STEERED = tuple(name for name in algorithms.shipped_policies() if name not in ("mpquic-rl", "gru-mpc"))


def doubling(*, most: float = 60) -> Policy:
    """Doubles its window a slot while it has fewer segments than that, and then leaves it alone."""
    observation = ObservationSpec("paper", 1, 1)  # the first value is log2(1 + window) / 10
    action = MultiActions(subflows=1, layers=1, windows=((2.0, 0), (1.0, 0)), headroom=0)
    above = np.log2(1 + most) / 10
    tensors = {
        "layers.0.weight": np.array([[1.0, 0, 0, 0]], dtype=np.float32),
        "layers.0.bias": np.array([-above], dtype=np.float32),
        "layers.1.weight": np.array([[0.0], [10.0], [0.0]], dtype=np.float32),
        "layers.1.bias": np.array([0.01, 0.0, 0.0], dtype=np.float32),
    }
    network = {"kind": "mlp", "activation": "relu"}
    return Policy(
        algorithm="doubling",
        observation=observation,
        action=action,
        network=network,
        tensors=tensors,
        seed=1,
        scenario_sha256="0" * 64,
        name="doubling",
    )


def bottleneck(*flows: Flow, objects: Objects | None = None) -> EngineConfig:
    """12 Mbit/s, a round trip of 1 s, and a file to send; slots of a second, for a minute."""
    one = np.ones(1, dtype=np.int64)
    shared = Link("l", 12e6, 12e6, (0,), (S // 2,), 1_500_000, 10**9, flows=flows)
    return EngineConfig(
        seed=1,
        links=(shared,),
        transport=Transport("newreno", "minrtt"),
        objects=objects or Objects(0 * one, 0 * one, 10**12 * one, 0 * one, NEVER_NS * one),
        slot_ns=S,
        duration_ns=60 * S,
    )


def windows(result: EngineResult) -> tuple[list[int], list[int]]:
    """Slot by slot: the connection's, and the first flow's from its start on."""
    return (
        result.samples.cwnd_segments.tolist(),
        result.flows[0].slot_cwnd_segments[result.flows[0].start_ns // S :].tolist(),
    )


def test_a_second_connection_does_what_the_first_did_at_its_age() -> None:
    # 10 segments from the handshake on, at the end of slot 2; then 20, 40, 80, and 80 for good.
    result = drive(doubling(), bottleneck(Flow(start_ns=START_S * S)))
    own, flow = windows(result)
    assert own[:6] == [0, 10, 20, 40, 80, 80] and own[-1] == 80
    assert flow == own[: len(flow)]
    # 80 segments a round trip each, and the line has room for both: from 10 slots after the start half and half
    late = result.flows[0].slot_delivered_bytes[START_S + 10 :].sum()
    assert late == pytest.approx(result.samples.delivered_bytes[START_S + 10 :].sum(), rel=0.02)
    assert late == pytest.approx(80 * 1460 * (60 - START_S - 10), rel=0.03)


def test_equal_connections_have_equal_shares_under_the_controllers_name() -> None:
    result = drive(doubling(), bottleneck(Flow(), Flow()))
    shares = sharing_metrics(bottleneck(Flow(), Flow()).links, result)
    assert shares["own_share"] == pytest.approx(1 / 3, rel=0.02)  # three windows of 80
    assert shares["fairness_jain"] == pytest.approx(1, abs=0.001)
    assert [flow.congestion for flow in result.flows] == ["doubling", "doubling"]


def test_another_senders_values_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first test's mutant: a flow fed with the connection's values sees 80 segments and never grows."""
    observe = Beside.observe

    def swapped(self: Beside, stepper: object) -> None:
        if stepper.flow_values[0, 0, 0]:  # type: ignore[attr-defined]
            stepper.flow_subflow_values[0, 0] = stepper.subflow_values[0, 0]  # type: ignore[attr-defined]
        observe(self, stepper)  # type: ignore[arg-type]

    monkeypatch.setattr(beside.Beside, "observe", swapped)
    own, flow = windows(drive(doubling(), bottleneck(Flow(start_ns=START_S * S))))
    assert own[-1] == 80 and set(flow[2:]) == {10}


def test_a_policy_gone_mad_leaves_its_flows_to_newreno_as_well() -> None:
    made = doubling()
    huge = {
        **made.tensors,
        "layers.0.bias": np.full(1, 3e38, np.float32),
        "layers.1.weight": np.full((3, 1), 10, np.float32),
    }
    mad = drive(replace(made, tensors=huge), bottleneck(Flow()))
    reno = drive(replace(made, tensors=huge), bottleneck(Flow("newreno")))
    np.testing.assert_array_equal(mad.flows[0].slot_cwnd_segments, reno.flows[0].slot_cwnd_segments)


def test_the_connection_is_not_told_of_flows_and_their_policies_keep_no_memory_of_it() -> None:
    """With room for both, what the connection does is what it does alone."""
    alone = drive(doubling(), bottleneck())
    beside_one = drive(doubling(), bottleneck(Flow(start_ns=START_S * S)))
    np.testing.assert_array_equal(alone.samples.cwnd_segments, beside_one.samples.cwnd_segments)


def test_a_sources_rate_is_known_from_the_second_write_on() -> None:
    source = Written(3000.0, 1.0, 0.0)
    assert source.by(9.0) == (3000.0, 0.0)
    source.payload_bytes, source.writes, source.over_s = 12_000.0, 4.0, 6.0
    # four writes took three intervals of 2 s: 3,000 bytes in 2 s
    assert source.by(9.0) == (12_000.0, pytest.approx(1500.0))
    assert Written(np.inf, 1.0, 0.0).by(1.0) == (np.inf, 0.0)


def test_what_measures_starts_from_the_flows_own_source_and_path() -> None:
    """dstcc begins at what its source needs: of the flow what its application writes, not the connection's video."""
    written = CrossTraffic(120_000)  # 10 packets a second
    config = bottleneck(Flow(source=written))
    flow = beside.beside(
        load_policy("dstcc-lanes"), replace(config, transport=Transport("agent-rate", "agent-late"))
    )[0]
    assert len(flow.config.links) == 1 and flow.config.links[0].subflows == 1
    assert flow.config.objects.layer.tolist() == [0]
    assert flow.written.by(0.0) == (0.0, 0.0)


def mission(controller: str, flow: dict[str, object], *, layer_bps: int = 350_000) -> Scenario:
    """Ten minutes of video over 1 Mbit/s, 10 s away."""
    link = {"name": "l", "rate_bps": 1_000_000, "delay_s": 5.0, "flows": [flow]}
    return parse_scenario(
        {
            "scenario": {"name": "two of a kind"},
            "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [layer_bps]}, "loop_to_s": 600},
            "link": [link],
            "transport": {"mode": "lanes", "congestion": [], "controller": [controller]},
            "playout": {"delay_rtts": 3},
            "run": {"slot_rtts": 0.5},
        },
        source="here",
    )


def test_two_live_sources_under_dstcc_leave_each_other_most_of_what_they_need() -> None:
    # 350 kbit/s of payload each: on the wire 2 · 350 · 1500 / 1460 = 719 kbit/s of 1,000
    rate = 350_000 * 1500 / 1460
    (trial,) = run_trials(mission("dstcc-lanes", {"rate_bps": rate}))
    assert trial.outcome is not None
    (flow,) = trial.outcome.flows
    assert flow["congestion"] == "dstcc-lanes"
    # acknowledged by the end; nothing stops the one that was first in the queue from leaving the other less than that:
    # 91 to 99 % of 300 to 375 kbit/s each (docs/learning.md)
    throughput_bps: Any = flow["throughput_bps"]
    assert 0.9 * 350_000 <= throughput_bps <= 350_000
    assert trial.outcome.metrics.values["weighted_layers"] == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("name", STEERED)
def test_every_shipped_controller_steers_a_flow_the_same_way_twice(name: str, short: Path) -> None:
    scenario = load_scenario(
        short,
        [
            parse_override("link.1.flows=[{congestion = 'same', rate_bps = 60_000, start_s = 5}]"),
            parse_override("transport.congestion=[]"),
            parse_override(f"transport.controller={name}"),
        ],
    )
    first, second = (run_trials(scenario)[0] for _ in range(2))
    assert first.outcome is not None and second.outcome is not None
    one, other = first.outcome.result.flows[0], second.outcome.result.flows[0]
    assert one.congestion == name and one.delivered_bytes > 0
    np.testing.assert_equal(vars(one), vars(other))
    np.testing.assert_array_equal(
        first.outcome.result.samples.cwnd_segments, second.outcome.result.samples.cwnd_segments
    )


def test_a_controller_of_schedulers_alone_says_whose_windows_its_flows_have(short: Path) -> None:
    scenario = load_scenario(
        short,
        [
            parse_override("link.1.flows=[{}]"),
            parse_override("transport.congestion=[]"),
            parse_override("transport.controller=mpquic-rl"),
        ],
    )
    (trial,) = run_trials(scenario)
    assert trial.outcome is not None
    assert [flow["congestion"] for flow in trial.outcome.flows] == ["mpquic-rl (cubic)"]


@pytest.mark.parametrize("name", UNBOUNDED)
def test_what_nothing_bounds_needs_an_end(name: str) -> None:
    endless = mission(name, {})
    with pytest.raises(
        InputError,
        match=re.escape(f"link.0.flows.0.congestion: 'same' under the policy {name} needs rate_bps"),
    ):
        load_controllers(endless, load_source(endless))
    bounded: tuple[dict[str, object], ...] = ({"rate_bps": 1e5}, {"bytes": 10**6}, {"congestion": "cubic"})
    for keys in bounded:
        scenario = mission(name, keys)
        assert name in load_controllers(scenario, load_source(scenario))


def test_a_flows_row_is_as_wide_as_a_subflows() -> None:
    from dstcc.engine import Stepper

    assert Stepper(1, 1, 1, flows=2).flow_subflow_values.shape == (1, 2, len(SUBFLOW_VALUES))


@pytest.mark.parametrize(
    ("writes", "over_s", "rate"),
    [(1, 4.0, 0.0), (2, 4.0, 1000.0), (5, 4.0, 1600.0), (2, 0.0, 0.0), (2, 0.5, 8000.0)],
)
def test_a_rate_is_of_the_time_that_all_writes_took(writes: float, over_s: float, rate: float) -> None:
    """8,000 bytes: of two writes one took 4 s; of five four did, and the fifth goes on as long."""
    assert Written(8000.0, writes, over_s).by(9.0) == (8000.0, pytest.approx(rate))


def flow_stepper(**flow: float) -> Any:
    """Two flows, of which the second has these values; its sender's are the numbers from 0 on."""
    stepper = SimpleNamespace(
        flow_values=np.zeros((1, 2, len(FLOW_VALUES))),
        flow_subflow_values=np.zeros((1, 2, len(SUBFLOW_VALUES))),
        flow_alpha_q16=np.full((1, 2), 99),
        flow_beta=np.full((1, 2), 99),
    )
    for name, value in flow.items():
        stepper.flow_values[0, 1, FLOW_VALUES.index(name)] = value
    stepper.flow_subflow_values[0, 1] = np.arange(len(SUBFLOW_VALUES))
    return stepper


def test_a_flows_policy_sees_its_own_sender_and_what_its_application_wrote() -> None:
    """Nothing before it started, and until it has observed anything it decides nothing."""
    one = Beside(doubling(), 1, bottleneck(Flow()))
    clocks: list[Any] = []
    choices: list[Any] = []
    chosen = iter((np.array([1]), None))

    def choose(seen: Any) -> Any:
        choices.append(seen)
        return next(chosen)

    decides: Any = SimpleNamespace(
        subflow_values=np.zeros((1, 1, len(SUBFLOW_VALUES))),
        layer_values=np.zeros((1, 1, len(LAYER_VALUES))),
        clock=lambda *times: clocks.append(times),
        observe=lambda: "observed",
        choose=choose,
        decode=lambda _: SimpleNamespace(alpha_q16=np.array([[7, 8]]), beta=np.array([[3, 4]])),
    )
    one._decides = decides
    early = flow_stepper(age_s=3.0)
    one.observe(early)
    one.decide()
    one.act(early)
    assert clocks == choices == []
    assert (early.flow_alpha_q16[0].tolist(), early.flow_beta[0].tolist()) == ([99, SILENT], [99, 0])
    stepper = flow_stepper(
        started=1,
        age_s=3.0,
        slot_s=0.5,
        written_bytes=9000.0,
        unsent_bytes=2000.0,
        writes=3,
        written_over_s=2.0,
    )
    one.observe(stepper)
    assert clocks == [(3.0, 0.5)] and one.written == Written(9000.0, 3.0, 2.0)
    assert decides.subflow_values[0, 0].tolist() == list(range(len(SUBFLOW_VALUES)))
    layer = dict(zip(LAYER_VALUES, decides.layer_values[0, 0].tolist(), strict=True))
    assert layer == {**dict.fromkeys(LAYER_VALUES, 0.0), "backlog_bytes": 2000.0, "slack_s": np.inf}
    one.decide()
    one.act(stepper)
    assert choices == ["observed"]
    assert (stepper.flow_alpha_q16[0].tolist(), stepper.flow_beta[0].tolist()) == ([99, 7], [99, 3])
    one.decide()
    one.act(stepper)
    assert (stepper.flow_alpha_q16[0].tolist(), stepper.flow_beta[0].tolist()) == ([99, FALL_BACK], [99, 0])


def test_flows_are_steered_in_the_engines_order_and_each_is_alone() -> None:
    """Of the second link the first flow is a stock control's."""
    first = bottleneck(Flow("newreno"), Flow())
    second = replace(first.links[0], name="m", rate_bps=24_000_000, subflows=3, flows=(Flow("cubic"), Flow()))
    config = replace(first, links=(*first.links, second), transport=Transport("agent", "agent"))
    flows = beside.beside(doubling(), config)
    assert [one.place for one in flows] == [0, 1]
    assert [[link.name for link in one.config.links] for one in flows] == [["l"], ["m"]]
    for one in flows:
        (link,), objects = one.config.links, one.config.objects
        assert (link.subflows, link.flows) == (1, ())
        assert [getattr(objects, name).tolist() for name in ("chunk", "layer", "release_ns")] == [[0]] * 3
        assert objects.payload_bytes.tolist() == [1] and objects.deadline_ns.tolist() == [NEVER_NS]
    assert beside.beside(doubling(), replace(config, transport=Transport("cubic", "agent"))) == ()


def test_flows_act_before_a_slot_and_look_after_it() -> None:
    calls: list[str] = []
    flows: Any = [
        SimpleNamespace(
            act=lambda _, n=n: calls.append(f"{n} acts"), observe=lambda _, n=n: calls.append(f"{n} looks")
        )
        for n in (1, 2)
    ]
    stepper: Any = SimpleNamespace(step=lambda: calls.append("slot"))
    beside.go(flows, stepper)
    assert calls == ["1 acts", "2 acts", "slot", "1 looks", "2 looks"]
