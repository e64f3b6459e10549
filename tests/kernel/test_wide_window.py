"""What streams over two links on 6.12 lose to the usual receive buffer; with a wide one they carry the simulator's."""

from __future__ import annotations

from pathlib import Path

import pytest
from dstcc_kernel.plan import LEAST_BUFFER
from dstcc_kernel.source import RELEASES

from experiments.fidelity import cells
from experiments.fidelity.measure import carried, simulated

CELL = cells.Cell("saturated", "newreno", 0.1, 0.0, links=2, length_rtts=60)


@pytest.mark.kernel
def test_the_receive_window_is_what_streams_over_two_links_lose(
    kernel_with_scheduler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = simulated(CELL, 1).throughput_bps
    assert ours / carried(CELL, 1).throughput_bps == pytest.approx(1.0, abs=0.02)
    usual = LEAST_BUFFER * RELEASES["6.12"].window_256(1460) // 256
    monkeypatch.setattr(cells, "WIDE_WINDOW", usual)
    assert ours / carried(CELL, 1).throughput_bps > 1.15
