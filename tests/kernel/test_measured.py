"""A policy that measures its paths, steered beside the simulator: the kernel's words become the simulator's values."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_kernel import backend
from dstcc_kernel.agent import Agent, Contact, Route
from dstcc_kernel.netlink import Action
from dstcc_kernel.outcome import read_result

from dstcc.engine import AGENT, EngineConfig, EngineResult
from dstcc.engine.stepper import LAYER_VALUES, RUNNING, SUBFLOW_VALUES
from dstcc.learn.env.episodes import steered
from dstcc.learn.env.runner import Runner
from dstcc.learn.policies.policy import load_policy
from dstcc.run import load_run
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source

from .test_agent import Control, subflow

MINI = Path(__file__).parent / "mini.toml"
SCALE = 8.0
NAMES = (
    *(
        "established",
        "cwnd_segments",
        "inflight_segments",
        "srtt_s",
        "min_rtt_s",
        "sent_segments",
        "lost_segments",
    ),
    *("retransmitted_segments", "queue_bytes", "pacing_bps", "one_way_s", "link_up"),
)


def test_what_the_kernel_tells_is_what_the_simulator_tells() -> None:
    """A trial in the simulator, its subflows put as the module would: the same values, the same windows and orders."""
    scenario = load_scenario(MINI)
    policy = load_policy("dstcc-lanes")
    config = steered(
        engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), AGENT, AGENT), policy.action
    )
    runner = Runner(1, policy.observation, replace(policy.action, hold=1))
    runner.begin(0, config)
    values, layers = runner.stepper.subflow_values[0], runner.stepper.layer_values[0]
    control = Control()
    lights = [link.delay_ns[0] / 1e9 for link in config.links]
    routes = [
        Route(frozenset({f"10.{k + 1}.0.1"}), lambda now_s, light=light: Contact(light, True, np.inf))  # type: ignore[misc]
        for k, light in enumerate(lights)
    ]
    mss = config.transport.mss_bytes
    tested = Agent(policy, control, routes, 3, config.slot_ns / 1e9, SCALE, mss, config, shared=True)
    totals = np.zeros((2, 4))
    acted = 0
    for slot in range(60):

        def of(row: int, name: str) -> float:
            return float(values[row, SUBFLOW_VALUES.index(name)])

        counted = ("sent_segments", "lost_segments", "retransmitted_segments", "delivered_bytes")
        totals += [[of(row, name) for name in counted] for row in range(2)]
        control.now = [
            subflow(
                row + 3,
                f"10.{row + 1}.0.1",
                mss=1,
                cwnd=round(of(row, "cwnd_segments"))
                - tested._beside[row],  # a pace, beside what was in flight
                in_flight=round(of(row, "inflight_segments")),
                srtt_us=round(of(row, "srtt_s") / SCALE * 1e6),
                min_rtt_us=round(of(row, "min_rtt_s") / SCALE * 1e6),
                sent=round(totals[row, 0]),
                lost=round(totals[row, 1]),
                retransmitted=round(totals[row, 2]),
                delivered=round(totals[row, 3]),
            )
            for row in range(2)
            if of(row, "established")
        ]
        decision = tested.decide(
            slot * config.slot_ns / 1e9,
            layers[:3, LAYER_VALUES.index("backlog_bytes")].tolist(),
            layers[:3, LAYER_VALUES.index("slack_s")].tolist(),
            [of(row, "queue_bytes") for row in range(2)],
        )
        for name in NAMES:
            place = SUBFLOW_VALUES.index(name)
            there = [row for row in range(2) if of(row, "established")]
            ours = tested._decides.subflow_values[0][there, place]
            # the simulator's pace is in whole bytes a second
            near = 8.0 if name == "pacing_bps" else 1e-6
            assert ours == pytest.approx(values[there, place], rel=1e-5, abs=near), (slot, name)
        units = runner._observer.units(runner.stepper)
        if tested._held == 1:
            choice = policy.action.greedy(policy.outputs(runner.observations))
        wanted = policy.action.decode(choice, units)
        if control.now:
            acted += 1
            for action in control.asked[-1]:
                assert isinstance(action, Action) and action.alpha_q16 == 0
                assert action.beta == pytest.approx(wanted.beta[0, action.subflow - 3], rel=1e-4, abs=1)
        assert (decision.gap_s, decision.repair) == pytest.approx(tuple(wanted.order[0]))
        assert decision.layers == wanted.layer_subflow[0, :3].tolist()
        runner.step(choice)
        if runner.stepper.done[0] != RUNNING:  # its last slot is a shorter one
            break
    assert acted > 30


def emulated(out: Path) -> str:
    """Ten chunks; four lanes a link, as each costs time. What the command prints."""
    settings = ("video.loop_to_s=100", "link.0.loss.packet=0.01", "transport.controller_lanes=4")
    words = ["--seeds", "1", *(word for text in settings for word in ("--set", text))]
    command = ["emulate", str(MINI), "--backend", "kernel", "--controller", "dstcc-lanes", *words]
    done = CliRunner().invoke(main, [*command, "-o", str(out), "--json"])
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.mark.kernel
def test_our_policy_steers_real_subflows_twice_the_same(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []
    read = read_result

    def keep(path: Path, config: EngineConfig) -> EngineResult:
        seen.append(path.read_bytes())
        return read(path, config)

    monkeypatch.setattr(backend, "read_result", keep)
    for name in ("a", "b"):
        emulated(tmp_path / name)
    assert seen[0] == seen[1]


def test_our_policy_steers_real_subflows(kernel: Path, tmp_path: Path) -> None:
    """Few chunks are late although a link loses 1 %."""
    out = emulated(tmp_path / "run")
    (trial,) = json.loads(out)["trials"]
    assert trial["metrics"]["weighted_layers"] > 0.3
    assert trial["metrics"]["guard_actions"] == 0
    run = load_run(tmp_path / "run")
    assert "lanes" in " ".join(run.meta["kernel"]["notes"])
    queues = run.samples()["queue_bytes"].to_pylist()
    assert max(queues) > 0
