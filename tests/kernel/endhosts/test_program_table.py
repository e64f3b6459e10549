"""The table of Debian's programs in docs/programs.md: which work at a distance is what the kernel says again."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from experiments.program_table import DISTANCES, PROGRAMS, Ended, cell, ended_at, lines, prepare

TABLE = Path(__file__).parents[3] / "docs/tables/programs.csv"


def written(distance: str) -> dict[str, bool]:
    """Whether each line of the table works at that distance."""
    with TABLE.open() as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        for mark, column in (("", distance), ("+", f"{distance}, with what it needs")):
            if row[column]:
                found[row["program"] + mark] = not row[column].startswith(("ends", "goes on"))
    return found


def test_the_table_has_every_line_and_says_how_it_ended() -> None:
    for distance in DISTANCES:
        assert written(distance).keys() == lines(100).keys()
    assert len(PROGRAMS) == 12
    assert all(" " in line and "{" not in line for line in lines(100).values())
    assert cell((0, 1234.4, "done")) == "1,234 s"
    assert cell((1, 5.0, "no answer")) == "ends after 5 s: no answer"
    assert cell((None, 9000.0, "")) == "goes on"
    assert cell(None) == ""


@pytest.mark.slow
@pytest.mark.kernel
@pytest.mark.parametrize("distance", list(DISTANCES))
def test_programs_work_where_the_table_says_so(kernel: Path, tmp_path: Path, distance: str) -> None:
    prepare(tmp_path)
    ended: dict[str, Ended] = ended_at(DISTANCES[distance], tmp_path)
    assert {name: how[0] == 0 for name, how in ended.items()} == written(distance), ended
