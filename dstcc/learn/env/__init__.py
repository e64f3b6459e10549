"""Trials that an agent steers: episodes of scenarios, rewards, the runner, and Gymnasium's two environments on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dstcc.lazy import names_of

if TYPE_CHECKING:
    from .deep_space import DeepSpaceEnv
    from .vector import DeepSpaceVectorEnv

__all__ = ["DeepSpaceEnv", "DeepSpaceVectorEnv"]


# Gymnasium is imported for these, and policies must run without it
__getattr__ = names_of(__name__, {"DeepSpaceEnv": "deep_space", "DeepSpaceVectorEnv": "vector"})
