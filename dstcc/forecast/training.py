"""``dstcc train --algorithm gru-mpc``: histories, updates, evaluations; bit for bit, however often stopped.

A scenario says on what the policy is evaluated at the end; no trial of it is trained on. The run's folder is that of
other trainings (:mod:`dstcc.learn.training.loop`). An evaluation's score is minus the loss on histories that are never
trained on, and the best so far is kept as ``policy.safetensors``.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dstcc.arrays import Arrays
from dstcc.coded.fleet import Fleet
from dstcc.coded.stored import SHIPPED, load_documents
from dstcc.errors import InputError
from dstcc.learn.algorithms.streams import generator
from dstcc.learn.env.deep_space import Scenarios
from dstcc.learn.policies.controller import TrainedOn
from dstcc.learn.training.curves import Point
from dstcc.learn.training.evaluate import TEST_SEEDS
from dstcc.learn.training.loop import Trained, carry_out
from dstcc.learn.training.trainable import Part, Trainable
from dstcc.scenario import Scenario, load_scenario
from dstcc.scenario.video import content_hash

from . import histories, laws
from .learner import Forecaster, rate
from .policy import ForecastPolicy
from .recipe import NAME, Recipe
from .sender import Forecasting

VALIDATION = 1001
"""The seed of the histories that choose the best policy, the same for all trainings."""
FALLBACK = "threshold"
"""The tuned rule that played the most on examples/learning/training."""


class Training(Trainable):
    """Of a forecaster."""

    def __init__(self, scenario: Scenario, recipe: Recipe, *, seed: int, device: str) -> None:
        super().__init__(NAME, recipe, seed, content_hash(scenario))
        self.recipe, self.device = recipe, torch.device(device)
        self.fleet = Fleet(scenario, TEST_SEEDS)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(generator(seed, "network").integers(1 << 62)))
            self.network = Forecaster(recipe.hidden).to(self.device)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=recipe.learning_rate)
        self.validation = histories.batch(
            generator(VALIDATION, "validation"),
            recipe.validation,
            recipe.events,
            recipe.forecasts,
            recipe.every,
        )
        self.updates = 0
        self.best_policy().check_within(self.fleet.mission)

    @property
    def steps(self) -> int:
        """Events of single histories so far."""
        return self.updates * self.recipe.batch

    def finished(self, most: int) -> str:
        """``steps`` once all are done."""
        return "steps" if self.steps >= most else ""

    def step(self) -> None:
        """One batch, drawn anew; it depends on the seed and the number of the update only."""
        began = time.perf_counter()
        recipe = self.recipe
        draws = generator(self.seed, f"histories {self.updates}")
        batch = histories.batch(draws, recipe.histories, recipe.events, recipe.forecasts, recipe.every)
        for group in self.optimiser.param_groups:
            group["lr"] = rate(recipe, self.updates, recipe.updates)
        loss = self.network.loss(batch, self.device)
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), recipe.clip)
        self.optimiser.step()
        self.updates += 1
        self._updated_to(float(loss.item()))
        self.busy_s += time.perf_counter() - began

    def evaluate_if_due(self) -> Point | None:
        """The score on the validation's histories, after every so many updates."""
        if self.updates % self.recipe.evaluate_every:
            return None
        with torch.inference_mode():
            score = -float(self.network.loss(self.validation, self.device).item())
        return self._evaluated(score, self.network.tensors(), 0.0)

    def best_policy(self) -> ForecastPolicy:
        """The best so far, or the network as it is."""
        return ForecastPolicy(
            algorithm=NAME,
            hidden=self.recipe.hidden,
            tensors=self.best[1] if self.best else self.network.tensors(),
            within={
                "slot_rtts": histories.SLOT_RTTS,
                "packets": histories.PACKETS,
                "ahead_rtts": histories.AHEAD_RTTS,
            },
            rule=next(one for one in load_documents(SHIPPED) if one["kind"] == FALLBACK),
            seed=self.seed,
            scenario_sha256=self.content_hash,
            trained_on=(TrainedOn(f"laws: {', '.join(laws.FAMILIES)}", self.content_hash),),
        )

    final_policy = best_policy

    def scores(self, policy: ForecastPolicy, _seeds: object) -> NDArray[np.float64]:
        """What it plays on the scenario's trials."""
        return self.fleet.run(Forecasting(replace(policy, name=NAME)))

    @property
    def content_hash(self) -> str:
        """Of the loss models' shares and the settings."""
        return laws.content_hash(self.recipe.document())

    def arrays(self) -> Arrays:
        """See :class:`Trainable`."""
        arrays: Arrays = {f"network.{name}": value for name, value in self.network.tensors().items()}
        for index, state in self.optimiser.state_dict()["state"].items():
            arrays |= {f"adam.{index}.{key}": value.cpu().numpy() for key, value in state.items()}
        return arrays

    def document(self) -> dict[str, Any]:
        """See :class:`Trainable`."""
        return {"updates": self.updates}

    def take_back(self, part: Part, document: dict[str, Any]) -> None:
        """See :class:`Trainable`."""
        self.updates = document["updates"]
        self.network.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in part("network").items()})
        adam: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in part("adam").items():
            index, _, key = name.partition(".")
            adam.setdefault(int(index), {})[key] = torch.from_numpy(value.copy())
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": adam})


def train(
    scenario: Scenarios, run: Path, *, device: str = "cpu", recipe: Recipe | None = None, **rest: Any
) -> Trained:
    """Train a forecaster; arguments and errors as :func:`dstcc.learn.training.loop.train`."""
    loaded, chosen = _one(scenario), recipe or Recipe()

    def begin(seed: int) -> Training:
        return Training(loaded, chosen, seed=seed, device=device)

    return carry_out(lambda _saved: (NAME, chosen, begin), run, device=device, **rest)


def _one(scenario: Scenarios) -> Scenario:
    """The scenario to evaluate on; raises InputError for a folder or several."""
    if isinstance(scenario, Scenario):
        return scenario
    if not isinstance(scenario, str | Path) or Path(scenario).is_dir():
        raise InputError(f"{scenario}: {NAME} is evaluated on one scenario; its loss models are its own")
    return load_scenario(Path(scenario))
