"""Every learner: its policy file is its network, a stopped run goes on bit for bit, its rule is the published one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dstcc.engine.stepper import EPISODE_VALUES
from dstcc.errors import RunError
from dstcc.learn.algorithms.ddpg import Ddpg
from dstcc.learn.algorithms.learner import Slot
from dstcc.learn.algorithms.recipes import RECIPES, Task
from dstcc.learn.algorithms.recipes.drl_cc import DdpgSettings
from dstcc.learn.algorithms.recipes.iodst_dqn import DqnSettings
from dstcc.learn.algorithms.recipes.iodst_dqn_plus import DelayedDqnSettings
from dstcc.learn.algorithms.recipes.iodst_q import QTableSettings
from dstcc.learn.algorithms.recipes.mpquic_rl import SchedulerSettings
from dstcc.learn.algorithms.recipes.pbq import PpoSettings
from dstcc.learn.policies.policy import Policy, load_policy, save_policy
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.learn.spaces.registry import make_actions
from dstcc.learn.training.loop import train
from dstcc.learn.training.state import Training
from tests.learn.mission import MISSION
from tests.learn.training.test_train import TINY, _state

PUBLISHED = ["iodst-dqn", "iodst-dqn+", "iodst-q", "pbq", "drl-cc", "mpquic-rl"]
SMALL = {
    DqnSettings: {"hidden": (16,), "batch": 16, "buffer": 300, "target_every": 7},
    DelayedDqnSettings: {"hidden": (16,), "batch": 16, "buffer": 300, "target_every": 7, "n_step": 3},
    QTableSettings: {},
    PpoSettings: {"hidden": (8,), "slots": 10, "epochs": 2, "batch": 16},
    DdpgSettings: {"state": 8, "hidden": (8,), "batch": 16, "buffer": 300},
    SchedulerSettings: {"hidden": (8,), "batch": 4, "buffer": 300, "target_every": 7},
}
"""Networks and memories that a few hundred steps fill."""


def tiny(name):
    own = RECIPES[name]
    learner = replace(own.learner, **SMALL[type(own.learner)])
    return replace(TINY, environment=own.environment, reward=own.reward, metric=own.metric, learner=learner)


@pytest.fixture
def short(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(MISSION.replace("loop_to_s = 60", "loop_to_s = 20"))
    return path


def make(name, **changes):
    """A learner of two subflows and two layers."""
    recipe = tiny(name)
    recipe = replace(recipe, learner=replace(recipe.learner, **changes))
    keywords = recipe.environment
    observation = ObservationSpec(keywords["observation"], 2, 2, 0)
    action = make_actions(2, 2, keywords["action"], headroom=0)
    return recipe.learner.make(Task(recipe, observation, action, 3)), recipe


@pytest.mark.parametrize("name", PUBLISHED)
def test_n_steps_and_n_more_are_2n_steps(tmp_path, short, name):
    for place, steps in (("once", (360,)), ("twice", (196, 360))):
        for most in steps:
            train(short, tmp_path / place, algorithm=name, steps=most, recipe=tiny(name), seed=5, resume=True)
    assert _state(tmp_path / "once") == _state(tmp_path / "twice")
    once, twice = ((tmp_path / place / "policy.safetensors").read_bytes() for place in ("once", "twice"))
    assert once == twice
    with pytest.raises(RunError, match="another algorithm"):
        other = PUBLISHED[PUBLISHED.index(name) - 1]
        train(short, tmp_path / "once", algorithm=other, steps=500, recipe=tiny(other), seed=5, resume=True)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_learning_policy_changes_and_serves_its_scenario(short, name):
    training = Training(short, name, tiny(name), seed=2)
    before = training.policy().tensors
    for _ in range(60):
        training.step()
    policy = training.policy()
    assert any((before[key] != policy.tensors[key]).any() for key in before)
    policy.check_fits(subflows=2, layers=2)
    assert np.isfinite(training.scores(policy, (1, 2))).all()


def forward(learner, name, seen):
    """What the learner's own network puts out, torch's arithmetic."""
    values = torch.from_numpy(seen)
    each = values.reshape(len(seen), 2, -1)
    with torch.no_grad():
        if name == "pbq":
            return learner.networks.mean_and_value(each)[0].numpy()
        if name == "drl-cc":
            return learner.actor(each).numpy()
        return learner.dqn.online(values).numpy()


@pytest.mark.parametrize("name", ["iodst-dqn", "iodst-dqn+", "pbq", "drl-cc", "mpquic-rl"])
def test_numpy_and_torch_agree(tmp_path, name):
    learner, recipe = make(name)
    if name == "drl-cc":  # gates far from 0, so that their order matters
        for parameter in learner.actor.parameters():
            parameter.data *= 3
    spaces = (
        ObservationSpec(recipe.environment["observation"], 2, 2, 0),
        make_actions(2, 2, recipe.environment["action"], headroom=0),
    )
    weights = learner.weights()
    policy = Policy(
        algorithm=name,
        observation=spaces[0],
        action=spaces[1],
        network=weights.network,
        tensors=weights.tensors,
        seed=3,
        scenario_sha256="",
    )
    save_policy(tmp_path / "p.safetensors", policy)
    read = load_policy(tmp_path / "p.safetensors")
    seen = np.random.default_rng(1).normal(size=(50, spaces[0].size)).astype(np.float32)
    seen[40:45, : seen.shape[1] // 2] = 0  # a subflow that is not there
    expected = forward(learner, name, seen)
    assert np.abs(read.outputs(seen) - expected).max() < 1e-5
    one_by_one = np.concatenate([read.outputs(seen[k : k + 1]) for k in range(50)])
    assert np.abs(one_by_one - expected).max() < 1e-5


def test_a_policy_of_per_subflow_weights_serves_any_number(short):
    for name in ("pbq", "drl-cc"):
        policy = Training(short, name, tiny(name), seed=2).policy()
        assert (policy.observation.subflows, policy.action.subflows, policy.action.layers) == (8, 8, 8)
        narrow = np.random.default_rng(2).random((4, 10)).astype(np.float32)
        wide = np.concatenate([narrow, np.zeros((4, 30), np.float32)], axis=1)
        two = replace(
            policy,
            observation=replace(policy.observation, subflows=2, layers=2),
            action=replace(policy.action, subflows=2, layers=2),
        )
        assert policy.outputs(wide)[:, :2] == pytest.approx(two.outputs(narrow), abs=1e-6)


# --------------------------------------------------------------------------------------------------------- iodst-q


def slot_of(learner, observations, actions, rewards, *, terminated=False, own=None, following=None):
    count = len(observations)
    values = np.zeros((count, len(EPISODE_VALUES))) if own is None else own
    ends = np.full(count, terminated)
    return Slot(
        observations=observations,
        actions=np.asarray(actions),
        rewards=np.asarray(rewards, dtype=float),
        following=observations if following is None else following,
        terminated=ends,
        done=ends,
        before=values,
        after=values,
    )


def test_the_table_moves_as_q_learning_says():
    learner, _ = make("iodst-q", discount=0.9)
    seen = np.zeros((1, 8), dtype=np.float32)
    action = np.array([[5, 5, 1, 0]])
    row = learner._rows(seen)[0]
    learner.take(slot_of(learner, seen, action, [10.0]), 4)
    # Hold is worth 1e-6 in both window branches, nothing elsewhere: y = 10 + 0.9 · 2e-6 / 4; η is at most ½.
    places = [5, 6 + 5, 12 + 1, 14]
    assert learner.table[row, places] == pytest.approx([5.0] * 4, rel=1e-6)
    learner.take(slot_of(learner, seen, action, [10.0]), 8)
    # Second visit, η = ½: y = 10 + 0.9 · 5, Q = 5 + ½ (14.5 − 5).
    assert learner.table[row, places] == pytest.approx([9.75] * 4, rel=1e-6)
    learner.take(slot_of(learner, seen, action, [0.0], terminated=True), 12)
    # Third, η = ⅓, nothing follows: 9.75 · ⅔.
    assert learner.table[row, places] == pytest.approx([6.5] * 4, rel=1e-6)


def test_rows_are_mixed_radix_with_edges_above():
    learner, _ = make("iodst-q", edges={k: (1.0, 2.0) for k in ("cwnd", "loss", "utilisation", "rtt")})
    seen = np.zeros((2, 8), dtype=np.float32)
    seen[1] = [0.9, 1.0, 1.9, 2.0, 0, 0, 0, 3.0]
    digits = [0, 1, 1, 2, 0, 0, 0, 2]
    assert learner._rows(seen).tolist() == [0, int("".join(map(str, digits)), 3)]


def test_an_unseen_state_holds():
    learner, recipe = make("iodst-q")
    chosen = learner.act(np.zeros((1, 8), np.float32), np.zeros((1, 11)), recipe.epsilon_steps * 1000)
    assert recipe.environment["windows"][2] == (1.0, 0)
    assert learner.weights().tensors["table"].argmax() == 2 or chosen[0, :2].tolist() == [2, 2]


# ------------------------------------------------------------------------------------------------------------- pbq


def test_advantages_are_the_generalised_ones():
    learner, _ = make("pbq", slots=4, discount=0.9, gae=0.5, hidden=(4,))
    draws = np.random.default_rng(4)
    ends, cuts = [0, 0, 1, 0], [0, 1, 0, 0]  # of the first episode: cut off in slot 1, terminated in slot 2
    for t in range(4):
        learner._rollout["rewards"][t] = draws.random(4)
        for name in ("observations", "following"):
            learner._rollout[name][t] = draws.random((4, 10))
        learner._rollout["terminated"][t] = ends[t]
        learner._rollout["goes_on"][t] = 1 - max(ends[t], cuts[t])
    advantages, values = learner.advantages()
    with torch.no_grad():
        after = learner.networks.mean_and_value(learner._tensor(learner._rollout["following"]))[1].numpy()
    after = after.reshape(4, 4)
    running = 0.0
    for t in (3, 2, 1, 0):
        delta = learner._rollout["rewards"][t, 0] + 0.9 * after[t, 0] * (1 - ends[t]) - values[t, 0]
        running = delta + 0.45 * (1 - max(ends[t], cuts[t])) * running
        assert advantages[t, 0] == pytest.approx(running, abs=1e-5)


@pytest.mark.parametrize("name, steps", [("pbq", 600), ("drl-cc", 800)])
def test_continuous_actions_find_their_best(name, steps):
    # One slot, reward 1 − (a − best)², best is +0.5 where the first value is positive and −0.5 where it is not.
    changes = {
        "pbq": {
            "slots": 20,
            "batch": 80,
            "hidden": (32,),
            "epochs": 10,
            "learning_rate": 3e-3,
            "discount": 0.0,
        },
        "drl-cc": {
            "actor_rate": 3e-3,
            "critic_rate": 3e-3,
            "target_share": 0.05,
            "batch": 64,
            "buffer": 10_000,
            "discount": 0.0,
            "hidden": (32,),
        },
    }[name]
    learner, _ = make(name, **changes)
    if isinstance(learner, Ddpg):
        learner.recipe = replace(learner.recipe, learn_every=4, warm_up=64, epsilon_steps=4 * steps)
    draws = np.random.default_rng(6)

    def seen():
        return draws.normal(size=(4, 10)).astype(np.float32)

    def best(values):
        return np.where(values.reshape(4, 2, 5)[:, :, 0] > 0, 0.5, -0.5)

    before = seen()
    for step in range(4, 4 * steps, 4):
        action = learner.act(before, np.zeros((4, 11)), step)
        reward = 1 - np.square(action - best(before)).sum(axis=1)
        learner.take(slot_of(learner, before, action, reward, terminated=True), step)
        before = seen()
    errors = [np.abs(np.clip(forward(learner, name, s := seen()), -1, 1) - best(s)).mean() for _ in range(50)]
    # Standing still is 0.5 off; the edge at 0 is not sharp.
    assert np.mean(errors) < 0.25


# ------------------------------------------------------------------------------------------------------- mpquic-rl


def own_values(count, **values):
    columns = np.zeros((count, len(EPISODE_VALUES)))
    for name, value in values.items():
        columns[:, EPISODE_VALUES.index(name)] = value
    return columns


def test_it_acts_at_random_only_where_the_client_is_rich():
    learner, recipe = make("mpquic-rl")
    rich = recipe.learner.rich_s
    seen = np.random.default_rng(1).random((4000, 10)).astype(np.float32)
    greedy = learner._acting(seen).argmax(axis=1)
    poor = learner.act(seen, own_values(4000, chunk_due_s=rich - 0.01), 0)[:, 0]
    assert (poor == greedy).all()
    bold = learner.act(seen, own_values(4000, chunk_due_s=rich), 0)[:, 0]
    # ε is 1 at first; a random choice of seven differs in 6 of 7: 0.857 ± 5·√(0.122/4000) = ± 0.028.
    assert (bold != greedy).mean() == pytest.approx(6 / 7, abs=0.028)


def test_slots_without_a_chunk_teach_nothing_and_a_chunk_s_end_is_an_episode_s():
    learner, _ = make("mpquic-rl")
    seen = np.random.default_rng(1).random((3, 10)).astype(np.float32)
    actions = np.array([[1], [2], [3]])
    assert learner.take(slot_of(learner, seen, actions, [1.0] * 3, own=own_values(3)), 3) is None
    assert len(learner.dqn.replay) == 0 and learner.actions == 0
    own = own_values(3, chunk_bytes=[10, 0, 10], chunks_done=[1, 1, 0])
    learner.take(slot_of(learner, seen, actions, [1.0, 2.0, 3.0], own=own), 6)
    memory = learner.dqn.replay.arrays()
    assert memory["action"][:, 0].tolist() == [1, 3]
    assert memory["discount"].tolist() == [0.0, 0.5]
    assert learner.exploration(0) == pytest.approx(0.997**2)


def test_what_acts_is_renewed_with_the_target():
    learner, recipe = make("mpquic-rl", learning_rate=0.1)
    seen = np.random.default_rng(1).random((5, 10)).astype(np.float32)
    first = learner._acting(seen)
    own = own_values(1, chunk_bytes=10)
    for step in range(30):
        one = slot_of(learner, seen[step % 5 : step % 5 + 1], [[step % 7]], [float(step % 3)], own=own)
        learner.take(one, step)
        if learner.dqn.updates < recipe.learner.target_every:
            assert (learner._acting(seen) == first).all()
    assert learner.dqn.updates == 30 - recipe.learner.batch + 1
    assert (learner._acting(seen) != first).any()
