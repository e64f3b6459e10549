"""Tuned rules as a file: JSON, with what they were tuned on and at what expense."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_write
from dstcc.errors import InputError
from dstcc.reading import read_json

from .rules import rule_of
from .seen import Sender

SCHEMA = 1
SHIPPED = Path(__file__).parent / "rules.json"
"""Those tuned on examples/learning/training."""


def load_rules(path: Path) -> list[Sender]:
    """The rules of a file. Raises :class:`InputError` for what is none."""
    return [_rule(path, number, one) for number, one in enumerate(_read(path)["rules"])]


def load_documents(path: Path) -> list[dict[str, Any]]:
    """The rules of a file in their stored form; errors as :func:`load_rules`."""
    load_rules(path)
    rules: list[dict[str, Any]] = _read(path)["rules"]
    return rules


def _rule(path: Path, number: int, document: Any) -> Sender:
    try:
        if not isinstance(document, dict):
            raise ValueError("a rule is a table")
        return rule_of(document)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{path}: rules.{number}: {error}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        document = read_json(path, InputError)
    except FileNotFoundError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if not isinstance(document, dict) or not isinstance(document.get("rules"), list):
        raise InputError(f"{path}: no rules of a ladder: a table with a list of rules")
    if document.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema = {document.get('schema')!r}: this version reads {SCHEMA}")
    return document


def save_rules(path: Path, rules: Sequence[dict[str, Any]], about: dict[str, Any]) -> None:
    """Write them, whole or not at all."""
    text = json.dumps({"schema": SCHEMA, **about, "rules": list(rules)}, indent=2, ensure_ascii=False)
    atomic_write(path, text + "\n")
