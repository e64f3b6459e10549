"""This project's transport as a controller: what it sees of a trial, slot by slot, and what it chose.

The engine's ``paced`` finds the rate, plans over contacts and chooses blocks and repair
(``dstcc/engine/src/congestion/paced.cpp``, ``dstcc/engine/src/coding``). While losses seem to have one probability for
ever, nothing is decided from outside. Once feedback shows that the probability changes
(:mod:`dstcc.coded.evidence`), the shipped forecaster's belief and planner choose repair, and where the guard finds that
belief wrong, the engine's rule does again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dstcc import engine
from dstcc.algorithms import OWN
from dstcc.arrays import Float64Array
from dstcc.coded.evidence import Evidence
from dstcc.coded.rules import Automatic
from dstcc.coded.seen import Mission, RepairDecision, Seen
from dstcc.coded.shown import act, mission_of, seen_of, sent_s, share_in_words
from dstcc.engine import CodedStepper, EngineConfig, EngineResult
from dstcc.engine.coded_stepper import (
    CODED_EPISODE_VALUES,
    CODED_LAYER_VALUES,
    CODED_SUBFLOW_VALUES,
)
from dstcc.engine.config import NEVER_NS, subflow_links
from dstcc.engine.stepper import Shown
from dstcc.frozen import dataclass
from dstcc.learn.policies.controller import Controller, Decided, Watcher, read_policy
from dstcc.scenario import Scenario, Source
from dstcc.scenario.fields import NS_PER_S
from dstcc.scenario.model import MAX_LAYERS, MAX_SUBFLOWS

from .inputs import span_rtts
from .pilot import Decider, SteppedPilot, losses_of, trial_mission
from .policy import MOST_LAYERS, MOST_SUBFLOWS, ForecastPolicy, forecast_of
from .sender import Forecasting

PART = "gru-mpc"
"""The shipped forecaster."""
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
KEPT_SLOTS = 8192
"""With feedback, that are kept until the forecaster plans: 160 round trips of the shortest slots."""
SHIFTED = 0.1
"""Of all paths' rate: so much more or less on a path, and repair is planned for other shares."""
RULE, PLAN, GUARD = "the engine's rule", "the plan", "the engine's rule, for the guard"
"""Who decides on repair in a slot."""
_S = {name: i for i, name in enumerate(CODED_SUBFLOW_VALUES)}
_L = {name: i for i, name in enumerate(CODED_LAYER_VALUES)}


@dataclass(frozen=True, kw_only=True)
class Own(Controller):
    """Our transport. There is no file of it; its one learned part is that of :data:`PART`."""

    algorithm: str = OWN
    tensors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    seed: int = 0
    scenario_sha256: str = ""
    name: str = OWN

    mode: ClassVar[Literal["coded"]] = "coded"

    @property
    def knows(self) -> tuple[str, ...]:
        """The queue of its own line; the plan, by which it sends without a handshake."""
        return ("queue", "contacts")

    @property
    def most(self) -> tuple[int, int]:
        """As many as a scenario may have."""
        return MAX_SUBFLOWS, MAX_LAYERS

    def spaces(self) -> dict[str, Any]:
        """No spaces, and the learned part by its content, on which a trial's result depends."""
        part = {"name": PART, "sha256": forecaster().about()["sha256"]}
        return {"observation": {}, "action": {}, "network": part}

    def check_scenario(self, scenario: Scenario, source: Source) -> None:
        """Any is its own."""

    def decides(self, config: EngineConfig) -> bool:
        """Where a forecast can be planned on: by deadlines, with slots, layers and paths like those of the forecaster's
        training."""
        links = subflow_links(config.links)
        if not config.objects.deadline_ns.max() < NEVER_NS:
            return False
        low, high = forecaster().within["slot_rtts"]
        round_trips = [2 * max(config.links[i].delay_ns) for i in links]
        if _fresh_packets_count(config, max(round_trips)):
            return False
        known = len(links) <= MOST_SUBFLOWS and config.objects.layers <= MOST_LAYERS
        return known and 0 < low * max(round_trips) <= config.slot_ns <= high * min(round_trips)

    def drive(self, config: EngineConfig, watcher: Watcher | None = None) -> EngineResult:
        """Run a trial to its end, slot by slot where it may decide or somebody looks on."""
        if watcher is None and not self.decides(config):
            return engine.simulate(config)
        return super().drive(config, watcher)

    def pilot(self, config: EngineConfig, layers: int, watcher: Watcher | None) -> OwnPilot:
        """Who decides, and looks on."""
        return OwnPilot(config, layers, watcher, decides=self.decides(config))


