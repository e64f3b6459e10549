"""The table that holds the simulator against the kernel: what is run is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.errors import DstccError
from experiments.fidelity import __main__ as fidelity
from experiments.fidelity.cells import SATURATED_RTTS, Cell, grid
from experiments.fidelity.measure import Seen, simulated

LOSSY = Cell("saturated", "newreno", 0.1, 1e-2, length_rtts=SATURATED_RTTS[1e-2])
CHOICE = ["--grid", "saturated", "--congestion", "newreno", "--rtt", "0.1", "--loss", "0.01", "--links", "1"]


def test_what_is_done_is_kept_when_a_trial_fails_and_the_status_tells_goals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "sys.argv", ["fidelity", "-o", str(tmp_path), *CHOICE, "--seeds", "2", "--finer", "10"]
    )

    def fails(cell: Cell, seed: int, finer: int, *, whole: bool) -> Seen:
        assert finer == 10 and not whole
        if seed == 2:
            raise DstccError("the guest died")
        return simulated(cell, seed)

    monkeypatch.setattr(fidelity, "carried", fails)
    assert fidelity.main() == 1
    assert "fidelity: the guest died" in capsys.readouterr().err
    monkeypatch.setattr(fidelity, "carried", lambda cell, seed, **_: simulated(cell, seed))
    assert fidelity.main() == 0
    said = capsys.readouterr()
    assert "seed 1" not in said.err and "seed 2" in said.err
    assert said.out == (tmp_path / "fidelity.md").read_text()


def test_kept_runs_of_another_machine_are_compared_without_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fidelity.run([LOSSY], 2, tmp_path / "kernel.csv", 1, lambda cell, seed: Seen(1e6, 0.2, 0.0))
    arguments = ["-o", str(tmp_path / "out"), *CHOICE, "--simulator-only", str(tmp_path / "kernel.csv")]
    monkeypatch.setattr("sys.argv", ["fidelity", *arguments])
    monkeypatch.setattr(fidelity, "carried", lambda *_: pytest.fail("a kernel's run"))
    assert fidelity.main() == 1  # NewReno does not get 1 Mbit/s at that loss: beyond the goal
    assert LOSSY.name in capsys.readouterr().err


def test_a_cell_is_compared_with_its_kernels_runs_else_with_another_kernels() -> None:
    newer, older = (LOSSY._replace(kernel=name) for name in ("6.12", "6.1"))
    runs = {1: Seen(1e6, 0.2, 0.0)}
    kept = {older: runs, newer: runs, older._replace(links=2): runs}
    assert list(fidelity.kept_runs([newer, newer._replace(links=2), newer._replace(rtt_s=7.0)], kept)) == [
        newer,
        older._replace(links=2),
    ]
    assert list(fidelity.kept_runs([older], kept)) == [older]
    assert (newer.name, older.name) == (LOSSY.name, f"{LOSSY.name} Linux 6.1")


def test_the_cells_are_of_the_kernel_that_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTCC_KERNEL", "6.1")
    assert {cell.kernel for cell in grid()} == {"6.1"}


def test_a_cell_is_chosen_by_all_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTCC_KERNEL", LOSSY.kernel)
    monkeypatch.setattr("sys.argv", ["fidelity", "-o", "x", *CHOICE, "--longer", "5"])
    assert fidelity._cells(fidelity._arguments()) == [LOSSY._replace(length_rtts=5 * LOSSY.length_rtts)]
