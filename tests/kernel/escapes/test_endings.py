"""A run that is told to end ends, with all that its guest has made, whatever that does; :mod:`.endings` measures it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from .endings import ENDS_S, FOLDERS, LOADS, SIGNALS, ends

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel")]


@pytest.mark.parametrize("how", SIGNALS, ids=lambda how: how.name)
@pytest.mark.parametrize("load", LOADS)
def test_a_run_ends_with_all_that_it_made(load: str, how: signal.Signals, tmp_path: Path) -> None:
    found = ends(LOADS[load], how, tmp_path)
    assert (found.survivors, found.before >= LOADS[load].least) == (0, True)
    if how is not signal.SIGKILL:  # what is killed tidies nothing: the next run does
        assert found.folders == ()
        assert found.ended_s < ENDS_S


def test_the_next_guest_tidies_after_one_that_was_killed(tmp_path: Path) -> None:
    found = []
    for how in (signal.SIGKILL, signal.SIGTERM):
        (tmp_path / how.name).mkdir()
        found.append(ends(LOADS["children of other groups"], how, tmp_path / how.name))
    (left,) = (path for path in found[0].folders if path.parent == FOLDERS)
    assert not left.exists() and found[1].folders == ()
