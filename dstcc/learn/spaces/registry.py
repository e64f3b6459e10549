"""Every action space by its name, from keywords, and from the form that stands in policy files.

A new space is a class in a file of its own and an entry in :data:`SPACES`; what it alone has is named in
:data:`~dstcc.learn.spaces.actions.OPTIONS` with the value that stands in the files of others.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .actions import OPTIONS, ActionSpace
from .branched import JointActions, MultiActions
from .continuous import ContinuousActions
from .measured_actions import MeasuredActions
from .schedulers import SchedulerActions

SPACES: dict[str, type[ActionSpace]] = {
    "joint": JointActions,
    "multi": MultiActions,
    "measured": MeasuredActions,
    "continuous": ContinuousActions,
    "policies": SchedulerActions,
}
ENCODINGS = tuple(name for name, space in SPACES.items() if not space.measured)
"""What ``encoding`` may be; the measured space is ``multi`` with ``measured``."""
DEPARTURES = ("automatic", "copies", "measured", "orders")
"""Options that a space without them refuses; others it passes over, since the environment gives all of them."""


def make_actions(subflows: int, layers: int, encoding: str = "multi", **options: Any) -> ActionSpace:
    """The space of an encoding and its options, which are the fields of the spaces and ``measured``.

    Raises ValueError for a space that makes no sense and TypeError for an option that no space has.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"action encoding '{encoding}': one of {', '.join(ENCODINGS)}")
    space = SPACES["measured" if options.get("measured") and encoding == "multi" else encoding]
    accepted = {one.name for one in fields(space)}
    unknown = sorted(set(options) - accepted - set(OPTIONS))
    if unknown:
        raise TypeError(f"{', '.join(unknown)}: no option of an action space")
    for name in DEPARTURES:
        if options.get(name) and name not in accepted and not (name == "measured" and space.measured):
            kind = "measured" if space.measured else encoding
            needs = " without measured windows" if name == "orders" and encoding == "multi" else ""
            raise ValueError(f"{kind} actions take no {name}{needs}")
    chosen: dict[str, Any] = {name: value for name, value in options.items() if name in accepted}
    if space.measured:
        chosen.setdefault("orders", ())
    for name in chosen.keys() & {"windows", "orders"}:
        chosen[name] = tuple(chosen[name])
    return space(subflows=subflows, layers=layers, **chosen)


def parse_actions(document: dict[str, Any]) -> ActionSpace:
    """Back from :meth:`ActionSpace.document`; raises ValueError, TypeError or KeyError for what is none."""
    second = float if document.get("measured") else int
    windows = tuple((float(alpha), second(beta)) for alpha, beta in document["windows"])
    orders = tuple((float(gap), float(repair)) for gap, repair in document.get("orders", ()))
    return make_actions(**{**document, "windows": windows, "orders": orders})


ActionSpec = make_actions
"""The name that documentation and users' scripts know."""
