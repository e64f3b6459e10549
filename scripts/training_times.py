"""How many steps does a training make in a second of CPU, in two checkouts or more, and do they learn the same?

    python scripts/training_times.py CHECKOUT CHECKOUT... [--algorithm NAME]... [--repeats 11] [--decisions 120]
        [--warm-up 400]

A CHECKOUT is a folder with a commit's sources and its engine, built in place (`git worktree add`, then `python setup.py
build_ext --inplace`). Each has a process that trains with seed 1 on one core. They take turns, in an order drawn anew
each time, so that a change of the machine's speed affects all alike. In a turn all episodes make --decisions, with the
updates that are due; the first --warm-up of a training do not count. Of each algorithm are printed the median of
the first checkout's steps in a second of CPU, then for each other one the median of its ratios to the first, a ratio a
turn, with the quartiles, and whether its learner holds the same bytes as the first one's in the end.

`dstcc` learns on `examples/iodst/training`, the others on `examples/iodst/training.toml`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dstcc.learn.training.state import Training

MISSIONS = {"dstcc-lanes": "examples/iodst/training"}
OTHERS = "examples/iodst/training.toml"
ALGORITHMS = ("dstcc-lanes", "iodst-dqn")
DIGEST = "digest"


class Checkout:
    """A process that trains with one checkout."""

    def __init__(self, folder: Path, algorithm: str, warm_up: int) -> None:
        script = str(Path(__file__).resolve())
        command = [sys.executable, script, "--measure", algorithm, "--warm-up", str(warm_up)]
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, what: str) -> str:
        """The steps a second of CPU over so many decisions more, or the digest."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def measure(algorithm: str, warm_up: int) -> None:
    """Train in this folder; answer what :meth:`Checkout.ask` asks on the input."""
    training = begin(algorithm)
    for _ in range(warm_up):
        training.step()
    for line in sys.stdin:
        if line.strip() == DIGEST:
            print(digest(training), flush=True)
            continue
        began = time.thread_time()
        for _ in range(int(line)):
            training.step()
        print(int(line) * training.fleet.count / (time.thread_time() - began), flush=True)


def begin(algorithm: str) -> Training:
    """A training by a recipe as it is shipped."""
    import torch

    try:
        from dstcc.learn.algorithms.recipes import RECIPES
        from dstcc.learn.training.state import Training
    except ModuleNotFoundError:  # checkouts before `0212dd6` have both elsewhere
        import importlib

        RECIPES = importlib.import_module("dstcc.learn.recipes").RECIPES  # noqa: N806
        Training = importlib.import_module("dstcc.learn.training").Training  # type: ignore[misc]  # noqa: N806
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    return Training(Path(MISSIONS.get(algorithm, OTHERS)), algorithm, RECIPES[algorithm], seed=1)


def digest(training: Training) -> str:
    """SHA-256 of all that the learner holds."""
    result = hashlib.sha256()
    for name, values in sorted(training.learner.arrays().items()):
        result.update(f"{name} {values.dtype.str} {values.shape}".encode())
        result.update(values.tobytes())
    return result.hexdigest()


def turns(
    checkouts: Sequence[Checkout], decisions: int, repeats: int, rng: random.Random
) -> list[list[float]]:
    """The steps a second of each checkout, turn by turn."""
    rates: list[list[float]] = [[] for _ in checkouts]
    for _ in range(repeats):
        for place in rng.sample(range(len(checkouts)), len(checkouts)):
            rates[place].append(float(checkouts[place].ask(str(decisions))))
    return rates


def row(algorithm: str, rates: list[list[float]], digests: list[str]) -> str:
    """The first checkout's median, then for each other the quartiles of its ratios to the first."""
    cells = [f"{algorithm:<12}{median(rates[0]):8,.0f} steps/s"]
    for other, its_digest in zip(rates[1:], digests[1:], strict=True):
        low, middle, high = quantiles([b / a for a, b in zip(rates[0], other, strict=True)], n=4)
        same = "the same bytes" if its_digest == digests[0] else "other bytes"
        cells.append(f"{middle:.3f} ({low:.3f} to {high:.3f}), {same}")
    return "  ".join(cells)


def main() -> int:
    """Print a line for each algorithm."""
    parser = argparse.ArgumentParser(description="Compare the CPU time of trainings in several checkouts.")
    parser.add_argument(
        "checkouts", nargs="*", type=Path, metavar="CHECKOUT", help="folders of built sources"
    )
    parser.add_argument(
        "--algorithm",
        action="append",
        metavar="NAME",
        help=f"of `dstcc train`; {', '.join(ALGORITHMS)} without",
    )
    parser.add_argument("--repeats", type=int, default=11, metavar="N", help="turns of each (default: 11)")
    parser.add_argument(
        "--decisions", type=int, default=120, metavar="N", help="of each episode in a turn (default: 120)"
    )
    parser.add_argument(
        "--warm-up", type=int, default=400, metavar="N", help="decisions that do not count (default: 400)"
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        measure(options.measure, options.warm_up)
        return 0
    if len(options.checkouts) < 2 or options.repeats < 2 or options.decisions < 1:
        parser.error("it takes two checkouts and two repeats to compare, and a decision")
    if missing := [folder for folder in options.checkouts if not (folder / "dstcc/learn").is_dir()]:
        parser.error(f"{missing[0]}: no checkout of dstcc")
    folders = [folder.resolve() for folder in options.checkouts]
    for algorithm in options.algorithm or ALGORITHMS:
        checkouts = [Checkout(folder, algorithm, options.warm_up) for folder in folders]
        rates = turns(checkouts, options.decisions, options.repeats, random.Random(algorithm))
        print(row(algorithm, rates, [checkout.ask(DIGEST) for checkout in checkouts]), flush=True)
        for checkout in checkouts:
            checkout.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
