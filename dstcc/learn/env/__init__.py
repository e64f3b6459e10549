"""Trials that an agent steers: episodes of scenarios, rewards, the runner, and Gymnasium's two environments on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .deep_space import DeepSpaceEnv
    from .vector import DeepSpaceVectorEnv

__all__ = ["DeepSpaceEnv", "DeepSpaceVectorEnv"]


def __getattr__(name: str) -> Any:
    """The environments, imported when first asked for: they need Gymnasium, and policies must run without it."""
    if name == "DeepSpaceEnv":
        from .deep_space import DeepSpaceEnv

        return DeepSpaceEnv
    if name == "DeepSpaceVectorEnv":
        from .vector import DeepSpaceVectorEnv

        return DeepSpaceVectorEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
