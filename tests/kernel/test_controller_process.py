"""The process that decides: heard and answered while it lives, missed when it is gone."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from dstcc_kernel.controller_process import ERROR, GUARD, controller_process

from dstcc.errors import DstccError


class Counting:
    """Answers with what it was asked, and counts."""

    def __init__(self) -> None:
        self.totals = {"guard_clamps": 0, "guard_fallbacks": 0}

    def __call__(self, line: str) -> str:
        self.totals["guard_clamps"] += 2
        if "kill" in line:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"told {int(line)}"


def ask(ends: tuple[int, ...], line: str) -> str:
    os.write(ends[1], line.encode() + b"\n")
    return os.read(ends[0], 100).decode()


def test_each_line_has_its_answer_and_the_guards_counts_are_left(tmp_path: Path) -> None:
    with controller_process(Counting(), tmp_path) as process:
        assert process is not None
        assert [ask(process.ends, "1"), ask(process.ends, "2")] == ["told 1\n", "told 2\n"]
    assert json.loads((tmp_path / GUARD).read_text()) == {"guard_clamps": 4, "guard_fallbacks": 0}
    assert not (tmp_path / ERROR).exists()


def test_one_that_is_killed_is_missed_and_counts_as_a_fallback(tmp_path: Path) -> None:
    with controller_process(Counting(), tmp_path) as process:
        assert process is not None
        assert (ask(process.ends, "1"), ask(process.ends, "kill")) == ("told 1\n", "")
    assert json.loads((tmp_path / GUARD).read_text()) == {"guard_clamps": 2, "guard_fallbacks": 1}
    assert not (tmp_path / ERROR).exists()


def test_one_that_goes_wrong_says_so(tmp_path: Path) -> None:
    with controller_process(Counting(), tmp_path) as process:
        assert process is not None
        assert ask(process.ends, "one") == ""
    assert "ValueError" in (tmp_path / ERROR).read_text()


def test_a_constant_window_has_no_guard(tmp_path: Path) -> None:
    with controller_process(lambda _line: "", tmp_path) as process:
        assert process is not None
        assert ask(process.ends, "1") == "\n"
    assert list(tmp_path.iterdir()) == []


def test_nobody_at_the_wheel_is_nothing_to_wait_for(tmp_path: Path) -> None:
    with controller_process(None, tmp_path) as process:
        assert process is None
    assert list(tmp_path.iterdir()) == []


def test_one_that_nobody_hears_any_more_ends_without_an_error(tmp_path: Path) -> None:
    """Its first answer finds nobody: the second line is not thought about."""
    with controller_process(Counting(), tmp_path) as process:
        assert process is not None
        os.close(process.ends[0])
        os.write(process.ends[1], b"1\n2\n")
        os.close(process.ends[1])
        nobody = [os.open("/dev/null", os.O_RDONLY) for _ in range(2)]
        process.ends = nobody[0], nobody[1]  # to be closed in their place
    assert json.loads((tmp_path / GUARD).read_text()) == {"guard_clamps": 0, "guard_fallbacks": 0}
    assert not (tmp_path / ERROR).exists()


def test_errors_of_ours_are_said_as_they_are_and_others_by_their_kind(tmp_path: Path) -> None:
    for error, said in (
        (DstccError("a reason"), "a reason\n"),
        (OSError(5, "a disk"), "[Errno 5] a disk\n"),
        (KeyError("x"), "the controller: KeyError: 'x'\n"),
    ):

        def fail(_line: str, error: Exception = error) -> str:
            raise error

        with controller_process(fail, tmp_path) as process:
            assert process is not None
            assert ask(process.ends, "1") == ""
        assert (tmp_path / ERROR).read_text() == said


def test_ends_are_let_go_of_once(tmp_path: Path) -> None:
    with controller_process(lambda line: line.strip(), tmp_path) as process:
        assert process is not None
        ends = process.ends
        process.let_go()
        assert not any(Path(f"/proc/self/fd/{end}").exists() for end in ends)
        kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(2)]  # they get the same numbers
    assert all(os.fstat(file) for file in kept)
    for file in kept:
        os.close(file)


def test_a_guard_that_counts_one_thing_has_none_of_the_other(tmp_path: Path) -> None:
    class Clamping:
        totals = {"guard_clamps": 3}  # noqa: RUF012

        def __call__(self, line: str) -> str:
            return line.strip()

    with controller_process(Clamping(), tmp_path) as process:
        assert process is not None
        assert ask(process.ends, "1") == "1\n"
    assert json.loads((tmp_path / GUARD).read_text()) == {"guard_clamps": 3, "guard_fallbacks": 0}
