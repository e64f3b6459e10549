"""What the simulator is given where netem has something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dstcc import engine
from dstcc.engine import EngineConfig, EngineResult
from experiments.fidelity import measure
from experiments.fidelity.cells import Cell

LANES = Cell("mission", "cubic", 25.0, 1e-3, 2, 800, 28, "lanes", 16)
STREAM = LANES._replace(mode="stream", lanes=1)
TRANSFER = Cell("saturated", "cubic", 1.0, 1e-3)


def config_of(
    cell: Cell,
    monkeypatch: pytest.MonkeyPatch,
    seed: int = 1,
    *,
    whole: bool = False,
    window: bool = False,
) -> EngineConfig:
    seen: list[EngineConfig] = []
    simulate = engine.simulate

    def keep(config: EngineConfig) -> EngineResult:
        seen.append(config)
        return simulate(config)

    monkeypatch.setattr(engine, "simulate", keep)
    measure.simulated(cell, seed, whole=whole, window=window)
    return seen[-1]


@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_the_receiver_is_that_of_the_cells_kernel(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(TRANSFER._replace(kernel=kernel), monkeypatch)
    assert config.transport.constants.receiver == f"linux-{kernel}"


def test_layers_are_whole_segments_where_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """119,520, 39,840 and twice 19,920 bytes, which are 81.86, 27.3 and 13.6 segments of 1,460."""
    alone = LANES._replace(links=1, bdp_packets=4000, lanes=1)
    as_they_are = config_of(alone, monkeypatch).objects.payload_bytes
    assert sorted(set(as_they_are)) == [19_920, 39_840, 119_520]
    segments = config_of(alone, monkeypatch, whole=True).objects.payload_bytes / 1460
    assert sorted(set(segments)) == [14, 27, 82]


def test_a_queue_counts_packets_as_netems_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """800 of any size, as plan.py has netem hold; a quarter of them where the queue is shallow."""
    assert {link.queue_packets for link in config_of(LANES, monkeypatch).links} == {800}
    shallow = LANES._replace(queue_share=0.25)
    assert {link.queue_packets for link in config_of(shallow, monkeypatch).links} == {200}
    sizes = shallow._replace(queue_share=0.2, queue_to=0.3)
    assert {link.queue_packets for link in config_of(sizes, monkeypatch, seed=8).links} == {240}


def test_what_stands_in_the_queue_when_an_outage_begins_crosses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dark from 700 / 3 to 1,000 / 3 s. The queue that the simulator has at 233 1/3 s is served first; ACKs are lost
    from then on."""
    dark = LANES._replace(outage_rtts=4)
    start, end = 700 * 10**9 // 3, 1000 * 10**9 // 3
    link, other = config_of(dark, monkeypatch).links
    ((begins, ends),) = link.outages_ns
    assert (link.up_outages_ns, ends, other.outages_ns) == (((start, end),), end, ())
    given = replace(config_of(dark, monkeypatch), slot_ns=start)
    plain = replace(given, links=(replace(link, outages_ns=((start, end),)), other))
    samples = engine.simulate(plain).samples
    assert samples.t_ns[0] == start
    assert begins - start == pytest.approx(samples.queue_bytes[0] * 8e9 / link.rate_bps, abs=1)
    assert 5e9 < begins - start < 25e9
    assert config_of(LANES, monkeypatch).links[0].outages_ns == ()


def test_a_transfer_is_written_and_read_at_the_programs_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 a round trip, and 2,000 in a mission."""
    cells = (TRANSFER, TRANSFER._replace(links=2), STREAM, LANES)
    constants = [config_of(cell, monkeypatch).transport.constants for cell in cells]
    assert [one.read_s for one in constants] == [0.05, 0.05, 0.0125, 0.0]
    assert [one.look_s for one in constants] == [0.05, 0.05, 0.0125, 0.0]


@pytest.mark.parametrize(("cell", "packets"), [(STREAM, 800), (TRANSFER, 100)])
def test_a_streams_packets_are_full_ones(cell: Cell, packets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {link.queue_bytes for link in config_of(cell, monkeypatch).links} == {packets * 1500}


@pytest.mark.parametrize(
    ("cell", "scheduler"),
    [
        (STREAM, "linux"),
        (LANES, "minrtt"),
        (TRANSFER, "linux"),
        (TRANSFER._replace(links=2), "linux"),
        (TRANSFER._replace(links=2, kernel="6.1"), "linux-6.1"),
    ],
)
def test_streams_are_scheduled_as_linux_does(
    cell: Cell, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert config_of(cell, monkeypatch).transport.scheduler == scheduler


@pytest.mark.parametrize(("kernel", "share_256"), [("6.12", 1460 * 256 // (1460 + 844)), ("6.1", 128)])
def test_with_a_window_the_receiver_offers_what_the_kernels_does(
    kernel: str, share_256: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link and its queue of 100 packets each are less than a quarter of the least buffer, 4 MiB."""
    cell = TRANSFER._replace(congestion="fixed", loss=1e-3, kernel=kernel)
    assert config_of(cell, monkeypatch).transport.receive_buffer_bytes == 0
    offered = config_of(cell, monkeypatch, window=True).transport.receive_buffer_bytes
    assert offered == (4 << 20) * share_256 // 256


def test_612s_streams_over_two_links_have_a_window_for_all_that_their_subflows_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A subflow's send buffer of 4 MiB takes 1,830 segments, whose 1,460 bytes weigh 2,292; two have 5.3 MB of payload.
    for loss in (0.0, 1e-3):
        cell = TRANSFER._replace(links=2, loss=loss)
        offered = config_of(cell, monkeypatch).transport.receive_buffer_bytes
        assert offered >= 2 * ((4 << 20) // 2292 + 1) * 1460
    for other in (cell._replace(links=1), cell._replace(kernel="6.1")):
        assert config_of(other, monkeypatch).transport.receive_buffer_bytes == 0


def test_the_syns_of_subflows_that_join_keep_mptcps_own_timer_from_running_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Linux counts their timers, of 1 to 64 s here (mptcp_set_timeout()), so that one timer ends between two bursts
    of ACKs and the first subflow counts as heard. Without them it stood at 200 ms, and what was sent first at 110 s
    went again from 125 s on, as the second subflow began; 0.175 of all was repeated. Over all of the mission the kernel
    repeats 0 to 0.068 (bench/data/kernel-grid.csv, 20 runs)."""
    config = config_of(Cell("mission", "bbr", 25.0, 0.0, 3, 200, 28), monkeypatch)
    begun = engine.simulate(replace(config, duration_ns=12 * 25 * 10**9)).totals
    assert (begun.retransmitted_payload_bytes, begun.sent_payload_bytes > 100 * 1460) == (0, True)
    total = engine.simulate(config).totals
    assert total.retransmitted_payload_bytes < 0.07 * total.sent_payload_bytes
