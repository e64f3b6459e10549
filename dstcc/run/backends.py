"""What carries a trial's packets: the simulator, or a Linux kernel.

A backend turns an :class:`~dstcc.engine.EngineConfig` into an :class:`~dstcc.engine.EngineResult`; everything before
and after that is the same for all. The scenario it sees only beforehand, to refuse it by the names of its keys.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from dstcc import engine
from dstcc.algorithms import controller_name
from dstcc.engine.config import Loss
from dstcc.errors import InputError
from dstcc.scenario.network import node_that

if TYPE_CHECKING:
    from collections.abc import Collection

    from dstcc.engine import EngineConfig, EngineResult, Link
    from dstcc.learn.policies.controller import Controller, Policies, Watcher
    from dstcc.scenario import Scenario, Source


class Backend(Protocol):
    """One way to carry trials."""

    name: str
    """As ``run.json`` and ``--backend`` call it."""
    copies: bool
    """Whether a policy's copies are sent."""
    tells_windows_apart: bool
    """Whether its samples have a row for each lane with a window of its own, or one a link."""
    fills_packets: bool
    """Whether a packet may have the bytes of several layers."""

    def check(
        self, scenario: Scenario, source: Source, policies: Policies, *, logs: Collection[str] = ()
    ) -> None:
        """Raise :class:`~dstcc.errors.DstccError` for what it cannot run, before anything starts."""

    def carry(self, config: EngineConfig, policy: Controller | None = None) -> EngineResult:
        """Run one trial, under a policy if one is given."""

    def as_run(self, config: EngineConfig, policy: Controller | None) -> EngineConfig:
        """The trial with the lanes and windows that it will have."""

    def oracle(self, config: EngineConfig) -> EngineConfig:
        """The trial that a clairvoyant sender is asked to do best in."""

    def facts(self, scenario: Scenario) -> dict[str, Any]:
        """More entries of ``run.json``."""


def _check_ends(scenario: Scenario, logs: Collection[str]) -> None:
    if logs and (splitting := node_that(scenario, "split")) is not None:
        raise InputError(
            f"{scenario.scenario.name}: --qlog, --pcapng: '{splitting}' ends connections, and a packet log is of those "
            "from end to end"
        )


class Simulator:
    """The engine."""

    name = "simulator"
    copies = True
    tells_windows_apart = True
    fills_packets = False

    def __init__(self, watcher: Watcher | None = None) -> None:
        """``watcher`` sees each decision of a policy."""
        self.watcher = watcher

    def check(
        self, scenario: Scenario, source: Source, policies: Policies, *, logs: Collection[str] = ()
    ) -> None:
        """Refuse packet logs where connections end at nodes; whatever else a scenario may say runs here."""
        _check_ends(scenario, logs)

    def carry(self, config: EngineConfig, policy: Controller | None = None) -> EngineResult:
        """Run one trial."""
        return engine.simulate(config) if policy is None else policy.drive(config, self.watcher)

    def as_run(self, config: EngineConfig, policy: Controller | None) -> EngineConfig:
        """As a policy steers it, if there is one."""
        return config if policy is None else policy.steered(config)

    def oracle(self, config: EngineConfig) -> EngineConfig:
        """With the losses that the trial meets."""
        return config

    def facts(self, scenario: Scenario) -> dict[str, Any]:
        """Nothing more to say."""
        return {}


class Kernel:
    """Linux in virtual time, see :mod:`dstcc_kernel.backend`."""

    name = "kernel"
    copies = False
    tells_windows_apart = False
    fills_packets = True
    on_host = False

    def check(
        self, scenario: Scenario, source: Source, policies: Policies, *, logs: Collection[str] = ()
    ) -> None:
        """Refuse what only the simulator has."""
        if logs and self.on_host:
            raise InputError("--pcapng: not on this host's kernel, where tcpdump writes it")
        if "qlog" in logs:
            raise InputError("--qlog: in the simulator only; the kernel's packets are in --pcapng")
        if logs and scenario.transport.restart is not None:
            raise InputError(
                f"{scenario.scenario.name}: --pcapng: transport.restart makes several connections, each with a guest, "
                "whose packets are not put together"
            )
        from dstcc_kernel import backend
        from dstcc_kernel.agent import check_policy

        for given in scenario.transport.controller:
            policy = policies[controller_name(given)]
            check_policy(policy)
            if policy.lanes and scenario.subflows > len(scenario.link):
                raise InputError(
                    f"{scenario.scenario.name}: link.0.subflows: policy {policy.name} has lanes, "
                    "which have one subflow a link here"
                )
        backend.check(scenario, source, on_host=self.on_host)

    def carry(self, config: EngineConfig, policy: Controller | None = None) -> EngineResult:
        """Run one trial in a guest of its own."""
        from dstcc_kernel import backend

        steers = policy is not None and policy.decides(config)
        return backend.run(config, policy=policy if steers else None, on_host=self.on_host)

    def as_run(self, config: EngineConfig, policy: Controller | None) -> EngineConfig:
        """As a policy steers it, on the connections that there will be."""
        if policy is None:
            return config
        from dstcc_kernel.plan import lanes_of

        driven = policy.steered(config)
        lanes = lanes_of(policy, driven)
        return replace(driven, transport=replace(driven.transport, lanes_per_link=lanes))

    def oracle(self, config: EngineConfig) -> EngineConfig:
        """Without losses: which packets netem will lose nobody knows. Outages begin once a full queue is served: netem
        loses what is sent in one, and what stands in the queue still crosses."""
        packet_bytes = config.transport.mss_bytes + config.transport.header_bytes
        links = (_crossing(link, packet_bytes) for link in config.links)
        return replace(config, links=tuple(replace(link, loss=Loss(), up_loss=Loss()) for link in links))

    def facts(self, scenario: Scenario) -> dict[str, Any]:
        """The kernel's version and what to know of its numbers."""
        from dstcc_kernel import backend

        return {"kernel": backend.facts(scenario, on_host=self.on_host)}


def _crossing(link: Link, packet_bytes: int) -> Link:
    """The link whose outages leave the time in which its full queue is served at its least rate."""
    least = min(link.rate_share, default=1.0) * min(link.hidden_share, default=1.0)
    served_ns = math.ceil((link.queue_bytes + packet_bytes) * 8e9 / (link.rate_bps * least))

    def later(outages: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        return tuple((begin + served_ns, end) for begin, end in outages if begin + served_ns < end)

    return replace(
        link, outages_ns=later(link.outages_ns), unannounced_ns=later(link.unannounced_ns), up_outages_ns=()
    )


class Host(Kernel):
    """The running kernel, at scaled time and in real time."""

    name = "host"
    on_host = True


BACKENDS: dict[str, Backend] = {"simulator": Simulator(), "kernel": Kernel(), "host": Host()}
"""Those of this version, by name."""


def backend_of(name: str) -> Backend:
    """Raise :class:`InputError` for one that this version has not."""
    if name not in BACKENDS:
        raise InputError(
            f"--backend {name}: not available in this version of dstcc; use {' or '.join(BACKENDS)}"
        )
    return BACKENDS[name]
