"""From a TOML file and ``--set`` overrides to a checked :class:`~dstcc.scenario.model.Scenario`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from dstcc.errors import ScenarioError, shortened
from dstcc.extensions import anchored, is_file
from dstcc.frozen import dataclass
from dstcc.reading import MOST_DEPTH, check_depth, parse_toml, read_toml
from dstcc.rules import rule_of, value_of
from dstcc.trust import name as trust

from .coding import is_rates_file
from .losses import LOSSES
from .model import Scenario
from .routes import found_paths, needs_routes, simple_rows
from .units import with_units
from .variant import OF_MODES

MAX_FILE_BYTES = 16 << 20
"""A scenario is written by hand; a larger file is not a scenario."""
SHOWN_PROBLEMS = 8
"""Most problems listed at once; one mistake can break many keys."""

_LOSS = frozenset(LOSSES)
ALTERNATIVES = {
    "video": frozenset({"stream", "input", "synthetic"}),
    "loss": _LOSS,
    "up_loss": _LOSS,
    "playout": frozenset({"delay_s", "delay_rtts"}),
    "run": frozenset({"slot_s", "slot_rtts"}),
}
"""Table → keys of which it holds exactly one: an override of one removes the others."""
ENDS = {
    ("video", "stream"): "encode",
    ("video", "synthetic"): "encode",
    **{(table, key): "code" for table in ("loss", "up_loss") for key in LOSSES if key != "ebn0_db"},
}
"""Further keys that such an override removes."""


EXTENDS = "extends"
"""The key of the file that a scenario's file adds to."""
MOST_EXTENDED = 8
PATHS = ("stream", "input", "profile", "contacts")
"""Keys that name files; a profile only if it looks like a path."""


class _Deleted:
    """The value of a key that is to be deleted."""

    def __repr__(self) -> str:
        return "DELETED"


DELETED = _Deleted()
ABSENT = _Deleted()
"""Likewise, of a key that need not be there."""


@dataclass(frozen=True)
class Override:
    """One ``--set KEY=VALUE``: a key path such as ``link.0.loss.packet``, and its value.

    Where a table holds one of several keys (a loss process, a source of video), the override of one removes the
    others. The value :data:`DELETED` deletes the key.
    """

    keys: tuple[str, ...]
    value: Any

    def __post_init__(self) -> None:
        """Raise :class:`ScenarioError` for a key or a value that no scenario is deep enough for."""
        where = f"--set {shortened('.'.join(self.keys))}"
        if len(self.keys) > MOST_DEPTH:
            raise ScenarioError(f"{where}: {len(self.keys)} parts of a key; at most {MOST_DEPTH}")
        check_depth(self.value, where, ScenarioError, MOST_DEPTH - len(self.keys))


def parse_override(text: str) -> Override:
    """Read ``link.0.loss.packet=1e-3``.

    The value has the type that TOML gives it; text that is not TOML (``cubic``, ``clips/a.mp4``) is a string, and an
    empty value deletes the key. Raises :class:`ScenarioError` without a key or without ``=``.
    """
    key, equals, raw = text.partition("=")
    keys = tuple(part.strip() for part in key.split("."))
    if not equals or not all(keys):
        raise ScenarioError(f"--set {text}: must be KEY=VALUE, like link.0.loss.packet=1e-3")
    if not raw.strip():
        return Override(keys, DELETED)
    try:
        parsed = parse_toml(f"value = {raw}")
    except (RecursionError, ValueError):
        return Override(keys, raw)
    return Override(keys, parsed["value"] if len(parsed) == 1 else raw)


def load_scenario(path: Path, overrides: Sequence[Override] = (), *, folder: Path | None = None) -> Scenario:
    """Read and check a scenario file; later overrides win over earlier ones and over the file.

    Relative paths in a file are relative to its folder, those in overrides to ``folder`` (the working directory).
    Python files that overrides name may run (:mod:`dstcc.trust`), unless they come from a file, which ``folder`` is of.
    Raises :class:`ScenarioError` naming the file, the key, the value and the rule that is broken.
    """
    path = Path(path)
    document, files = _extended(path)
    source = str(path) if len(files) == 1 else f"{path} (which extends {', '.join(map(str, files[1:]))})"
    for override in overrides:
        _apply(document, override, str(path))
        if folder is None:
            trust(anchored(text, Path.cwd()) for text in _texts(override.value) if is_file(text))
    _anchor(document, folder or Path.cwd(), str(path))
    return parse_scenario(with_units(document, source), source=source)


