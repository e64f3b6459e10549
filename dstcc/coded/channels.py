"""Chances of loss on a grid, in straight lines of their logarithm between its points; a *belief* is a distribution over
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dstcc.engine.config import Float64Array

LEAST, MOST, POINTS = 1e-5, 0.6, 40
GRID: Float64Array = np.geomspace(LEAST, MOST, POINTS)
"""Chances of loss."""


def on_grid(chance: Float64Array) -> Float64Array:
    """(.., points): each probability as a distribution over the grid with the same mean logarithm."""
    place = (
        (np.log(np.clip(chance, LEAST, MOST)) - np.log(LEAST)) / (np.log(MOST) - np.log(LEAST)) * (POINTS - 1)
    )
    below = np.minimum(place.astype(int), POINTS - 2)
    share = place - below
    spread = np.zeros((*np.shape(chance), POINTS))
    np.put_along_axis(spread, below[..., None], (1 - share)[..., None], axis=-1)
    np.put_along_axis(spread, below[..., None] + 1, share[..., None], axis=-1)
    return spread
