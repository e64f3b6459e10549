"""Several scenarios taken together: what is pooled, and with what weight."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstcc.errors import InputError
from dstcc.report import load_report, render
from dstcc.report.catalogue import METRIC
from dstcc.report.comparison import compare_pooled
from dstcc.report.pooled import Pooled, pool, section_profiles
from dstcc.report.verdict import pooled_verdict
from dstcc.stats import stratified_estimate
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec

PLAYED = METRIC["playback_ratio"]


@pytest.fixture
def two_scenarios(make_run: RunFactory) -> list[Path]:
    return [
        make_run(RunSpec(congestion=("cubic", "bbr-scaled", "westwood"), chunks=7200, seeds=(1, 2, 3))),
        make_run(RunSpec(congestion=("cubic", "bbr-scaled"), chunks=600, seeds=(2, 3), sha="beef" * 16)),
    ]


def together(runs: list[Path], against: str | None = None) -> Pooled:
    pooled = pool(load_report(runs, against))
    assert pooled is not None
    return pooled


def test_only_algorithms_that_every_scenario_has_are_taken_together(two_scenarios: list[Path]) -> None:
    assert together(two_scenarios).names == ("bbr-scaled+minrtt", "cubic+minrtt")


def test_a_stratum_is_a_scenario_and_its_seeds(two_scenarios: list[Path]) -> None:
    pooled = together(two_scenarios)
    strata = pooled.strata("cubic+minrtt", PLAYED)
    assert [len(values) for values in strata] == [3, 2]
    assert pooled.estimate("cubic+minrtt", PLAYED) == stratified_estimate(strata)


def test_differences_pair_seeds_within_a_scenario(two_scenarios: list[Path]) -> None:
    pooled = together(two_scenarios)
    assert pooled.reference == "bbr-scaled+minrtt"
    (one,) = pooled.paired(PLAYED).values()
    assert one.seeds == (1, 2, 3, 2, 3)
    reference, other = (pooled.strata(name, PLAYED) for name in ("bbr-scaled+minrtt", "cubic+minrtt"))
    expected = [
        b - a
        for first, second in zip(reference, other, strict=True)
        for a, b in zip(first, second, strict=True)
    ]
    assert one.differences == pytest.approx(expected)


def test_the_verdict_over_scenarios_counts_seeds_of_the_poorest(two_scenarios: list[Path]) -> None:
    comparison = compare_pooled(together(two_scenarios))
    assert comparison is not None
    assert comparison.seeds == {"bbr-scaled+minrtt": 2, "cubic+minrtt": 2}
    assert "With 2 seeds or more a scenario" in pooled_verdict(together(two_scenarios))


def test_one_scenario_is_not_several(make_run: RunFactory) -> None:
    assert pool(load_report([make_run(RunSpec(chunks=90))])) is None


def test_a_profile_where_all_trials_are_alike_says_nothing(make_run: RunFactory) -> None:
    (section,) = load_report([make_run(RunSpec(congestion=("bbr-scaled",), chunks=60))]).sections
    assert {trial.metrics["playback_ratio"] for trial in section.trials} == {1.0}
    assert PLAYED not in [metric for metric, _ in section_profiles(section)]


def test_the_document_has_all_scenarios_together(two_scenarios: list[Path]) -> None:
    report = load_report(two_scenarios)
    document = json.loads(render(report, "json"))["all_scenarios"]
    assert document["reference"] == "bbr-scaled+minrtt"
    assert [row["algorithm"] for row in document["rows"]] == ["bbr-scaled+minrtt", "cubic+minrtt"]
    one = document["paired"]["cubic+minrtt"]["playback_ratio"]
    assert one["n"] == 5
    assert 0 <= one["won"] <= 5 - one["even"]
    profile = document["profiles"]["playback_ratio"]["cubic+minrtt"]
    assert len(profile["tau"]) == len(profile["share"]) == len(profile["low"])


@pytest.mark.parametrize("form", ["md", "csv"])
def test_every_format_has_them(two_scenarios: list[Path], form: str) -> None:
    assert "all scenarios" in render(load_report(two_scenarios), form).lower()


class TestAgainst:
    def test_a_chosen_reference_is_what_others_are_compared_with(self, two_scenarios: list[Path]) -> None:
        report = load_report(two_scenarios, "cubic+minrtt")
        assert {section.reference.name for section in report.sections if section.reference} == {
            "cubic+minrtt"
        }
        assert together(two_scenarios, "cubic+minrtt").reference == "cubic+minrtt"
        assert "Minus cubic+minrtt at the same seeds" in render(report, "md")

    def test_it_may_be_named_without_its_mark(self, make_run: RunFactory) -> None:
        run = make_run(RunSpec(congestion=("cubic", "newreno"), scheduler="qle-ds", chunks=90))
        (section,) = load_report([run], "cubic+qle-ds").sections
        assert section.reference is not None
        assert section.reference.name == "cubic+qle-ds (reconstruction)"

    def test_an_unknown_one_is_refused_with_the_nearest(self, two_scenarios: list[Path]) -> None:
        with pytest.raises(
            InputError, match=r"'cubic\+minrt' is no algorithm .*did you mean 'cubic\+minrtt'"
        ):
            load_report(two_scenarios, "cubic+minrt")
