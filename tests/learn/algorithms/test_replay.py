"""Transitions and the memory of them, against the sums they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import InputError
from dstcc.learn.algorithms.replay import NStep, Replay


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
    found = {}
    for t, (reward, end) in enumerate(rows):
        whole = _step(nstep, t, [reward], done=(end != "-",), terminated=(end == "t",))
        for row in range(len(whole["reward"])):
            found[int(whole["observation"][row, 0])] = {
                key: float(whole[key][row]) for key in ("reward", "discount")
            }
    ends = [t for t, (_, end) in enumerate(rows) if end != "-"]
    for t in range(len(rows)):
        last = min([t + n - 1, *(e for e in ends if e >= t)])
        if last >= len(rows):
            assert t not in found
            continue
        total = sum(gamma**i * rows[t + i][0] for i in range(last - t + 1))
        assert found[t]["reward"] == pytest.approx(total, abs=1e-9)
        assert found[t]["discount"] == pytest.approx(0.0 if rows[last][1] == "t" else gamma ** (last - t + 1))


def _transitions(first, count):
    values = np.arange(first, first + count, dtype=np.float32)
    column = values[:, None]
    return {"observation": column, "action": column, "reward": values, "next": column + 1, "discount": values}


def test_the_oldest_make_room_and_a_copy_goes_on_alike():
    replay = Replay(8, 1, 1)
    for first in (0, 5):
        replay.add(_transitions(first, 5))
    assert len(replay) == 8
    drawn = replay.sample(np.random.default_rng(1), 500)
    assert set(drawn["reward"]) == set(
        range(2, 10)
    )  # 500 draws of 8 miss one with probability 8·(7/8)^500 < 1e-28
    assert (drawn["next"] == drawn["observation"] + 1).all()
    copy = Replay(8, 1, 1)
    copy.restore(replay.arrays(), replay.added)
    for memory in (replay, copy):
        memory.add(_transitions(10, 3))
    assert (copy.arrays()["reward"] == replay.arrays()["reward"]).all()


def test_arrays_of_another_memory_are_refused():
    replay = Replay(8, 1, 1)
    replay.add(_transitions(0, 3))
    with pytest.raises(InputError, match="replay observation"):
        Replay(8, 2, 1).restore(replay.arrays(), replay.added)
