"""Policies by the name they had before the rooms; new code takes them from :mod:`dstcc.learn`."""

from __future__ import annotations

from .policies.controller import TrainedOn
from .policies.policy import Policy, load_policy, save_policy

__all__ = ["Policy", "TrainedOn", "load_policy", "save_policy"]
