"""``dstcc/CodedDeepSpace-v1``: coded packets steered by an agent."""

from __future__ import annotations

from math import exp, inf, log2, log10
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dstcc.learn  # noqa: F401 - registers it
from dstcc.engine.coded_stepper import CODED_EPISODE_VALUES, CODED_LAYER_VALUES, CODED_SUBFLOW_VALUES
from dstcc.engine.stepper import FINISHED, RUNNING, TIME_OVER
from dstcc.errors import ScenarioError
from dstcc.layers import layer_weights
from dstcc.learn.env.coded import CodedDeepSpaceEnv
from dstcc.metrics import layer_table
from dstcc.scenario import Scenario, parse_scenario

PACED = {
    "scenario": {"name": "two coded links"},
    "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [60_000, 30_000]}, "loop_to_s": 120},
    "link": [
        {"name": "near", "rate_bps": 60_000, "delay_s": 5, "loss": {"packet": 0.05}},
        {"name": "far", "rate_bps": 60_000, "delay_s": 8, "loss": {"packet": 0.02}},
    ],
    "transport": {"congestion": "paced"},
    "playout": {"delay_s": 20},
    "run": {"slot_s": 5},
}


def scenario(**more: object) -> Scenario:
    """A mission of coded packets, with further tables."""
    return parse_scenario(PACED | more, source="here")


def episode(env: CodedDeepSpaceEnv, action: list[float], seed: int = 3) -> tuple[float, list[np.ndarray]]:
    """An episode under one action: its return, and what was observed."""
    seen = [env.reset(options={"scenario_seed": seed})[0]]
    total = 0.0
    while True:
        observed, reward, ended, over, info = env.step(np.array(action, np.float32))
        seen.append(observed)
        total += reward
        if ended or over:
            assert info["episode_return"] == pytest.approx(total)
            return total, seen


def test_of_a_scenario_of_our_transport_that_is_steered() -> None:
    """The demo has lanes besides, for its other algorithms."""
    env = CodedDeepSpaceEnv("examples/demo/mars-two-links.toml")
    assert env.reset(seed=1)[0].shape == env.observation_space.shape
    assert np.isfinite([env.step(env.action_space.sample())[1] for _ in range(3)]).all()


def test_gymnasium_finds_nothing_wrong_with_it() -> None:
    env = gymnasium.make("dstcc/CodedDeepSpace-v1", scenario=scenario())
    check_env(env.unwrapped, skip_render_check=True)
    several = gymnasium.make_vec("dstcc/CodedDeepSpace-v1", num_envs=2, scenario=scenario())
    first, _ = several.reset(seed=7)
    alone, _ = env.reset(seed=8)
    assert np.array_equal(first[1], alone)


def test_an_episodes_return_is_the_weight_that_was_played() -> None:
    env = CodedDeepSpaceEnv(scenario())
    total, _ = episode(env, [0.0, 0.0, 0.0, 0.0])
    result, objects = env.result(), env.config(3).objects
    complete, due = (
        layer_table(objects, result.objects.complete_ns, -1),
        layer_table(objects, objects.deadline_ns, -1),
    )
    whole = np.logical_and.accumulate((complete >= 0) & (complete <= due), axis=0)
    weight = layer_weights(np.arange(2), 2)
    played = (whole.sum(axis=1) * weight).sum() / layer_weights(objects.layer, 2).sum()
    assert total == pytest.approx(100 * played)


def test_repair_is_what_the_action_says() -> None:
    env = CodedDeepSpaceEnv(scenario())
    none, some = episode(env, [-1.0, -1.0, 0.0, 0.0]), episode(env, [-0.3, -0.3, 0.0, 0.0])
    assert some[0] > none[0] + 2
    assert (env.result().totals.repair_payload_bytes > 0) and none[1][-1].shape == some[1][-1].shape
    episode(env, [-1.0, 1.0, 0.0, 0.0])
    coding = env.result().coding
    assert coding is not None
    base, upper = coding.source_packets[0::2], coding.planned_packets[1::2] / coding.source_packets[1::2]
    # But for blocks that are under way when losses are seen to have risen.
    assert coding.planned_packets[0::2].max() <= 2 and (coding.planned_packets[0::2] == 0).mean() > 0.9
    assert base.min() > 0
    assert upper.min() > 1.9  # 2, rounded up, but for the code's length


