"""The table that holds the simulator against the kernel: its cells, and one of them for real."""

from __future__ import annotations

from pathlib import Path

import pytest
from dstcc_kernel import fidelity
from dstcc_kernel.fidelity import (
    Cell,
    Row,
    Seen,
    compare,
    misses,
    run,
    scenario_of,
    simulated,
    summary,
    table,
)

from dstcc.errors import DstccError
from dstcc.scenario import draw_links, rtt_s


@pytest.mark.parametrize("round_trip_s", [0.1, 1.0, 10.0])
def test_every_row_has_the_same_bandwidth_delay_product(round_trip_s: float) -> None:
    (link,) = draw_links(scenario_of(Cell("cubic", round_trip_s, 0.0, 1)), 1)
    assert rtt_s(link) == pytest.approx(round_trip_s)
    assert link.rate_bps * round_trip_s / 8 / 1500 == pytest.approx(100)


def test_a_table_names_its_cells_and_their_ratios() -> None:
    cell = Cell("newreno", 0.1, 1e-2, 1)
    seen = simulated(cell, 1)
    rows = compare({cell: [seen, Seen(seen.throughput_bps * 1.02, seen.mean_rtt_s, 0.01)]})
    assert list(table(rows))[2].startswith("| newreno | 0.1 | 0.01 | 1 |")
    assert list(summary(rows))[2].startswith("| newreno | 0.0")


def row(congestion: str, ratio: float) -> Row:
    return Row(Cell(congestion, 1.0, 0.0, 1), Seen(ratio * 1e6, 1.0, 0.0), Seen(1e6, 1.0, 0.0), 0.01)


def test_goals_are_15_percent_a_cell_and_5_at_the_median_but_20_for_bbr() -> None:
    assert misses([row("cubic", 1.04), row("bbr", 0.81)]) == []
    assert misses([row("bbr", 0.79)]) == [
        "bbr rtt 1 loss 0 subflows 1: ratio 0.790, the kernel's standard error 0.010"
    ]
    told = misses([row("cubic", 1.16), row("cubic", 1.06), row("cubic", 0.99)])
    assert [line.split(":")[0] for line in told] == ["cubic rtt 1 loss 0 subflows 1", "cubic"]


def test_what_is_done_is_kept_when_a_trial_fails_and_the_status_tells_goals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = ["--congestion", "newreno", "--rtt", "0.1", "--loss", "0.01", "--subflows", "1"]
    monkeypatch.setattr("sys.argv", ["fidelity", "-o", str(tmp_path), *cells, "--seeds", "2"])

    def fails(cell: Cell, seed: int) -> Seen:
        if seed == 2:
            raise DstccError("the guest died")
        return simulated(cell, seed)

    monkeypatch.setattr(fidelity, "carried", fails)
    assert fidelity.main() == 1
    assert "fidelity: the guest died" in capsys.readouterr().err
    monkeypatch.setattr(fidelity, "carried", simulated)
    assert fidelity.main() == 0
    said = capsys.readouterr()
    assert "seed 1" not in said.err and "seed 2" in said.err
    assert said.out == (tmp_path / "fidelity.md").read_text()


def test_cubic_in_a_lossless_queue_is_the_kernels(kernel: Path, tmp_path: Path) -> None:
    cell = Cell("cubic", 1.0, 0.0, 1)
    (real,) = run([cell], 1, tmp_path, 1)[cell]
    sim = simulated(cell, 1)
    assert sim.throughput_bps == pytest.approx(real.throughput_bps, rel=0.05)
    assert sim.mean_rtt_s == pytest.approx(real.mean_rtt_s, rel=0.05)
    assert run([cell], 1, tmp_path, 1)[cell] == [real]  # kept: nothing is run anew


@pytest.mark.kernel
def test_a_stale_subflow_costs_what_was_under_way_and_not_a_send_buffer(kernel: Path, tmp_path: Path) -> None:
    # RTT 10 s, windows of a dozen segments: most of a round trip passes without an ACK, and Linux takes a subflow for
    # stale after a second of that. With all of a send buffer bound to subflows two thirds of what it sends are repeats.
    cell = Cell("newreno", 10.0, 1e-2, 2)
    (real,) = run([cell], 1, tmp_path, 1)[cell]
    assert real.retransmitted < 0.06
    assert simulated(cell, 1).throughput_bps == pytest.approx(real.throughput_bps, rel=0.4)
