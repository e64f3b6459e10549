"""The rooms of ``dstcc.learn``: what they give to others by name, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import dstcc.learn
from dstcc.learn.env.deep_space import DeepSpaceEnv

DOCUMENTED = [
    ("dstcc.learn.env", "DeepSpaceEnv", "dstcc.learn.env.deep_space"),
    ("dstcc.learn.env", "DeepSpaceVectorEnv", "dstcc.learn.env.vector"),
    ("dstcc.learn.observe", "ObservationSpec", "dstcc.learn.spaces.observe"),
    ("dstcc.learn.policy", "Policy", "dstcc.learn.policies.policy"),
    ("dstcc.learn.policy", "load_policy", "dstcc.learn.policies.policy"),
    ("dstcc.learn.policy", "save_policy", "dstcc.learn.policies.policy"),
    ("dstcc.learn.spaces", "ActionSpec", "dstcc.learn.spaces.registry"),
    ("dstcc.learn.spaces", "POLICIES", "dstcc.learn.spaces.schedulers"),
    ("dstcc.learn.spaces", "PLACES", "dstcc.learn.spaces.measured_actions"),
]
"""Paths that documentation has named, and where the names lie now."""


@pytest.mark.parametrize("path, name, room", DOCUMENTED)
def test_paths_that_documentation_named_give_the_same_objects(path: str, name: str, room: str) -> None:
    assert getattr(import_module(path), name) is getattr(import_module(room), name)


def test_every_public_name_is_there() -> None:
    for name in dstcc.learn.__all__:
        assert getattr(dstcc.learn, name) is not None
    assert dstcc.learn.DeepSpaceEnv is DeepSpaceEnv


def test_an_unknown_name_is_an_attribute_error() -> None:
    for module in (dstcc.learn, dstcc.learn.env):
        with pytest.raises(AttributeError, match="no attribute 'DeepSpace'"):
            _ = module.DeepSpace


def test_running_a_policy_imports_neither_torch_nor_gymnasiums_faces() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from dstcc.learn import load_policy; import dstcc.learn.policies.drive;"
            "load_policy('dstcc-lanes');"
            "print([m for m in sys.modules if m in ('torch', 'gymnasium') or m.startswith(('dstcc.learn.algorithms',"
            " 'dstcc.learn.training', 'dstcc.learn.env.deep_space'))])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("order", ["import gymnasium, dstcc.learn", "import dstcc.learn, gymnasium"])
def test_the_environments_are_registered_whichever_is_imported_first(order: str) -> None:
    code = f"{order}; print(gymnasium.spec('dstcc/DeepSpace-v1').id, gymnasium.spec('dstcc/CodedDeepSpace-v1').id)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "dstcc/DeepSpace-v1 dstcc/CodedDeepSpace-v1\n"


def test_gymnasium_knows_the_environments_whichever_is_imported_first() -> None:
    for order in ("dstcc.learn, gymnasium", "gymnasium, dstcc.learn"):
        code = f"import {order}; print(sorted(n for n in gymnasium.registry if n.startswith('dstcc')))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "['dstcc/CodedDeepSpace-v1', 'dstcc/DeepSpace-v1']\n"
    dstcc.learn.register()  # again does nothing
