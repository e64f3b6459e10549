"""Learning curves: what is said when their thread fails."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dstcc.learn.training import curves
from dstcc.learn.training.curves import Curves, Point


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


POINTS = [Point(128, 0.5, 0.5, 1 / 3, 1.0), Point(256, 0.25, 0.5, 0.125, 0.75)]


def board(monkeypatch: pytest.MonkeyPatch, *, there: bool) -> list[Any]:
    """TensorBoard, which notes what it is asked to do."""
    calls: list[Any] = []

    class Writer:
        def __init__(self, folder: str, *, purge_step: int | None) -> None:
            calls.append((Path(folder).name, purge_step))

        def add_scalar(self, name: str, value: float, step: int) -> None:
            calls.append((name, value, step))

        def flush(self) -> None:
            calls.append("flush")

        def close(self) -> None:
            calls.append("close")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    monkeypatch.setattr(curves, "find_spec", lambda _: object() if there else None)
    return calls


@pytest.mark.parametrize("there", [False, True])
def test_all_points_are_in_the_table_and_the_new_one_goes_to_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    calls = board(monkeypatch, there=there)
    with Curves(tmp_path, POINTS) as written:
        written.add(POINTS[1])
    assert (tmp_path / "curves.csv").read_text() == (
        "step,score,best,loss,random\n128,0.5,0.5,0.333333333,1\n256,0.25,0.5,0.125,0.75\n"
    )
    named = [("score", 0.25, 256), ("best", 0.5, 256), ("loss", 0.125, 256), ("random", 0.75, 256)]
    assert calls == ([("tensorboard", 257), *named, "flush", "close"] if there else [])


def test_a_board_of_a_new_run_forgets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = board(monkeypatch, there=True)
    with Curves(tmp_path, []):
        pass
    assert calls == [("tensorboard", None), "close"]
    assert POINTS[1].document() == {"step": 256, "score": 0.25, "best": 0.5, "loss": 0.125, "random": 0.75}
