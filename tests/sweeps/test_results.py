"""Results lose no row, have none twice where they are settled, and are then the same bytes whoever brought them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.errors import RunError
from dstcc.sweeps import results
from dstcc.sweeps.places import Place
from dstcc.sweeps.plan import Plan, make_plan
from dstcc.sweeps.results import (
    fold,
    known_keys,
    makers,
    missing,
    parts_in,
    read_part,
    read_steadily,
    settle,
    settled_parts,
    take_in,
    write_part,
)
from dstcc.sweeps.study import load_study
from dstcc.sweeps.work import Work
from dstcc.sweeps.worker import keep
from dstcc.version import __version__
from tests.sweeps.made import STUDY, TRIALS, write


@pytest.fixture
def plan(study: Path) -> Plan:
    return plan_of(study)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return folder(tmp_path / "out")


@pytest.fixture
def thirds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of three rows."""
    monkeypatch.setattr(results, "PART_ROWS", 3)


def plan_of(study: Path) -> Plan:
    return make_plan(Work(load_study(study), train=False))


def folder(path: Path) -> Place:
    path.mkdir()
    return Place(path)


def bring(plan: Plan, place: Place, numbers: Sequence[int]) -> None:
    """Fresh results; a row says whose it is."""
    for number in numbers:
        keep(place, plan.units[number], {"end_s": 100.0 + number, "playback_ratio": None})


def ends(path: Path) -> list[float]:
    return [float(one) for part in parts_in(path) for one in pq.read_table(part)["end_s"].to_pylist()]


def written(place: Place) -> dict[str, bytes]:
    return {part.name: part.read_bytes() for part in parts_in(place.trials)}


def test_fresh_results_become_a_part_in_the_plans_order(plan: Plan, place: Place) -> None:
    bring(plan, place, [5, 0, 3])
    assert fold(plan, place) == 3
    (part,) = parts_in(place.trials)
    rows = pq.read_table(part)
    assert rows.schema.equals(plan.schema)
    assert rows["key"].to_pylist() == [plan.units[number].key for number in (0, 3, 5)]
    assert rows["end_s"].to_pylist() == [100.0, 103.0, 105.0]
    assert rows["playback_ratio"].null_count == rows["oracle_ratio"].null_count == 3
    assert rows["seed"].to_pylist() == [1, 2, 2]
    assert list(place.fresh.found()) == []
    assert fold(plan, place) == 0 and len(parts_in(place.trials)) == 1


def test_of_some_keys_those_alone(plan: Plan, place: Place) -> None:
    bring(plan, place, [0, 1])
    gone = plan.units[2].key
    assert fold(plan, place, [plan.units[1].key, gone]) == 1
    assert ends(place.trials) == [101.0]
    assert list(place.fresh.found()) == [plan.units[0].key]


def test_what_the_plan_does_not_ask_for_stays_fresh(plan: Plan, place: Place) -> None:
    place.fresh.save("f" * 32, {"row": {"end_s": 1.0}})
    assert fold(plan, place) == 0
    assert list(place.fresh.found()) == ["f" * 32] and not place.trials.exists()


def test_a_part_has_so_many_rows_at_most(plan: Plan, place: Place, thirds: None) -> None:
    bring(plan, place, range(TRIALS))
    assert fold(plan, place) == TRIALS
    assert sorted(pq.read_metadata(part).num_rows for part in parts_in(place.trials)) == [2, 3, 3]
    settle(plan, place)
    parts = settled_parts(place)
    assert parts is not None
    assert [pq.read_table(part)["end_s"].to_pylist() for part in parts] == [
        [100.0, 101.0, 102.0],
        [103.0, 104.0, 105.0],
        [106.0, 107.0],
    ]


def test_a_part_is_as_large_as_is_documented() -> None:
    """docs/sweeps.md. Of another size the parts of finished studies would be other bytes."""
    assert results.PART_ROWS == 65_536


