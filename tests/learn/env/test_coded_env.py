"""``dstcc/CodedDeepSpace-v1``: coded packets steered by an agent."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dstcc.learn  # noqa: F401 - registers it
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
