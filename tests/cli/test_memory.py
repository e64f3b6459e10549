"""Which errors are for want of memory, and that OpenBLAS is not asked where it has no room."""

from __future__ import annotations

import errno
import os
import resource
import sys

import pytest
from dstcc_cli import memory
from dstcc_cli.main import main
from dstcc_cli.memory import BLAS_BYTES, OF_MEMORY, _Guard, lacks_memory

from dstcc.errors import MissingCapabilityError


def raised(*errors: Exception, said: bool = True) -> Exception:
    """The last of some errors, each raised while the one before was handled, or from it."""
    try:
        if len(errors) == 1:
            raise errors[0]
        try:
            raise raised(*errors[:-1], said=said)
        except Exception as before:
            if said:
                raise errors[-1] from before
            raise errors[-1]  # noqa: B904 - what is not said is looked at as well
    except Exception as last:
        return last


@pytest.mark.parametrize(
    "error",
    [MemoryError(), OSError(errno.ENOMEM, "no"), *(ImportError(f"x: {words}") for words in OF_MEMORY)],
)
@pytest.mark.parametrize("said", [True, False])
def test_want_of_memory_is_seen_wherever_it_began(error: Exception, said: bool) -> None:
    assert lacks_memory(error)
    assert lacks_memory(raised(error, KeyError("x"), ValueError("y"), said=said))


@pytest.mark.parametrize(
    "error", [ValueError("no"), OSError(errno.EAGAIN, "try again"), OSError(errno.ENOSPC, "full")]
)
def test_another_error_is_none(error: Exception) -> None:
    assert not lacks_memory(raised(error, KeyError("x")))


def test_openblas_is_not_imported_where_it_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def no_room(_handle: int, size: int) -> None:
        asked.append(size)
        raise OSError(errno.ENOMEM, "no")

    monkeypatch.setattr(memory, "mmap", no_room)
    with pytest.raises(MemoryError, match="no memory for numpy"):
        _Guard().find_spec("numpy")
    assert asked == [BLAS_BYTES]
    assert _Guard().find_spec("json") is None, "others are not looked at"


MB = 1 << 20


@pytest.mark.parametrize(
    ("stack", "addresses", "said"),
    [
        (-1, -1, None),
        (512 << 10, 1024 * MB, None),
        ((512 << 10) - 1, -1, "`ulimit -s` leaves 511 kB of stack: a command needs 512 at least"),
        (128 << 10, 1024 * MB, "`ulimit -s` leaves 128 kB of stack: a command needs 512 at least"),
        (-1, 1024 * MB - 1, "`ulimit -v` leaves 1023 MB of memory: a command needs 1024 at least"),
        (8 * MB, 300 * MB, "`ulimit -v` leaves 300 MB of memory: a command needs 1024 at least"),
    ],
)
def test_a_command_starts_within_these_limits(
    monkeypatch: pytest.MonkeyPatch, stack: int, addresses: int, said: str | None
) -> None:
    """The soft limit counts, the first of two; -1 is none."""
    soft = {resource.RLIMIT_STACK: stack, resource.RLIMIT_AS: addresses}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft[which], 7))
    assert resource.RLIM_INFINITY == -1
    if said is None:
        memory.least_memory()
        return
    with pytest.raises(MissingCapabilityError) as error:
        memory.least_memory()
    assert str(error.value) == said


def test_the_guard_stands_once_and_before_all_other_finders(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [one for one in sys.meta_path if not isinstance(one, _Guard)]
    monkeypatch.setattr(sys, "meta_path", before.copy())
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    memory.guard()
    memory.guard()
    assert [type(one) for one in sys.meta_path[:2]] == [_Guard, type(before[0])]
    assert sys.meta_path[1:] == before
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    memory.guard()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"


def test_openblas_is_imported_where_it_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    closed: list[bool] = []

    class Room:
        def __init__(self, handle: int, size: int) -> None:
            asked.append((handle, size))

        def close(self) -> None:
            closed.append(True)

    monkeypatch.setattr(memory, "mmap", Room)
    assert _Guard().find_spec("scipy.linalg") is None
    assert asked == [(-1, 128 * MB)] and closed == [True]


def unraised(error: Exception) -> None:
    """Let an error be raised where nobody can catch it."""

    class Closed:
        def __del__(self) -> None:
            raise error

    Closed()


def test_what_nobody_can_catch_is_said_but_for_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: said.append(one.exc_value))
    before, other, later = sys.unraisablehook, ValueError("x"), MemoryError()
    with memory.unraised():
        unraised(MemoryError())
        unraised(other)
    assert said == [other] and sys.unraisablehook is before
    unraised(later)
    assert said == [other, later], "as it was"


def test_no_memory_before_a_command_begins_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> None:
        raise MemoryError

    monkeypatch.setattr("dstcc_cli.main.guard", none)
    with pytest.raises(SystemExit) as end:
        main(["doctor"])
    assert end.value.code == 1 and capsys.readouterr().err == f"dstcc: {memory.LACKS_MEMORY}\n"


def test_a_panic_for_want_of_memory_is_one_line_and_another_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Panic(BaseException):
        """As an extension in Rust raises it."""

    said = "PyObject pointer is null"

    def panics() -> None:
        raise Panic(said)

    monkeypatch.setattr("dstcc_cli.main.least_memory", panics)
    with pytest.raises(SystemExit) as end:
        main(["doctor"])
    assert end.value.code == 1 and capsys.readouterr().err == f"dstcc: {memory.LACKS_MEMORY}\n"
    said = "index out of bounds"
    with pytest.raises(Panic, match="index"):
        main(["doctor"])
