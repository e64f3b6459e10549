"""The algorithms of ``dstcc train``, a file each: what each sees, does, is paid for, and how it learns.

A file here that calls :func:`~dstcc.learn.algorithms.recipe.register` is an algorithm; nothing else lists them.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dstcc.errors import InputError, did_you_mean
from dstcc.learn.algorithms.recipe import METRIC, RECIPES, RETURN, Recipe, Settings, Task

__all__ = ["METRIC", "RECIPES", "RETURN", "Recipe", "Settings", "Task", "recipe_of"]

for _module in sorted(one.name for one in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")


def recipe_of(algorithm: str) -> Recipe:
    """The recipe of that name; raises InputError with the names there are."""
    if algorithm not in RECIPES:
        hint = did_you_mean(algorithm, RECIPES)
        raise InputError(f"--algorithm {algorithm}: no such algorithm to train ({', '.join(RECIPES)}){hint}")
    return RECIPES[algorithm]
