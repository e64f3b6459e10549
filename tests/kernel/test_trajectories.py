"""Recorded trajectories are what the kernel does, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from dstcc_kernel.source import release

from dstcc.errors import InputError
from experiments.trajectories.cases import LAWS, case
from experiments.trajectories.figures import table
from experiments.trajectories.record import record, section, text_of

ENGINE = Path(__file__).parents[1] / "engine"
RECORDED = ENGINE / "trajectories"


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("start-80", "cubic"),
        ("lost-repeat", "westwood"),
        ("tail", "bbr"),
        ("tail", "dstcc"),
        ("layers", "newreno"),
        ("two-links", "vegas"),
        ("placed-full", "newreno"),
    ],
)
def test_a_trajectory_is_recorded_again_byte_for_byte(kernel, name, law):
    if release().name != "6.12" and not (ENGINE / f"trajectories-{release().name}" / f"{name}.txt").exists():
        pytest.skip("of 6.12 alone")
    again = text_of(case(name), [section(case(name), law, record(case(name), LAWS[law]))])
    folder = RECORDED if release().name == "6.12" else ENGINE / f"trajectories-{release().name}"
    kept = (folder / f"{name}.txt").read_text()
    heading, part = again.split("\n[", 1)  # the columns of several lanes have a [ of their own
    assert kept.startswith(heading) and f"\n[{part}" in kept


@pytest.mark.kernel
def test_what_some_looks_at_the_clock_would_decide_is_refused_by_name(kernel):
    # BBR's lanes are paced: their packets come at any instant, one of them so near to the queue's last place.
    with pytest.raises(
        InputError, match=r"^trajectory case 'lanes-2' cannot be scripted: .* within 5000 ns of the queue"
    ):
        record(case("lanes-2"), "bbr")


def test_the_table_has_a_row_for_each_case_that_is_recorded(tmp_path):
    (tmp_path / "tail.txt").write_text((RECORDED / "tail.txt").read_text())
    heading, _, row = table(tmp_path).splitlines()
    assert heading == f"| case | {' | '.join(LAWS)} |"
    assert row == "| `tail` | 100 | 100 | 100 | 100 | 100 | 100 | 100 |"
