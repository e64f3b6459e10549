"""Cells of the grid that holds the simulator against the kernel, for real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dstcc_kernel import backend

from dstcc.engine import simulate
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source
from experiments.fidelity import __main__ as fidelity
from experiments.fidelity.cells import SATURATED_RTTS, Cell, grid, scenario_of
from experiments.fidelity.measure import simulated


def test_cubic_in_a_lossless_queue_is_the_kernels(kernel: Path, tmp_path: Path) -> None:
    (cell,) = (c for c in grid() if c[:5] == ("saturated", "cubic", 1.0, 0.0, 1))
    runs = fidelity.run([cell], 1, tmp_path / "kernel.csv", 1)
    (real,), sim = runs[cell].values(), simulated(cell, 1)
    assert sim.throughput_bps == pytest.approx(real.throughput_bps, rel=0.05)
    assert sim.mean_rtt_s == pytest.approx(real.mean_rtt_s, rel=0.05)
    again = fidelity.run([cell], 1, tmp_path / "kernel.csv", 1, lambda *_: pytest.fail("run anew"))
    assert again[cell][1][:3] == pytest.approx(real[:3], rel=1e-8)  # kept, with nine digits


@pytest.mark.kernel
def test_a_stale_subflow_costs_what_was_under_way_and_not_a_send_buffer(kernel: Path, tmp_path: Path) -> None:
    # RTT 10 s, windows of a dozen segments: most of a round trip passes without an ACK, and Linux takes a subflow for
    # stale after a second of that. With all of a send buffer bound to subflows two thirds of what it sends are repeats.
    cell = Cell("saturated", "newreno", 10.0, 1e-2, 2, length_rtts=SATURATED_RTTS[1e-2])
    real = fidelity.run([cell], 1, tmp_path / "kernel.csv", 1)[cell][1]
    assert real.retransmitted < 0.06
    assert simulated(cell, 1).throughput_bps == pytest.approx(real.throughput_bps, rel=0.4)


@pytest.mark.parametrize("window", [4, pytest.param(40, marks=pytest.mark.kernel)])
def test_the_kernel_begins_with_the_initial_window_it_is_told(
    window: int, kernel: Path, tmp_path: Path
) -> None:
    # Four round trips, no loss: a handshake, and 1, 2 and 4 initial windows arrive after 1.5, 2.5 and 3.5 of them.
    cell = Cell("large", "cubic", 1.0, 0.0, bdp_packets=800, length_rtts=4, initial_cwnd=window)
    real = fidelity.run([cell], 1, tmp_path / "kernel.csv", 1)[cell][1]
    assert real.throughput_bps * 4 / 8 / 1460 == pytest.approx(7 * window, rel=0.01)
    assert simulated(cell, 1).throughput_bps == pytest.approx(real.throughput_bps, rel=0.01)


@pytest.mark.kernel
def test_a_stream_of_live_video_is_bound_as_late_on_the_kernel_as_in_the_simulator(
    kernel: Path, tmp_path: Path
) -> None:
    # Two round trips of video in the socket before they leave, as a program that fills it has, and almost nothing is in
    # time: 0.08 of the layers' weight over 20 seeds, where late binding has 0.4.
    (cell,) = (c for c in grid() if c[:2] == ("mission", "cubic") and c.mode == "stream" and c.links == 2)
    runs = fidelity.run([cell], 1, tmp_path / "kernel.csv", 1)[cell].values()
    assert max(run.weighted_layers or 0.0 for run in runs) > 0.3


@pytest.mark.kernel
def test_a_stream_is_given_the_layers_that_its_subflows_can_bring(kernel: Path) -> None:
    """Layers of whole segments, over links of 25, 37.5 and 50 s. Until the second subflow has joined, at 125 s, the
    program and the simulator begin the same chunks in the same order. Windows of subflows that could not send yet had
    counted as room, so that the program took chunk 14 for one that is in time at 101 s; the simulator takes chunk 19.
    """
    scenario = scenario_of(Cell("mission", "cubic", 25.0, 0.0, 3, 200, 6))
    rates = [8 * 1460 * segments for segments in (9, 3, 1, 1)]
    video = {**scenario.video.model_dump(), "synthetic": {"chunk_s": 1.0, "layer_bps": rates}}
    scenario = Scenario.model_validate({**scenario.model_dump(), "video": video})
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), 1), "cubic", "linux")
    constants = replace(config.transport.constants, jiffy_s=0.01)
    begun = [
        [int(k) for k in np.argsort(sent, kind="stable") if 0 < sent[k] < 125e9]
        for sent in (
            simulate(
                replace(config, transport=replace(config.transport, constants=constants))
            ).objects.first_sent_ns,
            backend.run(config).objects.first_sent_ns,
        )
    ]
    assert begun[0] == begun[1]
    assert len(begun[0]) > 15 and 76 in begun[0] and 56 not in begun[0]
