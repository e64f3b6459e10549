"""Slurm's job arrays, on its real daemons where they are installed (`make test-cluster`)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dstcc.errors import DstccError, MissingCapabilityError, RunError
from dstcc.sweeps import share
from dstcc.sweeps.call import Sweep, local, slurm
from dstcc.sweeps.executors.slurm import Slurm
from dstcc.sweeps.places import Place
from dstcc.sweeps.results import missing
from dstcc.trust import allowed
from tests.sweeps import daemons
from tests.sweeps.made import STUDY, TRIALS, contents, sweep, write

SLOW = '''
"""A control that takes a second to begin with."""
import time

class Slow:
    def __init__(self, setup):
        time.sleep(1.0)

    def on_ack(self, view):
        return 10.0
'''


def slow_study(folder: Path) -> Path:
    """Twelve trials of a second."""
    study = write(folder, STUDY.replace("seeds = 2", 'congestion = "slow.py:Slow"\nseeds = 6'))
    (folder / "slow.py").write_text(SLOW)
    return study


@pytest.fixture(scope="module")
def running() -> Iterator[Path]:
    if why := daemons.lacking():
        pytest.skip(why)
    with daemons.cluster() as folder:
        yield folder


@pytest.fixture
def cluster(running: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLURM_CONF", str(running / "slurm.conf"))
    return running


def during(out: Path, done: int, act: Callable[[], None]) -> threading.Thread:
    """Do something once so many results are there."""

    def wait() -> None:
        end = time.monotonic() + 120
        while len(list(Place(out).fresh.found())) < done:
            if time.monotonic() > end:
                return
            time.sleep(0.05)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.slow
@pytest.mark.cluster
def test_the_same_bytes_as_on_one_machine(tmp_path: Path, cluster: Path, study_of: Path) -> None:
    swept = Sweep(study_of, tmp_path / "slurm").run(slurm(tasks=3))
    assert (swept.done, swept.failed, swept.engine) == (TRIALS, (), "slurm")
    Sweep(study_of, tmp_path / "local").run(local(2))
    assert contents(tmp_path / "slurm") == contents(tmp_path / "local")


@pytest.mark.slow
@pytest.mark.cluster
def test_a_printed_script_runs_by_itself(tmp_path: Path, cluster: Path, study_of: Path) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-m", "dstcc_cli", "sweep", str(study_of), "-o", str(out), "--engine", "slurm"]
    done = subprocess.run([*words, "--script", "--tasks", "2"], capture_output=True, text=True, check=True)
    assert "#SBATCH --array=0-1\n" in done.stdout
    script = tmp_path / "job.sh"
    script.write_text(done.stdout)
    subprocess.run(["sbatch", "--wait", str(script)], check=True, timeout=300, capture_output=True)
    place = Place(out)
    assert missing(Sweep(study_of, out).plan, place) == []
    assert sweep(study_of, out).skipped == TRIALS
    sweep(study_of, tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.cluster
def test_a_node_that_goes_away_takes_no_result_with_it(tmp_path: Path, cluster: Path) -> None:
    study, out = slow_study(tmp_path / "given"), tmp_path / "out"
    with allowed():
        thread = during(out, 2, lambda: daemons.lose_node("n2", cluster))
        swept = Sweep(study, out).run(slurm(tasks=4))
        thread.join()
        assert swept.failed == () and swept.done == 12
        sweep(study, tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")
    environment = {**os.environ}
    subprocess.run(["slurmd", "-f", str(cluster / "slurm.conf"), "-N", "n2"], check=True, env=environment)
    daemons.wait_for_nodes(environment)


@pytest.mark.slow
@pytest.mark.cluster
def test_a_task_that_is_killed_is_submitted_again(tmp_path: Path, cluster: Path) -> None:
    study, out = slow_study(tmp_path / "given"), tmp_path / "out"

    def kill_tasks() -> None:
        daemons.kill_all_on("n1", cluster)

    with allowed():
        thread = during(out, 2, kill_tasks)
        swept = Sweep(study, out).run(slurm(tasks=4))
        thread.join()
    assert swept.failed == () and swept.done == 12
    assert len(list(Place(out).jobs.iterdir())) >= 2


@pytest.mark.slow
@pytest.mark.cluster
def test_what_fails_is_tried_again_and_noted(tmp_path: Path, cluster: Path) -> None:
    study = write(tmp_path / "given", STUDY.replace("seeds = 2", 'congestion = "bad.py:Bad"\nseeds = 1'))
    source = SLOW.replace("Slow", "Bad").replace("time.sleep(1.0)", 'raise ValueError("always")')
    (tmp_path / "given" / "bad.py").write_text(source)
    with allowed():
        swept = Sweep(study, tmp_path / "out").run(slurm(tasks=2), retries=1)
    assert len(swept.failed) == 2
    for failed in swept.failed:
        assert len(failed["tries"]) == 2 and "ValueError: always" in failed["error"]
        assert 'raise ValueError("always")' in failed["error"] + failed["traceback"]


@pytest.mark.slow
@pytest.mark.cluster
def test_ctrl_c_cancels_the_array(tmp_path: Path, cluster: Path) -> None:
    study, out = slow_study(tmp_path / "given"), tmp_path / "out"
    with allowed():
        thread = during(out, 1, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            Sweep(study, out).run(slurm(tasks=1))
        thread.join()
        queue = ["squeue", "--noheader", "--states=PENDING,RUNNING"]
        end = time.monotonic() + 30
        while subprocess.run(queue, capture_output=True, text=True, check=True).stdout.strip():
            assert time.monotonic() < end
            time.sleep(0.5)
        assert Sweep(study, out).run(local(2)).skipped >= 1


@pytest.fixture
def study_of(tmp_path: Path) -> Path:
    return write(tmp_path / "given")


def test_without_slurm_it_says_what_is_missing(
    tmp_path: Path, study_of: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingCapabilityError, match="--engine slurm needs sbatch"):
        Sweep(study_of, tmp_path / "out").run(slurm())


def fake(folder: Path, **scripts: str) -> None:
    """Commands that say what a test has them say."""
    for name in ("sbatch", "squeue", "scancel"):
        (folder / name).write_text(f"#!/bin/sh\n{scripts.get(name, 'true')}\n")
        (folder / name).chmod(0o755)


def test_a_refused_job_says_why(tmp_path: Path, study_of: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, sbatch="echo 'invalid partition specified: x' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(DstccError, match=r"sbatch .*job\.sh: invalid partition specified: x"):
        Sweep(study_of, tmp_path / "out").run(slurm(options=("--partition=x",)))
    (script,) = (tmp_path / "out" / "jobs").glob("*/job.sh")
    assert "#SBATCH --partition=x\n" in script.read_text()


def test_an_array_carries_the_study(tmp_path: Path, study_of: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an sbatch that carries the tasks before it says their number."""
    each = 'SLURM_CPUS_PER_TASK=1 SLURM_ARRAY_TASK_ID=$task sh "$2" >> "$2.log" 2>&1'
    fake(tmp_path, sbatch=f"for task in 0 1; do {each} || exit 1; done; echo 7", squeue="exit 0")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    swept = Sweep(study_of, tmp_path / "out").run(slurm(tasks=2))
    assert (swept.done, swept.failed, swept.engine) == (TRIALS, (), "slurm")
    (log,) = (tmp_path / "out" / "jobs").glob("*/job.sh.log")
    said = log.read_text().splitlines()
    assert [line.partition(" carried")[0] for line in said] == ["4", "4"]
    sweep(study_of, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_share_of_a_job_that_is_not_there_says_so(
    tmp_path: Path, study_of: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = Sweep(study_of, tmp_path / "out")
    planned.begin(Place(tmp_path / "out"))
    monkeypatch.setattr(sys, "argv", ["share", str(tmp_path / "out"), "other", "0"])
    assert share.main() == 2
    assert capsys.readouterr().err.endswith("units.json: no such job\n")


def test_a_task_that_leaves_nothing_fails_its_units(
    tmp_path: Path, study_of: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here by a queue that forgets the job at once."""
    fake(
        tmp_path, sbatch="echo 7", squeue="echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
    )
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("dstcc.sweeps.executors.slurm.POLL_S", 0.0)
    monkeypatch.setattr("dstcc.sweeps.executors.slurm.GRACE_S", 0.0)
    swept = Sweep(study_of, tmp_path / "out").run(slurm(tasks=2), retries=1)
    assert len(swept.failed) == TRIALS
    assert swept.failed[0]["tries"] == ["its task 7_0 of Slurm ended without its result"] * 2 or (
        swept.failed[0]["tries"][0].startswith("its task 7_")
    )


@pytest.mark.usefixtures("toy")
def test_a_share_carries_its_units_and_no_others(tmp_path: Path, study_of: Path) -> None:
    planned = Sweep(study_of, tmp_path / "out")
    place = Place(tmp_path / "out")
    planned.begin(place)
    executor = Slurm(place, tasks=3, limit_s=60.0)
    job, text, shares = executor.script(list(planned.plan.batches(range(TRIALS))))
    assert [len(one) for one in shares] == [4, 2, 2] and "--array=0-2" in text
    with pytest.MonkeyPatch.context() as patch:
        from tests.sweeps.made import Inline

        patch.setattr(share, "Local", lambda folder, _jobs, limit_s: Inline(Place(folder)))
        assert share.run(place, job, 1).done == 2
        assert share.run(place, job, 1).skipped == 2
        left = missing(planned.plan, place)
        assert {planned.plan.units[number] for number in left} == {*shares[0], *shares[2]}
        with pytest.raises(RunError, match=r"units\.json: damaged"):
            share.run(place, job, 9)
        with pytest.raises(RunError, match=r"units\.json: no such job"):
            share.run(place, "other", 0)
        (study_of.parent / "toy.toml").write_text(
            (study_of.parent / "toy.toml").read_text().replace("80_000", "9e4")
        )
        with pytest.raises(DstccError, match="is another trial here than the study asks for: this is dstcc "):
            share.run(place, job, 0)


def test_cores_are_those_that_slurm_gives() -> None:
    assert share.cores({}) == 1
    assert share.cores({"SLURM_CPUS_PER_TASK": "4", "SLURM_CPUS_ON_NODE": "8"}) == 4
    assert share.cores({"SLURM_CPUS_ON_NODE": "8(x2)"}) == 1
