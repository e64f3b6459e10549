"""Coded trials stepped slot by slot, steered from outside; several side by side in C++ threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _engine
from .config import EngineConfig, EngineResult
from .simulate import to_result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONFIGURED = -1
"""In ``repair`` and ``place``: as the configuration says."""
SAME, OTHER, SPREAD = 0, 1, 2
"""In ``place``: the link of most of the block, another, each in its turn."""
CODED_SUBFLOW_VALUES: tuple[str, ...] = _engine.CODED_SUBFLOW_VALUES
CODED_LAYER_VALUES: tuple[str, ...] = _engine.CODED_LAYER_VALUES
CODED_EPISODE_VALUES: tuple[str, ...] = _engine.CODED_EPISODE_VALUES
"""The last axis of the arrays of values; ``engine/src/coding/sender_view.hpp`` and ``stepper.hpp`` say what each is."""


class CodedStepper:
    """``episodes`` trials of the mode ``coded``, of at most ``subflows`` subflows and ``layers`` layers each.

    As :class:`~dstcc.engine.Stepper`: :meth:`load` begins a trial, :meth:`step` takes the actions in the arrays and
    runs every active one to its next slot's end, :meth:`result` tells what happened so far. Arrays belong to the
    engine, and actions stay until they are overwritten. A trial for which nothing is ever decided is that of
    :func:`~dstcc.engine.simulate`; whatever runs beside it, a trial depends on its configuration and its actions.
    """

    def __init__(self, episodes: int, subflows: int, layers: int, *, threads: int = 1) -> None:
        if min(episodes, subflows, layers, threads) < 1:
            raise ValueError("episodes, subflows, layers and threads are at least 1")
        self._native = _engine.CodedStepper(episodes, subflows, layers, threads)
        self.repair: NDArray[np.float64] = self._native.repair
        """(episodes, layers): repair packets for each source packet of a block that closes from now on, 0 to 1,000;
        :data:`CONFIGURED`. A layer whose share is decided leaves time for repair even where it is 0."""
        self.left_out: NDArray[np.uint8] = self._native.left_out
        """(episodes, layers): 1 gives up what waits of the layer and was not begun, and what builds on it."""
        self.place: NDArray[np.int32] = self._native.place
        """(episodes,): where repair packets go: :data:`SAME`, :data:`OTHER`, :data:`SPREAD`; :data:`CONFIGURED`."""
        self.pace: NDArray[np.float64] = self._native.pace
        """(episodes, subflows): what the congestion control's pace is multiplied by, 0.001 to 1,000. A control
        without a pace is not pressed."""
        self.active: NDArray[np.uint8] = self._native.active
        """(episodes,): 0 leaves an episode out of the next steps."""
        self.done: NDArray[np.uint8] = self._native.done
        """(episodes,): :data:`~dstcc.engine.stepper.RUNNING`, ``FINISHED`` or ``TIME_OVER``."""
        self.subflow_values: NDArray[np.float64] = self._native.subflow_values
        """(episodes, subflows, :data:`CODED_SUBFLOW_VALUES`); rows of subflows that a trial lacks are zero."""
        self.layer_values: NDArray[np.float64] = self._native.layer_values
        """(episodes, layers, :data:`CODED_LAYER_VALUES`)."""
        self.episode_values: NDArray[np.float64] = self._native.episode_values
        """(episodes, :data:`CODED_EPISODE_VALUES`)."""

    def load(self, episode: int, config: EngineConfig) -> None:
        """Begin a trial at time 0 in the place of whatever ran there.

        Raises ValueError for a configuration of another mode, or whose sender restarts, or with more subflows or layers
        than there are rows.
        """
        if config.restarts is not None:
            raise ValueError("restarts: a stepper runs one connection; see dstcc.engine.restarts")
        self._native.load(episode, config)

    def step(self) -> None:
        """Take the actions and run each active episode to its next slot's end, or its own end.

        A step of an episode that is done changes nothing. Raises ValueError for actions out of their range.
        """
        self._native.step()

    def time_s(self, episode: int) -> float:
        """Mission time of a trial."""
        return float(self.episode_values[episode, CODED_EPISODE_VALUES.index("time_s")])

    def result(self, episode: int) -> EngineResult:
        """What happened in a trial so far; once it is done, all of it."""
        return to_result(self._native.result(episode))
