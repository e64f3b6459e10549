"""The one way to run a trial of the simulator under a controller, of TCP or of coded packets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dstcc.engine.config import subflow_links
from dstcc.engine.restarts import with_restarts
from dstcc.engine.stepper import RUNNING, Episodes

if TYPE_CHECKING:
    from dstcc.engine import EngineConfig, EngineResult

    from .controller import Controller, Watcher


class Pilot(Protocol):
    """A controller's hands on one connection, which it has from where that begins, without a memory."""

    @property
    def stepper(self) -> Episodes:
        """With the connection as its only trial."""

    def step(self) -> None:
        """Decide, and go on for as long as that holds."""

    def result(self) -> EngineResult:
        """What happened so far."""

    @property
    def guarded(self) -> tuple[int, int] | None:
        """What the guard did so far: decisions that it bounded, and slots in which it decided itself; None where there
        is none."""


def drive(controller: Controller, config: EngineConfig, watcher: Watcher | None = None) -> EngineResult:
    """Run a trial to its end; what a policy decides, its :class:`Pilot` carries out.

    Raises :class:`~dstcc.errors.PolicyError` when the trial is none that the controller is for.
    """
    layers = config.objects.layers
    controller.check_fits(subflows=len(subflow_links(config.links)), layers=layers)

    def connection(one: EngineConfig, watcher: Watcher | None = None) -> EngineResult:
        pilot = controller.pilot(one, layers, watcher)
        with np.errstate(over="ignore", invalid="ignore"):
            while pilot.stepper.done[0] == RUNNING:
                pilot.step()
        result = pilot.result()
        if pilot.guarded is None:
            return result
        clamps, fallbacks = pilot.guarded
        totals = replace(result.totals, guard_clamps=clamps, guard_fallbacks=fallbacks)
        return replace(result, totals=totals)

    return with_restarts(controller.steered(config), partial(connection, watcher=watcher), connection)
