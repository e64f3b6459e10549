"""Coded trials stepped slot by slot, steered from outside; several side by side in C++ threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import _engine
from .stepper import Episodes

CONFIGURED = -1
"""In ``repair`` and ``place``: as the configuration says."""
SAME, OTHER, SPREAD = 0, 1, 2
"""In ``place``: the link of most of the block, another, each in its turn."""
CODED_SUBFLOW_VALUES: tuple[str, ...] = _engine.CODED_SUBFLOW_VALUES
CODED_LAYER_VALUES: tuple[str, ...] = _engine.CODED_LAYER_VALUES
CODED_EPISODE_VALUES: tuple[str, ...] = _engine.CODED_EPISODE_VALUES
"""The last axis of the arrays of values; ``engine/src/coding/sender_view.hpp`` and ``stepper.hpp`` say what each is."""


class CodedStepper(Episodes):
    """Trials of the mode ``coded``: :data:`CODED_SUBFLOW_VALUES`, :data:`CODED_LAYER_VALUES` and
    :data:`CODED_EPISODE_VALUES` are its values. One for which nothing is ever decided is that of
    :func:`~dstcc.engine.simulate`."""

    NATIVE = _engine.CodedStepper

    repair: NDArray[np.float64]
    """(episodes, layers): repair packets for each source packet of a block that closes from now on, 0 to 1,000;
    :data:`CONFIGURED`. A layer whose share is decided leaves time for repair even where it is 0."""
    left_out: NDArray[np.uint8]
    """(episodes, layers): 1 gives up what waits of the layer and was not begun, and what builds on it."""
    place: NDArray[np.int32]
    """(episodes,): where repair packets go: :data:`SAME`, :data:`OTHER`, :data:`SPREAD`; :data:`CONFIGURED`."""
    pace: NDArray[np.float64]
    """(episodes, subflows): what the congestion control's pace is multiplied by, 0.001 to 1,000. A control without a
    pace is not pressed."""

    def __init__(self, episodes: int, subflows: int, layers: int, *, threads: int = 1) -> None:
        super().__init__(episodes, subflows, layers, threads=threads)
