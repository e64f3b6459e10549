"""Policy files of forecasters: the format of :mod:`dstcc.learn.policies.controller`, with other contents.

``observation`` has ``kind`` "heard", the ``inputs`` of an event and the features of a time ``ahead`` by name, and
``within``: the ranges of slots, packets and times ahead of the training. ``action`` has ``kind`` "repair", the most
``layers`` and ``subflows``, and the ``rule`` that the guard falls back to. ``network`` has ``kind`` "gru-forecast" and
``hidden``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dstcc.coded.rules import rule_of
from dstcc.coded.shown import mission_of, unplannable
from dstcc.engine.config import subflow_links
from dstcc.errors import InputError, PolicyError
from dstcc.extensions import label
from dstcc.frozen import dataclass
from dstcc.learn.policies.controller import CODED_ACTION, Controller, Watcher, origin
from dstcc.scenario import Scenario, Source, draw_trial, engine_config

from .network import Network
from .outlook import AHEAD_NAMES, NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from dstcc.coded.seen import Mission, Sender
    from dstcc.engine import EngineConfig

    from .pilot import CodedPilot

OBSERVATION, NETWORK = "heard", "gru-forecast"
MOST_LAYERS = MOST_SUBFLOWS = 8
RANGES = {
    "slot_rtts": "a slot in round trips",
    "packets": "packets in a slot",
    "ahead_rtts": "round trips ahead of what was heard last",
}
"""Entries of ``within``, and what they are."""


@dataclass(frozen=True, kw_only=True)
class ForecastPolicy(Controller):
    """A forecaster, and what the guard falls back to. Raises ValueError for tensors or ranges that do not fit."""

    hidden: int
    within: Mapping[str, tuple[float, float]]
    """By :data:`RANGES`; held strictly, where the ranges of other policies are a warning."""
    rule: Mapping[str, Any]
    """A tuned rule in its stored form."""
    network: Network = field(init=False, repr=False, compare=False)

    mode: ClassVar[Literal["coded"]] = "coded"

    def __post_init__(self) -> None:
        """Build the network."""
        if set(self.within) != set(RANGES):
            raise ValueError(f"within: the ranges of {', '.join(RANGES)}")
        for key, (low, high) in self.within.items():
            if not (np.isfinite([low, high]).all() and 0 < low < high):
                raise ValueError(f"within.{key} = {[low, high]}: two rising numbers above 0")
        rule_of(self.rule)
        object.__setattr__(self, "network", Network(self.tensors, self.hidden))

    @property
    def knows(self) -> tuple[str, ...]:
        """Its planner counts on the rate that it is configured with on each link
        (:attr:`dstcc.coded.seen.Mission.rate_bytes`); what the congestion control knows comes on top."""
        return ("rates",)

    @property
    def most(self) -> tuple[int, int]:
        """The most subflows and layers that it knows."""
        return MOST_SUBFLOWS, MOST_LAYERS

    def fallback(self) -> Sender:
        """The tuned rule, ready to begin."""
        return rule_of(self.rule)

    def check_scenario(self, scenario: Scenario, source: Source) -> None:
        """Refuse what nobody plans, and what its training had no missions like."""
        if problem := unplannable(scenario, f"the policy {self.name}"):
            raise InputError(f"{scenario.scenario.name}: {problem}")
        setup = draw_trial(scenario, source, scenario.run.seed)
        config = engine_config(scenario, setup, label(scenario.transport.congestion[0]), "minrtt")
        self.check_within(mission_of([config], source.layers, subflow_links(config.links)))

    def check_within(self, mission: Mission) -> None:
        """Raise :class:`PolicyError` for a mission that would show it what it was not trained on."""
        self.check_fits(subflows=mission.subflows, layers=len(mission.layers))
        packet = max(blocks.packet_bytes for blocks in mission.layers)
        values = {
            "slot_rtts": mission.slot_s / (2 * mission.light_s),
            "packets": mission.rate_bytes * mission.slot_s / packet,
        }
        for key, value in values.items():
            low, high = self.within[key]
            odd = value[(value < low * (1 - 1e-6)) | (value > high * (1 + 1e-6))]
            if odd.size:
                raise PolicyError(
                    f"policy {self.name}: {RANGES[key]}: {odd[0]:.4g} is outside of {low:g} to {high:g}, "
                    "which it was trained on (run.slot_s sets the slot)"
                )

    def spaces(self) -> dict[str, Any]:
        """See :class:`Controller`."""
        return {
            "observation": {
                "kind": OBSERVATION,
                "inputs": list(NAMES),
                "ahead": list(AHEAD_NAMES),
                "within": {key: list(span) for key, span in self.within.items()},
            },
            "action": {
                "kind": CODED_ACTION,
                "layers": MOST_LAYERS,
                "subflows": MOST_SUBFLOWS,
                "rule": dict(self.rule),
            },
            "network": {"kind": NETWORK, "hidden": self.hidden},
        }

    def pilot(self, config: EngineConfig, layers: int, watcher: Watcher | None) -> CodedPilot:
        """Who steers one connection."""
        from .pilot import CodedPilot

        return CodedPilot(self, config, layers, watcher)


def is_forecast(header: Mapping[str, Any]) -> bool:
    """Whether a policy file's header is a forecaster's."""
    return bool(header["action"].get("kind") == CODED_ACTION)


def forecast_of(
    path: Path, header: Mapping[str, Any], tensors: Mapping[str, NDArray[np.float32]]
) -> ForecastPolicy:
    """A forecaster of a file that was read. Raises :class:`PolicyError` for what does not fit."""
    observation, action, network = header["observation"], header["action"], header["network"]
    try:
        if observation.get("kind") != OBSERVATION or tuple(observation["inputs"]) != NAMES:
            raise ValueError(f"observation: this version's forecasters see {', '.join(NAMES)}")
        if tuple(observation["ahead"]) != AHEAD_NAMES:
            raise ValueError(f"observation.ahead: this version's forecasters see {', '.join(AHEAD_NAMES)}")
        if network.get("kind") != NETWORK:
            raise ValueError(f"network kind {network.get('kind')!r}: {NETWORK} for coded packets")
        if (action.get("layers"), action.get("subflows")) != (MOST_LAYERS, MOST_SUBFLOWS):
            raise ValueError(f"action: a forecaster is for {MOST_LAYERS} layers and {MOST_SUBFLOWS} subflows")
        return ForecastPolicy(
            hidden=int(network["hidden"]),
            tensors=dict(tensors),
            within={key: (float(low), float(high)) for key, (low, high) in observation["within"].items()},
            rule=action["rule"],
            **origin(path, header),
        )
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
        raise PolicyError(f"{path}: {error}") from None
