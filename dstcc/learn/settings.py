"""What a DQN learner is made of; readable without torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DqnSettings:
    """What a learner is made of."""

    hidden: tuple[int, ...] = (256, 256)
    learning_rate: float = 1e-4
    discount: float = 0.95
    """γ per slot."""
    batch: int = 512
    buffer: int = 1_000_000
    """Transitions remembered."""
    target_every: int = 1_000
    """Updates between two renewals of the target network."""
    double: bool = False
    dueling: bool = False
    n_step: int = 1
    max_grad_norm: float | None = None
