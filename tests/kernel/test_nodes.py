"""Trials over a network's nodes: namespaces that forward, links and stores with the simulator's parts.

A trial of each way of sending is in `make test`, further ones in `make test-kernel`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dstcc_kernel import backend, host, plan
from dstcc_kernel.coded_plan import in_words
from dstcc_kernel.job import read_job
from dstcc_kernel.link_plan import is_played
from dstcc_kernel.names import misfit
from dstcc_kernel.nodes import network_of_trial
from dstcc_kernel.outcome import with_counts

from dstcc.engine import EngineConfig, EngineResult, simulate
from dstcc.engine.config import NEVER_NS
from dstcc.errors import DstccError, InputError
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

OPEN_LOOP = {"mode": "coded", "congestion": "open-loop", "handshake": False}
STORE = {"rover": {}, "orbiter": {"storage_bytes": 4_000_000}, "earth": {}}
DARK = (
    ("rover", "orbiter", {"rate_bps": 200_000, "delay_s": 0.5}),
    ("orbiter", "earth", {"rate_bps": 160_000, "delay_s": 4.0, "outages": [[40, 70]]}),
)
LOOK_NS = 2_000_000
Links = tuple[tuple[str, str, dict[str, Any]], ...]


def scenario(
    transport: dict[str, Any],
    nodes: dict[str, dict[str, Any]] = STORE,
    links: Links = DARK,
    paths: tuple[tuple[int, ...], ...] = ((0, 1),),
    duration_s: float = 240.0,
) -> Scenario:
    """Two minutes of video over nodes."""
    names = [f"{tail}-{head}" for tail, head, _ in links]
    return Scenario.model_validate(
        {
            "scenario": {"name": "nodes", "duration_s": duration_s},
            "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [60_000, 60_000]}, "loop_to_s": 120.0},
            "node": [{"name": name, **keys} for name, keys in nodes.items()],
            "link": [
                {"name": f"{tail}-{head}", "from": tail, "to": head, "up_rate_bps": 40_000}
                | {"queue_bytes": 200_000, **keys}
                for tail, head, keys in links
            ],
            "path": [{"via": [names[link] for link in path]} for path in paths],
            "transport": transport,
            "playout": {"delay_s": 60.0},
            "run": {"slot_s": 5.0, "scale": 2},
            **({"coding": {"repair": [0.0, 0.0], "block_s": 5}} if transport.get("mode") == "coded" else {}),
        }
    )


def trial(given: Scenario, seed: int = 3) -> EngineConfig:
    congestion = given.transport.congestion[0]
    scheduler = "none" if congestion == "ltp" else given.transport.scheduler[0]
    config = engine_config(given, draw_trial(given, load_source(given), seed), congestion, scheduler)
    return in_words(config) if given.transport.mode == "coded" else config


def in_slots(result: EngineResult, config: EngineConfig) -> Any:
    """Bytes of the layers that were there by each slot's end."""
    there = result.objects.complete_ns
    slots = np.arange(0, 240 * 10**9, config.slot_ns)
    return np.array([result.objects.delivered_bytes[(there >= 0) & (there <= end)].sum() for end in slots])


def compare(
    config: EngineConfig, carried: EngineResult, within: float, held: float | None = None, few: int = 2
) -> None:
    """Layers are there when they are in the simulator, and links and nodes have what they have there."""
    simulated = simulate(config)
    mine, theirs = in_slots(carried, config), in_slots(simulated, config)
    assert theirs[-1] > 500_000
    assert np.abs(mine - theirs).max() <= within * theirs[-1]
    assert [one.number for one in carried.nodes] == [one.number for one in simulated.nodes]
    for one, other in zip(carried.nodes, simulated.nodes, strict=True):
        for name in ("dropped_packets", "lost_in_restarts_packets"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=within, abs=few), name
        # A packet; or, where a tick decides (a millisecond more of delay changes it here by 7,500), as in the slots.
        apart_bytes = 1500 if held is None else held * other.most_held_bytes + 4 * 1500
        assert one.most_held_bytes == pytest.approx(other.most_held_bytes, rel=within, abs=apart_bytes)
        count = min(len(one.slot_held_bytes), len(other.slot_held_bytes))
        apart = np.abs(one.slot_held_bytes[:count] - other.slot_held_bytes[:count])
        assert (
            apart.max() <= (held or within) * other.most_held_bytes + 4 * 1500
        )  # a slot may end among some packets
    for hop, same in zip(carried.hops, simulated.hops, strict=True):
        assert (hop.number, hop.first_of) == (same.number, same.first_of)
        for name in ("sent_packets", "lost_packets", "dropped_packets"):
            assert getattr(hop, name) == pytest.approx(getattr(same, name), rel=within, abs=3), name


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_an_open_loop_over_a_store_is_the_simulators() -> None:
    """All that is sent while the second link is away waits, 470 kB of it, and goes on after."""
    config = trial(scenario(OPEN_LOOP))
    carried = backend.run(config, tick_ns=LOOK_NS)
    compare(config, carried, 0.002)
    assert carried.nodes[0].most_held_bytes > 400_000
    assert carried.totals.delivered_payload_bytes == 120 * 15_000


