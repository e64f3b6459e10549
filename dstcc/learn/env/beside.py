"""Background flows of the same controller: a policy of its own drives each.

A flow is a connection over one link (``[[flows]] congestion = "same"``). Its policy sees what that flow's sender knows,
in the shape that the policy was made for: one subflow in the first row, one layer without deadlines that holds what its
application has written, and time since its own start. It decides when the connection's does. What it says of layers has
no meaning for a flow that has none; its window or pace is the action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.engine.config import NEVER_NS, SAME, Objects
from dstcc.engine.stepper import FALL_BACK, FLOW_VALUES, LAYER_VALUES, SILENT
from dstcc.learn.spaces.actions import CONTROLS
from dstcc.learn.spaces.deciding import Deciding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig, EngineResult, Stepper
    from dstcc.learn.policies.policy import Policy


@dataclass
class Written:
    """What a flow's application has written: its source, as
    :class:`~dstcc.learn.paths.captured.Captured` is a video's."""

    payload_bytes: float = 0.0
    writes: float = 0.0
    over_s: float = 0.0
    """From the first write to the last."""

    def by(self, time_s: float) -> tuple[float, float]:
        """Payload bytes written by now, and a second; that is 0 before the second write."""
        if self.writes < 2 or self.over_s <= 0:
            return self.payload_bytes, 0.0
        return self.payload_bytes, self.payload_bytes * (self.writes - 1) / (self.over_s * self.writes)


@dataclass
class Beside:
    """The policy of one flow.

    Call :meth:`observe` at time 0 and after each slot, :meth:`decide` where a decision is due and :meth:`act`
    before each slot.
    """

    policy: Policy
    place: int
    """Of the flow among those that are steered."""
    config: EngineConfig
    """Its own trial: one subflow on its link and nobody else."""
    written: Written = field(default_factory=Written)

    def __post_init__(self) -> None:
        """Begin."""
        self._decides = Deciding(self.policy, subflows=1, layers=1, mss_bytes=self.config.transport.mss_bytes)
        self._decides.measure(self.config, self.written)
        self._observed: NDArray[np.float32] | None = None
        self._choice: NDArray[Any] | None = None
        self._lost = False

    def observe(self, stepper: Stepper) -> None:
        """Take in the slot that ended; nothing before the flow's start."""
        flow = dict(zip(FLOW_VALUES, stepper.flow_values[0, self.place].tolist(), strict=True))
        if not flow["started"]:
            return
        written = self.written
        written.payload_bytes, written.writes = flow["written_bytes"], flow["writes"]
        written.over_s = flow["written_over_s"]
        values = self._decides
        values.subflow_values[0, 0] = stepper.flow_subflow_values[0, self.place]
        values.layer_values[0, 0, LAYER_VALUES.index("backlog_bytes")] = flow["unsent_bytes"]
        values.layer_values[0, 0, LAYER_VALUES.index("slack_s")] = np.inf
        values.clock(flow["age_s"], flow["slot_s"])
        self._observed = values.observe()

    def decide(self) -> None:
        """Choose anew by what was observed last."""
        if self._observed is None:
            return
        self._choice = self._decides.choose(self._observed)
        self._lost = self._choice is None

    def act(self, stepper: Stepper) -> None:
        """Put the choice for the coming slot where the engine takes it from; NewReno's for one that is no number."""
        alpha, beta = FALL_BACK if self._lost else SILENT, 0
        if self._choice is not None:
            decoded = self._decides.decode(self._choice)
            alpha, beta = int(decoded.alpha_q16[0, 0]), int(decoded.beta[0, 0])
        stepper.flow_alpha_q16[0, self.place], stepper.flow_beta[0, self.place] = alpha, beta


def beside(policy: Policy, config: EngineConfig) -> tuple[Beside, ...]:
    """A policy for each background flow that is steered in a trial of it, in the engine's order; none for a policy that
    leaves windows to a stock control, which such flows then run."""
    if config.transport.congestion not in CONTROLS.values():
        return ()
    links = [
        index for index, link in enumerate(config.links) for flow in link.flows if flow.congestion == SAME
    ]
    return tuple(Beside(policy, place, _alone(config, link)) for place, link in enumerate(links))


def named(policy: Policy, config: EngineConfig, result: EngineResult) -> EngineResult:
    """The result with the flows of the trial's controller under its name."""
    asked = [flow.congestion for link in config.links for flow in link.flows]
    stock = policy.action.control not in CONTROLS.values()
    name = f"{policy.name} ({policy.action.control})" if stock else policy.name
    flows = [
        replace(flow, congestion=name) if control == SAME else flow
        for control, flow in zip(asked, result.flows, strict=True)
    ]
    return replace(result, flows=tuple(flows))


def go(flows: Sequence[Beside], stepper: Stepper) -> None:
    """A slot, the flows' actions with it."""
    for flow in flows:
        flow.act(stepper)
    stepper.step()
    for flow in flows:
        flow.observe(stepper)


def _alone(config: EngineConfig, link: int) -> EngineConfig:
    one = np.ones(1, dtype=np.int64)
    objects = Objects(0 * one, 0 * one, one, 0 * one, NEVER_NS * one)
    return replace(config, links=(replace(config.links[link], subflows=1, flows=()),), objects=objects)