def test_missing_is_what_is_neither_in_a_part_nor_fresh(plan: Plan, place: Place) -> None:
    assert missing(plan, place) == list(range(TRIALS))
    bring(plan, place, [1, 6])
    fold(plan, place)
    bring(plan, place, [2])
    assert missing(plan, place) == [0, 3, 4, 5, 7]
    place.trials.rename(place.others)  # aside, and yet there
    assert missing(plan, place) == [0, 3, 4, 5, 7]
    assert set(known_keys(place).to_pylist()) == {plan.units[1].key, plan.units[6].key}


def test_settled_parts_are_the_same_bytes_however_they_came(
    plan: Plan, place: Place, tmp_path: Path, thirds: None
) -> None:
    for number in (7, 2, 0, 1, 6, 5, 3, 4):
        bring(plan, place, [number])
        fold(plan, place)
    settle(plan, place)
    other = folder(tmp_path / "other")
    bring(plan, other, range(TRIALS))
    fold(plan, other)
    settle(plan, other)
    assert written(place) == written(other) and len(written(place)) == 3
    document = json.loads(place.parts.read_text())
    assert document["schema"] == 1 and len(document["parts"]) == 3
    assert [ends_of(place.trials / name) for name in document["parts"]] == [
        [100.0, 101.0, 102.0],
        [103.0, 104.0, 105.0],
        [106.0, 107.0],
    ]


def ends_of(part: Path) -> list[float]:
    return [float(one) for one in pq.read_table(part)["end_s"].to_pylist()]


@pytest.mark.parametrize("numbers", [[0], [0, 1], list(range(TRIALS))])
def test_a_trial_in_several_parts_is_there_once_when_settled(
    plan: Plan, place: Place, numbers: list[int]
) -> None:
    bring(plan, place, numbers)
    fold(plan, place)
    for number in numbers:
        bring(plan, place, [number])
        fold(plan, place)
    settle(plan, place)
    assert ends(place.trials) == [100.0 + number for number in numbers]
    assert len(parts_in(place.trials)) == 1


def test_what_is_settled_is_not_written_again(
    plan: Plan, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(plan, place, [0, 1])
    fold(plan, place)
    settle(plan, place)
    with monkeypatch.context() as patch:
        patch.setattr(results, "write_part", None)
        settle(plan, place)
    bring(plan, place, [2])
    fold(plan, place)
    assert settled_parts(place) is None
    settle(plan, place)
    assert ends(place.trials) == [100.0, 101.0, 102.0]


def smaller(tmp_path: Path) -> Plan:
    """The second half of the study's trials."""
    return plan_of(write(tmp_path / "smaller", STUDY.replace("1e-3, ", "")))


def test_rows_that_are_not_asked_for_go_aside_and_come_back(plan: Plan, place: Place, tmp_path: Path) -> None:
    bring(plan, place, range(TRIALS))
    fold(plan, place)
    settle(plan, place)
    whole = written(place)
    half = smaller(tmp_path)
    settle(half, place)
    assert ends(place.trials) == [104.0, 105.0, 106.0, 107.0]
    assert ends(place.others) == [100.0, 101.0, 102.0, 103.0]
    assert settled_parts(place) == parts_in(place.trials)
    before = written(place)
    settle(half, place)
    assert written(place) == before and ends(place.others) == [100.0, 101.0, 102.0, 103.0]
    assert missing(plan, place) == []
    settle(plan, place)
    assert written(place) == whole and parts_in(place.others) == []


def test_a_row_that_is_not_asked_for_goes_aside_once(plan: Plan, place: Place, tmp_path: Path) -> None:
    """In two parts, of which each has another row, too."""
    for numbers in ([0, 1], [1, 2], [4]):
        bring(plan, place, numbers)
        fold(plan, place)
    settle(smaller(tmp_path), place)
    assert ends(place.trials) == [104.0]
    assert sorted(ends(place.others)) == [100.0, 101.0, 102.0]


def test_columns_are_the_plans_own_whatever_they_were_called(
    plan: Plan, place: Place, tmp_path: Path
) -> None:
    """An axis that has another name is another column of the same trials; a metric that was not there is null, one
    that is of no plan goes."""
    bring(plan, place, range(TRIALS))
    fold(plan, place)
    (part,) = parts_in(place.trials)
    rows = pq.read_table(part)
    numbers = pa.array([float(number) for number in range(TRIALS)])
    write_part(place.trials, rows.drop_columns(["oracle_ratio"]).append_column("old", numbers))
    text = STUDY.replace("[1e-3, 1e-2]", '{values = [1e-3, 1e-2], as = "lost"}')
    named = plan_of(write(tmp_path / "named", text))
    settle(named, place)
    (part,) = parts_in(place.trials)
    table = pq.read_table(part)
    assert table.schema.equals(named.schema) and "lost" in table.column_names
    assert table["lost"].to_pylist() == [0.001] * 4 + [0.01] * 4
    assert table["end_s"].to_pylist() == [100.0 + number for number in range(TRIALS)]
    assert table["oracle_ratio"].null_count == TRIALS
    before = written(place)
    settle(plan, place)
    assert written(place) != before and pq.read_table(parts_in(place.trials)[0]).schema.equals(plan.schema)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"parts": 5}', '{"parts": ["part-0.parquet"]}'])
