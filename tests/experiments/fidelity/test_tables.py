"""The rows as a reader sees them."""

from __future__ import annotations

from experiments.fidelity.cells import Cell
from experiments.fidelity.compare import row_of
from experiments.fidelity.measure import Seen
from experiments.fidelity.tables import summary, tables

TRANSFER = Cell("saturated", "newreno", 0.1, 1e-2)
MISSION = Cell("mission", "cubic", 25.0, 1e-3, 2, 800, 28, "lanes", 16, 10, 4)
ROWS = [
    row_of(TRANSFER, [Seen(1.2e6, 0.11, 0.01)] * 2, [Seen(1.0e6, 0.10, 0.02)]),
    row_of(
        MISSION,
        [Seen(1e6, 30.0, 0.01, 0.50), Seen(1e6, 30.0, 0.03, 0.52)],
        [Seen(2e6, 30.0, 0.01, 0.50), Seen(2e6, 30.0, 0.01, 0.54)],
    ),
]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_has_its_cell_runs_ratio_interval_and_z() -> None:
    lines = list(tables(ROWS))
    assert lines[0].startswith("**saturated**: throughput")
    named = dict(zip(cells(lines[2])[:15], cells(lines[4])[:15], strict=True))
    assert named["runs"] == "2, 1" and named["mode"] == "stream"
    assert named["Linux"] == "6.12"
    assert named["ratio"] == "1.200 **"  # beyond 15 %
    assert named["95 %"] == "1.200 to 1.200" and named["z"] == "–"


def test_a_missions_row_is_about_the_layers_played_with_throughput_beside() -> None:
    lines = list(tables(ROWS))
    at = next(i for i, line in enumerate(lines) if line.startswith("**mission**"))
    row = cells(lines[at + 4])
    assert row[5:8] == ["28, 4 of them dark", "16 lanes", "10"]
    # one asterisk for what keeps the goal and is no chance
    certain = row_of(MISSION, [Seen(1e6, 1.0, 0.0, 0.52)] * 2, [Seen(1e6, 1.0, 0.0, 0.50)] * 2)
    assert cells(list(tables([certain]))[4])[12] == "1.040 *"
    # (0.51 - 0.52) / √(0.0002 / 2 + 0.0008 / 2) = -0.01 / 0.02236
    assert row[12] == "0.981" and row[14] == "-0.4"
    # of what is retransmitted (0.02 - 0.01) / √(0.0002 / 2)
    assert row[15:] == ["1", "2", "0.500", "–", "2.00e-02", "1.00e-02", "2.000", "+1.0"]


def test_the_summary_takes_transfers_alone() -> None:
    lines = list(summary(ROWS))
    assert cells(lines[2]) == ["newreno", "0.200 (0.200)", "0.200 (0.200)", "0.100 (0.100)", "0 of 1"]
    assert len(lines) == 3
