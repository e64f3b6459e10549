"""Which training an algorithm's name asks for: of a policy in the environment, or of a forecaster."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.errors import InputError
from dstcc.forecast.recipe import NAME as FORECASTER
from dstcc.forecast.recipe import Recipe as ForecastRecipe
from dstcc.learn.algorithms.recipes import RECIPES, recipe_of

from . import loop
from .checkpoint import load_checkpoint
from .loop import ALGORITHM, Trained

if TYPE_CHECKING:
    from dstcc.learn.env.deep_space import Scenarios


def algorithm_of(algorithm: str | None, run: Path, *, resume: bool) -> str:
    """The algorithm named, or that of the run that is to go on, or the default."""
    if algorithm is not None or not (resume and run.exists()):
        return algorithm or ALGORITHM
    return str(load_checkpoint(run)[1].get("identity", {}).get("algorithm", ALGORITHM))


def steps_of(algorithm: str | None, run: Path, *, resume: bool) -> int:
    """Steps in all, unless ``--steps`` says otherwise."""
    name = algorithm_of(algorithm, run, resume=resume)
    if name not in (*RECIPES, FORECASTER):
        near = get_close_matches(name, (*RECIPES, FORECASTER), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        names = ", ".join((*RECIPES, FORECASTER))
        raise InputError(f"--algorithm {name}: no such algorithm to train ({names}){hint}")
    return ForecastRecipe().steps if name == FORECASTER else recipe_of(name).steps


def train(
    scenario: Scenarios, run: Path, *, algorithm: str | None = None, threads: int = 1, **rest: Any
) -> Trained:
    """As :func:`dstcc.learn.training.loop.train`, for every algorithm."""
    name = algorithm_of(algorithm, run, resume=rest.get("resume", False))
    if name == FORECASTER:
        from dstcc.forecast import training

        return training.train(scenario, run, **rest)
    return loop.train(scenario, run, algorithm=algorithm, threads=threads, **rest)
