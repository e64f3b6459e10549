"""A random trial, and what there is to draw from."""

from __future__ import annotations

from dataclasses import dataclass

from dstcc.engine import AGENT, EngineConfig
from dstcc.engine.config import AGENT_BBR, AGENT_LATE, AGENT_POLICIES, AGENT_RATE

KINDS = ("tcp",) * 5 + ("coded",) + ("steered",) * 3 + ("ltp",)
"""By the trial's number, so that each kind has its share."""
AGENT_CONTROLS = (AGENT, AGENT_RATE, AGENT_BBR)
AGENT_SCHEDULERS = (AGENT, AGENT_LATE, AGENT_POLICIES, "minrtt")
EXTENSION = "extension"
"""Stands for a Python class among the controls and the schedulers."""
LOSSES = ("none", "packet", "ber", "gilbert-elliott", "periodic", "frames")
MODES = ("stream", "lanes", "window", "apart")
"""``window``: lanes of one subflow; ``lanes``: several subflows a link, on lanes; ``apart``: these are connections of
their own."""
FOREVER_NS = 10**18
"""The longest time of a scenario: an outage until then has no end."""


@dataclass(frozen=True)
class Trial:
    """What is run: the kind, the configuration, a name that says the most of it."""

    number: int
    kind: str
    mode: str
    config: EngineConfig

    def __str__(self) -> str:
        t = self.config.transport
        links = ", ".join(f"{link.subflows} x {link.loss.kind}" for link in self.config.links)
        return f"{self.number}: {self.kind} {t.congestion}+{t.scheduler} {self.mode} on {links}"
