"""Rules of sweeps that need no sweep: memory for a question, the order of numbers, what an estimate counts."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from dstcc.errors import DstccError, InputError, RunError
from dstcc.sweeps import axes, query, results, work, worker
from dstcc.sweeps import estimate as estimates
from dstcc.sweeps.conduct import Pace
from dstcc.sweeps.executors.base import Ended
from dstcc.sweeps.places import Place
from dstcc.sweeps.plan import Unit
from tests.sweeps.made import STUDY, write


def test_a_question_may_take_half_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1001}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert query.memory_limit() == 2_050_048


def test_a_question_without_memory_or_time_says_how_much_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    class Connection:
        def __init__(self, error: Exception) -> None:
            self._error = error

        def interrupt(self) -> None:
            """Too late."""

        def extract_statements(self, _sql: str) -> Any:
            raise self._error

    def ask(error: Exception) -> None:
        tables: Any = object.__new__(query.Tables)
        tables._connection, tables._error, tables._lacking = Connection(error), duckdb.Error, "first: "
        tables.ask("SELECT 1", limit_s=90.0)

    monkeypatch.setattr(query, "memory_limit", lambda: 3 << 29)
    with pytest.raises(DstccError, match=r"query: needs more than 1\.5 GiB, half of this machine's memory"):
        ask(duckdb.OutOfMemoryException("no"))
    with pytest.raises(DstccError, match=r"query: took longer than 90 s \(--time-limit\)"):
        ask(duckdb.InterruptException("no"))
    with pytest.raises(InputError, match="query: first: no such table"):
        ask(duckdb.CatalogException("no such table"))


def test_whole_decimals_become_whole_numbers() -> None:
    values = [Decimal("12"), Decimal("12.50"), Decimal("12.0"), "x", None]
    found = [query._number(value) for value in values]
    assert found == [12, 12.5, 12.0, "x", None]
    assert [type(one) for one in found[:3]] == [int, float, float]


def test_numbers_of_the_whole_run_come_before_those_of_its_parts() -> None:
    some = {"b": [1.0, None], "a.x": [1.0, 2.0], "a": [None, 2.0], "none": pa.nulls(2), "B.y": [1.0, 1.0]}
    assert results._in_order(pa.table(some)) == ["a", "b", "B.y", "a.x"]
    assert results._numbers([{"x": 1.0}, {"y": 2.0, "x": 3.0}]).names == ["x", "y"]


def test_a_part_that_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "part-1.parquet").mkdir()
    with pytest.raises(RunError, match=r"part-1\.parquet: cannot be read: is a folder"):
        results.read_part(tmp_path / "part-1.parquet")
    os.mkfifo(tmp_path / "part-2.parquet")  # who opened it would wait for ever
    with pytest.raises(RunError, match=r"part-2\.parquet: cannot be read: is not a regular file"):
        results.read_part(tmp_path / "part-2.parquet")


def test_of_rows_of_one_unit_the_first_stays() -> None:
    for units, kept in (([3, 3], [0]), ([3, 1], [1, 0]), ([3], [0]), ([], []), ([2, 1, 2, 1, 1], [1, 0])):
        rows = results._once(
            pa.table({"unit": pa.array(units, pa.int64()), "row": pa.array(range(len(units)), pa.int64())})
        )
        assert rows["unit"].to_pylist() == sorted(set(units)) and len(rows["row"]) == len(kept)


@pytest.mark.parametrize("settled", [True, False])
def test_of_parts_that_are_not_in_order_each_trial_is_there_once(
    monkeypatch: pytest.MonkeyPatch, settled: bool
) -> None:
    table = pa.table({"key": ["b", "a", "b", "c"], "row": [0, 1, 2, 3]})
    monkeypatch.setattr(query, "_dataset", lambda _place: "parts")
    monkeypatch.setattr(query, "rows_in", lambda _place, parts: table if parts == "parts" else None)
    monkeypatch.setattr(query, "settled_parts", lambda _place: ["part"] if settled else None)
    found = query._whole_table(Place(Path("nowhere")))["row"].to_pylist()
    assert found == ([0, 1, 2, 3] if settled else [0, 1, 3])


def test_a_range_by_a_step_has_a_million_values_at_most() -> None:
    assert axes._steps_by("a", 1, 0, 999_999, "s.toml") == 1_000_000
    with pytest.raises(InputError, match=r"^s\.toml: by = 1 makes more than 1,000,000 values"):
        axes._steps_by("a", 1, 0, 1_000_000, "s.toml")
    assert axes._steps(1_000_000, "s.toml") == 1_000_000 and axes._steps(2, "s.toml") == 2
    for steps in (1, 1_000_001, True, 2.0):
        with pytest.raises(InputError, match=f"steps = {steps!r}: must be a whole number of at least 2"):
            axes._steps(steps, "s.toml")


@pytest.mark.parametrize("in_order", [True, False])
def test_a_question_of_parts_in_no_order_sees_each_trial_once(
    monkeypatch: pytest.MonkeyPatch, in_order: bool
) -> None:
    tables: Any = object.__new__(query.Tables)
    failures = [{"trial": "a", "tries": ["no", "no"], "more": 1}, {"trial": "b"}]
    tables._place = SimpleNamespace(failures=lambda: failures)
    monkeypatch.setattr(query, "settled_parts", lambda _place: [] if in_order else None)
    assert tables._once() == ("" if in_order else " QUALIFY row_number() OVER (PARTITION BY key) = 1")
    found = tables._failures()
    assert found.column_names == list(query.FAILURES) and found["tries"].type == pa.int64()
    assert found["trial"].to_pylist() == ["a", "b"] and found["tries"].to_pylist() == [2, 0]
    assert found["error"].to_pylist() == [None, None] and found["error"].type == pa.string()


@pytest.mark.parametrize("given", [True, False, None])
def test_a_worker_keeps_the_limits_and_what_was_allowed(
    monkeypatch: pytest.MonkeyPatch, given: bool | None
) -> None:
    from dstcc.scenario.work import in_force, limited
    from dstcc.trust import all_allowed

    with limited({"events": 12_345.0}):
        limits = in_force()
    about: Any = SimpleNamespace(about=lambda: {"limits": limits, "allow_extensions": given})
    monkeypatch.setattr(worker, "Carrier", lambda place: place)
    before = in_force()
    with worker.carrying(about) as carrier:
        assert carrier is about and in_force() == limits != before and all_allowed() is (given is True)
    assert in_force() == before and not all_allowed()


# ----------------------------------------------------------------------------------------------------- an estimate


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Fake:
    """Carries a unit at once, and says how long it took: 1, 2, 3 .. s; the second unit fails."""

    def __init__(self, folder: Path, jobs: int, *, limit_s: float) -> None:
        self.asked = (folder, jobs, limit_s)
        CARRIED.clear()

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing runs."""

    def submit(self, batch: list[Unit]) -> None:
        CARRIED.extend(batch)
        self.waits = 2

    def wait(self, seconds: float) -> list[Ended]:
        assert seconds == 1.0
        self.waits -= 1
        if self.waits:
            return []
        count = len(CARRIED)
        CLOCK.now += count
        return [
            Ended(CARRIED[-1], "no" if count == 2 else None, seconds=None if count == 3 else float(count))
        ]


