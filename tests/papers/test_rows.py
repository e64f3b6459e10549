"""Measured numbers beside published ones, and how tables show them: of values that are given."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import pytest

from dstcc.papers import write
from dstcc.papers.carry import Results
from dstcc.papers.cells import Outcome
from dstcc.papers.model import Axis, Figure, Measure, Number, Plot, Point, Setting
from dstcc.papers.rows import PublishedRow, mean_of, measure, metrics_of, rows_of, rows_of_number

VALUES: dict[tuple[str, float, int], float | None] = {
    **{("ours", 1.0, seed): value for seed, value in ((1, 10.0), (2, 30.0))},
    **{("ours", 2.0, seed): value for seed, value in ((1, 50.0), (2, 70.0))},
    **{("theirs", 1.0, seed): value for seed, value in ((1, 10.0), (2, 10.0))},
    **{("theirs", 2.0, seed): value for seed, value in ((1, 80.0), (2, 40.0))},
}
"""Means 20 and 60, and 10 and 60."""


def results(
    values: Any = VALUES,
    metric: str = "speed",
    kind: Any = "trial",
    setting: Setting | None = None,
    **plot: Any,
) -> Results:
    figure = Figure(
        id="1",
        title="made",
        kind=kind,
        scenario="small.toml",
        seeds=2,
        quick_seeds=1,
        algorithms=("ours", "theirs"),
        point=(Point(x=1.0), Point(x=2.0)),
        plot=Plot(**{"kind": "lines", "y": metric, **plot}),
    )
    return Results(
        figure, False, {place: Outcome({metric: value}) for place, value in values.items()}, setting
    )


def value(kind: Any, other: str | None = None, given: Results | None = None, **more: Any) -> Any:
    """What comes out of a measure."""
    over = (other,) if other else ()
    asked = Measure(**{"kind": kind, "metric": "speed", "of": "ours", "over": over, **more})
    found = measure(asked, other, given or results())
    return found and found.value


def test_each_kind_of_measure_by_hand() -> None:
    """Ours against theirs: +100 % at 1, none at 2."""
    assert value("level") == 60.0 and value("level", across="least") == 20.0
    assert value("level", across="mean", times=10.0) == pytest.approx(400.0)
    assert value("level", at=(1.0,)) == 20.0
    assert value("gain", "theirs") == pytest.approx(100.0)
    assert value("gain", "theirs", across="mean") == pytest.approx(50.0)
    assert value("lead", "theirs", times=0.5) == pytest.approx(5.0)
    assert value("cut", "theirs", across="most") == pytest.approx(0.0)
    assert value("growth", at=(1.0, 2.0)) == pytest.approx(3.0)
    assert value("growth", at=(2.0, 1.0)) == pytest.approx(1 / 3)
    assert value("rise", at=(1.0, 2.0), times=2.0) == pytest.approx(80.0)
    both = ("ours", "theirs")
    assert value("rise", of=both, at=(1.0, 2.0)) == pytest.approx(50.0)
    assert value("level", of=both, across="mean") == pytest.approx((20 + 60 + 10 + 60) / 4)


def test_what_was_not_run_has_no_value() -> None:
    one_point = {place: value for place, value in VALUES.items() if place[1] == 1.0}
    of_one = results(one_point)
    lacks = replace(of_one, figure=of_one.figure.model_copy(update={"point": of_one.figure.point[:1]}))
    assert value("growth", given=lacks, at=(1.0, 2.0)) is None
    assert value("level", given=lacks, at=(2.0,)) is None
    assert value("level", given=lacks) == 20.0
    without = results({place: value for place, value in VALUES.items() if place[0] == "ours"})
    assert value("gain", "theirs", without) is None and value("level", given=without) == 60.0


def test_a_rate_of_nothing_that_came_is_zero_and_other_values_are_left_out() -> None:
    nothing: dict[Any, float | None] = VALUES | {("ours", 1.0, 2): None}
    rate, delay = results(nothing, "rate_bps"), results(nothing, "delay_s")
    found = mean_of("rate_bps", "ours", 1.0, rate)
    assert found is not None and (found.value, found.n) == (5.0, 2)
    found = mean_of("delay_s", "ours", 1.0, delay)
    assert found is not None and (found.value, found.n) == (10.0, 1)
    assert mean_of("other_bps", "ours", 1.0, rate) is None, "a metric that nobody has is no rate of nothing"
    assert mean_of("rate_bps", "nobody", 1.0, rate) is None


def number(**more: Any) -> Number:
    asked = {"kind": "gain", "metric": "speed", "of": "ours", "over": ("theirs",), "at": (1.0,)}
    document = {
        "figure": "1",
        "quantity": "ours above {over}",
        "published": 90.0,
        "unit": "%",
        "place": "section 3",
        "measure": asked,
        **more,
    }
    return Number.model_validate(document)


def test_a_row_has_the_number_and_what_came() -> None:
    (row,) = rows_of_number(number(note="by hand", source="computed"), results())
    assert (row.figure, row.quantity, row.published, row.unit) == ("1", "ours above theirs", 90.0, "%")
    assert (row.measured, row.seeds, row.verdict) == (pytest.approx(100.0), 2, "undecided")
    assert (row.low, row.high) == (pytest.approx(0.0), pytest.approx(200.0))
    assert (row.place, row.source, row.note, row.setting, row.claim) == (
        *("section 3", "computed", "by hand", "", ""),
    )
    empty = results({place: value for place, value in VALUES.items() if place[0] == "ours"})
    (row,) = rows_of_number(number(), empty)
    assert (row.measured, row.low, row.high, row.seeds, row.verdict) == (None, None, None, 0, "not measured")
    axis = Axis(
        name="delay", unit="s", figures=("1",), algorithms=("ours",), point=(Point(x=1.0), Point(x=2.0))
    )
    (row,) = rows_of_number(number(), results(setting=Setting(axis, axis.point[1])))
    assert row.setting == "delay: 2 s (used)"


def test_levels_are_near_and_effects_have_a_direction() -> None:
    """20 for 24 is near by a sixth, and an interval that has 24."""
    level = {"kind": "level", "metric": "speed", "of": "ours", "at": (1.0,)}
    (row,) = rows_of_number(number(quantity="ours", published=24.0, unit="", measure=level), results())
    assert row.verdict == "reproduced"
    (row,) = rows_of_number(
        number(quantity="ours", published=None, claim="is above 0", measure=level), results()
    )
    assert row.verdict == "reproduced" and row.published is None
    one = results({place: value for place, value in VALUES.items() if place[2] == 1})
    (row,) = rows_of_number(number(quantity="ours", published=10.0, measure=level), one)
    assert row.verdict == "reproduced (one seed)"
    links = results({("links", 1.0, 1): 10.0}, kind="links")
    links = replace(links, figure=links.figure.model_copy(update={"algorithms": ()}))
    level["of"] = "links"
    (row,) = rows_of_number(number(quantity="ours", published=10.0, measure=level), links)
    assert row.verdict == "reproduced", "no seed draws a table"


def test_rows_are_of_the_figures_that_were_run_and_of_no_map() -> None:
    paper: Any = SimpleNamespace(number=(number(), number(figure="2"), number(quantity="again {over}")))
    axis = Axis(name="x", figures=("1",), algorithms=("ours",), point=(Point(x=1.0), Point(x=2.0)))
    of_map = replace(results(), setting=Setting(axis, axis.point[0]))
    assert [row.quantity for row in rows_of(paper, [of_map, results()])] == [
        *("ours above theirs", "again theirs")
    ]
    assert rows_of(paper, [of_map]) == []
    other = number(measure={"kind": "level", "metric": "delay_s", "of": "ours"}, figure="1")
    paper = SimpleNamespace(number=(number(), other, number(figure="2")))
    assert metrics_of(results().figure, paper) == ("speed", "delay_s")
    assert metrics_of(results(kind="trial", y="rate").figure, paper) == ("rate", "speed", "delay_s")
    curve: Any = results().figure.model_copy(update={"plot": Plot(kind="curve", y="returns")})
    assert metrics_of(curve, paper) == ("speed", "delay_s")


# -------------------------------------------------------------------------------------------------- as tables show them


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (None, "–"),
        (0.0, "0"),
        (-0.0, "0"),
        (inf, "∞"),
        (-inf, "-∞"),
        (12.0, "12"),
        (1234.5, "1,234"),
        (999.96, "1000"),
        (1000.4, "1,000"),
        (-1000.4, "-1,000"),
        (123.456, "123.5"),
        (99.96, "100"),
        (-12.345, "-12.3"),
        (0.012345, "0.0123"),
        ((1.0, 2.5), "1 to 2.5"),
    ],
)
def test_numbers_have_three_figures_or_are_whole(number: Any, words: str) -> None:
    assert write.said(number) == words


def row(**more: Any) -> PublishedRow:
    whole: dict[str, Any] = {
        **{"figure": "1", "quantity": "speed", "published": 12.0, "measured": 11.0, "low": 10.0},
        **{"high": 12.5, "verdict": "reproduced", "unit": "s", "claim": "", "seeds": 2, "place": "here"},
        **{"source": "text", "note": ""},
    }
    return PublishedRow(**{**whole, **more})


def test_a_table_of_rows_line_by_line() -> None:
    rows = [
        row(),
        row(published=None, claim="ours is faster", measured=None, low=None, high=None, unit="%"),
        row(published=(1.0, 2.0), unit="", low=None),
    ]
    assert write.markdown(rows).splitlines() == [
        "| figure | quantity | published | measured | 95 % | verdict |",
        "|---|---|---|---|---|---|",
        "| 1 | speed | 12 s | 11 s | 10 to 12.5 | reproduced |",
        "| 1 | speed | *ours is faster* | – | – | reproduced |",
        "| 1 | speed | 1 to 2 | 11 | – | reproduced |",
    ]
    mapped = write.markdown([row(setting="delay: 1 s"), row()]).splitlines()
    assert mapped[0].startswith("| setting | figure |") and mapped[1] == "|---" * 7 + "|"
    assert mapped[2].startswith("| delay: 1 s | 1 |") and mapped[3].startswith("|  | 1 |")
    assert write.interval(row(high=None)) == write.interval(row(low=None)) == "–"


def test_a_figures_table_has_a_row_an_algorithm_and_a_column_a_point() -> None:
    """In thousandths: 20 with 10 to 30, and one seed alone."""
    values: dict[Any, float] = {
        ("ours", 1.0, 1): 10_000.0,
        ("ours", 1.0, 2): 30_000.0,
        ("theirs", 2.0, 1): 1.0,
    }
    given = results(values, times=1e-3)
    named = given.figure.model_copy(update={"point": (Point(x=1.0), Point(x=2.0), Point(x="far"))})
    assert write.table(replace(given, figure=named)).splitlines() == [
        "| algorithm | 1 | 2 | far |",
        "|---|---|---|---|",
        "| ours | 20.0 (10.0 to 30.0) | – | – |",
        "| theirs | – | 0.0 | – |",
    ]
    far = given.figure.model_copy(update={"point": (Point(x=1234.0),)})
    assert write.table(replace(given, figure=far)).splitlines()[0] == "| algorithm | 1,234 |"


def test_what_is_drawn_is_in_a_file_value_by_value() -> None:
    paper: Any = SimpleNamespace(number=())
    lines = write._drawn(results(), paper).splitlines()
    assert lines[0] == "algorithm,x,metric,mean,low,high,seeds"
    assert lines[1] == "ours,1.0,speed,20.0,10.0,30.0,2" and len(lines) == 5
    played = {"layers_played.none": 0.25, "layers_played.0": 0.75, "other": 1.0}
    given = results({("ours", 1.0, 1): 1.0}, kind="trial")
    stack = given.figure.model_copy(update={"plot": Plot(kind="stack")})
    lines = write._drawn(Results(stack, False, {("ours", 1.0, 1): Outcome(dict(played))}), paper).splitlines()
    assert [line.split(",")[2:4] for line in lines[1:]] == [
        ["layers_played.none", "0.25"],
        ["layers_played.0", "0.75"],
    ]


def test_a_document_has_no_infinity_and_no_nan() -> None:
    paper: Any = SimpleNamespace(about=SimpleNamespace(name="made"))
    made = write.document(paper, [row(measured=inf, low=nan, high=-inf), row()])
    assert made["paper"] == "made"
    assert [made["rows"][0][name] for name in ("measured", "low", "high")] == [None] * 3
    assert [made["rows"][1][name] for name in ("measured", "low", "seeds")] == [11.0, 10.0, 2]
    assert write._plain(row(published=(1.0, 2.5)))[2] == "1 to 2.5" and write._plain(row())[2] == 12.0


def test_a_figures_files_are_named_by_its_id() -> None:
    for id_, name in (("1", "figure-1"), ("table 1", "figure-table-1"), ("10b/c", "figure-10b-c")):
        assert write.file_name(results().figure.model_copy(update={"id": id_})) == name
