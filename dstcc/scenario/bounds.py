"""The bounds of ``[expect]``: ``playback_ratio = ">= 0.98"``, ``"cubic.own_share" = ">= 0.15, <= 0.35"``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Annotated

from dstcc.algorithms import NO_SCHEDULER, TRANSFERS, rule_for
from dstcc.algorithms import controllers as known_controllers
from dstcc.errors import near_or_known
from dstcc.frozen import dataclass
from dstcc.metrics import METRICS, is_metric

from .fields import WithDots, broken

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
OF_PROGRAMS = "programs."
"""How the keys of bounds on a run of programs begin; what follows is one of its numbers (docs/programs.md)."""
_BOUND = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*")


@dataclass(frozen=True)
class Bound:
    """One line of ``[expect]``."""

    key: str
    """The key in the file: a metric, or that of one contender: ``congestion.metric``, ``congestion+scheduler.metric``,
    ``controller.metric`` or ``label.metric``."""
    text: str
    metric: str
    congestion: str | None
    """Only trials of this congestion control, without variants."""
    scheduler: str | None
    name: str | None
    """Only trials of the variant of this label, or of the controller of this name without variants. A bound without
    congestion control and name is for all trials."""
    limits: tuple[tuple[Callable[[float, float], bool], float], ...]
    """The comparisons that must all hold."""

    def covers(
        self, congestion: str, scheduler: str, variant: str | None = None, controller: str | None = None
    ) -> bool:
        """Whether a trial of these algorithms must keep the bound."""
        if self.congestion is None:
            return self.name is None or self.name == (variant or controller)
        return variant is None and self.congestion == congestion and self.scheduler in (None, scheduler)

    def holds(self, value: float | None) -> bool:
        """Whether ``value`` keeps the bound; a metric without a value (null) never does."""
        return value is not None and all(compare(value, limit) for compare, limit in self.limits)


def parse_bound(key: str, text: str, names: Collection[str] | None = ()) -> Bound:
    """Read one line of ``[expect]``; ``names`` are the labels of the scenario's variants and the names of its
    controllers, beside which those of shipped policies hold (``None``: a name that is not an algorithm is one of
    these). An unknown metric or name or a malformed bound is an error; which numbers programs have, their run shows."""
    matches = [_BOUND.fullmatch(part) for part in text.split(",")]
    limits = tuple((COMPARE[match[1]], float(match[2])) for match in matches if match is not None)
    if len(limits) < len(matches):
        rule = 'a bound is a comparison and a number, like ">= 0.98" or "< 9000", or several with commas'
        raise broken(f'{rule}, not "{text}"', key=key)
    if key.startswith(OF_PROGRAMS):
        return Bound(key, text.strip(), key.removeprefix(OF_PROGRAMS), None, None, None, limits)
    who, metric = _split(key)
    if not is_metric(metric):
        name = metric or who
        raise broken(f"no metric '{name}'; {near_or_known(name, METRICS)}", key=key)
    if who in (names or ()) or who in known_controllers():
        return Bound(key, text.strip(), metric, None, None, who, limits)
    congestion, _, scheduler = who.partition("+")
    problem = _unknown(congestion, scheduler)
    if problem is not None and names is not None:
        controllers = ", ".join(sorted({*names, *known_controllers()}))
        raise broken(f"{problem}; controllers and variants here: {controllers}", key=key)
    if problem is not None:
        return Bound(key, text.strip(), metric, None, None, who, limits)
    return Bound(key, text.strip(), metric, congestion or None, scheduler or None, None, limits)


def without(bounds: Mapping[str, str], gone: Collection[str]) -> dict[str, str]:
    """The lines of ``[expect]`` that are not of these contenders."""
    return {key: text for key, text in bounds.items() if _split(key)[0] not in gone}


def _split(key: str) -> tuple[str, str]:
    """A contender's name, which may have dots, and a metric; the last part where it ends in none."""
    if is_metric(key):
        return "", key
    parts = key.split(".")
    for end in range(1, len(parts)):
        metric = ".".join(parts[end:])
        if is_metric(metric):
            return ".".join(parts[:end]), metric
    who, _, metric = key.partition(".")
    return who, metric


def _unknown(congestion: str, scheduler: str) -> str | None:
    """Why one of the two is not an algorithm's name; ``None`` for empty names."""
    unscheduled = congestion in TRANSFERS and scheduler == NO_SCHEDULER
    for name, kind in ((congestion, "congestion"), ("" if unscheduled else scheduler, "scheduler")):
        class_name = name[:1].isupper() and name.isidentifier()  # a FILE.py:ClassName goes by its class
        rule = rule_for(name, kind) if name and not class_name else None
        if rule is not None:
            return f"'{name}': {rule}"
    return None


Bounds = Annotated[dict[str, str], WithDots]
"""``[expect]``; the scenario checks that each bound is valid, since it knows its variants."""