def test_the_pace_is_pressed() -> None:
    env = CodedDeepSpaceEnv(
        scenario(video={"synthetic": {"chunk_s": 1.0, "layer_bps": [200_000]}, "loop_to_s": 60})
    )
    episode(env, [-1.0, 0.0, 0.0])
    plain = env.result().totals.data_packets
    episode(env, [-1.0, -1.0, -1.0])
    assert env.result().totals.data_packets < 0.7 * plain


def test_an_episode_is_its_seeds_and_its_actions() -> None:
    env = CodedDeepSpaceEnv(scenario())
    one, again, other = (episode(env, [0.1, 0.0, 0.0, 0.0], seed) for seed in (4, 4, 5))
    assert one[0] == again[0] and all(map(np.array_equal, one[1], again[1]))
    assert not np.array_equal(one[1][10], other[1][10])


@pytest.mark.parametrize("action", [[0.0] * 3, [0.0, 0.0, 0.0, 1.1], [np.nan, 0.0, 0.0, 0.0]])
def test_an_action_outside_the_space_is_refused(action: list[float]) -> None:
    env = CodedDeepSpaceEnv(scenario())
    env.reset(seed=1)
    with pytest.raises(ValueError, match="an action has 4 numbers from -1 to 1"):
        env.step(np.array(action, np.float32))


def test_each_environment_says_which_scenarios_are_the_others() -> None:
    lanes = scenario(transport={"mode": "lanes"})
    with pytest.raises(ScenarioError, match=r'transport.mode = "lanes": this environment has coded packets'):
        CodedDeepSpaceEnv(lanes)
    with pytest.raises(ScenarioError, match=r"transport.congestion: names 2; an episode has one"):
        CodedDeepSpaceEnv(scenario(transport={"mode": "coded", "congestion": ["paced", "open-loop"]}))
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(ScenarioError, match="dstcc/CodedDeepSpace-v1 has these"):
            make("dstcc/DeepSpace-v1", scenario=scenario())


class MadeStepper:
    """A stepper of two subflows and two layers, with the values that it is given."""

    def __init__(self) -> None:
        self.subflow_values = np.zeros((1, 2, len(CODED_SUBFLOW_VALUES)))
        self.layer_values = np.zeros((1, 2, len(CODED_LAYER_VALUES)))
        self.episode_values = np.zeros((1, len(CODED_EPISODE_VALUES)))
        self.repair, self.pace = np.zeros((1, 2)), np.zeros((1, 2))
        self.done = [RUNNING]
        self.steps = 0

    def put(self, **given: Any) -> None:
        for name, value in given.items():
            if name in CODED_EPISODE_VALUES:
                self.episode_values[0, CODED_EPISODE_VALUES.index(name)] = value
            elif name in CODED_LAYER_VALUES:
                self.layer_values[0, :, CODED_LAYER_VALUES.index(name)] = value
            else:
                self.subflow_values[0, :, CODED_SUBFLOW_VALUES.index(name)] = value

    def load(self, episode: int, config: Any) -> None:
        assert episode == 0

    def step(self) -> None:
        self.steps += 1

    def result(self, episode: int) -> str:
        return f"of {episode}"


def made(mss: int = 1460) -> tuple[CodedDeepSpaceEnv, MadeStepper]:
    env, stepper = (
        CodedDeepSpaceEnv(scenario(transport={"congestion": "paced", "mss_bytes": mss})),
        MadeStepper(),
    )
    env._stepper = stepper  # type: ignore[assignment]
    stepper.put(total_weight=1200.0)
    env.reset(options={"scenario_seed": 3})
    return env, stepper


