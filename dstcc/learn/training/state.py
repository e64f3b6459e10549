"""The state of a training and its steps; :mod:`dstcc.learn.training.loop` runs it."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.algorithms import RENAMED
from dstcc.errors import DstccError, InputError, RunError
from dstcc.learn.algorithms.learner import Slot, Weights
from dstcc.learn.algorithms.recipes import RETURN
from dstcc.learn.env.deep_space import make_specs, to_episodes
from dstcc.learn.policies.controller import TrainedOn
from dstcc.learn.policies.policy import Policy
from dstcc.learn.policies.scope import Scope, scope_of
from dstcc.learn.spaces.actions import MAX_LAYERS, MAX_SUBFLOWS
from dstcc.scenario import content_hash
from dstcc.version import __version__

from .checkpoint import save_checkpoint
from .curves import Point
from .evaluate import evaluate, validation_seeds
from .fleet import Fleet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.algorithms.recipes import Recipe
    from dstcc.learn.env.deep_space import Scenarios


class Training:
    """The state of a run; what :func:`~dstcc.learn.training.loop.train` steps."""

    def __init__(
        self,
        scenario: Scenarios,
        algorithm: str,
        recipe: Recipe,
        *,
        seed: int,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        self.algorithm, self.recipe, self.seed, self.threads = algorithm, recipe, seed, threads
        self.episodes = to_episodes(scenario)
        self.observation, self.action = make_specs(self.episodes, **recipe.environment)
        self.learner = recipe.learner.make(recipe, self.observation, self.action, seed=seed, device=device)
        self.fleet = Fleet(
            self.episodes,
            recipe.episodes,
            self.observation,
            self.action,
            reward=recipe.reward,
            seed=seed,
            threads=threads,
            group=self.learner.group,
        )
        self.validation = validation_seeds(recipe.validation)
        self.steps = 0
        self.points: list[Point] = []
        self.best: tuple[float, Weights] | None = None
        self.busy_s = 0.0
        self._loss = 0.0

    @property
    def trained_on(self) -> tuple[TrainedOn, ...]:
        """Names and hashes of the scenarios."""
        return tuple(TrainedOn(one.scenario.name, content_hash(one)) for one in self.episodes.scenarios)

    @cached_property
    def trained_within(self) -> Scope:
        """What the scenarios are, in ranges."""
        return scope_of(self.episodes.scenarios, self.episodes.sources)

    def step(self) -> None:
        """One slot of every episode, and the updates that it brings."""
        began = time.perf_counter()
        seen, before = self.fleet.observations, self.fleet.episode_values
        actions = self.learner.act(seen, before, self.steps)
        result = self.fleet.step(actions)
        self.steps += self.fleet.count
        slot = Slot(
            observations=seen,
            actions=actions,
            rewards=result.rewards,
            following=result.observations,
            terminated=result.terminated,
            done=result.done,
            before=before,
            after=result.episode_values,
        )
        loss = self.learner.take(slot, self.steps)
        if loss is not None:
            self._loss = loss
            if not isfinite(loss):
                raise DstccError(f"training diverged: the loss is {loss} at step {self.steps:,}")
        self.busy_s += time.perf_counter() - began

    def evaluate_if_due(self) -> Point | None:
        """The next point of the curves, where an evaluation is due at this step."""
        every = self.recipe.evaluate_every
        if self.steps // every == (self.steps - self.fleet.count) // every:
            return None
        return self._evaluate()

    def finished(self, most: int) -> str:
        """Why there are no more steps to do; empty while there are."""
        if self.steps >= most:
            return "steps"
        scores = [point.score for point in self.points]
        waited = len(scores) - 1 - int(np.argmax(scores)) if scores else 0
        return "patience" if waited >= self.recipe.patience else ""

    def final_policy(self) -> Policy:
        """The best policy of all evaluations and of the end, which changes nothing of the state."""
        policy, best = self.policy(), self.best
        if best is None or float(self.scores(policy, self.validation).mean()) > best[0]:
            return policy
        return self.best_policy()

    def best_policy(self) -> Policy:
        """The best of the evaluations so far."""
        return self.policy(self.best[1] if self.best else None)

    def policy(self, weights: Weights | None = None) -> Policy:
        """Weights, the learner's unless given, with what they see and do."""
        chosen = weights or self.learner.weights()
        observation, action = self.observation, self.action
        if chosen.any_size:
            observation = replace(observation, subflows=MAX_SUBFLOWS, layers=MAX_LAYERS)
            action = replace(action, subflows=MAX_SUBFLOWS, layers=MAX_LAYERS)
        return Policy(
            algorithm=self.algorithm,
            observation=observation,
            action=action,
            network=chosen.network,
            tensors=chosen.tensors,
            seed=self.seed,
            scenario_sha256=self.episodes.content_hash,
            trained_on=self.trained_on,
            trained_within=self.trained_within,
        )

    def scores(self, policy: Policy, seeds: tuple[int, ...]) -> NDArray[np.float64]:
        """The recipe's metric per seed."""
        spaces = (self.episodes, policy.observation, policy.action)
        returns = self.recipe.metric == RETURN
        reward = self.recipe.reward if returns else "weighted-layers"
        return evaluate(policy.act, *spaces, seeds, reward=reward, threads=self.threads)

    def _evaluate(self) -> Point:
        weights = self.learner.weights()
        score = float(self.scores(self.policy(weights), self.validation).mean())
        if self.best is None or score > self.best[0]:
            self.best = score, weights
        random = self.learner.exploration(self.steps)
        point = Point(self.steps, score, self.best[0], self._loss, random)
        self.points.append(point)
        return point

    @property
    def identity(self) -> dict[str, Any]:
        """What a run to be resumed must share."""
        return {
            "version": __version__,
            "scenario": self.episodes.content_hash,
            "algorithm": self.algorithm,
            "seed": self.seed,
            "recipe": self.recipe.document(),
        }

    def _updated(self, run: Path, identity: dict[str, Any]) -> dict[str, Any]:
        """A checkpoint's identity with today's name and its recipe in today's options."""
        once = identity.get("algorithm", "")
        identity = {**identity, "algorithm": RENAMED.get(once, once)}
        if identity.get("algorithm") != self.algorithm:
            return identity
        try:
            return {**identity, "recipe": self.recipe.updated(identity.get("recipe"))}
        except InputError as error:
            raise RunError(f"{run}: {error}; nothing was changed") from error

    def save(self, run: Path) -> None:
        """Write a checkpoint."""
        arrays = {f"learner.{name}": values for name, values in self.learner.arrays().items()}
        arrays |= {f"fleet.{name}": values for name, values in self.fleet.arrays().items()}
        if self.best is not None:
            arrays |= {f"best.{name}": values for name, values in self.best[1].tensors.items()}
        document = {
            "identity": self.identity,
            "steps": self.steps,
            "loss": self._loss,
            "best": self.best[0] if self.best else None,
            "points": [point.document() for point in self.points],
            "learner": self.learner.document(),
        }
        save_checkpoint(run, self.steps, arrays, document)

    def restore(self, run: Path, arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> None:
        """Back from a checkpoint; raises RunError for one of another training."""
        _check_identity(run, self._updated(run, document["identity"]), self.identity)

        def part(name: str) -> dict[str, NDArray[Any]]:
            head = f"{name}."
            return {key.removeprefix(head): values for key, values in arrays.items() if key.startswith(head)}

        try:
            self.steps, self._loss = document["steps"], document["loss"]
            self.points = [Point(**point) for point in document["points"]]
            self.learner.restore(part("learner"), document["learner"])
            self.fleet.restore(part("fleet"))
            if document["best"] is not None:
                self.best = document["best"], replace(self.learner.weights(), tensors=part("best"))
        except (KeyError, TypeError, InputError) as error:
            raise RunError(f"{run}: its checkpoint does not fit this training ({error})") from error


def _check_identity(run: Path, saved: dict[str, Any], wanted: dict[str, Any]) -> None:
    for key, value in wanted.items():
        if saved.get(key) != value:
            saved_value, wanted_value = (
                f" {one}" if isinstance(one, (str, int)) else "" for one in (saved.get(key), value)
            )
            raise RunError(
                f"{run}: trained with another {key}{saved_value}, not{wanted_value or ' this one'}; nothing was changed"
            )
