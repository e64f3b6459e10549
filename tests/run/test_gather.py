from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.run import gather
from dstcc.run.gather import TableFile, Words

SCHEMA = pa.schema(
    [
        pa.field("trial", pa.string(), nullable=False),
        pa.field("link", pa.string(), nullable=False),
        pa.field("count", pa.int8(), nullable=False),
        pa.field("t_s", pa.float64()),
    ]
)


def rows(trial: str, links: tuple[str, ...], count: int = 3) -> list[gather.Column]:
    which = np.arange(count) % len(links)
    times = np.where(np.arange(count) == 1, np.nan, np.arange(count) / 2)
    return [Words((trial,), np.zeros(count, dtype=np.int8)), Words(links, which), np.arange(count), times]


def write(path: Path, *trials: list[gather.Column]) -> pq.ParquetFile:
    with TableFile(path, SCHEMA, split=("t_s",), counting=("count",)) as file:
        for one in trials:
            file.add(one)
    return pq.ParquetFile(path)


def test_rows_come_out_as_they_went_in_trial_by_trial(tmp_path: Path) -> None:
    parquet = write(tmp_path / "x.parquet", rows("one", ("a", "b")), rows("two", ("b", "c")))
    table = parquet.read()
    assert table.schema.equals(SCHEMA)
    assert table["trial"].to_pylist() == ["one"] * 3 + ["two"] * 3
    # each trial has numbers of its own for its links
    assert table["link"].to_pylist() == ["a", "b", "a", "b", "c", "b"]
    assert table["count"].to_pylist() == [0, 1, 2, 0, 1, 2]
    assert table["t_s"].to_pylist() == [0.0, None, 1.0] * 2


def test_a_group_holds_many_trials_and_ends_with_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "GROUP_ROWS", 6)
    trials = [rows(f"t{index}", ("a",), count) for index, count in enumerate((3, 2, 9, 1, 6, 2))]
    parquet = write(tmp_path / "x.parquet", *trials)
    # 3 + 2 are too few, with 9 they are enough; 1 + 6; 2 are left at the end
    assert [parquet.metadata.row_group(g).num_rows for g in range(parquet.num_row_groups)] == [14, 7, 2]
    assert parquet.read()["count"].to_pylist() == [*range(3), *range(2), *range(9), 0, *range(6), *range(2)]


def test_what_trials_repeat_costs_little(tmp_path: Path) -> None:
    """Forty trials of one schedule in one group: less than a tenth of forty times what one takes."""
    times = np.cumsum(np.random.default_rng(1).random(900))
    schema = pa.schema([SCHEMA.field("trial"), pa.field("t_s", pa.float64())])
    sizes = []
    for trials in (1, 40):
        path = tmp_path / f"{trials}.parquet"
        with TableFile(path, schema, split=("t_s",)) as file:
            for index in range(trials):
                file.add([Words((f"t{index}",), np.zeros(900, dtype=np.int8)), times])
        sizes.append(path.stat().st_size)
    assert sizes[1] < 40 * sizes[0] / 10


def test_a_number_that_its_column_cannot_hold_is_no_other_number(tmp_path: Path) -> None:
    columns = rows("one", ("a",))
    columns[2] = np.array([1, 2, 128])
    with pytest.raises(pa.ArrowInvalid, match="128"):
        write(tmp_path / "x.parquet", columns)


def test_no_rows_leave_the_schema(tmp_path: Path) -> None:
    table = write(tmp_path / "x.parquet", rows("one", ("a",), 0)).read()
    assert table.num_rows == 0
    assert table.schema.equals(SCHEMA)
