"""Channels that change, on the kernel: losses in steps, outages that no plan has, and rates that programs have not."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel.job import LinkJob, of_document
from dstcc_kernel.names import changing_rate, misfit
from dstcc_kernel.plan import job_of, way_of
from dstcc_kernel.steer import _contacts

from dstcc.engine.config import Loss
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

S = 10**9
SCALE = 10.0


def steps(loss: Loss, outages: tuple[tuple[int, int], ...] = ()) -> list[tuple[float, float]]:
    """Emulated seconds, to the nanosecond, and the chance from then on."""
    way = way_of(1e6, 10**6, [(0, S)], loss, outages, packet_bytes=1500, scale=SCALE)
    return [(step.from_ns / S, step.loss) for step in way.steps]  # type: ignore[misc]


def test_a_step_of_the_chance_is_a_step_of_netems() -> None:
    loss = Loss(
        "schedule", t_ns=(0, 20 * S - 1, 20 * S, 50 * S - 1, 50 * S), rates=(0.01, 0.01, 0.2, 0.2, 0.0)
    )
    assert steps(loss) == [(0, 0.01), (2, 0.2), (5, 0.0)]
    assert steps(Loss("schedule", t_ns=(5 * S,), rates=(0.1,))) == [(0, 0.1)]


def test_a_slope_is_in_steps_of_a_twentieth_of_its_greater_end() -> None:
    sloped = steps(Loss("schedule", t_ns=(0, 100 * S), rates=(0.0, 0.2)))
    assert [at for at, _ in sloped] == pytest.approx([*(part / 2 for part in range(20)), 10.0])
    assert [chance for _, chance in sloped[:-1]] == pytest.approx(
        [0.2 * (part + 0.5) / 20 for part in range(20)]
    )
    assert sloped[-1][1] == 0.2


def test_all_is_lost_in_an_outage_nobody_announced() -> None:
    assert steps(Loss("packet", 0.1), ((10 * S, 30 * S),)) == [(0, 0.1), (1, 1.0), (3, 0.1)]


def test_a_policy_knows_the_outages_of_its_plan_and_no_others() -> None:
    given = scenario(outages=[[10, 20]], unannounced_outages=[[30, 40]], delay_s=[[0.0, 1.0], [50.0, 2.0]])
    config = engine_config(given, draw_trial(given, load_source(given), 1), "cubic", "minrtt")
    config = replace(config, transport=replace(config.transport, scale=SCALE), duration_ns=50 * S)
    (link,) = job_of(config, program=Path("/p")).links
    assert link == of_document(LinkJob, json.loads(json.dumps(asdict(link))))
    contact = _contacts(link, SCALE)
    seen = [contact(now_s) for now_s in (5.0, 15.0, 35.0)]
    assert [(one.up, one.change_s) for one in seen] == [(True, 5.0), (False, 5.0), (True, inf)]
    assert [one.one_way_s for one in seen] == pytest.approx([1.1, 1.3, 1.7], abs=0.002)
    assert 1.0 in [step.loss for step in link.down.steps if step.from_ns * SCALE >= 30 * S], "netem has it"


def scenario(**link: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "scenario": {"name": "changing"},
            "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [1000.0]}, "loop_to_s": 10.0},
            "link": [{"name": "a", "rate_bps": 1e6, "delay_s": 1.0} | link],
        }
    )


def test_a_rate_that_changes_is_no_programs_of_ones_own() -> None:
    dims = {"states": [{"packet": 0.0, "dwell_s": 5.0}, {"packet": 0.1, "dwell_s": 5.0, "rate": 0.5}]}
    assert (changing_rate(scenario(rate_bps=[[0.0, 1e6], [5.0, 2e6]])) or "").startswith(
        "link.0.rate_bps: a rate over time"
    )
    assert (changing_rate(scenario(loss=dims)) or "").startswith(
        "link.0.loss.states: a state that changes the rate"
    )
    plain = {"states": [{"packet": 0.0, "dwell_s": 5.0}, {"packet": 0.1, "dwell_s": 5.0}]}
    for given in (scenario(rate_bps=[[0.0, 1e6], [5.0, 2e6]]), scenario(loss=dims)):
        assert misfit(given) is None
    assert changing_rate(scenario(loss=plain, unannounced_outages=[[1.0, 2.0]])) is None
