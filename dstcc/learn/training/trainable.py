"""The state of a training, whatever learns: its evaluations, the best of them, and its checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dstcc.algorithms import RENAMED
from dstcc.arrays import Arrays, Float64Array
from dstcc.errors import DstccError, InputError, RunError
from dstcc.version import __version__

from .checkpoint import save_checkpoint
from .curves import Point

if TYPE_CHECKING:
    from dstcc.learn.policies.controller import Controller

Part = Callable[[str], Arrays]


class Recipe(Protocol):
    """What every algorithm is made of."""

    @property
    def metric(self) -> str:
        """What evaluations measure."""

    @property
    def steps(self) -> int:
        """Unless somebody says otherwise."""

    def document(self) -> dict[str, Any]:
        """As JSON has it."""

    def updated(self, document: Any) -> Any:
        """A document of an older version in today's options; raises InputError for an option that is gone."""


class Trainable(ABC):
    """A training of one seed; :func:`~dstcc.learn.training.loop.carry_out` takes it from its first step to its last."""

    def __init__(self, algorithm: str, recipe: Recipe, seed: int, scenario_sha256: str) -> None:
        self.algorithm, self.seed, self._recipe = algorithm, seed, recipe
        self._scenario_sha256 = scenario_sha256
        self.points: list[Point] = []
        """Its evaluations."""
        self.best: tuple[float, Arrays] | None = None
        """The greatest score so far, and its tensors."""
        self.loss = float("nan")
        """Of the last update."""
        self.busy_s = 0.0
        """In steps, evaluations and checkpoints not included."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Of the environment, so far."""

    @abstractmethod
    def finished(self, most: int) -> str:
        """Why it ends after at most so many steps; empty while it goes on."""

    @abstractmethod
    def step(self) -> None:
        """Some steps and the updates that are due."""

    @abstractmethod
    def evaluate_if_due(self) -> Point | None:
        """An evaluation, where one is due after the last step."""

    @abstractmethod
    def best_policy(self) -> Controller:
        """By the evaluations so far."""

    @abstractmethod
    def final_policy(self) -> Controller:
        """What the training is for."""

    @abstractmethod
    def scores(self, policy: Any, seeds: tuple[int, ...]) -> Float64Array:
        """The metric of a policy, a value a seed."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """All that learning changes, for a checkpoint."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """The rest of it, beside what every training has."""

    @abstractmethod
    def take_back(self, part: Part, document: dict[str, Any]) -> None:
        """Back from both; ``part`` gives the arrays whose names begin with a word and a dot. Raises InputError,
        KeyError, TypeError, ValueError or RuntimeError for those of another training."""

    def _updated_to(self, loss: float) -> None:
        self.loss = loss
        if not isfinite(loss):
            raise DstccError(f"training diverged: the loss is {loss} at step {self.steps:,}")

    def _evaluated(self, score: float, tensors: Arrays, random: float) -> Point:
        if self.best is None or score > self.best[0]:
            self.best = score, tensors
        point = Point(self.steps, score, self.best[0], self.loss, random)
        self.points.append(point)
        return point

    @property
    def identity(self) -> dict[str, Any]:
        """What a run to be resumed must share."""
        return {
            "version": __version__,
            "scenario": self._scenario_sha256,
            "algorithm": self.algorithm,
            "seed": self.seed,
            "recipe": self._recipe.document(),
        }

    def save(self, run: Path) -> None:
        """Write a checkpoint."""
        arrays = self.arrays()
        if self.best is not None:
            arrays |= {f"best.{name}": values for name, values in self.best[1].items()}
        document = {
            "identity": self.identity,
            "steps": self.steps,
            "loss": self.loss if isfinite(self.loss) else None,
            "best": self.best[0] if self.best else None,
            "points": [point.document() for point in self.points],
        }
        save_checkpoint(run, self.steps, arrays, document | self.document())

    def restore(self, run: Path, arrays: Arrays, document: dict[str, Any]) -> None:
        """Back from a checkpoint; raises RunError for one of another training."""
        _check_identity(run, self._updated(run, document["identity"]), self.identity)

        def part(name: str) -> Arrays:
            head = f"{name}."
            return {key.removeprefix(head): values for key, values in arrays.items() if key.startswith(head)}

        try:
            self.loss = float("nan") if document["loss"] is None else document["loss"]
            self.points = [Point(**point) for point in document["points"]]
            self.take_back(part, document)
            if document["best"] is not None:
                self.best = document["best"], part("best")
        except (KeyError, TypeError, ValueError, RuntimeError, InputError) as error:
            raise RunError(f"{run}: its checkpoint does not fit this training ({error})") from error

    def _updated(self, run: Path, identity: dict[str, Any]) -> dict[str, Any]:
        """A checkpoint's identity with today's name and its recipe in today's options."""
        once = identity.get("algorithm", "")
        identity = {**identity, "algorithm": RENAMED.get(once, once)}
        if identity.get("algorithm") != self.algorithm:
            return identity
        try:
            return {**identity, "recipe": self._recipe.updated(identity.get("recipe"))}
        except InputError as error:
            raise RunError(f"{run}: {error}; nothing was changed") from error


def _check_identity(run: Path, saved: dict[str, Any], wanted: dict[str, Any]) -> None:
    for key, value in wanted.items():
        if saved.get(key) != value:
            saved_value, wanted_value = (
                f" {one}" if isinstance(one, (str, int)) else "" for one in (saved.get(key), value)
            )
            raise RunError(
                f"{run}: trained with another {key}{saved_value}, not{wanted_value or ' this one'}; nothing was changed"
            )
