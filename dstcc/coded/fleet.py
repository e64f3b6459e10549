"""A scenario's trials under a sender: K seeds side by side in the engine's threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.engine import CodedStepper, EngineConfig, EngineResult, clairvoyant_weight
from dstcc.engine.config import subflow_links
from dstcc.engine.stepper import RUNNING
from dstcc.errors import InputError
from dstcc.extensions import label
from dstcc.layers import layer_weights
from dstcc.metrics import layer_table
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

from .seen import RepairDecision, Seen, Sender
from .shown import act, mission_of, seen_of, unplannable


@dataclass(frozen=True)
class Step:
    """What one slot showed and what was decided for the next; for those who look on."""

    seen: Seen
    decision: RepairDecision
    running: Float64Array
    """(K,): 1 while a trial runs."""


class Fleet:
    """K trials of a scenario, ready to be run under one sender after another.

    Raises :class:`InputError` for a scenario that no ladder can be made of.
    """

    def __init__(self, scenario: Scenario, seeds: Sequence[int], *, threads: int | None = None) -> None:
        check(scenario)
        self.scenario, self.seeds = scenario, tuple(seeds)
        source = load_source(scenario)
        congestion = label(scenario.transport.congestion[0])
        self.configs: list[EngineConfig] = [
            engine_config(scenario, draw_trial(scenario, source, seed), congestion, "minrtt")
            for seed in self.seeds
        ]
        objects = self.configs[0].objects
        self.layers = objects.layers
        self.links = subflow_links(self.configs[0].links)
        self._weights = layer_weights(objects.layer, self.layers)
        self._threads = threads or os.cpu_count() or 1
        coding = self.configs[0].coding
        self.automatic = coding is not None and coding.repair is None
        """Whether the transport has a rule of its own for repair."""
        self.mission = mission_of(self.configs, self.layers, self.links)

    def clairvoyant(self) -> Float64Array:
        """(K,): the most of all weight that any sender could bring in time."""
        most = [clairvoyant_weight(config, self._weights) for config in self.configs]
        return np.asarray(np.array(most) / self._weights.sum())

    def run(
        self,
        sender: Sender,
        *,
        watch: Callable[[Step], None] | None = None,
        advance: Callable[[float], None] | None = None,
    ) -> Float64Array:
        """(K,): the share of all weight that is played under a sender. ``advance`` hears of trials that are done."""
        played = self.results(sender, watch=watch, advance=advance)
        return np.array(
            [self.value(config, result) for config, result in zip(self.configs, played, strict=True)]
        )

    def results(
        self,
        sender: Sender,
        *,
        watch: Callable[[Step], None] | None = None,
        advance: Callable[[float], None] | None = None,
    ) -> list[EngineResult]:
        """The K trials under a sender, as :meth:`run`."""
        trials = len(self.configs)
        stepper = CodedStepper(trials, len(self.links), self.layers, threads=self._threads)
        for k, config in enumerate(self.configs):
            stepper.load(k, config)
        sender.begin(self.mission)
        done = 0
        while (stepper.done == RUNNING).any():
            seen = seen_of(stepper, self.mission)
            decision = sender.decide(seen)
            if watch is not None:
                watch(Step(seen, decision, (stepper.done == RUNNING).astype(float)))
            act(stepper, decision)
            stepper.step()
            stepper.active[:] = stepper.done == RUNNING
            if advance is not None and (over := int((stepper.done != RUNNING).sum())) > done:
                advance(over - done)
                done = over
        return [stepper.result(k) for k in range(trials)]

    def value(self, config: EngineConfig, result: EngineResult) -> float:
        """The share of all weight that a trial plays (the metric ``weighted_layers``)."""
        objects = config.objects
        complete = layer_table(objects, result.objects.complete_ns, -1)
        due = layer_table(objects, objects.deadline_ns, -1)
        whole = np.logical_and.accumulate((complete >= 0) & (complete <= due), axis=0)
        weight = layer_weights(np.arange(self.layers), self.layers)
        return float((whole.sum(axis=1) * weight).sum() / self._weights.sum())


def check(scenario: Scenario) -> None:
    """Raise :class:`InputError` for a scenario that no ladder can be made of."""
    name, transport = scenario.scenario.name, scenario.transport
    rules = [
        (transport.mode == "coded", 'transport.mode: a ladder steers coded packets: mode = "coded"'),
        (len(transport.congestion) == 1, "transport.congestion: a ladder has one congestion control"),
        (not transport.controller, "transport.controller: give controllers with --controller"),
        (scenario.video.source == "live", 'video.source: blocks end with what is captured: source = "live"'),
    ]
    for holds, rule in rules:
        if not holds:
            raise InputError(f"{name}: {rule}")
    if problem := unplannable(scenario, "dstcc ladder"):
        raise InputError(f"{name}: {problem}")
