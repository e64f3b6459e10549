"""Learning curves: ``curves.csv`` always, TensorBoard where it is installed."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_write


@dataclass(frozen=True)
class Point:
    """An evaluation on the validation seeds."""

    step: int
    score: float
    """The recipe's metric, mean over the validation seeds."""
    best: float
    """The best such mean so far."""
    loss: float
    """Of the last update."""
    random: float
    """How much actions are random in training (:meth:`Learner.exploration`)."""

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


class Curves(AbstractContextManager["Curves"]):
    """Writes a run's points; those of before a resume are given."""

    def __init__(self, run: Path, points: list[Point]) -> None:
        self._others, threading.excepthook = threading.excepthook, self._handle_thread_error
        self._path, self._points, self._board = run / "curves.csv", points, _board(run, points)

    def add(self, point: Point) -> None:
        """A new evaluation, already in ``points``."""
        names = [field.name for field in fields(Point)]
        rows = [",".join(names), *(",".join(f"{v:.9g}" for v in asdict(p).values()) for p in self._points)]
        atomic_write(self._path, "\n".join(rows) + "\n")
        if self._board is not None:
            for name in names[1:]:
                self._board.add_scalar(name, getattr(point, name), point.step)
            self._board.flush()

    def __exit__(self, *_: object) -> None:
        try:
            if self._board is not None:
                self._board.close()
        finally:
            threading.excepthook = self._others

    def _handle_thread_error(self, error: threading.ExceptHookArgs) -> None:
        """Print nothing of what TensorBoard's thread keeps for its next caller, who raises it: a full disk, say."""
        if getattr(error.thread, "exception", None) is not error.exc_value:
            self._others(error)


def _board(run: Path, points: list[Point]) -> Any:
    """A TensorBoard writer that forgets what a killed run wrote after its last checkpoint."""
    if find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(run / "tensorboard"), purge_step=points[-1].step + 1 if points else None)