def test_an_observation_place_by_place() -> None:
    """Packets of 1,000 bytes. For each subflow ten places, for each layer four, then two."""
    env, stepper = made(1000)
    stepper.put(
        established=(1, 0),
        srtt_s=(0.999, 0),
        inflight_segments=(1023, 3),
        heard_packets=(15, 0),
        lost_packets=(6, 3),
        loss_runs=(3, 0),
        queue_bytes=(7000, 500),
        pacing_bps=(99_999, 0),
        link_up=(1, 0),
        change_s=(16, 10),
        one_way_s=(8, 5),
        backlog_bytes=(31_000, 0),
        slack_s=(9.999, inf),
        released_bytes=(3000, 0),
        block_repair=(3, 2),
        block_source=(12, 0),
        loss_share=0.25,
        loss_bursts=16.0,
    )
    seen = env._observe()
    assert seen.dtype == np.float32 and env.observation_space.contains(seen)
    assert seen.tolist() == pytest.approx(
        [
            *(1, 0.5, 1.0, 0.4, 0.4, 0.25, 0.3, 0.5, 1, exp(-1)),
            *(0, 0, 0.2, 0, 3.0, log2(3) / 4, log2(1.5) / 10, 0, 0, exp(-1)),
            *(0.5, 4 / 6, 0.2, 0.25),
            *(0, 4.0, 0, 2.0),
            *(0.25, 1.0),
        ],
        abs=1e-6,
    )
    stepper.put(slack_s=(-1.0, 0.0), lost_packets=(0, 9), loss_bursts=0.5, one_way_s=0, change_s=(0, 1))
    seen = env._observe()
    assert seen[[4, 5, 9, 14, 15, 19, 21, 25, 29]].tolist() == pytest.approx(
        [0, 0, 1, 4.0, log2(9) / 4, 0, 0, 0, 0], abs=1e-6
    )
    assert log10(1000) / 6 == 0.5


def test_a_step_sets_repair_and_pace_and_pays_percent() -> None:
    """2 ((a + 1) / 2)^2 of repair, and 2^a times the pace."""
    env, stepper = made()
    stepper.put(played_weight=300.0, time_s=5.0)
    *_, info = env.step(np.array([0.0, -0.5, 1.0, -1.0], np.float32))
    assert stepper.repair.tolist() == [[0.5, 0.125]] and stepper.pace.tolist() == [[2.0, 0.5]]
    assert info == {"time_s": 5.0, "scenario_seed": 3}
    stepper.put(played_weight=60.0)
    stepper.done = [FINISHED]
    _, reward, ended, over, info = env.step(np.array([1.0, 1.0, 0.0, 0.0], np.float32))
    assert (reward, ended, over, info["episode_return"]) == (5.0, True, False, 30.0)
    assert stepper.repair.tolist() == [[2.0, 2.0]]
    stepper.done = [TIME_OVER]
    _, _, ended, over, info = env.step(np.array([1.0, 1.0, 0.0, 0.0], np.float32))
    assert (ended, over, info["episode_return"]) == (False, True, 35.0) and stepper.steps == 3
    assert env.result() == "of 0"
    stepper.done = [RUNNING]
    env.reset(options={"scenario_seed": 9})
    stepper.done = [FINISHED]
    assert env.step(np.zeros(4, np.float32))[4] == {"time_s": 5.0, "scenario_seed": 9, "episode_return": 5.0}


def test_its_spaces_have_a_place_for_each_value() -> None:
    env = CodedDeepSpaceEnv(scenario())
    assert env.observation_space.shape == (2 * 10 + 2 * 4 + 2,) and env.action_space.shape == (4,)
    space: Any = env.action_space
    assert (space.low.min(), space.high.max()) == (-1.0, 1.0)
    space = env.observation_space
    assert (space.low.max(), space.high.min()) == (-1.0, 4.0)
    assert env.scenario_seed == -1
    first = env.reset(seed=4)[1]["scenario_seed"]
    assert env.reset(seed=4)[1]["scenario_seed"] == first != env.reset()[1]["scenario_seed"]