@pytest.mark.parametrize("rule", ["drop-tail", pytest.param("drop-head", marks=pytest.mark.kernel)])
@pytest.mark.usefixtures("kernel")
def test_paths_that_share_links_stores_that_are_full_and_restarts_are_the_simulators(rule: str) -> None:
    """Two paths begin on one link and end on another; others' datagrams come to a store, which is full, and a node
    restarts with what it holds."""
    nodes = {
        "rover": {},
        "a": {"storage_bytes": 60_000, "when_full": rule},
        "b": {"storage_bytes": 4_000_000, "restart": {"at_s": [80.0], "boot_s": 4.0}},
        "c": {},
        "earth": {},
    }
    others = [{"rate_bps": 20_000, "on_s": 5, "off_s": 5, "periods": "exponential", "stop_s": 120}]
    links = (
        ("rover", "a", {"rate_bps": 200_000, "delay_s": 0.5, "loss": {"packet": 0.01}}),
        ("a", "b", {"rate_bps": 170_000, "delay_s": 1, "outages": [[30, 50], [75, 90]], "cross_traffic": others}),
        ("b", "c", {"rate_bps": 170_000, "delay_s": 4, "outages": [[60, 70]]}),
        ("a", "c", {"rate_bps": 90_000, "delay_s": 2}),
        ("c", "earth", {"rate_bps": 210_000, "delay_s": 1, "loss": {"gilbert_elliott": {"p": 0.01, "r": 0.3}}}),
    )  # fmt: skip
    # Each path sends at the whole rate of the link that both begin on, whose queue then orders their packets. At
    # half of it both pace at the same instants, and a tick decides which packets are lost. Which path is in
    # time changes with the plan of its gaps: a tick apart on both. Where the one gives way to the other so close in
    # time, a tick decides which packets the full store drops, and with one of a block its layer is late.
    whole = OPEN_LOOP | {"open_loop_bps": 200_000}
    config = trial(scenario(whole, nodes, links, ((0, 1, 2, 4), (0, 3, 4))))
    assert config.links[1].first_hop_of == 0
    carried = backend.run(config, tick_ns=LOOK_NS)
    compare(config, carried, 0.15, held=0.3, few=5)
    a, b, _ = carried.nodes
    assert a.dropped_packets > 100
    assert b.lost_in_restarts_packets > 10


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_ltp_over_paths_that_share_a_link_and_a_store_is_the_simulators() -> None:
    """Both paths begin on one link, where they have one queue and half of its rate each; one has an outage ahead, which
    the other's blocks do not wait for. A block is 5 packets: a look's delay moves one to the other path."""
    links = (
        ("rover", "a", {"rate_bps": 200_000, "delay_s": 0.5}),
        ("a", "b", {"rate_bps": 170_000, "delay_s": 2, "outages": [[30, 50]]}),
        ("b", "earth", {"rate_bps": 170_000, "delay_s": 1}),
        ("a", "earth", {"rate_bps": 90_000, "delay_s": 2}),
    )
    nodes: dict[str, dict[str, Any]] = {
        name: {"storage_bytes": 4_000_000} if name in "ab" else {} for name in ("rover", "a", "b", "earth")
    }
    config = trial(scenario({"congestion": "ltp"}, nodes, links, ((0, 1, 2), (0, 3))))
    assert config.links[1].first_hop_of == 0
    carried, simulated = backend.run(config, tick_ns=LOOK_NS), simulate(config)
    mine, theirs = in_slots(carried, config), in_slots(simulated, config)
    assert np.abs(mine - theirs).max() <= 0.03 * theirs[-1]
    for one in (carried, simulated):
        assert 0.2 < np.mean(one.objects.subflow == 0) < 0.35
    held = [one.nodes[0].most_held_bytes for one in (carried, simulated)]
    assert held[0] == pytest.approx(held[1], rel=0.2)
    sent = [[hop.sent_packets for hop in one.hops] for one in (carried, simulated)]
    assert sent[0] == pytest.approx(sent[1], rel=0.05)


