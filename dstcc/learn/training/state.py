"""The state of a training and its steps; :mod:`dstcc.learn.training.loop` runs it."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Arrays
from dstcc.learn.algorithms.learner import Slot, Weights
from dstcc.learn.algorithms.recipes import RETURN, Recipe, Task
from dstcc.learn.env.deep_space import Scenarios, make_specs, to_episodes
from dstcc.learn.policies.controller import TrainedOn
from dstcc.learn.policies.policy import Policy
from dstcc.learn.policies.scope import Scope, scope_of
from dstcc.learn.spaces.actions import MAX_LAYERS, MAX_SUBFLOWS
from dstcc.scenario import content_hash

from .curves import Point
from .evaluate import evaluate, validation_seeds
from .fleet import Fleet
from .trainable import Part, Trainable


class Training(Trainable):
    """Of a policy in the environment."""

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
        self.episodes = to_episodes(scenario)
        super().__init__(algorithm, recipe, seed, self.episodes.content_hash)
        self.recipe, self.threads, self.loss = recipe, threads, 0.0
        self.observation, self.action = make_specs(self.episodes, **recipe.environment)
        self.learner = recipe.learner.make(Task(recipe, self.observation, self.action, seed, device))
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
        self._steps = 0

    @property
    def steps(self) -> int:
        """Slots of single episodes so far."""
        return self._steps

    @property
    def trained_on(self) -> tuple[TrainedOn, ...]:
        """Names and hashes of the scenarios."""
        return tuple(TrainedOn(one.scenario.name, content_hash(one)) for one in self.episodes.scenarios)

    @cached_property
    def trained_within(self) -> Scope:
        """What the scenarios are, in ranges."""
        return scope_of(self.episodes.scenarios, self.episodes.sources)

    def step(self) -> None:
        """One slot of every episode, and the updates that it brings; its :attr:`result` stays until the next."""
        began = time.perf_counter()
        seen, before = self.fleet.observations, self.fleet.episode_values
        actions = self.learner.act(seen, before, self.steps)
        result = self.result = self.fleet.step(actions)
        self._steps += self.fleet.count
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
            self._updated_to(loss)
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
        return self.policy(replace(self.learner.weights(), tensors=self.best[1]) if self.best else None)

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
        return self._evaluated(score, weights.tensors, self.learner.exploration(self.steps))

    def arrays(self) -> Arrays:
        """See :class:`Trainable`."""
        arrays = {f"learner.{name}": values for name, values in self.learner.arrays().items()}
        return arrays | {f"fleet.{name}": values for name, values in self.fleet.arrays().items()}

    def document(self) -> dict[str, Any]:
        """See :class:`Trainable`."""
        return {"learner": self.learner.document()}

    def take_back(self, part: Part, document: dict[str, Any]) -> None:
        """See :class:`Trainable`."""
        self._steps = document["steps"]
        self.learner.restore(part("learner"), document["learner"])
        self.fleet.restore(part("fleet"))