def scenario_files(path: Path) -> list[Path]:
    """The file of a scenario and those that it extends, the nearest first."""
    return _extended(Path(path))[1]


def _extended(path: Path, above: tuple[Path, ...] = ()) -> tuple[dict[str, Any], list[Path]]:
    """A file's document over those of the files that it extends, and all these files, the nearest first."""
    document = _read(path)
    base = document.pop(EXTENDS, None)
    _anchor(document, path.parent.absolute(), str(path))
    if base is None:
        return document, [path]
    if not isinstance(base, str) or not base or "\0" in base:
        raise ScenarioError(f"{path}: {EXTENDS} = {base!r}: must be the path of a scenario file")
    below = path.parent / base
    chain = (*above, path)
    if any(below.resolve() == one.resolve() for one in chain):
        raise ScenarioError(f"{path}: {EXTENDS} = {base!r}: the file extends itself")
    if len(chain) > MOST_EXTENDED:
        raise ScenarioError(
            f"{path}: {EXTENDS} = {base!r}: more than {MOST_EXTENDED} files, one over the other"
        )
    under, files = _extended(below, chain)
    return _merge(under, document), [path, *files]


def _merge(under: dict[str, Any], document: dict[str, Any], name: str = "") -> dict[str, Any]:
    """The keys of ``document`` over those of ``under``: tables key by key, all else, lists too, in their place.

    Of keys that exclude each other in the table ``name`` those of ``document`` stay.
    """
    gone = {other for own in document for other in _rivals((name, own))}
    if name == "transport" and "mode" in document:
        gone |= {key for key, modes in OF_MODES.items() if document["mode"] not in modes}  # as in a variant
    merged = {key: value for key, value in under.items() if key not in gone}
    for key, value in document.items():
        old = merged.get(key)
        tables = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = _merge(old or {}, value, key) if tables else value
    return merged


def parse_scenario(document: dict[str, Any], *, source: str) -> Scenario:
    """Check a parsed TOML document; ``source`` is its name in messages. Raises :class:`ScenarioError`."""
    try:
        _check_texts(document, source)
        if not needs_routes(document):
            return Scenario.model_validate(document)
        rows = [{"via": row} for row in simple_rows(document)]
        return Scenario.model_validate(
            {**document, "path": found_paths(Scenario.model_validate({**document, "path": rows}))}
        )
    except PydanticCustomError as error:
        context = error.context or {}
        raise ScenarioError(f"{source}: {context.get('key')}: {context.get('rule', error)}") from None
    except ValidationError as error:
        problems = [_describe(dict(item)) for item in error.errors(include_url=False)]
        hidden = len(problems) - SHOWN_PROBLEMS
        lines = [f"{source}: {problem}" for problem in problems[:SHOWN_PROBLEMS]]
        lines += [f"{source}: and {hidden} more"] if hidden > 0 else []
        raise ScenarioError("\n".join(lines)) from None
    except (RecursionError, OverflowError) as error:
        raise ScenarioError(f"{source}: a value is out of any range ({error})") from None


def _check_texts(value: Any, source: str, keys: tuple[str, ...] = ()) -> None:
    """Raise :class:`ScenarioError` for a text that is not Unicode, as of a command line's bytes that are not UTF-8."""
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        where = ": ".join(filter(None, (source, ".".join(keys))))
        raise ScenarioError(f"{where}: {value!a} is not Unicode")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_texts(key, source, keys)
            _check_texts(item, source, (*keys, str(key)))
    if isinstance(value, list):
        for place, item in enumerate(value):
            _check_texts(item, source, (*keys, str(place)))


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path, ScenarioError, MAX_FILE_BYTES)
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such scenario file") from None


