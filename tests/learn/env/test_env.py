"""``dstcc/DeepSpace-v1`` keeps Gymnasium's rules and its own docstring's."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dstcc.learn
from dstcc.engine import simulate
from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES
from dstcc.errors import ScenarioError
from dstcc.learn.algorithms.recipes import RECIPES
from dstcc.learn.env.deep_space import DeepSpaceEnv, make_specs
from dstcc.learn.env.vector import DeepSpaceVectorEnv
from dstcc.learn.spaces.actions import OPTIONS
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.learn.spaces.registry import SPACES
from dstcc.learn.spaces.schedulers import POLICIES
from dstcc.metrics import compute, play_by_deadline
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source, parse_scenario
from tests.learn.mission import MISSION
from tests.sampling import examples

SMALL = parse_scenario(tomllib.loads(MISSION), source="small")
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"observation": "paper", "action": "joint", "reward": "eq6"},
    {"action": "continuous", "history": 0},
    {"action": "policies", "congestion": "newreno"},
    {"automatic": True, "copies": True, "subflows": 4, "layers": 5, "headroom": 0},
)


def play(
    env: DeepSpaceEnv, action: Any = None, **reset: Any
) -> tuple[list[NDArray[np.float32]], list[float], dict[str, Any]]:
    """An episode with one action all along, or random ones."""
    seen, rewards = [env.reset(**reset)[0]], []
    while True:
        observation, reward, ended, over, info = env.step(
            env.action_space.sample() if action is None else action
        )
        seen.append(observation)
        rewards.append(reward)
        if ended or over:
            return seen, rewards, info


@pytest.mark.parametrize("keywords", VARIANTS)
def test_gymnasium_finds_nothing_to_say(keywords: dict[str, Any], mission: Path) -> None:
    """Warnings are errors here, so silence is proven."""
    env = gymnasium.make("dstcc/DeepSpace-v1", scenario=mission, **keywords)
    check_env(env.unwrapped)
    assert env.spec is not None
    assert env.spec.id == dstcc.learn.ENV_ID


def test_without_a_scenario_it_is_table_1() -> None:
    env = DeepSpaceEnv()
    assert [link.rate_bps for link in env.episodes.scenarios[0].link] == [115_200, 240_000]
    assert (env.spec_observation.subflows, env.spec_observation.layers) == (2, 3)


@examples(10)
@given(seed=st.integers(0, 2**31))
def test_observations_stay_in_the_space_whatever_is_done(seed: int) -> None:
    for keywords in VARIANTS[:3]:
        env = DeepSpaceEnv(SMALL, **keywords)
        env.action_space.seed(seed)
        seen, _, _ = play(env, seed=seed)
        assert all(env.observation_space.contains(observation) for observation in seen)


def test_the_return_is_the_metric_of_the_trial(mission: Path) -> None:
    env = DeepSpaceEnv(mission)
    _, rewards, info = play(env, np.array([3, 3, 0, 1]), options={"scenario_seed": 5})
    scenario = load_scenario(mission)
    objects = draw_trial(scenario, load_source(scenario), 5).objects
    result = env.result()
    metrics = compute(objects, result, play_by_deadline(objects, result), best_weight=None)
    assert sum(rewards) == pytest.approx(100 * (metrics.values["weighted_layers"] or -1))
    assert info["episode_return"] == pytest.approx(sum(rewards))
    assert info["scenario_seed"] == 5


def test_equation_6_by_hand(mission: Path) -> None:
    env = DeepSpaceEnv(mission, reward="eq6")
    env.reset(seed=1)
    rewards, expected = [], []
    for _ in range(40):
        rewards.append(env.step(np.array([3, 3, 0, 1]))[1])
        values = dict(zip(SUBFLOW_VALUES, env.runner.stepper.subflow_values[0].T, strict=True))
        slot_s = env.runner.stepper.episode_values[0, EPISODE_VALUES.index("slot_s")]
        known = values["lost_segments"] + values["delivered_bytes"] / 1460
        share = np.divide(values["lost_segments"], known, out=np.zeros(2), where=known > 0)
        weights = (values["sent_weight"] * (1 - share)).sum()
        bps = values["delivered_bytes"].sum() * 8 / slot_s
        expected.append(np.log(max(weights, 1)) + np.log(max(bps, 1)))
    assert rewards == pytest.approx(expected)
    assert max(rewards) > 10


def test_paper_observations_are_the_four_values_of_equation_3(mission: Path) -> None:
    env = DeepSpaceEnv(mission, observation="paper", action="joint")
    assert env.spec_observation.names[:4] == (
        "subflow0.cwnd",
        "subflow0.loss",
        "subflow0.utilisation",
        "subflow0.rtt",
    )
    env.reset(seed=3)
    for _ in range(20):
        observation = env.step(0)[0].reshape(2, 4)
        values = dict(zip(SUBFLOW_VALUES, env.runner.stepper.subflow_values[0].T, strict=True))
        assert observation[:, 0] == pytest.approx(np.log2(1 + values["cwnd_segments"]) / 10)
        assert observation[:, 3] == pytest.approx(np.log10(1 + 1000 * values["srtt_s"]) / 6)
        assert ((observation[:, 2] > 0) == (values["bdp_segments"] > 0)).all()


def test_actions_still_under_way_are_in_the_full_observation(mission: Path) -> None:
    env = DeepSpaceEnv(mission, history=3, windows=((1.0, 0), (2.0, 0), (1.0, 5)), headroom=0)
    names = env.spec_observation.names
    env.reset(seed=3)
    for _ in range(6):
        env.step(np.array([0, 0, 0, 0]))
    for action in ([1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]):
        seen = dict(zip(names, env.step(np.array(action))[0], strict=True))
    doublings = [[seen[f"subflow{s}.change-{k}"] for k in (3, 2, 1)] for s in (0, 1)]
    assert doublings == [pytest.approx([0.5, 0, 0.5]), pytest.approx([0, 0.5, 0.5])]  # log2(2) / 2
    assert [seen[f"layer0.on{s}"] for s in (0, 1)] == [1, 0]
    assert [seen[f"layer{m}.was-1"] for m in (0, 1)] == [0.5, 1.0]  # (subflow + 1) / N


def block(spec: ObservationSpec, subflow: int) -> slice:
    """Where a subflow's own values lie."""
    places = [at for at, name in enumerate(spec.names) if name.startswith(f"subflow{subflow}.")]
    assert places == list(range(places[0], places[-1] + 1))
    return slice(places[0], places[-1] + 1)


