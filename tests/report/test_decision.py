"""The box of hours and megabytes, held to arithmetic on the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.report import load_report, render
from dstcc.report.decision import MissionResult, decide
from dstcc.report.model import Section
from dstcc.report.tables import Tables
from tests.report.synthetic_run import RunSpec, build_run


def section_of(tmp_path: Path, **settings: object) -> Section:
    spec = RunSpec(congestion=("cubic", "ltp"), chunks=7200, seeds=(1, 2, 3), **settings)  # type: ignore[arg-type]
    return load_report([build_run(tmp_path / "run", spec)]).sections[0]


def change(path: Path, **columns: Any) -> None:
    """Put columns into ``trials.parquet``; its rows are cubic's three seeds, then ltp's."""
    table = pq.read_table(path / "run" / "trials.parquet")
    for name, values in columns.items():
        column = pa.array(values)
        place = table.schema.get_field_index(name)
        table = table.append_column(name, column) if place < 0 else table.set_column(place, name, column)
    (path / "run" / "SHA256SUMS").unlink(missing_ok=True)
    pq.write_table(table, path / "run" / "trials.parquet")


def box(tmp_path: Path) -> MissionResult:
    section = load_report([tmp_path / "run"]).sections[0]
    one = decide(section, Tables())
    assert one is not None
    return one


PLAYED: dict[str, Any] = {
    "playback_ratio": [0.5, 0.5, 0.5, 0.75, 0.75, 0.75],
    "full_quality_ratio": [0.25, 0.25, 0.25, 0.5, 0.5, 0.5],
    "weighted_layers": [0.4, 0.4, 0.4, 0.7, 0.7, 0.7],
    "bytes_in_time": [100e6, 110e6, 120e6, 150e6, 150e6, 150e6],
    "full_quality_bytes": [50e6, 50e6, 50e6, 100e6, 100e6, 100e6],
    "oracle_ratio": [0.41, 0.41, 0.41, 0.71, 0.71, 0.71],
}
"""Of a video of 7,200 s."""


def test_shares_become_hours_and_bytes_megabytes(tmp_path: Path) -> None:
    section_of(tmp_path)
    change(tmp_path, **PLAYED)
    one = box(tmp_path)
    assert one.passes == 1
    assert [title for title, _ in one.headings] == [
        "Video in time",
        "At full quality",
        "On time",
        "At full quality",
        "Of the bound",
        "Compared with ltp",
    ]
    assert [unit for _, unit in one.headings] == ["h", "h", "MB", "MB", "%", "MB"]
    rows = {row.name: [value for value, _ in row.cells] for row in one.rows}
    assert rows["ltp (transfer)"] == ["1.50", "1.00", "150.0", "100.0", "71.0", "–"]
    assert rows["cubic+minrtt"] == ["1.00", "0.50", "110.0", "50.0", "41.0", "−40.0"]
    interval = {row.name: [said for _, said in row.cells] for row in one.rows}["cubic+minrtt"]
    assert interval[2] == "100.0–120.0"
    assert interval[5] == "−50.0 to −30.0"


def test_the_sentence_says_what_the_best_delivers_and_what_practice_does(tmp_path: Path) -> None:
    section_of(tmp_path)
    change(tmp_path, **PLAYED)
    said = box(tmp_path).sentence.replace("\u202f", " ")
    assert said == (
        "Of 2.00 h of video, ltp delivers 1.50 h, 1.00 h at full quality, 150 MB; "
        "cubic+minrtt 1.00 h, 0.50 h at full quality, 110 MB (3 seeds: a hint)."
    )


def test_who_delivers_as_much_as_the_best_is_named_with_it(tmp_path: Path) -> None:
    section_of(tmp_path)
    same = {key: [values[3]] * 6 for key, values in PLAYED.items()}
    change(tmp_path, **{**same, "full_quality_ratio": [0.75] * 6, "weighted_layers": [0.8] * 3 + [0.7] * 3})
    said = box(tmp_path).sentence.replace("\u202f", " ")
    assert (
        said
        == "Of 2.00 h of video, cubic+minrtt delivers 1.50 h, all at full quality, 150 MB (as ltp) (3 seeds: a hint)."
    )


def test_of_nothing_it_does_not_say_all(tmp_path: Path) -> None:
    section_of(tmp_path)
    nothing = {key: [0.0, 0.0, 0.0, *values[3:]] for key, values in PLAYED.items()}
    change(tmp_path, **nothing)
    assert "cubic+minrtt 0.00 h, none at full quality, 0 MB" in box(tmp_path).sentence.replace("\u202f", " ")


def test_passes_divide_hours_and_bytes_but_no_shares(tmp_path: Path) -> None:
    section_of(tmp_path)
    contact = {"from_s": 0.0, "to_s": 10.0, "bytes_in_time": 1.0, "full_quality_bytes": 1.0}
    contacts = json.dumps([{**contact, "from_s": 100.0 * index} for index in range(4)])
    change(tmp_path, **PLAYED, contacts=[contacts] * 6)
    one = box(tmp_path)
    assert one.passes == 4
    assert [unit for _, unit in one.headings] == ["min", "min", "MB", "MB", "%", "MB"]
    rows = {row.name: [value for value, _ in row.cells] for row in one.rows}
    assert rows["ltp (transfer)"][:5] == ["22.5", "15.0", "37.5", "25.0", "71.0"]
    assert rows["cubic+minrtt"][5] == "−10.0"
    assert "of video of a pass (one of 4), ltp delivers" in one.sentence


def test_passes_are_counted_where_most_were_met(tmp_path: Path) -> None:
    section_of(tmp_path)
    contact = {"to_s": 10.0, "bytes_in_time": 1.0, "full_quality_bytes": 1.0}
    some, all_of_them = (
        json.dumps([{**contact, "from_s": 100.0 * index} for index in range(count)]) for count in (2, 4)
    )
    change(tmp_path, **PLAYED, contacts=[some] * 3 + [all_of_them] * 3)
    assert box(tmp_path).passes == 4


def test_without_ltp_nothing_is_beside_it(tmp_path: Path) -> None:
    build_run(tmp_path / "run", RunSpec(congestion=("cubic", "bbr-scaled"), chunks=60))
    one = box(tmp_path)
    assert len(one.headings) == 5
    assert one.beside == ""
    assert "ltp" not in one.sentence


@pytest.mark.usefixtures("undrawn")
def test_what_never_ended_has_no_box(tmp_path: Path) -> None:
    failures = {f"cubic+minrtt/s{seed}": "broken" for seed in (1, 2)}
    run = build_run(
        tmp_path / "run", RunSpec(congestion=("cubic",), chunks=60, seeds=(1, 2), failures=failures)
    )
    report = load_report([run])
    assert decide(report.sections[0], Tables()) is None
    assert "What it delivers" not in render(report, "html")


def test_the_length_counts_the_last_chunk_and_uneven_ones(tmp_path: Path) -> None:
    """Chunks of 1, 1 and 0.4 s: 2.4 s a loop, not three seconds."""
    section_of(tmp_path)
    path = tmp_path / "run" / "chunks.parquet"
    table = pq.read_table(path)
    chunk = table["chunk"].to_pylist()
    ends = [2.4 * (one // 3) + (1.0, 2.0, 2.4)[one % 3] for one in chunk]
    place = table.schema.get_field_index("capture_s")
    pq.write_table(table.set_column(place, "capture_s", pa.array(ends)), path)
    change(tmp_path, **PLAYED)
    assert "Of 96.0\u202fmin of video" in box(tmp_path).sentence  # 7,200 / 3 * 2.4 s


def test_megabytes_have_the_decimals_that_a_pass_s_largest_needs(tmp_path: Path) -> None:
    section_of(tmp_path)
    contact = {"to_s": 400.0, "bytes_in_time": 1.0, "full_quality_bytes": 1.0}
    contacts = json.dumps([{**contact, "from_s": 100.0 * index} for index in range(4)])
    for most, shown in ((30e6, "7.500"), (40e6, "10.0"), (4000e6, "1\u202f000"), (3996e6, "999.0")):
        home = {"bytes_in_time": [1e6] * 3 + [most] * 3, "full_quality_bytes": [1e6] * 6}
        change(tmp_path, **{**PLAYED, **home, "contacts": [contacts] * 6})
        cells = {row.name: [value for value, _ in row.cells] for row in box(tmp_path).rows}
        assert cells["ltp (transfer)"][2] == shown


def test_the_row_of_the_best_is_marked_whoever_transfers(tmp_path: Path) -> None:
    section_of(tmp_path)
    change(tmp_path, **{**PLAYED, "weighted_layers": [0.8] * 3 + [0.7] * 3})
    assert {row.name: row.leader for row in box(tmp_path).rows} == {
        "cubic+minrtt": True,
        "ltp (transfer)": False,
    }


def test_ltp_alone_is_beside_nothing(tmp_path: Path) -> None:
    build_run(tmp_path / "run", RunSpec(congestion=("ltp",), chunks=60))
    one = box(tmp_path)
    assert (one.beside, len(one.headings)) == ("", 5)


@pytest.mark.parametrize(
    ("seeds", "hint"), [(1, " (1 seed: a hint)."), (9, " (9 seeds: a hint)."), (10, "MB.")]
)
def test_fewer_than_ten_seeds_are_a_hint(tmp_path: Path, seeds: int, hint: str) -> None:
    build_run(tmp_path / "run", RunSpec(congestion=("cubic",), chunks=60, seeds=tuple(range(1, seeds + 1))))
    assert box(tmp_path).sentence.endswith(hint)
