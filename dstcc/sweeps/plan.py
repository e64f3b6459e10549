"""What a sweep has to do: every piece of every cell, in order, with its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from dstcc.atomic import atomic_write, make_folder
from dstcc.errors import InputError, RunError
from dstcc.reading import read_json

from .axes import Axis, shown
from .pieces import Piece
from .study import MOST_TRIALS, Point, Study
from .work import Work, point_words, result_schema

MOST_TOGETHER = 16
"""Trials that a worker is handed at a time."""
UNITS = "units.json"
"""What each task of a job array carries: a file in the job's folder, which all nodes see."""
MOST_UNITS = 1 << 32
"""Bytes of it."""


@dataclass(frozen=True)
class Unit:
    """A piece of work as an executor is handed it."""

    cell: int
    id: str
    key: str

    @property
    def words(self) -> list[Any]:
        """As JSON."""
        return [self.cell, self.id, self.key]


@dataclass
class Plan:
    """All pieces of a study, in the order of its tables: by point, then as ``dstcc emulate`` orders them."""

    study: Study
    train: bool
    points: tuple[Point, ...]
    layers: int
    """The most of any cell's video."""
    extended: bool
    """Whether any of them runs somebody's own Python."""
    units: list[Unit]
    pieces: list[Piece] = field(repr=False)
    """Of each unit."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the study's tables."""
        return _schema_of(self)

    @cached_property
    def place(self) -> dict[str, int]:
        """Hash → number of the unit."""
        return {unit.key: place for place, unit in enumerate(self.units)}

    def about(self, places: Sequence[int]) -> pa.Table:
        """The columns that say which trials these are."""
        import pyarrow as pa

        points = self.points
        columns: dict[str, list[Any]] = {
            "key": [self.units[place].key for place in places],
            "made_by": [self.pieces[place].made_by for place in places],
            "scenario": [points[self.units[place].cell].scenario.stem for place in places],
        }
        cells = [points[self.units[place].cell].values for place in places]
        for number, name in enumerate(self.study.columns):
            columns[name] = [_cell_value(self.schema.field(name).type, values[number]) for values in cells]
        for name in ("algorithm", "congestion", "scheduler", "controller", "variant", "seed"):
            columns[name] = [self.pieces[place].facts[name] for place in places]
        return pa.table(
            {name: pa.array(values, self.schema.field(name).type) for name, values in columns.items()}
        )

    def batches(self, wanted: Sequence[int]) -> Iterator[list[Unit]]:
        """Units in the order to run them: those of a cell and seed together, which share links and losses, and such
        groups in an order drawn from their hashes, so that what is done is at any time a fair sample of what is left.
        """
        groups = [
            [self.units[place] for place in group]
            for _, group in groupby(
                sorted(wanted, key=lambda place: (self.units[place].cell, self._seed(place), place)),
                key=lambda place: (self.units[place].cell, self._seed(place)),
            )
        ]
        for group in sorted(groups, key=lambda group: hashlib.sha256(group[0].key.encode()).digest()):
            most = 1 if self.train else MOST_TOGETHER
            yield from (group[first : first + most] for first in range(0, len(group), most))

    def _seed(self, place: int) -> int:
        return int(self.pieces[place].facts["seed"])

    def words(self, unit: Unit) -> str:
        """A unit as messages name it."""
        return f"{unit.id} of {point_words(self.study, self.points[unit.cell])}"


def make_plan(
    work: Work, advance: Callable[[], None] = lambda: None, *, only: Sequence[int] | None = None
) -> Plan:
    """Read every cell, or ``only`` these.

    Raises :class:`InputError` for a point that cannot run, for two pieces that are the same, and for a study of none.
    """
    study, layers, extended = work.study, 1, False
    units: list[Unit] = []
    pieces: list[Piece] = []
    first: dict[str, int] = {}
    for number in range(len(work.points)) if only is None else only:
        cell = work.cell(number)
        layers, extended = max(layers, cell.layers), extended or cell.extended
        for piece in cell.pieces:
            unit = Unit(number, piece.id, piece.key)
            if piece.key in first:
                other = units[first[piece.key]]
                raise InputError(
                    f"{study.name}: {other.id} of {point_words(study, work.points[other.cell])} and {unit.id} of "
                    f"{point_words(study, work.points[number])} are the same trial: "
                    f"{_varied(study, work.points[other.cell], work.points[number])} has no effect there; [[exclude]] "
                    "leaves one out"
                )
            first[piece.key] = len(units)
            units.append(unit)
            pieces.append(piece)
        if len(units) > MOST_TRIALS:
            raise InputError(f"{study.name}: more than {MOST_TRIALS:,} trials")
        advance()
    if not units:
        raise InputError(f"{study.name}: has no trials; what its [[exclude]] leave out is everything")
    return Plan(study, work.train, work.points, layers, extended, units, pieces)


def _varied(study: Study, one: Point, other: Point) -> str:
    """The keys in which two points differ, as messages name them."""
    pairs = zip(study.keys, one.values, other.values, strict=True)
    return " and ".join(key for key, first, second in pairs if first != second) or "something that varies"


def _schema_of(plan: Plan) -> pa.Schema:
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    varied = []
    for name in plan.study.columns:
        values = [value for axis in plan.study.axes for value in _values(axis, name)]
        varied.append(pa.field(name, _type_of(values)))
    return pa.schema(
        [
            pa.field("key", text, nullable=False),
            pa.field("made_by", text, nullable=False),
            pa.field("scenario", text, nullable=False),
            *varied,
            pa.field("algorithm", text, nullable=False),
            *(pa.field(name, text) for name in ("congestion", "scheduler", "controller", "variant")),
            pa.field("seed", number, nullable=False),
            *(() if plan.study.programs else result_schema(plan.train, plan.layers)),
        ]
    )


def _values(axis: Axis, name: str) -> list[Any]:
    if name not in axis.names:
        return []
    place = axis.names.index(name)
    return [row[place] for row in axis.rows]


def _type_of(values: Sequence[Any]) -> pa.DataType:
    """Of a column of these values; an empty text, which deletes the key, is null there."""
    import pyarrow as pa

    there = [value for value in values if value != ""]
    if there and all(isinstance(value, bool) for value in there):
        return pa.bool_()
    if there and all(isinstance(value, int) and not isinstance(value, bool) for value in there):
        return pa.int64()
    if there and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in there):
        return pa.float64()
    return pa.string()


def _cell_value(kind: pa.DataType, value: Any) -> Any:
    """A value as its column holds it: what is no text is JSON in a column of texts."""
    import pyarrow as pa

    if value == "":
        return None
    if kind == pa.string() and not isinstance(value, str):
        return json.dumps(shown(value), ensure_ascii=False)
    return float(value) if kind == pa.float64() else value


def write_units(folder: Path, shares: Sequence[Sequence[Unit]], limit_s: float) -> None:
    """Write what each task of a job carries; ``limit_s`` is the most that one unit may take."""
    make_folder(folder)
    document = {"limit_s": limit_s, "shares": [[unit.words for unit in share] for share in shares]}
    atomic_write(folder / UNITS, json.dumps(document))


def read_units(folder: Path, task: int) -> tuple[list[Unit], float]:
    """A task's units and their limit; raises :class:`RunError` for a job that is not there or damaged."""
    path = folder / UNITS
    try:
        document = read_json(path, RunError, MOST_UNITS)
        units = [Unit(int(cell), str(name), str(key)) for cell, name, key in document["shares"][task]]
        return units, float(document["limit_s"])
    except FileNotFoundError:
        raise RunError(f"{path}: no such job") from None
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise RunError(f"{path}: damaged ({error})") from None
