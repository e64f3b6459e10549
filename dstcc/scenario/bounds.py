"""The bounds of ``[expect]``: ``playback_ratio = ">= 0.98"``, ``"cubic.startup_s" = "< 9000"``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from dstcc.algorithms import NO_SCHEDULER, TRANSFERS, rule_for
from dstcc.metrics import METRICS, is_metric

from .fields import broken

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_BOUND = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*")


@dataclass(frozen=True)
class Bound:
    """One line of ``[expect]``."""

    key: str
    """As written: a metric, or ``congestion.metric``, or ``congestion+scheduler.metric``."""
    text: str
    metric: str
    congestion: str | None
    """Only trials of this congestion control; all of them when ``None``."""
    scheduler: str | None
    compare: Callable[[float, float], bool]
    limit: float

    def covers(self, congestion: str, scheduler: str) -> bool:
        """Whether a trial of these algorithms must keep the bound."""
        return self.congestion in (None, congestion) and self.scheduler in (None, scheduler)

    def holds(self, value: float | None) -> bool:
        """Whether ``value`` keeps the bound; a metric without a value (null) never does."""
        return value is not None and self.compare(value, self.limit)


def parse_bound(key: str, text: str) -> Bound:
    """Read one line of ``[expect]``; an unknown metric or algorithm or a bound of another form is an
    error."""
    match = _BOUND.fullmatch(text)
    if match is None:
        raise broken(
            f'a bound is a comparison and a number, like ">= 0.98" or "< 9000", not "{text}"', key=key
        )
    who, _, metric = ("", "", key) if is_metric(key) else key.partition(".")
    if not is_metric(metric):
        name = metric or who
        near = get_close_matches(name, METRICS, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(METRICS)}"
        raise broken(f"no metric '{name}'; {hint}", key=key)
    congestion, _, scheduler = who.partition("+")
    unscheduled = congestion in TRANSFERS and scheduler == NO_SCHEDULER
    for name, kind in ((congestion, "congestion"), ("" if unscheduled else scheduler, "scheduler")):
        class_name = name[:1].isupper() and name.isidentifier()  # a FILE.py:ClassName goes by its class
        rule = rule_for(name, kind) if name and not class_name else None
        if rule is not None:
            raise broken(f"'{name}': {rule}", key=key)
    compare = COMPARE[match[1]]
    return Bound(key, text.strip(), metric, congestion or None, scheduler or None, compare, float(match[2]))


def _flatten(value: Any) -> Any:
    """``cubic.startup_s = "< 9"`` without quotes round the key is a table in a table: join the names
    again."""
    if not isinstance(value, dict):
        return value
    flat: dict[str, Any] = {}
    for key, item in value.items():
        inner = _flatten(item)
        if isinstance(inner, dict):
            flat.update({f"{key}.{name}": bound for name, bound in inner.items()})
        else:
            flat[str(key)] = inner
    return flat


def _parsed(bounds: dict[str, str]) -> dict[str, str]:
    for key, text in bounds.items():
        parse_bound(key, text)
    return bounds


Bounds = Annotated[dict[str, str], BeforeValidator(_flatten), AfterValidator(_parsed)]
"""``[expect]`` with every bound readable."""
