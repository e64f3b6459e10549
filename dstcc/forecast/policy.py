"""Policy files of forecasters: the format of :mod:`dstcc.learn.policies.policy`, with other contents.

``observation`` has ``kind`` "heard", the ``inputs`` of an event and the features of a time ``ahead`` by name, and
``within``: the ranges of slots, packets and times ahead of the training. ``action`` has ``kind`` "repair", the most
``layers`` and ``subflows``, and the ``rule`` that the guard falls back to. ``network`` has ``kind`` "gru-forecast" and
``hidden``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from dstcc.coded.rules import rule_of
from dstcc.errors import PolicyError
from dstcc.learn.policies.policy import (
    ABOUT,
    CODED_ACTION,
    SCHEMA,
    TrainedOn,
    check_within_most,
    digest,
    parse_trained_on,
    write_policy,
)
from dstcc.version import __version__

from .network import Network
from .outlook import AHEAD_NAMES, NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from dstcc.coded.seen import Mission, Sender

OBSERVATION, NETWORK = "heard", "gru-forecast"
MOST_LAYERS = MOST_SUBFLOWS = 8
RANGES = {
    "slot_rtts": "a slot in round trips",
    "packets": "packets in a slot",
    "ahead_rtts": "round trips ahead of what was heard last",
}
"""Entries of ``within``, and what they are."""


@dataclass(frozen=True)
class ForecastPolicy:
    """A forecaster, and what the guard falls back to. Raises ValueError for tensors or ranges that do not fit."""

    algorithm: str
    hidden: int
    tensors: Mapping[str, NDArray[np.float32]]
    within: Mapping[str, tuple[float, float]]
    """By :data:`RANGES`."""
    rule: Mapping[str, Any]
    """A tuned rule in its stored form."""
    seed: int
    """Of the training."""
    scenario_sha256: str
    """Of the laws and settings of the training."""
    trained_on: tuple[TrainedOn, ...] = ()
    version: str = __version__
    name: str = ""
    network: Network = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Build the network."""
        if set(self.within) != set(RANGES):
            raise ValueError(f"within: the ranges of {', '.join(RANGES)}")
        for key, (low, high) in self.within.items():
            if not (np.isfinite([low, high]).all() and 0 < low < high):
                raise ValueError(f"within.{key} = {[low, high]}: two rising numbers above 0")
        rule_of(self.rule)
        object.__setattr__(self, "network", Network(self.tensors, self.hidden))

    mode: ClassVar[Literal["coded"]] = "coded"
    """Of the trials that it steers."""
    knows: ClassVar[tuple[str, ...]] = ("rates",)
    """Its planner counts on the rate that it is configured with on each link
    (:attr:`dstcc.coded.seen.Mission.rate_bytes`); what the congestion control knows comes on top."""
    copies: ClassVar[str] = ""
    trained_within: ClassVar[Mapping[str, Any]] = {}
    """See :mod:`dstcc.learn.policies.scope`; the ranges here are :attr:`within`, which are held strictly."""

    def fallback(self) -> Sender:
        """The tuned rule, ready to begin."""
        return rule_of(self.rule)

    def check_fits(self, *, subflows: int, layers: int) -> None:
        """Raise :class:`PolicyError` for more subflows or layers than it serves."""
        check_within_most(self.name, (subflows, MOST_SUBFLOWS), (layers, MOST_LAYERS))

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

    def on_lanes(self, most: int | None) -> Self:
        """Itself: there are no lanes."""
        return self

    def header(self) -> dict[str, Any]:
        """The file's header, ``sha256`` included."""
        header = {
            "schema": SCHEMA,
            "algorithm": self.algorithm,
            "version": self.version,
            "seed": self.seed,
            "scenario_sha256": self.scenario_sha256,
            "trained_on": [asdict(one) for one in self.trained_on],
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
        return {**header, "sha256": digest(header, self.tensors)}

    def about(self) -> dict[str, Any]:
        """Where it is from, as ``run.json`` has it."""
        header = self.header()
        return {"name": self.name, **{key: header[key] for key in ABOUT}, "lanes": 0}

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_policy(path, self.header(), self.tensors)


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
            algorithm=header["algorithm"],
            hidden=int(network["hidden"]),
            tensors=dict(tensors),
            within={key: (float(low), float(high)) for key, (low, high) in observation["within"].items()},
            rule=action["rule"],
            seed=header["seed"],
            scenario_sha256=header["scenario_sha256"],
            trained_on=parse_trained_on(header.get("trained_on", [])),
            version=header["version"],
            name=path.stem,
        )
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
        raise PolicyError(f"{path}: {error}") from None