def coded_ltp(links: Links, repair: object = "delayed-feedback") -> Scenario:
    """With matrices of 5 s."""
    document = scenario({"congestion": "ltp"}, links=links).model_dump(by_alias=True, exclude_unset=True)
    return Scenario.model_validate(document | {"coding": {"repair": repair, "block_s": 5}})


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_matrices_of_ltp_that_wait_at_a_node_longer_than_planned_are_the_simulators() -> None:
    """The second link is slower: behind its outage there is a queue, in which matrices stand until after their end, and
    segments that come then are used by themselves."""
    first, (tail, head, keys) = DARK
    links: Links = (first, (tail, head, {**keys, "loss": {"packet": 0.03}}))
    config = trial(coded_ltp(links, [0.2, 0.2]))
    carried, simulated = backend.run(config, tick_ns=LOOK_NS), simulate(config)
    there, same = in_slots(carried, config), in_slots(simulated, config)
    assert np.abs(there - same).max() <= 0.08 * same[-1] and same[-1] > 1_500_000
    assert carried.totals.refused_packets == 0
    mine, theirs = carried.coding, simulated.coding
    assert mine is not None and theirs is not None
    for name in ("source_packets", "repair_packets", "arrived_packets"):
        counts = [int(getattr(one, name).sum()) for one in (mine, theirs)]
        assert counts[0] == pytest.approx(counts[1], rel=0.03), name
    for total in ("recovered_payload_bytes", "retransmitted_payload_bytes"):
        counts = [getattr(one.totals, total) for one in (carried, simulated)]
        assert counts[0] == pytest.approx(counts[1], rel=0.3) and counts[1] > 0, total


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_a_node_keeps_what_it_holds_where_it_says_so_and_packets_wait_for_its_boot() -> None:
    """As it restarts the next link is dark: 470 kB less what comes while it boots go on after."""
    nodes: dict[str, dict[str, Any]] = {
        **STORE,
        "orbiter": {
            "storage_bytes": 4_000_000,
            "restart": {"at_s": [50.0, 69.0], "boot_s": 3.0},
            "keeps_over_restart": True,
        },
    }
    config = trial(scenario(OPEN_LOOP, nodes))
    carried = backend.run(config, tick_ns=LOOK_NS)
    compare(config, carried, 0.01)
    assert 30 < carried.nodes[0].lost_in_restarts_packets < 120


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_a_connection_over_nodes_begins_with_its_window_and_has_its_timeout() -> None:
    """A window of 30 segments leaves at once; the least timeout is the scenario's, in emulated time."""
    transport = {"mode": "lanes", "congestion": "cubic", "initial_cwnd": 30, "constants": {"rto_min_s": 3.0}}
    bare = (
        {**DARK[0][2], "rate_bps": 10_000_000},
        {**DARK[1][2], "rate_bps": 10_000_000, "outages": [[40, 55]]},
    )
    given = scenario(transport, links=(("rover", "orbiter", bare[0]), ("orbiter", "earth", bare[1])))
    job = plan.job_of(trial(given), program=Path("/p"))
    assert job.rto_min_ms == 1500
    carried, simulated = backend.run(trial(given)), simulate(trial(given))
    mine, theirs = (one.samples.cwnd_segments[:3].tolist() for one in (carried, simulated))
    assert mine == theirs
    assert max(mine) == 30
    assert carried.totals.data_packets == pytest.approx(simulated.totals.data_packets, rel=0.02)


