"""What ``dstcc train`` trains, by name: a policy in the environment, or a forecaster. Code rates of `ltp` are
:mod:`dstcc.learn.ltp_rates`.

Learners are imported when they are asked for: some need torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.algorithms import CODE_RATES, RENAMED
from dstcc.atomic import said_of
from dstcc.errors import InputError, did_you_mean
from dstcc.forecast.recipe import NAME as FORECASTER
from dstcc.forecast.recipe import Recipe as ForecastRecipe
from dstcc.learn.algorithms.recipes import RECIPES
from dstcc.learn.training.checkpoint import load_checkpoint

if TYPE_CHECKING:
    from dstcc.learn.env.deep_space import Scenarios
    from dstcc.learn.training.loop import Trained
    from dstcc.learn.training.trainable import Recipe

DEFAULT = "dstcc-lanes"


def algorithm_of(algorithm: str | None, run: Path, *, resume: bool) -> str:
    """The algorithm named, or that of the run that is to go on, or the default."""
    if algorithm is not None or not (resume and run.exists()):
        return todays(algorithm or DEFAULT)
    return todays(str(load_checkpoint(run)[1].get("identity", {}).get("algorithm", DEFAULT)))


def todays(algorithm: str) -> str:
    """An algorithm's name of today, where it had another before."""
    return RENAMED.get(algorithm, algorithm)


def any_recipe(name: str) -> Recipe:
    """The recipe of that name; raises InputError with the names there are."""
    if name == FORECASTER:
        return ForecastRecipe()
    if name in RECIPES:
        return RECIPES[name]
    names = (*RECIPES, FORECASTER, CODE_RATES)
    hint = did_you_mean(name, names)
    raise InputError(f"--algorithm {name}: no such algorithm to train ({', '.join(names)}){hint}")


def steps_of(algorithm: str | None, run: Path, *, resume: bool) -> int:
    """Steps in all, unless ``--steps`` says otherwise."""
    return any_recipe(algorithm_of(algorithm, run, resume=resume)).steps


def train(
    scenario: Scenarios, run: Path, *, algorithm: str | None = None, threads: int = 1, **rest: Any
) -> Trained:
    """As :func:`dstcc.learn.training.loop.train`, for every algorithm.

    A disk that is full is said of ``run`` where what writes (TensorBoard's curves) names no file.
    """
    with said_of(run):
        algorithm = None if algorithm is None else todays(algorithm)
        if algorithm_of(algorithm, run, resume=rest.get("resume", False)) == FORECASTER:
            from dstcc.forecast import training

            return training.train(scenario, run, **rest)
        from dstcc.learn.training import loop

        return loop.train(scenario, run, algorithm=algorithm, threads=threads, **rest)
