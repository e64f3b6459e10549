"""What guests run counts like what runs outside."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import coverage
import pytest
from dstcc_kernel import guest

from tests.covered_guests import DATA, counting, words_of

SOURCE = """
import os, sys
def half(value):
    if value > 3:
        return value / 2
    return value
print("args", sys.argv[1:], __name__)
child = os.fork()
if child == 0:
    half(10)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
half(int(sys.argv[1]))
sys.exit(int(sys.argv[1]))
"""
BOTH = [2, 3, 4, 7, 8, 9, 12, 13, 14]
"""Lines that the first process runs, whatever it is given; 10 and 11 are its child's."""


@pytest.mark.parametrize(
    "words",
    [
        ["-P", "-m", "counted_here"],
        pytest.param(["-S", "-P", "-m", "counted_here"], marks=pytest.mark.kernel),
        pytest.param(["{room}/counted_here.py"], marks=pytest.mark.kernel),
    ],
)
def test_what_a_guest_runs_is_counted_line_by_line(kernel: Path, tmp_path: Path, words: list[str]) -> None:
    """As a command of ours is run, as hosts are, without site-packages, and as a script; it ends as it would without
    coverage. A child that it forks counts too, though it leaves by ``os._exit``."""
    room = tmp_path / "room"
    room.mkdir()
    (room / "counted_here.py").write_text(SOURCE)
    data = tmp_path / "build" / "data"
    run = counting(inspect.unwrap(guest.run), data, (room,))  # it is counted already where this suite is
    for value in (5, 2):
        done = run(
            kernel,
            [sys.executable, *(word.format(room=room) for word in words), str(value)],
            out=tmp_path / "out",
            seed=1,
            memory_mb=256,
            wall_s=300,
            environment={"PYTHONPATH": str(room)},
        )
        assert done.exit_code == value
        assert f"args ['{value}'] __main__" in done.console.read_text()
    found = sorted(data.parent.glob("data.guest.*"))
    assert len(found) == 4 and not list((tmp_path / "out").glob(f"{DATA}*"))
    lines = []
    for file in found:
        counted = coverage.CoverageData(str(file))
        counted.read()
        (path,) = counted.measured_files()
        assert Path(path) == (room / "counted_here.py").resolve()
        assert counted.has_arcs()
        lines.append(set(counted.lines(path) or ()))
    children = [one for one in lines if 11 in one]
    assert len(children) == 2 and all(one >= {4, 5, 10} and not one & {6, 12, 13, 14} for one in children)
    whole = [sorted(one) for one in lines if one not in children]
    assert sorted(whole) == [sorted([*BOTH, line]) for line in (5, 6)]  # half of 5, and 2 as it is


def test_what_is_no_module_runs_as_it_is(tmp_path: Path) -> None:
    for words in ([sys.executable, "-c", "print(1)", "-m"], [sys.executable], ["true", "-m"]):
        assert words_of(words, tmp_path, (tmp_path,)) == words
