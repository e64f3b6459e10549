"""Executors by what they start, are told and answer, on a clock that a test moves: nothing is started."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.errors import DstccError
from dstcc.sweeps.executors import local, ray, slurm
from dstcc.sweeps.executors.base import Ended
from dstcc.sweeps.executors.local import Local
from dstcc.sweeps.executors.ray import Ray
from dstcc.sweeps.executors.slurm import Slurm
from dstcc.sweeps.places import Place
from dstcc.sweeps.plan import Unit

INF = float("inf")


def units(count: int, first: int = 0) -> list[Unit]:
    return [Unit(number, f"cubic/s{number}", key(number)) for number in range(first, first + count)]


def key(number: int) -> str:
    """A hash as a trial's."""
    return f"{number:032x}"


class Clock:
    """A time that passes where something waits, or where a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def strftime(self, _form: str) -> str:
        return "20310101-000000-"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (local, ray, slurm):
        monkeypatch.setattr(module, "time", made)
    return made


# ---------------------------------------------------------------------------------------- processes on this machine


class Told:
    """An input that stays readable for the test."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.flushed, self.closed = 0, False

    def write(self, line: bytes) -> None:
        self.heard.append(line)

    def flush(self) -> None:
        self.flushed = len(self.heard)

    def close(self) -> None:
        self.closed = True


