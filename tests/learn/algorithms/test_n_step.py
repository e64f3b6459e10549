"""Transitions over several steps, against the sums they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.learn.algorithms.n_step import NStep


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
