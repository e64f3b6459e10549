"""The commands of a build, one after the other: their output in a log, their progress reported, their end certain."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from dstcc.errors import KernelError

COMPLAINT = re.compile(r"error|FAILED|No space left|cannot find|not found|Killed|\*\*\*", re.IGNORECASE)
"""What a line of a failed build must have to be worth showing."""
FULL = "No space left on device"
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Take signals that end the command when the block is over: in the middle of :class:`subprocess.Popen` one leaves a
    process that nobody knows. Handlers and no mask: whatever thread a signal reaches, the main one is interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        one: handler
        for one in ENDS
        if (handler := signal.getsignal(one)) is not None and handler is not signal.SIG_IGN
    }
    for one in before:
        signal.signal(one, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for number in came:
            signal.raise_signal(number)


class Steps:
    """Runs commands that are stopped, children and all, when anything interrupts the wait for them."""

    def __init__(self, log: Path, lines: int, advance: Callable[[float], None]) -> None:
        """``lines`` is how many lines all commands print, about: each is 1/lines of the progress."""
        self.log = log
        self.reported = 0.0
        self._part = 1 / lines
        self._advance = advance

    def run(self, command: list[str], doing: str, environment: Mapping[str, str] | None = None) -> None:
        """Run ``command``; raises :class:`KernelError` with its first complaint when it fails."""
        with self.log.open("a", errors="replace") as log:
            start = log.tell()
            process = None
            try:
                with _interrupts_wait():
                    process = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        text=True,
                        errors="replace",
                        env=environment,
                        start_new_session=True,  # a group to stop as one
                    )
                assert process.stdout is not None
                for line in process.stdout:
                    log.write(line)
                    self._tell()
                code = process.wait()
            except BaseException:
                if process is not None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                raise
            finally:
                if process is not None and process.stdout is not None:
                    process.stdout.close()
        if code:
            raise KernelError(f"{doing} the kernel failed: {self._complaint(start)}")

    def _tell(self) -> None:
        part = min(self._part, 1 - self.reported)
        self.reported += part
        self._advance(part)

    def _complaint(self, start: int) -> str:
        """What the log says from ``start`` on, in a line."""
        with self.log.open(errors="replace") as log:
            log.seek(start)
            lines = [line.strip() for line in log if line.strip()]
        if any(FULL in line for line in lines):
            return f"the disk is full ({FULL}); nothing half-built was left"
        return next((line for line in lines if COMPLAINT.search(line)), lines[-1] if lines else "no message")