def _fresh_packets_count(config: EngineConfig, round_ns: int) -> bool:
    """Whether what is lost can be sent again twice, always: the engine's rule counts on that, the planner does not."""
    if any(link.onward or link.outages_ns for link in config.links) or config.coding is None:
        return False
    waits_ns = int((config.objects.deadline_ns - config.objects.release_ns).min())
    return engine.fresh_packets_count(waits_ns - config.coding.block_ns, round_ns // 2)


@lru_cache(1)
def forecaster() -> ForecastPolicy:
    """The learned part, as it is shipped."""
    return forecast_of(*read_policy(PART))


def own_mission(config: EngineConfig) -> Mission:
    """What the sender of a trial in which it decides knows before it begins: no rates, and of the video what is
    captured before it hears anything."""
    links = subflow_links(config.links)
    light_ns = min(max(config.links[i].delay_ns) for i in links)
    captured_ns = config.begin_ns + 2 * light_ns
    mission = mission_of([config], config.objects.layers, links, captured_ns=captured_ns)
    outages_s = tuple(
        tuple((start / NS_PER_S, stop / NS_PER_S) for start, stop in config.links[i].outages_ns)
        for i in links
    )
    return replace(mission, rate_bytes=np.zeros_like(mission.rate_bytes), outages_s=outages_s)


class OwnDecider:
    """Decides on repair for one trial, whoever carries its packets: the simulator, or a kernel."""

    def __init__(self, forecaster: ForecastPolicy, mission: Mission) -> None:
        self.mission, self._forecaster = mission, forecaster
        self._automatic = Automatic()
        self._automatic.begin(mission)
        self._evidence = Evidence(mission.subflows)
        self._at_s = np.full(mission.subflows, np.nan)
        self._heard: deque[Seen] = deque(maxlen=KEPT_SLOTS)
        self.forecasting: Forecasting | None = None
        """Once the losses were seen to change."""
        self.fallen = 0
        """Slots for which the guard decided."""
        self.decided_by = RULE
        """In the last slot."""

    @property
    def believed(self) -> dict[str, Float64Array]:
        """Of each subflow what was believed of its loss in the last slot; nothing where no forecast was made."""
        if self.forecasting is None or self.decided_by == RULE:
            return {}
        return losses_of(self.forecasting.beliefs[0])

    def decide(self, shown: Shown) -> RepairDecision:
        """At the end of a slot."""
        seen = self._thinned(_of_what_is_heard(self._by_contacts(seen_of(shown, self.mission)), shown))
        self._watch(seen)
        # Losses in a queue further on are the sender's own doing, and no channel's.
        caused = bool(shown.subflow_values[..., _S["queue_further_on"]].any())
        plans = bool(self._evidence.changes.any()) and not caused and self._plannable(seen)
        plans = plans and not self._has_round_trip(seen)
        self.decided_by = RULE
        if self.forecasting is None and not plans:
            if seen.heard.any():
                self._heard.append(seen)
            return self._automatic.decide(seen)
        if self.forecasting is None:
            self.forecasting = self._begun(seen)
        if not plans:
            self.forecasting.hear(seen)
            return self._automatic.decide(seen)
        self._follow(self.forecasting, seen.pace_bytes)
        decision = self.forecasting.decide(seen)
        fell_back = bool(self.forecasting.fallen[0])
        self.fallen += int(fell_back)
        self.decided_by = GUARD if fell_back else PLAN
        return decision

    def _thinned(self, seen: Seen) -> Seen:
        """No more packets in a slot than the forecaster was trained on: of more, an even share."""
        most = self._forecaster.within["packets"][1]
        share = np.minimum(1.0, most / np.maximum(seen.heard, 1.0))
        return replace(seen, heard=seen.heard * share, lost=seen.lost * share, runs=seen.runs * share)

    def _by_contacts(self, seen: Seen) -> Seen:
        """With the pace that paths have on average, by the plan, while what the planner counts on leaves."""
        span = 2 * float(self.mission.playout_s[0])
        now = float(seen.time_s[0])
        away = [
            sum(max(min(stop, now + span) - max(start, now), 0.0) for start, stop in outages)
            for outages in self.mission.outages_s
        ]
        return replace(seen, pace_bytes=seen.pace_bytes * (1 - np.array(away) / span))

    def _watch(self, seen: Seen) -> None:
        heard, sent = seen.heard[0], seen.sent_s[0]
        some, round_trip = heard > 0, 2 * self.mission.light_s[0]
        span, self._at_s = span_rtts(some, sent, self._at_s, round_trip)
        self._evidence.hear(heard, seen.lost[0], seen.runs[0], span)

    def _has_round_trip(self, seen: Seen) -> bool:
        """Is a round trip left for what waits, over a path that is never away? In an overload none is."""
        light_s = self.mission.light_s[0].max()
        stays = not self.mission.outages_s or not all(self.mission.outages_s)
        left_s = min(seen.slack_s[0].min(), self.mission.playout_s[0]) - self.mission.block_s - light_s
        return bool(stays and left_s >= 2 * light_s)

    def _plannable(self, seen: Seen) -> bool:
        """Does a slot have packets enough?"""
        packet = max(blocks.packet_bytes for blocks in self.mission.layers)
        packets = seen.pace_bytes[0].sum() * self.mission.slot_s / packet
        return bool(packets >= self._forecaster.within["packets"][0])

    def _begun(self, seen: Seen) -> Forecasting:
        """Who plans from now on, after all that was heard."""
        sender = Forecasting(self._forecaster, rule=self._automatic)
        sender.start(replace(self.mission, rate_bytes=seen.pace_bytes))
        for one in self._heard:
            sender.hear(one)
        self._heard.clear()
        return sender

    def _follow(self, sender: Forecasting, rates: Float64Array) -> None:
        """Plan for the shares of the rate that paths have now."""
        if (np.abs(_shares(rates) - _shares(sender.mission.rate_bytes)) > SHIFTED).any():
            sender.plan_for(replace(self.mission, rate_bytes=rates))


def part_of(policy: Controller, config: EngineConfig) -> tuple[Controller, Mission]:
    """Of a policy that decides in a trial what its decider is made of."""
    if not isinstance(policy, Own):
        return policy, trial_mission(config)
    return forecaster(), own_mission(config)


def decider_of(file: str, mission: Mission, *, own: bool) -> Decider | OwnDecider:
    """Who decides in a trial, of a forecaster's file; ``own``: as a part of this project's transport."""
    part = forecast_of(*read_policy(file))
    return OwnDecider(part, mission) if own else Decider(part, mission)


def _of_what_is_heard(seen: Seen, shown: Shown) -> Seen:
    """Without the pace of paths that are silent while others are not."""
    silent = shown.subflow_values[..., _S["silent"]] > 0
    return replace(seen, pace_bytes=np.maximum(np.where(silent & ~silent.all(), 0.0, seen.pace_bytes), 1e-9))


def _shares(rates: Float64Array) -> Float64Array:
    return np.asarray(rates / rates.sum(axis=1, keepdims=True))


class OwnPilot(SteppedPilot):
    """Who decides, where it does, and looks on."""

    _decider: OwnDecider | None

    def __init__(self, config: EngineConfig, layers: int, watcher: Watcher | None, *, decides: bool) -> None:
        super().__init__(config, layers)
        self._begin_ns, self._watcher = config.begin_ns, watcher
        self._decider = OwnDecider(forecaster(), own_mission(config)) if decides else None

    def step(self) -> None:
        """Go on, look at the slot that ended, and decide for the next."""
        self.stepper.step()
        if self.stepper.time_s(0) * 1e9 < self._begin_ns:
            return
        if self._decider is not None:
            act(self.stepper, self._decider.decide(self.stepper))
        if self._watcher is not None:
            self._watcher(_decided(self.stepper, self._decider))


def _rules_belief(stepper: CodedStepper) -> dict[str, Float64Array]:
    """What the engine's rule holds the losses to be: one share for all subflows."""
    share = stepper.episode_values[0, CODED_EPISODE_VALUES.index("loss_share")]
    return {"loss": np.full(len(stepper.subflow_values[0]), share)}


def _decided(stepper: CodedStepper, decider: OwnDecider | None) -> Decided:
    """The slot that just ended."""
    subflow, layer = stepper.subflow_values[0], stepper.layer_values[0]
    saw = {name: subflow[:, _S[key]].copy() for name, key in SAW.items()}
    saw["sent_s"] = sent_s(subflow)
    source, repair = layer[:, _L["block_source"]], layer[:, _L["block_repair"]]
    of_source = np.divide(repair, source, out=np.zeros_like(repair), where=source > 0)
    return Decided(
        stepper.time_s(0),
        tuple(f"subflow{s}.{name}" for s in range(len(subflow)) for name in CODED_SUBFLOW_VALUES),
        subflow.reshape(-1).astype(np.float32),
        np.zeros(0, np.float32),
        saw=saw,
        believed=(decider.believed if decider is not None else {}) or _rules_belief(stepper),
        chose={
            f"repair of layer {m}": share_in_words(share) if source[m] > 0 else "no block yet"
            for m, share in enumerate(of_source)
        }
        | ({} if decider is None else {"decided by": decider.decided_by}),
        fell_back=decider is not None and decider.decided_by == GUARD,
    )
