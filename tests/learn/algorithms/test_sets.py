"""One network for any number of subflows and layers: numpy is torch, numbering and padding change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dstcc.learn.algorithms.sets_torch import SetsNetwork, sets_shape
from dstcc.learn.policies.sets import Sets
from dstcc.learn.spaces.measured_actions import MeasuredActions

ACTION = MeasuredActions(
    subflows=3, layers=2, windows=((1.0, 0.0), (1.0, 1.0)), orders=((0.0, 0.0), (0.2, 0.0))
)
SHAPE = sets_shape(ACTION)
REST = (4, 2)


def network(**more: Any) -> SetsNetwork:
    return SetsNetwork(SHAPE, 3, 2, REST, 8, seed=1, **more)


def seen(subflows: int = 3, layers: int = 2, count: int = 5) -> NDArray[np.float32]:
    draws = np.random.default_rng(2)
    own = draws.random((count, subflows, SHAPE.subflow))
    below = draws.random((count, layers, SHAPE.layer))
    own[:, :, 0] = below[:, :, 0] = 1
    whole = draws.random((count, SHAPE.episode))
    return np.concatenate([whole, own.reshape(count, -1), below.reshape(count, -1)], axis=1).astype(
        np.float32
    )


def numpy_of(trained: SetsNetwork, subflows: int, layers: int) -> Sets:
    weights = trained.weights()
    inputs = SHAPE.episode + subflows * SHAPE.subflow + layers * SHAPE.layer
    return Sets(weights.network, weights.tensors, inputs, subflows * SHAPE.windows + SHAPE.rest)


def centred(values: NDArray[np.float32], subflows: int) -> NDArray[np.float32]:
    """Less each branch's mean: what a policy's outputs say, which have no value in them."""
    cuts = np.cumsum([*(SHAPE.windows,) * subflows, *REST])[:-1]
    parts = np.split(values, cuts, axis=1)
    return np.concatenate([part - part.mean(axis=1, keepdims=True) for part in parts], axis=1)


def test_numpy_is_torch() -> None:
    trained, observations = network(), seen()
    with torch.no_grad():
        expected = trained(torch.from_numpy(observations)).numpy()
    numbers = numpy_of(trained, 3, 2)(observations)
    assert np.abs(centred(numbers, 3) - centred(expected, 3)).max() < 1e-5


def test_one_episode_at_a_time_is_the_same() -> None:
    run, observations = numpy_of(network(), 3, 2), seen()
    first = SHAPE.episode + 2 * SHAPE.subflow
    observations[0, first : first + SHAPE.subflow] = 0
    together = run(observations)
    alone = np.concatenate([run(row[None]) for row in observations])
    assert np.abs(together[1:] - alone[1:]).max() < 1e-5
    assert (
        np.abs(together[0, [0, 1, 2, 3, *range(6, 12)]] - alone[0, [0, 1, 2, 3, *range(6, 12)]]).max() < 1e-5
    )


def test_numbering_changes_nothing() -> None:
    observations, run = seen(), numpy_of(network(), 3, 2)
    turned = observations.copy()
    own = slice(SHAPE.episode, SHAPE.episode + 3 * SHAPE.subflow)
    turned[:, own] = observations[:, own].reshape(5, 3, -1)[:, [2, 0, 1]].reshape(5, -1)
    once, again = run(observations), run(turned)
    assert np.abs(once[:, 6:] - again[:, 6:]).max() < 1e-6
    windows = [part[:, :6].reshape(5, 3, 2) for part in (once, again)]
    assert np.abs(windows[0][:, [2, 0, 1]] - windows[1]).max() < 1e-6


def test_what_is_not_there_changes_nothing() -> None:
    small, run = seen(), network()
    large = np.zeros((5, SHAPE.episode + 8 * SHAPE.subflow + 8 * SHAPE.layer), np.float32)
    first = SHAPE.episode + 3 * SHAPE.subflow
    large[:, :first] = small[:, :first]
    after = SHAPE.episode + 8 * SHAPE.subflow
    large[:, after : after + 2 * SHAPE.layer] = small[:, first:]
    once, again = numpy_of(run, 3, 2)(small), numpy_of(run, 8, 8)(large)
    assert np.abs(once[:, :6] - again[:, :6]).max() < 1e-6
    assert np.abs(once[:, -6:] - again[:, -6:]).max() < 1e-6


def test_branches_of_subflows_that_are_not_there_do_not_count() -> None:
    observations = seen()
    observations[:, SHAPE.episode + 2 * SHAPE.subflow :][:, : SHAPE.subflow] = 0
    assert network().mask(torch.from_numpy(observations))[0].tolist() == [True, True, False, True, True]


def test_the_margin_is_in_the_weights() -> None:
    made = network()
    made.favour((1, 2, 0), 100.0)
    weights = made.weights()
    run = Sets(weights.network, weights.tensors, seen().shape[1], 12)
    assert (ACTION.greedy(run(seen())) == [1, 1, 1, 2, 0]).all()


def test_weights_of_another_shape_are_refused() -> None:
    numbers = network().weights()
    with pytest.raises(ValueError, match="are not of"):
        Sets(numbers.network, numbers.tensors, seen().shape[1] + 1, 12)
    with pytest.raises(ValueError, match=r"tensor rest\.out"):
        Sets(
            numbers.network, numbers.tensors | {"rest.out": np.zeros((1, 8), np.float32)}, seen().shape[1], 12
        )
    with pytest.raises(ValueError, match="subflow, windows"):
        Sets({"kind": "sets"}, numbers.tensors, seen().shape[1], 12)
