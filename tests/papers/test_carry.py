"""Which cells are run, which are not, and what an end in between leaves."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dstcc.papers.carry import Planned, _varied, carry
from dstcc.papers.cells import Outcome, Store, number
from dstcc.papers.model import Axis, Figure, Number, Point


@dataclass
class MadeCell:
    """Says what it is when it is run."""

    name: str
    alone: bool = False
    ran: list[str] = field(default_factory=list)
    fails: bool = False

    @property
    def label(self) -> str:
        return self.name

    def identity(self) -> dict[str, Any]:
        return {"name": self.name}

    def run(self, scratch: Path) -> Outcome:
        self.ran.append(f"{self.name} in {scratch.name[-10:]}, {threading.current_thread().name[:5]}")
        if self.fails:
            raise ValueError(self.name)
        return Outcome({"y": float(len(self.ran))})


FIGURE = Figure(
    id="1", title="made", scenario="s", seeds=1, quick_seeds=1, algorithms=("a",), point=(Point(x=0.0),)
)


def planned(*cells: MadeCell) -> Planned:
    return Planned(FIGURE, False, {("a", 0.0, seed): cell for seed, cell in enumerate(cells, 1)})


def test_equal_cells_are_run_once_and_those_alone_at_last(tmp_path: Path) -> None:
    ran: list[str] = []
    cells = [MadeCell("one", ran=ran), MadeCell("alone", True, ran), MadeCell("one", ran=ran)]
    counts: list[Any] = []
    advanced: list[int] = []

    def begin(cells: int, kept: int) -> Any:
        counts.append((cells, kept))
        return lambda: advanced.append(len(ran))

    store = Store(tmp_path)
    (made,) = carry([planned(*cells)], store, jobs=1, begin=begin)
    assert [text.split()[0] for text in ran] == ["one", "alone"]
    assert ran[1].endswith(threading.current_thread().name[:5]) and not ran[0].endswith(ran[1][-5:])
    assert all(" in unfinished," in text for text in ran)
    assert [one.values for one in made.at("a", 0.0)] == [{"y": 1.0}, {"y": 2.0}, {"y": 1.0}]
    assert (counts, advanced) == ([(2, 0)], [1, 2])
    again = carry([planned(*cells), planned(MadeCell("more", ran=ran))], store, jobs=2, begin=begin)
    assert counts[1] == (3, 2) and len(ran) == 3
    assert [one.values for one in again[1].at("a", 0.0)] == [{"y": 3.0}]
    assert again[0].at("b", 0.0) == again[0].at("a", 1.0) == []


def test_an_interrupt_runs_nothing_that_has_not_begun(tmp_path: Path) -> None:
    """One at a time. The first is done, the second waits until the interrupt is over, and ends; of the others none is
    run, nor is the one that is to be alone."""
    ran: list[str] = []
    over, workers = threading.Event(), []

    @dataclass
    class Waiting(MadeCell):
        def run(self, scratch: Path) -> Outcome:
            if ran:
                workers.append(threading.current_thread())
                over.wait(5)
            return super().run(scratch)

    cells = [Waiting(f"cell {number}", number == 5, ran) for number in range(6)]

    def advance() -> None:
        while not workers:
            over.wait(0.001)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry([planned(*cells)], Store(tmp_path), jobs=1, begin=lambda *_: advance)
    assert len(ran) == 1, "it does not wait for what is under way"
    over.set()
    workers[0].join()
    assert [text.split(" in ")[0] for text in ran] == ["cell 0", "cell 1"]


def test_an_error_ends_it_and_keeps_what_is_finished(tmp_path: Path) -> None:
    ran: list[str] = []
    cells = [MadeCell("good", ran=ran), MadeCell("bad", ran=ran, fails=True), MadeCell("last", True, ran)]
    with pytest.raises(ValueError, match="bad"):
        carry([planned(*cells)], Store(tmp_path), jobs=1)
    assert [text.split()[0] for text in ran] == ["good", "bad"]
    with pytest.raises(ValueError, match="bad"):
        carry([planned(*cells)], Store(tmp_path), jobs=1)
    assert [text.split()[0] for text in ran] == ["good", "bad", "bad"]


@pytest.mark.parametrize(
    ("value", "kept"), [(None, None), (1, 1.0), (float("inf"), None), (float("nan"), None), (-2.5, -2.5)]
)
def test_a_cells_file_holds_finite_numbers(value: float | None, kept: float | None) -> None:
    assert number(value) == kept


def test_a_maps_figures_are_those_of_its_values() -> None:
    """At a value a point has the value's settings after its own, its scenario unless it has none, the algorithms of the
    axis, the points that numbers ask for, and as few seeds as either."""
    base = Figure(
        id="1",
        title="made",
        scenario="s.toml",
        seeds=10,
        quick_seeds=2,
        algorithms=("a", "b"),
        beyond=("c",),
        point=(Point(x=1.0, set=("k=1",)), Point(x=2.0, scenario="own.toml"), Point(x=3.0)),
    )
    axis = Axis(
        name="delay",
        figures=("1",),
        algorithms=("c", "a"),
        point=(Point(x=5.0, set=("d=5",)), Point(x=6.0, scenario="other.toml")),
    )
    whole = Figure(id="map", title="m", kind="map", axis=(axis,), seeds=4, quick_seeds=3)

    def varied(value: int, *at: tuple[float, ...]) -> Figure:
        numbers = [
            {
                "figure": "1",
                "quantity": "q",
                "published": 1,
                "place": "p",
                "measure": {"kind": "level", "metric": "m", "of": "a", "at": one},
            }
            for one in at
        ]
        paper: Any = SimpleNamespace(
            figures={"1": base}, number=tuple(Number.model_validate(one) for one in numbers)
        )
        return _varied(whole, paper, axis, axis.point[value], "1")

    made = varied(0, (1.0,), (2.0,))
    assert [(point.x, point.set, point.scenario) for point in made.point] == [
        (1.0, ("k=1", "d=5"), None),
        (2.0, ("d=5",), "own.toml"),
    ]
    assert (made.algorithms, made.beyond, made.seeds, made.quick_seeds) == (("a", "c"), (), 4, 2)
    other = varied(1, (1.0,), ())
    assert [(point.x, point.set, point.scenario) for point in other.point] == [
        (1.0, ("k=1",), "other.toml"),
        (2.0, (), "other.toml"),
        (3.0, (), "other.toml"),
    ]