def test_a_list_of_parts_that_is_none_settles_nothing(plan: Plan, place: Place, text: str) -> None:
    bring(plan, place, [0])
    fold(plan, place)
    settle(plan, place)
    assert settled_parts(place) == parts_in(place.trials)
    place.parts.write_text(text)
    assert settled_parts(place) is None
    settle(plan, place)
    assert settled_parts(place) == parts_in(place.trials) and ends(place.trials) == [100.0]


def test_makers_are_counted_over_all_parts(plan: Plan, place: Place) -> None:
    bring(plan, place, range(5))
    fold(plan, place)
    (part,) = parts_in(place.trials)
    rows = pq.read_table(part).slice(0, 2)
    by_other = rows.set_column(1, "made_by", pa.array(["dstcc old"] * 2)).set_column(
        0, "key", pa.array(["a" * 32, "b" * 32])
    )
    write_part(place.others, by_other)
    own = plan.pieces[0].made_by
    assert makers(place) == {own: 5, "dstcc old": 2}
    write_part(place.trials, by_other.slice(0, 1))
    assert makers(place) == {own: 5, "dstcc old": 3}


def test_a_part_is_named_by_its_trials_and_packed(plan: Plan, place: Place) -> None:
    table = plan.about([0, 1])
    path = write_part(place.trials, table)
    keys = (plan.units[0].key + plan.units[1].key).encode()
    assert path.name == f"part-{hashlib.sha256(keys).hexdigest()[:16]}.parquet"
    with pq.ParquetFile(path) as file:
        said = json.loads(file.schema_arrow.metadata[b"dstcc"])
        columns = [file.metadata.row_group(0).column(place) for place in range(file.metadata.num_columns)]
    assert said == {"version": __version__, "schema": 1}
    assert {column.compression for column in columns} == {"ZSTD"}
    words = {column.path_in_schema for column in columns if column.dictionary_page_offset is not None}
    assert {"algorithm", "made_by"} <= words
    assert "key" not in words and "seed" not in words
    again = write_part(place.trials, table)
    assert again == path and len(parts_in(place.trials)) == 1


@pytest.mark.parametrize(
    ("drop", "columns"),
    [(["key"], None), (["made_by"], None), (["key", "made_by"], None), (["end_s"], ["key", "end_s"])],
)
def test_a_part_without_a_column_is_none(
    plan: Plan, place: Place, drop: list[str], columns: list[str] | None
) -> None:
    bring(plan, place, [0])
    fold(plan, place)
    (part,) = parts_in(place.trials)
    pq.write_table(pq.read_table(part).drop_columns(drop), part)
    with pytest.raises(RunError, match=f"no part of a study: it has no column {drop[0]}"):
        read_part(part, columns)


