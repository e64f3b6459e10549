"""Learning curves: what is said when their thread fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dstcc.learn.training.curves import Curves


class Keeping(threading.Thread):
    """As TensorBoard's: it keeps its error for its next caller."""

    exception: OSError | None = None

    def run(self) -> None:
        self.exception = OSError("the disk is full")
        raise self.exception


class Losing(threading.Thread):
    """Nobody hears of its error but from the hook."""

    exception: OSError | None = None

    def run(self) -> None:
        raise OSError("the disk is full")


def test_an_error_that_its_thread_keeps_for_the_caller_is_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda error: printed.append(type(error.thread).__name__))
    before = threading.excepthook
    with Curves(tmp_path, []):
        for thread in (Keeping(), Losing()):
            thread.start()
            thread.join()
    assert printed == ["Losing"]
    assert threading.excepthook is before
