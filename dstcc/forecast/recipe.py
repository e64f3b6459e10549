"""What ``gru-mpc`` is made of; without torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

NAME = "gru-mpc"
"""A GRU that forecasts, and model-predictive control on its forecasts."""


@dataclass(frozen=True)
class Recipe:
    """A step is an event of one history."""

    hidden: int = 96
    histories: int = 64
    """Of a batch."""
    events: int = 256
    """Of a history: 5 to 64 round trips of slots."""
    forecasts: int = 2
    """At a state."""
    every: int = 4
    """Events between states whose forecasts are judged."""
    updates: int = 1000
    """Unless ``--steps`` says otherwise; the rate falls towards the last of these, whatever ``--steps`` says."""
    learning_rate: float = 3e-3
    rising: int = 40
    """Updates in which the rate rises."""
    clip: float = 1.0
    """The largest norm of a gradient."""
    evaluate_every: int = 100
    """Updates between evaluations, each followed by a checkpoint."""
    validation: int = 256
    """Histories of an evaluation."""
    metric: ClassVar[str] = "weighted_layers"
    """Of the policy at the end, on the scenario's trials."""

    @property
    def batch(self) -> int:
        """Steps of an update."""
        return self.histories * self.events

    @property
    def steps(self) -> int:
        """Of a whole training."""
        return self.updates * self.batch

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    def updated(self, document: Any) -> Any:
        """No option has gone so far."""
        return document
