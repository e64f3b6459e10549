"""Who leaves ends the trials' processes and sees their folders gone, wherever the trials' threads are by then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from dstcc_kernel import running

from dstcc.errors import KernelError

SIGN = "job"


@pytest.fixture(autouse=True)
def _nothing_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_ENDED", threading.Event())


def in_a_thread(work: Callable[[], None]) -> tuple[threading.Thread, list[str]]:
    """Work that ends with what its trial's errors said."""
    said: list[str] = []

    def go() -> None:
        try:
            work()
        except KernelError as error:
            said.append(str(error))

    thread = threading.Thread(target=go)
    thread.start()
    return thread, said


def test_a_folder_has_its_sign_from_the_beginning_and_goes_unless_it_is_kept(tmp_path: Path) -> None:
    """Without the sign what a killed process left would be nobody's."""
    with running.room("trial-", SIGN, tmp_path) as one:
        assert [path.name for path in one.folder.iterdir()] == [SIGN]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KernelError, match="hung"), running.room("trial-", SIGN, tmp_path) as one:
        one.keep = True
        raise KernelError("hung")
    assert list(tmp_path.iterdir()) == [one.folder]


def test_a_trial_that_is_about_to_start_is_waited_for_and_leaves_nothing(tmp_path: Path) -> None:
    """It fills its folder when all are ended, and only then starts its process."""
    inside, ended = threading.Event(), threading.Event()

    def trial() -> None:
        with running.room("trial-", SIGN, tmp_path) as one:
            inside.set()
            ended.wait(10)
            (one.folder / "objects.bin").write_bytes(b"1")
            try:
                with running.started(["true"]):
                    pass
            except KernelError:
                one.keep = True  # as of one that died
                raise

    thread, said = in_a_thread(trial)
    inside.wait(10)
    threading.Timer(0.1, ended.set).start()
    running.end_all(10)
    assert list(tmp_path.iterdir()) == []
    thread.join(10)
    assert said == ["this process is about to end: no trial starts any more"]


def test_a_trial_whose_process_is_ended_keeps_nothing(tmp_path: Path) -> None:
    running_now = threading.Event()

    def trial() -> None:
        with running.room("trial-", SIGN, tmp_path) as one, running.started(["sleep", "60"]) as process:
            running_now.set()
            process.wait()
            one.keep = True

    thread, _ = in_a_thread(trial)
    running_now.wait(10)
    running.end_all(10)
    thread.join(10)
    assert list(tmp_path.iterdir()) == []


def test_after_that_no_folder_is_made(tmp_path: Path) -> None:
    running.end_all(0)
    with pytest.raises(KernelError, match="about to end"), running.room("trial-", SIGN, tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_thread_that_stays_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    inside, leave = threading.Event(), threading.Event()

    def trial() -> None:
        with running.room("trial-", SIGN, tmp_path):
            inside.set()
            leave.wait(10)

    thread, _ = in_a_thread(trial)
    inside.wait(10)
    running.end_all(0.05)
    assert list(tmp_path.iterdir()) == []
    leave.set()
    thread.join(10)
