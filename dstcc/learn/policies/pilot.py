"""How a policy of TCP steers one connection, with a guard beside it; and the background flows of its own kind.

The guard bounds windows, and with them rates, in the engine (``headroom``), hands windows to NewReno for a slot
whose decision is not finite, and after four slots without one (the engine's ``silence_slots``). What it did is
in the result's totals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.engine.stepper import SUBFLOW_VALUES
from dstcc.learn.env.beside import beside, named
from dstcc.learn.env.runner import Runner
from dstcc.learn.spaces.scales import column

from .controller import Decided, Watcher

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig, EngineResult, Stepper

    from .policy import Policy

SEEN = (
    "established",
    "link_up",
    "srtt_s",
    "cwnd_segments",
    "inflight_segments",
    "sent_segments",
    "lost_segments",
    "retransmitted_segments",
    "delivered_bytes",
    "queue_bytes",
    "pacing_bps",
)
"""What a watcher gets that a policy sees of each subflow."""


class TcpPilot:
    """A :class:`~dstcc.learn.policies.drive.Pilot`."""

    def __init__(self, policy: Policy, config: EngineConfig, watcher: Watcher | None) -> None:
        """Come to where the connection begins."""
        self._policy = replace(policy)  # a network of this trial's own, with nothing in its memory
        self._config, self._watcher = config, watcher
        self._flows = beside(policy, config)
        self._runner = runner = Runner(1, policy.observation, policy.action, flows=len(self._flows))
        runner.begin(0, config)
        if config.begin_ns:
            runner.wait(0, config)
        runner.beside = self._flows
        for flow in self._flows:
            flow.observe(runner.stepper)

    @property
    def stepper(self) -> Stepper:
        """The runner's."""
        return self._runner.stepper

    def step(self) -> None:
        """Decide for the connection and for the flows beside it."""
        runner, policy = self._runner, self._policy
        for flow in self._flows:
            flow.decide()
        outputs = policy.outputs(runner.observations)
        action = policy.action.greedy(outputs) if np.isfinite(outputs).all() else None
        if self._watcher is not None:
            self._watcher(_decided(runner, outputs, action))
        if action is None:
            runner.idle(fall_back=True)
        else:
            runner.step(action)

    def result(self) -> EngineResult:
        """With the flows of its kind under its name."""
        return named(self._policy, self._config, self._runner.result(0))

    @property
    def guarded(self) -> tuple[int, int]:
        """As the engine counted."""
        values = self.stepper.subflow_values[0]
        clamps, fallbacks = (
            int(column(values, SUBFLOW_VALUES, name).sum()) for name in ("clamps", "fallbacks")
        )
        return clamps, fallbacks


def _decided(runner: Runner, outputs: NDArray[np.float32], action: NDArray[Any] | None) -> Decided:
    values, layers = runner.stepper.subflow_values[0, : runner.subflows(0)], runner.layers(0)
    return Decided(
        runner.time_s(0),
        runner.observation.names,
        runner.observations[0].copy(),
        outputs[0].copy(),
        saw={name: values[:, SUBFLOW_VALUES.index(name)].copy() for name in SEEN},
        believed={name: held[: len(values)].copy() for name, held in runner.believed(0).items()},
        chose={} if action is None else runner.action.described(action[0], len(values), layers),
        fell_back=action is None,
    )