def _anchor(document: dict[str, Any], folder: Path, source: str) -> None:
    """Make the paths of videos, links, algorithms and controllers absolute; relative ones are relative to ``folder``.

    Raises :class:`ScenarioError` for an impossible path.
    """
    links = document.get("link")
    for table in [document.get("video"), *(links if isinstance(links, list) else ())]:
        for key in PATHS if isinstance(table, dict) else ():
            path = table.get(key)
            if isinstance(path, str) and path and (key != "profile" or "/" in path or path.endswith(".toml")):
                if "\0" in path:
                    raise ScenarioError(f"{source}: {key} = {path!r}: no path has a NUL character")
                table[key] = str(Path(folder, path))
    programs = document.get("programs")
    if (
        isinstance(programs, dict)
        and programs.keys() & {"folder", "run"}
        and isinstance(programs.get("folder", "."), str)
    ):
        programs["folder"] = str(Path(folder, programs.get("folder", ".")))
    variants = document.get("variant")
    for table in [document.get("transport"), *(variants if isinstance(variants, list) else ())]:
        for key in ("congestion", "scheduler") if isinstance(table, dict) else ():
            if key in table:
                table[key] = _anchored(table[key], folder)
        if isinstance(table, dict) and "controller" in table:
            table["controller"] = _anchor_policies(table["controller"], folder)
    settings = (
        [one.get("set") for one in variants if isinstance(one, dict)] if isinstance(variants, list) else []
    )
    for coding in [document.get("coding"), *(one.get("coding") for one in settings if isinstance(one, dict))]:
        if isinstance(coding, dict) and is_rates_file(coding.get("repair")):
            coding["repair"] = str(Path(folder, coding["repair"]))


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(item)


def _anchored(names: Any, folder: Path) -> Any:
    if isinstance(names, list):
        return [_anchored(name, folder) for name in names]
    return anchored(names, folder) if isinstance(names, str) else names


def _anchor_policies(value: Any, folder: Path) -> Any:
    """A policy with a slash or the suffix of a policy file is a path; else it is the name of a shipped policy."""
    if isinstance(value, list):
        return [_anchor_policies(item, folder) for item in value]
    is_file = isinstance(value, str) and ("/" in value or value.endswith(".safetensors"))
    return str(Path(folder, value)) if is_file else value


def _apply(document: dict[str, Any], override: Override, source: str) -> None:
    where = f"{source}: --set {'.'.join(override.keys)}"
    if override.value is ABSENT:
        with suppress(ScenarioError):
            _delete(document, override.keys, where)
        return
    if override.value is DELETED:
        return _delete(document, override.keys, where)
    node: Any = document
    for key in override.keys[:-1]:
        node = _step(node, key, where)
    last = override.keys[-1]
    if isinstance(node, list):
        node[_index(node, last, where)] = override.value
        return
    for other in _rivals(override.keys):
        node.pop(other, None)
    if override.keys == ("transport", "mode"):
        for other, modes in OF_MODES.items():  # as in a variant
            if override.value not in modes:
                node.pop(other, None)
    node[last] = override.value


def _delete(document: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    """Delete a key, or an entry of a list."""
    node: Any = document
    for depth, key in enumerate(keys):
        place: Any = _index(node, key, where) if isinstance(node, list) else key
        if not isinstance(node, list) and (not isinstance(node, dict) or key not in node):
            raise ScenarioError(f"{where}=: there is no {'.'.join(keys[: depth + 1])} to delete")
        if depth + 1 == len(keys):
            del node[place]
        else:
            node = node[place]


def _rivals(keys: tuple[str, ...]) -> set[str]:
    """The keys that exclude the one that an override sets."""
    table, last = keys[-2] if len(keys) > 1 else "", keys[-1]
    group = ALTERNATIVES.get(table, frozenset())
    if last not in group:
        return set()
    return set(group - {last}) | ({ENDS[table, last]} if (table, last) in ENDS else set())


def _step(node: Any, key: str, where: str) -> Any:
    """The table under a key; a missing table, or a plain value in its place, becomes an empty table."""
    if isinstance(node, list):
        place: Any = _index(node, key, where)
    else:
        place = key
        node.setdefault(key, {})
    if not isinstance(node[place], (dict, list)):
        node[place] = {}
    return node[place]


def _index(items: list[Any], key: str, where: str) -> int:
    if not (key.isascii() and key.isdigit()) or int(key[:9]) >= len(items):
        raise ScenarioError(f"{where}: no entry '{key}'; there are {len(items)}, counted from 0")
    return int(key)


def _describe(item: dict[str, Any]) -> str:
    """One pydantic error as ``key.path = value: rule``."""
    keys = [str(part) for part in item["loc"] if not str(part).startswith("<")]
    context = item.get("ctx") or {}
    rule = str(item["msg"])
    if item["type"] == "rule" and "key" in context:
        return f"{'.'.join([*keys, str(context['key'])])}: {rule}"
    if item["type"] == "missing":
        return f"{'.'.join(keys)}: missing"
    inputs = item["input"]
    if item["type"] == "rule" and (isinstance(inputs, (dict, list, tuple)) or rule.startswith(repr(inputs))):
        return f"{'.'.join(keys)}: {rule}"
    return f"{'.'.join(keys)} = {value_of(item)}: {rule_of(item)}"
