"""The gradient of the rollouts' loss, against autograd's of the formula as it stands in the docstring."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dstcc.learn.algorithms.rollout_loss import RolloutLoss

CPU = torch.device("cpu")


def case(count: int, subflows: int, windows: int, rest: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    """Values, which subflows are there, choices and gains; the first subflow is always there."""
    draw = np.random.default_rng(count)
    sizes = (windows,) * subflows + rest
    values = torch.from_numpy(draw.normal(size=(count, sum(sizes))).astype(np.float32))
    present = torch.from_numpy(draw.random((count, subflows)) < 0.6)
    present[:, 0] = True
    chosen = torch.from_numpy(np.stack([draw.integers(0, size, count) for size in sizes], axis=1))
    gain = torch.from_numpy(draw.normal(size=(count, windows + sum(rest))).astype(np.float32))
    return values, present, chosen, gain


def by_autograd(
    values: torch.Tensor,
    present: torch.Tensor,
    chosen: torch.Tensor,
    gain: torch.Tensor,
    sizes: tuple[int, tuple[int, ...]],
) -> tuple[float, torch.Tensor]:
    """Branch by branch."""
    windows, rest = sizes
    subflows = present.shape[1]
    values = values.clone().requires_grad_()
    targets = torch.split(gain, [windows, *rest], dim=1)
    loss = values.new_zeros(())
    for branch, part in enumerate(torch.split(values, [windows] * subflows + list(rest), dim=1)):
        error = part - part.gather(1, chosen[:, branch : branch + 1]) - targets[max(branch - subflows + 1, 0)]
        weight = present[:, branch] / present.sum(dim=1) if branch < subflows else torch.ones(len(values))
        loss = loss + (error.square().mean(dim=1) * weight).mean()
    loss.backward()
    assert values.grad is not None
    return float(loss.detach()), values.grad


@pytest.mark.parametrize("count", [1, 7, 256])
@pytest.mark.parametrize("rest", [(4, 3), (3, 4, 4)])
def test_loss_and_gradient_are_those_of_the_formula_bit_for_bit(count: int, rest: tuple[int, ...]) -> None:
    """So a training is the one that autograd gave. To add 0 makes a zero positive, whose sign no sum depends on."""
    values, present, chosen, gain = case(count, 8, 5, rest)
    loss, gradient = RolloutLoss(8, 5, rest, CPU)(values, present, chosen, gain)
    wanted, by_values = by_autograd(values, present, chosen, gain, (5, rest))
    assert loss == wanted
    assert (gradient + 0).numpy().tobytes() == (by_values + 0).numpy().tobytes()


def test_a_sample_by_hand() -> None:
    """The first of two subflows is there: e = (0, 3 − 1 − 1), so L = 1/2, g = (0, 1), and the chosen one gets −1."""
    values = torch.tensor([[1.0, 3.0, 9.0, 9.0, 2.0]])
    present, chosen = torch.tensor([[True, False]]), torch.tensor([[0, 1, 0]])
    loss, gradient = RolloutLoss(2, 2, (1,), CPU)(values, present, chosen, torch.tensor([[0.0, 1.0, 0.0]]))
    assert loss == 0.5
    assert gradient.tolist() == [[-1.0, 1.0, 0.0, 0.0, 0.0]]
