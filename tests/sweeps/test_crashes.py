"""Real processes, killed: workers, and the whole command in the middle of its work. What is finished stays, whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dstcc.sweeps.call import Sweep, local
from dstcc.sweeps.executors.local import Local
from dstcc.sweeps.places import Place
from dstcc.sweeps.results import parts_in, read_part
from dstcc.trust import allowed
from tests.sweeps.made import STUDY, TRIALS, contents, sweep, write

EXTENSION = '''
"""A control that ends, hangs or raises where a file beside it says so."""
import os, pathlib, signal, time

HERE = pathlib.Path(__file__).parent

class Trap:
    def __init__(self, setup):
        for what in ("killed", "hanging", "exiting", "raising"):
            trap = HERE / what
            if trap.exists() and (trap.read_text() == "always" or not trap.unlink()):
                if what == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                if what == "hanging":
                    time.sleep(600)
                if what == "exiting":
                    os._exit(3)
                raise ValueError("the trap")

    def on_ack(self, view):
        return 10.0
'''
TRAPPED = STUDY.replace("seeds = 2", 'congestion = "trap.py:Trap"\nseeds = 1').replace(", 1e-2", "")


def trapped(folder: Path, what: str, how: str) -> Path:
    study = write(folder, TRAPPED)
    (folder / "trap.py").write_text(EXTENSION)
    (folder / what).write_text(how)
    return study


@pytest.mark.parametrize("what", ["killed", pytest.param("hanging", marks=pytest.mark.slow)])
def test_a_worker_that_is_killed_or_hangs_takes_nothing_with_it(tmp_path: Path, what: str) -> None:
    """Once: it is tried again."""
    study = trapped(tmp_path / "given", what, "once")
    with allowed():
        swept = Sweep(study, tmp_path / "out").run(local(1), limit_s=5.0)
    assert (swept.done, swept.failed) == (1, ())
    assert not (tmp_path / "given" / what).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("killed", "its worker was ended by SIGKILL, as when memory is short"),
        ("hanging", "took longer than 2 s and was ended"),
        ("exiting", "its worker ended with code 3"),
        ("raising", "ValueError: the trap"),
    ],
)
def test_what_always_fails_is_noted(tmp_path: Path, what: str, said: str) -> None:
    study = trapped(tmp_path / "given", what, "always")
    with allowed():
        swept = Sweep(study, tmp_path / "out").run(local(2), retries=1, limit_s=2.0)
    (failed,) = swept.failed
    assert said in failed["error"] and len(failed["tries"]) == 2
    (tmp_path / "given" / what).unlink()
    with allowed():
        assert Sweep(study, tmp_path / "out").run(local(1)).failed == ()


@contextmanager
def started(study: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "dstcc_cli", "sweep", str(study), "-o", str(out), "--jobs", "1"]
    with subprocess.Popen(
        words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    ) as process:
        yield process


def done_in(out: Path) -> int:
    place = Place(out)
    return len(list(place.fresh.found())) + sum(
        read_part(part, ["key"]).num_rows for part in parts_in(place.trials)
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_killed_command_goes_on_to_the_same_bytes(tmp_path: Path, number: signal.Signals) -> None:
    study = write(tmp_path / "given", STUDY.replace("seeds = 2", "seeds = 20"))
    out = tmp_path / "out"
    with started(study, out) as process:
        end = time.monotonic() + 60
        while done_in(out) < 5:
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, number)
        said = process.communicate(timeout=60)[1].decode()
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert f"completed trials are kept; to continue: dstcc sweep {study} -o {out} --jobs 1" in said
    time.sleep(0.2)  # its worker notices that nobody listens any more
    kept = done_in(out)
    assert 5 <= kept < 80
    swept = sweep(study, out)
    assert swept.skipped == kept and swept.done == 80 - kept
    sweep(study, tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    """No result that a worker answered for is lost, no file is torn, and the end is the same bytes."""
    study, out = write(tmp_path / "given", STUDY.replace("seeds = 2", "seeds = 400")), tmp_path / "out"
    moments, before = random.Random(1), 0
    for _ in range(20):
        with started(study, out) as process:
            time.sleep(1.0 + moments.random() * 2)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=60)
        time.sleep(0.3)
        kept = {
            key for part in parts_in(Place(out).trials) for key in read_part(part, ["key"])["key"].to_pylist()
        }
        for key in Place(out).fresh.found():
            kept.add(Place(out).fresh.load(key)[0] and key)
        assert len(kept) >= before
        before = len(kept)
    swept = sweep(study, out)
    assert swept.skipped == before and swept.done + before == 1600
    sweep(study, tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


@pytest.mark.slow
def test_processes_make_the_same_bytes(tmp_path: Path, study: Path) -> None:
    for jobs in (1, 2, 3):
        Sweep(study, tmp_path / str(jobs)).run(local(jobs))
    sweep(study, tmp_path / "inline")
    assert len({tuple(contents(tmp_path / name).items()) for name in ("1", "2", "3", "inline")}) == 1


def test_a_worker_of_another_version_says_so(tmp_path: Path, study: Path) -> None:
    """Here by a scenario that changed after the study was planned."""
    planned = Sweep(study, tmp_path / "out")
    (study.parent / "toy.toml").write_text(
        (study.parent / "toy.toml").read_text().replace("80_000", "90_000")
    )
    swept = planned.run(local(1), retries=0)
    assert len(swept.failed) == TRIALS
    assert (
        "it is another trial than asked for: a file that the scenario names differs"
        in swept.failed[0]["error"]
    )


def test_workers_end_with_their_conductor(tmp_path: Path, study: Path) -> None:
    planned = Sweep(study, tmp_path / "out")
    planned.begin(Place(tmp_path / "out"))
    with Local(tmp_path / "out", 1) as executor:
        executor.submit([planned.plan.units[0]])
        (worker,) = executor._all.values()
        assert worker.process.poll() is None
    assert worker.process.poll() is not None