@pytest.mark.parametrize(
    ("transport", "within"),
    [
        ({"mode": "lanes", "lanes_per_link": 4, "congestion": "cubic"}, 0.02),
        pytest.param({"mode": "stream", "congestion": "newreno"}, 0.1, marks=pytest.mark.kernel),
        pytest.param({"mode": "coded", "congestion": "paced"}, 0.1, marks=pytest.mark.kernel),
    ],
    ids=["lanes", "stream", "coded"],
)
@pytest.mark.usefixtures("kernel")
def test_controls_over_a_store_do_what_they_do_in_the_simulator(
    transport: dict[str, Any], within: float
) -> None:
    config = trial(scenario(transport))
    carried, simulated = backend.run(config), simulate(config)
    mine, theirs = in_slots(carried, config), in_slots(simulated, config)
    assert np.abs(mine - theirs).max() <= within * theirs[-1]
    held = [one.nodes[0].most_held_bytes for one in (carried, simulated)]
    assert held[0] == pytest.approx(held[1], rel=0.2)


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_others_connections_go_over_a_whole_path() -> None:
    """One of others, over the same two links, takes half; it reaches Earth through the store."""
    given = scenario({"mode": "lanes", "lanes_per_link": 2, "congestion": "newreno"})
    flow = [{"congestion": "newreno", "start_s": 3.0}]
    document = given.model_dump(by_alias=True, exclude_unset=True)
    document["path"] = [{**document["path"][0], "flows": flow}]
    config, alone = trial(Scenario.model_validate(document)), trial(given)
    carried, simulated = backend.run(config), simulate(config)
    mine, theirs, least = (in_slots(one, config) for one in (carried, simulated, simulate(alone)))
    assert np.abs(mine - theirs).max() <= 0.15 * theirs[-1]
    assert (least - mine).max() > 0.1 * least[-1], "it took nothing"


def test_a_job_has_each_link_once_with_the_engines_draws() -> None:
    nodes = {"rover": {}, "a": {"storage_bytes": 9_000}, "earth": {}}
    links = (
        ("rover", "earth", {"rate_bps": 1e5, "delay_s": 3}),
        ("rover", "a", {"rate_bps": 1e5, "delay_s": 1}),
        ("a", "earth", {"rate_bps": 1e5, "delay_s": 2}),
    )
    transport = {"mode": "lanes", "congestion": "cubic", "constants": {"rto_min_s": 0.5}}
    config = trial(scenario(transport, nodes, links, ((1, 2), (0,))))
    job = plan.job_of(config, program=Path("/p"))
    assert job.network is not None
    assert [link.played for link in job.links] == [True, True]
    assert not is_played(config.links[1]), "all links of a network are played, whatever they are"
    assert job.network.nodes == ("source", "a", "sink")
    assert job.network.ends == ((0, 1), (1, 2), (0, 2))
    assert job.network.paths == ((0, 1), (2,))
    assert [job.network.between(link) for link in range(3)] == [
        "between 0 -1 1",
        f"between {(1 << 20) + 2} 1 -1",
        "between 1 -1 -1",
    ]
    delays = [line.split()[1] for lines in job.lines for line in lines if line.startswith(".delay_ns")]
    assert delays == ["500000000", "1000000000", "1500000000"]
    assert network_of_trial(replace(config, links=config.links[1:])) is None


def test_a_job_over_nodes_is_read_as_it_was_written(tmp_path: Path) -> None:
    job = plan.job_of(trial(scenario({"mode": "lanes", "congestion": "cubic"})), program=Path("/p"))
    job.write(tmp_path / "job.json")
    assert read_job(tmp_path / "job.json") == job


def test_a_trial_does_not_stall_while_a_link_far_away_is_dark() -> None:
    job = plan.job_of(trial(scenario({"mode": "lanes", "congestion": "cubic"})), program=Path("/p"))
    assert (20 * 10**9, 35 * 10**9) in job.outages_ns


def test_buffers_and_memory_have_room_for_what_nodes_hold() -> None:
    """Four times what fills the links and the store, of which the video needs twice its 1.8 MB at most."""
    transport = {"mode": "stream", "congestion": "cubic"}
    nodes = {**STORE, "orbiter": {"storage_bytes": 10**12}}
    small, large = (
        trial(scenario(transport, {**STORE, "orbiter": own}))
        for own in ({"storage_bytes": 9_000}, nodes["orbiter"])
    )
    assert plan.stored_bytes(small) == 9_000
    assert plan.stored_bytes(large) == 2 * 1_800_000
    few, many = (plan.job_of(one, program=Path("/p")) for one in (small, large))
    assert many.receive_buffer_bytes - 4 * plan.stored_bytes(large) < few.receive_buffer_bytes
    assert many.receive_buffer_bytes > 4 * plan.stored_bytes(large)
    assert plan.memory_mb(large, steered=False) - plan.memory_mb(small, steered=False) == 22


