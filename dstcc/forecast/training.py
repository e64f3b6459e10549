"""``dstcc train --algorithm gru-mpc``: histories, updates, evaluations; bit for bit, however often stopped.

A scenario says on what the policy is evaluated at the end; no trial of it is trained on. The run's folder is that of
other trainings (:mod:`dstcc.learn.training.loop`). An evaluation's score is minus the loss on histories that are never
trained on, and the best so far is kept as ``policy.safetensors``.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from dstcc.coded.fleet import Fleet
from dstcc.coded.stored import SHIPPED, load_documents
from dstcc.errors import DstccError, InputError, RunError
from dstcc.learn.algorithms.streams import generator
from dstcc.learn.policies.controller import TrainedOn
from dstcc.learn.training.checkpoint import save_checkpoint
from dstcc.learn.training.curves import Point
from dstcc.learn.training.evaluate import TEST_SEEDS
from dstcc.learn.training.loop import Trained, carry_out, saved_of
from dstcc.scenario import Scenario, load_scenario
from dstcc.scenario.video import content_hash
from dstcc.version import __version__

from . import histories, laws
from .learner import Forecaster, rate
from .policy import ForecastPolicy
from .recipe import NAME, Recipe
from .sender import Forecasting

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dstcc.learn.env.deep_space import Scenarios
    from dstcc.scenario import Scenario

    Arrays = dict[str, NDArray[Any]]

VALIDATION = 1001
"""The seed of the histories that choose the best policy, the same for all trainings."""
FALLBACK = "threshold"
"""The tuned rule that played the most on examples/learning/training."""


class Training:
    """The state of a training."""

    def __init__(self, scenario: Scenario, recipe: Recipe, *, seed: int, device: str) -> None:
        self.recipe, self.seed, self.device = recipe, seed, torch.device(device)
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
        self.points: list[Point] = []
        self.best: tuple[float, dict[str, NDArray[np.float32]]] | None = None
        self.loss = float("nan")
        self.busy_s = 0.0
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
        self.loss = float(loss.item())
        self.updates += 1
        if not isfinite(self.loss):
            raise DstccError(f"training diverged: the loss is {self.loss} at step {self.steps:,}")
        self.busy_s += time.perf_counter() - began

    def evaluate_if_due(self) -> Point | None:
        """The score on the validation's histories, after every so many updates."""
        if self.updates % self.recipe.evaluate_every:
            return None
        with torch.inference_mode():
            score = -float(self.network.loss(self.validation, self.device).item())
        if self.best is None or score > self.best[0]:
            self.best = score, self.network.tensors()
        point = Point(self.steps, score, self.best[0], self.loss, 0.0)
        self.points.append(point)
        return point

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

    @property
    def identity(self) -> dict[str, Any]:
        """What a run to be resumed must share."""
        return {
            "version": __version__,
            "scenario": content_hash(self.fleet.scenario),
            "algorithm": NAME,
            "seed": self.seed,
            "recipe": self.recipe.document(),
        }

    def save(self, run: Path) -> None:
        """Write a checkpoint."""
        arrays: Arrays = {f"network.{name}": value for name, value in self.network.tensors().items()}
        for index, state in self.optimiser.state_dict()["state"].items():
            arrays |= {f"adam.{index}.{key}": value.cpu().numpy() for key, value in state.items()}
        if self.best is not None:
            arrays |= {f"best.{name}": value for name, value in self.best[1].items()}
        document = {
            "identity": self.identity,
            "updates": self.updates,
            "loss": self.loss if isfinite(self.loss) else None,
            "best": self.best[0] if self.best else None,
            "points": [point.document() for point in self.points],
        }
        save_checkpoint(run, self.steps, arrays, document)

    def restore(self, run: Path, arrays: Arrays, document: dict[str, Any]) -> None:
        """Back from a checkpoint; raises RunError for one of another training."""
        for key, value in self.identity.items():
            if document["identity"].get(key) != value:
                raise RunError(f"{run}: trained with another {key}; nothing was changed")

        def part(name: str) -> Arrays:
            return {k.removeprefix(f"{name}."): v for k, v in arrays.items() if k.startswith(f"{name}.")}

        try:
            self.updates, self.loss = document["updates"], float(document["loss"] or "nan")
            self.points = [Point(**point) for point in document["points"]]
            self.network.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in part("network").items()})
            adam: dict[int, dict[str, torch.Tensor]] = {}
            for name, value in part("adam").items():
                index, _, key = name.partition(".")
                adam.setdefault(int(index), {})[key] = torch.from_numpy(value.copy())
            self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": adam})
            if document["best"] is not None:
                self.best = document["best"], part("best")
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise RunError(f"{run}: its checkpoint does not fit this training ({error})") from error


def train(
    scenario: Scenarios,
    run: Path,
    *,
    steps: int | None = None,
    seed: int | None = None,
    resume: bool = False,
    device: str = "cpu",
    recipe: Recipe | None = None,
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[str], None] = lambda _message: None,
    watch: Callable[[int, Point | None], None] = lambda _steps, _point: None,
) -> Trained:
    """Train a forecaster; arguments and errors as :func:`dstcc.learn.training.loop.train`."""
    saved = saved_of(run, tell) if resume and run.exists() else None
    loaded, chosen = _one(scenario), recipe or Recipe()

    def begin(seed: int) -> Training:
        return Training(loaded, chosen, seed=seed, device=device)

    most = chosen.steps if steps is None else steps
    return carry_out(
        begin,
        run,
        NAME,
        saved,
        metric=chosen.metric,
        most=most,
        seed=seed,
        device=device,
        stop=stop,
        watch=watch,
    )


def _one(scenario: Scenarios) -> Scenario:
    """The scenario to evaluate on; raises InputError for a folder or several."""
    if isinstance(scenario, Scenario):
        return scenario
    if not isinstance(scenario, str | Path) or Path(scenario).is_dir():
        raise InputError(f"{scenario}: {NAME} is evaluated on one scenario; its loss models are its own")
    return load_scenario(Path(scenario))
