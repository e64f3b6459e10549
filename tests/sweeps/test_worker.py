"""A worker process, by what it is told and what it answers."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dstcc.sweeps.call import Sweep
from dstcc.sweeps.places import Place
from dstcc.sweeps.plan import Unit
from tests.sweeps.made import TRIALS, contents, sweep


class Worker:
    def __init__(self, folder: Path) -> None:
        read, write = os.pipe()
        words = [sys.executable, "-m", "dstcc.sweeps.worker", str(folder), str(write)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=(write,))
        os.close(write)
        self.answers = os.fdopen(read)

    def told(self, *units: Unit) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([unit.words for unit in units]).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """The next one, ``None`` where it has ended."""
        line = self.answers.readline()
        return json.loads(line) if line else None

    def close(self) -> int:
        """End its input; how it ends then."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


@contextmanager
def worker(folder: Path) -> Iterator[Worker]:
    started = Worker(folder)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()
        assert started.process.stdin is not None
        started.process.stdin.close()
        started.answers.close()


@pytest.fixture
def planned(tmp_path: Path, study: Path) -> Sweep:
    made = Sweep(study, tmp_path / "out")
    made.begin(Place(tmp_path / "out"))
    return made


def test_a_result_is_in_the_folder_before_its_answer(tmp_path: Path, study: Path, planned: Sweep) -> None:
    place, units = Place(tmp_path / "out"), planned.plan.units
    with worker(place.path) as one:
        assert one.answer() == {"ready": True}
        for batch in planned.plan.batches(range(TRIALS)):
            one.told(*batch)
            for unit in batch:
                assert one.answer() == {"key": unit.key}
                assert unit.key in set(place.fresh.found())
        assert one.close() == 0 and one.answer() is None
    assert set(place.fresh.found()) == {unit.key for unit in units}
    assert sweep(study, place.path).skipped == TRIALS
    sweep(study, tmp_path / "inline")
    assert contents(place.path) == contents(tmp_path / "inline")


def test_another_trial_than_asked_for_is_not_carried(tmp_path: Path, planned: Sweep) -> None:
    place, (first, second, *_) = Place(tmp_path / "out"), planned.plan.units
    with worker(place.path) as one:
        one.answer()
        one.told(replace(first, key="0" * 32))
        said = one.answer()
        assert said is not None and said["key"] == "0" * 32
        assert "it is another trial than asked for" in said["error"] and "DstccError" in said["traceback"]
        one.told(second)  # the worker lives on
        assert one.answer() == {"key": second.key}
    assert set(place.fresh.found()) == {second.key}


def test_a_damaged_study_stops_it(tmp_path: Path, planned: Sweep) -> None:
    (tmp_path / "out" / "study.toml").write_text("[study")
    with worker(tmp_path / "out") as one:
        said = one.answer()
        assert said is not None and "study.toml" in said["stop"]
        assert one.answer() is None and one.process.wait(60) == 1


def test_a_folder_that_takes_nothing_is_named(tmp_path: Path, planned: Sweep) -> None:
    """Here no file may have a byte. The worker waits for whoever started it to end it."""
    place, (first, *_) = Place(tmp_path / "out"), planned.plan.units
    with worker(place.path) as one:
        one.answer()
        before = resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (0, before[1]))
        one.told(first)
        said = one.answer()
        resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, before)
        assert said is not None and set(said) == {"disk"}
        number, why, file = said["disk"]
        assert (number, why) == (errno.EFBIG, os.strerror(errno.EFBIG)) and str(place.path) in file
        assert one.close() == 0  # also from the middle of its wait
    assert list(place.fresh.found()) == []
