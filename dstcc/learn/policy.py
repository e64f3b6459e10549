"""Policies by the name they had before the rooms; new code takes them from :mod:`dstcc.learn`."""

from __future__ import annotations

from .policies.policy import Policy, TrainedOn, load_policy, save_policy

__all__ = ["Policy", "TrainedOn", "load_policy", "save_policy"]