def test_blocks_are_where_the_names_are() -> None:
    spec = ObservationSpec("full", 3, 2, history=5)
    for s in range(3):
        assert all(name.startswith(f"subflow{s}.") for name in spec.names[block(spec, s)])
    assert all(name.startswith("layer") for name in spec.names[block(spec, 2).stop :])
    assert ObservationSpec.parse(spec.document()) == spec


def test_padding_shows_nothing_and_does_nothing(mission: Path) -> None:
    wide, own = DeepSpaceEnv(mission, subflows=4, layers=3), DeepSpaceEnv(mission)
    narrow = play(own, np.array([2, 3, 0, 1]), options={"scenario_seed": 2})
    padded = play(wide, np.array([2, 3, 0, 0, 0, 1, 3]), options={"scenario_seed": 2})
    assert narrow[1] == padded[1]
    spec = wide.spec_observation
    for observation in padded[0]:
        assert not observation[block(spec, 2).start : block(spec, 3).stop].any()
        assert not any(observation[at] for at, name in enumerate(spec.names) if name.startswith("layer2."))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_vector_is_its_environments_one_by_one(mission: Path, threads: int) -> None:
    count, steps = 3, 90
    actions = np.random.default_rng(1).integers(0, (6, 6, 2, 2), (steps, count, 4))
    vector = DeepSpaceVectorEnv(count, mission, threads=threads)
    first, _ = vector.reset(seed=11)
    batched = [vector.step(actions[t]) for t in range(steps)]
    assert sum(step[2].sum() for step in batched) >= count  # episodes end and begin anew
    for k in range(count):
        env = DeepSpaceEnv(mission)
        observation, _ = env.reset(seed=11 + k)
        assert np.array_equal(observation, first[k])
        for t in range(steps):
            observation, reward, ended, over, _ = env.step(actions[t, k])
            seen, rewards, ends, overs, info = batched[t]
            assert (reward, ended, over) == (rewards[k], ends[k], overs[k])
            if ended or over:
                assert np.array_equal(observation, info["final_obs"][k])
                observation, _ = env.reset()
            assert np.array_equal(observation, seen[k])


@pytest.mark.parametrize("number, name", [(3, "fast-only"), (4, "minrtt"), (1, "probabilistic-0.5")])
def test_one_policy_all_along_is_that_scheduler(mission: Path, number: int, name: str) -> None:
    env = DeepSpaceEnv(mission, action="policies", congestion="bbr-scaled")
    assert POLICIES[number] == name
    play(env, number, options={"scenario_seed": 4})
    scenario = load_scenario(mission)
    setup = draw_trial(scenario, load_source(scenario), 4)
    alone = simulate(engine_config(scenario, setup, "bbr-scaled", name))
    # The first choice falls on time 0, before anything is released, so that minrtt never has a say.
    assert np.array_equal(env.result().objects.complete_ns, alone.objects.complete_ns)


