from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from dstcc import engine
from dstcc.engine import EngineConfig
from dstcc.run import run_trials, shared
from dstcc.run.footing import footings
from dstcc.run.shared import Once
from dstcc.run.trials import SIMULATOR, trial_keys
from dstcc.scenario import (
    Scenario,
    Source,
    TrialSetup,
    draw_trial,
    load_scenario,
    load_source,
    parse_override,
)

VARIANTS = """variant=[{label = "other window", congestion = "cubic", set = {initial_cwnd = 20}},
{label = "short", congestion = "cubic", set = {mss_bytes = 1000}},
{label = "slow", congestion = "cubic", set = {scale = 7}}]"""


def load(path: Path, *overrides: str) -> Scenario:
    return load_scenario(path, [parse_override(text) for text in overrides])


def test_threads_that_ask_at_once_wait_for_one_of_them() -> None:
    asked = Barrier(4)
    made: list[Any] = []

    def make() -> int:
        made.append(len(made))
        Event().wait(0.05)  # the others ask meanwhile
        return 7

    once: Once[str, int] = Once(["k"] * 4)

    def ask(_: int) -> int:
        asked.wait()
        return once.get("k", make)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [7] * 4
    assert made == [0]


def test_a_value_goes_with_its_last_use() -> None:
    once: Once[str, object] = Once(["a", "a", "b"])
    first = once.get("a", object)
    assert once.get("b", object) is not first
    assert set(once._made) == {"a"}  # nobody else will ask for b
    assert once.get("a", object) is first
    assert not once._made
    assert once.get("a", object) is not first  # more often than said: worked out again


def test_what_does_not_fit_is_worked_out_again() -> None:
    once: Once[int, object] = Once([1, 1, 2, 2], most=1)
    one, two = once.get(1, object), once.get(2, object)
    assert once.get(1, object) is one
    assert once.get(2, object) is not two


def test_what_cannot_be_made_fails_whoever_asks() -> None:
    once: Once[str, int] = Once(["k", "k"])

    def fail() -> int:
        raise ValueError("no such thing")

    for _ in range(2):
        with pytest.raises(ValueError, match="no such thing"):
            once.get("k", fail)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, float]]:
    """Seed, segment size and scale of every setup that is drawn."""
    seen: list[tuple[int, int, float]] = []

    def count(scenario: Scenario, source: Source, seed: int) -> TrialSetup:
        setup = draw_trial(scenario, source, seed)
        seen.append((seed, setup.mss_bytes, setup.scale))
        return setup

    monkeypatch.setattr(shared, "draw_trial", count)
    return seen


@pytest.mark.usefixtures("toy")
def test_a_seed_is_drawn_once_for_all_that_share_its_setup(
    scenario_file: Path, drawn: list[tuple[int, int, float]]
) -> None:
    trials = run_trials(load(scenario_file, VARIANTS), jobs=4)
    assert [trial.status for trial in trials] == ["ok"] * 10
    assert sorted(drawn) == [(s, *one) for s in (1, 2) for one in ((1000, 1.0), (1460, 1.0), (1460, 7.0))]
    for trial in trials:
        assert trial.outcome is not None
        own = {"short": (1000, 1.0), "slow": (1460, 7.0)}.get(str(trial.key.variant), (1460, 1.0))
        setup = trial.outcome.setup
        assert (setup.seed, setup.mss_bytes, setup.scale) == (trial.key.seed, *own)


def test_footings_draw_a_seed_once(scenario_file: Path, drawn: list[tuple[int, int, float]]) -> None:
    scenario = load(scenario_file, VARIANTS)
    rows = footings(scenario, load_source(scenario), trial_keys(scenario), {}, SIMULATOR)
    assert sorted(drawn) == [(1, 1000, 1.0), (1, 1460, 1.0), (1, 1460, 7.0)]
    assert [one.set for one in rows] == [{}, {}, {"initial_cwnd": 20}, {"mss_bytes": 1000}, {"scale": 7}]


@pytest.mark.usefixtures("toy")
def test_the_bound_is_worked_out_once_a_seed_and_segment_size_in_threads_too(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def bound(config: EngineConfig, _weights: object, *, any_packets: bool) -> float:
        assert not any_packets
        asked.append((config.seed, config.transport.mss_bytes))
        Event().wait(0.05)  # another thread asks meanwhile
        return 1.0

    monkeypatch.setattr(engine, "clairvoyant_weight", bound)
    run_trials(load(scenario_file, VARIANTS, "run.seeds=1"), jobs=4)
    assert sorted(asked) == [(1, 1000), (1, 1460)]


def test_trials_cannot_write_into_what_they_share(scenario_file: Path) -> None:
    scenario = load(scenario_file)
    setup = draw_trial(scenario, load_source(scenario), 1)
    with pytest.raises(ValueError, match="read-only"):
        setup.objects.payload_bytes[0] = 1
