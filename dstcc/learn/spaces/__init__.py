"""The two spaces of an agent: what it sees of the engine's values, and how its numbers become the engine's actions."""

from __future__ import annotations

from .actions import PAPER_WINDOWS, Actions, ActionSpace
from .branched import BranchedActions, JointActions, MultiActions
from .continuous import ContinuousActions
from .measured_actions import PLACES, SPARES, MeasuredActions
from .observe import KINDS, ObservationSpec
from .registry import ENCODINGS, SPACES, ActionSpec, make_actions, parse_actions
from .schedulers import POLICIES, SchedulerActions

__all__ = [
    "ENCODINGS",
    "KINDS",
    "PAPER_WINDOWS",
    "PLACES",
    "POLICIES",
    "SPACES",
    "SPARES",
    "ActionSpace",
    "ActionSpec",
    "Actions",
    "BranchedActions",
    "ContinuousActions",
    "JointActions",
    "MeasuredActions",
    "MultiActions",
    "ObservationSpec",
    "SchedulerActions",
    "make_actions",
    "parse_actions",
]
