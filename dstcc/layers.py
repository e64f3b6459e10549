"""What people call the layers that a chunk is played with, and what each of them weighs.

The weight is equation 1 of Ha et al., ICT Express 2023: W(ch) = (M − L(ch)) × W with W = 100, M layers in all and L(ch)
the layer's number, 0 for the base layer. For M = 3: 300, 200, 100.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHT = 100
"""W of equation 1."""


def layer_weights(layer: NDArray[np.int64], layers: int) -> NDArray[np.float64]:
    """The weight of each entry of ``layer`` (numbers 0..``layers`` − 1), dimensionless, same shape."""
    import numpy as np

    return ((layers - layer) * WEIGHT).astype(np.float64)


def level_name(level: int, layers: int) -> str:
    """Of a chunk played up to layer ``level`` of ``layers``; below 0 it is not played."""
    if level < 0:
        return "not played"
    if layers == 1:
        return "full quality"
    full = ", full quality" if level == layers - 1 else ""
    return "base layer only" if level == 0 else f"up to EL{level}{full}"
