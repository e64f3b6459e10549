"""A coded trial under a forecaster, as ``dstcc emulate`` runs it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from dstcc.coded.shown import act, mission_of, seen_of
from dstcc.engine import CodedStepper
from dstcc.engine.config import subflow_links
from dstcc.engine.stepper import RUNNING

from .sender import Forecasting

if TYPE_CHECKING:
    from dstcc.coded.seen import Decision, Mission, Seen
    from dstcc.coded.shown import Shown
    from dstcc.engine import EngineConfig, EngineResult

    from .policy import ForecastPolicy


class CodedWatcher(Protocol):
    """Sees each decision of a driven trial of coded packets, and changes nothing."""

    def decided_coded(self, sender: Forecasting, seen: Seen, decision: Decision) -> None:
        """Before the step: what was seen and decided; the sender has its beliefs."""


class Pilot:
    """A forecaster that decides for one trial, whoever carries its packets: the simulator, or a kernel.

    Raises :class:`~dstcc.errors.PolicyError` for a mission unlike those of the training.
    """

    def __init__(self, policy: ForecastPolicy, mission: Mission, watcher: CodedWatcher | None = None) -> None:
        self.mission, self.sender, self._watcher = mission, Forecasting(policy), watcher
        self.sender.begin(mission)
        self.fallen = 0
        """Slots for which the guard's rule decided."""

    def decide(self, shown: Shown) -> Decision:
        """At the end of a slot."""
        seen = seen_of(shown, self.mission)
        decision = self.sender.decide(seen)
        self.fallen += int(self.sender.fallen[0])
        if self._watcher is not None:
            self._watcher.decided_coded(self.sender, seen, decision)
        return decision


def drive(policy: ForecastPolicy, config: EngineConfig, watcher: CodedWatcher | None = None) -> EngineResult:
    """Run a coded trial to its end. Raises :class:`~dstcc.errors.PolicyError` for one unlike those of the training."""
    stepper = CodedStepper(1, len(subflow_links(config.links)), layers_of(config))
    stepper.load(0, config)
    pilot = Pilot(policy, trial_mission(config), watcher)
    while stepper.done[0] == RUNNING:
        act(stepper, pilot.decide(stepper))
        stepper.step()
    result = stepper.result(0)
    return replace(
        result, totals=result.totals | {"guard_clamps": 0.0, "guard_fallbacks": float(pilot.fallen)}
    )


def trial_mission(config: EngineConfig) -> Mission:
    """What the sender of one trial knows before it begins."""
    return mission_of([config], layers_of(config), subflow_links(config.links))


def layers_of(config: EngineConfig) -> int:
    """How many layers a trial has."""
    return int(config.objects.layer.max()) + 1
