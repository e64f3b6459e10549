"""What the grid's cells are as scenarios."""

from __future__ import annotations

from collections import Counter

import pytest

from dstcc.engine.config import Link
from dstcc.scenario import draw_links, rtt_s
from experiments.fidelity.cells import Cell, grid, scenario_of, seeds_of

CELLS = list(grid())
MISSION = Cell("mission", "cubic", 25.0, 1e-3, 2, 800, 28, "lanes", 16)


def links_of(cell: Cell) -> tuple[Link, ...]:
    return draw_links(scenario_of(cell), 1)


@pytest.mark.parametrize("cell", CELLS[::7], ids=lambda cell: cell.name)
def test_every_link_holds_the_bandwidth_delay_product_in_flight_and_its_share_more_in_its_queue(
    cell: Cell,
) -> None:
    for link in links_of(cell):
        longer = (
            rtt_s(link) / cell.rtt_s - 1
        )  # where delays differ by seed, by a twentieth of a round trip at most
        assert 0 <= longer <= 0.05 if cell.longer_us else cell.grid == "mission" or longer == pytest.approx(0)
        assert link.rate_bps * rtt_s(link) / 8 / 1500 == pytest.approx(
            cell.bdp_packets * (1 + longer if cell.grid != "mission" else 1), rel=1e-5
        )
        assert link.queue_bytes == pytest.approx(cell.queue_share * cell.bdp_packets * 1500)


def test_no_cell_is_there_twice_and_names_tell_all_apart() -> None:
    assert max(Counter(CELLS).values()) == 1
    assert len({cell.name for cell in CELLS}) == len(CELLS)


def test_the_grid_has_what_a_mission_can_differ_in() -> None:
    missions = [cell for cell in CELLS if cell.grid == "mission"]
    assert {cell.lanes for cell in missions if cell.mode == "lanes"} == {1, 2, 4, 8, 16}
    assert {(cell.queue_share, cell.queue_to) for cell in missions} == {
        (0.25, 0),
        (1.0, 0),
        (0.2, 0.3),
        (0.23, 0.3),
    }
    assert any(cell.up_loss and cell.outage_rtts for cell in missions) and 400 in {
        cell.rtt_s for cell in missions
    }
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


def test_queues_that_differ_by_seed_take_the_initial_windows_of_all_lanes() -> None:
    """200 packets, of which 0.2 to 0.3: 40 to 60, 20 / 7 apart."""
    cell = MISSION._replace(loss=0.0, links=1, bdp_packets=200, lanes=2, queue_share=0.2, queue_to=0.3)
    assert [cell.queue_packets(seed) for seed in range(1, 9)] == [40, 43, 46, 49, 51, 54, 57, 60]
    assert draw_links(scenario_of(cell, 8), 8)[0].queue_bytes == 60 * 1500
    assert seeds_of(cell, None) == 8
    assert "queue 0.2 to 0.3" in cell.name
    for other in CELLS:
        if other.queue_to:
            assert other.queue_packets(1) >= other.lanes * other.initial_cwnd


def test_delays_that_differ_by_seed_are_longer_by_at_most_what_a_cell_says() -> None:
    cell = MISSION._replace(links=3, longer_us=20.0)
    longer = {
        seed: [
            link.delay_ns[0] - there.delay_ns[0]
            for link, there in zip(
                draw_links(scenario_of(cell, seed), seed), links_of(cell._replace(longer_us=0.0)), strict=True
            )
        ]
        for seed in range(1, 21)
    }
    assert longer == {seed: [round(1e9 * cell.longer_s(seed, k)) for k in range(3)] for seed in longer}
    assert len({tuple(delays) for delays in longer.values()}) == 20
    assert all(0 < delay < 20_000 for delays in longer.values() for delay in delays)
    assert "longer 20" in cell.name


def test_acks_are_lost_where_a_cell_says_so() -> None:
    (link,) = links_of(MISSION._replace(links=1, up_loss=0.01))
    assert (link.loss.rate, link.up_loss.rate) == (1e-3, 0.01) and "of ACKs 0.01" in MISSION._replace(
        up_loss=0.01
    ).name


def test_one_run_of_the_kernel_does_where_nothing_is_lost_and_twenty_where_video_is_judged() -> None:
    lossless = Cell("saturated", "cubic", 1.0, 0.0)
    phased = lossless._replace(longer_us=25_000.0)
    cells = (lossless, phased, lossless._replace(loss=1e-3), MISSION)
    assert [seeds_of(cell, None) for cell in cells] == [1, 8, 8, 20]
    assert seeds_of(lossless, 7) == 7


def test_lossless_transfers_differ_by_the_phase_of_reads_but_under_a_fixed_window() -> None:
    for cell in CELLS:
        if cell.grid != "mission" and cell.loss == 0.0:
            assert cell.longer_us == (0.0 if cell.congestion == "fixed" else 25_000 * cell.rtt_s)
    phased = [cell for cell in CELLS if cell.grid != "mission" and cell.loss and cell.longer_us]
    assert [(cell.congestion, cell.longer_us) for cell in phased] == [("vegas", 2_500), ("cubic", 25_000)]
