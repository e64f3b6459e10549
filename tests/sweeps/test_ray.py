"""Ray: on this machine, and on two nodes that are joined (`make test-cluster`)."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dstcc.errors import MissingCapabilityError
from dstcc.sweeps.call import Sweep, ray
from dstcc.sweeps.executors import ray as executor
from dstcc.sweeps.executors.ray import Ray, carry
from dstcc.sweeps.places import Place
from dstcc.trust import allowed
from tests.sweeps.daemons import Nodes
from tests.sweeps.made import TRIALS, contents, sweep, write
from tests.sweeps.test_crashes import trapped
from tests.sweeps.test_slurm import slow_study

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="no ray: pip install 'dstcc[ray]'"
)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write(tmp_path / "given")


def dstcc(study: Path, out: Path, *words: str) -> dict[str, Any]:
    """In a process of its own: Ray changes much in the one that starts it."""
    command = [
        sys.executable,
        "-m",
        "dstcc_cli",
        "sweep",
        str(study),
        "-o",
        str(out),
        "--engine",
        "ray",
        "--json",
    ]
    done = subprocess.run(
        [*command, "--allow-extensions", *words], capture_output=True, text=True, check=False, timeout=400
    )
    assert done.returncode in (0, 1), done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.mark.slow
@pytest.mark.cluster
@needs_ray
def test_the_same_bytes_as_in_one_process(tmp_path: Path, study: Path) -> None:
    before = set(Path(tempfile.gettempdir()).glob("dstcc-ray-*"))
    said = dstcc(study, tmp_path / "ray", "--jobs", "2")
    assert (said["done"], said["failed"], said["engine"]) == (TRIALS, 0, "ray")
    sweep(study, tmp_path / "inline")
    assert contents(tmp_path / "ray") == contents(tmp_path / "inline")
    assert set(Path(tempfile.gettempdir()).glob("dstcc-ray-*")) == before


@pytest.mark.slow
@pytest.mark.cluster
@needs_ray
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("killed", "its task of Ray ended: WorkerCrashedError"),
        ("hanging", "took longer than 2 s and was ended"),
        ("raising", "ValueError: the trap"),
    ],
)
def test_what_always_fails_is_noted(tmp_path: Path, what: str, said: str) -> None:
    study = trapped(tmp_path / "given", what, "always")
    found = dstcc(study, tmp_path / "out", "--jobs", "1", "--retries", "1", "--trial-limit", "2")
    (failed,) = found["failures"]
    assert said in failed["error"] and len(failed["tries"]) == 2
    (noted,) = Place(tmp_path / "out").failures()
    assert what != "raising" or 'raise ValueError("the trap")' in noted["error"] + noted["traceback"]


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    started = Nodes()
    try:
        yield started
    finally:
        started.stop()


@pytest.mark.slow
@pytest.mark.cluster
@needs_ray
def test_two_nodes_and_one_that_goes_away(tmp_path: Path, nodes: Nodes) -> None:
    study, out = slow_study(tmp_path / "given"), tmp_path / "out"

    def lose() -> None:
        end = time.monotonic() + 300
        while len(list(Place(out).fresh.found())) < 3 and time.monotonic() < end:
            time.sleep(0.05)
        nodes.lose_second()

    thread = threading.Thread(target=lose)
    thread.start()
    said = dstcc(study, out, "--address", nodes.address)
    thread.join()
    assert (said["done"], said["failed"]) == (12, 0)
    with allowed():
        sweep(study, tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


def test_without_ray_it_says_what_is_missing(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "ray" else there(name, *more)
    )
    with pytest.raises(MissingCapabilityError, match=r"--engine ray needs ray: pip install 'dstcc\[ray\]'"):
        Sweep(study, tmp_path / "out").run(ray())


@pytest.mark.usefixtures("toy")
def test_a_task_carries_what_it_is_handed_wherever_the_study_lies(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a node sees it that has not the study's folder."""
    planned = Sweep(study, tmp_path / "out")
    planned.begin(Place(tmp_path / "out"))
    files = {name: (tmp_path / "out" / name).read_bytes() for name in ("study.json", "study.toml")}
    monkeypatch.setattr(executor, "CARRIERS", {})
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: str(tmp_path / prefix))
    (tmp_path / "dstcc-study-").mkdir()
    units = planned.plan.units[:2]
    first, second = carry((str(tmp_path / "nowhere"), files), [unit.words for unit in units])
    assert first[0] is not None and first[0]["playback_ratio"] is not None and first[1:3] == (None, None)
    (other,) = carry((str(tmp_path / "nowhere"), files), [[0, units[0].id, "0" * 32]])
    assert other[0] is None and "another trial than asked for" in str(other[1])
    assert second[3] >= 0


def test_of_a_batch_that_died_none_is_blamed_but_one_alone_is() -> None:
    class Fake:
        class exceptions:  # noqa: N801 - as Ray calls it
            class RayError(Exception):
                pass

        def get(self, _reference: object) -> None:
            raise self.exceptions.RayError("worker died")

    from dstcc.sweeps.executors.ray import _Task
    from dstcc.sweeps.plan import Unit

    carrier = Ray(Place(Path("nowhere")))
    carrier._ray = Fake()
    units = [Unit(0, "a/s1", "1"), Unit(0, "b/s1", "2")]
    assert [one.blamed for one in carrier._ended(None, _Task(units, 0.0))] == [False, False]
    assert [one.blamed for one in carrier._ended(None, _Task(units[:1], 0.0))] == [True]
