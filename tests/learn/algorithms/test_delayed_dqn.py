"""Each part of the delayed DQN against what it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dstcc.learn.algorithms.delayed_dqn import GREEDY, DelayedDqn, DuelingNetwork
from dstcc.learn.algorithms.dqn import Dqn
from dstcc.learn.algorithms.recipes.iodst_dqn_plus import DelayedDqnSettings

BRANCHES = (3, 2)
SMALL = DelayedDqnSettings(hidden=(16, 16), learning_rate=1e-2, batch=32, buffer=1_000, target_every=50)


def learner(**changes):
    return DelayedDqn(4, BRANCHES, replace(SMALL, **changes), seed=3)


def observations(count=64):
    return np.random.default_rng(1).standard_normal((count, 4)).astype(np.float32)


def forward(layers, seen):
    last = seen
    for weight, bias in layers[:-1]:
        last = np.maximum(last @ weight.T + bias, 0)
    return last @ layers[-1][0].T + layers[-1][1]


def test_dueling_puts_the_mean_over_a_branch_s_choices_at_v():
    network = DuelingNetwork(4, BRANCHES, (16,), seed=1)
    with torch.no_grad():
        values = network(torch.from_numpy(observations())).split(list(BRANCHES), dim=1)
        hidden = torch.relu(network.hidden[0](torch.from_numpy(observations())))
        expected = network.value(hidden)[:, 0]
    for part in values:
        assert torch.allclose(part.mean(dim=1), expected, atol=1e-6)
        assert part.std(dim=1).mean() > 1e-2


def test_a_dueling_network_is_a_chain_of_layers_too():
    network = learner(dueling=True).online
    with torch.no_grad():
        expected = network(torch.from_numpy(observations())).numpy()
    assert [weight.shape for weight, _ in network.layers()] == [(16, 4), (16, 16), (5, 16)]
    assert np.abs(forward(network.layers(), observations()) - expected).max() < 1e-5


@pytest.mark.parametrize("double", [False, True])
def test_an_action_s_value_is_the_sum_over_its_choices(double):
    one = learner(additive=True, double=double)
    for parameter in one.target.parameters():
        parameter.data *= 1.5  # so that the two networks choose differently
    seen = observations(200)
    online, target = (forward(net.layers(), seen) for net in (one.online, one.target))
    parts = []
    for rows in (slice(0, 3), slice(3, 5)):
        best = (online if double else target)[:, rows].argmax(axis=1)
        parts.append(np.take_along_axis(target[:, rows], best[:, None], axis=1)[:, 0])
    discount = np.linspace(0, 1, 200, dtype=np.float32)
    batch = {
        "next": torch.from_numpy(seen),
        "reward": torch.ones(200),
        "discount": torch.from_numpy(discount),
    }
    y = one._td_target(batch)
    assert y.numpy() == pytest.approx(1 + discount * np.sum(parts, axis=0), abs=1e-4)
    error = one._error(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([2.5, 8.0]))
    assert error.tolist() == [[0.5], [-1.0]]


def test_unless_added_each_choice_is_held_to_the_whole():
    one, plain = learner(), Dqn(4, BRANCHES, SMALL, seed=3)
    assert one._error(torch.tensor([[1.0, 2.0]]), torch.tensor([2.5])).tolist() == [[-1.5, -0.5]]
    values = torch.tensor([[1.0, 4.0]])
    assert one._branch_mean(values, values).tolist() == plain._branch_mean(values, values).tolist() == [2.5]


@pytest.mark.parametrize("options", [{}, {"double": True, "dueling": True, "additive": True}])
def test_it_finds_the_best_choice_of_each_branch(options):
    one, draws = learner(**options), np.random.default_rng(0)
    seen = draws.standard_normal((1_000, 4)).astype(np.float32)
    taken = draws.integers(0, BRANCHES, (1_000, 2))

    def best(of):
        return np.stack([of[:, :3].argmax(axis=1), of[:, 3] > 0], axis=1)

    one.remember(
        {
            "observation": seen,
            "action": taken,
            "reward": (taken == best(seen)).sum(axis=1).astype(float),
            "next": seen,
            "discount": np.zeros(1_000),
        }
    )
    for _ in range(400):
        one.learn()
    fresh = np.random.default_rng(9).standard_normal((500, 4)).astype(np.float32)
    assert (one.act(fresh, 0.0) == best(fresh)).mean() > 0.85


def test_branches_explore_each_by_itself():
    # ε is one half. A random choice of three differs from the greedy one in 2 of 3, of two in 1 of 2.
    seen = np.zeros((20_000, 4), dtype=np.float32)
    apart, together = learner(explore_branches=True), learner()
    differs = apart.act(seen, 0.5) != apart.act(seen[:1], 0.0)
    # 1/3 ± 5·√(0.222/20,000) = ± 0.017 and 1/4 ± 0.016; both at once in a twelfth, as they are independent.
    assert differs.mean(axis=0) == pytest.approx([1 / 3, 1 / 4], abs=0.017)
    assert differs.all(axis=1).mean() == pytest.approx(1 / 12, abs=0.01)
    # Together: half explore, and 2/3 · 1/2 of these differ in both.
    differs = together.act(seen, 0.5) != together.act(seen[:1], 0.0)
    assert differs.all(axis=1).mean() == pytest.approx(1 / 6, abs=0.014)


def test_random_choices_last_as_long_as_they_are_said_to():
    seen, lasting = observations(2_000), learner(explore_for=16)
    for _ in range(80):  # all begin greedy: 2,000 · (15/16)^80 = 11 of them still are
        lasting.act(seen, 0.5)
    changed = 0
    for _ in range(64):
        before = lasting._lasting.copy()
        lasting.act(seen, 0.5)
        changed += int((lasting._lasting != before).any(axis=1).sum())
    # Drawn anew in 1 of 16 decisions. 1/4 follow greedy by greedy, 1/4 random by random, 1 of 6 of these by the same.
    assert changed / (64 * 2_000) == pytest.approx((1 - 1 / 4 - 1 / 24) / 16, rel=0.05)
    assert (lasting._lasting == GREEDY).all(axis=1).mean() == pytest.approx(0.5, abs=0.06)


def test_a_copy_goes_on_with_the_choices_that_last():
    one, other = learner(dueling=True, explore_for=8), learner(dueling=True, explore_for=8)
    seen = observations(50)
    one.act(seen, 0.9)
    other.restore({name: np.array(values) for name, values in one.arrays().items()}, one.document())
    for _ in range(20):
        assert (one.act(seen, 0.5) == other.act(seen, 0.5)).all()
