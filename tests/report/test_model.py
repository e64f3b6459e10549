from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstcc.errors import RunError
from dstcc.report import load_report, render
from dstcc.report.catalogue import METRIC
from dstcc.report.model import Section, best_of, paired
from dstcc.report.verdict import verdict
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec


def only_section(*paths: Path) -> Section:
    (section,) = load_report(paths).sections
    return section


def test_trials_become_algorithms_in_order_of_appearance(make_run: RunFactory) -> None:
    section = only_section(make_run(RunSpec(congestion=("cubic", "bbr-scaled"), seeds=(1, 2, 3))))
    assert [algorithm.name for algorithm in section.algorithms] == ["cubic+minrtt", "bbr-scaled+minrtt"]
    assert section.seeds == (1, 2, 3)
    assert [trial.seed for trial in section.algorithms[0].trials] == [1, 2, 3]


def test_the_one_with_the_most_video_comes_first_in_tables(make_run: RunFactory) -> None:
    section = only_section(make_run(RunSpec(congestion=("cubic", "bbr-scaled"), chunks=7200)))
    assert [algorithm.name for algorithm in section.finished] == ["bbr-scaled+minrtt", "cubic+minrtt"]


def test_runs_of_one_scenario_pool_and_others_do_not(make_run: RunFactory) -> None:
    one = make_run(RunSpec(congestion=("cubic",)))
    two = make_run(RunSpec(congestion=("westwood",)))
    other = make_run(RunSpec(congestion=("cubic",), sha="beef" * 16, name="other"))
    rescaled = make_run(RunSpec(congestion=("cubic",), scale=1.0))
    report = load_report([one, other, two, rescaled])
    assert [[a.name for a in section.algorithms] for section in report.sections] == [
        ["cubic+minrtt", "westwood+minrtt"],
        ["cubic+minrtt"],
        ["cubic+minrtt"],
    ]
    assert report.algorithms == ("cubic+minrtt", "westwood+minrtt")


def test_the_same_trial_twice_counts_once_and_is_noted(make_run: RunFactory) -> None:
    spec = RunSpec(congestion=("cubic",), seeds=(1, 2))
    section = only_section(make_run(spec), make_run(spec))
    assert len(section.trials) == 2
    assert [note.partition(", with")[0].partition(" in ")[0] for note in section.notes] == [
        "cubic+minrtt/s1, cubic+minrtt/s2 are"
    ]
    assert "the same result" in section.notes[0]


def test_many_trials_twice_are_one_note(make_run: RunFactory) -> None:
    spec = RunSpec(congestion=("cubic",), seeds=tuple(range(1, 9)), chunks=60)
    (note,) = only_section(make_run(spec), make_run(spec)).notes
    assert "cubic+minrtt/s5 and 3 others are in" in note


def test_the_same_trial_with_another_result_is_called_out(make_run: RunFactory) -> None:
    one = make_run(RunSpec(congestion=("cubic",), seeds=(1,)))
    two = make_run(RunSpec(congestion=("cubic",), seeds=(1,), chunks=500))
    assert "DIFFERENT" in only_section(one, two).notes[0]


def test_a_path_given_twice_is_refused(make_run: RunFactory) -> None:
    run = make_run(RunSpec(seeds=(1,)))
    with pytest.raises(RunError, match="given twice"):
        load_report([run, run])


@pytest.mark.parametrize(
    "name", ["run.json", "scenario.toml", "trials.parquet", "chunks.parquet", "samples.parquet"]
)
def test_a_missing_file_is_named(make_run: RunFactory, name: str) -> None:
    run = make_run(RunSpec(congestion=("cubic",), seeds=(1,)))
    (run / name).unlink()
    with pytest.raises(RunError, match=name.replace(".", r"\.")):
        load_report([run])


def test_an_algorithm_without_a_seed_in_common_is_refused(make_run: RunFactory) -> None:
    one = make_run(RunSpec(congestion=("cubic", "westwood"), seeds=(1, 2, 3), chunks=60))
    other = make_run(RunSpec(congestion=("bbr-scaled",), seeds=(7, 9), chunks=60))
    rule = r"run-1: bbr-scaled\+minrtt was run with seeds 7, 9, the other .* with seeds 1–3: without a common seed"
    with pytest.raises(RunError, match=rule):
        load_report([one, other])