def test_make_vec_makes_the_native_vector(mission: Path) -> None:
    env = gymnasium.make_vec("dstcc/DeepSpace-v1", num_envs=2, scenario=mission)
    assert isinstance(env.unwrapped, DeepSpaceVectorEnv)
    observations, _ = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    env.close()


def test_several_scenarios_are_drawn_from(mission: Path, tmp_path: Path) -> None:
    third = tmp_path / "three.toml"
    third.write_text(mission.read_text() + '[[link]]\nname = "c"\nrate_bps = 1e5\ndelay_s = 1.0\n')
    env = DeepSpaceEnv([mission, third])
    assert env.spec_observation.subflows == 3
    present = {
        bool(env.reset(options={"scenario_seed": seed})[0][block(env.spec_observation, 2)].any())
        for seed in range(8)
    }
    assert present == {False, True}


def test_misuse_is_refused_by_name(mission: Path) -> None:
    with pytest.raises(ValueError, match="reward 'eq7': one of eq6, weighted-layers"):
        DeepSpaceEnv(mission, reward="eq7")
    with pytest.raises(ValueError, match="1 subflows and 2 layers, but the scenarios have 2 and 2"):
        DeepSpaceEnv(mission, subflows=1)
    env = DeepSpaceEnv(mission, action="continuous")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="none is NaN"):
        env.step(np.array([np.nan, 0.0]))


def test_every_keyword_is_in_the_docstring() -> None:
    own = [one.name for space in SPACES.values() for one in fields(space)]
    specs = list(inspect.signature(make_specs).parameters)[1:-1]  # the last takes the action spaces' options
    keywords = [*specs, *own, *OPTIONS, "scenario", "reward"]
    text = inspect.getdoc(DeepSpaceEnv) or ""
    arguments = text[text.index("## Arguments") : text.index("## Version History")]
    assert {"observation", "hold", "scenario"} <= set(keywords)
    assert [name for name in keywords if f"`{name}`" not in arguments] == []


def test_a_step_lasts_so_many_slots_as_a_decision_holds(mission: Path) -> None:
    times = []
    for hold in (1, 4):
        env = DeepSpaceEnv(mission, hold=hold)
        env.reset(options={"scenario_seed": 1})
        *_, info = env.step(np.array([2, 2, 0, 1]))
        times.append(info["time_s"])
    assert times[1] == pytest.approx(4 * times[0])


@pytest.mark.parametrize("ours", [False, True])
def test_a_decision_that_holds_is_observed_as_the_same_one_taken_in_each_slot(
    mission: Path, ours: bool
) -> None:
    """Also the slots between decisions count for what is known of paths and for the window changes of before."""
    keywords = RECIPES["dstcc-lanes"].environment if ours else {"history": 3}
    action = np.array([1, 3, 1, 2, 0] if ours else [4, 2, 0, 1])
    held, each = (DeepSpaceEnv(mission, **{**keywords, "hold": hold}) for hold in (4, 1))
    for env in (held, each):
        env.reset(options={"scenario_seed": 1})
    for _ in range(12):
        once = held.step(action)[0]
        for _ in range(4):
            seen = each.step(action)[0]
        np.testing.assert_array_equal(once, seen)


@pytest.mark.parametrize("forwards", ["split", "custody"])
def test_nodes_that_no_controller_passes_are_refused(forwards: str) -> None:
    """As where a controller is to run: no policy is trained that nothing could use."""
    node = {"name": "a", "forwards": forwards, "storage_bytes": 10**6}
    links = [{"rate_bps": 10**5, "delay_s": 100, "from": a, "to": b} for a, b in ("ra", "ae")]
    scenario = parse_scenario(
        {
            "scenario": {"name": "relayed", "duration_s": 600},
            "video": {"synthetic": {"chunk_s": 2.0, "layer_bps": [20_000]}, "loop_to_s": 100},
            "node": [{"name": "r"}, node, {"name": "e"}],
            "link": [{"name": f"l{number}", **link} for number, link in enumerate(links)],
            "path": [{"via": ["l0", "l1"]}],
            "transport": {"congestion": "ltp" if forwards == "custody" else "cubic"},
        },
        source="relayed",
    )
    with pytest.raises(ScenarioError, match="relayed: node 'a': a controller goes from end to end"):
        DeepSpaceEnv(scenario)
