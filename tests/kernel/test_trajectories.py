"""Recorded trajectories are what the kernel does, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from dstcc_kernel.trajectories import record, section
from dstcc_kernel.trajectory_cases import LAWS, case
from dstcc_kernel.trajectory_figures import table

RECORDED = Path(__file__).parents[1] / "engine" / "trajectories"


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("name", "law"), [("start-80", "cubic"), ("lost-repeat", "westwood"), ("tail", "bbr")]
)
def test_a_trajectory_is_recorded_again_byte_for_byte(kernel, name, law):
    again = section(case(name), law, record(case(name), LAWS[law]))
    assert f"{again}\n" in (RECORDED / f"{name}.txt").read_text()


def test_the_table_has_a_row_for_each_case_that_is_recorded(tmp_path):
    (tmp_path / "tail.txt").write_text((RECORDED / "tail.txt").read_text())
    heading, _, row = table(tmp_path).splitlines()
    assert heading == f"| case | {' | '.join(LAWS)} |"
    assert row == "| `tail` | 100 | 100 | 100 | 100 | 100 | 100 | 100 |"
