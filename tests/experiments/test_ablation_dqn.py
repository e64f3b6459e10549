"""The options of the ablation's DQN, against the sums they stand for."""

from __future__ import annotations

import numpy as np
import torch

from dstcc.learn.algorithms.sets_torch import SetsNetwork, sets_shape
from dstcc.learn.spaces.measured_actions import MeasuredActions
from experiments.ablation_dqn import BranchDqn, BranchDqnSettings, DuelingSets

ACTION = MeasuredActions(
    subflows=3, layers=2, windows=((1.0, 0.0), (1.0, 1.0)), orders=((0.0, 0.0), (0.2, 0.0))
)
SHAPE, REST = sets_shape(ACTION), (4, 2)


def observations(count=5):
    drawn = np.random.default_rng(2).random((count, SHAPE.episode + 3 * SHAPE.subflow + 2 * SHAPE.layer))
    drawn[:, SHAPE.episode :: SHAPE.subflow][:, :3] = 1
    return drawn.astype(np.float32)


def learner(kind=SetsNetwork, **options):
    online, target = (kind(SHAPE, 3, 2, REST, 8, seed=3) for _ in range(2))
    return BranchDqn(
        online, target, observations().shape[1], settings=BranchDqnSettings(sets=8, **options), seed=3
    )


def test_dueling_puts_the_mean_over_a_branch_s_choices_at_v():
    network = DuelingSets(SHAPE, 3, 2, REST, 8, seed=1)
    with torch.no_grad():
        values = network(torch.from_numpy(observations())).split(list(network.branches), dim=1)
    means = torch.stack([part.mean(dim=1) for part in values])
    assert torch.allclose(means, means[:1].expand_as(means), atol=1e-6)
    assert means[0].abs().max() > 1e-3


def test_a_margin_decides_for_the_default_choices():
    seen = observations()
    favoured = learner(default_choices=(1, 2, 0), margin=100.0)
    assert (favoured.act(seen, 0.0) == [1, 1, 1, 2, 0]).all()
    # It is no part of a value: y of a reward of 0 is as small as the values are.
    ones = torch.ones(5)
    batch = {"next": torch.from_numpy(seen), "reward": 0 * ones, "discount": ones}
    assert favoured._td_target(batch).abs().max() < 10


def test_absent_subflows_do_not_count_in_means():
    seen = observations()
    seen[:, SHAPE.episode + SHAPE.subflow] = 0
    values = torch.tensor([[1.0, 50.0, 3.0, 5.0, 7.0]]).expand(5, 5)
    assert learner()._branch_mean(values, torch.from_numpy(seen)).tolist() == [4.0] * 5
    assert learner()._loss(values, torch.from_numpy(seen)) == 4.0