CARRIED: list[Unit] = []
CLOCK = Clock()


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> None:
    CLOCK.now = 100.0
    monkeypatch.setattr(estimates, "Local", Fake)
    monkeypatch.setattr(estimates, "time", CLOCK)


def plan(count: int, *, extended: bool = False) -> Any:
    """Batches of two units; tables of a number of 8 bytes, one of 4, a text and a truth value."""
    units = [Unit(0, f"a/s{n}", str(n)) for n in range(count)]
    types = [pa.int64(), pa.float32(), pa.string(), pa.bool_()]
    return SimpleNamespace(
        extended=extended,
        units=units,
        points=(1, 2, 3),
        study=SimpleNamespace(name="mars", size=10),
        schema=pa.schema([(f"c{n}", kind) for n, kind in enumerate(types)]),
        batches=lambda missing: [[units[n], *units[n + 1 : n + 2]] for n in missing[::2]],
    )


@pytest.mark.usefixtures("faked")
def test_a_few_trials_are_measured_and_the_rest_is_reckoned() -> None:
    """Of 8 batches the first unit each: of 1 .. 8 s the second failed and the third's time is not known, and after
    1 + .. + 6 = 21 s no more is begun. Those of 1, 4, 5 and 6 s count."""
    begun: list[Place] = []
    found = estimates.estimate(plan(16), list(range(16)), 4, begun.append)
    assert [unit.key for unit in CARRIED] == ["0", "2", "4", "6", "8", "10"]
    assert (found.sweep, found.cells, found.left_out, found.trials, found.missing) == ("mars", 3, 7, 16, 16)
    assert (found.workers, found.extended, found.measured, found.trial_s) == (4, False, 4, 4.0)
    # deviation of 1, 4, 5 and 6 s is √(14 / 3); of 4 measured and 16 to come the mean is off by 1.96 · that · √(5 / 16)
    error = 1.96 * (14 / 3) ** 0.5 * (1 / 4 + 1 / 16) ** 0.5
    assert (found.low_s, found.high_s) == pytest.approx(((4 - error) * 4, (4 + error) * 4))
    assert found.bytes == 16 * (8 + 4 + 2 * 32) + 4096
    assert found.document() == {"dry_run": True, **vars(found)}
    (place,) = begun
    assert place.path.name == "study" and not place.path.parent.exists()


