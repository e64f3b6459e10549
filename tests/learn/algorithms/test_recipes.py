"""Recipes: a file that registers one is all that an algorithm of ``dstcc train`` takes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dstcc.learn.algorithms import recipes
from dstcc.learn.algorithms.learner import Weights
from dstcc.learn.algorithms.recipe import RECIPES, Recipe, Settings, register
from dstcc.learn.policies.policy import load_policy
from dstcc.learn.training.loop import train

FILES = {
    path.stem.replace("_plus", "+").replace("_", "-")
    for path in Path(recipes.__file__).parent.glob("[a-z]*.py")
}


def test_each_file_registers_the_algorithm_of_its_name() -> None:
    assert set(RECIPES) == FILES
    assert {"dstcc-lanes", "iodst-dqn", "iodst-dqn+", "iodst-q", "pbq", "drl-cc", "mpquic-rl"} == FILES


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="two algorithms are called pbq"):
        register("pbq", RECIPES["pbq"])


def test_recipes_are_read_without_torch() -> None:
    code = "import sys, dstcc.learn.algorithms.recipes as r; print(len(r.RECIPES), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "7 False\n"


@dataclass(frozen=True)
class StillSettings(Settings):
    """A learner that learns nothing and chooses ``choice`` of each branch."""

    choice: int = 0

    def make(self, task):
        return Still(self, task.observation, task.action)


class Still:
    """See :class:`StillSettings`."""

    group = 1

    def __init__(self, settings, observation, action):
        self.settings, self.observation, self.action = settings, observation, action

    def act(self, observations, episode_values, step):
        return np.full((len(observations), len(self.action.branches)), self.settings.choice)

    def take(self, slot, step):
        return None

    def exploration(self, step):
        return 0.0

    def weights(self):
        outputs, size = self.action.outputs, self.observation.size
        tensors = {
            "layers.0.weight": np.zeros((outputs, size), np.float32),
            "layers.0.bias": np.zeros(outputs, np.float32),
        }
        return Weights({"kind": "mlp", "activation": "relu"}, tensors)

    def arrays(self):
        return {}

    def document(self):
        return {}

    def restore(self, arrays, document):
        pass


def test_a_registered_algorithm_is_trained_by_its_name(tmp_path, short, monkeypatch):
    recipe = Recipe({"action": "multi"}, "eq6", StillSettings(), steps=96, episodes=4, validation=4)
    monkeypatch.setitem(RECIPES, "still", recipe)
    trained = train(short, tmp_path / "run", algorithm="still", seed=3)
    assert (trained.algorithm, trained.steps) == ("still", 96)
    assert load_policy(tmp_path / "run" / "policy.safetensors").algorithm == "still"
