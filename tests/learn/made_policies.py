"""Made policies: a network whose last bias alone decides, so that it does the same in every slot."""

from __future__ import annotations

from typing import Any

import numpy as np

from dstcc.learn.policies.policy import Policy
from dstcc.learn.spaces.branched import branched
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.learn.spaces.registry import make_actions


def constant(choices: tuple[int, ...], *, subflows: int = 2, layers: int = 2, **action: Any) -> Policy:
    """The policy that takes ``choices``, one a branch, whatever it sees."""
    observation = ObservationSpec("full", subflows, layers, history=2)
    spec = branched(make_actions(subflows, layers, **action))
    best = np.concatenate(
        [np.eye(size, dtype=np.float32)[k] for size, k in zip(spec.branches, choices, strict=True)]
    )
    tensors = {
        "layers.0.weight": np.zeros((4, observation.size), dtype=np.float32),
        "layers.0.bias": np.ones(4, dtype=np.float32),
        "layers.1.weight": np.zeros((spec.outputs, 4), dtype=np.float32),
        "layers.1.bias": best,
    }
    network = {"kind": "mlp", "activation": "relu"}
    return Policy(
        algorithm="constant",
        observation=observation,
        action=spec,
        network=network,
        tensors=tensors,
        seed=1,
        scenario_sha256="0" * 64,
    )
