"""The table that holds the simulator against the kernel: its cells, and one of them for real."""

from __future__ import annotations

from pathlib import Path

import pytest
from dstcc_kernel.fidelity import Cell, Seen, run, scenario_of, simulated, table

from dstcc.scenario import draw_links, rtt_s


@pytest.mark.parametrize("round_trip_s", [0.1, 1.0, 10.0])
def test_every_row_has_the_same_bandwidth_delay_product(round_trip_s: float) -> None:
    (link,) = draw_links(scenario_of(Cell("cubic", round_trip_s, 0.0, 1)), 1)
    assert rtt_s(link) == pytest.approx(round_trip_s)
    assert link.rate_bps * round_trip_s / 8 / 1500 == pytest.approx(100)


def test_a_table_names_its_cells_and_their_ratios() -> None:
    cell = Cell("newreno", 0.1, 1e-2, 1)
    seen = simulated(cell, 1)
    lines = list(table({cell: [seen, Seen(seen.throughput_bps * 1.02, seen.mean_rtt_s, 0.01)]}))
    assert lines[2].startswith("| newreno | 0.1 | 0.01 | 1 |")
    assert lines[-1].startswith("newreno: median")


def test_cubic_in_a_lossless_queue_is_the_kernels(kernel: Path, tmp_path: Path) -> None:
    cell = Cell("cubic", 1.0, 0.0, 1)
    (real,) = run([cell], 1, tmp_path, 1)[cell]
    sim = simulated(cell, 1)
    assert sim.throughput_bps == pytest.approx(real.throughput_bps, rel=0.05)
    assert sim.mean_rtt_s == pytest.approx(real.mean_rtt_s, rel=0.15)
    assert run([cell], 1, tmp_path, 1)[cell] == [real]  # kept: nothing is run anew
