"""The trained controllers of runs: what each was trained on, and whether the tested scenario is among that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dstcc.algorithms import CHOSEN_ON, OWN

from .numbers import listed

if TYPE_CHECKING:
    from dstcc.run import Run

    from .model import Algorithm, Section

SHORT = 7
"""Digits of a policy's checksum that distinguish it from others of the same name."""


@dataclass(frozen=True)
class Controller:
    """A policy that drove trials of a section."""

    name: str
    """Its name in the report."""
    about: Mapping[str, Any]
    """The policy's entry in ``run.json``; empty without one."""
    scenarios: tuple[tuple[str, str], ...]
    """Name and content hash of each scenario of its training; without a name where only the hash is known."""
    seen: bool | None
    """Whether it was trained on the section's scenario (on other seeds); None where the run does not say."""

    @property
    def algorithm(self) -> str:
        """The algorithm that trained it."""
        return str(self.about.get("algorithm", "–"))

    @property
    def seed(self) -> str:
        """Seed of the training."""
        return str(self.about.get("seed", "–"))

    @property
    def checksum(self) -> str:
        """The beginning of the policy's checksum."""
        return str(self.about.get("sha256", "–"))[:SHORT]

    @property
    def training(self) -> str:
        """The scenarios of the training by name, each with the beginning of its hash."""
        named = [f"{name} {sha[:SHORT]}".lstrip() for name, sha in self.scenarios]
        return ", ".join(named) or "not recorded"

    @property
    def seen_word(self) -> str:
        """``yes``, ``no`` or ``not recorded``."""
        return {True: "yes", False: "no", None: "not recorded"}[self.seen]


def controllers_of(section: Section) -> list[Controller]:
    """The controllers of a section's trials, in the order of its algorithms."""
    controllers = (controller_of(section, algorithm) for algorithm in section.algorithms)
    return [one for one in controllers if one is not None]


def policies_of(section: Section) -> list[tuple[Controller, tuple[str, ...]]]:
    """The same, one of each policy, with the names of all that it drives: variants share their policy."""
    names: dict[tuple[str, ...], list[Controller]] = {}
    for one in controllers_of(section):
        names.setdefault((one.algorithm, one.checksum, one.training, one.seed), []).append(one)
    return [(those[0], tuple(one.name for one in those)) for those in names.values()]


def controller_of(section: Section, algorithm: Algorithm) -> Controller | None:
    """The controller of an algorithm; None for an algorithm without one, and for our transport, which nobody trains."""
    trial = algorithm.trials[0]
    if trial.controller is None:
        return None
    about = _metadata(trial.run, trial.controller)
    if about.get("algorithm") == OWN:
        return None
    scenarios = tuple((str(one["scenario"]), str(one["sha256"])) for one in about.get("trained_on") or ())
    if not scenarios and about.get("scenario_sha256"):
        scenarios = (("", str(about["scenario_sha256"])),)
    hashes = {sha for _, sha in scenarios}
    seen = section.meta.get("scenario_sha256") in hashes if hashes else None
    return Controller(algorithm.name, about, scenarios, seen)


def chosen_on(section: Section, algorithm: Algorithm) -> str:
    """What of an algorithm people chose by what it played here, and on which seeds; nothing if it is not known."""
    trial = algorithm.trials[0]
    seeds = _variant(trial.run, trial.variant).get("chosen_on")
    what: str = "settings"
    known: Mapping[str, Sequence[Sequence[int]]] = {} if seeds is None else {section.name: [seeds]}
    if not known and trial.controller is not None:
        of = str(_metadata(trial.run, trial.controller).get("algorithm"))
        what, known = "constants", CHOSEN_ON.get(of, {})
    if section.name not in known:
        return ""
    spans = [f"{first} to {last}" for first, last in known[section.name]]
    return f"{what} of {algorithm.name} were chosen on {section.name} (seeds {listed(spans)})"


def namesakes(runs: Sequence[Run]) -> frozenset[str]:
    """Names of more than one policy in these runs (``policy`` is the default name of all trainings) or of more than one
    variant."""
    sums: dict[str, set[object]] = {}
    for run in runs:
        for about in run.meta.get("controllers") or ():
            sums.setdefault(str(about.get("name")), set()).add(about.get("sha256"))
        for variant in run.scenario.get("variant") or ():
            sums.setdefault(str(variant["label"]), set()).add(_sum(variant))
    return frozenset(name for name, checksums in sums.items() if len(checksums) > 1)


def distinguished(run: Run, name: str, ambiguous: frozenset[str]) -> str:
    """A policy's name, with the beginning of its checksum where others have the same name."""
    return f"{name}@{str(_metadata(run, name).get('sha256'))[:SHORT]}" if name in ambiguous else name


def labelled(run: Run, label: str, ambiguous: frozenset[str]) -> str:
    """A variant's label, with the beginning of its settings' checksum where others have the same label."""
    return f"{label}@{_sum(_variant(run, label))[:SHORT]}" if label in ambiguous else label


def _variant(run: Run, label: str | None) -> Mapping[str, Any]:
    known: Sequence[Mapping[str, Any]] = run.scenario.get("variant") or ()
    return next((one for one in known if one["label"] == label), {})


def _sum(variant: Mapping[str, Any]) -> str:
    """Of what it runs, so that saying on which seeds it was chosen makes no other variant of it."""
    runs = {key: value for key, value in variant.items() if key != "chosen_on"}
    return hashlib.sha256(json.dumps(runs, sort_keys=True, default=str).encode()).hexdigest()


def _metadata(run: Run, name: str) -> Mapping[str, Any]:
    known: Sequence[Mapping[str, Any]] = run.meta.get("controllers") or ()
    return next((about for about in known if about.get("name") == name), {})
