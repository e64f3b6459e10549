"""The figures over time end where the mission does, however long a sender goes on."""

from __future__ import annotations

import math

import numpy as np

from dstcc.report import load_report
from dstcc.report.figures.links import _end_s
from dstcc.report.figures.transport import _clip_rows, _last_deadline_s
from dstcc.report.tables import Tables
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec


def test_what_comes_after_the_last_deadline_is_not_drawn() -> None:
    samples = {"t_s": np.array([1.0, 2.0, 3.0, 900.0]), "rate_bps": np.array([5.0, 6.0, 7.0, 8.0])}
    assert _clip_rows(samples, 3.0)["rate_bps"].tolist() == [5.0, 6.0, 7.0]
    assert _clip_rows(samples, math.inf)["rate_bps"].tolist() == [5.0, 6.0, 7.0, 8.0]
    # a slot longer than the mission is still shown
    assert _clip_rows(samples, 0.5)["rate_bps"].tolist() == [5.0]


def test_what_came_too_late_to_be_played_does_not_stretch_the_links_figure(make_run: RunFactory) -> None:
    (section,) = load_report([make_run(RunSpec(chunks=60, seeds=(1,)))]).sections
    tables = Tables()
    trials = section.representative
    ends = []
    for trial in trials:
        chunks = tables.chunks(trial)
        played = chunks["layer"] <= chunks["played_level"]
        ends.append(float(np.nanmax(chunks["complete_s"][played])))
        chunks["complete_s"] = np.where(played, chunks["complete_s"], 1e7)  # weeks after every deadline
    assert _end_s(trials, tables) == max(ends) * 1.02
    for trial in trials:
        tables.chunks(trial)["played_level"] = np.full_like(tables.chunks(trial)["layer"], -1)
    assert _end_s(trials, tables) == 1e7 * 1.02  # nothing was played: what came at all


def test_the_last_deadline_is_the_last_of_all_trials_shown(make_run: RunFactory) -> None:
    spec = RunSpec(congestion=("cubic", "bbr-scaled"), chunks=60, seeds=(1,))
    (section,) = load_report([make_run(spec)]).sections
    tables = Tables()
    due = max(float(np.nanmax(tables.chunks(trial)["deadline_s"])) for trial in section.representative)
    assert _last_deadline_s(section.representative, tables) == due
    assert _last_deadline_s((), tables) == math.inf
