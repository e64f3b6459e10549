"""What a study varies: lists and ranges, with units, are the numbers that one would work out by hand."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import InputError
from dstcc.scenario.units import UNITS
from dstcc.sweeps.axes import axis_of, flattened, zipped
from tests.sampling import examples


def values(key: str, given: Any) -> list[Any]:
    return [row[0] for row in axis_of(key, given, "study: vary").rows]


@pytest.mark.parametrize(
    ("key", "given", "wanted"),
    [
        ("link.0.loss.packet", [1e-4, 1e-3], [1e-4, 1e-3]),
        ("link.0.delay_s", ["3 min", 600], [180.0, 600]),
        ("link.0.rate_bps", ["10 kbit/s", "1 MB/s"], [10_000.0, 8_000_000.0]),
        ("link.0.queue_bytes", ["64 KiB"], [65_536]),
        ("link.0.loss", [{"packet": 0.1}, {"ber": 1e-6}], [{"packet": 0.1}, {"ber": 1e-6}]),
        ("video.synthetic.layer_bps", [[1000, "2 kbit/s"]], [[1000, 2000.0]]),
        (
            "transport.lanes_per_link",
            {"from": 1, "to": 64, "steps": 7, "scale": "log"},
            [1, 2, 4, 8, 16, 32, 64],
        ),
        ("x", {"from": 0, "to": 1, "steps": 11}, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        ("x", {"from": 0.1, "to": 0.3, "by": 0.1}, [0.1, 0.2, 0.3]),
        ("x", {"from": 10, "to": 3, "by": -3}, [10, 7, 4]),
        ("playout.delay_s", {"from": "10 min", "to": "1 h", "by": "25 min"}, [600.0, 2100.0, 3600.0]),
        ("x", {"from": 1e-5, "to": 1e-1, "steps": 5, "scale": "log"}, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]),
        ("x", {"values": [1, 2], "as": "n"}, [1, 2]),
    ],
)
def test_values(key: str, given: Any, wanted: list[Any]) -> None:
    assert values(key, given) == wanted


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "has no values"),
        ([1, 2, 1], "has 1 twice"),
        (3, "must be a list of values, or a range"),
        ({"from": 1}, "to = None: must be a number"),
        ({"from": 1, "to": 2}, "a range needs steps, or by, and not both"),
        ({"from": 1, "to": 2, "steps": 2, "by": 1}, "and not both"),
        ({"from": 1, "to": 2, "steps": 1}, "steps = 1: must be a whole number of at least 2"),
        ({"from": 1, "to": 2, "steps": 2.5}, "steps = 2.5"),
        ({"from": 1, "to": 1, "steps": 2}, "from and to are the same"),
        ({"from": 1, "to": 2, "by": -1}, "by = -1: must be a number that leads from 1 to 2"),
        ({"from": 1, "to": 2, "by": 1e-9}, "makes more than 1,000,000 values"),
        ({"from": 0, "to": 2, "steps": 3, "scale": "log"}, "both ends above 0"),
        ({"from": 1, "to": 2, "by": 1, "scale": "log"}, "a range needs steps"),
        ({"from": 1, "to": 2, "steps": 3, "scale": "cubic"}, "scale = 'cubic': must be 'linear' or 'log'"),
        ({"from": 1, "to": 2, "step": 3}, "'step' is none of"),
        ({"values": [1], "steps": 2}, "values must be a list, with nothing else but 'as'"),
        ({"values": [1], "as": ""}, "as = '': must be a column's name"),
        (["3 parsecs"], "'parsecs' is no unit of a time"),
        ([float("inf")], "is no finite number"),
    ],
)
def test_mistakes_are_named(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"^study: vary.*{said}"):
        axis_of("link.0.delay_s", given, "study: vary")


@pytest.mark.parametrize("key", ["", "a..b", " a", "transport.congestion", "run.seeds"])
def test_keys_that_cannot_vary(key: str) -> None:
    with pytest.raises(InputError, match="study: vary"):
        axis_of(key, [1], "study: vary")


FINITE = st.floats(-1e12, 1e12, allow_nan=False).map(lambda number: float(f"{number:.6g}"))


@examples(40)
@given(FINITE, FINITE, st.integers(2, 40))
def test_a_range_is_even_and_has_its_ends(low: float, high: float, steps: int) -> None:
    if low == high:
        return
    found = values("x", {"from": low, "to": high, "steps": steps})
    assert len(found) == steps and (found[0], found[-1]) == (low, high)
    for place, value in enumerate(found):
        # ten digits of the largest number that is worked with
        wanted = low + (high - low) * place / (steps - 1)
        assert value == pytest.approx(wanted, rel=1e-9, abs=1e-9 * (abs(low) + abs(high)))


@examples(40)
@given(st.floats(1e-12, 1e12), st.floats(1.5, 1e6), st.integers(2, 40))
def test_a_logarithmic_range_has_even_ratios(low: float, ratio: float, steps: int) -> None:
    high = low * ratio
    found = values("x", {"from": low, "to": high, "steps": steps, "scale": "log"})
    assert len(found) == steps and (found[0], found[-1]) == (low, high)
    assert all(low <= value <= high * (1 + 1e-9) for value in found)
    step = math.log(ratio) / (steps - 1)
    for one, other in pairwise(found):
        assert math.log(other / one) == pytest.approx(step, abs=1e-8)


@examples(40)
@given(st.sampled_from(["_s", "_bps", "_bytes", "_db"]), st.integers(1, 9999), st.data())
def test_units_are_those_of_the_command_line(end: str, amount: int, data: st.DataObject) -> None:
    unit, factor = data.draw(st.sampled_from(sorted(UNITS[end][1].items())))
    (value,) = values(f"link.0.some{end}", [f"{amount} {unit}"])
    assert value == pytest.approx(amount * float(factor), rel=1e-12)


def test_nested_tables_are_keys_with_dots() -> None:
    nested = {
        "link": {"0": {"loss": {"packet": [1]}, "delay_s": {"from": 1, "to": 2, "steps": 2}}},
        "a.b": [2],
    }
    assert flattened(nested, "study") == {
        "link.0.loss.packet": [1],
        "link.0.delay_s": {"from": 1, "to": 2, "steps": 2},
        "a.b": [2],
    }
    with pytest.raises(InputError, match=r"study: a\.b is there twice"):
        flattened({"a": {"b": [1]}, "a.b": [2]}, "study")


def test_keys_that_vary_together_have_as_many_values() -> None:
    one, two = axis_of("a", [1, 2], ""), axis_of("b", [3, 4], "")
    assert zipped([one, two], "").rows == ((1, 3), (2, 4))
    with pytest.raises(InputError, match=r"study: zip\.0: .* a has 2, b has 1"):
        zipped([one, axis_of("b", [3], "")], "study: zip.0")


@pytest.mark.parametrize(
    ("values", "twice"),
    [
        ([1, 1.0, "1", True], None),
        ([3, 1, 2, 1, 3], "1"),
        ([{"a": 1}, {"a": 2}], None),
        ([{"a": 1}, "x", {"a": 1}], '{"a": 1}'),
        ([*range(30_000), 29_999], "29999"),  # at once, though it is the last of many
    ],
)
def test_a_value_is_there_once(values: list[object], twice: str | None) -> None:
    if twice is None:
        assert len(axis_of("link.0.loss.packet", values, "study")) == len(values)
    else:
        with pytest.raises(InputError, match=f"^study: has {re.escape(twice)} twice$"):
            axis_of("link.0.loss.packet", values, "study")


def test_keys_that_vary_together_may_repeat_values_but_not_rows() -> None:
    """Two places, each with a break and without: a row is what must not come twice."""
    places = axis_of("a.x", [1, 1, 2, 2], "a.x", alone=False)
    breaks = axis_of("b.y", [0, 5, 0, 5], "b.y", alone=False)
    assert zipped((places, breaks), "zip.0").rows == ((1, 0), (1, 5), (2, 0), (2, 5))
    again = axis_of("a.x", [1, 1], "a.x", alone=False), axis_of("b.y", [0, 0], "b.y", alone=False)
    with pytest.raises(InputError, match=r"zip\.0: has \[1, 0\] twice"):
        zipped(again, "zip.0")