def test_what_waits_in_nodes_counts_for_a_round_trip_of_tcp() -> None:
    """9 s of light and 1,200 s in the store are 604.5 emulated seconds at scale 2; coded packets have no such clock."""
    dark = (DARK[0], ("orbiter", "earth", {**DARK[1][2], "outages": [[40, 1240]], "delay_s": 4.0}))
    given = scenario({"mode": "stream", "congestion": "cubic"}, links=dark, duration_s=2000.0)
    with pytest.raises(
        InputError,
        match=r"--scale 2: a round trip with what nodes store of 604\.5 emulated s; .* 536 s: at least 3",
    ):
        plan.job_of(trial(given), program=Path("/p"))
    plan.job_of(trial(scenario(OPEN_LOOP, links=dark, duration_s=2000.0)), program=Path("/p"))
    bare = scenario(
        {"mode": "stream", "congestion": "cubic"}, {**STORE, "orbiter": {}}, dark, duration_s=2000.0
    )
    plan.job_of(trial(bare), program=Path("/p"))


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"storage_bytes": 9_000, "when_full": "lowest-layer"}, "node.1.when_full 'lowest-layer': the kernel's"),
        ({"storage_bytes": 9_000, "forwards": "custody"}, "node.1.forwards = 'custody': Linux forwards packets"),
    ],
)  # fmt: skip
def test_what_a_kernels_nodes_have_not_is_refused_by_name(node: dict[str, Any], said: str) -> None:
    transport = {"mode": "coded", "congestion": "paced"} if "when_full" in node else {"congestion": "ltp"}
    given = scenario(transport, {**STORE, "orbiter": node})
    problem = misfit(given)
    assert problem is not None
    assert problem.startswith(said)


def test_what_only_the_simulators_nodes_have_is_refused_by_name() -> None:
    given = scenario({"congestion": "cubic", "restart": {"at_s": [5], "boot_s": 1, "spool": True}})
    said = "transport.restart: each connection has a guest, whose nodes would begin empty"
    assert (misfit(given) or "").startswith(said)
    assert misfit(coded_ltp(DARK)) is None


def test_a_host_has_no_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    given = scenario({"mode": "lanes", "congestion": "cubic"})
    monkeypatch.setattr(host, "require_netem", lambda: None)
    with pytest.raises(InputError, match="nodes: node: needs --backend kernel"):
        backend.check(given, load_source(given), on_host=True)


def test_others_connections_begin_in_emulated_time_at_the_ends_of_their_path() -> None:
    """A flow from 30 s on is due at 15 s of scale 2, as its first link is up."""
    document = scenario({"mode": "lanes", "congestion": "cubic"}).model_dump(
        by_alias=True, exclude_unset=True
    )
    document["path"] = [{**document["path"][0], "flows": [{"congestion": "newreno", "start_s": 30.0}]}]
    job = plan.job_of(trial(Scenario.model_validate(document)), program=Path("/p"))
    assert job.flows[-1] == f"flow 0 0 10.1.0.1 10.1.0.2 reno {15 * 10**9}"


def test_paths_of_flows_that_the_kernel_has_not_are_named() -> None:
    document = scenario({"mode": "lanes", "congestion": "cubic"}).model_dump(
        by_alias=True, exclude_unset=True
    )
    document["path"] = [{**document["path"][0], "flows": [{"congestion": "ledbat"}]}]
    problem = misfit(Scenario.model_validate(document))
    assert problem is not None
    assert problem.startswith("path.0.flows: others' 'ledbat' exists in the simulator only")


