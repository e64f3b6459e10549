"""A worker process: ``python -m dstcc.sweeps.worker STUDY FD``. It reads units on its input and carries them.

A line of input is a batch: a JSON list of [cell, id, hash]. A line on the file descriptor FD is an answer; a result is
in the study's folder before it is answered for. The process ends as soon as its input ends, so that none outlives
whoever started it.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from traceback import format_exc
from typing import Any

from dstcc.errors import DstccError
from dstcc.scenario.work import limited
from dstcc.trust import allowed

from .pieces import Failed
from .places import STUDY, Place
from .plan import Unit
from .study import load_study
from .work import Work

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG, errno.ENOENT)
"""Errors of the study's folder, which no repetition mends: the whole sweep stops."""


class Carrier:
    """Carries units of a study, one after the other."""

    def __init__(self, place: Place) -> None:
        """Read the study; raises :class:`~dstcc.errors.InputError` for one of another version's schema."""
        about = place.about()
        self.place, self.makers = place, tuple(about["made_by"])
        study = load_study(place.path / STUDY, folder=Path(about["folder"]), name=about["name"])
        self.work = Work(study, train=about["kind"] == "trainings", folder=place.trainings.absolute())

    def carry(self, batch: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, Any] | Failed]]:
        """Each unit with its row, or with why it failed; ends early where a cell itself fails."""
        left = list(batch)
        try:
            cell = self.work.cell(batch[0].cell)
            keys = {piece.id: piece for piece in cell.pieces}
            for unit in batch:
                if unit.id not in keys or keys[unit.id].key != unit.key:
                    raise DstccError(self._other(keys[unit.id].made_by if unit.id in keys else None))
            for _, outcome in cell.run([unit.id for unit in batch]):
                yield left.pop(0), outcome
        except Exception as error:
            why = str(error) if isinstance(error, DstccError) else f"{type(error).__name__}: {error}"
            trace = format_exc()
            for unit in left:
                yield unit, Failed(why, trace)

    def _other(self, made_by: str | None) -> str:
        if made_by is not None and made_by not in self.makers:
            return (
                f"the worker on {os.uname().nodename} is {made_by}, and the study is of {' and '.join(self.makers)}: "
                "both need the same dstcc"
            )
        return f"on {os.uname().nodename} it is another trial than asked for: a file that the scenario names differs"


@contextmanager
def carrying(place: Place) -> Iterator[Carrier]:
    """A carrier under what the sweep's caller allowed; raises :class:`~dstcc.errors.InputError` for a damaged study."""
    about = place.about()
    with ExitStack() as said:
        said.enter_context(limited(about["limits"]))
        if about.get("allow_extensions") is True:
            said.enter_context(allowed())
        yield Carrier(place)


def keep(place: Place, unit: Unit, row: dict[str, Any]) -> None:
    """Put a result into the study's folder; it is on disk when this returns."""
    place.fresh.save(unit.key, {"row": row})


def main() -> None:
    """Work until the input ends."""
    folder, answers = Path(sys.argv[1]), int(sys.argv[2])
    batches: queue.SimpleQueue[list[Unit]] = queue.SimpleQueue()

    def say(**answer: Any) -> None:
        try:
            os.write(answers, json.dumps(answer).encode() + b"\n")
        except BrokenPipeError:  # nobody listens any more
            os._exit(0)

    threading.Thread(target=_listen, args=(batches,), daemon=True).start()
    work(Place(folder), batches.get, say)
    os._exit(1)


def work(place: Place, told: Callable[[], list[Unit]], say: Callable[..., None]) -> None:
    """Carry what is ``told`` and ``say`` how it ended; returns where the study cannot be read."""
    with ExitStack() as said:
        try:
            carrier = said.enter_context(carrying(place))
        except DstccError as error:
            say(stop=str(error))
            return
        say(ready=True)
        while True:
            for unit, outcome in carrier.carry(told()):
                _answer(place, unit, outcome, say)


def _answer(place: Place, unit: Unit, outcome: dict[str, Any] | Failed, say: Callable[..., None]) -> None:
    if isinstance(outcome, Failed):
        say(key=unit.key, error=outcome.error, traceback=outcome.traceback)
        return
    try:
        keep(place, unit, outcome)
    except OSError as error:
        if error.errno not in FULL:
            raise
        say(disk=[error.errno, os.strerror(error.errno), str(error.filename or place.path)])
        time.sleep(3600)  # whoever started it ends it
    say(key=unit.key)


def _listen(batches: queue.SimpleQueue[list[Unit]]) -> None:
    for line in sys.stdin:
        batches.put([Unit(*words) for words in json.loads(line)])
    os._exit(0)  # also from the middle of a trial


if __name__ == "__main__":
    main()