class Process:
    """One that says what a test has it say."""

    def __init__(
        self, words: Sequence[str], *, pass_fds: tuple[int], env: dict[str, str], **how: Any
    ) -> None:
        self.words, self.env, self.how = list(words), env, how
        self.says, self.returncode = os.dup(pass_fds[0]), -signal.SIGKILL
        self.stdin: Any = Told()
        self.pid = 70_000 + self.says

    def say(self, *documents: object) -> None:
        os.write(self.says, b"".join(json.dumps(one).encode() + b"\n" for one in documents))

    def told(self) -> list[Any]:
        return [json.loads(line) for line in self.stdin.heard]

    def die(self, code: int) -> None:
        self.returncode = code
        os.close(self.says)
        self.says = -1

    def wait(self) -> None:
        if self.says >= 0:
            os.close(self.says)
            self.says = -1


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[list[Process]]:
    """The processes, and whether they were killed."""
    made: list[Process] = []

    def start(*words: Any, **how: Any) -> Process:
        made.append(Process(*words, **how))
        return made[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(os, "killpg", lambda pid, number: killed.append((pid, number)))
    killed.clear()
    yield made
    for one in made:
        one.wait()


killed: list[tuple[int, int]] = []


def said(ended: Sequence[Ended]) -> list[tuple[str, str | None, bool]]:
    return [(one.unit.key, one.error, one.blamed) for one in ended]


def test_there_are_as_many_workers_as_cores_unless_it_is_said(
    monkeypatch: pytest.MonkeyPatch, place: Place
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert Local(Path("/study")).workers == Ray(place).workers == 7
    assert Local(Path("/study"), 3).workers == Ray(place, jobs=3).workers == 3


def test_two_workers_start_when_there_is_work_and_get_two_batches_each(started: list[Process]) -> None:
    with Local(Path("/study"), 2) as executor:
        assert executor.workers == 2 and executor.room() and not started
        executor.submit(units(1))
        assert len(started) == 1 and executor.room()
        executor.submit(units(1, 1))
        assert len(started) == 2 and executor.room(), "of each the next one may wait"
        executor.submit(units(1, 2))
        assert executor.room()
        executor.submit(units(1, 3))
        assert len(started) == 2 and not executor.room()
    assert [one.told() for one in started] == [
        [[[0, "cubic/s0", key(0)]], [[2, "cubic/s2", key(2)]]],
        [[[1, "cubic/s1", key(1)]], [[3, "cubic/s3", key(3)]]],
    ]
    first = started[0]
    assert (
        first.words[:4] == [sys.executable, "-P", "-m", "dstcc.sweeps.worker"] and first.words[4] == "/study"
    )
    assert first.words[5].isdecimal() and first.how["start_new_session"] is True
    assert {name: first.env[name] for name in local.ONE_THREAD} == dict.fromkeys(local.ONE_THREAD, "1")
    assert killed == [(one.pid, signal.SIGKILL) for one in started]


def test_a_worker_with_nothing_to_do_is_handed_work_before_another_starts(started: list[Process]) -> None:
    with Local(Path("/study"), 3) as executor:
        executor.submit(units(3))
        assert executor.room()
        started[0].say({"ready": True}, *({"key": unit.key} for unit in units(3)))
        assert said(executor.wait(0)) == [(unit.key, None, True) for unit in units(3)]
        executor.submit(units(2, 3))
        assert len(started) == 1
        executor.submit(units(1, 5))
        assert len(started) == 2
        executor.submit(units(1, 6))
        executor.submit(units(1, 7))  # 2, 1 and 1 are waiting: to the second
        assert [len(one.told()) for one in started] == [2, 2, 1]


def test_a_unit_takes_from_the_end_of_the_one_before(started: list[Process], clock: Clock) -> None:
    with Local(Path("/study"), 1) as executor:
        executor.submit(units(3))
        clock.now += 7
        started[0].say({"ready": True})
        assert executor.wait(0) == []
        clock.now += 2
        started[0].say({"key": key(0)})
        (one,) = executor.wait(0)
        clock.now += 3
        started[0].say({"key": key(1), "error": "no", "traceback": "at"})
        answer = json.dumps({"key": key(2)}).encode() + b"\n"
        os.write(started[0].says, answer[:9])
        (two,) = executor.wait(0)
        os.write(started[0].says, answer[9:])
        (three,) = executor.wait(0)
    assert (one.seconds, two.seconds, three.seconds) == (2.0, 3.0, 0.0)
    assert (two.error, two.traceback, one.error) == ("no", "at", None)


def test_work_for_an_idle_worker_begins_when_it_is_handed_over(started: list[Process], clock: Clock) -> None:
    with Local(Path("/study"), 1, limit_s=10.0) as executor:
        executor.submit(units(1))
        started[0].say({"ready": True}, {"key": key(0)})
        executor.wait(0)
        clock.now += 50
        executor.submit(units(1, 1))
        clock.now += 10
        assert executor.wait(0) == [], "just as long as it may"
        executor.submit(units(1, 2))  # is no reason to begin to count anew
        clock.now += 0.001
        assert said(executor.wait(0)) == [
            (key(1), "took longer than 10 s and was ended", True),
            (key(2), "took longer than 10 s and was ended", False),
        ]
    assert killed == [(started[0].pid, signal.SIGKILL)]


@pytest.mark.parametrize(("limit_s", "allowed_s"), [(10.0, 120.0), (500.0, 500.0)])
def test_a_worker_that_never_starts_is_given_two_minutes(
    started: list[Process], clock: Clock, limit_s: float, allowed_s: float
) -> None:
    with Local(Path("/study"), 1, limit_s=limit_s) as executor:
        executor.submit(units(1))
        clock.now += allowed_s
        assert executor.wait(0) == []
        clock.now += 0.001
        assert said(executor.wait(0)) == [(key(0), "its worker never started", True)]
        executor.submit(units(1, 1))
        assert len(started) == 2


def test_it_waits_for_an_answer_no_longer_than_until_somebody_is_late(
    started: list[Process], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    with Local(Path("/study"), 2, limit_s=10.0) as executor:
        select = executor._selector.select

        def ask(wait_s: float) -> Any:
            asked.append(wait_s)
            return select(0)

        monkeypatch.setattr(executor._selector, "select", ask)
        executor.wait(3.0)
        executor.submit(units(1))
        started[0].say({"ready": True})
        executor.wait(500.0)  # of a worker that begins: two minutes
        executor.submit(units(1, 1))
        clock.now += 4
        executor.wait(3.0)
        executor.wait(500.0)  # 6 s are left to the first, 116 s to the second
        clock.now += 7
        executor._ended.append(Ended(units(1)[0]))
        executor.wait(3.0)  # something ended already
    assert asked == [3.0, 120.0, 3.0, 6.0, 0]


def test_a_worker_that_dies_takes_what_waits_with_it_and_one_is_blamed(started: list[Process]) -> None:
    with Local(Path("/study"), 1) as executor:
        executor.submit(units(2))
        started[0].die(-signal.SIGSEGV)
        assert said(executor.wait(0)) == [
            (key(0), "its worker was ended by SIGSEGV", True),
            (key(1), "its worker was ended by SIGSEGV", False),
        ]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (3, "ended with code 3"),
        (0, "ended with code 0"),
        (None, "ended with code None"),
        (-signal.SIGKILL, "was ended by SIGKILL, as when memory is short"),
        (-signal.SIGTERM, "was ended by SIGTERM"),
        (-99, "was ended by 99"),
    ],
)
def test_how_a_process_ended_in_words(code: int | None, words: str) -> None:
    assert local._ending(code) == words


def test_a_worker_says_that_the_study_or_the_disk_stops_it(started: list[Process]) -> None:
    with Local(Path("/study"), 1) as executor:
        executor.submit(units(1))
        started[0].say({"stop": "study.toml: damaged"})
        with pytest.raises(DstccError, match=r"study\.toml: damaged"):
            executor.wait(0)
        started[0].say({"disk": [27, "File too large", "/study/fresh"]})
        with pytest.raises(OSError, match=r"\[Errno 27\] File too large: '/study/fresh'"):
            executor.wait(0)


def test_what_is_told_to_a_dead_worker_is_found_out_later(started: list[Process]) -> None:
    class Broken(Told):
        def write(self, _line: bytes) -> None:
            raise BrokenPipeError

    with Local(Path("/study"), 1) as executor:
        executor.submit(units(1))
        started[0].stdin = Broken()
        executor.submit(units(1, 1))
        started[0].die(1)
        assert [one.unit.key for one in executor.wait(0)] == [key(0), key(1)]


def test_a_worker_that_cannot_start_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    before = len(list(Path("/proc/self/fd").iterdir()))
    executor = Local(Path("/study"), 1)
    with pytest.raises(OSError, match="no memory"), executor:
        executor.submit(units(1))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# ------------------------------------------------------------------------------------------------------------ Slurm


class Cluster:
    """Slurm's commands: how each was called, and what it answers."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.answers: dict[str, tuple[int, str, str]] = {"sbatch": (0, "7;here\n", ""), "squeue": (0, "", "")}

    def run(
        self, words: list[str], *, check: bool, capture_output: bool, timeout: float, text: bool = False
    ) -> Any:
        assert not check and capture_output and timeout > 10
        self.calls.append(words)
        code, out, err = self.answers.get(words[0], (0, "", ""))
        return SimpleNamespace(returncode=code, stdout=out, stderr=err)

    def of(self, command: str) -> list[list[str]]:
        return [words[1:] for words in self.calls if words[0] == command]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(slurm, "subprocess", SimpleNamespace(run=made.run))
    monkeypatch.setattr(shutil, "which", lambda command: f"/usr/bin/{command}")
    return made


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("trials", "fresh", "failed"):
        (tmp_path / "a study" / name).mkdir(parents=True)
    return Place(tmp_path / "a study")


def test_a_job_has_as_many_tasks_as_there_are_batches_and_a_site_allows(place: Place, clock: Clock) -> None:
    assert Slurm(place).workers == 64 and Slurm(place, tasks=5, cores=3).workers == 15
    assert Slurm(place, tasks=4000).workers == 1000
    executor = Slurm(place, tasks=3, cores=2, options=("--partition=x", "--time=5"), limit_s=9.0)
    name, text, shares = executor.script([units(2), units(1, 2), units(1, 3), units(1, 4)])
    assert shares == [[*units(2), *units(1, 4)], units(1, 2), units(1, 3)]
    folder = place.jobs / name
    assert name.startswith("20310101-000000-") and len(name) == len("20310101-000000-") + 6
    assert text.splitlines() == [
        "#!/bin/bash",
        "#SBATCH --job-name=dstcc-a_study",
        "#SBATCH --array=0-2",
        "#SBATCH --cpus-per-task=2",
        f"#SBATCH --output={folder}/%a.log",
        "#SBATCH --open-mode=append",
        "#SBATCH --requeue",
        "#SBATCH --partition=x",
        "#SBATCH --time=5",
        f"exec {sys.executable} -P -m dstcc.sweeps.share '{place.path}' {name} \"$SLURM_ARRAY_TASK_ID\"",
    ]
    assert text.endswith("\n") and (folder / "job.sh").read_text() == text
    assert json.loads((folder / "units.json").read_text()) == {
        "limit_s": 9.0,
        "shares": [[unit.words for unit in share] for share in shares],
    }
    assert "--array=0-0\n" in executor.script([units(1)])[1]


def begun(place: Place, *batches: list[Unit], **how: Any) -> Slurm:
    executor = Slurm(place, **how).__enter__()
    for batch in batches:
        assert executor.room()
        executor.submit(batch)
    return executor


def test_batches_go_to_tasks_by_turns_and_their_results_end_them(
    place: Place, cluster: Cluster, clock: Clock
) -> None:
    for unit in units(4):
        place.fail(unit.key, {"trial": unit.id})
    executor = begun(place, units(2), units(1, 2), units(1, 3), tasks=2)
    cluster.answers["squeue"] = (0, "0\n1\n", "")
    assert executor.wait(60.0) == []
    ((parsable, path),) = cluster.of("sbatch")
    assert parsable == "--parsable" and Path(path).name == "job.sh"
    shares = json.loads((Path(path).parent / "units.json").read_text())["shares"]
    assert [[key for _, _, key in share] for share in shares] == [[key(0), key(1), key(3)], [key(2)]]
    assert place.failures() == [], "what failed before is tried again"
    assert cluster.of("squeue") == [["--noheader", "--array", "--jobs=7", "--format=%K"]]
    place.fresh.save(key(1), {"row": 1})
    pq.write_table(pa.table({"key": [key(2), key(9)]}), place.trials / "part-1.parquet")
    assert {one.unit for one in executor.wait(60.0)} == {*units(2, 1)} and executor.wait(60.0) == []
    executor.__exit__(None, None, None)
    assert cluster.of("scancel") == [["7"]]


def test_slurm_is_asked_once_a_second(place: Place, cluster: Cluster, clock: Clock) -> None:
    executor = begun(place, units(1), tasks=1)
    cluster.answers["squeue"] = (0, "0\n", "")
    executor.wait(60.0)
    assert clock.slept == [], "the first time at once"
    clock.now += 0.25
    executor.wait(60.0)
    assert clock.slept == [0.75] and len(cluster.of("squeue")) == 2
    executor.wait(0.5)
    assert clock.slept == [0.75, 0.5] and len(cluster.of("squeue")) == 2, "half a second is too early"
    executor.wait(0.5)
    assert len(cluster.of("squeue")) == 3
    assert len(cluster.of("sbatch")) == 1


def test_a_task_that_is_gone_has_five_seconds_for_its_results(
    place: Place, cluster: Cluster, clock: Clock
) -> None:
    place_of = {"error": "ValueError: no", "traceback": "at line 1"}
    executor = begun(place, units(1), units(1, 1), units(1, 2), tasks=3)
    cluster.answers["squeue"] = (0, "1\n%\n", "")
    assert executor.wait(9.0) == []  # 0 and 2 are gone from now on
    place.fail(key(2), {"trial": "cubic/s2", **place_of})
    clock.now += 4.99
    assert executor.wait(9.0) == []
    clock.now += 1.0
    ended = executor.wait(9.0)
    assert [(one.unit.key, one.error, one.traceback) for one in ended] == [
        (key(0), "its task 7_0 of Slurm ended without its result", None),
        (key(2), "ValueError: no", "at line 1"),
    ]
    cluster.answers["squeue"] = (1, "", "slurm_load_jobs error: Unable to contact slurm controller")
    clock.now += 100.0
    assert executor.wait(9.0) == [], "Slurm does not answer: nothing is known"
    cluster.answers["squeue"] = (1, "", "slurm_load_jobs error: Invalid job id specified")
    clock.now += 1.0
    assert executor.wait(9.0) == []
    clock.now += 5.0
    assert [one.unit.key for one in executor.wait(9.0)] == [key(1)]
    asked = len(cluster.of("squeue"))
    clock.now += 1.0
    assert executor.wait(9.0) == [] and len(cluster.of("squeue")) == asked, "the job is over"
    executor.__exit__(None, None, None)
    assert cluster.of("scancel") == []


def test_an_sbatch_that_says_nothing_is_named_with_its_code(place: Place, cluster: Cluster) -> None:
    executor = begun(place, units(1))
    cluster.answers["sbatch"] = (3, "", " \n")
    with pytest.raises(DstccError, match=r"^sbatch .*job\.sh: ended with code 3$"):
        executor.wait(1.0)


# -------------------------------------------------------------------------------------------------------------- Ray


class FakeRay(ModuleType):
    """Ray's functions: how each was called, and what it answers."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.calls: list[tuple[str, Any]] = []
        self.cores = 4.0
        self.ready: list[Any] = []
        self.outcomes: dict[Any, Any] = {}
        self.exceptions = SimpleNamespace(RayError=type("RayError", (Exception,), {}))

    def init(self, **how: Any) -> None:
        self.calls.append(("init", how))

    def put(self, what: Any) -> str:
        self.calls.append(("put", what))
        return "study"

    def remote(self, **how: Any) -> Any:
        self.calls.append(("remote", how))

        def task(study: Any, words: Any) -> str:
            self.calls.append(("task", (study, words)))
            return f"task-{len(self.of('task')) - 1}"

        return lambda _function: SimpleNamespace(remote=task)

    def wait(self, tasks: list[Any], *, num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        self.calls.append(("wait", (tasks, num_returns, timeout)))
        return [one for one in tasks if one in self.ready], []

    def get(self, task: Any) -> Any:
        if isinstance(self.outcomes[task], Exception):
            raise self.outcomes[task]
        return self.outcomes[task]

    def cancel(self, task: Any, *, force: bool) -> None:
        self.calls.append(("cancel", (task, force)))

    def shutdown(self) -> None:
        self.calls.append(("shutdown", None))

    def cluster_resources(self) -> dict[str, float]:
        self.calls.append(("resources", None))
        return {"CPU": self.cores} if self.cores else {}

    def of(self, what: str) -> list[Any]:
        return [how for name, how in self.calls if name == what]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, clock: Clock, tmp_path: Path) -> FakeRay:
    made = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", made)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: made)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: str(tmp_path / "scratch"))
    for name in ("study.json", "study.toml"):
        (tmp_path / name).write_text(f"of {name}")
    return made


def test_ray_starts_here_with_its_cores_silently_and_leaves_nothing(
    fake: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "mine")
    monkeypatch.delenv("RAY_DEDUP_LOGS", raising=False)
    with Ray(Place(tmp_path), jobs=3):
        assert {name: os.environ[name] for name in ray.SILENT} == ray.SILENT
        assert sys.stdout is sys.stderr
    assert sys.stdout is not sys.stderr
    assert os.environ["RAY_AUTH_MODE"] == "mine" and "RAY_DEDUP_LOGS" not in os.environ
    (how,) = fake.of("init")
    assert how == {
        "num_cpus": 3,
        "include_dashboard": False,
        "_temp_dir": str(tmp_path / "scratch"),
        "logging_level": "error",
        "log_to_driver": False,
    }
    (study,) = fake.of("put")
    assert study == (str(tmp_path), {name: f"of {name}".encode() for name in ("study.json", "study.toml")})
    assert fake.of("remote") == [{"num_cpus": 1, "max_retries": 0}]
    assert fake.of("shutdown") and not (tmp_path / "scratch").exists()


def test_a_cluster_is_joined_and_one_that_is_not_there_is_named(
    fake: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ray(Place(tmp_path), address="10.0.0.1:6379"):
        assert fake.of("init") == [
            {"address": "10.0.0.1:6379", "logging_level": "error", "log_to_driver": False}
        ]

    def refuse(**_: Any) -> None:
        raise ConnectionError("nobody there")

    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(fake, "init", refuse)
    with pytest.raises(DstccError, match="--engine ray: nobody there"):
        Ray(Place(tmp_path), address="10.0.0.1:6379").__enter__()
    assert len(fake.of("shutdown")) == 2 and not (tmp_path / "scratch").exists()


def test_there_is_a_task_for_each_core_that_the_cluster_has(
    fake: FakeRay, tmp_path: Path, clock: Clock
) -> None:
    with Ray(Place(tmp_path), jobs=1) as executor:
        assert executor.room() and executor.workers == 4
        for number in range(4):
            assert executor.room()
            executor.submit(units(1, number))
        assert not executor.room() and len(fake.of("resources")) == 1
        fake.cores = 5.0
        clock.now += 5.0
        assert not executor.room(), "the cluster is asked every five seconds"
        clock.now += 0.1
        assert executor.room() and executor.workers == 5
        fake.cores = 0.0
        clock.now += 5.1
        assert not executor.room() and executor.workers == 1
    assert fake.of("cancel") == [(f"task-{number}", True) for number in range(4)]
    assert fake.of("task")[1] == ("study", [[1, "cubic/s1", key(1)]])


def test_outcomes_come_back_in_the_order_of_the_batch(fake: FakeRay, tmp_path: Path) -> None:
    with Ray(Place(tmp_path)) as executor:
        executor.submit(units(2))
        executor.submit(units(1, 2))
        fake.ready = ["task-0"]
        fake.outcomes["task-0"] = [({"a": 1.0}, None, None, 2.5), (None, "no", "at", 0.5)]
        first, second = executor.wait(7.0)
        assert (first.unit.key, first.row, first.error, first.seconds) == (key(0), {"a": 1.0}, None, 2.5)
        assert (second.unit.key, second.row, second.error, second.traceback, second.seconds) == (
            *(key(1), None, "no", "at", 0.5),
        )
        executor.wait(8.0)
        assert fake.of("wait") == [(["task-0", "task-1"], 1, 7.0), (["task-1"], 1, 8.0)]


@pytest.mark.parametrize(
    ("limit_s", "grace_s"),
    [(2.0, 10.0), (50.0, 50.0), (1000.0, 120.0)],  # as much as a unit, but 10 s to 2 min
)
def test_a_task_that_takes_longer_than_its_units_may_is_cancelled_once(
    fake: FakeRay, tmp_path: Path, clock: Clock, limit_s: float, grace_s: float
) -> None:
    with Ray(Place(tmp_path), limit_s=limit_s) as executor:
        executor.submit(units(3))
        clock.now += 3 * limit_s + grace_s
        executor.wait(0.0)
        assert not fake.of("cancel")
        clock.now += 0.01
        executor.wait(0.0)
        executor.wait(0.0)
        assert fake.of("cancel") == [("task-0", True)]
        fake.ready, fake.outcomes["task-0"] = ["task-0"], fake.exceptions.RayError("cancelled")
        ended = executor.wait(0.0)
        assert said(ended) == [
            (key(n), f"took longer than {limit_s:g} s and was ended", False) for n in range(3)
        ]
        assert ended[0].traceback == "cancelled"
