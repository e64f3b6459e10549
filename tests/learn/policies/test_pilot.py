"""How a policy of TCP steers a connection slot by slot: what it is told, what a watcher gets, what the guard counts."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine.stepper import FALL_BACK, SUBFLOW_VALUES
from dstcc.errors import PolicyError
from dstcc.learn.env.episodes import Episodes, steered
from dstcc.learn.policies.controller import Decided
from dstcc.learn.policies.pilot import SEEN, TcpPilot
from dstcc.learn.policies.policy import load_policy
from dstcc.scenario import draw_trial, engine_config, parse_scenario
from tests.learn.made_policies import constant
from tests.learn.mission import MISSION

SMALL = parse_scenario(tomllib.loads(MISSION), source="small")
EPISODES = Episodes([SMALL])
BDP = ((1.0, 0), (0.0, 60), (0.0, 80))
MADE = constant((1, 2, 0, 1), windows=BDP, headroom=0)


def config(policy: Any = MADE) -> Any:
    plain = engine_config(SMALL, draw_trial(SMALL, EPISODES.sources[0], 3), "cubic", "minrtt")
    return steered(plain, policy.action)


def test_a_watcher_gets_each_decision_before_it_is_carried_out() -> None:
    told: list[Decided] = []
    pilot = TcpPilot(MADE, config(), told.append)
    times = []
    for _ in range(5):
        times.append(pilot.stepper.time_s(0))
        seen = pilot._runner.observations[0].copy()
        values = pilot.stepper.subflow_values[0].copy()
        pilot.step()
        one = told[-1]
        assert one.t_s == times[-1] and one.observed == MADE.observation.names
        assert (one.observation == seen).all() and (one.outputs == MADE.outputs(seen[None])[0]).all()
        assert set(one.saw) == set(SEEN) and one.believed == {} and not one.fell_back
        for name, held in one.saw.items():
            assert (held == values[:, SUBFLOW_VALUES.index(name)]).all()
        assert one.chose == {
            "window of subflow 0": "×0 +60",
            "window of subflow 1": "×0 +80",
            "layer 0": "subflow 0",
            "layer 1": "subflow 1",
        }
    assert len(told) == 5 and times == sorted(set(times)) and times[0] == 0.0


def test_outputs_that_are_no_numbers_give_the_windows_to_newreno() -> None:
    huge = {
        **MADE.tensors,
        "layers.0.bias": np.full(4, 3e38, np.float32),
        "layers.1.weight": np.full((10, 4), 10, np.float32),
    }
    told: list[Decided] = []
    pilot = TcpPilot(replace(MADE, tensors=huge), config(), told.append)
    with np.errstate(over="ignore", invalid="ignore"):
        pilot.step()
    assert set(pilot.stepper.alpha_q16.flat) == {FALL_BACK}
    assert told[0].fell_back and told[0].chose == {}


def test_what_the_guard_did_is_summed_over_subflows() -> None:
    pilot = TcpPilot(MADE, config(), None)
    for name, counts in (("clamps", (3, 4)), ("fallbacks", (1, 5))):
        pilot.stepper.subflow_values[0, :, SUBFLOW_VALUES.index(name)] = counts
    assert pilot.guarded == (7, 6)


@pytest.mark.parametrize("begin_s", [0, 5])
def test_it_begins_where_its_connection_does(begin_s: int) -> None:
    told: list[Decided] = []
    whole = replace(config(), begin_ns=begin_s * 10**9)
    pilot = TcpPilot(MADE, whole, told.append)
    pilot.step()
    slot_s = whole.slot_ns / 1e9
    assert told[0].t_s == pytest.approx(np.ceil(begin_s / slot_s) * slot_s)


def test_of_a_wider_policy_a_watcher_gets_the_trials_subflows() -> None:
    wide = constant((1, 2, 0, 0, 1, 2), subflows=3, layers=3, windows=BDP, headroom=0)
    told: list[Decided] = []
    TcpPilot(wide, config(wide), told.append).step()
    assert {len(values) for values in told[0].saw.values()} == {2}
    assert list(told[0].chose) == ["window of subflow 0", "window of subflow 1", "layer 0", "layer 1"]
    lanes = load_policy("dstcc-lanes")
    TcpPilot(lanes, config(lanes), told.append).step()
    assert {name: len(values) for name, values in told[1].believed.items()} == {
        "loss": 2,
        "rate_bps": 2,
        "rate_known": 2,
    }


def test_a_policy_says_what_it_sees_and_does() -> None:
    assert MADE.knows == ("queue", "contacts") and MADE.copies == "" and MADE.simulator_only == ""
    assert (MADE.most, MADE.lanes) == ((2, 2), 0)
    assert load_policy("pbq").knows == () and load_policy("dstcc-lanes").knows == ("queue", "contacts")
    assert load_policy("dstcc-lanes").copies == "spare"
    many = constant((0, 0, 0, 0), lanes=16)
    assert many.on_lanes(None) is many and many.on_lanes(16) is many and many.on_lanes(17) is many
    assert many.on_lanes(15).lanes == 15 and MADE.on_lanes(0) is MADE


def test_a_trial_that_fits_is_one_of_as_many_or_fewer() -> None:
    for subflows, layers in ((2, 2), (1, 1)):
        MADE.check_fits(subflows=subflows, layers=layers)
    for subflows, layers in ((3, 2), (2, 3)):
        with pytest.raises(PolicyError, match=f"the scenario has {subflows} and {layers}"):
            MADE.check_fits(subflows=subflows, layers=layers)
    seen = np.zeros((1, MADE.observation.size), dtype=np.float32)
    for odd in (seen[0], seen[:, :-1], np.zeros((1, MADE.observation.size + 1), np.float32)):
        with pytest.raises(PolicyError, match="observations have the shape"):
            MADE.outputs(odd)
    assert MADE.act(seen).tolist() == [[1, 2, 0, 1]]
    with pytest.raises(ValueError, match="network kind 'none': one of mlp"):
        replace(MADE, network={"kind": "none"})
