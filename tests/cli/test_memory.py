"""Which errors are for want of memory, and that OpenBLAS is not asked where it has no room."""

from __future__ import annotations

import errno

import pytest
from dstcc_cli import memory
from dstcc_cli.memory import BLAS_BYTES, OF_MEMORY, _Guard, lacks_memory


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
