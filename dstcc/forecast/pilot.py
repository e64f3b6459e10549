"""How a forecaster steers one connection of coded packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.coded.channels import GRID
from dstcc.coded.shown import act, mission_of, seen_of, share_in_words
from dstcc.engine import CodedStepper, EngineConfig, EngineResult
from dstcc.engine.config import subflow_links
from dstcc.engine.stepper import RUNNING, Shown
from dstcc.learn.policies.controller import Decided, Watcher

from .outlook import NAMES
from .sender import Forecasting

if TYPE_CHECKING:
    from dstcc.arrays import Float64Array
    from dstcc.coded.seen import Mission, RepairDecision, Seen

    from .own import OwnDecider
    from .policy import ForecastPolicy


SEEN = ("heard", "lost", "runs", "sent_s", "rtt_s", "delivered_bytes", "queue_bytes")
"""What a watcher gets that a sender of coded packets sees of each subflow, slot by slot, beside the pace."""
QUANTILES = {"loss_low": 0.05, "loss_high": 0.95}
"""Of a belief about a loss, beside its mean."""


class Decider:
    """A forecaster that decides for one trial, whoever carries its packets: the simulator, or a kernel.

    Raises :class:`~dstcc.errors.PolicyError` for a mission unlike those of the training.
    """

    def __init__(self, policy: ForecastPolicy, mission: Mission, watcher: Watcher | None = None) -> None:
        self.mission, self.sender, self._watcher = mission, Forecasting(policy), watcher
        self.sender.begin(mission)
        self.fallen = 0
        """Slots for which the guard's rule decided."""

    def decide(self, shown: Shown) -> RepairDecision:
        """At the end of a slot."""
        seen = seen_of(shown, self.mission)
        decision = self.sender.decide(seen)
        self.fallen += int(self.sender.fallen[0])
        if self._watcher is not None:
            self._watcher(_decided(self.sender, seen, decision))
        return decision


class SteppedPilot:
    """What pilots of coded packets (:class:`~dstcc.learn.policies.drive.Pilot`) have alike."""

    _decider: Decider | OwnDecider | None

    def __init__(self, config: EngineConfig, layers: int) -> None:
        self.stepper = CodedStepper(1, len(subflow_links(config.links)), layers)
        self.stepper.load(0, config)

    def result(self) -> EngineResult:
        """What happened so far."""
        return self.stepper.result(0)

    @property
    def guarded(self) -> tuple[int, int] | None:
        """It bounds no decision."""
        return None if self._decider is None else (0, self._decider.fallen)


class CodedPilot(SteppedPilot):
    """Nothing is decided of a connection before it begins."""

    _decider: Decider

    def __init__(
        self, policy: ForecastPolicy, config: EngineConfig, layers: int, watcher: Watcher | None
    ) -> None:
        """Come to where the connection begins."""
        super().__init__(config, layers)
        while self.stepper.done[0] == RUNNING and self.stepper.time_s(0) * 1e9 < config.begin_ns:
            self.stepper.step()
        self._decider = Decider(policy, trial_mission(config), watcher)

    def step(self) -> None:
        """Decide for a slot."""
        act(self.stepper, self._decider.decide(self.stepper))
        self.stepper.step()


def trial_mission(config: EngineConfig) -> Mission:
    """What the sender of one trial knows before it begins."""
    return mission_of([config], config.objects.layers, subflow_links(config.links))


def losses_of(belief: Float64Array) -> dict[str, Float64Array]:
    """Of a belief (subflows, points) the mean loss and its bounds."""
    upto = belief.cumsum(axis=1)
    edges = {
        name: GRID[np.minimum((upto < part).sum(axis=1), len(GRID) - 1)] for name, part in QUANTILES.items()
    }
    return {"loss": belief @ GRID} | edges


def _decided(sender: Forecasting, seen: Seen, decision: RepairDecision) -> Decided:
    fell_back = bool(sender.fallen[0])
    chose = {f"repair of layer {m}": share_in_words(share) for m, share in enumerate(decision.repair[0])}
    return Decided(
        float(seen.time_s[0]),
        tuple(f"subflow{s}.{name}" for s in range(seen.heard.shape[1]) for name in NAMES),
        sender.inputs[0].reshape(-1).astype(np.float32),
        np.zeros(0, np.float32),
        saw={name: getattr(seen, name)[0].copy() for name in SEEN} | {"pacing_bps": 8 * seen.pace_bytes[0]},
        believed=losses_of(sender.beliefs[0]),
        chose=chose | {"decided by": "the tuned rule" if fell_back else "the plan"},
        fell_back=fell_back,
    )
