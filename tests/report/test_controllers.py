"""Learned controllers in a report: their names, what they were trained on, and what that takes from a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dstcc.report import FORMATS, load_report, render
from dstcc.report.controllers import controllers_of, policies_of
from dstcc.report.verdict import verdict
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec

HERE, ELSEWHERE = "5f0c" * 16, "beef" * 16
TEN = tuple(range(1, 11))


def policy(**more: Any) -> dict[str, Any]:
    about = {
        "name": "bbr-scaled",  # plays as well as this one in the synthetic runs
        "algorithm": "dstcc-lanes",
        "version": "0.1.0",
        "seed": 7,
        "scenario_sha256": "",
        "trained_on": [],
        "sha256": "0123456789ab" * 5,
    }
    return about | more


def spec(seeds: tuple[int, ...] = (1, 2), chunks: int = 60, **more: Any) -> RunSpec:
    return RunSpec(
        mode="lanes",
        congestion=("cubic", "bbr-scaled"),
        seeds=seeds,
        chunks=chunks,
        controllers=(policy(**more),),
    )


@pytest.mark.parametrize(
    ("about", "seen"),
    [
        ({"trained_on": [{"scenario": "x", "sha256": HERE}, {"scenario": "y", "sha256": ELSEWHERE}]}, True),
        ({"trained_on": [{"scenario": "y", "sha256": ELSEWHERE}]}, False),
        ({"scenario_sha256": HERE}, True),
        ({"scenario_sha256": ELSEWHERE}, False),
        ({}, None),
    ],
)
def test_a_controller_has_seen_what_it_was_trained_on(
    make_run: RunFactory, about: dict[str, Any], seen: bool | None
) -> None:
    (section,) = load_report([make_run(spec(**about))]).sections
    (one,) = controllers_of(section)
    assert one.name == "bbr-scaled (learned)"
    assert one.seen is seen
    assert policies_of(section) == [(one, ("bbr-scaled (learned)",))]


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"trained_on": [{"scenario": "y", "sha256": ELSEWHERE}]}, "It is better than cubic+minrtt"),
        (
            {"trained_on": [{"scenario": "x", "sha256": HERE}]},
            "was trained on mars-two-links, so it is not called",
        ),
        ({}, "does not say what bbr-scaled (learned) was trained on, so it is not called better"),
    ],
)
def test_better_is_said_of_scenarios_it_was_not_trained_on(
    make_run: RunFactory, about: dict[str, Any], said: str
) -> None:
    (section,) = load_report([make_run(spec(TEN, 7200, **about))]).sections
    assert said in verdict(section)


def test_training_on_the_scenario_is_said_where_intervals_overlap_too(make_run: RunFactory) -> None:
    run = make_run(spec((1, 2, 3), 60, trained_on=[{"scenario": "x", "sha256": HERE}]))
    (section,) = load_report([run]).sections
    assert "Mind that bbr-scaled (learned) was trained on mars-two-links." in verdict(section)


def test_a_classical_algorithm_may_be_better_than_a_controller_on_its_own_scenario(
    make_run: RunFactory,
) -> None:
    about = policy(name="cubic", trained_on=[{"scenario": "x", "sha256": HERE}])
    run = make_run(RunSpec(congestion=("cubic", "bbr-scaled"), seeds=TEN, chunks=7200, controllers=(about,)))
    (section,) = load_report([run]).sections
    assert "It is better than cubic (learned)" in verdict(section)


def test_our_transport_is_trained_on_nothing_so_that_there_is_nothing_to_say(make_run: RunFactory) -> None:
    (section,) = load_report([make_run(spec(TEN, algorithm="dstcc"))]).sections
    assert controllers_of(section) == [] and policies_of(section) == []
    assert "trained" not in verdict(section)
    (section,) = load_report([make_run(spec(TEN))]).sections
    assert "the run does not say what" in verdict(section)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.usefixtures("undrawn")
def test_every_format_names_them(make_run: RunFactory, form: str) -> None:
    text = render(load_report([make_run(spec(trained_on=[{"scenario": "y", "sha256": ELSEWHERE}]))]), form)
    assert "bbr-scaled (learned)" in text
    if form == "json":
        (one,) = json.loads(text)["sections"][0]["controllers"]
        assert one["trained_on_this_scenario"] is False
    elif form != "csv":
        assert "y beef" in text


def test_two_policies_of_one_name_stay_apart(make_run: RunFactory) -> None:
    runs = [make_run(spec(sha256="aaaaaaaaaa")), make_run(spec(sha256="bbbbbbbbbb"))]
    report = load_report(runs)
    assert [name for name in report.algorithms if "learned" in name] == [
        "bbr-scaled@aaaaaaa (learned)",
        "bbr-scaled@bbbbbbb (learned)",
    ]
    assert not [note for section in report.sections for note in section.notes if "bbr-scaled" in note]


@pytest.mark.parametrize(("actions", "shown"), [(0.0, False), (3.0, True)])
def test_the_guard_has_a_row_where_it_acted(make_run: RunFactory, actions: float, shown: bool) -> None:
    run = make_run(spec())
    set_guard(run, actions)
    page = render(load_report([run]), "md")
    assert ("Guard actions" in page) is shown


def set_guard(run: Path, actions: float) -> None:
    table = pq.read_table(run / "trials.parquet")
    rows = table.to_pylist()
    for row in rows:
        row["guard_actions"] = actions if row["controller"] else None
    (run / "SHA256SUMS").unlink(missing_ok=True)
    pq.write_table(table.from_pylist(rows, schema=table.schema), run / "trials.parquet")


@pytest.mark.parametrize(
    ("lanes", "said"), [(1024, "(bbr-scaled (learned) asks for 1\u202f024 lanes)"), (0, "")]
)
@pytest.mark.usefixtures("undrawn")
def test_the_lanes_that_a_policy_asks_for_are_told(make_run: RunFactory, lanes: int, said: str) -> None:
    report = load_report([make_run(spec(lanes=lanes))])
    page = render(report, "html")
    assert ("asks for" in page) == bool(said) and said in page
