"""A coded trial under a forecaster, as ``dstcc emulate`` runs it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from dstcc.engine import CodedStepper
from dstcc.engine.config import subflow_links
from dstcc.engine.stepper import RUNNING
from dstcc.ladder.fleet import act, mission_of, seen_of

from .sender import Forecasting

if TYPE_CHECKING:
    from dstcc.engine import EngineConfig, EngineResult
    from dstcc.ladder.seen import Decision, Seen

    from .policy import ForecastPolicy


class CodedWatcher(Protocol):
    """Sees each decision of a driven trial of coded packets, and changes nothing."""

    def decided_coded(self, sender: Forecasting, seen: Seen, decision: Decision) -> None:
        """Before the step: what was seen and decided; the sender has its beliefs."""


def drive(policy: ForecastPolicy, config: EngineConfig, watcher: CodedWatcher | None = None) -> EngineResult:
    """Run a coded trial to its end. Raises :class:`~dstcc.errors.PolicyError` for one unlike those of the training."""
    layers, links = int(config.objects.layer.max()) + 1, subflow_links(config.links)
    stepper = CodedStepper(1, len(links), layers)
    stepper.load(0, config)
    mission = mission_of([config], layers, links)
    sender = Forecasting(policy)
    sender.begin(mission)
    fallen = 0
    while stepper.done[0] == RUNNING:
        seen = seen_of(stepper, mission)
        decision = sender.decide(seen)
        fallen += int(sender.fallen[0])
        if watcher is not None:
            watcher.decided_coded(sender, seen, decision)
        act(stepper, decision)
        stepper.step()
    result = stepper.result(0)
    return replace(result, totals=result.totals | {"guard_clamps": 0.0, "guard_fallbacks": float(fallen)})
