"""What a sweep costs beside its trials: a second worker's processor time, and the conductor's for each trial."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path

from dstcc.sweeps.call import Sweep, local

from .figure import Measured

SCENARIO = Path(__file__).parents[1] / "examples/iodst/table-1.toml"
STUDY = """
[study]
scenario = {scenario!r}
congestion = "open-loop"
seeds = {seeds}
"""
SEEDS, REPEATS = 60, 3
"""Four hours over the links of table 1 of Ha et al., 2023: a tenth of a second of a core each, or more."""
SHORT = """
[scenario]
name = "thirty chunks"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [8000, 8000]}
loop_to_s = 30
[[link]]
name = "a"
rate_bps = 1_000_000
delay_s = 1
"""
POINTS = """
[study]
scenario = "short.toml"
congestion = ["cubic", "open-loop", "newreno"]
seeds = 10
[vary]
"link.0.loss.packet" = {from = 1e-4, to = 1e-2, steps = 33, scale = "log"}
"""
WORKERS = 1000


def sweep_efficiency() -> Measured:
    """The share that two workers have left of one's throughput each, were nothing else on the machine.

    Both carry the same trials; what two take more, in the conductor and in starting, is lost. Processor time, not wall
    time, so that a busy machine says the same: that two workers wait for each other, it would not show.
    """
    both = [(_processor_s(1), _processor_s(2)) for _ in range(REPEATS)]
    one, two = (min(spent) for spent in zip(*both, strict=True))  # what a busy machine adds is left out
    return Measured(
        one / two,
        "of one worker's",
        f"processor time of {SEEDS} trials of {one / SEEDS:.2f} s with one worker, {one:.1f} s, and two, {two:.1f} s",
        one / two,
    )


def sweep_costs() -> Measured:
    """Milliseconds of the conductor's processor time for each trial, with 990 short ones and one local worker.

    How many workers one conductor keeps going follows: that many trials a second, times what a trial takes.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "short.toml").write_text(SHORT)
        Path(folder, "study.toml").write_text(POINTS)
        sweep = Sweep(Path(folder, "study.toml"), Path(folder, "out"))
        before = [_of(kind) for kind in KINDS]
        swept = sweep.run(local(1))
        conductor, worker = (_of(kind) - earlier for kind, earlier in zip(KINDS, before, strict=True))
        assert swept.done == swept.trials, swept.failed
    each_ms = [1e3 * spent / swept.done for spent in (conductor, worker)]
    busy = WORKERS * each_ms[0] / 1e3 / 10
    return Measured(
        each_ms[0],
        "ms",
        f"{swept.done} trials; the worker's, with its start and the trial, is {each_ms[1]:.1f} ms; "
        f"{WORKERS:,} workers at trials of 10 s would take {busy:.0%} of a core",
    )


def _processor_s(jobs: int) -> float:
    """Of the conductor and its workers, their start included, for one sweep."""
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder, "study.toml")
        study.write_text(STUDY.format(scenario=str(SCENARIO), seeds=SEEDS))
        before = _spent()
        swept = Sweep(study, Path(folder, "out")).run(local(jobs))
        assert swept.done == SEEDS, swept.failed
        return _spent() - before


KINDS = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _of(kind: int) -> float:
    return sum(resource.getrusage(kind)[:2])


def _spent() -> float:
    return sum(map(_of, KINDS))
