"""A study's results in Parquet: parts that are written whole, readable at any time, and in the end always the same.

A part has the rows of up to :data:`PART_ROWS` trials and a name made of their hashes, so that copying the parts of one
study beside those of another loses nothing. While a sweep runs, fresh results become parts of their own every few
seconds. :func:`settle` then puts all rows in the study's order into parts of full size: whoever ran the trials, where
and in which order, the parts are the same bytes. Until then a trial may be in two parts, as after a crash or a copy,
with the same values: readers take one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dstcc.atomic import atomic_file, atomic_write, make_folder, remove_file, sweep_folder
from dstcc.errors import RunError
from dstcc.parquet import UNREADABLE, parquet_file, rows_of
from dstcc.reading import check_regular, file_sha256, read_json
from dstcc.version import __version__

from .places import SCHEMA, Place

if TYPE_CHECKING:
    from .plan import Plan

T = TypeVar("T")
PART_ROWS = 1 << 16
GLOB = "part-*.parquet"
IDENTITY = ("key", "made_by")
"""Columns that every part has."""


def parts_in(folder: Path) -> list[Path]:
    """The parts in a folder, in a fixed order."""
    return sorted(folder.glob(GLOB))


def read_steadily(place: Place, read: Callable[[], T]) -> T:
    """What ``read`` makes of the parts, which :func:`settle` may replace meanwhile: then it reads those that are there
    now."""
    while True:
        there = parts_in(place.trials)
        try:
            return read()
        except RunError:
            if parts_in(place.trials) == there:
                raise


def known_keys(place: Place) -> pa.Array:
    """The hashes of all results that are in parts."""
    found = [read_part(part, ["key"])["key"] for part in _all_parts(place)]
    chunks = [chunk for column in found for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.string()).combine_chunks() if chunks else pa.array([], pa.string())


def makers(place: Place) -> dict[str, int]:
    """How many of the results are by whom (``made_by``), those that the study does not ask for included."""
    counted: dict[str, int] = {}
    for part in _all_parts(place):
        for entry in pc.value_counts(read_part(part, ["made_by"])["made_by"]).to_pylist():
            counted[entry["values"]] = counted.get(entry["values"], 0) + entry["counts"]
    return counted


def missing(plan: Plan, place: Place) -> list[int]:
    """The numbers of the units of a plan that have no result. Raises :class:`RunError` as :func:`check_parts` does."""
    check_parts(place)
    done = pc.is_in(pa.array([unit.key for unit in plan.units], pa.string()), known_keys(place)).to_numpy(
        zero_copy_only=False
    )
    fresh = set(place.fresh.found())
    return [number for number, unit in enumerate(plan.units) if not done[number] and unit.key not in fresh]


def fold(plan: Plan, place: Place, keys: Iterable[str] | None = None) -> int:
    """Put fresh results into a part, and return how many there were; all, or those of ``keys``.

    Results that the plan does not ask for stay where they are.
    """
    store = place.fresh
    wanted = [key for key in (store.found() if keys is None else keys) if key in plan.place]
    rows: dict[str, dict[str, Any]] = {}
    for key in wanted:
        with suppress(FileNotFoundError):  # another process has put it into a part
            rows[key] = store.load(key)[0]["row"]
    numbers = sorted(plan.place[key] for key in rows)
    for first in range(0, len(numbers), PART_ROWS):
        some = numbers[first : first + PART_ROWS]
        table = plan.about(some)
        found = [rows[plan.units[number].key] for number in some]
        schema = _numbers(found) if plan.study.programs else _results(plan.schema)
        results = pa.Table.from_pylist(found, schema=schema)
        for name in results.column_names:
            table = table.append_column(name, results[name])
        write_part(place.trials, table.cast(_whole(plan, schema)))
    for key in rows:
        store.discard(key)
    return len(rows)


def take_in(place: Place, other: Place) -> None:
    """Copy the results of another folder of the study beside those of ``place``; what is there already stays.

    Raises :class:`~dstcc.errors.RunError` for a folder that is no study, and for a part that is damaged.
    """
    other.about()
    check_parts(other)
    for part in _all_parts(other):
        read_part(part, IDENTITY)
        target = place.others / part.name
        if not target.exists():
            make_folder(place.others)
            with atomic_file(target) as temporary:
                shutil.copyfile(part, temporary)
    for key in other.fresh.found():
        if not place.fresh.has(key):
            place.fresh.save(key, *other.fresh.load(key))


def settle(plan: Plan, place: Place) -> None:
    """Put the rows of all parts in order: the study's into ``trials``, what it does not ask for into ``others``."""
    _tidy(place)
    old = _all_parts(place)
    if settled_parts(place) is not None and not parts_in(place.others) and _all_of(plan, place):
        return
    # whoever is stopped below may leave a part of the same name with other columns: no list says that it rotted
    remove_file(place.parts)
    own, others = _sorted_out(plan, old)
    own = _once(own)
    table, numbers = own.drop_columns(["unit"]), own["unit"].to_numpy()
    if plan.study.programs:
        table = table.select(_in_order(table))
    trials = [
        write_part(
            place.trials, _own(plan, table.slice(first, PART_ROWS), numbers[first : first + PART_ROWS])
        )
        for first in range(0, table.num_rows, PART_ROWS)
    ]
    aside = {write_part(place.others, rows) for rows in others}
    sums = {part.name: file_sha256(part, RunError) for part in trials}
    atomic_write(place.parts, json.dumps({"schema": SCHEMA, "parts": list(sums), "sha256": sums}))
    for part in old:
        if part not in {*trials, *aside}:
            part.unlink(missing_ok=True)


