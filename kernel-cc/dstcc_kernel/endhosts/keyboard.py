"""Keys for a shell in a guest, and the guest's halt while it waits for them.

Each piece that is typed becomes a file (:data:`.mission.KEYS`): the guest sees new files of the run's folder, not that
one grows. A shell that waits says how many it has had, and looks for the next over and over, so that mission time
stands; as long as there is none the kernel's process is stopped, and takes no processor.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from contextlib import suppress
from pathlib import Path

from dstcc.errors import KernelError
from dstcc.reading import no_link

from ..remains import message_of
from .mission import KEYS, WAITS
from .spinning import below

END_OF_FILE = b"\x04"
"""What a terminal makes an end of file of, and a shell its end."""
LOOK_S, MOST = 0.02, 1 << 12
KERNEL = b"/linux"
"""How the first word of a guest's kernel ends."""


class Typing:
    """A thread that hands on what ``keys`` has, while the block lasts."""

    def __init__(self, work: Path, keys: int) -> None:
        self._work, self._keys, self._typed = work, keys, 0
        self._boot: int | None = None
        self._stopped: int | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Typing:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._done.set()
        self._thread.join()

    def begin(self, boot: int) -> None:
        """The guest is there: its processes are below that one."""
        self._boot = boot

    def _follow(self) -> None:
        ended = False
        while not self._done.is_set():
            ready = [] if ended else select.select([self._keys], [], [], LOOK_S)[0]
            if ready:
                typed = os.read(self._keys, MOST)
                ended = not typed
                self._put(typed or END_OF_FILE)
            elif ended:
                self._done.wait(LOOK_S)
            if self._stopped is None and self._is_waiting():
                self._stop()
        self._go_on()

    def _put(self, typed: bytes) -> None:
        part = self._work / "part"
        part.unlink(
            missing_ok=True
        )  # the guest may write here: what it put in this place must not be followed
        with open(part, "xb", opener=no_link) as file:
            file.write(typed)
        part.rename(self._work / KEYS.format(self._typed))
        self._typed += 1
        self._go_on()

    def _is_waiting(self) -> bool:
        """Whether the shell has had all that was typed."""
        try:
            return message_of(self._work / WAITS) == str(self._typed)
        except (OSError, KernelError):
            return False

    def _stop(self) -> None:
        found = _kernel(self._boot) if self._boot is not None else None
        if found is not None:
            with suppress(ProcessLookupError):
                os.kill(found, signal.SIGSTOP)
                self._stopped = found

    def _go_on(self) -> None:
        if self._stopped is not None:
            with suppress(ProcessLookupError):
                os.kill(self._stopped, signal.SIGCONT)
        self._stopped = None


def _kernel(boot: int) -> int | None:
    """The kernel's own process below ``boot``: those that it traces have its command line, too, and are below it."""
    parents = below(boot)
    of_kernel = {pid for pid in parents if _program(pid).endswith(KERNEL)}
    return next((pid for pid in sorted(of_kernel) if parents[pid] not in of_kernel), None)


def _program(pid: int) -> bytes:
    """The first word of a process's command line: who starts the kernel has the others, too."""
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().partition(b"\0")[0]
    except OSError:
        return b""
