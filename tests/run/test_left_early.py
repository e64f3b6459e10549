"""What becomes of the trials under way when whoever reads them stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from dstcc import engine
from dstcc.engine import EngineConfig, EngineResult
from dstcc.errors import DstccError
from dstcc.run.trials import WORKER_NAME, Judge, Trial, iter_trials, left_early
from dstcc.scenario import load_scenario, load_source, parse_override
from tests.made_results import toy_simulate

pytestmark = pytest.mark.usefixtures("toy")


class Held:
    """An engine that carries seed 1 at once and the others when it is let go."""

    def __init__(self) -> None:
        self.begun, self.free = threading.Event(), threading.Event()
        self.seeds: list[int] = []

    def __call__(self, config: EngineConfig) -> EngineResult:
        self.seeds.append(config.seed)
        if config.seed > 1:
            self.begun.set()
            self.free.wait()
        return toy_simulate(config)

    def soon(self) -> None:
        """Let go in a moment: whoever does not wait is gone by then."""
        threading.Timer(0.2, self.free.set).start()


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(WORKER_NAME)]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    engine_held = Held()
    monkeypatch.setattr(engine, "simulate", engine_held)
    yield engine_held
    engine_held.free.set()
    for thread in workers():
        thread.join()


@pytest.fixture
def first(scenario_file: Path, held: Held) -> Callable[[], Generator[Trial, None, None]]:
    """Starts eight trials on two threads and reads the first; the second is under way."""
    overrides = ("run.seeds=8", "transport.congestion=cubic")
    scenario = load_scenario(scenario_file, [parse_override(text) for text in overrides])
    source = load_source(scenario)

    def read() -> Generator[Trial, None, None]:
        trials = iter_trials(scenario, source, Judge(source, wanted=False), jobs=2)
        next(trials)
        held.begun.wait()
        return trials

    return read


def test_dropping_the_iterator_waits_for_the_trials_under_way(first, held: Held) -> None:
    trials = first()
    held.soon()
    del trials
    assert workers() == []
    assert len(held.seeds) <= 3  # the one read and two threads' own: none that waited was begun


def test_an_error_of_the_reader_waits_too(first, held: Held) -> None:
    def read() -> None:
        with left_early(first()):
            held.soon()
            raise DstccError("the disk is full")

    with pytest.raises(DstccError):
        read()
    assert workers() == []


def test_who_has_read_enough_waits_too(first, held: Held) -> None:
    with left_early(first()) as trials:
        held.soon()
    assert workers() == [] and next(trials, None) is None


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_does_not_wait(first, held: Held, interrupt: type[BaseException]) -> None:
    given_up = threading.Timer(60, held.free.set)  # a test that waits fails and does not hang
    given_up.start()
    with pytest.raises(interrupt), left_early(first()):
        raise interrupt
    assert not held.free.is_set()
    assert workers() != []
    given_up.cancel()
