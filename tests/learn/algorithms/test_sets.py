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


def by_formula(t: dict[str, Any], row: NDArray[Any], subflows: int, layers: int) -> tuple[Any, Any]:
    """The model of `sets.py`, of one episode: choices by subflow (nothing where one is not there), and the rest."""
    whole, first = row[: SHAPE.episode], SHAPE.episode + subflows * SHAPE.subflow
    own, below = row[SHAPE.episode : first].reshape(subflows, -1), row[first:].reshape(layers, -1)
    count = max(below[:, 0].sum(), 1.0)
    g = np.concatenate(
        [whole, [count / 8], below[0, 1:], below[:, 1:].sum(axis=0) / count, below[:, 1:].max(axis=0)]
    )
    there = np.flatnonzero(own[:, 0])
    known = {
        i: np.maximum(t["encode.own"] @ own[i] + t["encode.all"] @ g + t["encode.bias"], 0) for i in there
    }
    hidden = len(t["encode.bias"])
    mean = sum(known.values()) / len(there) if len(there) else np.zeros(hidden)
    most = np.max(list(known.values()), axis=0) if len(there) else np.zeros(hidden)
    p = np.concatenate([mean, most])
    windows = {
        int(i): t["window.out"] @ np.maximum(t["window.own"] @ h + t["window.all"] @ p + t["window.bias"], 0)
        + t["window.out.bias"]
        for i, h in known.items()
    }
    joint = np.maximum(t["rest.in"] @ np.concatenate([g, p]) + t["rest.bias"], 0)
    return windows, t["rest.out"] @ joint + t["rest.out.bias"]


def test_all_three_are_the_formula() -> None:
    """In torch, in numpy for several episodes and for one: with all that there is, with one subflow, with one layer,
    with no layer and with nothing."""
    trained, observations = network(), seen()
    below = SHAPE.episode + 3 * SHAPE.subflow
    observations[0, SHAPE.episode + SHAPE.subflow + 1] = 0  # of a subflow that is there
    observations[1, SHAPE.episode + SHAPE.subflow : below] = 0
    observations[2, below + SHAPE.layer :] = 0
    observations[3, below:] = 0
    observations[4, SHAPE.episode :] = 0
    run = numpy_of(trained, 3, 2)
    t = {name: value.astype(float) for name, value in trained.weights().tensors.items()}
    with torch.no_grad():
        theirs = trained(torch.from_numpy(observations)).numpy()
    found = {
        "torch": theirs,
        "together": run(observations),
        "alone": np.concatenate([run(row[None]) for row in observations]),
    }
    for k, row in enumerate(observations.astype(float)):
        windows, rest = by_formula(t, row, 3, 2)
        assert len(windows) == (3, 1, 3, 3, 0)[k]
        for name, values in found.items():
            for i, wanted in windows.items():
                assert values[k, 2 * i : 2 * i + 2] == pytest.approx(wanted, abs=1e-5), name
            assert values[k, 6:] == pytest.approx(rest, abs=1e-5), name
    assert (found["alone"][4, :6] == 0).all()


def test_weights_begin_within_the_root_of_what_goes_into_them() -> None:
    """PyTorch's own start: U(-b, b) with b = 1 / sqrt(fan in); of 64 hidden units each takes its own, and twice the
    pooled ones, where there are windows."""
    made = SetsNetwork(SHAPE, 3, 2, REST, 64, seed=1)
    common = SHAPE.episode + 1 + 3 * (SHAPE.layer - 1)
    fan_in = {
        "encode": SHAPE.subflow + common,
        "window": 3 * 64,
        "window.out": 64,
        "rest": common + 2 * 64,
        "rest.out": 64,
    }
    for name, tensor in made.weights().tensors.items():
        part = name.split(".")[0]
        bound = fan_in[f"{part}.out" if ".out" in name else part] ** -0.5
        most = float(np.abs(tensor).max())
        assert most <= bound and (most > 0.97 * bound or tensor.size < 80), name
    again, other = (SetsNetwork(SHAPE, 3, 2, REST, 64, seed=seed).weights().tensors for seed in (1, 2))
    for name, tensor in made.weights().tensors.items():
        assert (tensor == again[name]).all() and (tensor != other[name]).any()


def test_a_margin_is_for_the_default_of_each_branch() -> None:
    """Three subflows of two choices, then branches of four and of two."""
    made = network()
    made.favour((1, 2, 0), 0.5)
    assert made.prior.tolist() == [0, 0.5, 0, 0.5, 0, 0.5, 0, 0, 0.5, 0, 0.5, 0]
    plain, moved = network().weights().tensors, made.weights().tensors
    assert moved["window.out.bias"] - plain["window.out.bias"] == pytest.approx([0, 0.5])
    assert moved["rest.out.bias"] - plain["rest.out.bias"] == pytest.approx([0, 0, 0.5, 0, 0.5, 0])


def test_subflows_and_layers_are_counted_from_what_goes_in_and_comes_out() -> None:
    for subflows, layers in ((1, 1), (3, 2), (8, 8)):
        inputs = SHAPE.episode + subflows * SHAPE.subflow + layers * SHAPE.layer
        assert SHAPE.counts(inputs, subflows * SHAPE.windows + SHAPE.rest) == (subflows, layers)
        for more in (-1, 1):
            with pytest.raises(ValueError, match=r"values and .* outputs are not of"):
                SHAPE.counts(inputs + more, subflows * SHAPE.windows + SHAPE.rest)
    for outputs in (SHAPE.rest, SHAPE.rest + 3):
        with pytest.raises(ValueError, match="are not of"):
            SHAPE.counts(SHAPE.episode + SHAPE.subflow + SHAPE.layer, outputs)
    with pytest.raises(ValueError, match="are not of"):
        SHAPE.counts(SHAPE.episode + SHAPE.subflow, SHAPE.windows + SHAPE.rest)
