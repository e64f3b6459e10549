"""``dstcc.sweep`` from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import dstcc
from dstcc.errors import InputError, RunError
from tests.sweeps.made import TRIALS, sweep, write


def test_a_study_from_python(tmp_path: Path) -> None:
    study = write(tmp_path / "given")
    sweep(study, tmp_path / "out")
    done = dstcc.sweep(study, tmp_path / "out")
    assert done.swept is not None and done.swept.skipped == TRIALS
    assert done.trials.num_rows == TRIALS and done.failures == []
    assert done.query("SELECT count(*) AS n FROM trials").to_pylist() == [{"n": TRIALS}]
    assert repr(done) == f"study: {TRIALS} of {TRIALS} trials in {tmp_path / 'out'}"
    assert dstcc.SweepResult(tmp_path / "out").trials.equals(done.trials)


def test_mistakes_from_python(tmp_path: Path) -> None:
    study = write(tmp_path / "given")
    with pytest.raises(InputError, match="engine 'dask': one of local, slurm, ray"):
        dstcc.sweep(study, tmp_path / "out", engine="dask")
    with pytest.raises(RunError, match="no study"):
        dstcc.SweepResult(tmp_path)
