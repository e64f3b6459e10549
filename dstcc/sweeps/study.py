"""A study's file: the grid of scenarios × algorithms × seeds that a sweep runs (docs/sweeps.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import isclose, prod
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any

from dstcc.algorithms import CONTROLLERS, RENAMED
from dstcc.errors import InputError, shortened
from dstcc.extensions import anchored
from dstcc.reading import check_depth, read_toml

from .axes import Axis, axis_of, check_key, flattened, plain, zipped

MOST_TRIALS = 10_000_000
TABLES = ("study", "set", "vary", "zip", "exclude", "train")
STUDY: dict[str, type] = {
    "name": str,
    "description": str,
    "scenario": list,
    "congestion": list,
    "scheduler": list,
    "controller": list,
    "variant": list,
    "seeds": int,
    "seed": int,
    "backend": str,
    "programs": bool,
    "quality": bool,
    "trial_limit_s": float,
    "retries": int,
}
TRAIN: dict[str, type] = {"algorithm": list, "steps": int}
WORDS = {
    str: "a string",
    list: "a string or a list of strings",
    int: "a whole number",
    bool: "true or false",
    float: "a time",
}
OF_TRIALS = ("algorithm", "congestion", "scheduler", "controller", "variant", "seed")
"""What ``[[exclude]]`` may name beside the keys that vary: columns of a trial."""
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {">=": ge, "<=": le, "!=": ne, ">": gt, "<": lt}
_COMPARISON = re.compile(r"\s*(>=|<=|!=|>|<)\s*(.+?)\s*")


@dataclass(frozen=True)
class Condition:
    """What one key of an ``[[exclude]]`` says."""

    name: str
    test: Callable[[Any], bool]


@dataclass(frozen=True)
class Exclusion:
    """What is left out: where all conditions hold."""

    conditions: tuple[Condition, ...]

    def decides(self, known: Mapping[str, Any]) -> bool:
        """Whether its conditions are all about ``known`` names."""
        return all(one.name in known for one in self.conditions)

    def leaves_out(self, known: Mapping[str, Any]) -> bool:
        """Whether all of them hold."""
        return all(one.test(known[one.name]) for one in self.conditions)


@dataclass(frozen=True)
class Study:
    """A grid, read and checked as far as it can be without its scenarios."""

    name: str
    description: str
    folder: Path
    """The study's own, which relative paths are relative to."""
    scenarios: tuple[Path, ...]
    settings: tuple[tuple[str, Any], ...]
    """``[set]``: keys that all cells have."""
    axes: tuple[Axis, ...]
    exclusions: tuple[Exclusion, ...]
    algorithms: Mapping[str, tuple[str, ...]]
    """``congestion``, ``scheduler``, ``controller``, ``variant``, as on the command line; none: the scenario's."""
    seeds: int | None
    seed: int | None
    backend: str
    programs: bool
    """Whether a point is a run of the scenario's ``[programs]``."""
    quality: bool
    trial_limit_s: float | None
    retries: int | None
    trained: tuple[str, ...]
    """``[train] algorithm``."""
    steps: int | None

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that vary."""
        return tuple(key for axis in self.axes for key in axis.keys)

    @property
    def columns(self) -> tuple[str, ...]:
        """Their columns."""
        return tuple(name for axis in self.axes for name in axis.names)

    @property
    def size(self) -> int:
        """Points of the grid, those left out included."""
        return len(self.scenarios) * prod(len(axis) for axis in self.axes)

    def all_points(self) -> Iterator[Point]:
        """The points of the grid in order: the first axis varies slowest."""
        for scenario in self.scenarios:
            for rows in product(*(axis.rows for axis in self.axes)):
                yield Point(scenario, tuple(value for row in rows for value in row))

    def points(self) -> Iterator[Point]:
        """Those that are not left out."""
        for point in self.all_points():
            known = self.known(point)
            if not any(one.decides(known) and one.leaves_out(known) for one in self.exclusions):
                yield point

    def known(self, point: Point) -> dict[str, Any]:
        """What exclusions may ask of a point: its scenario, and its values by key and by column."""
        values = dict(zip(self.columns, point.values, strict=True)) | dict(
            zip(self.keys, point.values, strict=True)
        )
        return {**values, "scenario": point.scenario.stem}

    def excludes(self, known: Mapping[str, Any]) -> bool:
        """Whether a trial is left out."""
        return any(one.leaves_out(known) for one in self.exclusions)


@dataclass(frozen=True)
class Point:
    """A place in the grid."""

    scenario: Path
    values: tuple[Any, ...]
    """Of :attr:`Study.keys`."""


def load_study(path: Path, *, folder: Path | None = None, name: str | None = None) -> Study:
    """Read and check a study's file; raises :class:`InputError` naming the file, the key and the rule.

    ``folder`` is what its paths are relative to and ``name`` what it is called unless it says so: the file's own.
    """
    path = Path(path)
    try:
        document = read_toml(path, InputError)
    except FileNotFoundError:
        raise InputError(f"{path}: no such study") from None
    home = path.absolute().parent if folder is None else folder
    return parse_study(document, source=str(path), folder=home, name=name or path.stem)


def parse_study(document: Mapping[str, Any], *, source: str, folder: Path, name: str = "study") -> Study:
    """Check a study's document; ``folder`` is what its paths are relative to."""
    check_depth(document, source, InputError)
    _only(document, TABLES, source)
    study = _typed(_table(document, "study", source), STUDY, f"{source}: study")
    train = _typed(_table(document, "train", source), TRAIN, f"{source}: train")
    scenarios = _scenarios(study, source, folder)
    axes = _axes(document, source)
    settings = _settings(document, axes, source)
    known = {name: key for axis in axes for key, name in zip(axis.keys, axis.names, strict=True)}
    algorithms = {
        kind: _anchored(kind, study.get(kind, ()), folder)
        for kind in ("congestion", "scheduler", "controller", "variant")
    }
    read = Study(
        name=study.get("name", name),
        description=study.get("description", ""),
        folder=folder,
        scenarios=scenarios,
        settings=settings,
        axes=axes,
        exclusions=_exclusions(document, known, source),
        algorithms=algorithms,
        seeds=_at_least(study, "seeds", 1, source),
        seed=_at_least(study, "seed", 0, source),
        backend=study.get("backend", "simulator"),
        programs=study.get("programs", False),
        quality=study.get("quality", False),
        trial_limit_s=study.get("trial_limit_s"),
        retries=_at_least(study, "retries", 0, source),
        trained=_trained(train, source),
        steps=_at_least(train, "steps", 1, source),
    )
    if read.backend not in ("simulator", "kernel"):
        raise InputError(f"{source}: study.backend = {read.backend!r}: must be 'simulator' or 'kernel'")
    if read.programs:
        _check_programs(study, train, source)
    if read.size > MOST_TRIALS:
        raise InputError(f"{source}: {read.size:,} points are more than {MOST_TRIALS:,}")
    return read


