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
    explore_branches: bool = False
    """Random choices branch by branch, each on its own, in the place of whole random actions."""
    explore_for: int = 1
    """Decisions that a random choice lasts, on average."""
    sets: int = 0
    """The hidden values of a network of sets, which serves any number of subflows and layers; 0: a chain."""
    usual: tuple[int, ...] = ()
    """The usual choice of each branch, the first one's for those that are left out in front; with ``margin``."""
    margin: float = 0.0
    """By how much another choice must be worth more before it is taken."""


@dataclass(frozen=True)
class RolloutSettings:
    """What a learner from rollouts is made of; gains are in the units of an episode's rewards."""

    sets: int = 64
    """Hidden values of the network of sets."""
    learning_rate: float = 1e-3
    batch: int = 256
    memory: int = 2_000
    """Groups of episodes remembered."""
    kept: int = 16
    """Decisions of each that are."""
    least: int = 8
    """Groups before the first update."""
    clip: float = 10.0
    """The largest gain that counts."""
    max_grad_norm: float = 10.0
    usual: tuple[int, ...] = ()
    """The usual choice of each branch, the first one's for all subflows; with ``margin``."""
    margin: float = 0.0
    """By how much another choice must be worth more before it is taken."""


@dataclass(frozen=True)
class QTableSettings:
    """What a tabular learner is made of."""

    edges: dict[str, tuple[float, ...]]
    """Where each value of a subflow is cut into ranges, rising."""
    discount: float = 0.95
    rates: tuple[float, float] = (0.5, 0.03)
    """Learning rate: 1 ÷ visits of the entry, between these. Much lower, and first aims, of values that had not grown
    yet, would weigh for ever."""


@dataclass(frozen=True)
class PpoSettings:
    """What a PPO learner is made of."""

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 5e-4
    discount: float = 0.95
    gae: float = 0.95
    """λ of the generalised advantage."""
    slots: int = 150
    """Of each episode between two updates."""
    epochs: int = 10
    batch: int = 150
    clip: float = 0.2
    entropy: float = 0.0
    max_grad_norm: float = 0.5
    log_std: float = -1.2
    """Of the action's noise at the start: a standard deviation of 0.3."""


@dataclass(frozen=True)
class DdpgSettings:
    """What a DDPG learner is made of."""

    state: int = 64
    """Width of the LSTM's state."""
    hidden: tuple[int, ...] = (128, 128)
    actor_rate: float = 1e-4
    critic_rate: float = 1e-3
    discount: float = 0.95
    batch: int = 128
    buffer: int = 100_000
    target_share: float = 1e-3
    """τ: how far the target networks move with each update."""
    noise: tuple[float, float] = (0.5, 0.05)
    """Standard deviation of what is added to actions, at first and at last; straight between over
    ``epsilon_steps``."""


@dataclass(frozen=True)
class SchedulerSettings:
    """What Lee and Yoo's scheduler learns with."""

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 3e-4
    discount: float = 0.5
    batch: int = 20
    buffer: int = 1_000_000
    """The paper has no bound."""
    target_every: int = 50
    """Actions between two renewals of the target, and of the copy that acts."""
    epsilon_factor: float = 0.997
    """Per action."""
    epsilon_least: float = 0.05
    rich_s: float = 1.0
    """What the client must have in store for an action at random."""


LearnerSettings = (
    DqnSettings | RolloutSettings | QTableSettings | PpoSettings | DdpgSettings | SchedulerSettings
)
