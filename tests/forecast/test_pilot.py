"""How a forecaster steers one connection: when it begins, what it is asked and told, and what a watcher gets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc import engine
from dstcc.coded.channels import GRID, on_grid
from dstcc.coded.fleet import Fleet
from dstcc.coded.seen import RepairDecision
from dstcc.forecast.outlook import NAMES
from dstcc.forecast.pilot import CodedPilot, Decider, _decided, losses_of, trial_mission
from dstcc.learn.policies.controller import Decided
from dstcc.scenario import load_scenario
from tests.coded.missions import mission, seen

from .made import policy, write


def test_the_ends_of_a_belief_are_where_a_twentieth_and_all_but_one_are_reached() -> None:
    """Of 4, 2, 88 and 6 percent on four points the second and the last reach them; of one point it is all."""
    belief = np.zeros((3, len(GRID)))
    belief[0, [3, 5, 20, 30]] = 0.04, 0.02, 0.88, 0.06
    belief[1, 7] = 1.0
    belief[2, -1] = 1.0 - 1e-12  # sums of rounded numbers may end below 0.95
    belief[2] *= 0.9
    found = losses_of(belief)
    assert found["loss_low"].tolist() == [GRID[5], GRID[7], GRID[-1]]
    assert found["loss_high"].tolist() == [GRID[30], GRID[7], GRID[-1]]
    assert found["loss"][:2] == pytest.approx(
        [0.04 * GRID[3] + 0.02 * GRID[5] + 0.88 * GRID[20] + 0.06 * GRID[30], GRID[7]]
    )


def test_a_watcher_gets_what_was_seen_believed_and_chosen() -> None:
    """Of two subflows; the second is believed to lose a tenth."""
    of = mission(1, rates=(5_000.0, 2_500.0))
    now = seen(
        of,
        90.0,
        heard=np.array([[7.0, 8.0]]),
        lost=np.array([[1.0, 2.0]]),
        runs=np.array([[1.0, 1.0]]),
        sent_s=np.array([[60.0, 66.0]]),
    )
    now = replace(now, pace_bytes=np.array([[100.0, 200.0]]))
    beliefs = np.stack([on_grid(np.array(chance)) for chance in (0.01, 0.1)])[None]
    inputs = np.arange(2.0 * len(NAMES)).reshape(1, 2, len(NAMES))
    decision = RepairDecision(np.array([[0.0, 0.3, 0.7]]))
    for fell in (False, True):
        sender: Any = SimpleNamespace(fallen=np.array([fell]), inputs=inputs, beliefs=beliefs)
        told = _decided(sender, now, decision)
        assert told.t_s == 90.0 and told.fell_back is fell
        assert told.observed == tuple(f"subflow{s}.{name}" for s in (0, 1) for name in NAMES)
        assert told.observation.tolist() == list(range(2 * len(NAMES))) and len(told.outputs) == 0
        assert told.saw["heard"].tolist() == [7.0, 8.0] and told.saw["lost"].tolist() == [1.0, 2.0]
        assert told.saw["sent_s"].tolist() == [60.0, 66.0]
        assert told.saw["pacing_bps"].tolist() == [800.0, 1600.0]
        assert set(told.saw) == {
            *("heard", "lost", "runs", "sent_s", "rtt_s", "delivered_bytes", "queue_bytes", "pacing_bps")
        }
        assert told.believed["loss"] == pytest.approx([0.01, 0.1], rel=0.01)
        assert told.chose == {
            "repair of layer 0": "none",
            "repair of layer 1": "20 to 40 %",
            "repair of layer 2": "above 40 %",
            "decided by": "the tuned rule" if fell else "the plan",
        }


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    scenario = load_scenario(write(tmp_path))
    return Fleet(scenario, scenario.seeds)


def test_slots_of_the_guard_are_counted(fleet: Fleet) -> None:
    config = fleet.configs[0]
    decider = Decider(policy(), trial_mission(config))
    pilot = CodedPilot(policy(), config, fleet.layers, None)
    fallen = iter((True, False, True, True))
    decider.sender.decide = lambda _: setattr(decider.sender, "fallen", np.array([next(fallen)]))  # type: ignore[assignment, method-assign]
    for count in (1, 1, 2, 3):
        decider.decide(pilot.stepper)
        assert decider.fallen == count
    pilot._decider = decider
    assert pilot.guarded == (0, 3)


def test_each_step_decides_on_the_slot_that_ended_and_takes_the_next(fleet: Fleet) -> None:
    """Slots of 5 s. All repair is a half, which the trial then has sent."""
    config = fleet.configs[0]
    told: list[Decided] = []
    pilot = CodedPilot(policy(), config, fleet.layers, told.append)
    assert pilot.stepper.time_s(0) == 0.0
    decided = pilot._decider.sender.decide
    pilot._decider.sender.decide = lambda seen: replace(decided(seen), repair=np.full((1, 3), 0.5))  # type: ignore[method-assign]
    for number in range(1, 5):
        pilot.step()
        assert pilot.stepper.time_s(0) == 5.0 * number and len(told) == number
        assert pilot.stepper.repair.tolist() == [[0.5] * 3]
    assert [one.t_s for one in told] == [0.0, 5.0, 10.0, 15.0]
    assert pilot.result().end_ns >= 20 * 10**9 and pilot.guarded == (0, 0)


@pytest.mark.parametrize(("begin_s", "first_s"), [(0, 0.0), (10, 10.0), (11, 15.0)])
def test_it_comes_to_where_its_connection_begins(fleet: Fleet, begin_s: int, first_s: float) -> None:
    config = replace(fleet.configs[0], begin_ns=begin_s * 10**9)
    pilot = CodedPilot(policy(), config, fleet.layers, None)
    assert pilot.stepper.time_s(0) == first_s


def test_of_a_trial_it_knows_what_its_scenario_says(fleet: Fleet) -> None:
    known, whole = trial_mission(fleet.configs[0]), fleet.mission
    assert known.layers == whole.layers and known.rate_bytes.tolist() == whole.rate_bytes[:1].tolist()
    assert isinstance(engine.simulate(fleet.configs[0]), engine.EngineResult)