def _check_programs(study: Mapping[str, Any], train: Mapping[str, Any], source: str) -> None:
    """What a study of trials has and one of programs has not."""
    for key in ("congestion", "scheduler", "controller", "variant", "backend", "quality"):
        if key in study:
            hint = "; programs.congestion is a key like others" if key == "congestion" else ""
            raise InputError(f"{source}: study.{key}: is of trials, not of programs{hint}")
    if train:
        raise InputError(f"{source}: train: cannot be combined with study.programs")


def _scenarios(study: Mapping[str, Any], source: str, folder: Path) -> tuple[Path, ...]:
    named = study.get("scenario", ())
    if not named:
        raise InputError(f"{source}: study.scenario: missing; the file of a scenario, or several")
    paths = tuple(folder / one for one in named)
    if len({path.stem for path in paths}) < len(paths):
        raise InputError(
            f"{source}: study.scenario: two of one name; tables tell scenarios by their files' names"
        )
    return paths


def _axes(document: Mapping[str, Any], source: str) -> tuple[Axis, ...]:
    varied = flattened(_table(document, "vary", source), f"{source}: vary")
    axes = [axis_of(key, given, f"{source}: vary.{shortened(key)}") for key, given in varied.items()]
    for place, together in enumerate(_tables(document, "zip", source)):
        where = f"{source}: zip.{place}"
        keys = flattened(together, where)
        if len(keys) < 2:
            raise InputError(f"{where}: needs two keys or more, which vary together")
        axes.append(
            zipped(
                (
                    axis_of(key, given, f"{where}.{shortened(key)}", alone=False)
                    for key, given in keys.items()
                ),
                where,
            )
        )
    for what, names in (
        ("key", [k for axis in axes for k in axis.keys]),
        ("column", [n for axis in axes for n in axis.names]),
    ):
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"{source}: the {what} {name} varies twice")
    taken = {"key", "made_by", "scenario", "status", *OF_TRIALS}
    for name in (name for axis in axes for name in axis.names):
        if name in taken:
            raise InputError(f"{source}: as = {name!r}: the tables have a column of that name")
    return tuple(axes)


def _settings(document: Mapping[str, Any], axes: Sequence[Axis], source: str) -> tuple[tuple[str, Any], ...]:
    varied = {key for axis in axes for key in axis.keys}
    settings = []
    for key, value in _leaves(_table(document, "set", source)).items():
        where = f"{source}: set.{shortened(key)}"
        check_key(key, where)
        if key in varied:
            raise InputError(f"{where}: is set and varied")
        settings.append((key, plain(key, value, where)))
    return tuple(settings)


