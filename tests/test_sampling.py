"""Of a long list of tests `make test` draws a sample, which only the list decides."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import sampling
from tests.sampling import SAMPLES, examples, mark_rest, place_of

TESTS = Path(__file__).parent


@dataclass
class Item:
    """As much of a collected test as is looked at."""

    nodeid: str
    marks: set[str] = field(default_factory=set)

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.marks else None

    def add_marker(self, mark: Any) -> None:
        self.marks.add(mark.name)


def drawn(items: list[Item]) -> list[str]:
    mark_rest(items)  # type: ignore[arg-type]
    return [item.nodeid for item in items if "rest" not in item.marks]


@pytest.fixture
def samples(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"a": 3, "a/test_b.py::test_c": 2, "a/test_b.py::test_d": 0, "a/test_b.py::test_c[9]": 1}
    monkeypatch.setattr(sampling, "SAMPLES", table)


def cases(count: int = 9) -> list[Item]:
    return [Item(f"tests/a/test_b.py::test_c[{number}]") for number in range(count)]


@pytest.mark.usefixtures("samples")
def test_so_many_are_drawn_whatever_their_order() -> None:
    once, again = drawn(cases()), drawn(cases()[::-1])
    assert len(once) == 2
    assert once == again[::-1]


@pytest.mark.usefixtures("samples")
def test_others_of_the_list_and_nothing_else_change_the_sample() -> None:
    others = [Item("tests/a/test_e.py::test_f"), Item("tests/g.py::test_h")]
    assert drawn([*cases(), *others])[:2] == drawn(cases())
    assert drawn(cases(1)) == ["tests/a/test_b.py::test_c[0]"], "who asks for one has it"
    slow = [Item(f"tests/a/test_b.py::test_c[slow {number}]", {"slow"}) for number in range(9)]
    kernel = [Item(f"tests/a/test_b.py::test_c[kernel {number}]", {"kernel"}) for number in range(9)]
    assert drawn([*slow, *kernel, *cases()])[18:] == drawn(cases())


@pytest.mark.usefixtures("samples")
def test_the_longest_entry_decides() -> None:
    assert place_of("tests/a/test_b.py::test_c[9]") == "a/test_b.py::test_c[9]"
    assert place_of("tests/a/test_b.py::test_c[a/b::c]") == "a/test_b.py::test_c"
    assert place_of("tests/a/test_b.py::TestC::test_d") == place_of("tests/a/x/test_b.py::test_c") == "a"
    assert place_of("tests/test_b.py::test_c") is None
    assert drawn([Item("tests/a/test_b.py::test_d")]) == []


def test_every_entry_is_of_something_that_is_there() -> None:
    for place, count in SAMPLES.items():
        path, *names = place.partition("[")[0].split("::")
        assert count >= 0 and (TESTS / path).exists(), place
        for name in names:
            assert re.search(rf"(def|class) {name}\b", (TESTS / path).read_text()), place


def test_examples_are_of_the_profile() -> None:
    whole = settings.get_profile("dstcc").max_examples
    quick = settings.get_profile("quick").max_examples
    assert (whole, quick) == (100, 25)
    assert examples(80).max_examples == 80 * settings().max_examples // 100
    assert examples(1).max_examples == 1
