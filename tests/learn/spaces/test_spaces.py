"""Actions: the three encodings say the same, and what lies outside is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine.stepper import AUTOMATIC, ONE_Q16
from dstcc.learn.spaces.actions import PAPER_WINDOWS, ActionSpec


def test_sizes_are_those_of_the_paper() -> None:
    joint = ActionSpec(2, 3, "joint")
    assert joint.outputs == 6**2 * 2**3 == 288
    assert ActionSpec(2, 3).branches == (6, 6, 2, 2, 2)
    assert ActionSpec(2, 3, automatic=True, copies=True).branches == (6, 6, 3, 3, 3, 2)
    assert ActionSpec(8, 3).outputs == 8 * 6 + 3 * 8  # grows with N, not with 6 to the N
    assert ActionSpec(2, 3, "continuous").outputs == 2


def test_an_action_is_alpha_and_beta_per_subflow_and_a_subflow_per_layer() -> None:
    told = ActionSpec(2, 3).decode(np.array([[0, 3, 1, 0, 1]]))
    assert told.alpha_q16.tolist() == [[ONE_Q16 // 2, ONE_Q16]]  # (0.5, 0) and (1, +10)
    assert told.beta.tolist() == [[0, 10]]
    assert told.layer_subflow.tolist() == [[1, 0, 1]]
    assert not told.copied.any()


def test_the_choice_beyond_the_last_subflow_is_automatic_and_copies_are_of_the_base_layer() -> None:
    told = ActionSpec(2, 3, automatic=True, copies=True).decode(np.array([[2, 2, 2, 0, 1, 1]]))
    assert told.layer_subflow.tolist() == [[AUTOMATIC, 0, 1]]
    assert told.copied.tolist() == [[1, 0, 0]]


@given(st.lists(st.integers(0, 287), min_size=1, max_size=20))
def test_joint_numbers_are_the_branches_as_digits(numbers: list[int]) -> None:
    joint, multi = ActionSpec(2, 3, "joint"), ActionSpec(2, 3)
    digits = [[n // 48, n // 8 % 6, n // 4 % 2, n // 2 % 2, n % 2] for n in numbers]
    a, b = joint.decode(np.array(numbers)), multi.decode(np.array(digits))
    assert np.array_equal(a.alpha_q16, b.alpha_q16)
    assert np.array_equal(a.layer_subflow, b.layer_subflow)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=2))
def test_continuous_actions_are_powers_of_two(action: list[float]) -> None:
    told = ActionSpec(2, 3, "continuous", octaves=2.0).decode(np.array([action]))
    assert told.alpha_q16[0].tolist() == [round(2.0 ** (2 * a) * ONE_Q16) for a in action]
    assert (told.layer_subflow == AUTOMATIC).all()


@pytest.mark.parametrize(
    "spec, action",
    [
        (ActionSpec(2, 3), [[0, 0, 0, 0, 2]]),
        (ActionSpec(2, 3), [[-1, 0, 0, 0, 0]]),
        (ActionSpec(2, 3), [[0, 0, 0, 0]]),
        (ActionSpec(2, 3), [[0.0, 0, 0, 0, 0]]),
        (ActionSpec(2, 3, "joint"), [288]),
        (ActionSpec(2, 3, "joint"), [[0]]),
        (ActionSpec(2, 3, "continuous"), [[float("nan"), 0.0]]),
        (ActionSpec(2, 3, "continuous"), [[1.5, 0.0]]),
        (ActionSpec(2, 3, "continuous"), [[0.0]]),
    ],
)
def test_actions_outside_the_space_are_refused(spec: ActionSpec, action: list[object]) -> None:
    with pytest.raises(ValueError, match="actions"):
        spec.decode(np.array(action))


@pytest.mark.parametrize(
    "keywords, rule",
    [
        ({"encoding": "jiont"}, "joint, multi, continuous"),
        ({"windows": ()}, "pairs of alpha"),
        ({"windows": ((65.0, 0),)}, "pairs of alpha"),
        ({"windows": ((1.0, 0.5),)}, "pairs of alpha"),
        ({"headroom": -1}, "headroom"),
        ({"orders": ((float("nan"), 0.0),)}, "orders"),
        ({"orders": ((0.0, float("nan")),)}, "orders"),
        ({"orders": ((-1.0, 0.0),)}, "orders"),
        ({"encoding": "continuous", "copies": True}, "neither automatic nor copies"),
    ],
)
def test_spaces_that_make_no_sense_are_refused(keywords: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        ActionSpec(2, 3, **keywords)  # type: ignore[arg-type]


def test_a_joint_space_that_explodes_is_refused_by_its_size() -> None:
    with pytest.raises(ValueError, match="859,963,392 joint actions for 8 subflows and 3 layers"):
        ActionSpec(8, 3, "joint")


def test_greedy_takes_the_best_of_each_branch() -> None:
    spec = ActionSpec(1, 2, windows=PAPER_WINDOWS[:2], automatic=True)
    outputs = np.array([[0.1, 0.2, 5.0, 1.0, -3.0, -2.0]])
    assert spec.greedy(outputs).tolist() == [[1, 0, 1]]
    assert ActionSpec(1, 1, "joint").greedy(np.array([[0, 0, 3, 1, 0, 2.0]])).tolist() == [2]
    assert ActionSpec(2, 1, "continuous").greedy(np.array([[-3.0, 0.5]])).tolist() == [[-1.0, 0.5]]


def test_documents_come_back() -> None:
    spec = ActionSpec(3, 2, automatic=True, windows=((0.5, 0), (1.0, 10)), headroom=0)
    assert ActionSpec.parse(spec.document()) == spec