@pytest.mark.usefixtures("faked")
def test_twelve_trials_are_measured_at_most_and_none_of_somebodys_python() -> None:
    found = estimates.estimate(plan(60), list(range(60)), 1, lambda _place: None, limit_s=1e9)
    assert len(CARRIED) == 12 and found.measured == 10
    CARRIED.clear()
    none = estimates.estimate(plan(60, extended=True), list(range(60)), 1, lambda _place: None)
    assert (none.measured, none.trial_s, none.low_s, none.high_s, none.extended) == (
        0,
        None,
        None,
        None,
        True,
    )
    assert CARRIED == []


def test_what_is_left_of_a_sweep() -> None:
    pace = Pace(2)
    for seconds in (1.0, 3.0):
        pace.add(seconds)
    assert pace.left(10) is None, "two say too little"
    pace.add(2.0)
    error = 1.96 * 1.0 * (1 / 3 + 1 / 10) ** 0.5
    assert pace.left(10) == pytest.approx(((2 - error) * 5, (2 + error) * 5))
    assert pace.left(0) == (0.0, 0.0)
    wide = Pace(1)
    for seconds in (0.1, 0.1, 100.0):
        wide.add(seconds)
    low, high = wide.left(1) or (-1.0, -1.0)
    assert low == 0.0 and high == pytest.approx(100.2 / 3 + 1.96 * 57.677 * (4 / 3) ** 0.5, rel=1e-4)


# ---------------------------------------------------------------------------------------------------------- the work


def test_a_worker_keeps_its_last_four_cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dstcc.sweeps.study import load_study

    text = STUDY.replace("[1e-3, 1e-2]", "[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]")
    made = work.Work(load_study(write(tmp_path / "given", text)), train=False)
    assert len(made.points) == 6
    read: list[Any] = []

    def note(point: Any) -> Any:
        read.append(point.values[0])
        return object()

    monkeypatch.setattr(made, "_read", note)
    for number in (0, 1, 2, 3, 0, 4, 0):
        made.cell(number)
    assert read == [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-6], "the oldest goes: the first one is read again"


def test_what_is_trained_unless_a_study_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import dstcc.train

    recipe = SimpleNamespace(document=lambda: {"a": 1}, steps=1000)
    monkeypatch.setattr(dstcc.train, "any_recipe", lambda name: recipe)
    monkeypatch.setattr(work, "content_hash", lambda _scenario: "hash")
    scenario: Any = SimpleNamespace(seeds=(1, 2))

    def pieces(trained: tuple[str, ...], steps: int | None = None, left_out: int = 0) -> list[Any]:
        study: Any = SimpleNamespace(
            trained=trained, steps=steps, excludes=lambda known: known["seed"] == left_out
        )
        return list(work._Trainings(study, scenario, {"loss": 1}, None).pieces)

    assert [one.id for one in pieces(())] == ["dstcc-lanes/s1", "dstcc-lanes/s2"]
    assert [one.id for one in pieces(("a", "b"), left_out=1)] == ["a/s2", "b/s2"]
    (first, second) = pieces(("a",))
    assert first.key != second.key and first.key == pieces(("a",), 1000)[0].key != pieces(("a",), 999)[0].key
    none = dict.fromkeys(("congestion", "scheduler", "variant"))
    assert first.facts == {**none, "controller": "a", "algorithm": "a", "seed": 1}
