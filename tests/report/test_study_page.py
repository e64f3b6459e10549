"""The page of a study whose means are made up here: each mark of its pictures, its words and its tables."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from dstcc.report.catalogue import METRIC
from dstcc.report.figures.looks import COLOURS, looks
from dstcc.report.numbers import SPACE
from dstcc.report.study import load, moving, page
from dstcc.report.study.figures import _decimals, _positions, _ticks, figure, label
from dstcc.report.study.load import Axis, Mean, StudyReport

DISTANCE = Axis("link.0.delay_s", "distance_s", (180.0, 600.0, 1320.0), ("the slot",))
KIND = Axis("video.kind", "kind", ("short", "much longer than fits", None, True), ("other (the same axis)",))
NAMES = ("cubic", "dstcc", "newreno")
PLAYED, RATE = METRIC["playback_ratio"], METRIC["goodput_bps"]


def report(**changed: Any) -> StudyReport:
    """Two algorithms have shares along the distance, of one seed or of three; the third has rates alone."""
    share = {
        (DISTANCE.column, PLAYED.key, "cubic"): {
            180.0: Mean(0.75, 0.5, 1.0, 6),
            600.0: Mean(0.5, None, None, 2),
            1320.0: Mean(0.25, 0.125, 0.375, 6),
        },
        (DISTANCE.column, PLAYED.key, "dstcc"): {600.0: Mean(1.0, 0.9, 1.0, 6)},
        (KIND.column, RATE.key, "newreno"): {
            "short": Mean(1500.0, 1000.0, 2000.0, 3),
            "much longer than fits": Mean(9000.0, None, None, 3),
        },
    }
    overall = {
        (PLAYED.key, "cubic"): Mean(0.5, 0.25, 0.75, 14),
        (PLAYED.key, "dstcc"): Mean(1.0, None, None, 6),
        (RATE.key, "newreno"): Mean(12_345.0, 9000.0, 15_690.0, 6),
    }
    given: dict[str, Any] = {
        "path": Path("out"),
        "about": {
            "name": "mars",
            "points": 1200,
            "trials": 3000,
            "argv": ["/bin/dstcc", "sweep", "a b.toml"],
            **{"description": "", "made_by": ["dstcc 1"], "created": "", "limits": {}},
        },
        "study": "[study]\n",
        "axes": (DISTANCE, KIND),
        "algorithms": NAMES,
        "metrics": (PLAYED, RATE),
        "seeds": 12,
        "trials": 2900,
        "counts": {"cubic": 1400, "dstcc": 600, "newreno": 900},
        "overall": overall,
        "along": share,
        "failures": (),
        **changed,
    }
    return StudyReport(**given)


def drawn(axis: Axis, metric: Any, **how: bool) -> list[str]:
    """A line an element."""
    return figure(report(), axis, metric, looks(NAMES), **how).replace("><", ">\n<").split("\n")


def test_every_mark_of_a_share_over_numbers() -> None:
    """The scale is from 0 to 100 %: 240 px from 14 to 254, 2.4 a percent. Times of 3, 10 and 22 min are from 94 to 724
    px: 10 min is 7 of 19 of that, 630 · 7 / 19 = 232.1.
    """
    colours = [COLOURS.index(looks(NAMES)[name].colour) for name in ("cubic", "dstcc")]
    grid = [(0, 254.0), (25, 194.0), (50, 134.0), (75, 74.0), (100, 14.0)]
    expected = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 300" font-size="12" fill="currentColor">',
    ]
    for percent, y in grid:
        expected += [
            f'<line x1="74" x2="744" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" stroke-opacity="0.15"/>',
            f'<text x="66" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>',
        ]
    for x, text in (("94.0", "3"), ("326.1", "10"), ("724.0", "22")):
        expected.append(f'<text x="{x}" y="272" text-anchor="middle">{text}</text>')
    expected.append('<text x="409" y="294" text-anchor="middle">distance (min)</text>')
    cubic, dstcc = (f"var(--a{one})" for one in colours)
    expected += [
        f'<line x1="94.0" x2="94.0" y1="134.0" y2="14.0" stroke="{cubic}" stroke-width="1.5"/>',
        f'<circle cx="94.0" cy="74.0" r="3" fill="{cubic}"/>',
        f'<circle cx="326.1" cy="134.0" r="3" fill="{cubic}"/>',
        f'<line x1="724.0" x2="724.0" y1="224.0" y2="164.0" stroke="{cubic}" stroke-width="1.5"/>',
        f'<circle cx="724.0" cy="194.0" r="3" fill="{cubic}"/>',
        f'<polyline points="94.0,74.0 326.1,134.0 724.0,194.0" fill="none" stroke="{cubic}" stroke-width="2"/>',
        f'<line x1="326.1" x2="326.1" y1="38.0" y2="14.0" stroke="{dstcc}" stroke-width="1.5"/>',
        f'<circle cx="326.1" cy="14.0" r="3" fill="{dstcc}"/>',
        "</svg>",
    ]
    assert drawn(DISTANCE, PLAYED) == expected


def test_a_rate_over_names_has_dots_and_a_phone_fewer_labels() -> None:
    """Two values stand in the middles of the halves of 270 px of 350, from 94 to 314 px: at 149 and 259."""
    wide, narrow = drawn(KIND, RATE), drawn(KIND, RATE, narrow=True)
    assert wide[0] == narrow[0].replace("350 300", "760 300")
    texts = [one for one in narrow if one.startswith("<text")]
    # From 1 to 9 kb/s by steps of 2.
    assert [one.partition(">")[2] for one in texts] == [
        *(f"{rate} kb/s</text>" for rate in (0, 2, 4, 6, 8, 10)),
        "short</text>",
        "much longer than …</text>",
        "kind</text>",
    ]
    assert 'x="204"' in texts[-1] and 'x="149.0"' in texts[-3] and 'x="259.0"' in texts[-2]
    colour = f"var(--a{COLOURS.index(looks(NAMES)['newreno'].colour)})"
    assert narrow[-4:] == [
        f'<line x1="149.0" x2="149.0" y1="230.0" y2="206.0" stroke="{colour}" stroke-width="1.5"/>',
        f'<circle cx="149.0" cy="218.0" r="3" fill="{colour}"/>',
        f'<circle cx="259.0" cy="38.0" r="3" fill="{colour}"/>',
        "</svg>",
    ]


def test_labels_that_would_touch_are_left_out() -> None:
    """60 px each: of 650 px 10 fit, of 270 px 4."""
    values = tuple(float(n) for n in range(20))
    axis = Axis("key", "column", values)
    along = {("column", PLAYED.key, "cubic"): {value: Mean(0.5, None, None, 1) for value in values}}
    for narrow, shown in ((False, range(0, 20, 2)), (True, range(0, 20, 5))):
        svg = figure(report(along=along), axis, PLAYED, looks(NAMES), narrow=narrow)
        found = [one.partition(">")[2].partition("<")[0] for one in svg.split("<text") if 'y="272"' in one]
        assert found == [str(n) for n in shown]
    assert figure(report(along={}), axis, PLAYED, looks(NAMES)) == ""


def test_a_dashed_line_has_its_look() -> None:
    names = ("cubic", "newreno")  # one colour, two line styles
    along = {
        ("distance_s", PLAYED.key, "newreno"): {
            180.0: Mean(0.5, None, None, 1),
            600.0: Mean(1, None, None, 1),
        }
    }
    svg = figure(report(along=along, algorithms=names), DISTANCE, PLAYED, looks(names))
    assert 'stroke-width="2" stroke-dasharray="15 4.5"/></svg>' in svg
    assert page._swatch(looks(names)["newreno"]) == (
        '<svg width="28" height="12" viewBox="0 0 28 12" aria-hidden="true"><line x1="0" x2="28" y1="6" y2="6" '
        'stroke="var(--a0)" stroke-width="3" stroke-dasharray="15 4.5"/></svg>'
    )
    assert "dasharray" not in page._swatch(looks(names)["cubic"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        ("", "none"),
        (1e-4, "0.0001"),
        (1234567, "1,234,567"),
        (True, "true"),
        (False, "false"),
        ("a" * 18, "a" * 18),
        ("a" * 19, "a" * 17 + "…"),
    ],
)
def test_a_value_in_a_few_characters(value: Any, text: str) -> None:
    assert label(value) == text
    assert label(90.0, DISTANCE) == "1.5" and label(None, DISTANCE) == "none"


def test_places_of_one_value_and_of_thirty_times_it() -> None:
    axis = Axis("key", "column", (1.0,))
    assert _positions(axis, [1.0], 390) == {1.0: 94 + 260 / 2}
    assert _positions(axis, [1.0, 30.0**0.5, 30.0], 390)[30.0**0.5] == pytest.approx(94 + 260 / 2)
    middle = _positions(axis, [1.0, 15.0, 29.0], 390)
    assert middle[15.0] == pytest.approx(94 + 260 / 2)


def test_ticks_around_one_value_and_above_all() -> None:
    assert _ticks(0.0, 0.0, 60.0, share=False) == pytest.approx([-30, -15, 0, 15, 30])
    assert _ticks(-8.0, -8.0, 1.0, share=False) == pytest.approx([-12, -10, -8, -6, -4])
    assert _ticks(0.2, 1.2, 0.01, share=True) == pytest.approx([0, 0.5, 1.0, 1.5])
    assert _ticks(0.0, 4.0, 1.0, share=False) == pytest.approx([0, 1, 2, 3, 4])
    assert _ticks(0.0, 4.1, 1.0, share=False) == pytest.approx([0, 2, 4, 6])
    assert [_decimals(value) for value in (3.0, 2.5, 0.25, 1e-5, 1e-7 / 3 + 1e-6)] == [0, 1, 2, 5, 6]


# ---------------------------------------------------------------------------------------------------------- the words


def test_what_there_is_and_who_is_best() -> None:
    there = "2,900 of 3,000 trials at 1,200 points, 12 seeds."
    assert page.verdict(report()) == there
    alike = {"counts": dict.fromkeys(NAMES, 966)}
    assert (
        page.verdict(report(**alike))
        == f"Over the complete grid dstcc has the best mean chunks played, 100{SPACE}%. {there}"
    )
    less = METRIC["mean_rtt_s"]
    overall = {
        (less.key, name): Mean(value, None, None, 1)
        for name, value in zip(NAMES, (600.0, 120.0, 700.0), strict=True)
    }
    said = page.verdict(report(**alike, metrics=(less,), overall=overall))
    assert said.startswith(
        f"Over the complete grid dstcc has the best mean {less.label.lower()}, 2{SPACE}min."
    )
    one = page.verdict(report(seeds=1, failures=({},) * 1234))
    assert one.startswith("2,900 of 3,000 trials at 1,200 points, one seed, 1,234 failed.")
    for poor in ({"metrics": ()}, {"algorithms": NAMES[:1]}):
        assert page.verdict(report(**alike, **poor)) == there


def test_axes_in_words() -> None:
    assert (
        page.axis_span(DISTANCE) == "3, 10, 22 min"
        and page.axis_span(KIND) == "short, much longer than …, none, true"
    )
    said = page.pooled_over(report(), DISTANCE)
    assert said == (
        "Means over seeds, kind, with Student's 95 % interval over the seeds. With distance_s also change: the slot."
    )
    moved = report(axes=(DISTANCE, KIND, Axis("x", "other", (1,))))
    assert page.pooled_over(moved, KIND).startswith("Means over seeds, distance_s, with")
    assert page.pooled_over(moved, moved.axes[2]) == (
        "Means over seeds, distance_s, kind, with Student's 95 % interval over the seeds."
    )


def test_a_figure_in_words() -> None:
    space = SPACE
    assert page._finding(report(), DISTANCE, PLAYED) == (
        f"Chunks played over distance_s: cubic 75.0{space}% at 3{space}min and 25.0{space}% at 22{space}min; "
        f"dstcc 100.0{space}% at 10{space}min."
    )
    assert page._finding(report(), KIND, RATE) == (
        f"{RATE.label} over kind: newreno 1.50{space}kb/s at short and 9.00{space}kb/s at much longer than …."
    )


def test_as_markdown_csv_and_json() -> None:
    failed = tuple({"trial": f"cubic/s{n}", "error": "no"} for n in range(51))
    text = page.render_study(report(failures=failed), "md").replace(SPACE, " ").split("\n")
    assert text[:12] == [
        "# mars",
        "",
        "2,900 of 3,000 trials at 1,200 points, 12 seeds, 51 failed.",
        "",
        "| varied | column | values | |",
        "|---|---|---|---|",
        "| `link.0.delay_s` | distance_s | 3 | 3, 10, 22 min |",
        "| `video.kind` | kind | 4 | short, much longer than …, none, true |",
        "",
        f"| algorithm | trials | {PLAYED.label} | {RATE.label} |",
        "|---|---|---|---|",
        "| cubic | 1,400 | 50.0 % (25.0 to 75.0) | – |",
    ]
    assert text[12:14] == ["| dstcc | 600 | 100.0 % | – |", "| newreno | 900 | – | 12.3 kb/s (9.0 to 15.7) |"]
    assert [line for line in text if line.startswith("Failed")] == [
        f"Failed: cubic/s{n}: no" for n in range(50)
    ]
    rows = page.render_study(report(), "csv").splitlines()
    assert rows[1:3] == [",,playback_ratio,cubic,0.5,0.25,0.75,14", ",,playback_ratio,dstcc,1.0,,,6"]
    assert rows[4] == "distance_s,180.0,playback_ratio,cubic,0.75,0.5,1.0,6" and len(rows) == 1 + 3 + 6
    document = json.loads(page.render_study(report(), "json"))
    assert {key: document[key] for key in ("study", "points", "trials", "results", "failed")} == {
        **{"study": "mars", "points": 1200, "trials": 3000, "results": 2900, "failed": 0}
    }
    assert document["overall"][0] == {
        **{
            "metric": "playback_ratio",
            "algorithm": "cubic",
            "mean": 0.5,
            "low": 0.25,
            "high": 0.75,
            "trials": 14,
        }
    }
    assert (
        document["along"][1]["at"] == 600.0 and report(trials=3001).missing == 0 and report().missing == 100
    )


def test_the_html_page_has_all_of_it() -> None:
    failed = tuple(
        {"trial": f"cubic/s{n}", "error": "no", "tries": ["no"], "traceback": ""} for n in range(51)
    )
    html = page.render_study(report(failures=failed))
    assert "dstcc sweep &#39;a b.toml&#39;" in html and html.count("cubic/s") == 50
    assert html.count('viewBox="0 0 760 300"') == html.count('viewBox="0 0 350 300"') == 2


# --------------------------------------------------------------------------------------------------------- the means


def test_means_are_of_seeds_that_are_means_of_points() -> None:
    """Of a at seed 1 (0.2 + 0.4) / 2, at seed 2 0.5, at seed 3 nothing: 0.4, with deviation 0.1414 of two seeds and
    t(0.975, 1) = 12.706."""
    table = pa.table(
        {
            "algorithm": ["a", "a", "a", "a", "b", "b"],
            "seed": [1, 1, 2, 3, 1, 1],
            "at": [1, 2, 1, 2, 1, 1],
            "value": [0.2, 0.4, 0.5, None, 7.0, float("inf")],
        }
    )
    found = load._means(table, [], "value")
    half = 12.706204736 * 0.02**0.5 / 2**0.5
    assert list(found) == [("a",)], "b's mean is not finite"
    mean = found["a",]
    assert (mean.value, mean.trials) == (pytest.approx(0.4), 3)
    assert mean.low == pytest.approx(0.4 - half) and mean.high == pytest.approx(0.4 + half)
    along = load._means(table.slice(0, 5), ["at"], "value")
    assert list(along) == [("a", 1), ("a", 2), ("b", 1)]
    assert (along["b", 1].low, along["b", 1].high) == (None, None) and along["a", 1].value == pytest.approx(
        0.35
    )
    assert load._means(table.slice(0, 0), [], "value") == {}


def test_values_are_in_order_numbers_before_texts_and_nothing_last() -> None:
    for values, ordered in (([3.0, None, 1.0], [1.0, 3.0, None]), (["b", None, "a"], [None, "a", "b"])):
        table = pa.table({"algorithm": ["a"] * 3, "seed": [1] * 3, "at": values, "value": [1.0, 2.0, 3.0]})
        assert [at for _, at in load._means(table, ["at"], "value")] == ordered


def test_axes_of_numbers_alone_are_numeric() -> None:
    assert DISTANCE.numeric and not KIND.numeric and not Axis("k", "c", (1, True)).numeric
    assert (
        Axis("x_bps", "x_bps", (1e3, 2e3)).title == "x (kb/s)"
        and Axis("x_bps", "named", (1e3,)).title == "named (kb/s)"
    )
    assert Axis("x_s", "x_s", ("a",)).title == "x_s"


# ------------------------------------------------------------------------------------------- what moves with an axis


def scenario(**link: Any) -> Any:
    """One link; nothing is given that would be computed."""
    given = SimpleNamespace(up_rate_bps=None, queue_bytes=None)
    vars(given).update(link)
    bare = SimpleNamespace(delay_s=None, scale=None, slot_s=None)
    return SimpleNamespace(link=(given,), playout=bare, run=SimpleNamespace(scale=None, slot_s=None))


def test_what_is_computed_from_a_links_key() -> None:
    delay, clock, slot, up, queue = (
        ("the playout delay (in round trips of the longest link)", {"playout.delay_s"}),
        ("the time scale", {"run.scale"}),
        ("the slot", {"run.slot_s"}),
        ("the uplink's rate", {"link.0.up_rate_bps"}),
        ("the queue (a bandwidth-delay product)", {"link.0.queue_bytes"}),
    )
    assert list(moving._computed(scenario(), "link.0.delay_s")) == [delay, clock, slot, queue]
    assert list(moving._computed(scenario(), "link.0.rate_bps")) == [up, queue]
    assert list(moving._computed(scenario(up_rate_bps="rate_bps", queue_bytes=1), "link.0.rate_bps")) == [up]
    assert list(moving._computed(scenario(up_rate_bps=5.0), "link.0.rate_bps")) == [queue]
    for key in (
        "link.0.loss.packet",
        "link.1.delay_s",
        "link.x.delay_s",
        "node.0.delay_s",
        "run.scale",
        "link.0.loss",
    ):
        assert list(moving._computed(scenario(), key)) == []
    given = scenario()
    given.playout.delay_s, given.run.scale, given.run.slot_s = 5.0, 30.0, 1.0
    assert list(moving._computed(given, "link.0.delay_s")) == [queue]
