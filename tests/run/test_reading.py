"""Columns of a run's tables at the bounds of what a run can have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.errors import RunError
from dstcc.run.agreement import check_order, check_trials
from dstcc.run.reading import read_table, typed
from dstcc.run.trials import TrialKey

FILE = Path("t.parquet")
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "kind", "good", "bad"),
    [
        (
            "playback_ratio",
            pa.float64(),
            (0.0, 1.0, 1 + 5e-10),
            ((-1e-9, "-1e-09"), (1 + 1e-8, "1.00000001")),
        ),
        ("capture_s", pa.float64(), (0.0, 1e12), ((-0.1, "-0.1"), (1.1e12, "1100000000000.0"))),
        ("layer", pa.int8(), (0, 63), ((-1, "-1"), (64, "64"))),
        ("subflow", pa.int8(), (-1, 127), ((-2, "-2"),)),
        ("other", pa.float64(), (-1e30, INF), ()),
        ("a_s", pa.string(), ("x",), ()),
    ],
)
def test_values_at_their_bounds(name: str, kind: pa.DataType, good: Any, bad: Any) -> None:
    field = pa.field(name, kind)
    column = pa.chunked_array([pa.array(good, kind)])
    assert typed(FILE, column, field).equals(column)
    assert typed(FILE, pa.chunked_array([pa.nulls(3, kind)]), field).null_count == 3
    for value, said in bad:
        with pytest.raises(RunError, match=rf"^t\.parquet: column {name} has {said}, which no run has$"):
            typed(FILE, pa.chunked_array([pa.array([good[0], value], kind)]), field)


def test_the_least_is_named_first_and_what_is_not_finite_in_words() -> None:
    field = pa.field("loss", pa.float64())
    for values, said in (
        ([-0.5, 2.0], "-0.5"),
        ([0.5, 2.0], "2.0"),
        ([NAN, 0.5], "a value that is not finite"),
    ):
        with pytest.raises(RunError, match=f"column loss has {said}, which no run has"):
            typed(FILE, pa.chunked_array([pa.array(values)]), field)


def test_a_column_is_of_its_type_or_can_be_without_loss() -> None:
    field = pa.field("other", pa.int64(), nullable=False)
    found = typed(FILE, pa.chunked_array([pa.array([1.0, 2.0])]), field)
    assert found.type == pa.int64() and found.to_pylist() == [1, 2]
    with pytest.raises(RunError, match="column other is double, must be int64"):
        typed(FILE, pa.chunked_array([pa.array([1.5])]), field)
    with pytest.raises(RunError, match="column other has no value in 2 rows"):
        typed(FILE, pa.chunked_array([pa.array([1, None, None])]), field)


def test_columns_of_some_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"layer": [0, 1, 2, 3], "more": list("abcd"), "old": [1, 2, 3, 4]}), path, row_group_size=2
    )
    schema = pa.schema([("layer", pa.int8())])
    found = read_table(path, schema, ["layer", "more"], [1])
    assert (
        found.to_pydict() == {"layer": [2, 3], "more": ["c", "d"]}
        and found.schema.field("layer").type == pa.int8()
    )
    assert read_table(path, schema).column_names[0] == "layer"
    also = pa.schema([("old", pa.float64()), ("absent", pa.float64())])
    assert read_table(path, schema, also=also)["old"].type == pa.float64()
    with pytest.raises(RunError, match=r"t\.parquet: lacks the column none"):
        read_table(path, schema, ["none"])


@pytest.mark.parametrize(
    ("times", "twice", "wrong"),
    [
        ([1.0, 2.0, 3.0], False, None),
        ([1.0, 1.0, 3.0], True, None),
        ([1.0, 1.0, 3.0], False, 1.0),
        ([1.0, 3.0, 2.0], True, 2.0),
        ([3.0, 2.0, 1.0], False, 2.0),
    ],
)
def test_samples_are_in_the_order_of_time(times: list[float], twice: bool, wrong: float | None) -> None:
    """Those of each pair of columns for themselves, however they are mixed."""
    rows = pa.table(
        {
            "t_s": np.ravel(np.column_stack([times, [5.0, 6.0, 7.0]])),
            "who": ["a", "b"] * 3,
            "n": [1] * 6,
        }
    )
    if wrong is None:
        check_order(FILE, rows, ("who", "n"), "x, ", twice=twice)
        return
    with pytest.raises(
        RunError, match=rf"^t\.parquet: x, who a, n 1: t_s = {wrong:g} does not come after the sample"
    ):
        check_order(FILE, rows, ("who", "n"), "x, ", twice=twice)


def test_two_series_in_one_column_are_told_apart() -> None:
    """By both columns together: (a, 1) and (a, 2) are two series, (b, 1) a third."""
    rows = pa.table(
        {"t_s": [9.0, 1.0, 2.0, 10.0, 3.0], "who": ["a", "a", "b", "a", "a"], "n": [1, 2, 1, 1, 2]}
    )
    check_order(FILE, rows, ("who", "n"), twice=False)
    with pytest.raises(RunError, match="who a: t_s = 1 does"):
        check_order(FILE, rows, ("who",))


def test_trials_are_those_of_run_json() -> None:
    def row(seed: int, **changed: Any) -> dict[str, Any]:
        key = TrialKey("cubic", "minrtt", seed)
        return {"id": key.id, **vars(key), **changed}

    rows = [row(1), row(2)]
    check_trials(FILE, rows, {})
    check_trials(FILE, rows, {"trials": 2, "seeds": [1, 2, 3], "algorithms": [{"name": "cubic+minrtt"}]})
    for given, meta, said in (
        ([*rows, row(2), row(2)], {}, r"trial 'cubic\+minrtt/s2' is there 3 times, must be there once"),
        (rows, {"trials": 3}, "trials: 2, but run.json says 3"),
        (rows, {"trials": 0}, "trials: 2, but run.json says 0"),
        (rows, {"seeds": []}, "run.json has no seed 1"),
        (rows, {"algorithms": [{"name": "other"}]}, r"run.json has no algorithm 'cubic\+minrtt'"),
        ([row(1, id="x")], {}, r"trial 'x' must be named 'cubic\+minrtt/s1' after its other columns"),
    ):
        with pytest.raises(RunError, match=said):
            check_trials(FILE, given, meta)
