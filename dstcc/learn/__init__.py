"""Controllers that learn: the environment they learn in, the policies they leave, and how a policy runs a trial.

Importing this package registers ``dstcc/DeepSpace-v1`` with Gymnasium, where Gymnasium is installed
(``pip install dstcc[learn]``); policies need neither Gymnasium nor torch.
"""

from __future__ import annotations

from importlib.util import find_spec

ENV_ID = "dstcc/DeepSpace-v1"


def register() -> None:
    """Make the environment known to ``gymnasium.make`` and ``gymnasium.make_vec``; again does nothing."""
    import gymnasium

    if ENV_ID not in gymnasium.registry:
        gymnasium.register(
            ENV_ID,
            entry_point="dstcc.learn.env:DeepSpaceEnv",
            vector_entry_point="dstcc.learn.vector_env:DeepSpaceVectorEnv",
        )


if find_spec("gymnasium") is not None:
    register()
