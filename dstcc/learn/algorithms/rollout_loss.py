"""The loss of :mod:`dstcc.learn.algorithms.rollouts` and its gradient, written out: all subflows in one go.

Model. With e_bj = A_bj − A_b,chosen − D_bj over the n_b choices j of branch b, and w_b the branch's weight (1 ÷ the
subflows that are there for one of them, 0 for one that is not, 1 for the other branches), the loss over B samples is

    L = Σ_b mean_B(w_b · mean_j e_bj²)      ∂L/∂A_bj = g_bj − [j = chosen] Σ_i g_bi      g_bj = 2 e_bj w_b / (B · n_b)

Autograd of the sum over branches has some 200 operations of a few hundred numbers each, which cost more than the
network's do. The order of the floating-point operations is autograd's own, so that both give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch


class RolloutLoss:
    """For ``subflows`` branches of ``windows`` choices each, and then those of ``rest``."""

    def __init__(self, subflows: int, windows: int, rest: Sequence[int], device: torch.device) -> None:
        self._subflows, self._windows, self._rest = subflows, windows, list(rest)
        self._numbers = torch.arange(max(windows, *rest), device=device)

    @torch.no_grad()
    def __call__(
        self, values: torch.Tensor, present: torch.Tensor, chosen: torch.Tensor, gain: torch.Tensor
    ) -> tuple[float, torch.Tensor]:
        """The loss, and its gradient by ``values`` (B, Σ choices).

        ``present`` (B, subflows) says which subflows are there, ``chosen`` (B, branches) is what the policy did,
        ``gain`` (B, windows + Σ rest) is D, whose first part holds for all subflows.
        """
        count, first = len(values), self._subflows * self._windows
        present = present.to(values.dtype)
        weights = present / present.sum(dim=1, keepdim=True)
        gradient = torch.empty_like(values)
        losses: list[float] = []

        def add(start: int, branches: int, choices: int, wanted: slice, weight: torch.Tensor) -> None:
            """Branches of as many choices each, which begin at ``start``; ``wanted`` is where their D lies."""
            where = slice(start, start + branches * choices)
            part = values[:, where].view(count, branches, choices)
            index = chosen[:, len(losses) : len(losses) + branches, None]
            error = part - part.gather(2, index) - gain[:, None, wanted]
            losses.extend((error.square().mean(dim=2) * weight).t().contiguous().mean(dim=1).tolist())
            slope = (weight * (1 / count) / choices)[..., None] * (2 * error)
            slope -= slope.sum(dim=2, keepdim=True) * (index == self._numbers[:choices])
            gradient[:, where] = slope.flatten(1)

        add(0, self._subflows, self._windows, slice(self._windows), weights)
        one, start, begin = values.new_ones((count, 1)), first, self._windows
        for choices in self._rest:
            add(start, 1, choices, slice(begin, begin + choices), one)
            start, begin = start + choices, begin + choices
        total = np.float32(0)
        for loss in losses:
            total += np.float32(loss)
        return float(total), gradient
