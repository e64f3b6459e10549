"""The learner against the equations of its docstring, and on a task whose best actions are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dstcc.learn.algorithms.dqn import Dqn
from dstcc.learn.algorithms.recipes.iodst_dqn import DqnSettings

BRANCHES = (3, 2)
SMALL = DqnSettings(hidden=(16, 16), learning_rate=1e-2, batch=32, buffer=1_000, target_every=50)


def _learner(**changes):
    return Dqn(4, BRANCHES, replace(SMALL, **changes), seed=3)


def _forward(layers, observations):
    last = observations
    for weight, bias in layers[:-1]:
        last = np.maximum(last @ weight.T + bias, 0)
    return last @ layers[-1][0].T + layers[-1][1]


def _transitions(count, seed=0):
    draws = np.random.default_rng(seed)
    action = draws.integers(0, BRANCHES, (count, 2))
    observation = draws.standard_normal((count, 4)).astype(np.float32)
    best = np.stack([observation[:, :3].argmax(axis=1), observation[:, 3] > 0], axis=1)
    return {
        "observation": observation,
        "action": action,
        "reward": (action == best).sum(axis=1).astype(float),
        "next": draws.standard_normal((count, 4)).astype(np.float32),
        "discount": np.zeros(count),
    }


def test_the_chain_of_layers_is_the_network():
    learner = _learner()
    observations = np.random.default_rng(1).standard_normal((64, 4)).astype(np.float32)
    with torch.no_grad():
        expected = learner.online(torch.from_numpy(observations)).numpy()
    assert np.abs(_forward(learner.online.layers(), observations) - expected).max() < 1e-5


@pytest.mark.parametrize("double", [False, True])
def test_the_target_is_the_docstring_s(double):
    learner = _learner(double=double)
    for parameter in learner.target.parameters():
        parameter.data *= 1.5  # so that the two networks choose differently
    batch = _transitions(200) | {"discount": np.linspace(0, 1, 200)}
    tensors = {name: torch.from_numpy(np.asarray(values, dtype=np.float32)) for name, values in batch.items()}
    online, target = (_forward(net.layers(), batch["next"]) for net in (learner.online, learner.target))
    parts = []
    for rows in (slice(0, 3), slice(3, 5)):
        best = (online if double else target)[:, rows].argmax(axis=1)
        parts.append(np.take_along_axis(target[:, rows], best[:, None], axis=1)[:, 0])
    expected = batch["reward"] + batch["discount"] * np.mean(parts, axis=0)
    assert learner._td_target(tensors).numpy() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("options", [{}, {"double": True, "max_grad_norm": 10.0}])
def test_it_finds_the_best_choice_of_each_branch(options):
    # One slot, reward 1 per branch that is right: 400 updates of 32 on a linear question.
    learner = _learner(**options)
    learner.remember(_transitions(1_000))
    for _ in range(400):
        learner.learn()
    test = _transitions(500, seed=9)
    best = np.stack([test["observation"][:, :3].argmax(axis=1), test["observation"][:, 3] > 0], axis=1)
    assert (learner.act(test["observation"], 0.0) == best).mean() > 0.85


def test_epsilon_is_the_share_of_episodes_that_act_at_random():
    learner = _learner()
    observations = np.zeros((20_000, 4), dtype=np.float32)
    greedy = learner.act(observations[:1], 0.0)
    differs = (learner.act(observations, 0.5) != greedy).any(axis=1).mean()
    # Half act at random, and 5 of 6 random actions differ: 0.4167 ± 5·√(0.25/20,000) = ± 0.018.
    assert differs == pytest.approx(5 / 12, abs=0.018)


def test_a_copy_goes_on_bit_for_bit():
    one = _learner(double=True)
    one.remember(_transitions(300))
    for _ in range(60):
        one.learn()
    other = Dqn(4, BRANCHES, one.settings, seed=99)
    other.restore({name: np.array(values) for name, values in one.arrays().items()}, one.document())
    observations = np.random.default_rng(2).standard_normal((10, 4)).astype(np.float32)
    for learner in (one, other):
        learner.act(observations, 0.5)
        for _ in range(60):
            learner.learn()
    assert one.document() == other.document()
    for name, values in one.arrays().items():
        assert (other.arrays()[name] == values).all(), name