def _leaves(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """``[set]``: a table sets each of its keys; an empty one is a value."""
    flat: dict[str, Any] = {}
    for part, value in table.items():
        key = f"{above}.{part}" if above else part
        flat |= _leaves(value, key) if isinstance(value, dict) and value else {key: value}
    return flat


def _exclusions(
    document: Mapping[str, Any], columns: Mapping[str, str], source: str
) -> tuple[Exclusion, ...]:
    """``columns`` has the key of each column."""
    found = []
    for place, table in enumerate(_tables(document, "exclude", source)):
        where = f"{source}: exclude.{place}"
        conditions = []
        for name, wanted in _leaves(table).items():
            key = columns.get(name, name)
            if key not in columns.values() and name not in (*OF_TRIALS, "scenario"):
                raise InputError(
                    f"{where}: {name} does not vary; what does: {', '.join([*columns, *OF_TRIALS])}"
                )
            conditions.append(Condition(name, _test(key, wanted, f"{where}.{name}")))
        if not conditions:
            raise InputError(f"{where}: is empty, and would leave out everything")
        found.append(Exclusion(tuple(conditions)))
    return tuple(found)


def _test(key: str, wanted: Any, where: str) -> Callable[[Any], bool]:
    if isinstance(wanted, list):
        tests = [_test(key, one, where) for one in wanted]
        return lambda value: any(test(value) for test in tests)
    match = _COMPARISON.fullmatch(wanted) if isinstance(wanted, str) else None
    if match is None:
        return partial(_same, plain(key, wanted, where))
    text = match[2]
    try:
        bound: Any = float(text)
    except ValueError:
        bound = plain(key, text, where)
    if match[1] != "!=" and not isinstance(bound, (int, float)):
        raise InputError(f"{where} = {wanted!r}: compares with a number, or one with the key's unit")
    compare = COMPARISONS[match[1]]
    return lambda value: _holds(compare, value, bound)


def _holds(compare: Callable[[Any, Any], Any], value: Any, bound: Any) -> bool:
    if compare is ne:
        return not _same(bound, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    same = isclose(value, bound, rel_tol=1e-9)
    return compare in (ge, le) if same else bool(compare(value, bound))


def _same(wanted: Any, value: Any) -> bool:
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (wanted, value))
    if numbers:
        return isclose(wanted, value, rel_tol=1e-9)
    return isinstance(wanted, bool) == isinstance(value, bool) and bool(eq(wanted, value))  # 1 is not true


def _trained(train: Mapping[str, Any], source: str) -> tuple[str, ...]:
    named = tuple(RENAMED.get(name, name) for name in train.get("algorithm", ()))
    for name in named:
        if name not in CONTROLLERS:
            raise InputError(f"{source}: train.algorithm = {name!r}: one of {', '.join(CONTROLLERS)}")
    return named


def _anchored(kind: str, names: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Files of users' algorithms and policies, found from the study's folder."""
    if kind == "controller":
        return tuple(
            str(folder / name) if "/" in name or name.endswith(".safetensors") else name for name in names
        )

    return tuple(names if kind == "variant" else (anchored(name, folder) for name in names))


def _typed(table: Mapping[str, Any], types: Mapping[str, type], where: str) -> dict[str, Any]:
    """The table with each value of its type; a string stands for a list of one, a number with a unit for seconds."""
    _only(table, types, where)
    read: dict[str, Any] = {}
    for key, given in table.items():
        wanted, value = types[key], given
        if wanted is list and isinstance(value, str):
            value = [value]
        if wanted is float:
            value = plain(key, value, where)
            value = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
            value = value if value is not None and value > 0 else None
        fits = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
        if fits and wanted is list:
            fits = bool(value) and all(isinstance(one, str) and one and "\0" not in one for one in value)
            if fits and len(set(value)) < len(value):
                raise InputError(f"{where}.{key}: has one of its entries twice")
        if not fits or value == "":
            raise InputError(f"{where}.{key} = {given!r}: must be {WORDS[wanted]}")
        read[key] = value
    return read


def _at_least(table: Mapping[str, Any], key: str, least: int, source: str) -> int | None:
    value: int | None = table.get(key)
    if value is not None and not least <= value < 2**53:
        raise InputError(f"{source}: {key} = {value}: must be at least {least}")
    return value


def _only(table: Mapping[str, Any], known: Sequence[str] | Mapping[str, Any], where: str) -> None:
    if strange := [key for key in table if key not in known]:
        raise InputError(f"{where}: unknown key {strange[0]!r}; one of {', '.join(known)}")


def _table(document: Mapping[str, Any], name: str, source: str) -> Mapping[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{source}: {name}: must be a table, [{name}]")
    return table


def _tables(document: Mapping[str, Any], name: str, source: str) -> list[Mapping[str, Any]]:
    tables = document.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise InputError(f"{source}: {name}: must be tables, [[{name}]]")
    return tables
