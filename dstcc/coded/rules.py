"""Senders without a model: rules of a few parameters.

    margin      share = x / (1 - x), x = p + kappa s: the measured loss and so many deviations of a block's
    threshold   a high share while the measured loss is above a threshold, else a low one

The measured loss p is a mean over the feedback, whose weights fall with the age; its memory is in round trips.
Higher layers get the share times decay^m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .seen import RepairDecision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dstcc.engine.config import Float64Array

    from .seen import Mission, Seen, Sender

PRIOR_LOST, PRIOR_HEARD = 3.0, 100.0
"""Three in a hundred before any feedback, as `auto` has it."""
MOST_SHARE = 2.0


@dataclass(frozen=True)
class Range:
    """Of a parameter."""

    low: float
    high: float
    log: bool = False


class Measured:
    """A rule over the measured loss, of named parameters."""

    ranges: ClassVar[Mapping[str, Range]]
    kind: ClassVar[str]

    def __init__(self, parameters: Mapping[str, float], name: str = "") -> None:
        unknown = sorted(set(self.ranges) ^ set(parameters))
        if unknown:
            raise ValueError(f"the rule {self.kind} has {', '.join(self.ranges)}, and {unknown[0]} is amiss")
        self.parameters = dict(parameters)
        self.name = name or self.kind

    def begin(self, mission: Mission) -> None:
        """There is no feedback yet."""
        self._mission = mission
        self._heard = np.full((mission.trials, mission.subflows), PRIOR_HEARD)
        self._lost = np.full((mission.trials, mission.subflows), PRIOR_LOST)
        self._falls = (self.parameters["decay"] ** np.arange(len(mission.layers)))[None, :]

    def measured(self, seen: Seen) -> Float64Array:
        """(K,): the loss over all paths, each with its share of the rate."""
        keeps = np.exp(-self._mission.slot_s / (self.parameters["memory_rtts"] * seen.rtt_s))
        self._heard = self._heard * keeps + seen.heard
        self._lost = self._lost * keeps + seen.lost
        # What little is left of old packets is joined by a sliver of the prior, so that silence leads back to it.
        loss = (self._lost + 0.01 * PRIOR_LOST) / (self._heard + 0.01 * PRIOR_HEARD)
        rate = self._mission.rate_bytes
        return np.asarray((loss * rate).sum(axis=1) / rate.sum(axis=1))

    def decide(self, seen: Seen) -> RepairDecision:
        """The same share for all layers, falling with their number."""
        share = np.clip(self.share(self.measured(seen)), 0, MOST_SHARE)
        return RepairDecision(share[:, None] * self._falls)

    def share(self, loss: Float64Array) -> Float64Array:
        """(K,): of the base layer."""
        raise NotImplementedError


class Margin(Measured):
    """Measured loss and kappa deviations of a block's."""

    kind = "margin"
    ranges: ClassVar = {
        "memory_rtts": Range(0.1, 5, log=True),
        "kappa": Range(0, 8),
        "decay": Range(0.0, 1.0),
    }

    def share(self, loss: Float64Array) -> Float64Array:
        """From x to repair packets for each source packet."""
        source = self._mission.layers[0].source
        x = np.minimum(loss + self.parameters["kappa"] * np.sqrt(loss * (1 - loss) / source), 0.65)
        return np.asarray(x / (1 - x))


class Threshold(Measured):
    """High while the measured loss is above a threshold."""

    kind = "threshold"
    ranges: ClassVar = {
        "memory_rtts": Range(0.1, 5, log=True),
        "above": Range(1e-3, 0.1, log=True),
        "high": Range(0.02, 0.5, log=True),
        "decay": Range(0.0, 1.0),
    }
    low = 0.01

    def share(self, loss: Float64Array) -> Float64Array:
        """One of two."""
        return np.where(loss > self.parameters["above"], self.parameters["high"], self.low)


RULES: dict[str, type[Measured]] = {rule.kind: rule for rule in (Margin, Threshold)}
"""Those with parameters, by kind."""


def rule_of(document: Mapping[str, Any]) -> Sender:
    """A rule of its stored form: ``kind``, ``parameters`` and a ``name``. Raises ValueError for what it is not."""
    kind, parameters = document.get("kind"), document.get("parameters")
    if kind not in RULES or not isinstance(parameters, dict):
        raise ValueError(f"kind {kind!r}: one of {', '.join(RULES)}, with parameters")
    for key, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise ValueError(f"parameters.{key} = {value!r}: a finite number")
    return RULES[kind](parameters, str(document.get("name") or ""))
