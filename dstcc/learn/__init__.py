"""Controllers that learn: the environment they learn in, the policies they leave, and how a policy runs a trial.

Importing this package registers ``dstcc/DeepSpace-v1`` and ``dstcc/CodedDeepSpace-v1`` with Gymnasium, where it is
installed (``pip install dstcc[learn]``); policies need neither Gymnasium nor torch. The names below are imported from
their rooms when they are first asked for, so that nobody pays for what another part needs.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .env.deep_space import DeepSpaceEnv
    from .env.vector import DeepSpaceVectorEnv
    from .policies.policy import Policy, load_policy, save_policy
    from .spaces.observe import ObservationSpec
    from .spaces.registry import ActionSpec

__all__ = [
    "ENV_ID",
    "ActionSpec",
    "DeepSpaceEnv",
    "DeepSpaceVectorEnv",
    "ObservationSpec",
    "Policy",
    "load_policy",
    "register",
    "save_policy",
]

ENV_ID = "dstcc/DeepSpace-v1"
CODED_ENV_ID = "dstcc/CodedDeepSpace-v1"
_ROOMS = {
    "ActionSpec": "spaces.registry",
    "DeepSpaceEnv": "env.deep_space",
    "DeepSpaceVectorEnv": "env.vector",
    "ObservationSpec": "spaces.observe",
    "Policy": "policies.policy",
    "load_policy": "policies.policy",
    "save_policy": "policies.policy",
}
"""Where a name of this package lies."""


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)


def register() -> None:
    """Make the environment known to ``gymnasium.make`` and ``gymnasium.make_vec``; again does nothing."""
    import gymnasium

    if ENV_ID not in gymnasium.registry:
        gymnasium.register(
            ENV_ID,
            entry_point="dstcc.learn.env.deep_space:DeepSpaceEnv",
            vector_entry_point="dstcc.learn.env.vector:DeepSpaceVectorEnv",
        )
        gymnasium.register(CODED_ENV_ID, entry_point="dstcc.learn.env.coded:CodedDeepSpaceEnv")


if find_spec("gymnasium") is not None:
    register()
