"""``experiments/executors.py``: what it makes of what it measured."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstcc.sweeps.study import load_study
from experiments import executors
from experiments.executors import Cost, Turn, groups_at, main, rows, write
from tests.sweeps import daemons


def test_a_further_trial_is_what_the_first_two_are_not() -> None:
    """12 trials by two workers in 8 s after 3 s for the first two: 10 of them in 5 s, a second of a worker each."""
    turn = Turn(Cost(3.0, 4.0), Cost(8.0, 19.0))
    assert turn.each(12) == Cost(1.0, 1.5)


def test_ratios_are_to_the_local_sweep_of_the_same_turn() -> None:
    """The machine is twice as slow in the second turn; Ray takes 1.5 of local in one and 1.1 in the other."""
    turns = {
        "local": [Turn(Cost(2.0, 1.0), Cost(7.0, 11.0)), Turn(Cost(4.0, 2.0), Cost(14.0, 22.0))],
        "ray": [Turn(Cost(4.0, 1.0), Cost(11.5, 16.0)), Turn(Cost(4.0, 2.0), Cost(15.0, 24.0))],
    }
    lines = rows(turns, 12)
    assert len({line.count("|") for line in lines}) == 1
    local, ray = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:])
    assert local[:4] == ["local", "1.5 (1.0 to 2.0)", "1.50 (1.00 to 2.00)", "1"]
    assert ray[0] == "ray" and ray[3] == "1.300 (1.100 to 1.500)"
    assert ray[5] == "1.300 (1.100 to 1.500)"
    assert ray[7] == f"{(11.5 / 7 + 15 / 14) / 2:.3f} ({15 / 14:.3f} to {11.5 / 7:.3f})"


@pytest.mark.parametrize(
    ("mounts", "place"),
    [
        (
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
            "unified",
        ),
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "cgroup"),
        ("tmpfs /tmp tmpfs rw 0 0\n", None),
    ],
)
def test_control_groups_are_where_they_are_mounted(mounts: str, place: str | None) -> None:
    found = groups_at(mounts)
    assert (None if found is None else found.name) == place


@pytest.mark.parametrize("wait", [None, 0.5])
def test_the_studies_are_some(tmp_path: Path, wait: float | None) -> None:
    path = write(tmp_path, "whole", 7, 10.0, wait)
    study = load_study(path)
    assert (study.name, study.seeds) == ("whole", 7)
    if wait is None:
        assert dict(study.settings)["video.loop_to_s"] == 36_000
    else:
        assert "time.sleep(0.5)" in (tmp_path / "wait.py").read_text()


def test_other_bytes_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def turn(name: str, _studies: object, into: Path, _mounted: Path) -> Turn:
        (into / "whole/trials").mkdir(parents=True)
        (into / "whole/trials/part-0.parquet").write_text("other" if name == "ray" else "same")
        return Turn(Cost(1.0, 1.0), Cost(2.0, 2.0))

    monkeypatch.setattr(executors, "turn", turn)
    monkeypatch.setattr(executors, "groups_at", lambda _mounts: tmp_path)
    monkeypatch.setattr(daemons, "lacking", lambda: "")
    (tmp_path / "cgroup.procs").touch()
    assert CliRunner().invoke(main, ["--only", "slurm", "--turns", "1"]).exit_code == 0
    done = CliRunner().invoke(main, ["--only", "ray", "--turns", "1"])
    assert done.exit_code == 1 and "are not the bytes of the sweep before" in done.output


@pytest.mark.parametrize("why", ["", "no sbatch: scripts/setup-debian.sh cluster installs them"])
def test_what_is_missing_is_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    (tmp_path / "cgroup.procs").touch()
    monkeypatch.setattr(executors, "groups_at", lambda _mounts: tmp_path if why else None)
    monkeypatch.setattr(daemons, "lacking", lambda: why)
    done = CliRunner().invoke(main, [])
    assert done.exit_code == 2
    assert (why or "it counts in a control group (cgroup2)") in done.output


def test_slurms_configuration_goes_with_its_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemons, "cluster", lambda: nullcontext(tmp_path))
    for before in (None, "mine.conf"):
        if before is None:
            monkeypatch.delenv("SLURM_CONF", raising=False)
        else:
            monkeypatch.setenv("SLURM_CONF", before)
        with executors.on_slurm() as options:
            assert os.environ["SLURM_CONF"] == str(tmp_path / "slurm.conf")
            assert options[:2] == ["--engine", "slurm"]
        assert os.environ.get("SLURM_CONF") == before
