"""This project's transport as a controller: what it sees of a trial, slot by slot, and what it chose.

It decides nothing from outside: the engine's ``paced`` finds the rate, plans over contacts and chooses blocks and
repair (``dstcc/engine/src/congestion/paced.cpp``, ``dstcc/engine/src/coding``). A watched trial is stepped, and is the
same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dstcc import engine
from dstcc.algorithms import OWN
from dstcc.engine import CodedStepper
from dstcc.engine.coded_stepper import CODED_LAYER_VALUES, CODED_SUBFLOW_VALUES
from dstcc.engine.config import subflow_links
from dstcc.learn.policies.controller import Controller, Decided
from dstcc.scenario.model import MAX_LAYERS, MAX_SUBFLOWS

from .shown import sent_s

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig, EngineResult
    from dstcc.learn.policies.controller import Watcher
    from dstcc.scenario import Scenario, Source

SAW = {
    "heard": "heard_packets",
    "lost": "lost_packets",
    "runs": "loss_runs",
    "rtt_s": "srtt_s",
    "delivered_bytes": "delivered_bytes",
    "queue_bytes": "queue_bytes",
    "pacing_bps": "pacing_bps",
}
"""What a watcher gets of each subflow, by the engine's names."""
REPAIR = {0.0: "none", 0.05: "to 5 %", 0.1: "5 to 10 %", 0.2: "10 to 20 %", 0.4: "20 to 40 %"}
"""Shares of repair in words, by their upper ends."""
_S = {name: i for i, name in enumerate(CODED_SUBFLOW_VALUES)}
_L = {name: i for i, name in enumerate(CODED_LAYER_VALUES)}


def share_in_words(share: float) -> str:
    """Repair packets for each source packet, in one of a few ranges."""
    return next((words for most, words in REPAIR.items() if share <= most), "above 40 %")


@dataclass(frozen=True, kw_only=True)
class Own(Controller):
    """Our transport. There is no file of it, and nothing in it is learned."""

    algorithm: str = OWN
    tensors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    seed: int = 0
    scenario_sha256: str = ""
    name: str = OWN

    mode: ClassVar[Literal["coded"]] = "coded"
    decides: ClassVar[bool] = False

    @property
    def knows(self) -> tuple[str, ...]:
        """The queue of its own line; the plan, by which it sends without a handshake."""
        return ("queue", "contacts")

    @property
    def most(self) -> tuple[int, int]:
        """As many as a scenario may have."""
        return MAX_SUBFLOWS, MAX_LAYERS

    def spaces(self) -> dict[str, Any]:
        """No spaces and no network."""
        return {"observation": {}, "action": {}, "network": {}}

    def check_scenario(self, scenario: Scenario, source: Source) -> None:
        """Any is its own."""

    def drive(self, config: EngineConfig, watcher: Watcher | None = None) -> EngineResult:
        """Run a trial to its end; a watched one slot by slot."""
        if watcher is None:
            return engine.simulate(config)
        return super().drive(config, watcher)

    def pilot(self, config: EngineConfig, layers: int, watcher: Watcher | None) -> OwnPilot:
        """Who looks on."""
        return OwnPilot(config, layers, watcher)


class OwnPilot:
    """A :class:`~dstcc.learn.policies.drive.Pilot` that decides nothing."""

    guarded = None

    def __init__(self, config: EngineConfig, layers: int, watcher: Watcher | None) -> None:
        self.stepper = CodedStepper(1, len(subflow_links(config.links)), layers)
        self.stepper.load(0, config)
        self._begin_ns, self._watcher = config.begin_ns, watcher

    def step(self) -> None:
        """Go on, and look at the slot that ended."""
        self.stepper.step()
        if self._watcher is not None and self.stepper.time_s(0) * 1e9 >= self._begin_ns:
            self._watcher(_decided(self.stepper))

    def result(self) -> EngineResult:
        """What happened so far."""
        return self.stepper.result(0)


def _decided(stepper: CodedStepper) -> Decided:
    """The slot that just ended."""
    subflow, layer = stepper.subflow_values[0], stepper.layer_values[0]
    saw = {name: subflow[:, _S[key]].copy() for name, key in SAW.items()}
    saw["sent_s"] = sent_s(subflow)
    source, repair = layer[:, _L["block_source"]], layer[:, _L["block_repair"]]
    shares = np.divide(repair, source, out=np.zeros_like(repair), where=source > 0)
    return Decided(
        stepper.time_s(0),
        tuple(f"subflow{s}.{name}" for s in range(len(subflow)) for name in CODED_SUBFLOW_VALUES),
        subflow.reshape(-1).astype(np.float32),
        np.zeros(0, np.float32),
        saw=saw,
        believed={},
        chose={
            f"repair of layer {m}": share_in_words(share) if source[m] > 0 else "no block yet"
            for m, share in enumerate(shares)
        },
    )
