"""The cells of networks, simulator beside kernel, and the table of them."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dstcc_kernel.names import misfit

from experiments import kernel_networks
from experiments.kernel_networks import CELLS, COLUMNS, GOAL, row_of, scenario_of

TABLE = Path(__file__).parents[2] / "docs/tables/kernel-networks.csv"


@pytest.mark.parametrize("cell", list(CELLS))
def test_a_cell_runs_on_both_and_its_row_keeps_the_rule(cell: str) -> None:
    given = scenario_of(cell, 6)
    assert misfit(given) is None
    assert any(node.storage_bytes for node in given.node)
    with TABLE.open(newline="") as file:
        titles, *rows = csv.reader(file)
    assert titles == list(COLUMNS)
    (row,) = (row for row in rows if row[0] == cell)
    assert row[2] == f"{given.transport.mode} {given.transport.congestion[0]}"
    assert int(row[3]) >= 4
    goal = GOAL.get(given.transport.congestion[0], 0.15)
    for place in (8, 10):
        assert abs(float(row[place]) - 1) <= goal


@pytest.mark.parametrize(("factor", "kept"), [(1.14, True), (1.16, False)])
def test_a_row_is_about_all_seeds(factor: float, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two seeds of 0.4 and 0.6, and of so much more, with the standard deviation of a sample."""

    def trials_of(scenario: Any, backend: str, jobs: int) -> list[Any]:
        more = factor if backend == "kernel" else 1.0
        return [
            SimpleNamespace(
                metrics=SimpleNamespace(
                    flat=lambda value=value: {"weighted_layers": value * more, "throughput_bps": 8.0}
                ),
                outcome=SimpleNamespace(
                    result=SimpleNamespace(
                        nodes=[SimpleNamespace(most_held_bytes=most) for most in (7, 1000 * number)]
                    )
                ),
            )
            for number, value in ((1, 0.4), (2, 0.6))
        ]

    monkeypatch.setattr(kernel_networks, "trials_of", trials_of)
    row, holds = row_of("store", 2, 1)
    assert row[:7] == ["store", "2", "lanes cubic", "2", "0.5000", "0.1414", f"{0.5 * factor:.4f}"]
    assert row[8] == f"{factor:.3f}"
    assert row[10:] == ["1.000", "2", "2"]
    assert holds is kept
