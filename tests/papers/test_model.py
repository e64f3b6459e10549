"""A paper's files as models: words, and what of a figure is run."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from dstcc.errors import InputError
from dstcc.papers.model import Axis, Exploring, Figure, Number, Paper, Plot, Point, Setting


def figure(**more: Any) -> Figure:
    whole: dict[str, Any] = {
        **{"id": "1", "title": "made", "scenario": "s.toml", "seeds": 10, "quick_seeds": 2},
        "algorithms": ("ours", "theirs"),
    }
    return Figure.model_validate({**whole, **more})


def test_quick_leaves_out_points_algorithms_seeds_and_steps() -> None:
    one = figure(
        beyond=("more",),
        not_quick=("theirs",),
        point=({"x": 1.0}, {"x": "far", "quick": False}),
        steps=100,
        quick_steps=10,
    )
    assert one.names == one.names_of(False) == ("ours", "theirs", "more")
    assert one.names_of(True) == ("ours", "more")
    assert [point.x for point in one.points(False)] == [1.0, "far"]
    assert [point.x for point in one.points(True)] == [1.0]
    assert (one.count(False), one.count(True), one.steps_of(False), one.steps_of(True)) == (10, 2, 100, 10)
    assert figure(kind="links", algorithms=()).names == ("links",)
    training = figure(
        kind="training", learner="pbq", steps=1, quick_steps=1, changed={"x": {"pacing": "rate"}}
    )
    assert training.names == ("pbq", "x")


@pytest.mark.parametrize(
    ("id_", "heading"), [("4", "Figure 4"), ("10b", "Figure 10b"), ("table 1", "Table 1"), ("Map", "Map")]
)
def test_a_heading_is_a_figures_number_or_its_own_word(id_: str, heading: str) -> None:
    assert figure(id=id_).heading == heading


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"algorithms": ("ours", "ours")}, "algorithm named twice: ours"),
        ({"beyond": ("theirs",)}, "algorithm named twice: theirs"),
        ({"algorithms": ()}, "needs algorithms"),
        ({"algorithms": (), "kind": "dash"}, "needs algorithms"),
        ({"kind": "training"}, "a training needs learner, steps and quick_steps"),
        ({"kind": "training", "learner": "pbq", "steps": 1}, "a training needs"),
        ({"kind": "training", "steps": 1, "quick_steps": 1}, "a training needs"),
        ({"changed": {"x": {}}}, "changed: of a training only"),
        ({"exploring": {"ours": {"of": "a", "factor": 1, "least": 0, "rich_s": 0}}}, "of a dash figure only"),
        (
            {"kind": "dash", "exploring": {"x": {"of": "a", "factor": 1, "least": 0, "rich_s": 0}}},
            "exploring: no algorithm x",
        ),
        ({"scenario": ""}, "needs a scenario"),
        ({"seeds": 0}, "greater than or equal to 1"),
    ],
)
def test_figures_that_break_a_rule(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        figure(**change)


def axis(**more: Any) -> Axis:
    whole = {
        "name": "delay",
        "unit": "s",
        "figures": ("1",),
        "algorithms": ("ours",),
        "quantities": ("gain",),
    }
    return Axis.model_validate({**whole, "point": ({"x": 1500.5}, {"x": "far", "set": ("a=1",)}), **more})


def number(quantity: str = "gain of ours", id_: str = "1", published: Any = 1.0, **asked: Any) -> Number:
    measure = {"kind": "level", "metric": "m", "of": "ours", **asked}
    return Number.model_validate(
        {"figure": id_, "quantity": quantity, "published": published, "place": "p", "measure": measure}
    )


def test_a_value_of_an_axis_says_its_unit_and_whether_the_figures_use_it() -> None:
    one = axis()
    used, other = (Setting(one, point) for point in one.point)
    assert (used.value, used.words) == ("1,500.5 s (used)", "delay: 1,500.5 s (used)")
    assert (other.value, other.words) == ("far s", "delay: far s")
    moved = Setting(axis(unit=""), Point(x="far", scenario="other.toml"))
    assert moved.value == "far"
    for points in (({"x": 1.0},), ({"x": 1.0}, {"x": 1.0}), ({"x": 1.0}, {"x": 2.0}, {"x": 1.0})):
        with pytest.raises(ValidationError, match="delay: needs two values or more, each once"):
            axis(point=points)


def test_an_axis_compares_the_numbers_of_its_figures_algorithms_and_quantities() -> None:
    """Of others that a number is compared with those are left that are run; without any it is left out."""
    both = number("gain over {over}", kind="gain", over=("theirs", "more"))
    all_numbers = (
        *(number(), number("loss of ours"), number(id_="2"), number(of="theirs"), both),
        *(number("gain", of=("ours", "theirs")), number("gain", kind="lead", over=("theirs",))),
    )
    assert axis().numbers(all_numbers) == (number(),)
    wide = axis(algorithms=("ours", "more")).numbers(all_numbers)
    assert [one.measure.over for one in wide] == [(), ("more",)]
    assert len(axis(algorithms=("ours", "theirs")).numbers(all_numbers)) == 5
    assert len(axis(quantities=("",)).numbers(all_numbers)) == 2
    assert len(axis(figures=("1", "2")).numbers(all_numbers)) == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"kind": "gain"}, "over: named by gain, cut and lead, and not by level, growth, rise"),
        ({"over": ("theirs",)}, "over: named by"),
        ({"kind": "growth", "at": (1.0,)}, "at: a growth is from one point to another"),
        ({"kind": "rise", "at": (1.0, 2.0, 3.0)}, "at: a rise is"),
        ({"kind": "gain", "over": ("theirs",), "of": ("ours", "more")}, "of: one only where there is over"),
    ],
)
def test_measures_that_break_a_rule(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        number(**asked)


def test_numbers_that_break_a_rule() -> None:
    assert number(published=(1.0, 2.0)).published == (1.0, 2.0)
    for published in ((2.0, 1.0), (1.0, 1.0)):
        with pytest.raises(ValidationError, match="published: a range rises"):
            number(published=published)
    with pytest.raises(ValidationError, match=r"does not name the other \(\{over\}\)"):
        number("gain", kind="gain", over=("a", "b"))
    assert number("gain", kind="gain", over=("a",)).measure.whose == ("ours",)
    assert number("gain", of=("a", "b")).measure.whose == ("a", "b")
    with pytest.raises(ValidationError, match="needs either published or claim"):
        Number.model_validate(
            {**number().model_dump(), "claim": "is faster", "measure": number().measure.model_dump()}
        )


def test_chosen_figures_are_those_named_or_all_but_the_extra() -> None:
    about = {"name": "made", "title": "t", "authors": "a", "venue": "v"}
    figures = (figure(), figure(id="2", extra=True), figure(id="3"))
    paper = Paper.model_validate(
        {"about": about, "figure": [one.model_dump() for one in figures], "number": [], "folder": "."}
    )
    assert [one.id for one in paper.chosen(())] == ["1", "3"]
    assert [one.id for one in paper.chosen(("3", "2"))] == ["2", "3"]
    with pytest.raises(InputError, match=r"--figure 9: made has 1 \(made\), 2 \(made\), 3 \(made\)"):
        paper.chosen(("1", "9"))
    with pytest.raises(ValidationError, match="figure: two of one id"):
        Paper.model_validate(
            {"about": about, "figure": [figures[0].model_dump()] * 2, "number": [], "folder": "."}
        )


def test_an_explorer_says_whether_it_learns() -> None:
    how = {"of": "a", "factor": 0.5, "least": 0.1, "rich_s": 1}
    assert Exploring.model_validate(how).words == "exploring"
    assert Exploring.model_validate({**how, "learns": True}).words == "learning anew"
    for change in ({"factor": 0}, {"factor": 1.1}, {"least": 1.1}, {"least": -0.1}, {"rich_s": -1}):
        with pytest.raises(ValidationError):
            Exploring.model_validate({**how, **change})
    assert Plot(kind="lines").times == 1.0
