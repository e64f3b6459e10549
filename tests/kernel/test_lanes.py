"""Lanes with a window each, on the kernel beside the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dstcc_kernel import backend

from dstcc.engine import simulate
from dstcc.engine.config import EngineResult
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source, parse_override

LANES, ROUND_TRIPS, RTT_S = 8, 9, 20.0
LINK = f"""
[[link]]
name = "link"
rate_bps = 1_000_000
delay_s = {RTT_S / 2}
[transport]
mode = "lanes"
"""
SCENARIO = f"""
[scenario]
name = "lanes"
duration_s = {ROUND_TRIPS * RTT_S}
[video]
synthetic = {{chunk_s = 0.5, layer_bps = [200_000, 150_000, 150_000]}}
loop_to_s = 120
source = "stored"
{LINK}lanes_per_link = {LANES}
congestion = "cubic"
[playout]
mode = "stall"
[run]
slot_s = {RTT_S / 4}
"""


LIVE = f"""
[scenario]
name = "live"
[video]
synthetic = {{chunk_s = {RTT_S}, layer_bps = [{", ".join([str(8 * 4 * 1460 / RTT_S)] * 4)}]}}
loop_to_s = {6 * RTT_S}
{LINK}lanes_per_link = 4
congestion = "cubic"
[playout]
mode = "deadline"
delay_s = {3 * RTT_S}
[run]
slot_s = {RTT_S}
"""


def sent_a_round_trip(result: EngineResult) -> np.ndarray:
    """Segments sent until the end of each round trip, all lanes together."""
    round_trip = np.ceil(result.samples.t_ns / (RTT_S * 1e9) - 1e-6).astype(int) - 1
    return np.bincount(round_trip, result.samples.sent_segments, ROUND_TRIPS).cumsum()


def results(path: Path, text: str, *overrides: str) -> tuple[EngineResult, EngineResult]:
    """The simulator's and the kernel's."""
    path.write_text(text)
    scenario = load_scenario(path, [parse_override(text) for text in overrides])
    setup = draw_trial(scenario, load_source(scenario), 1)
    config = engine_config(scenario, setup, "cubic", "minrtt")
    return simulate(config), backend.run(config)


def both(path: Path, *overrides: str) -> tuple[np.ndarray, np.ndarray]:
    """What simulator and kernel send."""
    ours, theirs = results(path, SCENARIO, *overrides)
    return sent_a_round_trip(ours), sent_a_round_trip(theirs)


@pytest.mark.kernel
def test_without_hystart_slow_start_ends_with_a_loss(kernel: Path, tmp_path: Path) -> None:
    with_it, _ = both(tmp_path / "a.toml")
    ours, theirs = both(tmp_path / "b.toml", "transport.constants.hystart=false")
    # 80 segments a round trip that double: 80 (2^n - 1) after n, as long as queue and layers last.
    doubled = [LANES * 10 * (2**n - 1) for n in range(6)]
    assert ours[:6].tolist() == doubled
    assert theirs[:6] == pytest.approx(doubled, rel=0.02)
    assert with_it[5] < 0.8 * doubled[5]


@pytest.mark.kernel
def test_lanes_begin_and_grow_as_the_kernels_connections_do(kernel: Path, tmp_path: Path) -> None:
    ours, theirs = both(tmp_path / "lanes.toml")
    # A round trip for the handshakes, then 8 initial windows of 10 segments; HyStart ends slow start lane by lane, as
    # their bursts queue behind one another. With one window they would have sent 10 by then.
    assert ours[1] == theirs[1] == LANES * 10
    assert theirs == pytest.approx(ours, rel=0.02)


def windows(result: EngineResult) -> list[int]:
    """Of all lanes together, at the end of each slot."""
    rows = result.samples
    return [int(rows.cwnd_segments[rows.t_ns == t].sum()) for t in np.unique(rows.t_ns)]


@pytest.mark.kernel
def test_the_quickest_lane_takes_what_its_window_has_room_for(kernel: Path, tmp_path: Path) -> None:
    """Four layers of four segments a round trip, over four lanes that begin with ten. The first takes two layers and
    half of the third, whose rest waits for it, and the second the fourth. Lanes that took a layer each by turns would
    be at 56 and then 64 segments for good: a window grows in slow start while it is below twice what was under way
    (``tcp_is_cwnd_limited``), which two chunks of four segments, sent within a round trip, bring to 16."""
    ours, theirs = (windows(result) for result in results(tmp_path / "live.toml", LIVE))
    assert ours[1] == 4 * 10 and ours[4] > 4 * 16
    assert theirs[:5] == ours[:5]
