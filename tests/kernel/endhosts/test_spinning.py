"""Which process computes most, of processes that a test writes as proc(5) describes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel.endhosts import spinning
from dstcc_kernel.endhosts.mission import VARIABLE
from dstcc_kernel.endhosts.spinning import STACK_BYTES, below, busy_program


class Processes:
    """In /proc's place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meanwhile: Callable[[], None] = lambda: None

    def write(self, pid: int, parent: int, user: int = 0, system: int = 0, number: int | None = None) -> None:
        """State, parent, and processor time by fields 14 and 15; ``number`` is of a program."""
        own = self.folder / str(pid)
        own.mkdir(exist_ok=True)
        fields = ["S", parent, *[0] * 9, user, system, 0]
        (own / "stat").write_text(f"{pid} (a ) b) {' '.join(map(str, fields))}\n")
        (own / "maps").write_text("1000-2000 r-xp 0 0 0 /x\n3000-4000 rw-p 0 0 0 [stack]\n")
        text = f"\0A=b\0{VARIABLE}={number}\0".encode() if number is not None else b"\0A=b\0"
        (own / "mem").write_bytes(
            text.ljust(0x4000, b"\0") if number == 5 else bytes(0x3800) + text.ljust(0x800, b"\0")
        )


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    made = Processes(tmp_path)

    def path(first: str, *more: str) -> Path:
        return Path(tmp_path if first == "/proc" else first, *more)

    monkeypatch.setattr(spinning, "Path", path)
    monkeypatch.setattr("dstcc_kernel.endhosts.spinning.time.sleep", lambda s: made.meanwhile())
    return made


def test_processes_below_one_are_its_children_and_theirs(processes: Processes) -> None:
    for pid, parent in ((10, 1), (11, 10), (12, 11), (13, 1), (14, 13), (15, 12), (16, 10)):
        processes.write(pid, parent)
    (processes.folder / "17").mkdir()  # it has ended meanwhile
    (processes.folder / "self").mkdir()
    assert below(10) == {10: 1, 11: 10, 12: 11, 15: 12, 16: 10}
    assert below(16) == {16: 10} and below(99) == {}


def test_the_busiest_program_is_named(processes: Processes) -> None:
    """By user's and system's time together, since the first look; the kernel, which is no program, is passed."""
    rows: dict[int, Any] = {
        10: (1, 0, 0, None),
        11: (10, 100, 50, 3),
        12: (10, 0, 0, 4),
        13: (10, 0, 0, None),
        14: (1, 0, 0, 7),
    }
    for pid, row in rows.items():
        processes.write(pid, *row)

    def spend(**ticks: tuple[int, int]) -> int | None:
        def meanwhile() -> None:
            for pid, (parent, user, system, number) in rows.items():
                more = ticks.get(f"p{pid}", (0, 0))
                processes.write(pid, parent, user + more[0], system + more[1], number)

        for pid, row in rows.items():
            processes.write(pid, *row)
        processes.meanwhile = meanwhile
        return busy_program(10)

    assert spend() is None
    assert spend(p11=(1, 1), p12=(3, 0), p13=(9, 9), p14=(50, 0)) == 4
    assert spend(p11=(1, 3), p12=(3, 0)) == 3
    assert spend(p13=(9, 9)) is None
    assert spend(p14=(9, 9)) is None, "it is below another"

    def appear() -> None:
        processes.write(20, 10, 900, 0, 9)

    processes.meanwhile = appear
    assert busy_program(10) is None, "what it used before the first look nobody knows"


def test_the_variable_is_looked_for_at_the_top_of_memory(processes: Processes) -> None:
    """From the topmost address down, as far as a stack's top goes; a number of its own is not another's beginning."""
    processes.write(10, 1, number=3)
    assert spinning._number(10) == 3
    processes.write(10, 1, number=5)  # below all that is mapped
    assert spinning._number(10) is None
    own = processes.folder / "10"
    text = f"\0{VARIABLE}=8\0".encode()
    end = STACK_BYTES + 0x1000
    (own / "maps").write_text(f"0-{end:x} rw-p 0 0 0 [stack]\n")
    for at, found in ((0x1000, 8), (0x0FFF, None), (end - len(text), 8)):
        (own / "mem").write_bytes(bytes(at) + text.ljust(end - at, b"\0"))
        assert spinning._number(10) == found, at
    for wrong in (f"{VARIABLE}=8\0", f"\0{VARIABLE}=8", f"\0X{VARIABLE}=8\0", f"\0{VARIABLE}=x\0"):
        (own / "mem").write_bytes(b"\1" * 0x2000 + wrong.encode().ljust(end - 0x2000, b"\1"))
        assert spinning._number(10) is None, wrong
    (own / "maps").write_text(
        "0-1000 rw-p 0 0 0 x\nffffffffff600000-ffffffffff601000 --xp 0 0 0 [vsyscall]\n"
    )
    (own / "mem").write_bytes(text.ljust(0x1000, b"\0"))
    assert spinning._number(10) == 8, "what cannot be read is passed"
    (own / "mem").unlink()
    assert spinning._number(10) is None
