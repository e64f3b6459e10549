"""Trials stepped slot by slot, steered from outside; several side by side in C++ threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _engine
from .config import EngineConfig, EngineResult
from .simulate import to_result

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


class Shown(Protocol):
    """K trials at the end of a slot, whoever carries their packets; times are the mission's."""

    @property
    def subflow_values(self) -> NDArray[np.float64]:
        """(K, subflows, values)."""

    @property
    def layer_values(self) -> NDArray[np.float64]:
        """(K, layers, values)."""

    @property
    def episode_values(self) -> NDArray[np.float64]:
        """(K, values): mission time first."""


class Episodes:
    """Trials stepped together: of TCP (:class:`Stepper`), or of coded packets (:class:`~dstcc.engine.CodedStepper`).

    :meth:`load` begins a trial, :meth:`step` runs every active one to its next slot's end, :meth:`result` tells
    what happened so far. All arrays are allocated once and belong to the engine: write actions into them, read
    values out of them, in place. Actions stay until they are overwritten: each step takes them anew. A trial depends
    on its configuration and its actions only, whatever runs beside it and in however many threads; a step releases
    the GIL.
    """

    active: NDArray[np.uint8]
    """(episodes,): 0 leaves an episode out of the next steps."""
    done: NDArray[np.uint8]
    """(episodes,): :data:`RUNNING`, :data:`FINISHED` or :data:`TIME_OVER`."""
    subflow_values: NDArray[np.float64]
    """(episodes, subflows, values); rows of subflows that a trial lacks are zero."""
    layer_values: NDArray[np.float64]
    """(episodes, layers, values); rows of layers that a trial lacks are zero."""
    episode_values: NDArray[np.float64]
    """(episodes, values)."""

    NATIVE: ClassVar[Callable[..., _engine.Stepper]]
    """The engine's, of this kind."""

    def __init__(
        self, episodes: int, subflows: int, layers: int, *, flows: int = 0, threads: int = 1
    ) -> None:
        """Make room for so many trials of at most ``subflows`` subflows and ``layers`` layers each."""
        if min(episodes, subflows, layers, threads) < 1 or flows < 0:
            raise ValueError("episodes, subflows, layers and threads are at least 1, flows at least 0")
        self._native = type(self).NATIVE(episodes, subflows, layers, flows, threads)
        vars(self).update(self._native.arrays)

    def load(self, episode: int, config: EngineConfig) -> None:
        """Begin a trial at time 0 in the place of whatever ran there.

        Raises ValueError for a configuration that makes no sense or is of another kind, or has more subflows or layers
        than there are rows, or more flows of its control, where there are any rows for them; or whose sender restarts.
        """
        if config.restarts is not None:
            raise ValueError("restarts: a stepper runs one connection; see dstcc.engine.restarts")
        self._native.load(episode, config)

    def step(self) -> None:
        """Take the actions in the arrays and run each active episode to its next slot's end, or its own end.

        A step of an episode that is done changes nothing. Raises ValueError for actions of an active episode that are
        out of their range.
        """
        self._native.step()

    def time_s(self, episode: int) -> float:
        """Mission time of a trial."""
        return float(self.episode_values[episode, EPISODE_VALUES.index("time_s")])

    def result(self, episode: int) -> EngineResult:
        """What happened in a trial so far; once it is done, what :func:`dstcc.engine.simulate` would return."""
        return to_result(self._native.result(episode))


class Stepper(Episodes):
    """Trials of TCP: :data:`SUBFLOW_VALUES`, :data:`LAYER_VALUES` and :data:`EPISODE_VALUES` are its values.

    Actions move a trial whose ``Transport.congestion`` is ``agent`` (windows) and whose scheduler is ``agent``
    (layers); others are stepped as they are. Background flows under such a trial's own control
    (:data:`~dstcc.engine.config.SAME`) are steered with ``flows`` rows for them, each by itself; without any they are
    NewReno.
    """

    NATIVE = _engine.Stepper

    alpha_q16: NDArray[np.int32]
    """(episodes, subflows): the window's factor α × 65,536, at most 64; or :data:`SILENT`, :data:`FALL_BACK`."""
    beta: NDArray[np.int32]
    """(episodes, subflows): β in segments; α = 0 sets the window outright."""
    layer_subflow: NDArray[np.int32]
    """(episodes, layers): the subflow that carries each layer, those that wait included; or :data:`AUTOMATIC`, or
    :data:`KEEP` in the first place."""
    copied: NDArray[np.uint8]
    """(episodes, layers): 1 sends a layer a second time, on whatever other subflow is free first."""
    order: NDArray[np.float64]
    """(episodes, 2), with the scheduler ``agent-late`` only. By how many seconds each layer counts as released later
    than the one below it: 0 is chunk after chunk, infinity base layers first (as at first). And the share of the
    playout delay beyond the light time that is kept for a repair where it can be, 0 to 1 (0.5)."""
    flow_alpha_q16: NDArray[np.int32]
    """(episodes, flows): as ``alpha_q16``, for the background flows of the same control, link by link."""
    flow_beta: NDArray[np.int32]
    """(episodes, flows)."""
    flow_subflow_values: NDArray[np.float64]
    """(episodes, flows, :data:`SUBFLOW_VALUES`): what the sender of each knows of itself."""
    flow_values: NDArray[np.float64]
    """(episodes, flows, :data:`FLOW_VALUES`): and of what it sends."""

    def step(self) -> None:
        """As :meth:`Episodes.step`; ``order`` is out of its range where it is NaN, a negative gap or a share outside
        0..1."""
        if not (self.order.min() >= 0 and self.order[:, 1].max() <= 1):  # a NaN is no least and no greatest
            self._check_order()
        super().step()

    def _check_order(self) -> None:
        """Rows of episodes that are not active count for nothing."""
        for episode in self.active.nonzero()[0].tolist():
            gap_s, repair = self.order[episode].tolist()
            if not (gap_s >= 0 and 0 <= repair <= 1):
                raise ValueError(
                    f"order of episode {episode}: ({gap_s:g}, {repair:g}); it is a gap of 0 s to infinity, "
                    "and a share in 0..1"
                )
