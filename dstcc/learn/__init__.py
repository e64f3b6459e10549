"""Controllers that learn: the environment they learn in, the policies they leave, and how a policy runs a trial.

Importing this package registers ``dstcc/DeepSpace-v1`` and ``dstcc/CodedDeepSpace-v1`` with Gymnasium, or does so when
Gymnasium is imported later (``pip install dstcc[learn]``); policies need neither Gymnasium nor torch. The names below
are imported when they are first used, so that nobody pays for what another part needs.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dstcc.errors import MissingCapabilityError
from dstcc.lazy import names_of

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

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
__getattr__ = names_of(
    __name__,
    {
        "ActionSpec": "spaces.registry",
        "DeepSpaceEnv": "env.deep_space",
        "DeepSpaceVectorEnv": "env.vector",
        "ObservationSpec": "spaces.observe",
        "Policy": "policies.policy",
        "load_policy": "policies.policy",
        "save_policy": "policies.policy",
    },
)


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


def check_installed(who: str, otherwise: str = "") -> None:
    """Raise :class:`MissingCapabilityError` without what learning needs, and say what to do ``otherwise``."""
    if missing := [name for name in ("torch", "gymnasium") if find_spec(name) is None]:
        raise MissingCapabilityError(
            f"{who} needs {', '.join(missing)}: pip install 'dstcc[learn]'{otherwise}"
        )


class _Gymnasium(MetaPathFinder):
    """Registers the environments as soon as Gymnasium is imported, which takes longer than to run a policy."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        found = find_spec(fullname)
        if found is not None and found.loader is not None:
            execute = found.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            found.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return found


if "gymnasium" in sys.modules:
    register()
else:
    sys.meta_path.insert(0, _Gymnasium())
