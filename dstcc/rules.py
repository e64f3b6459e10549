"""What pydantic finds wrong with a document, in the words of those who wrote it: TOML's, not Python's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, time
from typing import Any

from .errors import shortened

TABLE, LIST = "must be a table", "must be a list"
RULES = {
    "tuple_type": LIST,
    "list_type": LIST,
    "dict_type": TABLE,
    "model_type": TABLE,
    "model_attributes_type": TABLE,
    "datetime_type": "must be a date with a time, like 2026-11-21T06:00:00Z",
}
"""Kind of error → the rule, where pydantic's own words name a type of Python."""


def rule_of(problem: Mapping[str, Any]) -> str:
    """The rule that is broken, one of ``ValidationError.errors()``."""
    kind, context = problem["type"], problem.get("ctx") or {}
    if kind == "too_long" and "max_length" in context:
        return f"must have at most {context['max_length']} values, has {context['actual_length']}"
    if kind == "too_short" and "min_length" in context:
        return f"must have at least {context['min_length']} values, has {context['actual_length']}"
    given = str(problem["input"])
    if kind == "float_type" and (percent := re.fullmatch(r"([\d.]+) *%", given)) is not None:
        return f"is a fraction, without %; write {percent[1]}e-2"
    text = str(problem["msg"])
    return RULES.get(kind, f"{text[0].lower()}{text[1:]}")


def value_of(problem: Mapping[str, Any]) -> str:
    """The value that breaks it, cut where it is long."""
    return shortened(_text(problem["input"]))


def _text(value: Any) -> str:
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_text(item)}' for key, item in value.items())}}}"
    return repr(value)
