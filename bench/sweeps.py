"""What a second worker costs a sweep: processor time with one and with two of them, for the same trials."""

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
"""Four hours over the links of table 1 of Ha et al., 2023: some 0.3 s of a core each."""


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


def _processor_s(jobs: int) -> float:
    """Of the conductor and its workers, their start included, for one sweep."""
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder, "study.toml")
        study.write_text(STUDY.format(scenario=str(SCENARIO), seeds=SEEDS))
        before = _spent()
        swept = Sweep(study, Path(folder, "out")).run(local(jobs))
        assert swept.done == SEEDS, swept.failed
        return _spent() - before


def _spent() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)
