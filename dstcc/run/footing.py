"""Side information, lanes and windows of each algorithm of a run.

One place works it out, from the table of algorithms, the policies' own files and the trial as the engine is given
it; ``run.json`` holds it, and tables, JSON and reports read it from there.
"""

from __future__ import annotations

from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING, Any

from dstcc.algorithms import KNOWLEDGE, TOLD_RATES, TRANSFERS, copies, knowledge
from dstcc.frozen import dataclass
from dstcc.scenario import Scenario, Source, TrialSetup, engine_config, scale_of
from dstcc.scenario.constants import engine_constants
from dstcc.scenario.distortions import distortions, full_rtts_s, longest_rtt_s

from .shared import TrialSetups
from .trials import TrialKey, scenarios_of, steering

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dstcc.engine import EngineConfig, Link
    from dstcc.learn.policies.controller import Controller, Policies

    from .backends import Backend

LAYERS = "blocks"
"""The ``mode`` of a transfer: each layer is a block of its own."""


@dataclass(frozen=True)
class Footing:
    """What one algorithm knows and has, the same for all its trials."""

    name: str
    """Whose: a trial's id without its seed."""
    knows: tuple[str, ...]
    """Keys of :data:`dstcc.algorithms.KNOWLEDGE`."""
    mode: str
    """``stream``, ``lanes``, ``coded`` or ``blocks``."""
    ordering_domains: int | None
    """Of all links together; ``None``: each layer is one, or (``coded``) each packet."""
    windows: int
    """Congestion windows, or rates where these are given, of all links together."""
    copies: str
    """A key of :data:`dstcc.algorithms.COPIES`, or empty."""
    scale: float
    distorts: tuple[str, ...]
    """What the scale makes of its own constants."""
    set: dict[str, Any] = field(default_factory=dict)
    """A variant's settings."""

    def document(self) -> dict[str, Any]:
        """As ``run.json`` and ``dstcc emulate --json`` have it."""
        return asdict(self)


def lanes(footing: Mapping[str, Any]) -> str:
    """``32/2``: ordering domains over windows, of its document."""
    domains = footing["ordering_domains"]
    return f"{'any' if domains is None else domains}/{footing['windows']}"


def distorted(scenario: Scenario, links: Sequence[Link]) -> tuple[str, ...]:
    """What the scale makes of the constants of a scenario's own transport over these links."""
    transport, scale = scenario.transport, scale_of(scenario)
    return distortions(
        scale,
        transport.congestion,
        longest_rtt_s(transport.mode, links),
        engine_constants(transport.constants, scale),
        full_rtts_s(transport.mode, links),
    )


def footings(
    scenario: Scenario,
    source: Source,
    keys: tuple[TrialKey, ...],
    policies: Policies,
    backend: Backend,
) -> tuple[Footing, ...]:
    """A row for each algorithm among the trials, in their order."""
    scenarios, named = scenarios_of(scenario), {key.name: key for key in reversed(keys)}
    first = [named[name] for name in dict.fromkeys(key.name for key in keys)]
    setups = TrialSetups(scenarios, source, ((key.setting, key.seed) for key in first))
    varied: dict[str | None, dict[str, Any]] = {one.label: one.set for one in scenario.variant}
    return tuple(
        replace(
            _footing(scenarios[key.setting], setups.of(key.setting, key.seed), key, policies, backend),
            set=dict(varied.get(key.variant, {})),
        )
        for key in first
    )


def _footing(
    scenario: Scenario, setup: TrialSetup, key: TrialKey, policies: Policies, backend: Backend
) -> Footing:
    policy = steering(key, scenario, policies)
    config = backend.as_run(engine_config(scenario, setup, key.congestion, key.scheduler), policy)
    transport = config.transport
    stream, blocks = transport.mode == "stream", key.congestion in TRANSFERS
    no_order = blocks or transport.mode == "coded"
    windows = sum(link.subflows for link in config.links)
    return Footing(
        name=key.name,
        knows=_known(scenario, config, policy, key),
        mode=LAYERS if blocks else transport.mode,
        ordering_domains=None if no_order else 1 if stream else windows * transport.lanes_per_link,
        windows=windows,
        copies=copies(key.scheduler) if policy is None else policy.copies if backend.copies else "",
        scale=setup.scale,
        distorts=distortions(
            setup.scale,
            (key.congestion,),
            longest_rtt_s(transport.mode, config.links),
            transport.constants,
            full_rtts_s(transport.mode, config.links),
        ),
    )


def _known(
    scenario: Scenario, config: EngineConfig, policy: Controller | None, key: TrialKey
) -> tuple[str, ...]:
    steers_tcp = policy is not None and policy.mode == "tcp"
    known = set() if steers_tcp else set(knowledge(key.congestion, key.scheduler))
    known |= set() if policy is None else set(policy.knows)
    if config.transport.parameters.get(key.congestion, {}).get(TOLD_RATES):
        known.add("rates")
    if config.transport.drop_late:
        known.add("deadlines")
    if not config.transport.handshake:
        known.add("contacts")
    if scenario.video.source == "stored":
        known.add("mission")
    return tuple(name for name in KNOWLEDGE if name in known)
