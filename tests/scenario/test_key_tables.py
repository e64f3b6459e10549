"""The tables of keys in docs/scenario.md are the schema's: keys, which are required, choices, bounds, defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dstcc.scenario.model import Scenario

PAGE = Path(__file__).parents[2] / "docs/scenario.md"
HELD_BY_RULES = {("Link", "rate_bps"), ("Link", "delay_s")}
"""Required unless a profile, a plan or a node gives them, which a validator holds."""
DEPENDS = {("Transport", "mode"), ("Transport", "handshake")}
"""Their default depends on the congestion control; the schema has that of most."""


@dataclass(frozen=True)
class Row:
    """A key as its table has it."""

    key: str
    italic: bool
    said: str
    """The column of types and defaults; empty where the table has none."""


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for kind in parts(field.annotation):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from models(kind)


def parts(annotation: Any) -> Iterator[Any]:
    """Whatever an annotation is made of, itself included."""
    yield annotation
    for inner in get_args(annotation) if get_origin(annotation) is not Literal else ():
        yield from parts(inner)


def fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def tables() -> Iterator[list[Row]]:
    for block in re.findall(r"(?m)((?:^\|.*\n)+)", PAGE.read_text()):
        heading, _, *lines = ([cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines())
        if heading[0].startswith("key"):
            yield [row for cells in lines for row in rows_of(cells[0], cells[1] if len(cells) > 2 else "")]


def rows_of(first: str, said: str) -> Iterator[Row]:
    """Keys of one row share what it says, or have a part of it each."""
    keys, parts = re.findall(r"`([a-z_0-9]+)`", first), said.split(", ")
    for key, part in zip(keys, parts if len(keys) == len(parts) > 1 else [said] * len(keys), strict=True):
        yield Row(key, f"*`{key}`*" in first, part)


MODELS = {model.__name__: model for model in models(Scenario)}
TABLES = list(tables())


def model_of(rows: list[Row]) -> str:
    """The least model that has most of a table's keys."""
    keys = {row.key for row in rows}
    return min(MODELS, key=lambda name: (len(keys - fields(MODELS[name]).keys()), len(fields(MODELS[name]))))


OF = {model_of(rows): rows for rows in TABLES}
ROWS = [pytest.param(name, row, id=f"{name}.{row.key}") for name, rows in OF.items() for row in rows]


def test_each_table_has_the_keys_of_one_model_and_all_of_them() -> None:
    assert len(OF) == len(TABLES)
    assert {name: {row.key for row in rows} for name, rows in OF.items()} == {
        name: set(fields(MODELS[name])) for name in OF
    }


@pytest.mark.parametrize(("model", "row"), ROWS)
def test_a_row_says_what_the_schema_has(model: str, row: Row) -> None:
    field = fields(MODELS[model]).get(row.key)
    assert field is not None, "no key of the schema"
    if row.said:
        assert row.italic == (field.is_required() or (model, row.key) in HELD_BY_RULES)
    kinds = list(parts(field.annotation))
    words = {word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)}
    if len(words) > 1 and row.said.startswith('`"'):
        assert words <= set(re.findall(r'`"([^"`]+)"`', row.said))
    least = [bound.ge for bound in field.metadata if isinstance(bound, Ge)]
    most = [bound.le for bound in field.metadata if isinstance(bound, Le)]
    stated = re.match(r"([\d.,e-]+) to ([\d.,e-]+)(?:,|$)", row.said)
    if stated and least and most:
        assert [float(number.replace(",", "")) for number in stated.groups()] == [*least, *most]
    literal = re.search(r"`([^`]+)`$", row.said)
    if literal and field.default is not None and not field.is_required() and (model, row.key) not in DEPENDS:
        default = field.get_default(call_default_factory=True)
        if isinstance(default, tuple):
            (default,) = default or ("",)
        if isinstance(default, bool | int | float | str):
            assert json.loads(literal[1]) == default
