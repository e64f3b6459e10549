"""Tests in forks: who reaches what, who notices a change, and in which order they are asked."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scripts import forked_tests
from scripts.forked_tests import Bench, used, within

STATE = """
value, spins, seen = 1, False, set()

def look(place):
    seen.add(place)
    while spins:
        pass
    return value
"""
TESTS = """
import functools
import state

kept = functools.cache(state.look)

def test_one():
    assert state.look("left") == 1

def test_two():
    assert state.look("left") < 3

def test_three():
    assert kept("right")

def test_four():
    assert kept("right") < 5

def test_that_fails_anyway():
    assert state.look("left") == 5
"""


def test_a_change_is_judged_by_the_tests_that_reach_it(tmp_path: Path) -> None:
    (tmp_path / "state.py").write_text(STATE)
    (tmp_path / "test_it.py").write_text(TESTS)
    said = tmp_path / "said.json"

    def call(items: Sequence[Any]) -> int:
        import state  # type: ignore[import-not-found]

        forked_tests.SLACK_S = 0.0
        gc.freeze()  # as conftest.py does
        bench = Bench(items, state.seen.clear, lambda: frozenset(state.seen))
        failed = bench.measure()
        names = [test.item.name for test in bench.tests]

        def judge(place: str, **values: Any) -> str | None:
            return bench.judge(bench.of(place), lambda: vars(state).update(values))

        found = {
            "failed": failed,
            "tests": sorted(names),
            "left": sorted(names[number] for number in bench.of("left")),
            "nowhere": bench.of("nowhere"),
            "two": judge("left", value=2),
            "three": judge("left", value=3),
            "right": judge("right", value=3),
            "kept": judge("right", value=5),
            "spins": judge("right", spins=True),
            "first": names[bench.of("left")[0]],
            "here": state.value,
        }
        said.write_text(json.dumps(found))
        return 0

    assert within(tmp_path, ["test_it.py"], call) == 0
    found = json.loads(said.read_text())
    assert found["tests"] == ["test_four", "test_one", "test_three", "test_two"]  # one fails anyway
    assert [name.rpartition("::")[2] for name in found["failed"]] == ["test_that_fails_anyway"]
    assert found["left"] == ["test_one", "test_two"] and found["nowhere"] == []
    assert found["two"].endswith("::test_one")
    assert found["three"].endswith(("::test_one", "::test_two"))
    assert found["right"] is None  # those that would notice do not reach it
    assert found["kept"].endswith("::test_four")  # what was computed before is forgotten
    assert found["spins"].endswith("::test_four")  # it does not end
    assert (
        found["first"] == "test_one" and found["here"] == 1
    )  # it noticed most; and nothing was changed here


GUESTS = """
import pytest

pytestmark = pytest.mark.kernel

@pytest.mark.parametrize("case", [1, 2])
def test_named(case):
    pass

def test_other():
    pass

@pytest.mark.debug_kernel
def test_watched():
    pass
"""


@pytest.mark.parametrize(
    ("guests", "names"),
    [
        ((), []),
        (("test_guests.py::test_named",), ["test_named[1]", "test_named[2]"]),
        (("test_guests.py::test_named[2]",), ["test_named[2]"]),
        (("test_guests.py",), ["test_named[1]", "test_named[2]", "test_other"]),
    ],
)
def test_of_the_kernels_tests_those_are_collected_that_are_named(
    tmp_path: Path, guests: tuple[str, ...], names: list[str]
) -> None:
    (tmp_path / "state.py").write_text(STATE)
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_guests.py").write_text(GUESTS)
    said = tmp_path / "said.json"

    def call(items: Sequence[Any]) -> int:
        said.write_text(json.dumps([item.name for item in items]))
        return 0

    assert within(tmp_path, ["test_it.py", "test_guests.py"], call, guests) == 0
    found = json.loads(said.read_text())
    of_kernel = [name for name in found if name.startswith(("test_named", "test_other", "test_watched"))]
    assert of_kernel == names
    assert "test_one" in found, "others are collected anyway"
    assert within(tmp_path, ["test_it.py"], call, guests) == 0
    assert set(names) <= set(json.loads(said.read_text())), "their files need not be named"


def test_a_test_costs_what_its_children_do(tmp_path: Path) -> None:
    before = used()
    subprocess.run([sys.executable, "-S", "-c", "sum(range(10**6))"], check=True)
    assert used() - before > 0.002
