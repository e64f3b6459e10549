"""Writes a resolved scenario as TOML, which the loader reads back to the same scenario."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from .model import Scenario

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(scenario: Scenario) -> str:
    """TOML text with every key that has a value, defaults included; but for ``transport.mode``: a policy that has lanes
    of its own runs where nobody named a mode, and is refused in a stream that was asked for."""
    unnamed = set() if "mode" in scenario.transport.model_fields_set else {"mode"}
    document = scenario.model_dump(exclude_none=True, exclude={"transport": unnamed})
    lists = {name: document.pop(name) for name in ("node", "link", "path", "variant")}
    parts = [_table(f"[{name}]", keys) for name, keys in document.items() if keys]
    parts += [_table(f"[[{name}]]", keys) for name, tables in lists.items() for keys in tables]
    return "\n".join(parts)


def _table(heading: str, keys: dict[str, Any]) -> str:
    lines = [f"{_key(name)} = {value_text(value)}" for name, value in keys.items()]
    return "\n".join([heading, *lines, ""])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def value_text(value: Any) -> str:
    """A value as TOML, with inline tables."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(name)} = {value_text(item)}" for name, item in value.items())
        return f"{{{pairs}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_text, value))}]"
    return repr(value)


def _string(text: str) -> str:
    """A basic string; JSON's escapes are TOML's, except that TOML also requires DEL to be escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
