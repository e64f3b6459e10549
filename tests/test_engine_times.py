"""``scripts/engine_times.py``: how it takes turns and what it prints of them."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from dstcc.engine import simulate
from scripts.engine_times import PACKETS, ROOT, TRIALS, row, trial_config, turns


def test_builds_take_turns_and_the_first_call_of_each_does_not_count() -> None:
    calls: list[str] = []

    def build(name: str) -> float:
        calls.append(name)
        return float(calls.count(name))

    values = turns([lambda: build("a"), lambda: build("b")], 20, random.Random(1))
    assert values == [[float(k) for k in range(2, 22)]] * 2
    rounds = ["".join(calls[k : k + 2]) for k in range(0, len(calls), 2)]
    assert rounds[0] == "ab"
    assert set(rounds) == {"ab", "ba"}  # neither is always the first


def test_a_ratio_is_of_values_of_one_turn() -> None:
    # The machine gets three times as slow; the second build takes 1.5 times as long all the while.
    slower = [10.0, 20.0, 30.0]
    assert row([slower, [1.5 * value for value in slower]]) == "    20.0 ns  1.500 (1.500 to 1.500)"


@pytest.mark.parametrize("trial", TRIALS)
def test_every_trial_is_one(trial: str) -> None:
    assert trial_config(trial).objects.payload_bytes.size > 0


def test_a_builds_process_measures_the_build(tmp_path: Path) -> None:
    (built,) = (ROOT / "dstcc/engine").glob("_engine.*.so")
    copy = tmp_path / built.name
    copy.write_bytes(built.read_bytes())
    command = [sys.executable, "scripts/engine_times.py", "--measure", str(copy)]
    done = subprocess.run(
        command, cwd=ROOT, input="window-1000\n", capture_output=True, text=True, check=True
    )
    assert float(done.stdout) > 0


def test_the_packets_are_those_that_are_sent() -> None:
    assert simulate(trial_config("window-1000")).totals.data_packets >= PACKETS[1_000]
