"""Programs of a scenario, flown by something that is told here what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel.endhosts import flight, planning

from dstcc.errors import DstccError, InputError
from dstcc.run import programs
from dstcc.run.programs import run_programs


@pytest.fixture
def flown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """What was asked for; ``problem`` is how it ends."""
    seen = SimpleNamespace(problem=None, folder=tmp_path / "scratch")

    def fly(folder: Path, scenario: Any, options: Any, *, argv: tuple[str, ...], wall_s: float) -> Any:
        seen.asked = (folder, scenario.scenario.name, options, argv, wall_s)
        folder.mkdir()
        return SimpleNamespace(problem=seen.problem, meta={"of": "the flight"})

    @contextmanager
    def meaning(programs: Any) -> Iterator[None]:
        seen.meaning = programs
        yield

    def make_folder(prefix: str) -> str:
        seen.prefix = prefix
        seen.folder.mkdir()
        return str(seen.folder)

    monkeypatch.setattr(flight, "fly", fly)
    monkeypatch.setattr(planning, "meaning", meaning)
    monkeypatch.setattr(planning, "options_of", lambda scenario: f"options of {scenario.scenario.name}")
    monkeypatch.setattr(programs.tempfile, "mkdtemp", make_folder)  # type: ignore[attr-defined]
    monkeypatch.setattr(programs, "numbers_of", lambda *what: {"what": what})
    return seen


def scenario(given: Any) -> Any:
    return SimpleNamespace(scenario=SimpleNamespace(name="mars"), programs=given)


GIVEN = SimpleNamespace(wall_s=70.0, json_of=("craft",))


def test_numbers_are_of_the_flights_folder_which_then_goes(flown: SimpleNamespace) -> None:
    found: Any = run_programs(scenario(GIVEN))
    assert found == {"what": (flown.folder / "run", {"of": "the flight"}, ("craft",))}
    assert flown.asked == (flown.folder / "run", "mars", "options of mars", (), 70.0)
    assert flown.meaning is GIVEN and flown.prefix == "dstcc-programs-"
    assert not flown.folder.exists()


def test_a_problem_is_said_in_the_scenarios_words(flown: SimpleNamespace) -> None:
    flown.problem = "took longer than --wall, or --for ends first"
    with pytest.raises(
        DstccError, match=r"^took longer than programs\.wall_s, or scenario\.duration_s ends first$"
    ):
        run_programs(scenario(GIVEN))
    assert not flown.folder.exists()


def test_a_scenario_without_programs_is_named(flown: SimpleNamespace) -> None:
    with pytest.raises(InputError, match=r"^mars: programs: missing; \[programs\] says what runs"):
        run_programs(scenario(None))
    assert not hasattr(flown, "asked")
