from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dstcc.report import load_report
from dstcc.report.summary import Cell, summary_table
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec


def cells(run: Path, key: str, values: list[float | None]) -> list[Cell]:
    """The summary's row of a metric that a run of one seed is given these values of."""
    rows = pq.read_table(run / "trials.parquet")
    changed = rows.to_pylist()
    for row, value in zip(changed, values, strict=True):
        row[key] = value
    pq.write_table(rows.from_pylist(changed, schema=rows.schema), run / "trials.parquet")
    (section,) = load_report([run]).sections
    row = next(row for row in summary_table(section) if row.metric.key == key)
    by_name = {a.name: cell for a, cell in zip(section.finished, row.cells, strict=True)}
    return [by_name[algorithm.name] for algorithm in section.algorithms]


@pytest.mark.parametrize(
    ("values", "shown", "marks"),
    [
        ([0.0002, 0.0, 0.08, 0.05], ["0.02", "0.00", "8.00", "5.00"], ["", "best", "", ""]),
        ([1e-7, 0.0, 0.08, 0.05], ["0.0", "0.0", "8.0", "5.0"], ["best", "best", "", ""]),
        ([1e-7, 0.0, 2e-7, 3e-7], ["0.000010", "0.000000", "0.000020", "0.000030"], ["", "best", "", ""]),
        ([0.5, 0.5001, 0.5, 0.5], ["50.0"] * 4, [""] * 4),
        ([0.5, None, 0.5, 0.6], ["50.0", "–", "50.0", "60.0"], ["best", "", "best", ""]),
    ],
)
def test_a_mark_is_where_the_shown_values_differ(
    make_run: RunFactory, values: list[float | None], shown: list[str], marks: list[str]
) -> None:
    row = cells(make_run(RunSpec(seeds=(1,), chunks=60)), "retransmitted_ratio", values)
    assert [cell.value for cell in row] == shown
    assert [cell.mark for cell in row] == marks
