"""The memory of transitions."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.errors import InputError
from dstcc.learn.algorithms.replay import Replay


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
    copy.restore(replay.arrays(), replay.document())
    for memory in (replay, copy):
        memory.add(_transitions(10, 3))
    assert (copy.arrays()["reward"] == replay.arrays()["reward"]).all()


def test_arrays_of_another_memory_are_refused():
    replay = Replay(8, 1, 1)
    replay.add(_transitions(0, 3))
    with pytest.raises(InputError, match="observation: float32"):
        Replay(8, 2, 1).restore(replay.arrays(), replay.document())
