"""Senders without a model: constants, rules of a few parameters, the engine's own rule, random choice.

    constant    the same shares, place and layers left out in every slot
    margin      share = x / (1 - x), x = p + kappa s: the measured loss and so many deviations of a block's
    threshold   a high share while the measured loss is above a threshold, else a low one
    auto        `repair = "auto"` of the transport (docs/simulator.md)
    random      in each slot each layer's share anew, of those that constants are searched over

The measured loss p is a mean over the feedback, whose weights fall with the age; its memory is in round trips.
Higher layers get the share times decay^m.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dstcc.engine.coded_stepper import CONFIGURED
from dstcc.frozen import dataclass

from .seen import KEEP_PLACE, Mission, RepairDecision, Seen, Sender, shares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dstcc.arrays import Float64Array


CHOICES = (0.0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.14, 0.2, 0.3)
"""Shares that constants are searched over and random choice draws from."""
PRIOR_LOST, PRIOR_HEARD = 3.0, 100.0
"""Three in a hundred before any feedback, as `auto` has it."""
MOST_SHARE = 2.0


@dataclass(frozen=True)
class Range:
    """Of a parameter."""

    low: float
    high: float
    log: bool = False


class Constant:
    """The same choice in every slot."""

    def __init__(
        self, repair: tuple[float, ...], place: int = KEEP_PLACE, left_out: tuple[int, ...] = ()
    ) -> None:
        self.repair, self.place, self.left_out = repair, place, left_out
        where = {KEEP_PLACE: "", 0: " same", 1: " other", 2: " spread"}[place]
        out = f" without {','.join(map(str, left_out))}" if left_out else ""
        self.name = "/".join(f"{share:g}" for share in repair) + where + out

    def begin(self, mission: Mission) -> None:
        """Choose once."""
        self._decision = RepairDecision(shares(list(self.repair), mission.trials), self.place, self.left_out)

    def decide(self, seen: Seen) -> RepairDecision:
        """The same."""
        return self._decision


class Automatic:
    """The transport's own rule: nothing is decided here."""

    name = "auto"

    def begin(self, mission: Mission) -> None:
        """As the transport is configured; a scenario's coding must be automatic."""
        configured = shares([float(CONFIGURED)] * len(mission.layers), mission.trials)
        self._decision = RepairDecision(configured)

    def decide(self, seen: Seen) -> RepairDecision:
        """Nothing."""
        return self._decision


class Random:
    """Each layer's share anew in each slot."""

    name = "random"

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed

    def begin(self, mission: Mission) -> None:
        """The same draws for each run."""
        self._rng = np.random.default_rng(self._seed)
        self._shape = (mission.trials, len(mission.layers))

    def decide(self, seen: Seen) -> RepairDecision:
        """Draw."""
        return RepairDecision(self._rng.choice(np.array(CHOICES), size=self._shape))


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