def test_counts_that_no_program_can_have_made_are_refused(tmp_path: Path) -> None:
    config = trial(scenario({"mode": "lanes", "congestion": "cubic"}))
    result = simulate(config)
    over = network_of_trial(config)
    assert over is not None
    nodes = np.zeros((3, 7), dtype=np.int64)
    nodes[1] = (9, 4, 3, 1, 4_500, 1, 6_000)
    hops = np.arange(12, dtype=np.int64)
    good = np.concatenate([[5 * 10**9], hops, nodes.ravel()])
    path = tmp_path / "counts.bin"

    def read(*rows: Any) -> EngineResult:
        np.concatenate(rows).astype(np.int64).tofile(path)
        return with_counts(path, result, config)

    counted = read(good)
    assert counted.nodes[0].most_held_bytes == 6_000
    assert counted.nodes[0].slot_held_bytes.tolist() == [4_500] * len(np.unique(result.samples.t_ns))
    assert counted.hops[1].up_lost_packets == 10
    assert (counted.hops[0].first_of, counted.hops[1].number) == (0, 1)
    later = good.copy()
    later[0] = NEVER_NS
    read(good, later, [1, 2, 3])  # the last is of a guest that was ended
    lost, below = good.copy(), good.copy()
    lost[13 + 7] = 10
    below[2] = -1
    for rows, said in (
        (([1, 2],), "cut short"),
        ((later, good), "not in order"),
        ((below,), "below 0"),
        ((lost,), "a node that took in other packets"),
    ):
        with pytest.raises(DstccError, match=said):
            read(*rows)


def test_what_links_and_nodes_counted_is_read_from_its_place_slot_by_slot(tmp_path: Path) -> None:
    """A row is a time, then of each link sent, lost and dropped both ways, then of each node came, left, held, dropped,
    bytes held, lost in restarts and the most bytes; of a slot the first row at its end or later counts."""
    config = trial(scenario({"mode": "lanes", "congestion": "cubic"}))
    result = simulate(config)
    slots = len(np.unique(result.samples.t_ns))
    slot_ns = 5 * 10**9 // 2  # of 5 s at scale 2
    first = [slot_ns, *range(100, 106), *range(110, 116), *[0] * 7, 120, 60, 30, 20, 125, 10, 127, *[0] * 7]
    second = [
        slot_ns + 1,
        *range(200, 206),
        *range(210, 216),
        *[0] * 7,
        240,
        120,
        60,
        40,
        245,
        20,
        247,
        *[0] * 7,
    ]
    last = [
        9 * slot_ns,
        *range(300, 306),
        *range(310, 316),
        *[0] * 7,
        360,
        180,
        90,
        60,
        365,
        30,
        367,
        *[0] * 7,
    ]
    path = tmp_path / "counts.bin"
    np.array([first, second, last], dtype=np.int64).tofile(path)
    read = with_counts(path, result, config)
    hop, further = read.hops
    assert (hop.number, hop.first_of, further.number, further.first_of) == (-1, 0, 1, -1)
    names = [f"{way}{what}_packets" for way in ("", "up_") for what in ("sent", "lost", "dropped")]
    assert [getattr(hop, name) for name in names] == [300, 301, 302, 303, 304, 305]
    assert [getattr(further, name) for name in names] == [310, 311, 312, 313, 314, 315]
    assert hop.slot_sent_packets.tolist() == [100] + [300] * (slots - 1), "no row is of the second slot's end"
    assert further.slot_up_sent_packets.tolist() == [113] + [313] * (slots - 1)
    (node,) = read.nodes
    assert (node.number, node.came_packets, node.left_packets, node.held_packets) == (1, 360, 180, 90)
    assert (node.dropped_packets, node.lost_in_restarts_packets, node.most_held_bytes) == (60, 30, 367)
    assert node.slot_held_bytes.tolist() == [125] + [365] * (slots - 1)
    assert node.slot_dropped_packets.tolist() == [20] + [60] * (slots - 1)
    assert node.slot_lost_in_restarts_packets.tolist() == [10] + [30] * (slots - 1)
    np.array([first, first], dtype=np.int64).tofile(path)
    with_counts(path, result, config)  # at one time twice: the program's end is a slot's
    path.write_bytes(path.read_bytes()[:-1])
    assert with_counts(path, result, config).hops[0].sent_packets == 100, "a row that is cut off is none"
    plain = trial(scenario({"congestion": "cubic"}))
    assert with_counts(tmp_path / "none", result, replace(plain, links=plain.links[1:])) is result