def _tidy(place: Place) -> None:
    """Remove what killed processes left: temporary files, and failures of trials that have a result since."""
    place.fresh.sweep()
    for folder in (place.trials, place.others, place.failed):
        sweep_folder(folder)
    if failed := {file.stem for file in place.failed.glob("*.json")}:
        for key in sorted(failed.intersection(known_keys(place).to_pylist())):
            place.unfail(key)


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A part, or columns of it; raises :class:`RunError` naming a file that is damaged or no part."""
    check_regular(path, RunError)
    try:
        with parquet_file(path) as file:
            lacking = [name for name in (columns or IDENTITY) if name not in file.schema_arrow.names]
            if lacking:
                raise RunError(f"{path}: no part of a study: it has no column {lacking[0]}")
            return rows_of(file, columns or None)
    except UNREADABLE as error:
        raise RunError(f"{path}: damaged ({error}); without it, its trials run again") from None


def write_part(folder: Path, table: pa.Table) -> Path:
    """Write a part, named by its trials' hashes; one of the same name has the same rows and is replaced."""
    make_folder(folder)
    digest = hashlib.sha256("".join(table["key"].to_pylist()).encode()).hexdigest()
    path = folder / f"part-{digest[:16]}.parquet"
    about = {"dstcc": json.dumps({"version": __version__, "schema": SCHEMA})}
    with atomic_file(path) as temporary:
        pq.write_table(
            table.replace_schema_metadata(about),
            temporary,
            compression="zstd",
            row_group_size=PART_ROWS,
            write_page_checksum=True,
            use_dictionary=[
                field.name for field in table.schema if field.type == pa.string() and field.name != "key"
            ],
        )
    return path


def _all_parts(place: Place) -> list[Path]:
    return [*parts_in(place.trials), *parts_in(place.others)]


def _results(schema: pa.Schema) -> pa.Schema:
    """The columns that come after the seed: a result's own."""
    return pa.schema(list(schema)[schema.get_field_index("seed") + 1 :])


def _numbers(rows: Sequence[Mapping[str, Any]]) -> pa.Schema:
    """The columns of runs of programs: all numbers that any has, in the order in which they come."""
    return pa.schema(
        [pa.field(name, pa.float64()) for name in dict.fromkeys(name for row in rows for name in row)]
    )


def _in_order(table: pa.Table) -> list[str]:
    """The columns that have a number, the same whatever parts they come from: those of the whole run first."""
    there = [name for name in table.column_names if table[name].null_count < table.num_rows]
    return sorted(there, key=lambda name: ("." in name, name))


