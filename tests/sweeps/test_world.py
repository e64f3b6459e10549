"""Sweeps in a simulated world (:mod:`tests.sweeps.world`): runs of drawn seeds, those that once found something, and
wrong products that the world must notice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .world.broken import BROKEN
from .world.runs import Bench, play

ROOT = Path(__file__).resolve().parents[2]
FOUND = {
    8: "a power failure took the study's folder, whose name nobody had flushed",
    30: "the temporary file of a killed worker stayed in fresh/ for ever",
    1164: "a name that the disk could not flush passed for flushed",
    1228: "a trial's failure stayed beside its result, of a conductor that was killed between the two",
    5671: "a reader found no part where another call had just put all in order",
}
"""Seeds that found something, and what; all is mended."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


def test_nothing_is_lost_torn_or_done_again_whatever_fails(bench: Bench) -> None:
    problems = [problem for seed in range(1, 11) for problem in play(seed, bench).problems]
    assert problems == []


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_once_is_not_found_again(bench: Bench, seed: int) -> None:
    run = play(seed, bench)
    assert run.problems == [] and run.faults.struck


def test_a_seed_replays(bench: Bench) -> None:
    """Step for step: one that is struck often enough for its order to matter."""
    first, second = play(30, bench), play(30, bench)
    assert len(first.world.trace) > 300 and first.faults.struck
    assert first.world.trace == second.world.trace


def world(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.sweeps.world", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_ten_thousand_runs() -> None:
    done = world("-n", "10000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "; 0 with findings" in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_product_is_noticed(name: str) -> None:
    done = world("-n", "2000", "--broken", name)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "seed " in said, said


def test_a_break_is_of_what_stands_there() -> None:
    """Each text stands in its module once."""
    for module, right, wrong in BROKEN.values():
        text = (ROOT / f"{module.replace('.', '/')}.py").read_text()
        assert text.count(right) == 1 and wrong != right
