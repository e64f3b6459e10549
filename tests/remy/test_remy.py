"""Remy's table."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.algorithms import TABLE
from dstcc.errors import InputError
from dstcc.remy.table import MEMORY, Rule, load, numbers, shipped
from experiments.remy_rules import RANGE, save, split


def holds(rule: Rule, memory: tuple[float, ...]) -> bool:
    return all(low <= x < high for low, x, high in zip(rule.low, memory, rule.high, strict=True))


@given(st.tuples(*[st.floats(0, 10)] * 3, st.floats(1, 100)))
def test_the_shipped_rules_fill_the_memory_and_do_not_overlap(memory: tuple[float, ...]) -> None:
    assert sum(holds(rule, memory) for rule in shipped().rules) == 1


def test_the_shipped_table_says_what_it_was_trained_for() -> None:
    assert shipped().trained["range"] == {name: list(bounds) for name, bounds in RANGE.items()}
    (row,) = (row for row in TABLE if row.name == "remy")
    trained_range = shipped().trained["range"]
    assert ", ".join(f"{name} {low:g}..{high:g}" for name, (low, high) in trained_range.items()) in row.source


def test_a_table_comes_back_from_its_file(tmp_path: Path) -> None:
    save(shipped(), tmp_path / "table.json")
    assert load(tmp_path / "table.json") == shipped()


WHOLE = '{"low": [0, 0, 0, 1], "high": [1, 1, 1, 2]}'


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", '{"rules": []}', '{"rules": [], "trained": {}}'),
        '{"rules": [{"low": [0], "high": [1]}], "trained": {}}',
        '{"rules": [{"low": [0, 0, 0, 1], "high": [1]}], "trained": {}}',
        '{"rules": [{"low": [0], "high": [1, 1, 1, 2]}], "trained": {}}',
        f'{{"rules": [{WHOLE}, {{"low": [0], "high": [1]}}], "trained": {{}}}}',
    ],
)
def test_what_is_no_table_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"table\.json: not (a Remy table|JSON)"):
        load(path)


def test_a_rule_is_eleven_numbers_for_the_engine(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text(f'{{"rules": [{WHOLE}, {WHOLE}], "trained": {{"seed": 1}}}}')
    read = load(tmp_path / "table.json")
    assert numbers(read.rules) == (0, 0, 0, 1, 1, 1, 1, 2, 1.0, 1.0, 0.0) * 2 and read.trained == {"seed": 1}


def test_a_split_leaves_no_gap() -> None:
    below, above = split(Rule(), MEMORY.index("rtt_ratio"), 1.2)
    assert below.high[3] == above.low[3] == 1.2
    assert dataclasses.replace(below, high=above.high) == Rule()
