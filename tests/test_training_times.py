"""``scripts/training_times.py``: how it takes turns, what it prints of them, and what a checkout's process answers."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.engine_times import ROOT
from scripts.training_times import DIGEST, begin, digest, row, turns


def test_checkouts_take_turns_in_an_order_drawn_anew() -> None:
    calls: list[str] = []

    class Asked:
        def __init__(self, name: str) -> None:
            self.name = name

        def ask(self, what: str) -> str:
            assert what == "60"
            calls.append(self.name)
            return str(calls.count(self.name))

    both: Any = [Asked("a"), Asked("b")]
    assert turns(both, 60, 20, random.Random(1)) == [[float(k) for k in range(1, 21)]] * 2
    rounds = ["".join(calls[k : k + 2]) for k in range(0, len(calls), 2)]
    assert set(rounds) == {"ab", "ba"}


def test_a_ratio_is_of_one_turn_and_bytes_are_compared_with_the_first() -> None:
    # The machine gets half as fast; the others make 1.5 and 2 times the steps all the while.
    first = [3000.0, 2000.0, 1500.0]
    rates = [first, [1.5 * rate for rate in first], [2 * rate for rate in first]]
    assert row("dstcc-lanes", rates, ["d", "d", "e"]) == (
        "dstcc-lanes    2,000 steps/s  1.500 (1.500 to 1.500), the same bytes  2.000 (2.000 to 2.000), other bytes"
    )


@pytest.fixture
def torch_as_it_was() -> Iterator[None]:
    import torch

    threads, repeatable = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(repeatable)


def answers(*questions: str) -> list[str]:
    command = [sys.executable, "scripts/training_times.py", "--measure", "iodst-q", "--warm-up", "1"]
    lines = "".join(f"{question}\n" for question in questions)
    return subprocess.run(
        command, cwd=ROOT, input=lines, capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.usefixtures("torch_as_it_was")
def test_a_process_trains_and_the_digest_is_of_what_it_learned() -> None:
    speed, one, _, two = answers("1", DIGEST, "1", DIGEST)
    assert float(speed) > 0
    training = begin("iodst-q")
    for _ in range(2):
        training.step()
    assert digest(training) == one != two, "another process learns the same"
