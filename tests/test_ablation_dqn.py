"""The options of the ablation's DQN, against the sums they stand for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dstcc.learn.algorithms.sets_torch import SetsNetwork, sets_shape
from dstcc.learn.spaces.measured_actions import MeasuredActions
from scripts.ablation_dqn import GREEDY, BranchDqn, BranchDqnSettings, DuelingSets, NStep

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


def test_branches_explore_each_by_itself():
    # ε is one half: all five branches at random in (1/2)^5 of 4,000 episodes, 125 ± 5·√121 = ± 55.
    seen, apart = observations(4_000), learner(explore_branches=True, default_choices=(0, 0, 0), margin=100.0)
    differs = apart.act(seen, 0.5) != 0
    # A random choice of two differs in 1 of 2, of four in 3 of 4.
    assert differs.mean(axis=0) == pytest.approx([0.25, 0.25, 0.25, 0.375, 0.25], abs=0.04)
    together = learner(default_choices=(0, 0, 0), margin=100.0).act(seen, 0.5) != 0
    assert together.any(axis=1).mean() < 0.5 < differs.any(axis=1).mean()


def test_random_choices_last_as_long_as_they_are_said_to():
    seen, lasting = observations(2_000), learner(explore_for=16)
    for _ in range(80):  # all begin greedy: 2,000 · (15/16)^80 = 11 of them still are
        lasting.act(seen, 0.5)
    changed = 0
    for _ in range(64):
        before = lasting._lasting.copy()
        lasting.act(seen, 0.5)
        changed += int((lasting._lasting != before).any(axis=1).sum())
    # Drawn anew in 1 of 16 decisions. Of those 1/4 follow greedy by greedy and change nothing.
    assert changed / (64 * 2_000) == pytest.approx(0.75 / 16, rel=0.05)
    assert (lasting._lasting == GREEDY).all(axis=1).mean() == pytest.approx(0.5, abs=0.06)


def test_a_copy_goes_on_with_the_choices_that_last():
    one, other = learner(DuelingSets, explore_for=8), learner(DuelingSets, explore_for=8)
    seen = observations(50)
    one.act(seen, 0.9)
    other.restore({name: np.array(values) for name, values in one.arrays().items()}, one.document())
    for _ in range(20):
        assert (one.act(seen, 0.5) == other.act(seen, 0.5)).all()


def _step(nstep, t, rewards, *, done=(False,), terminated=(False,)):
    """A step at time t: observation t, action t, and t + 1 as what follows."""
    count = len(rewards)
    return nstep.push(
        np.full((count, 1), t, dtype=np.float32),
        np.full((count, 1), t),
        np.array(rewards, dtype=float),
        following=np.full((count, 1), t + 1, dtype=np.float32),
        terminated=np.array(terminated),
        done=np.array(done),
    )


def test_a_transition_is_whole_n_steps_later():
    nstep = NStep(3, 0.5, 1, 1, 1)
    assert len(_step(nstep, 0, [1.0])["reward"]) == 0
    assert len(_step(nstep, 1, [2.0])["reward"]) == 0
    whole = _step(nstep, 2, [4.0])
    assert whole["observation"].tolist() == [[0.0]] and whole["next"].tolist() == [[3.0]]
    assert whole["reward"].tolist() == [1 + 0.5 * 2 + 0.25 * 4]
    assert whole["discount"].tolist() == [0.125]


@pytest.mark.parametrize(("terminated", "counts"), [(True, 0.0), (False, 1.0)])
def test_an_end_makes_all_that_wait_whole_over_the_steps_that_were(terminated, counts):
    nstep = NStep(3, 0.5, 1, 1, 1)
    _step(nstep, 0, [1.0])
    whole = _step(nstep, 1, [2.0], done=(True,), terminated=(terminated,))
    assert whole["observation"].ravel().tolist() == [0.0, 1.0]
    assert whole["reward"].tolist() == [2.0, 2.0]
    assert whole["discount"].tolist() == [counts * 0.25, counts * 0.5]
    assert len(_step(nstep, 2, [9.0])["reward"]) == 0  # nothing reaches over into the next episode


@given(
    n=st.integers(1, 5),
    rows=st.lists(st.tuples(st.floats(-9, 9, width=32), st.sampled_from("-tc")), min_size=1, max_size=40),
)
def test_every_step_but_those_under_way_leaves_one_transition(n, rows):
    nstep, gamma = NStep(n, 0.9, 1, 1, 1), 0.9
    transitions = {}
    for t, (reward, end) in enumerate(rows):
        whole = _step(nstep, t, [reward], done=(end != "-",), terminated=(end == "t",))
        for row in range(len(whole["reward"])):
            transitions[int(whole["observation"][row, 0])] = {
                key: float(whole[key][row]) for key in ("reward", "discount")
            }
    ends = [t for t, (_, end) in enumerate(rows) if end != "-"]
    for t in range(len(rows)):
        last = min([t + n - 1, *(e for e in ends if e >= t)])
        if last >= len(rows):
            assert t not in transitions
            continue
        total = sum(gamma**i * rows[t + i][0] for i in range(last - t + 1))
        assert transitions[t]["reward"] == pytest.approx(total, abs=1e-9)
        assert transitions[t]["discount"] == pytest.approx(
            0.0 if rows[last][1] == "t" else gamma ** (last - t + 1)
        )
