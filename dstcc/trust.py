"""Whose Python runs: a scenario may name a file of somebody else's, which only who calls dstcc can allow.

A file that a scenario names runs where extensions are :func:`allowed`, or where the caller names it (:func:`name`: on
the command line, as an argument). Otherwise it is refused. While :func:`looking`, nothing runs: files are read and
parsed, so that a plan can name what is wrong with them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class _Held:
    """What the caller has said. The process has it once, since trials run in threads of theirs."""

    all_allowed = False
    looking = False
    named: set[str] = set()  # noqa: RUF012 one for the process


@contextmanager
def allowed() -> Iterator[None]:
    """Let the files run that scenarios name, until the block ends."""
    before, _Held.all_allowed = _Held.all_allowed, True
    try:
        yield
    finally:
        _Held.all_allowed = before


@contextmanager
def looking() -> Iterator[None]:
    """Let nothing run, whatever is allowed, until the block ends."""
    before, _Held.looking = _Held.looking, True
    try:
        yield
    finally:
        _Held.looking = before


def name(names: Iterable[str]) -> None:
    """The caller names these: ``FILE.py:ClassName``, with an absolute path."""
    _Held.named.update(names)


def may_run(named: str) -> bool:
    """Whether the file of that name may run now."""
    return not _Held.looking and (_Held.all_allowed or named in _Held.named)


def all_allowed() -> bool:
    """Whether every file that a scenario names may run."""
    return _Held.all_allowed and not _Held.looking


def only_looking() -> bool:
    """Whether nothing may run, installed packages neither."""
    return _Held.looking


def defined(source: bytes, path: str) -> set[str] | None:
    """The names that a module defines at its top, without running it; ``None`` where an import may bring any.

    Raises :class:`SyntaxError`, and :class:`ValueError` or :class:`RecursionError` for what is no Python either.
    """
    found: set[str] = set()
    waiting: list[ast.stmt] = list(ast.parse(source, path).body)
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(statement.name)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            names = [(one.asname or one.name).partition(".")[0] for one in statement.names]
            if "*" in names:
                return None
            found.update(names)
        else:
            bound = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            found.update(node.id for node in bound if isinstance(node.ctx, ast.Store))
            waiting += [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
    return found
