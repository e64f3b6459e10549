"""``iodst-q``: the problem of ``iodst-dqn`` in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dstcc.learn.algorithms.recipe import Recipe, Settings, register
from dstcc.learn.spaces.actions import PAPER_WINDOWS


@dataclass(frozen=True)
class QTableSettings(Settings):
    """What a tabular learner is made of."""

    LEARNER: ClassVar[str] = "dstcc.learn.algorithms.qtable:QTable"

    edges: dict[str, tuple[float, ...]]
    """Where each value of a subflow is cut into ranges, rising."""
    discount: float = 0.95
    rates: tuple[float, float] = (0.5, 0.03)
    """Learning rate: 1 ÷ visits of the entry, between these. With a much lower least one, the first TD targets
    would weigh for ever, and those are of values that had not grown yet."""


# The same problem in a table of 144 states; the ranges are ours (observe.py scales the values: windows of 255 and
# 4,095 segments; 2 % lost; 1.25 times the measured bandwidth-delay product). With finer ones an entry is visited
# too rarely: what two actions differ by is a hundredth of what a value scatters.
register(
    "iodst-q",
    Recipe(
        environment={"observation": "paper", "action": "multi", "windows": PAPER_WINDOWS, "headroom": 0},
        reward="eq6",
        learner=QTableSettings(
            edges={
                "cwnd": (0.8, 1.2),
                "loss": (0.02,),
                "utilisation": (1.25,),
                "rtt": (),
            }
        ),
        steps=32_768,
        epsilon_steps=24_000,
        evaluate_every=8_192,
    ),
)
