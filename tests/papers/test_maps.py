"""Maps: published numbers over the values of what a paper leaves open."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from dstcc.errors import InputError
from dstcc.papers.maps import over_values
from dstcc.papers.model import Axis, Point, read_paper
from dstcc.papers.reproduce import Reproduced, reproduce
from dstcc.papers.rows import PublishedRow
from dstcc.papers.verdict import judge
from dstcc.stats import Estimate
from tests.papers.made import FIGURES, PUBLISHED, write_paper
from tests.papers.test_reproduce import written

MAP = """
[[figure]]
id = "sensitivity"
title = "What is left open"
kind = "map"
extra = true
seeds = 3
quick_seeds = 1

[[figure.axis]]
name = "rate"
unit = "Mbit/s"
figures = ["1"]
algorithms = ["newreno", "bbr"]
point = [
    {x = 0.3, set = ["link.0.rate_bps=300_000"]},
    {x = 1},
    {x = 3, set = ["link.0.rate_bps=3_000_000"], quick = false},
]

[[figure.axis]]
name = "delay until a chunk is played"
unit = "s"
figures = ["2"]
algorithms = ["bbr"]
point = [{x = 0.01, set = ["playout.delay_s=0.01"]}, {x = 1}]
"""


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    return write_paper(tmp_path / "paper", figures=FIGURES + MAP)


def run(folder: Path, out: Path, **options) -> Reproduced:
    return reproduce(read_paper(folder), out, figures=options.pop("figures", ("sensitivity",)), **options)


def test_a_value_is_the_figure_with_its_settings(paper: Path, tmp_path: Path) -> None:
    """Each cell of the map is what the figure itself gives with the scenario changed by hand."""
    made = run(paper, tmp_path / "out")
    rows = {(row.setting, row.figure): row for row in made.rows}
    for setting, rate in (("0.3 Mbit/s", 300_000), ("1 Mbit/s (used)", 1_000_000), ("3 Mbit/s", 3_000_000)):
        figures = FIGURES.replace("seeds = 4", "seeds = 3")
        folder = write_paper(tmp_path / "by-hand", figures=figures)
        scenario = folder / "small.toml"
        scenario.write_text(scenario.read_text().replace("rate_bps = 1_000_000", f"rate_bps = {rate}"))
        by_hand = folder.rename(tmp_path / f"by-hand-{rate}")
        (own,) = run(by_hand, tmp_path / f"out-{rate}", figures=("1",)).rows
        assert replace(rows[f"rate: {setting}", "1"], setting="") == own
        assert own.seeds == 3
    assert len({row.measured for row in made.rows if row.setting.startswith("rate: ")}) == 3


def test_the_map_is_written_and_only_where_it_is_named(paper: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = run(paper, out)
    assert [row.setting for row in made.rows] == [
        *("rate: 0.3 Mbit/s", "rate: 1 Mbit/s (used)", "rate: 3 Mbit/s", "rate"),
        *("delay until a chunk is played: 0.01 s", "delay until a chunk is played: 1 s (used)"),
        "delay until a chunk is played",
    ]
    assert [row.setting for row in made.shown] == ["rate", "delay until a chunk is played"]
    played = made.rows[6].verdict
    assert played.startswith(
        "depends on the delay until a chunk is played: holds for 1 s; fails for 0.01 s ("
    )
    assert json.loads((out / "rows.json").read_bytes())["rows"][6]["verdict"] == played
    with (out / "rows.csv").open(encoding="utf-8") as file:
        assert [row["setting"] for row in csv.DictReader(file)] == [row.setting for row in made.rows]
    table = (out / "rows.md").read_text().splitlines()
    assert table[0] == "| setting | figure | quantity | published | measured | 95 % | verdict |"
    assert len({line.count(" | ") for line in [table[0], *table[2:]]}) == 1
    page = (out / "index.html").read_text()
    assert "Left open: the delay until a chunk is played" in page
    assert played in page
    assert '<th scope="col">0.01 s</th><th scope="col">1 s (used)</th>' in page
    assert page.count('class="held" title') == sum(row.verdict == "reproduced" for row in made.rows)
    assert not list((out / "figures").iterdir())
    other = run(paper, tmp_path / "other", figures=())
    assert all(not row.setting for row in other.rows)
    assert "setting" not in (tmp_path / "other" / "rows.md").read_text()


def test_it_goes_on_with_any_number_of_jobs_and_gives_the_same_bytes(paper: Path, tmp_path: Path) -> None:
    run(paper, tmp_path / "whole", jobs=2)
    run(paper, tmp_path / "half", figures=("1", "2"), jobs=1)
    counts = []

    def begin(cells: int, kept: int):
        counts.append((cells, kept))
        return lambda: None

    run(paper, tmp_path / "half", jobs=1, begin=begin)
    shared = 2 * 2 * 3  # figure 1 with its own rate; figure 2 with its own delay is a part of that
    assert counts == [(3 * shared + 2, shared)]
    mine, theirs = written(tmp_path / "half"), written(tmp_path / "whole")
    assert {name: mine[name] for name in theirs} == theirs


def test_quick_leaves_out_values_and_seeds(paper: Path, tmp_path: Path) -> None:
    rows = run(paper, tmp_path / "out", quick=True).rows
    assert [row.setting for row in rows[:3]] == ["rate: 0.3 Mbit/s", "rate: 1 Mbit/s (used)", "rate"]
    assert {row.seeds for row in rows} == {1}


def row(
    verdict: str, measured: float | None, low: float | None = None, high: float | None = None
) -> PublishedRow:
    return PublishedRow("1", "gain", 10.0, measured, low, high, verdict, "%", "", 3, "", "text", "")


AXIS = Axis(
    name="rate",
    unit="Mbit/s",
    figures=("1",),
    algorithms=("bbr",),
    point=(Point(x=1.0), Point(x=2.0), Point(x=4.0)),
)


def said(*cells: PublishedRow) -> str:
    return over_values(AXIS, ("1", "2", "4"), cells)


def judged(value: float, low: float, high: float) -> PublishedRow:
    return row(judge(Estimate(value, low, high, 3), 10.0, effect=True, unit="%"), value, low, high)


def test_a_verdict_depends_only_where_intervals_are_apart() -> None:
    ten, two, below, wide = judged(10, 9, 11), judged(2, 1, 3), judged(-5, -6, -4), judged(4, 2, 9.5)
    assert said(ten, two, two) == (
        "depends on the rate: holds for 1 Mbit/s; fails for 2 and 4 Mbit/s (beyond a factor of two)"
    )
    assert said(ten, below, wide) == (
        "depends on the rate: holds for 1 Mbit/s; fails for 2 Mbit/s (opposite); "
        "fails for 4 Mbit/s (beyond a factor of two)"
    )
    assert said(ten, wide, wide).startswith("may depend on the rate: holds for 1 Mbit/s; fails for 2 and 4")
    assert said(ten, ten, ten) == "does not depend on the rate: holds for 1, 2 and 4 Mbit/s"
    assert said(below, below, below) == "does not depend on the rate: fails for 1, 2 and 4 Mbit/s (opposite)"
    six = judged(6, 5.5, 6.5)
    assert said(ten, six, judged(5, -1, 12)) == (
        "depends on the rate: holds for 1 Mbit/s; within a factor of two for 2 Mbit/s; undecided for 4 Mbit/s"
    )


@pytest.mark.parametrize(("high", "begins"), [(8.9, "depends"), (9.0, "may depend"), (9.1, "may depend")])
def test_intervals_that_touch_are_not_apart(high: float, begins: str) -> None:
    ten, two = judged(10, 9, 11), judged(2, 1, high)
    assert said(ten, two, two).startswith(f"{begins} on the rate: holds for 1 Mbit/s; fails for 2 and 4")
    assert said(two, ten, two).startswith(f"{begins} on the rate: holds for 2 Mbit/s; fails for 1 and 4")


def test_an_interval_and_a_single_seed_are_apart_where_the_value_is_outside() -> None:
    ten = judged(10, 9, 11)
    assert said(ten, row("not reproduced (one seed)", 8.9), ten).startswith("depends")
    assert said(ten, row("not reproduced (one seed)", 9.0), ten).startswith("may depend")
    assert said(ten, row("not reproduced (one seed)", 11.1), ten).startswith("depends")


def test_what_was_not_measured_says_nothing() -> None:
    none = row("not measured", None)
    assert said(none, judged(10, 9, 11), none) == "does not depend on the rate: holds for 2 Mbit/s"
    assert said(none, none, none) == "not measured"


def test_one_seed_stands_for_itself() -> None:
    assert said(
        row("reproduced (one seed)", 10), row("not reproduced (one seed)", 3), row("not measured", None)
    ) == ("depends on the rate: holds for 1 Mbit/s; fails for 2 Mbit/s (beyond a factor of two)")


def test_values_hold_together_only_where_all_numbers_do(tmp_path: Path) -> None:
    """Each of the two holds at a value of its own."""
    played = PUBLISHED[PUBLISHED.rindex("[[number]]") :]
    lost = played.replace("published = 100", "published = 0")
    folder = write_paper(tmp_path / "paper", figures=FIGURES + MAP, published=PUBLISHED + lost)
    rows = [one for one in run(folder, tmp_path / "out").rows if one.setting.startswith("delay")]
    twice = write_paper(tmp_path / "twice", figures=FIGURES + MAP, published=PUBLISHED + played)
    assert run(twice, tmp_path / "out-2").rows[-1].verdict == "hold together for 1 s"
    assert [one.verdict for one in rows if one.measured is not None] == [
        *("not reproduced", "reproduced", "reproduced", "not reproduced")
    ]
    assert (rows[-1].quantity, rows[-1].verdict) == ("all 2", "hold together at none of 0.01 and 1 s")


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        (
            MAP.replace('figures = ["2"]', 'figures = ["7"]'),
            "delay until a chunk is played: no number of figure 7",
        ),
        (
            MAP.replace('figures = ["1"]', 'figures = ["2"]').replace('"newreno", "bbr"', '"newreno"'),
            "no number of",
        ),
        (MAP.replace('unit = "Mbit/s"', 'quantities = ["PSNR"]'), "rate: no number of figure 1 to compare"),
        (MAP.replace("x = 3,", "x = 1,"), "rate: needs two values or more, each once"),
        (MAP.replace('kind = "map"', 'scenario = "small.toml"\nkind = "map"'), "is a map and has axes"),
        (MAP.replace('kind = "map"', ""), "needs a scenario, or is a map and has axes"),
        (MAP[: MAP.index("[[figure.axis]]")], "needs a scenario, or is a map and has axes"),
    ],
)
def test_maps_that_break_a_rule(tmp_path: Path, figures: str, said: str) -> None:
    folder = write_paper(tmp_path / "paper", figures=FIGURES + figures)
    with pytest.raises(InputError, match=said) as error:
        read_paper(folder)
    assert "figures.toml" in str(error.value)


def test_a_setting_that_breaks_a_rule_is_named(tmp_path: Path) -> None:
    figures = FIGURES + MAP.replace("link.0.rate_bps=300_000", "link.0.rate=3")
    with pytest.raises(InputError, match=r"link\.0\.rate"):
        run(write_paper(tmp_path / "paper", figures=figures), tmp_path / "out")


def test_an_unknown_figure_lists_the_map(paper: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--figure 9: made has .*sensitivity \(What is left open\)"):
        run(paper, tmp_path / "out", figures=("9",))
