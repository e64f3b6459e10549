"""Every reader meets its corpus and some changed inputs; ``make fuzz`` makes more of them, and runs the C++ readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.errors import InputError
from scripts import fuzz
from scripts.fuzzing import targets
from scripts.fuzzing.mutate import changed, mutated
from scripts.fuzzing.targets import TARGETS, Room

RUNS = {"scenario": 40, "run": 20, "profile": 60, "nal": 1000, "contacts": 500}
"""Of each test; the others have 100."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_refuses_what_it_cannot_read(name: str) -> None:
    """In so many runs, the corpus' among them, and under a seed that is always the same."""
    _, found = fuzz.in_process(name, RUNS.get(name, 100))
    assert not found, [what for _, what in found]


def test_every_kept_input_is_of_a_reader() -> None:
    kept = {path.name for path in fuzz.KEPT.iterdir()}
    assert kept <= {*TARGETS, *fuzz.NATIVE}
    for path in fuzz.KEPT.glob("*/*"):
        assert path.stat().st_size < 10_000


def test_each_native_reader_has_its_harness() -> None:
    harnesses = {path.stem for path in (fuzz.ROOT / "tests/fuzz/cpp").glob("*.cpp")}
    assert harnesses == set(fuzz.NATIVE)


def test_a_reader_that_crashes_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that takes a key for granted, under changes of a document that has it: a few hundred runs reach that."""

    def careless(_room: Room, data: bytes) -> None:
        try:
            document = targets._json(data)
            if not isinstance(document, dict) or not isinstance(document.get("size"), int):
                raise InputError("no size")
        except RecursionError:
            raise InputError("too deep") from None
        assert len(document["names"]) < 100

    seed = b'{"names": ["a"], "size": 5}'
    target = targets.Target(careless, lambda _room: [seed], targets._json)
    monkeypatch.setattr(fuzz, "TARGETS", {"careless": target})
    done, found = fuzz.in_process("careless", 500)
    assert done == 500
    assert any("KeyError: 'names'" in what for _, what in found)


def test_a_reader_that_hangs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(_room: Room, _data: bytes) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzz, "TARGETS", {"endless": targets.Target(endless, lambda _room: [b"x"])})
    monkeypatch.setattr(fuzz, "SLOW_S", 0.05)
    _, found = fuzz.in_process("endless", 1)
    assert "SlowError" in found[0][1]


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("time.sleep(600)", "stands still for 2 s"),
        ("os.kill(os.getpid(), signal.SIGABRT)", "ends the process with status -6"),
    ],
)
def test_a_reader_that_sleeps_or_ends_its_process_is_found(
    does: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At its third input: none of them takes time of the processor, or returns."""
    program = tmp_path / "careless.py"
    program.write_text(
        "import os, signal, sys, time\n"
        f"sys.path.insert(0, {str(fuzz.ROOT)!r})\n"
        "from scripts import fuzz\n"
        "from scripts.fuzzing.targets import Target\n"
        "def careless(_room, data):\n"
        "    if data == b'third':\n"
        f"        {does}\n"
        "target = Target(careless, lambda _room: [b'first', b'second', b'third'])\n"
        "fuzz.TARGETS = {'careless': target}\n"
        "fuzz.main()\n"
    )
    monkeypatch.setattr(fuzz, "HANG_S", 2)
    assert fuzz.apart("careless", 8, program=[str(program)]) == (3, [(b"third", said)])


def test_what_is_found_apart_is_what_is_found_here() -> None:
    assert fuzz.apart("codes", 50, seed=4) == fuzz.in_process("codes", 50, seed=4) == (50, [])


def test_changes_follow_from_their_seed() -> None:
    from random import Random

    def drawn() -> list[object]:
        rng = Random(3)
        document = {"a": [1, {"b": 2.5}], "c": "x"}
        return [changed(rng, document) for _ in range(50)] + [
            mutated(rng, b"abc", [b"def"], 10) for _ in range(50)
        ]

    assert drawn() == drawn()
    assert len({str(one) for one in drawn()}) > 60
    assert all(len(one) <= 10 for one in drawn() if isinstance(one, bytes))
