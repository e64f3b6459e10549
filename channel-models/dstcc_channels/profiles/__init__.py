"""Link profiles: named links with their figures and sources, as TOML files beside this module.

:func:`profile_names` lists what is shipped; :func:`load_profile` takes one of these names or the path of a file.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dstcc.errors import InputError
from dstcc.reading import read_toml
from dstcc.rules import rule_of, value_of

from ..data import nearest
from .abstract import LOSSES
from .model import Direction, Down, FixedUp, Profile, Up

__all__ = ["Direction", "Down", "FixedUp", "Profile", "Up", "load_profile", "profile_names"]

MAX_FILE_BYTES = 1 << 20
"""A profile is written by hand; a larger file is not a profile."""


def profile_names() -> tuple[str, ...]:
    """The shipped profiles, sorted."""
    shipped = Path(str(files(__package__)))
    return tuple(sorted(path.stem for path in shipped.glob("*.toml")))


def load_profile(name_or_path: str | Path, losses: tuple[str, ...] = LOSSES) -> Profile:
    """Read a shipped profile by name, or a file by path (with a ``/`` or ending in ``.toml``).

    ``losses`` are the keys that an abstract profile's loss may have: a scenario knows more of them. Raises
    :class:`InputError` naming the file, the key and the rule that is broken, or the existing names.
    """
    text = str(name_or_path)
    if "/" in text or text.endswith(".toml"):
        path = Path(text)
    elif text in profile_names():
        path = Path(str(files(__package__)), f"{text}.toml")
    else:
        raise InputError(
            f"profile = {text!r}: not known; {nearest(text, profile_names())}, or a file ending in .toml"
        )
    document = _read(path)
    for key in ("name", "file"):
        if key in document:
            raise InputError(f"{path}: {key}: is the file's own; leave it out")
    return _checked({**document, "name": path.stem, "file": path}, str(path), losses)


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path, InputError, MAX_FILE_BYTES)
    except FileNotFoundError:
        raise InputError(f"{path}: no such profile file") from None


def _checked(document: dict[str, Any], source: str, losses: tuple[str, ...]) -> Profile:
    try:
        return Profile.model_validate(document, context=losses)
    except ValidationError as error:
        raise InputError("\n".join(f"{source}: {_describe(dict(item))}" for item in error.errors())) from None
    except InputError as error:
        raise InputError(f"{source}: path.{error}") from None


def _describe(item: dict[str, Any]) -> str:
    """One pydantic error as ``key.path = value: rule``."""
    keys = ".".join(str(part) for part in item["loc"] if not str(part).startswith("<"))
    rule = str(item["msg"])
    if item["type"] == "missing":
        return f"{keys}: missing"
    if item["type"] == "rule":
        return f"{keys}: {rule}" if keys else rule
    return f"{keys} = {value_of(item)}: {rule_of(item)}"
