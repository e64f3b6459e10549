"""A policy that drives one trial, with a guard beside it; and the background flows of its own kind.

The guard bounds windows, and with them rates, in the engine (``headroom``), hands windows to NewReno for a slot
whose decision is not finite, and after four slots without one (the engine's ``silence_slots``). What it did is
in the result's totals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.engine.restarts import with_restarts
from dstcc.engine.stepper import RUNNING, SUBFLOW_VALUES
from dstcc.learn.env.beside import beside, named
from dstcc.learn.env.episodes import steered
from dstcc.learn.env.runner import Runner
from dstcc.learn.spaces.scales import column

from .controller import Decided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig, EngineResult

    from .controller import Watcher
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
"""What a watcher is told that a policy sees of each subflow."""


def drive(policy: Policy, config: EngineConfig, watcher: Watcher | None = None) -> EngineResult:
    """Run a trial to its end under a policy; congestion control and scheduler are the policy's.

    Raises :class:`~dstcc.errors.PolicyError` when the trial has more subflows or layers than the policy knows.
    """
    layers = int(config.objects.layer.max()) + 1
    policy.check_fits(subflows=sum(link.subflows for link in config.links), layers=layers)
    return with_restarts(steered(config, policy.action), lambda one: _drive(policy, one, watcher))


def _drive(policy: Policy, config: EngineConfig, watcher: Watcher | None) -> EngineResult:
    """One connection, from which the policy starts without a memory."""
    flows = beside(policy, config)
    runner = Runner(1, policy.observation, policy.action, flows=len(flows))
    runner.begin(0, config)
    if config.begin_ns:
        runner.wait(0, config)
    runner.beside = flows
    for flow in flows:
        flow.observe(runner.stepper)
    policy = replace(policy)  # a network of this trial's own, with nothing in its memory
    with np.errstate(over="ignore", invalid="ignore"):
        while runner.stepper.done[0] == RUNNING:
            for flow in flows:
                flow.decide()
            outputs = policy.outputs(runner.observations)
            action = policy.action.greedy(outputs) if np.isfinite(outputs).all() else None
            if watcher is not None:
                watcher(_decided(runner, outputs, action))
            if action is None:
                runner.idle(fall_back=True)
            else:
                runner.step(action)
    values = runner.stepper.subflow_values[0]
    clamps, fallbacks = (int(column(values, SUBFLOW_VALUES, name).sum()) for name in ("clamps", "fallbacks"))
    result = named(policy, config, runner.result(0))
    return replace(result, totals=replace(result.totals, guard_clamps=clamps, guard_fallbacks=fallbacks))


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