def test_more_seeds_of_the_same_algorithms_are_pooled(make_run: RunFactory) -> None:
    one = make_run(RunSpec(congestion=("cubic", "westwood"), seeds=(1, 2), chunks=60))
    other = make_run(RunSpec(congestion=("cubic", "westwood"), seeds=(3, 4), chunks=60))
    section = only_section(one, other)
    assert section.seeds == (1, 2, 3, 4)
    assert section.notes == ()


def test_different_seeds_of_some_algorithms_are_noted(make_run: RunFactory) -> None:
    one = make_run(RunSpec(congestion=("cubic", "westwood"), seeds=(1, 2), chunks=60))
    other = make_run(RunSpec(congestion=("cubic",), seeds=(3,), chunks=60))
    assert "not all run with the same seeds" in only_section(one, other).notes[0]


def test_runs_of_two_commits_are_noted(make_run: RunFactory) -> None:
    one, other = (make_run(RunSpec(congestion=("cubic",), seeds=(seed,), chunks=60)) for seed in (1, 2))
    assert only_section(one, other).notes == ()
    meta = json.loads((other / "run.json").read_text())
    (other / "SHA256SUMS").unlink(missing_ok=True)
    (other / "run.json").write_text(json.dumps(meta | {"git_commit": "beef"}))
    (note,) = only_section(one, other).notes
    assert note.startswith("The runs were written by different versions or commits: ")


@pytest.mark.parametrize("key", ["scenario_sha256", "backend", "scale"])
def test_a_run_that_does_not_say_what_it_is_of_is_refused(make_run: RunFactory, key: str) -> None:
    run = make_run(RunSpec(congestion=("cubic",), seeds=(1,), chunks=60))
    meta = json.loads((run / "run.json").read_text())
    del meta[key]
    (run / "SHA256SUMS").unlink(missing_ok=True)
    (run / "run.json").write_text(json.dumps(meta))
    with pytest.raises(RunError, match=rf"run\.json: lacks {key}"):
        load_report([run])


def test_failed_trials_are_left_out_of_the_estimates(make_run: RunFactory) -> None:
    section = only_section(make_run(RunSpec(congestion=("cubic",), failures={"cubic+minrtt/s2": "boom"})))
    (cubic,) = section.algorithms
    assert cubic.estimates["playback_ratio"].n == 2
    assert [trial.error for trial in section.trials if not trial.ok] == ["boom"]


def test_metrics_that_no_trial_has_are_not_rows(make_run: RunFactory) -> None:
    keys = {metric.key for metric in only_section(make_run(RunSpec(seeds=(1,)))).metrics}
    assert "playback_ratio" in keys
    assert not keys & {"psnr_db", "vmaf", "startup_s", "stalls"}


def test_completing_some_seeds_does_not_win(make_run: RunFactory) -> None:
    section = only_section(make_run(RunSpec(chunks=14_400, seeds=(1, 2, 3))))
    partial = {a.name for a in section.finished if not a.complete("completion_s")}
    assert partial
    assert not best_of(section, METRIC["completion_s"])[0] & partial


def test_a_failed_trial_cannot_make_a_winner(make_run: RunFactory) -> None:
    spec = RunSpec(failures={"bbr-scaled+minrtt/s2": "boom"}, chunks=7200)
    section = only_section(make_run(spec))
    assert "bbr-scaled+minrtt" not in best_of(section, METRIC["playback_ratio"])[0]


def test_of_two_one_is_the_best(make_run: RunFactory) -> None:
    section = only_section(make_run(RunSpec(congestion=("cubic", "bbr-scaled"), seeds=(1,), chunks=3000)))
    assert best_of(section, METRIC["playback_ratio"])[0] == {"bbr-scaled+minrtt"}


def test_equal_values_have_no_winner(make_run: RunFactory) -> None:
    section = only_section(make_run(RunSpec(congestion=("bbr-scaled", "x1", "x2"), seeds=(2,), chunks=60)))
    assert {a.estimates["playback_ratio"].value for a in section.finished} == {1.0}
    assert best_of(section, METRIC["playback_ratio"]) == (set(), set())
    assert "each delivered 100.0" in verdict(section)


