"""What the grid's cells are as scenarios."""

from __future__ import annotations

from collections import Counter

import pytest
from dstcc_kernel.fidelity.cells import Cell, grid, scenario_of, seeds_of

from dstcc.engine.config import Link
from dstcc.scenario import draw_links, rtt_s

CELLS = list(grid())
MISSION = Cell("mission", "cubic", 25.0, 1e-3, 2, 800, 28, "lanes", 16)


def links_of(cell: Cell) -> tuple[Link, ...]:
    return draw_links(scenario_of(cell), 1)


@pytest.mark.parametrize("cell", CELLS[::7], ids=lambda cell: cell.name)
def test_every_link_holds_the_bandwidth_delay_product_in_flight_and_its_share_more_in_its_queue(
    cell: Cell,
) -> None:
    for link in links_of(cell):
        assert link.rate_bps * rtt_s(link) / 8 / 1500 == pytest.approx(cell.bdp_packets)
        assert link.queue_bytes == cell.queue_share * cell.bdp_packets * 1500


def test_no_cell_is_there_twice_and_names_tell_all_apart() -> None:
    assert max(Counter(CELLS).values()) == 1
    assert len({cell.name for cell in CELLS}) == len(CELLS)


def test_the_grid_has_what_a_mission_can_differ_in() -> None:
    missions = [cell for cell in CELLS if cell.grid == "mission"]
    assert {cell.lanes for cell in missions if cell.mode == "lanes"} == {1, 2, 4, 8, 16}
    assert {cell.queue_share for cell in missions} == {0.25, 1.0}
    assert {cell.length_rtts for cell in missions} == {12, 28, 50}
    assert {cell.initial_cwnd for cell in CELLS} == {4, 10, 40}
    assert any(cell.outage_rtts for cell in missions) and any(cell.mode == "stream" for cell in missions)
    assert {cell.bdp_packets for cell in CELLS if cell.grid == "large"} == {800}


def test_a_mission_has_two_unlike_links_and_a_load_both_together_can_bear() -> None:
    first, second = links_of(MISSION)
    assert rtt_s(second) == pytest.approx(1.5 * rtt_s(first))
    assert first.loss.rate == pytest.approx(10 * second.loss.rate)
    scenario = scenario_of(MISSION)
    assert scenario.video.synthetic is not None
    # 0.83 of what the links carry, headers (40 of 1,500 bytes) counted as payload
    assert sum(scenario.video.synthetic.layer_bps) == pytest.approx(0.83 * (first.rate_bps + second.rate_bps))
    assert scenario.video.loop_to_s == pytest.approx(28 * 25.0)


def test_an_outage_darkens_the_first_link_for_its_round_trips() -> None:
    first, second = links_of(MISSION._replace(outage_rtts=4))
    ((start, end),) = first.outages_ns
    assert end - start == 4 * 25 * 10**9 and start == pytest.approx(28 * 25e9 / 3)
    assert second.outages_ns == ()


def test_one_run_of_the_kernel_does_where_nothing_is_lost_and_twenty_where_video_is_judged() -> None:
    lossless = Cell("saturated", "cubic", 1.0, 0.0)
    assert [seeds_of(cell, None) for cell in (lossless, lossless._replace(loss=1e-3), MISSION)] == [1, 4, 20]
    assert seeds_of(lossless, 7) == 7
