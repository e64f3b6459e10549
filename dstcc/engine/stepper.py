"""Trials stepped slot by slot, steered from outside; several side by side in C++ threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _engine
from .config import EngineConfig, EngineResult
from .simulate import to_result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ONE_Q16 = 1 << 16
"""α = 1 in the integers of the window law."""
ALPHA_MAX_Q16 = 64 << 16
BETA_MAX = 1 << 28
SILENT = -1
"""In ``alpha_q16``: no action. After ``silence_slots`` of them, a parameter of the control, NewReno takes over."""
FALL_BACK = -2
"""In ``alpha_q16``: NewReno takes the window at once, until the next action."""
KEEP = -2
"""In an episode's first ``layer_subflow``: layers stay as they are."""
AUTOMATIC = -1
"""In ``layer_subflow``: the subflow with the earliest expected delivery."""
RUNNING, FINISHED, TIME_OVER = 0, 1, 2
"""In ``done``. An episode is finished when every layer is delivered or given up. Its time is over with the duration."""

REPAIRABLE = -3
"""In ``layer_subflow``, with the scheduler ``agent-late``: first where it could still be repaired in time; while that
is so somewhere, other subflows are for other layers."""
AVOID = -16
"""``AVOID - i`` in ``layer_subflow``, with the scheduler ``agent-late``: any subflow but i."""
SUBFLOW_VALUES: tuple[str, ...] = _engine.SUBFLOW_VALUES
LAYER_VALUES: tuple[str, ...] = _engine.LAYER_VALUES
EPISODE_VALUES: tuple[str, ...] = _engine.EPISODE_VALUES
FLOW_VALUES: tuple[str, ...] = _engine.FLOW_VALUES
"""The last axis of the arrays of values; ``engine/src/mptcp/stepper.hpp`` says what each is."""


class Stepper:
    """``episodes`` trials of at most ``subflows`` subflows and ``layers`` layers each, stepped together.

    :meth:`load` begins a trial, :meth:`step` runs every active one to its next slot's end, :meth:`result` tells
    what happened so far. All arrays are allocated once and belong to the engine: write actions into them, read
    values out of them, in place. A trial depends on its configuration and its actions only, whatever runs beside it
    and in however many threads; a step releases the GIL.

    Actions move a trial whose ``Transport.congestion`` is ``agent`` (windows) and whose scheduler is ``agent``
    (layers); others are stepped as they are. Background flows under such a trial's own control
    (:data:`~dstcc.engine.config.SAME`) are steered with ``flows`` rows for them, each by itself; without any they are
    NewReno.
    """

    def __init__(
        self, episodes: int, subflows: int, layers: int, *, flows: int = 0, threads: int = 1
    ) -> None:
        if min(episodes, subflows, layers, threads) < 1 or flows < 0:
            raise ValueError("episodes, subflows, layers and threads are at least 1, flows at least 0")
        self._native = _engine.Stepper(episodes, subflows, layers, threads, flows)
        self.alpha_q16: NDArray[np.int32] = self._native.alpha_q16
        """(episodes, subflows): the window's factor α × 65,536, at most 64; or :data:`SILENT`,
        :data:`FALL_BACK`. Actions stay until they are overwritten: each step takes them anew."""
        self.beta: NDArray[np.int32] = self._native.beta
        """(episodes, subflows): β in segments; α = 0 sets the window outright."""
        self.layer_subflow: NDArray[np.int32] = self._native.layer_subflow
        """(episodes, layers): the subflow that carries each layer, those that wait included; or
        :data:`AUTOMATIC`, or :data:`KEEP` in the first place."""
        self.copied: NDArray[np.uint8] = self._native.copied
        """(episodes, layers): 1 sends a layer a second time, on whatever other subflow is free first."""
        self.order: NDArray[np.float64] = self._native.order
        """(episodes, 2), with the scheduler ``agent-late`` only. By how many seconds each layer counts as released
        later than the one below it: 0 is chunk after chunk, infinity base layers first (as at first). And the
        share of the playout delay beyond the light time that is kept for a repair where it can be, 0 to 1 (0.5)."""
        self.active: NDArray[np.uint8] = self._native.active
        """(episodes,): 0 leaves an episode out of the next steps."""
        self.done: NDArray[np.uint8] = self._native.done
        """(episodes,): :data:`RUNNING`, :data:`FINISHED` or :data:`TIME_OVER`."""
        self.subflow_values: NDArray[np.float64] = self._native.subflow_values
        """(episodes, subflows, :data:`SUBFLOW_VALUES`); rows of subflows that a trial lacks are zero."""
        self.layer_values: NDArray[np.float64] = self._native.layer_values
        """(episodes, layers, :data:`LAYER_VALUES`); rows of layers that a trial lacks are zero."""
        self.episode_values: NDArray[np.float64] = self._native.episode_values
        """(episodes, :data:`EPISODE_VALUES`)."""
        self.flow_alpha_q16: NDArray[np.int32] = self._native.flow_alpha_q16
        """(episodes, flows): as ``alpha_q16``, for the background flows of the same control, link by link."""
        self.flow_beta: NDArray[np.int32] = self._native.flow_beta
        """(episodes, flows)."""
        self.flow_subflow_values: NDArray[np.float64] = self._native.flow_subflow_values
        """(episodes, flows, :data:`SUBFLOW_VALUES`): what the sender of each knows of itself."""
        self.flow_values: NDArray[np.float64] = self._native.flow_values
        """(episodes, flows, :data:`FLOW_VALUES`): and of what it sends."""

    def load(self, episode: int, config: EngineConfig) -> None:
        """Begin a trial at time 0 in the place of whatever ran there.

        Raises ValueError for a configuration that makes no sense or has more subflows or layers than there are
        rows; or more flows of its control, where there are any rows for them; or whose sender restarts.
        """
        if config.restarts is not None:
            raise ValueError("restarts: a stepper runs one connection; see dstcc.engine.restarts")
        self._native.load(episode, config)

    def step(self) -> None:
        """Take the actions in the arrays and run each active episode to its next slot's end, or its own end.

        A step of an episode that is done changes nothing. Raises ValueError for an ``order`` of an active episode that
        is NaN, a negative gap or a share outside 0..1.
        """
        if not (self.order.min() >= 0 and self.order[:, 1].max() <= 1):  # a NaN is no least and no greatest
            self._check_order()
        self._native.step()

    def _check_order(self) -> None:
        """Rows of episodes that are not active count for nothing."""
        for episode in self.active.nonzero()[0].tolist():
            gap_s, repair = self.order[episode].tolist()
            if not (gap_s >= 0 and 0 <= repair <= 1):
                raise ValueError(
                    f"order of episode {episode}: ({gap_s:g}, {repair:g}); it is a gap of 0 s to infinity, "
                    "and a share in 0..1"
                )

    def result(self, episode: int) -> EngineResult:
        """What happened in a trial so far; once it is done, what :func:`dstcc.engine.simulate` would return."""
        return to_result(self._native.result(episode))
