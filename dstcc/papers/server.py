"""A policy that schedules a client's chunks, slot by slot, over all the simulations of one session.

A session is simulated again and again until its requests are settled (:mod:`dstcc.papers.dash`). Until the first
request that is new, all that the policy sees is as before, and so is what it does: its actions up to there are kept
and taken again, without asking it. That is right for policies without a memory of their own, which
:class:`Server` checks, and :meth:`~dstcc.papers.dash_cell.Network.confirm` holds it to one simulation without.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dstcc.engine.stepper import RUNNING
from dstcc.errors import InputError
from dstcc.learn.env.episodes import steered
from dstcc.learn.env.runner import Runner, put

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig, EngineResult
    from dstcc.learn.policies.policy import Policy


Requests = tuple[tuple[int, ...], ...]
"""Of each request its release time in nanoseconds, and whatever else network and chooser are told of it."""
MEMORYLESS = ("mlp", "table")
NEVER_NS = 1 << 62


class Chooser(Protocol):
    """Has the last word on each action."""

    def go_back(self, slots: int, until_ns: int) -> None:
        """A simulation begins, of which the slots that begin before ``until_ns`` are as they were; so many."""

    def choose(self, runner: Runner, action: NDArray[Any]) -> NDArray[Any]:
        """Before a slot: what the runner observed, and the policy's action; returns the one to take."""


class Server:
    """Simulates a session, each time with other requests."""

    def __init__(self, policy: Policy, chooser: Chooser | None = None) -> None:
        """Raises :class:`InputError` for a policy with a memory."""
        if policy.network.get("kind") not in MEMORYLESS:
            raise InputError(
                f"{policy.name}: a DASH client's server needs a policy without a memory of its own"
            )
        self._policy, self._chooser = policy, chooser
        self._actions: list[NDArray[Any]] = []
        self._begins: list[int] = []
        self._requests: Requests = ()

    def carry(self, config: EngineConfig, requests: Requests) -> EngineResult:
        """A simulation of these requests, which ``config`` has as objects."""
        until_ns = _first_new(self._requests, requests)
        known = int(np.searchsorted(self._begins, until_ns))
        del self._actions[known:], self._begins[known:]
        self._requests = requests
        if self._chooser is not None:
            self._chooser.go_back(known, until_ns)
        policy = replace(self._policy)
        config = steered(config, policy.action)
        runner = Runner(1, policy.observation, policy.action)
        runner.begin(0, config)
        self._again(runner, known)
        while runner.stepper.done[0] == RUNNING:
            action = policy.action.greedy(policy.outputs(runner.observations))
            if self._chooser is not None:
                action = self._chooser.choose(runner, action)
            self._begins.append(round(runner.time_s(0) * 1e9))
            self._actions.append(action)
            runner.step(action)
        return runner.result(0)

    def _again(self, runner: Runner, known: int) -> None:
        """The actions that are kept; what is observed is so after the last of them only."""
        stepper, decoded = runner.stepper, {}
        for action in self._actions[: known - 1] if known else []:
            key = action.tobytes()
            if key not in decoded:
                decoded[key] = runner.action.decode(action)
            put(decoded[key], stepper)
            stepper.step()
        if known:
            runner.step(self._actions[known - 1])


def _first_new(before: Requests, now: Requests) -> int:
    """When the first request comes that is not in both, in nanoseconds."""
    for one, other in zip_longest(before, now):
        if one != other:
            return min(request[0] for request in (one, other) if request is not None)
    return NEVER_NS