def test_a_part_gives_the_columns_that_are_asked_for(plan: Plan, place: Place) -> None:
    bring(plan, place, [0])
    fold(plan, place)
    (part,) = parts_in(place.trials)
    assert read_part(part).column_names == plan.schema.names
    assert read_part(part, ["end_s"]).column_names == ["end_s"]
    rows = pq.read_table(part)
    bad = pa.StringArray.from_buffers(
        rows.num_rows,
        pa.py_buffer(np.arange(rows.num_rows + 1, dtype=np.int32) * 2),
        pa.py_buffer(b"\xe2(" * rows.num_rows),
    )
    text = rows.schema.get_field_index("congestion")
    pq.write_table(rows.set_column(text, rows.schema.field(text), bad), part)
    for content in (part.read_bytes(), b"PAR1"):
        part.write_bytes(content)
        with pytest.raises(RunError, match=r"damaged \(.*\); without it, its trials run again"):
            read_part(part)


def begun(plan: Plan, place: Place, numbers: Sequence[int]) -> Place:
    """A study's folder with results."""
    more = {
        "description": "",
        "made_by": [],
        "points": 1,
        "trials": 1,
        "axes": [],
    }
    place.begin("s", "", Path(), kind="trials", argv=[], more=more)
    bring(plan, place, numbers)
    return place


def test_another_folders_results_come_beside_ones_own(plan: Plan, tmp_path: Path) -> None:
    """Of parts, of what lies aside there, and of what is fresh; what is there already stays as it is."""
    mine = begun(plan, folder(tmp_path / "mine"), [0])
    theirs = begun(plan, folder(tmp_path / "theirs"), [1, 2])
    fold(plan, theirs)
    theirs.trials.rename(theirs.others)
    bring(plan, theirs, [3])
    fold(plan, theirs)
    bring(plan, theirs, [4, 5])
    keep(mine, plan.units[5], {"end_s": 1.0})
    take_in(mine, theirs)
    assert missing(plan, mine) == [6, 7]
    assert sorted(ends(mine.others)) == [101.0, 102.0, 103.0] and not mine.trials.exists()
    assert mine.fresh.load(plan.units[5].key)[0]["row"] == {"end_s": 1.0}
    assert mine.fresh.load(plan.units[4].key)[0]["row"]["end_s"] == 104.0
    first = {part: part.stat().st_ino for part in parts_in(mine.others)}
    take_in(mine, theirs)
    assert {part: part.stat().st_ino for part in parts_in(mine.others)} == first
    assert sorted(ends(theirs.others)) == [101.0, 102.0] and len(list(theirs.fresh.found())) == 2


def test_a_damaged_part_is_not_taken_in(plan: Plan, tmp_path: Path) -> None:
    mine = begun(plan, folder(tmp_path / "mine"), [])
    theirs = begun(plan, folder(tmp_path / "theirs"), [0])
    with pytest.raises(RunError, match=r"no study: it has no study\.json"):
        take_in(mine, Place(tmp_path))
    fold(plan, theirs)
    parts_in(theirs.trials)[0].write_bytes(b"PAR1")
    with pytest.raises(RunError, match="damaged"):
        take_in(mine, theirs)
    assert not parts_in(mine.others)


def test_who_reads_while_parts_are_put_in_order_reads_those_that_are_there_then(
    plan: Plan, tmp_path: Path
) -> None:
    place = begun(plan, folder(tmp_path / "mine"), [0])
    fold(plan, place)
    bring(plan, place, [1])
    fold(plan, place)
    read: list[list[Path]] = []

    def keys() -> int:
        read.append(parts_in(place.trials))
        if len(read) == 1:
            settle(plan, place)
        return sum(read_part(part, ["key"]).num_rows for part in read[-1])

    assert read_steadily(place, keys) == 2 and [len(parts) for parts in read] == [2, 1]
    parts_in(place.trials)[0].write_bytes(b"PAR1")
    with pytest.raises(RunError, match="damaged"):
        read_steadily(place, keys)
    assert len(read) == 3
