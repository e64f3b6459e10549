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
import sys
def half(value):
    if value > 3:
        return value / 2
    return value
print("args", sys.argv[1:], __name__)
half(int(sys.argv[1]))
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("flags", [["-P"], ["-S", "-P"]])
def test_a_module_that_a_guest_runs_is_counted_line_by_line(
    kernel: Path, tmp_path: Path, flags: list[str]
) -> None:
    """As a command of ours is run, and as hosts are, without site-packages; it ends as it would without coverage."""
    room = tmp_path / "room"
    room.mkdir()
    (room / "counted_here.py").write_text(SOURCE)
    data = tmp_path / "build" / "data"
    run = counting(inspect.unwrap(guest.run), data, (room,))  # it is counted already where this suite is
    for value in (5, 2):
        done = run(
            kernel,
            [sys.executable, *flags, "-m", "counted_here", str(value)],
            out=tmp_path / "out",
            seed=1,
            memory_mb=256,
            wall_s=300,
            environment={"PYTHONPATH": str(room)},
        )
        assert done.exit_code == value
        assert f"args ['{value}'] __main__" in done.console.read_text()
    found = sorted(data.parent.glob("data.guest.*"))
    assert len(found) == 2 and not list((tmp_path / "out").glob(f"{DATA}*"))
    lines = []
    for file in found:
        counted = coverage.CoverageData(str(file))
        counted.read()
        (path,) = counted.measured_files()
        assert Path(path) == (room / "counted_here.py").resolve()
        assert counted.has_arcs()
        lines.append(set(counted.lines(path) or ()))
    assert sorted(map(sorted, lines)) == [[2, 3, 4, 5, 7, 8, 9], [2, 3, 4, 6, 7, 8, 9]]


def test_what_is_no_module_runs_as_it_is(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "print(1)"]
    assert words_of(words, tmp_path, (tmp_path,)) == words
