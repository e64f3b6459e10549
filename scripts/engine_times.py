"""How much time do two builds of the engine, or more, take for the same trials?

    python scripts/engine_times.py BUILD BUILD... [--repeats 11] [--only NAME]...

A BUILD is a compiled `_engine` (`dstcc/engine/_engine.*.so`, copied before the next one is built). Each has a process;
they take turns, in an order drawn anew each time, so that a change of the machine's speed affects all alike. Of each
trial are printed the median of the first build's nanoseconds of CPU a packet, and for each other build the median of
its ratios to the first, a ratio a turn, with the quartiles.

The trials are bulk transfers by CUBIC over two links (`window-N`: N segments fill one) and over one (`flow`: 10,000
segments fill it), and four hours of the day that fills two Mars links (`day`: `make bench ONLY=mission_day_s`).
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dstcc.engine import EngineConfig

ROOT = Path(__file__).parents[1]
ENGINE = "dstcc.engine._engine"
PACKETS = {1_000: 500_000, 10_000: 1_000_000, 100_000: 2_000_000, 1_000_000: 6_000_000}
"""Of a bulk transfer, by the segments that fill a link: enough for its windows to open."""
TRIALS = ("flow", *(f"window-{segments}" for segments in PACKETS), "day")
DAY_S = 4 * 3600


class Build:
    """A process that measures one build."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, __file__, "--measure", str(path)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ns_a_packet(self, trial: str) -> float:
        """Run the trial once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{trial}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def measure(path: Path) -> None:
    """Load a build in the place of the engine; for each trial's name on the input print what a packet took."""
    spec = importlib.util.spec_from_file_location(ENGINE, path, loader=ExtensionFileLoader(ENGINE, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[ENGINE] = module  # before anything imports the one in place
    spec.loader.exec_module(module)
    sys.path.insert(0, str(ROOT))
    from bench.figure import core_s
    from dstcc.engine import simulate

    for line in sys.stdin:
        config, packets = trial_config(line.strip()), 0.0

        def run(config: EngineConfig = config) -> None:
            nonlocal packets
            packets = simulate(config).totals.data_packets

        print(core_s(run) / packets * 1e9, flush=True)


def trial_config(trial: str) -> EngineConfig:
    """What a trial is."""
    from bench.missions import day_config
    from bench.nets import Bulk

    if trial == "day":
        return day_config("open-loop", DAY_S)
    if trial == "flow":
        return Bulk(subflows=1, packets=PACKETS[10_000]).config()
    segments = int(trial.removeprefix("window-"))
    return Bulk(segments, packets=PACKETS[segments]).config()


def turns(builds: Sequence[Callable[[], float]], repeats: int, rng: random.Random) -> list[list[float]]:
    """The values of each build, turn by turn; the first call of each is not counted."""
    for build in builds:
        build()
    values: list[list[float]] = [[] for _ in builds]
    for _ in range(repeats):
        for place in rng.sample(range(len(builds)), len(builds)):
            values[place].append(builds[place]())
    return values


def row(values: list[list[float]]) -> str:
    """The first build's median, then for each other the quartiles of its ratios to the first."""
    cells = [f"{statistics.median(values[0]):8.1f} ns"]
    for other in values[1:]:
        low, middle, high = statistics.quantiles([b / a for a, b in zip(values[0], other, strict=True)], n=4)
        cells.append(f"{middle:.3f} ({low:.3f} to {high:.3f})")
    return "  ".join(cells)


def main() -> int:
    """Print a line for each trial."""
    parser = argparse.ArgumentParser(description="Compare the CPU time of builds of the engine.")
    parser.add_argument("builds", nargs="*", type=Path, metavar="BUILD", help="compiled _engine files")
    parser.add_argument(
        "--repeats", type=int, default=11, metavar="N", help="turns of each trial (default: 11)"
    )
    parser.add_argument(
        "--only", action="append", choices=TRIALS, metavar="NAME", help=f"of {', '.join(TRIALS)}; all without"
    )
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        measure(options.measure)
        return 0
    if len(options.builds) < 2 or options.repeats < 2:
        parser.error("it takes two builds and two repeats to compare")
    if missing := [path for path in options.builds if not path.is_file()]:
        parser.error(f"{missing[0]}: no such file")
    builds = [Build(path.resolve()) for path in options.builds]
    for trial in options.only or TRIALS:
        runs = [partial(build.ns_a_packet, trial) for build in builds]
        print(f"{trial:<16}{row(turns(runs, options.repeats, random.Random(trial)))}", flush=True)
    for build in builds:
        build.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
