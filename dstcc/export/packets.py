"""Every packet of a trial, which a run need not have kept: :mod:`dstcc.run.replay` repeats the trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dstcc.engine import Connection
from dstcc.errors import RunError
from dstcc.run import Run
from dstcc.run.capture import write_capture
from dstcc.run.logs import connections_of, stem
from dstcc.run.qlog import VERSIONS, write_qlog
from dstcc.run.replay import replay
from dstcc.run.trials import Outcome
from dstcc.wire import ENDS


def write_qlogs(
    run: Run, trials: Sequence[str], folder: Path, version: str = VERSIONS[0]
) -> Iterator[list[str]]:
    """Write ``TRIAL.sqlog`` for each trial; the ending is that of JSON text sequences, by which viewers know them."""
    for trial in trials:
        outcome, logged = _repeated(run, trial)
        name = f"{stem(trial)}.sqlog"
        samples, mss = outcome.result.samples, outcome.setup.mss_bytes
        write_qlog(folder / name, trial, logged, samples, mss_bytes=mss, version=version)
        yield [name]


def write_captures(run: Run, trials: Sequence[str], folder: Path) -> Iterator[list[str]]:
    """Write ``TRIAL.END.pcapng`` for both ends of each trial."""
    for trial in trials:
        outcome, logged = _repeated(run, trial)
        names = [f"{stem(trial)}.{end}.pcapng" for end in ENDS]
        for name, end in zip(names, ENDS, strict=True):
            write_capture(folder / name, logged, outcome.links, end=end, mss_bytes=outcome.setup.mss_bytes)
        yield names


def _repeated(run: Run, trial: str) -> tuple[Outcome, tuple[Connection, ...]]:
    outcome = replay(run, trial, trace=True)
    logged = connections_of(outcome)
    if not logged:
        raise RunError(f"{run.path}: trial {trial!r} has no packet logs, it has no packets")
    return outcome, logged