def test_paired_differences_are_to_the_best_over_common_seeds(make_run: RunFactory) -> None:
    spec = RunSpec(congestion=("cubic", "bbr-scaled"), failures={"cubic+minrtt/s2": "boom"}, chunks=7200)
    section = only_section(make_run(spec))
    assert section.best is not None
    assert section.best.name == "bbr-scaled+minrtt"
    (one,) = paired(section, "playback_ratio").values()
    assert one.seeds == (1, 3)
    assert one.mean.value < 0
    assert (one.above, one.below) == (0, 2)


@pytest.mark.usefixtures("undrawn")
def test_of_many_algorithms_the_best_and_the_worst_are_pictured(
    make_run: RunFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dstcc.report.model.PICTURED", 3)
    run = make_run(RunSpec(chunks=90))
    section = only_section(run)
    assert [a.name for a in section.pictured] == [
        a.name for a in (*section.finished[:2], section.finished[-1])
    ]
    assert [trial.algorithm for trial in section.representative] == [a.name for a in section.pictured]
    assert len(section.finished) == 4
    page = render(load_report([run]), "html")
    assert page.count("of 4 algorithms the 2 that delivered most, and the last") >= 3


def test_the_representative_seed_is_one_that_all_finished(make_run: RunFactory) -> None:
    spec = RunSpec(failures={"cubic+minrtt/s1": "boom", "westwood+minrtt/s3": "boom"})
    section = only_section(make_run(spec))
    assert {trial.seed for trial in section.representative} == {2}


class TestVerdict:
    def test_one_seed_has_no_interval(self, make_run: RunFactory) -> None:
        text = verdict(only_section(make_run(RunSpec(seeds=(1,)))))
        assert "no interval exists" in text
        assert "95 % interval" not in text

    def test_few_seeds_are_a_hint(self, make_run: RunFactory) -> None:
        assert "With 3 seeds" in verdict(only_section(make_run(RunSpec())))

    def test_no_difference_is_said(self, make_run: RunFactory) -> None:
        spec = RunSpec(congestion=("x1", "x2"), seeds=(1, 2, 3, 4, 5), chunks=7200)
        said = verdict(only_section(make_run(spec)))
        assert "each delivered" in said or "These seeds show no difference" in said

    def test_separation_of_few_seeds_is_not_called_better(self, make_run: RunFactory) -> None:
        spec = RunSpec(congestion=("cubic", "bbr-scaled"), seeds=(2, 3, 4, 5, 6), chunks=7200)
        text = verdict(only_section(make_run(spec)))
        assert "It is ahead of cubic+minrtt by " in text and "seeds, but “better” requires 10 seeds" in text

    def test_ten_seeds_make_it_better(self, make_run: RunFactory) -> None:
        spec = RunSpec(congestion=("cubic", "bbr-scaled"), seeds=tuple(range(1, 11)), chunks=7200)
        text = verdict(only_section(make_run(spec)))
        assert "It is better than cubic+minrtt by " in text and "at 10 of 10 seeds" in text

    def test_an_algorithm_given_the_rates_is_ranked_as_all_others(self, make_run: RunFactory) -> None:
        section = only_section(make_run(RunSpec(congestion=("open-loop", "cubic"), chunks=7200)))
        given_rates, other = (a.estimates["weighted_layers"].value for a in section.algorithms)
        assert given_rates > other
        assert section.best is not None
        assert section.best.name == "open-loop+minrtt"
        assert verdict(section).startswith("open-loop+minrtt delivered ")

    def test_failures_are_counted(self, make_run: RunFactory) -> None:
        text = verdict(only_section(make_run(RunSpec(failures={"cubic+minrtt/s2": "boom"}))))
        assert "1 of 12 trials failed" in text

    def test_nothing_finished(self, make_run: RunFactory) -> None:
        spec = RunSpec(congestion=("cubic",), seeds=(1,), failures={"cubic+minrtt/s1": "boom"})
        assert verdict(only_section(make_run(spec))) == "No trial finished: there is nothing to compare."
