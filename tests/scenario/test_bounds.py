"""A line of ``[expect]``: whose it is, what it compares, and which trials it is for."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter
from pydantic_core import PydanticCustomError

from dstcc.scenario.bounds import Bounds, parse_bound, without


@pytest.mark.parametrize(
    ("text", "below", "at", "above"),
    [
        *(("< 2", True, False, False), ("<= 2", True, True, False), ("> 2", False, False, True)),
        *((">= 2", False, True, True), ("== 2", False, True, False), ("!= 2", True, False, True)),
        *(
            (">=1.5,<=2", False, True, False),
            (" > 1 , < 3 ", True, True, True),
            ("> 1, < 1", False, False, False),
        ),
    ],
)
def test_all_comparisons_must_hold(text: str, below: bool, at: bool, above: bool) -> None:
    bound = parse_bound("ssim", text)
    assert [bound.holds(value) for value in (1.25, 2.0, 2.5)] == [below, at, above]
    assert not bound.holds(None)
    assert (bound.text, bound.key, bound.metric) == (text.strip(), "ssim", "ssim")


@pytest.mark.parametrize(
    ("number", "value"), [("1e3", 1000), ("-.5", -0.5), ("+2.", 2), ("1E-2", 0.01), ("0", 0)]
)
def test_numbers_are_read(number: str, value: float) -> None:
    ((_, limit),) = parse_bound("ssim", f">= {number}").limits
    assert limit == value


@pytest.mark.parametrize("text", ["", "1", "= 1", "> x", "> 1e9999", "> 1,", "> 1 < 2", "=> 1", "> ."])
def test_what_is_no_comparison_is_refused(text: str) -> None:
    with pytest.raises(PydanticCustomError, match="a bound is a comparison and a number"):
        parse_bound("ssim", text)


NAMES = ("mine", "mine.v2")


@pytest.mark.parametrize(
    ("key", "who"),
    [
        ("ssim", ("ssim", None, None, None)),
        ("layers_played.none", ("layers_played.none", None, None, None)),
        ("cubic.ssim", ("ssim", "cubic", None, None)),
        ("cubic+minrtt.ssim", ("ssim", "cubic", "minrtt", None)),
        ("ltp+none.ssim", ("ssim", "ltp", "none", None)),
        ("mine.ssim", ("ssim", None, None, "mine")),
        ("mine.v2.layers_played.none", ("layers_played.none", None, None, "mine.v2")),
        ("dstcc.ssim", ("ssim", None, None, "dstcc")),
        ("Own.ssim", ("ssim", "Own", None, None)),  # the class of a file of one's own
        ("programs.bytes", ("bytes", None, None, None)),
        ("programs.a.b", ("a.b", None, None, None)),
    ],
)
def test_a_key_names_a_contender_and_a_metric(key: str, who: tuple[str | None, ...]) -> None:
    bound = parse_bound(key, "> 1", NAMES)
    assert (bound.metric, bound.congestion, bound.scheduler, bound.name) == who


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("sim", r"no metric 'sim'; did you mean 'ssim'"),
        ("cubic", r"no metric 'cubic'"),
        ("cubic.sim", r"no metric 'sim'; did you mean 'ssim'"),
        ("cubik.ssim", r"'cubik': .*did you mean 'cubic'.*; controllers and variants here: .*mine, mine\.v2"),
        ("cubic+minrt.ssim", r"'minrt': .*did you mean 'minrtt'"),
        ("cubic+none.ssim", r"'none': no such scheduler"),
    ],
)
def test_what_is_unknown_is_named(key: str, rule: str) -> None:
    with pytest.raises(PydanticCustomError, match=rule):
        parse_bound(key, "> 1", NAMES)


def test_without_knowing_names_a_stranger_is_one() -> None:
    bound = parse_bound("cubik.ssim", "> 1", None)
    assert (bound.metric, bound.congestion, bound.scheduler, bound.name) == ("ssim", None, None, "cubik")
    assert parse_bound("cubic.ssim", "> 1", None).congestion == "cubic"


TRIALS = {
    "cubic": ("cubic", "minrtt", None, None),
    "redundant": ("cubic", "redundant", None, None),
    "other": ("lia", "minrtt", None, None),
    "variant": ("cubic", "minrtt", "mine", None),
    "controller": ("agent", "minrtt", None, "mine"),
    "variant of a controller": ("agent", "minrtt", "theirs", "mine"),
}


@pytest.mark.parametrize(
    ("key", "covered"),
    [
        ("ssim", set(TRIALS)),
        ("cubic.ssim", {"cubic", "redundant"}),
        ("cubic+minrtt.ssim", {"cubic"}),
        ("mine.ssim", {"variant", "controller"}),
    ],
)
def test_a_bound_is_for_the_trials_of_its_contender(key: str, covered: set[str]) -> None:
    bound = parse_bound(key, "> 1", NAMES)
    assert {name for name, trial in TRIALS.items() if bound.covers(*trial)} == covered


def test_lines_of_contenders_that_are_gone_are_left_out() -> None:
    bounds = dict.fromkeys(("ssim", "cubic.ssim", "mine.v2.layers_played.none", "cubic+minrtt.ssim"), "> 1")
    assert set(without(bounds, {"cubic", "mine.v2"})) == {"ssim", "cubic+minrtt.ssim"}
    assert without(bounds, ()) == bounds


def test_nested_tables_are_keys_with_dots() -> None:
    given = {"ssim": "> 1", "cubic": {"ssim": "> 2", "layers_played": {"none": "< 3"}}}
    assert TypeAdapter(Bounds).validate_python(given) == {
        "ssim": "> 1",
        "cubic.ssim": "> 2",
        "cubic.layers_played.none": "< 3",
    }
