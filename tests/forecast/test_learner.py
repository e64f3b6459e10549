"""How a forecaster learns: Adam's rate by its formula, and the loss by its definition."""

from __future__ import annotations

from dataclasses import replace
from math import cos, pi

import numpy as np
import pytest

from dstcc.coded.channels import POINTS, on_grid
from dstcc.forecast import histories
from dstcc.forecast.recipe import Recipe

torch = pytest.importorskip("torch")

from dstcc.forecast.learner import Forecaster, rate  # noqa: E402

RECIPE = replace(Recipe(), learning_rate=0.1, rising=4)


@pytest.mark.parametrize("update", [0, 1, 2, 3, 4, 10, 19, 20, 21, 30])
def test_the_rate_rises_in_a_line_and_falls_with_half_a_cosine_to_a_fiftieth(update: int) -> None:
    """Of 20 updates; after them it stays. In the middle it is 0.02 + 0.98 / 2 of the most."""
    falling = (1 + cos(pi * min(update, 20) / 20)) / 2
    expected = 0.1 * min(1, (update + 1) / 4) * (0.02 + 0.98 * falling)
    assert rate(RECIPE, update, 20) == pytest.approx(expected)


def test_the_rate_at_known_places() -> None:
    found = [rate(RECIPE, update, 20) for update in (0, 3, 10, 20, 25)]
    assert found[2:] == pytest.approx([0.051, 0.002, 0.002])
    assert found[0] == pytest.approx(0.025) and found[1] < 0.1


def test_the_loss_is_the_cross_entropy_with_where_the_law_is() -> None:
    """With an output of zero the belief is the filter's, so the loss is that of the filter, written out."""
    batch = histories.batch(np.random.default_rng(2), 3, 8, 2, 4)
    network = Forecaster(4)
    found = float(network.loss(batch, torch.device("cpu")).item())
    log_belief = batch.held - np.log(np.exp(batch.held).sum(axis=-1, keepdims=True))
    expected = -(on_grid(batch.chance) * log_belief).sum(axis=-1).mean()
    assert found == pytest.approx(expected, rel=1e-5)
    assert (network.belief.weight == 0).all() and (network.belief.bias == 0).all()


def test_a_belief_is_of_the_state_and_the_time() -> None:
    """Weights of one on the state's first place and on the first feature: the logits are their sum's tanh."""
    network = Forecaster(3)
    with torch.no_grad():
        for parameter in (network.ahead.weight, network.ahead.bias):
            parameter.zero_()
        network.ahead.weight[0, 0] = network.ahead.weight[0, 3] = 1.0
        network.belief.weight[0, 0] = 2.0
    batch = histories.batch(np.random.default_rng(2), 2, 6, 1, 3)
    inputs, features, held = (
        torch.from_numpy(values.astype(np.float32)) for values in (batch.inputs, batch.features, batch.held)
    )
    with torch.inference_mode():
        logits = network(inputs, features, held, 3).numpy()
        states = network.gru(torch.tanh(network.embed(inputs)))[0].numpy()
    assert logits.shape == (2, 3, 1, POINTS)
    assert logits[..., 1:] == pytest.approx(batch.held[..., 1:], abs=1e-5)
    first = np.stack([np.zeros(2), states[:, 2, 0], states[:, 5, 0]], axis=1)
    moved = logits[:, :, 0, 0] - batch.held[:, :, 0, 0]
    assert moved == pytest.approx(2 * np.tanh(first + batch.features[:, :, 0, 0]), abs=1e-5)
