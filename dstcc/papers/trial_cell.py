"""A cell that is one trial of a scenario."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dstcc.algorithms import POLICIES, controller_name
from dstcc.errors import DstccError, InputError, RunError
from dstcc.run.backends import backend_of
from dstcc.run.trials import Judge, iter_trials, load_controllers, scenarios_of, trial_keys
from dstcc.scenario import Scenario, Source, content_hash, load_scenario, load_source, parse_override

from .cells import Outcome, number
from .probes import PROBES


@cache
def scenario_of(path: Path, settings: tuple[str, ...]) -> Scenario:
    """A scenario file with ``--set`` overrides."""
    return load_scenario(path, [parse_override(setting) for setting in settings])


@cache
def source_of(path: Path, settings: tuple[str, ...]) -> Source:
    """Its video."""
    return load_source(scenario_of(path, settings))


@dataclass(frozen=True)
class TrialCell:
    """One trial: ``name`` is one of the scenario's (:attr:`dstcc.run.trials.TrialKey.name`), or a congestion control of
    which there is one."""

    path: Path
    settings: tuple[str, ...]
    name: str
    seed: int
    probes: tuple[str, ...] = ()
    quality: bool = False
    backend: str = "simulator"

    @property
    def alone(self) -> bool:
        """A kernel's version is meant for the whole process."""
        return self.backend == "kernel"

    @property
    def label(self) -> str:
        """Which trial."""
        return f"{self.path.stem} {' '.join(self.settings)} {self.name}/s{self.seed}"

    @property
    def scenario(self) -> Scenario:
        """The scenario with this trial only; raises :class:`InputError` where it has none of the name."""
        return single(scenario_of(self.path, self.settings), self.name, self.seed, str(self.path))

    def identity(self) -> dict[str, Any]:
        """See :class:`dstcc.papers.cells.Cell`."""
        scenario = self.scenario
        transport = scenario.transport.model_dump(mode="json", exclude={"controller"})
        return {
            "kind": "trial",
            "backend": self.backend,
            **_kernel_facts(self.backend),
            "scenario": content_hash(scenario),
            "transport": transport,
            "mode_named": "mode" in scenario.transport.model_fields_set,
            "coding": scenario.coding and scenario.coding.model_dump(mode="json"),
            "policies": policies_of(scenario),
            "scale": scenario.run.scale,
            "seed": self.seed,
            "probes": list(self.probes),
            "quality": self.quality,
        }

    def run(self, scratch: Path) -> Outcome:
        """See :class:`dstcc.papers.cells.Cell`."""
        scenario, source = self.scenario, source_of(self.path, self.settings)
        judge = Judge(source, self.quality)
        backend, policies = backend_of(self.backend), load_controllers(scenario, source)
        backend.check(scenario, source, policies)
        (trial,) = iter_trials(scenario, source, judge, backend=backend, policies=policies, jobs=1)
        if trial.outcome is None:
            kind = RunError if trial.refused else DstccError
            raise kind(f"{self.label}: the trial failed: {trial.error}")
        if judge.warnings:
            raise DstccError(f"{self.label}: {judge.warnings[0]}")
        values = {name: number(value) for name, value in trial.outcome.metrics.flat().items()}
        series: dict[str, list[float]] = {}
        for probe in self.probes:
            seen = PROBES[probe](scenario, trial.outcome)
            values |= seen.values
            series |= seen.series
        return Outcome(values, series)


def _kernel_facts(backend: str) -> dict[str, Any]:
    """Which kernel carries a trial."""
    if backend != "kernel":
        return {}
    from dstcc_kernel import source

    return {"kernel": source.release().name}


def single(scenario: Scenario, name: str, seed: int, where: str) -> Scenario:
    """A scenario of one trial; raises :class:`InputError` for a name that none of its trials has."""
    keys = {key.name: key for key in trial_keys(scenario)}
    alike = [key for key in keys.values() if key.variant is None and key.congestion == name]
    if len(alike) == 1:
        keys[name] = alike[0]
    if name not in keys:
        raise InputError(f"{where}: no trial '{name}'; its trials are {', '.join(keys)}")
    key = keys[name]
    base = scenarios_of(scenario)[key.setting]
    transport = base.transport
    if key.setting is None:
        controllers = tuple(one for one in transport.controller if controller_name(one) == key.controller)
        schedulers = tuple(one for one in transport.scheduler if one == key.scheduler)
        changed: dict[str, Any] = {
            "controller": controllers,
            "congestion": () if controllers else (key.congestion,),
            "scheduler": schedulers or transport.scheduler,
        }
        transport = transport.model_copy(update=changed)
    alone = base.model_copy(update={"transport": transport, "variant": (), "expect": {}})
    return alone.with_run(seed=seed, seeds=1)


def policies_of(scenario: Scenario) -> list[str]:
    """SHA-256 of each policy's file."""
    return [policy_digest(given) for given in scenario.transport.controller]


@cache
def policy_digest(given: str) -> str:
    """SHA-256 of a shipped policy's file, or of the one at a path."""
    path = (
        Path(given) if given.endswith(".safetensors") or "/" in given else POLICIES / f"{given}.safetensors"
    )
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: no policy ({error.strerror})") from None