def _whole(plan: Plan, results: pa.Schema) -> pa.Schema:
    """The columns of a part: the plan's own, and those of its results."""
    return pa.schema([*list(plan.schema)[: plan.schema.get_field_index("seed") + 1], *results])


def _sorted_out(plan: Plan, parts: Sequence[Path]) -> tuple[pa.Table, list[pa.Table]]:
    """The rows that the plan asks for, with their numbers as ``unit``, and of each part the rows that it does not."""
    wanted = pa.array([unit.key for unit in plan.units], pa.string())
    schema = None if plan.study.programs else _results(plan.schema)
    own = [pa.table({"unit": pa.array([], pa.int32())})]
    others: list[pa.Table] = []
    seen = pa.array([], pa.string())
    for part in parts:
        rows = read_part(part)
        unit = pc.index_in(rows["key"], wanted).combine_chunks()
        results = _results(rows.schema).names if schema is None else schema.names
        results = [name for name in results if name in rows.column_names]
        mine = rows.select(results).append_column("unit", unit).filter(pc.is_valid(unit))
        own.append(mine)
        left = pc.and_(pc.is_null(unit), pc.invert(pc.is_in(rows["key"], seen).combine_chunks()))
        rest = rows.filter(left)
        if rest.num_rows:
            seen = pa.concat_arrays([seen, rest["key"].combine_chunks()])
            others.append(rest)
    return pa.concat_tables(own, promote_options="permissive").combine_chunks(), others


def _once(table: pa.Table) -> pa.Table:
    """Sorted by unit, with one row of each."""
    table = table.take(pc.sort_indices(table["unit"]))
    if table.num_rows < 2:
        return table
    column = table["unit"].combine_chunks()
    new = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
    return table.filter(pa.concat_arrays([pa.array([True]), new]))


def _own(plan: Plan, rows: pa.Table, numbers: Sequence[int]) -> pa.Table:
    """Rows of a plan with the plan's own columns, whatever the study called them before."""
    table = plan.about([int(number) for number in numbers])
    schema = rows.schema if plan.study.programs else _results(plan.schema)
    for field in schema:
        have = field.name in rows.column_names
        column = rows[field.name].cast(field.type) if have else pa.nulls(rows.num_rows, field.type)
        table = table.append_column(field.name, column)
    return table.cast(_whole(plan, schema))


def check_parts(place: Place) -> None:
    """Raise :class:`RunError` naming a part that :func:`settle` wrote and that rotted or was edited since."""
    try:
        sums = dict(read_json(place.parts, RunError).get("sha256", {}))
    except (OSError, RunError, TypeError, ValueError, AttributeError):
        return  # of another version, or damaged: then the parts are read as before they were in order
    for part in settled_parts(place) or ():
        if part.name in sums and file_sha256(part, RunError) != sums[part.name]:
            raise RunError(
                f"{part}: changed since it was written: {place.parts.name} has another checksum. "
                "Restore it; without it, its trials run again"
            )


def settled_parts(place: Place) -> list[Path] | None:
    """The parts in the study's order, if they are those that :func:`settle` wrote last, so that no trial is twice."""
    try:
        names = [str(name) for name in read_json(place.parts, RunError)["parts"]]
    except (OSError, RunError, KeyError, TypeError):
        return None
    there = {part.name: part for part in parts_in(place.trials)}
    return [there[name] for name in names] if there.keys() == set(names) else None


def _all_of(plan: Plan, place: Place) -> bool:
    """Whether the parts have the plan's columns and no trial that it does not ask for."""
    schemas = []
    for part in parts_in(place.trials):
        with parquet_file(part) as file:
            schemas.append(file.schema_arrow.remove_metadata())
    for schema in schemas:
        if not schema.equals(_whole(plan, _results(schemas[0])) if plan.study.programs else plan.schema):
            return False
    return bool(pc.all(pc.is_in(known_keys(place), pa.array(list(plan.place), pa.string()))).as_py())
