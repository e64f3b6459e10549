"""The simulator held against Linux step by step: ``trajectories/CASE.txt`` is what the kernel did."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from dstcc_kernel.trajectory import Row, at, changes, near, read_file, share_together, simulate, together
from dstcc_kernel.trajectory_cases import CASES, LAWS, case

RECORDED = Path(__file__).with_name("trajectories")
NAMES = [found.name for found in CASES if (RECORDED / f"{found.name}.txt").exists()]

TOGETHER = 0.95
"""The share of steps; an event that comes a tick of a timer earlier parts a step or two."""
APART: dict[tuple[str, str], float] = {
    ("one-loss", "bbr"): 0.90,
    ("timeout", "bbr"): 0.60,
    **{("outage", law): 0.63 for law in LAWS},
    ("outage", "bbr"): 0.73,
    ("outage", "westwood"): 0.73,
    ("overflow", "cubic"): 0.77,
    ("overflow", "bbr"): 0.36,
    ("overflow", "westwood"): 0.78,
    ("moving", "cubic"): 0.53,
    ("moving", "bbr"): 0.57,
}
"""Cases that keep less than that together, and how much; docs/fidelity.md says why."""


@cache
def recorded(name: str) -> dict[str, list[Row]]:
    return read_file((RECORDED / f"{name}.txt").read_text())


def test_every_case_is_recorded():
    assert [found.name for found in CASES] == NAMES
    for name in NAMES:
        assert list(recorded(name)) == list(LAWS)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", NAMES)
def test_a_law_keeps_step_with_the_kernel(name, law):
    share = share_together(recorded(name)[law], simulate(case(name), law))
    least = APART.get((name, law), TOGETHER)
    assert share >= least
    assert least == TOGETHER or share <= least + 0.1  # what has come together is said to be


@pytest.mark.parametrize("name", ["start-80", "start-800", "start-8000"])
@pytest.mark.parametrize("law", LAWS)
def test_a_start_without_losses_is_the_kernels_within_a_hundredth(name, law):
    rows = simulate(case(name), law)
    times = [row.t_ns for row in rows]
    for theirs in recorded(name)[law]:
        mine = at(rows, times, theirs.t_ns)
        assert near(mine.una, theirs.una, 2, 0.01), theirs.t_ns / 1e9


def test_a_law_that_parts_is_seen():
    # The comparison can fail: CUBIC is not BIC, and a step that lags by 3 % is not together.
    rows = simulate(case("one-loss"), "bic")
    times = [row.t_ns for row in rows]
    kernel = recorded("one-loss")["cubic"]
    assert sum(together(at(rows, times, row.t_ns), row) for row in kernel) < 0.7 * len(kernel)
    row = kernel[-1]
    late = Row(**{**vars(row), "cwnd": round(0.97 * row.cwnd)})
    assert together(row, row) and not together(late, row)


@pytest.mark.parametrize("law", ["cubic", "newreno", "westwood", "bic"])
@pytest.mark.parametrize("name", ["one-loss", "burst", "lost-repeat"])
def test_a_recovery_begins_and_ends_when_the_kernels_does(name, law):
    mine, theirs = changes(simulate(case(name), law)), changes(recorded(name)[law])
    assert [state for _, state in mine] == [state for _, state in theirs]
    for (now, _), (then, _) in zip(mine, theirs, strict=True):
        assert now == pytest.approx(then, abs=0.02e9)
