"""Who decides once a slot has a process of its own, between two pipes to the transfer program::

    transfer ── a slot's line ──> controller ── netlink ──> the congestion control
             <─── its answer ───

It may be killed, as an agent on a spacecraft may: the transfer program then asks no more, and the congestion control
falls back when it has been silent for long enough. One that goes wrong by itself has the trial fail.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dstcc.errors import DstccError

Controller = Callable[[str], str]
"""Takes a slot's line, gives the answer's: see :mod:`dstcc_kernel.steer`."""
ERROR, GUARD = "error.txt", "guard.json"
COUNTS = struct.Struct("=qq")
NAMES = ("guard_clamps", "guard_fallbacks")


class ControllerProcess:
    """The transfer program's ends of the pipes, until :meth:`let_go`."""

    def __init__(self, controller: Controller, folder: Path) -> None:
        """Start the process."""
        self.folder = folder
        self._guarded = hasattr(controller, "totals")
        self._counts = mmap.mmap(-1, COUNTS.size)
        (heard, tell), (read, answer) = os.pipe(), os.pipe()
        self.ends = read, tell
        sys.stdout.flush()
        sys.stderr.flush()
        self._child = os.fork()
        if self._child == 0:
            os.close(read)
            os.close(tell)
            self._serve(controller, heard, answer)
        os.close(heard)
        os.close(answer)
        self._open = True

    def let_go(self) -> None:
        """Close the program's ends here, once it has them."""
        if self._open:
            for end in self.ends:
                os.close(end)
        self._open = False

    def wait(self) -> None:
        """Until the process has ended, as it does after the program; a policy's guard's counts are in the folder."""
        self.let_go()
        _, status = os.waitpid(self._child, 0)
        if not self._guarded:
            return
        clamps, fallbacks = COUNTS.unpack(self._counts[:])
        if os.WIFSIGNALED(status):
            fallbacks += 1  # those that follow its end are not counted one by one
        (self.folder / GUARD).write_text(json.dumps(dict(zip(NAMES, (clamps, fallbacks), strict=True))))

    def _serve(self, controller: Controller, heard: int, answer: int) -> None:
        """The process; does not return."""
        status = 1
        try:
            with os.fdopen(heard) as lines, os.fdopen(answer, "w") as answers:
                for line in lines:
                    answers.write(controller(line) + "\n")
                    answers.flush()
                    totals = getattr(controller, "totals", {})
                    self._counts[:] = COUNTS.pack(*(totals.get(name, 0) for name in NAMES))
            status = 0
        except BrokenPipeError:
            status = 0
        except (DstccError, OSError) as error:
            (self.folder / ERROR).write_text(f"{error}\n")
        except BaseException as error:  # nobody else would tell of it
            (self.folder / ERROR).write_text(f"the controller: {type(error).__name__}: {error}\n")
        finally:
            os._exit(status)


@contextmanager
def controller_process(controller: Controller | None, folder: Path) -> Iterator[ControllerProcess | None]:
    """A controller's process while the block lasts; waits for its end."""
    process = ControllerProcess(controller, folder) if controller is not None else None
    try:
        yield process
    finally:
        if process is not None:
            process.wait()
