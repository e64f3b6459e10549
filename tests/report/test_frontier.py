"""Weighted layers over the playout delay: which runs are one frontier, its bound, and what every format says of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.report import load_report, render
from dstcc.report.frontier import BOUND_NAME, Frontier, frontiers, titles
from dstcc.stats import Estimate
from tests.report.conftest import Pages, RunFactory
from tests.report.synthetic_run import RunSpec
from tests.report.test_page import outline

FAMILY = "fa31" * 16
CUBIC, BBR = "cubic+minrtt", "bbr-scaled+minrtt"
Values = Mapping[str, tuple[float, float | None]]
"""Algorithm → its weighted layers and its share of the bound, at every seed."""
MakePoint = Callable[..., Path]


def at_delay(rtts: float, **changes: Any) -> RunSpec:
    """A run of two algorithms at one playout delay; runs at other delays have other hashes."""
    spec = RunSpec(
        congestion=("cubic", "bbr-scaled"),
        chunks=60,
        delay_rtts=rtts,
        sha=f"{round(rtts * 1000):064d}",
        any_delay_sha=FAMILY,
    )
    return replace(spec, **changes)


@pytest.fixture
def make_point(make_run: RunFactory) -> MakePoint:
    """A run at one delay in which each algorithm has given values at each of its seeds."""

    def make(rtts: float, values: Values, **changes: Any) -> Path:
        path = make_run(at_delay(rtts, **changes))
        table = pq.read_table(path / "trials.parquet")
        rows = table.to_pylist()
        for row in rows:
            row["weighted_layers"], row["oracle_ratio"] = values[row["id"].rpartition("/s")[0]]
        (path / "SHA256SUMS").unlink(missing_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path / "trials.parquet")
        return path

    return make


def only_frontier(*paths: Path) -> Frontier:
    (one,) = frontiers(load_report(paths))
    return one


def test_runs_at_two_delays_are_a_frontier_with_the_shortest_first(make_run: RunFactory) -> None:
    one = only_frontier(*(make_run(at_delay(rtts)) for rtts in (2.0, 0.5, 1.25)))
    assert one.delays == (0.5, 1.25, 2.0)


@pytest.mark.parametrize(
    "change",
    [{"any_delay_sha": "beef" * 16}, {"any_delay_sha": None}, {"scale": 1.0}],
    ids=["another-key", "not-recorded", "scale"],
)
def test_runs_that_differ_in_anything_else_are_none(make_run: RunFactory, change: dict[str, Any]) -> None:
    report = load_report([make_run(at_delay(1.0)), make_run(at_delay(2.0, **change))])
    assert len(report.sections) == 2
    assert frontiers(report) == ()


def test_runs_of_two_backends_are_none(make_run: RunFactory) -> None:
    simulated, other = make_run(at_delay(1.0)), make_run(at_delay(2.0))
    meta = json.loads((other / "run.json").read_text())
    (other / "SHA256SUMS").unlink(missing_ok=True)
    (other / "run.json").write_text(json.dumps(meta | {"backend": "kernel"}))
    assert frontiers(load_report([simulated, other])) == ()


def test_runs_in_which_nothing_finished_are_none(make_run: RunFactory) -> None:
    failures = {f"{name}/s{seed}": "boom" for name in (CUBIC, BBR) for seed in (1, 2, 3)}
    report = load_report([make_run(at_delay(rtts, failures=failures)) for rtts in (1.0, 2.0)])
    assert len(report.sections) == 2 and frontiers(report) == ()


@pytest.mark.parametrize(("names", "said"), [("abcd", "a, b, c and d have"), ("abcde", "5 algorithms have")])
def test_four_that_are_best_are_named(names: str, said: str) -> None:
    one: Any = SimpleNamespace(
        names=names, line=lambda _: (Estimate(0.5, None, None, 1),), delays=(1.0,), bound=(None,)
    )
    assert f"{said} the highest value, " in Frontier._most(one, 0)


def test_one_delay_is_none(make_run: RunFactory) -> None:
    assert frontiers(load_report([make_run(at_delay(1.0))])) == ()


def test_others_do_not_disturb_it(make_run: RunFactory) -> None:
    other = make_run(RunSpec(name="venus", sha="beef" * 16, congestion=("cubic",), chunks=60))
    report = load_report([make_run(at_delay(1.0)), other, make_run(at_delay(2.0))])
    (one,) = frontiers(report)
    assert one.delays == (1.0, 2.0)
    assert titles(report) == (
        "mars-two-links, playout after 1\u202fround trip",
        "venus",
        "mars-two-links, playout after 2\u202fround trips",
    )


def test_a_scenario_that_names_no_delay_has_two_round_trips(make_run: RunFactory) -> None:
    implied, named = make_run(at_delay(7.0)), make_run(at_delay(1.0))
    text = (implied / "scenario.toml").read_text()
    (implied / "SHA256SUMS").unlink(missing_ok=True)
    (implied / "scenario.toml").write_text(text.replace("delay_rtts = 7.0\n", ""))
    assert only_frontier(implied, named).delays == (1.0, 2.0)


class TestBound:
    def test_it_is_what_the_shares_are_of(self, make_point: MakePoint) -> None:
        # 0.4 is half of it, 0.72 is nine tenths of it: 0.8 either way. At 2 round trips 0.9 / 0.9 = 1.
        one = only_frontier(
            make_point(1.0, {CUBIC: (0.4, 0.5), BBR: (0.72, 0.9)}),
            make_point(2.0, {CUBIC: (0.5, 0.5), BBR: (0.9, 0.9)}),
        )
        assert [bound.value for bound in one.bound if bound] == pytest.approx([0.8, 1.0])
        assert [bound.n for bound in one.bound if bound] == [3, 3]

    def test_it_is_open_where_nothing_was_played(self, make_point: MakePoint) -> None:
        one = only_frontier(
            make_point(0.5, {CUBIC: (0.0, 0.0), BBR: (0.0, 0.0)}),
            make_point(2.0, {CUBIC: (0.5, 0.5), BBR: (0.9, 0.9)}),
        )
        assert one.bound[0] is None
        assert one.bound[1] is not None


class TestFinding:
    def test_who_has_most_at_either_end_and_who_is_near_the_bound(self, make_point: MakePoint) -> None:
        # The bound is 0.8, 0.9, 1. BBR lacks 0.4, 0.009, 0.01 of it: near from 1 round trip on. CUBIC lacks 0.3, 0.005
        # and 0.2: not near at the end.
        one = only_frontier(
            make_point(0.5, {CUBIC: (0.5, 0.5 / 0.8), BBR: (0.4, 0.4 / 0.8)}),
            make_point(1.0, {CUBIC: (0.895, 0.895 / 0.9), BBR: (0.891, 0.891 / 0.9)}),
            make_point(3.0, {CUBIC: (0.8, 0.8), BBR: (0.99, 0.99)}),
        )
        assert one.finding.replace("\u202f", " ") == (
            f"At 0.5 round trips {CUBIC} has the highest value, 50.0 % of the layers' weight (bound 80.0 %). "
            f"At 3 round trips {BBR} has the highest value, 99.0 % of the layers' weight (bound 100.0 %). "
            f"Within 1 point of the bound: {BBR} from 1 round trip on; not at the longest delay: {CUBIC}."
        )

    def test_nothing_played_and_nobody_near(self, make_point: MakePoint) -> None:
        one = only_frontier(
            make_point(0.5, {CUBIC: (0.0, 0.0), BBR: (0.0, 0.0)}),
            make_point(1.0, {CUBIC: (0.5, 0.5), BBR: (0.5, 0.5)}),
        )
        assert one.finding.replace("\u202f", " ") == (
            "At 0.5 round trips nothing is played. "
            f"At 1 round trip {CUBIC} and {BBR} have the highest value, 50.0 % of the layers' weight (bound 100.0 %)."
        )

    def test_a_missing_value_ends_the_stretch_near_the_bound(self, make_point: MakePoint) -> None:
        both, alone = {CUBIC: (0.9, 0.9), BBR: (1.0, 1.0)}, {CUBIC: (0.9, 0.9)}
        one = only_frontier(
            make_point(1.0, both),
            make_point(2.0, alone, congestion=("cubic",)),
            make_point(3.0, both),
        )
        assert one.line(BBR)[1] is None
        assert f"{BBR} from 3\u202fround trips on" in one.finding


class TestFormats:
    @pytest.fixture
    def runs(self, make_point: MakePoint) -> list[Path]:
        return [
            make_point(1.0, {CUBIC: (0.4, 0.5), BBR: (0.72, 0.9)}),
            make_point(2.0, {CUBIC: (0.5, 0.5), BBR: (0.9, 0.9)}),
        ]

    def test_json(self, runs: list[Path]) -> None:
        (one,) = json.loads(render(load_report(runs), "json"))["frontiers"]
        assert (one["scenario"], one["metric"], one["delay_rtts"]) == (
            "mars-two-links",
            "weighted_layers",
            [1.0, 2.0],
        )
        values = {(row["algorithm"], row["delay_rtts"]): row["value"] for row in one["rows"]}
        assert values == pytest.approx(
            {
                (None, 1.0): 0.8,
                (None, 2.0): 1.0,
                (CUBIC, 1.0): 0.4,
                (CUBIC, 2.0): 0.5,
                (BBR, 1.0): 0.72,
                (BBR, 2.0): 0.9,
            }
        )
        assert {row["n"] for row in one["rows"]} == {3}

    def test_csv(self, runs: list[Path]) -> None:
        rows = list(csv.DictReader(io.StringIO(render(load_report(runs), "csv"))))
        found = {
            (row["algorithm"], row["delay_rtts"]): float(row["value"])
            for row in rows
            if row["metric"] == "frontier.weighted_layers"
        }
        assert found[BOUND_NAME, "1.0"] == pytest.approx(0.8)
        assert found[BBR, "2.0"] == 0.9
        assert len(found) == 6

    def test_markdown(self, runs: list[Path]) -> None:
        text = render(load_report(runs), "md")
        assert "# Quality over playout delay: mars-two-links" in text
        assert f"| Round trips | {BOUND_NAME} | {BBR} | {CUBIC} |" in text
        assert "| 1 | 80.0 (80.0–80.0) | 72.0 (72.0–72.0) | 40.0 (40.0–40.0) |" in text

    def test_without_one_nothing_is_said(self, make_run: RunFactory) -> None:
        report = load_report([make_run(at_delay(1.0))])
        assert json.loads(render(report, "json"))["frontiers"] == []
        assert "playout delay:" not in render(report, "md")


class TestPage:
    def test_figure_table_and_its_label(self, pages: Pages) -> None:
        parsed = outline(pages(at_delay(1.0), at_delay(2.0), figures=False))
        (label,) = [
            text
            for plot in parsed.named("div")
            if (text := plot.get("aria-label") or "").startswith("Weighted layers over playout delay, mars")
        ]
        assert "has the highest value" in label or "have the highest value" in label
        assert "mars-two-links over playout delay" in parsed.plain
        assert "Quality over playout delay" in parsed.plain
        assert "mars-two-links, playout after 1 round trip" in parsed.plain

    def test_a_page_of_other_scenarios_has_none(self, pages: Pages) -> None:
        assert "Quality over playout delay" not in pages(
            at_delay(1.0), at_delay(2.0, any_delay_sha=None), figures=False
        )

    def test_a_hostile_name_stays_text(self, pages: Pages) -> None:
        name = '<script>alert("1")</script>'
        parsed = outline(pages(at_delay(1.0, name=name), at_delay(2.0, name=name), figures=False))
        assert parsed.named("script") == []
