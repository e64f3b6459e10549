"""``[[node]]``, ``[[link]] from`` and ``to``, ``[[path]]``: what the engine gets, and what is refused by name."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from dstcc_channels.geometry import (
    LIGHT_M_S,
    CircularOrbit,
    EllipticOrbit,
    Site,
    Stations,
    complement,
    place_light_time_s,
    relay_windows,
    sight,
)
from scipy.interpolate import CubicSpline

from dstcc.engine import simulate
from dstcc.engine.config import Link as EngineLink
from dstcc.errors import InputError, ScenarioError
from dstcc.run.trials import SIMULATOR, run_trials
from dstcc.scenario import (
    Scenario,
    describe,
    draw_links,
    draw_trial,
    engine_config,
    load_scenario,
    load_source,
    parse_override,
    to_toml,
)
from dstcc.scenario.build import scale_of
from dstcc.scenario.draws import draw_lines, longest_possible_rtt_s
from dstcc.scenario.load import parse_scenario
from dstcc.scenario.network import composed, node_that, nodes_on, with_numbers
from dstcc.scenario.places import End, Ground, Orbit, light, place_of_end, seen
from dstcc.scenario.video import content_hash

S = 10**9
TWO: dict[str, Any] = {
    "scenario": {"name": "two orbiters", "duration_s": 3000},
    "video": {"synthetic": {"chunk_s": 2.0, "layer_bps": [20_000, 20_000]}, "loop_to_s": 200},
    "node": [
        {"name": "lander"},
        {
            "name": "a",
            "storage_bytes": 10**7,
            "when_full": "lowest-layer",
            "restart": {"at_s": [500, 600], "boot_s": 10},
            "keeps_over_restart": True,
        },
        {"name": "b"},
        {"name": "earth"},
    ],
    "link": [
        {"name": "up-a", "from": "lander", "to": "a", "rate_bps": 200_000, "delay_s": 0.5},
        {
            "name": "a-earth",
            "from": "a",
            "to": "earth",
            "rate_bps": 100_000,
            "up_rate_bps": 4_000,
            "delay_s": 300,
            "outages": [[0, 250]],
            "up_outages": [[10, 20]],
            "loss": {"packet": 1e-3},
            "cross_traffic": [{"rate_bps": 1000}],
        },
        {"name": "up-b", "from": "lander", "to": "b", "rate_bps": 200_000, "delay_s": 0.25},
        {"name": "b-earth", "from": "b", "to": "earth", "rate_bps": 100_000, "delay_s": 310},
        {"name": "b-a", "from": "b", "to": "a", "rate_bps": 50_000, "delay_s": 1},
        {"name": "direct", "from": "lander", "to": "earth", "rate_bps": 1_000, "delay_s": 299},
    ],
    "path": [
        {"via": ["up-a", "a-earth"]},
        {"name": "over-b", "via": ["up-b", "b-earth"], "subflows": 2},
        {"name": "long", "via": ["up-b", "b-a", "a-earth"], "flows": [{"congestion": "cubic"}]},
        {"via": ["direct"]},
    ],
    "transport": {"congestion": "cubic"},
}
CUSTODY: dict[str, Any] = {
    "node__1__forwards": "custody",
    "node__1__when_full": "drop-tail",
    "node__2__forwards": "custody",
    "node__2__storage_bytes": 10**7,
    "path__2__flows": [],
    "transport": {"congestion": "ltp"},
}
"""Changes of :data:`TWO` by which its nodes take custody."""

SPLIT: dict[str, Any] = {
    **{key.replace("custody", "split"): value for key, value in CUSTODY.items()},
    "node__1__forwards": "split",
    "node__2__forwards": "split",
    "transport": {"congestion": "cubic", "mode": "lanes"},
}
"""Changes by which they split connections."""


def changed(**keys: Any) -> dict[str, Any]:
    """The network with other values at places such as ``node__1__name``; ``None`` takes the key out."""
    document = deepcopy(TWO)
    for place, value in keys.items():
        at: Any = document
        *way, last = (int(part) if part.isdigit() else part for part in place.split("__"))
        for key in way:
            at = at[key]
        if value is None:
            del at[last]
        else:
            at[last] = value
    return document


def network(**keys: Any) -> Scenario:
    return parse_scenario(changed(**keys), source="net.toml")


def test_paths_are_links_over_nodes() -> None:
    scenario = network()
    over_a, over_b, long, direct = draw_links(scenario, 1)
    lines = {link.name: link for link in draw_lines(scenario, 1)}
    assert [link.name for link in (over_a, over_b, long, direct)] == [
        "up-a+a-earth",
        "over-b",
        "long",
        "direct",
    ]
    assert over_a.delay_ns == (300_500_000_000,) and over_a.first_delay_ns == (500_000_000,)
    assert long.delay_ns == (301_250_000_000,)
    assert [hop.number for hop in long.onward] == [4, 1] and [hop.node.name for hop in long.onward] == [
        "b",
        "a",
    ]
    assert long.onward[1] == over_a.onward[0], "one hop and one node, whatever path goes over it"
    assert over_a.onward[0].line == lines["a-earth"]
    node = over_a.onward[0].node
    assert (node.storage_bytes, node.when_full, node.keeps_over_restart) == (10**7, "lowest-layer", True)
    assert (node.restart_ns, node.boot_ns) == ((500 * S, 600 * S), 10 * S)
    assert (over_a.first_hop_of, over_b.first_hop_of, long.first_hop_of) == (-1, -1, 1)
    assert over_b.subflows == 2 and len(long.flows) == 1 and not over_a.flows
    assert direct.onward == () and direct.rate_bps == 1_000


def test_both_directions_of_a_link_may_differ() -> None:
    line = draw_lines(network(), 1)[1]
    assert line.outages_ns == ((0, 250 * S),) and line.up_outages_ns == ((10 * S, 20 * S),)
    assert (line.rate_bps, line.up_rate_bps) == (100_000, 4_000)
    same = draw_lines(network(link__1__up_outages=None), 1)[1]
    assert same.up_outages_ns is None, "those of the data's direction"
    assert draw_lines(network(link__1__up_outages=[]), 1)[1].up_outages_ns == ()


def test_the_scale_is_by_the_longest_path() -> None:
    scenario = network()
    assert longest_possible_rtt_s(scenario) == 2 * 310.25
    assert scale_of(scenario) == 16  # 620.5 s in 40 s


def test_a_network_is_written_as_it_was_read(tmp_path: Path) -> None:
    scenario = network()
    written = tmp_path / "again.toml"
    written.write_text(to_toml(scenario))
    again = load_scenario(written)
    assert again == scenario and content_hash(again) == content_hash(scenario)
    assert content_hash(network(node__1__storage_bytes=2 * 10**7)) != content_hash(scenario)
    assert content_hash(network(path__0__via=["up-b", "b-a", "a-earth"], path__2=None)) != content_hash(
        scenario
    )


def test_overrides_reach_nodes_with_units(tmp_path: Path) -> None:
    written = tmp_path / "net.toml"
    written.write_text(to_toml(network()))
    scenario = load_scenario(written, [parse_override("node.1.storage_bytes='2 MiB'")])
    assert scenario.node[1].storage_bytes == 2 << 20


def test_a_record_says_what_is_on_the_way() -> None:
    said: dict[str, Any] = describe(draw_links(network(), 1)[0], 3000)
    (onward,) = said["onward"]
    assert onward["node"] == "a" and onward["outage_s"] == 250 and onward["loss"] == {"packet": 1e-3}
    assert "onward" not in describe(draw_links(network(), 1)[3], 3000)


def line(t_s: list[float], delay_s: list[float]) -> EngineLink:
    return EngineLink(
        name="x",
        rate_bps=1.0,
        up_rate_bps=1.0,
        delay_t_ns=tuple(round(t * S) for t in t_s),
        delay_ns=tuple(round(d * S) for d in delay_s),
        queue_bytes=1,
        up_queue_bytes=1,
    )


def test_light_times_add_up_to_the_nanosecond() -> None:
    random = Random(7)
    for _ in range(20):
        lines = []
        for _ in range(random.randint(2, 4)):
            rows = random.randint(1, 5)
            t_s = sorted(random.sample(range(2_000), rows))
            lines.append(line([float(t) for t in t_s], [random.uniform(1, 400) for _ in t_s]))
        t_ns, total_ns = composed(lines)
        for _ in range(20):
            at = entered = random.randint(0, 3_000 * S)
            for one in lines:
                at += round(float(np.interp(at, one.delay_t_ns, one.delay_ns)))
            falls = any(np.any(np.diff(one.delay_ns) <= -np.diff(one.delay_t_ns)) for one in lines)
            if not falls:
                assert abs(np.interp(entered, t_ns, total_ns) - (at - entered)) <= len(lines) + 1


def test_the_light_time_of_two_links_whose_delays_change_has_the_rows_of_both() -> None:
    """The second link's row at 19 ns is met by what enters at 9; that at 9 by what enters at -1, before the run."""
    first = line([0], [0])
    first = replace(first, delay_t_ns=(0, 20), delay_ns=(10, 30))
    second = replace(first, delay_t_ns=(9, 19), delay_ns=(100, 101))
    assert composed([replace(first, delay_t_ns=(0,), delay_ns=(10,)), second]) == ((0, 9), (110, 111))
    # What enters at 9/2 ns comes at 19: rounded to 4; then the straight line to the first link's last row.
    assert composed([first, second]) == ((0, 4, 20), (110, 115, 131))


def test_the_light_time_of_curves_is_that_of_each_beyond_its_rows_too() -> None:
    """Hermite's cubic over 1,000 s from 10 to 20 s with slopes of 0 is at 15 s in the middle; afterwards it stays."""
    curve = replace(
        line([0], [0]),
        delay_t_ns=(0, 500 * S, 1500 * S),
        delay_ns=(10 * S, 10 * S, 20 * S),
        delay_slope=(0.0, 0.0, 0.0),
    )
    marks = replace(curve, delay_t_ns=(0, 1015 * S, 1900 * S), delay_ns=(0, 0, 0), delay_slope=())
    t_ns, total_ns = composed([curve, marks])
    delay_s = {round(at / S): round(total / S, 6) for at, total in zip(t_ns, total_ns, strict=True)}
    assert (delay_s[0], delay_s[500], delay_s[1500], delay_s[1880]) == (10, 10, 20, 20)
    middle = [at for at in delay_s if 900 < at < 1100]
    share = (middle[0] - 500) / 1000
    assert delay_s[middle[0]] == pytest.approx(10 + 10 * (3 * share**2 - 2 * share**3), abs=1e-2)


def test_the_nodes_along_a_path() -> None:
    scenario = network(**SPLIT)
    assert nodes_on(scenario, scenario.ways[2]) == ("lander", "b", "a", "earth")
    assert node_that(scenario, "split") == "a" and node_that(scenario, "split", "custody") == "a"
    assert node_that(scenario.model_copy(update={"path": scenario.path[1:2]}), "split") == "b"
    assert node_that(scenario, "custody") is None and node_that(network(), "split") is None


def test_a_link_with_a_plan_has_its_nodes_numbers() -> None:
    document: dict[str, Any] = {
        "node": [{"name": "a", "number": 4}, {"name": "b", "number": 5}, {"name": "c"}, 5],
        "link": [
            {"from": "a", "to": "b", "contacts": "plan.txt"},
            {"from": "a", "to": "b", "contacts": "plan.txt", "source": 7},
            {"from": "b", "to": "c", "contacts": "plan.txt"},
            {"from": "a", "to": "b"},
            5,
        ],
    }
    known = [{"source": 4, "destination": 5}, {"source": 7, "destination": 5}, {"source": 5}]
    links, filled = document["link"], with_numbers(document)["link"]
    assert filled == [*({**link, **more} for link, more in zip(links, known, strict=False)), *links[3:]]


@pytest.mark.parametrize(
    "document", [{}, {"node": [], "link": [{}]}, {"node": 5, "link": [{}]}, {"node": [{}], "link": 5}]
)
def test_a_document_that_is_no_network_keeps_its_links(document: dict[str, Any]) -> None:
    assert with_numbers(document) is document


def test_nodes_store_what_a_queue_would_lose() -> None:
    """Earth's link is away for 250 s: with storage all of 200 s of video waits, without it is lost."""

    def brought(**keys: Any) -> float:
        document = changed(
            path=[{"via": ["up-a", "a-earth"]}], link__1__loss=None, link__1__cross_traffic=None
        )
        document["node"] = [document["node"][0], {"name": "a", **keys}, document["node"][3]]
        document["link"] = document["link"][:2]
        document["transport"] = {"controller": "dstcc"}
        document["playout"] = {"delay_s": 1000}
        (trial,) = run_trials(parse_scenario(document, source="net.toml"), jobs=1)
        assert trial.metrics is not None, trial.error
        return float(trial.metrics.values["weighted_layers"] or 0)

    assert brought(storage_bytes=10**7) == 1
    assert brought() < 0.9


def test_the_engine_takes_what_is_drawn() -> None:
    scenario = network()
    source = load_source(scenario)
    setup = draw_trial(scenario, source, 1)
    result = simulate(engine_config(scenario, setup, "cubic", "minrtt"))
    assert {node.number for node in result.nodes} == {1, 2}
    assert sum(node.came_packets for node in result.nodes) > 100


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"path__0__via": ["up-a", "b-earth"]}, "path.0.via: not connected: 'up-a' leads to 'a', 'b-earth' begins"),
        ({"path__0__via": ["up-a"]}, "path.1.via: ends at 'earth', but the first path at 'a'"),
        ({"path__1__via": ["b-earth"]}, "path.1.via: begins at 'b', but the first path at 'lander'"),
        (
            {"link__4__to": "lander", "path__2__via": ["up-b", "b-a", "up-a", "a-earth"]},
            "path.2.via: a loop: it comes to 'lander' twice",
        ),
        ({"path__0__via": ["up-c", "a-earth"]}, "path.0.via: no link is named 'up-c'"),
        ({"path__0__via": []}, "path.0.via = []"),
        ({"path__3__via": ["up-a", "a-earth"]}, "path.3.via: is another path's"),
        ({"path__3__name": "over-b"}, "path.3.name: two paths are named 'over-b'"),
        ({"path": []}, "path: missing: give each subflow's links"),
        ({"link__0__to": "c"}, "link.0.to: no node is named 'c' (lander, a, b, earth)"),
        ({"link__0__from": "Lander"}, "link.0.from: no node is named 'Lander'"),
        ({"link__0__from": None}, "link.0.from: missing"),
        ({"link__0__to": "lander"}, "link.0.to: leads from 'lander' to itself"),
        ({"link__0__subflows": 2}, "link.0.subflows: not between nodes"),
        ({"link__0__flows": [{"congestion": "cubic"}]}, "link.0.flows: not between nodes"),
        ({"node__2__name": "a"}, "node.2.name: two nodes are named 'a'"),
        ({"node__0__storage_bytes": 10**6}, "node.0.storage_bytes: 'lander' is an end of the paths"),
        ({"node__3__keeps_over_restart": True}, "node.3.keeps_over_restart: 'earth' is an end of the paths"),
        ({"node__1__storage_bytes": 1499}, "node.1.storage_bytes: 1499 bytes hold no packet, which has up to 1500"),
        ({"node__1__when_full": "drop-tial"}, "node.1.when_full = 'drop-tial'"),
        ({"node__1__restart": {"at_s": [5, 6], "boot_s": 10}}, "comes before the boot"),
        ({"node__1__storage": 5}, "node.1.storage: unknown key; did you mean 'storage_bytes'?"),
        ({"link__0__form": "a"}, "link.0.form: unknown key; did you mean 'from'?"),
        ({"scenario__duration_s": None}, "node: needs duration_s in [scenario]"),
        ({"node__2__forwards": "split"}, "node.2.forwards: 'split', but 'a' on the way has 'packets'"),
        ({**SPLIT, "node__2__storage_bytes": 0}, "node.2.storage_bytes: missing: a node that ends a connection has"),
        ({**SPLIT, "node__1__when_full": "drop-head"}, "node.1.when_full: a node drops nothing that it has acknowl"),
        (
            {**SPLIT, "node__1__keeps_over_restart": False},
            "node.1.restart: a restart ends the connections of a node that splits",
        ),
        (
            {**SPLIT, "transport": {"congestion": "cubic"}},
            "transport.mode: 'stream': over 5 subflows it is MPTCP's, which would end at a node",
        ),
        (
            {**SPLIT, "transport": {"congestion": "ltp"}},
            "transport.congestion: 'ltp' goes from end to end; a node splits the connections of a TCP congestion",
        ),
        ({**SPLIT, "transport": {"controller": "dstcc"}}, "transport.controller: 'dstcc' goes from end to end"),
        (
            {**SPLIT, "transport": {"controller": ["dstcc-lanes", "dstcc"]}},
            "transport.controller: 'dstcc-lanes' goes from end to end",
        ),
        (
            {
                **{key: value for key, value in SPLIT.items() if not key.startswith("path")},
                "path": [{"via": ["up-a", "a-earth"]}, {"via": ["direct"]}],
                "transport": {"congestion": "cubic"},
            },
            "transport.mode: 'stream': over 2 subflows",
        ),
        ({"node__1__name": ""}, "node.1.name = ''"),
        (
            {**SPLIT, "transport": {"congestion": "cubic", "mode": "coded"}},
            "transport.mode: coded packets have no connection that a node could split",
        ),
        (
            {**SPLIT, "transport": {"congestion": "cubic", "mode": "lanes", "receive_buffer_bytes": 10**6}},
            "transport.receive_buffer_bytes: the window that a sender sees is that of the first node",
        ),
        (
            {
                **{key: value for key, value in SPLIT.items() if not key.startswith("path")},
                "path": [{"via": ["up-a", "a-earth"]}],
                "transport": {"congestion": "cubic", "scheduler": "linux"},
            },
            "transport.scheduler: 'linux' goes by what the other end of an MPTCP connection says",
        ),
        (
            {**SPLIT, "path__2__flows": [{"congestion": "cubic"}]},
            "path.2.flows: others' connections need nodes that forward packets",
        ),
        ({"node__2__forwards": "custody"}, "node.2.forwards: 'custody', but 'a' on the way has 'packets'"),
        ({"node__0__forwards": "custody"}, "node.0.forwards: 'lander' is an end of the paths"),
        ({**CUSTODY, "node__2__storage_bytes": 0}, "node.2.storage_bytes: missing: a node that takes custody stores"),
        ({**CUSTODY, "node__1__when_full": "drop-head"}, "node.1.when_full: a node drops nothing that it has custody"),
        (
            {**CUSTODY, "transport": {"congestion": ["ltp", "cubic"]}},
            "transport.congestion: custody is ltp's, hop by hop: 'cubic' goes from end to end",
        ),
        (
            {**CUSTODY, "transport": {"congestion": "ltp", "ltp_green_from_layer": 1}},
            "transport.ltp_green_from_layer: nobody has custody of them",
        ),
        (
            {**CUSTODY, "path__2__flows": [{"congestion": "cubic"}]},
            "path.2.flows: TCP needs nodes that forward packets",
        ),
        ({"node__1__site": {"body": "mars", "latitude_deg": 91, "longitude_deg": 0}}, "node.1: latitude_deg"),
        ({"node__1__stations": ["dss-99"]}, "node.1: no station is called 'dss-99'"),
        ({"link__0__mask_deg": 10}, "link.0.mask_deg: needs nodes with places"),
        (
            {
                "transport": {"congestion": "cubic", "restart": {"at_s": [5], "boot_s": 1, "spool": True}},
                "node__1__when_full": "drop-tail",
            },
            "transport.restart: 'long' has TCP flows of others on it, which would go on",
        ),
        (
            {"transport": {"congestion": "cubic", "restart": {"at_s": [5], "boot_s": 1, "spool": True}}},
            "transport.restart: at 'a' what is stored of an earlier connection would make room for a later one",
        ),
        (
            {
                "transport": {"congestion": "cubic", "restart": {"at_s": [5], "boot_s": 1, "spool": True}},
                "node__1__when_full": "drop-tail",
                "node__2__when_full": "drop-head",
                "node__2__storage_bytes": 10**6,
            },
            "transport.restart: at 'b' what is stored of an earlier connection would make room for a later one",
        ),
        (
            {
                **SPLIT,
                "transport": {**SPLIT["transport"], "restart": {"at_s": [5], "boot_s": 1, "spool": True}},
            },
            "transport.restart: a node that splits would go on with a connection that its sender lost",
        ),
        ({"link__0__outages": [[5, 5.0000000001]]}, "link.0.outages: an outage lasts a nanosecond at least"),
        (
            {"link__0__rate_bps": [[0, 1e5], [5, 1e4], [5.0000000001, 1e5]]},
            "link.0.rate_bps: rows are a nanosecond apart at least",
        ),
        (
            {"transport": {"congestion": "cubic", "scheduler": "layer-pinned", "layer_links": ["a", "b"]}},
            "transport.layer_links: needs one subflow a path",
        ),
        ({"transport": {"congestion": "fixed", "fixed_cwnd_segments": [1, 2]}}, "2 values for 4 paths"),
        ({"link__1__up_outages": [[5, 4]]}, "link.1.up_outages"),
        ({"link__0__outages": [[5, 5.0000000001]]}, "link.0.outages: an outage lasts a nanosecond at least"),
        (
            {"link__0__rate_bps": [[0, 1e5], [5, 1e4], [5.0000000001, 1e5]]},
            "link.0.rate_bps: rows are a nanosecond apart at least",
        ),
        ({"path__2__flows": [{"congestion": "ltp"}]}, "path.2.flows.0.congestion"),
    ],
)  # fmt: skip
def test_what_is_no_network_is_refused_by_name(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        network(**keys)
    assert said in str(refused.value) and str(refused.value).startswith("net.toml: ")


def test_storage_that_holds_no_layer_is_refused_before_the_work() -> None:
    """Two seconds of 20 kbit/s are 5,000 bytes in four packets: 5,160 on the wire."""
    scenario = network(**CUSTODY, node__1__storage_bytes=5_000)
    source = load_source(scenario)
    with pytest.raises(
        ScenarioError, match="custody: 'a' has 5000 bytes; storage holds the largest layer, 5160"
    ):
        engine_config(scenario, draw_trial(scenario, source, 1), "ltp", "none")


def test_storage_too_small_for_all_connections_is_refused_before_the_work() -> None:
    scenario = network(**{**SPLIT, "node__2__storage_bytes": 4_000})
    source = load_source(scenario)
    with pytest.raises(
        ScenarioError, match="split: 'b' has 4000 bytes for 3 connections; each takes 2 packets"
    ):
        engine_config(scenario, draw_trial(scenario, source, 1), "cubic", "minrtt")


def test_over_nodes_that_split_a_sender_goes_by_the_nearest_node() -> None:
    """The first hop to b has the least round trip, whatever is behind it: all 800 segments go there, and in 3,000 s,
    less than five round trips of 620 s, slow start takes some of them on (10 + 20 + 40 + 80 of a connection)."""
    scenario = network(**SPLIT)
    (trial,) = run_trials(scenario, load_source(scenario))
    assert trial.outcome is not None
    nodes = {node.number: node for node in trial.outcome.result.nodes}
    assert nodes[2].came_packets == 800
    assert 150 <= nodes[2].left_packets < 800
    assert nodes[2].held_packets == 800 - nodes[2].left_packets


def test_over_nodes_that_take_custody_a_trial_is_run_hop_by_hop() -> None:
    scenario = network(**CUSTODY)
    (trial,) = run_trials(scenario, load_source(scenario))
    assert trial.outcome is not None
    came = {node.number: node.came_packets for node in trial.outcome.result.nodes}
    assert sum(came.values()) >= len(trial.outcome.setup.objects.payload_bytes)
    assert trial.outcome.metrics.flat()["playback_ratio"] == 1.0


def test_nodes_with_places_give_links_outages_and_light_time() -> None:
    document = changed()
    document["scenario"]["start"] = datetime(2026, 11, 21, tzinfo=UTC)
    document["scenario"]["duration_s"] = 86_400
    for node, place in zip(
        document["node"],
        (
            {"site": {"body": "mars", "latitude_deg": 18, "longitude_deg": 77}},
            {"orbit": {"body": "mars", "altitude_m": 400e3, "inclination_deg": 93}},
            {},
            {"stations": ["goldstone", "madrid"]},
        ),
        strict=True,
    ):
        node.update(place)
    for link in document["link"][:2]:
        link.pop("delay_s")
        link.pop("outages", None)
    document["link"][1]["mask_deg"] = 20
    scenario = parse_scenario(document, source="net.toml")
    up, down = draw_lines(scenario, 1)[:2]
    rover, orbit = Site("mars", 18, 77), CircularOrbit("mars", 400e3, 93)
    lit = relay_windows(rover, orbit, document["scenario"]["start"], 86_400)
    dark = complement(lit, 0.0, 86_400)
    assert up.outages_ns == up.up_outages_ns == tuple((round(a * S), round(b * S)) for a, b in dark)
    assert 400e3 / LIGHT_M_S <= min(up.delay_ns) / S <= 0.01
    to_earth = sight(
        orbit, Stations(("goldstone", "madrid")), document["scenario"]["start"], 86_400, mask_deg=20
    )
    assert len(down.outages_ns) == len(complement(to_earth.there, 0.0, 86_400))
    exact_s = place_light_time_s(
        orbit, Stations(("goldstone", "madrid")), document["scenario"]["start"], np.array(down.delay_t_ns) / S
    )
    assert 600 < exact_s.min() < 660 and np.abs(np.array(down.delay_ns) / S - exact_s).max() < 2e-9
    assert draw_lines(scenario, 1)[2].outages_ns == ()
    again = parse_scenario(tomllib.loads(to_toml(scenario)), source="again")
    assert draw_lines(again, 1) == draw_lines(scenario, 1)


def test_a_plan_goes_before_places_and_a_links_numbers_before_those_of_its_nodes(tmp_path: Path) -> None:
    plan = tmp_path / "plan.txt"
    plan.write_text("a contact +0 +1000 7 8 200000\na contact +0 +2000 8 7 4000\na range +0 +3000 7 8 0.5\n")
    document = changed(
        node__0__number=1,
        node__1__number=2,
        node__0__site={"body": "mars", "latitude_deg": 18, "longitude_deg": 77},
        node__1__orbit={"body": "mars", "altitude_m": 400e3, "inclination_deg": 93},
        scenario__start=datetime(2026, 11, 21, tzinfo=UTC),
        link__0={
            "name": "up-a",
            "from": "lander",
            "to": "a",
            "contacts": str(plan),
            "source": 7,
            "destination": 8,
        },
    )
    line = draw_lines(parse_scenario(document, source="net.toml"), 1)[0]
    assert [outage[0] for outage in line.outages_ns] == [1000 * S]
    assert line.up_outages_ns is not None and [outage[0] for outage in line.up_outages_ns] == [2000 * S]
    assert set(line.delay_ns) == {S // 2}


def test_a_node_is_in_one_place() -> None:
    with pytest.raises(ScenarioError, match="exactly one of orbit, site, stations, not site and stations"):
        network(
            node__1__site={"body": "mars", "latitude_deg": 18, "longitude_deg": 77},
            node__1__stations=["madrid"],
        )


def test_storage_for_one_packet_is_storage() -> None:
    """1,460 bytes and a header of 40."""
    assert network(node__2__storage_bytes=1500).node[2].storage_bytes == 1500
    with pytest.raises(ScenarioError, match=r"node\.2\.storage_bytes: 1499 bytes hold no packet"):
        network(node__2__storage_bytes=1499)


def test_others_on_a_first_link_that_paths_share_are_there_once() -> None:
    _, over_b, long, _ = draw_links(network(link__2__cross_traffic=[{"rate_bps": 1000}]), 1)
    assert (len(over_b.cross_traffic), len(long.cross_traffic)) == (1, 0)


def test_an_ellipse_gives_contacts_and_a_light_time_whose_rows_a_cubic_joins() -> None:
    """The orbiter is quickest at its lowest point, by 2.5 times: rows are that much closer, 7.5 degrees of it there.
    A cubic between them errs by 5/384 (0.13 rad)^4 = 4e-6 of 13 ms at most: below a tenth of a microsecond."""
    ellipse: dict[str, Any] = {
        "body": "mars",
        "altitude_m": 3e6,
        "inclination_deg": 60,
        "eccentricity": 0.4,
        "periapsis_deg": 270,
    }
    ends = (
        End(site=Ground(body="mars", latitude_deg=18, longitude_deg=77)),
        End(orbit=Orbit(**ellipse)),
    )
    start = datetime(2026, 11, 21, tzinfo=UTC)
    t_s, delay_s = light(ends, start, 86_400.0)
    assert (t_s[0], t_s[-1]) == (0, 86_400)
    middle = (t_s[1:] + t_s[:-1]) / 2
    exact = place_light_time_s(place_of_end(ends[0]), place_of_end(ends[1]), start, middle)
    assert np.abs(CubicSpline(t_s, delay_s)(middle)[5:-5] - exact[5:-5]).max() < 1e-7
    assert seen(ends, None, start, 86_400.0).there == relay_windows(
        Site("mars", 18, 77), EllipticOrbit(**ellipse), start, 86_400
    )


@pytest.mark.parametrize(
    ("orbit", "said"),
    [
        ({"periapsis_deg": 30}, "a circle has no lowest point"),
        ({"eccentricity": 0.9}, "the lowest point is -"),
        ({"eccentricity": 1.0}, "node.1.orbit.eccentricity = 1.0"),
    ],
)
def test_an_orbit_that_is_no_ellipse_is_refused(orbit: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        network(node__1__orbit={"body": "mars", "altitude_m": 400e3, **orbit})
    assert said in str(refused.value)


def test_a_node_that_no_link_reaches_is_refused() -> None:
    document = changed()
    document["node"].append({"name": "probe"})
    with pytest.raises(ScenarioError, match=r"node\.4\.name: no link reaches 'probe'"):
        parse_scenario(document, source="net.toml")


def test_a_variant_cannot_have_what_nodes_refuse() -> None:
    document = changed()
    document["variant"] = [
        {"label": "r", "congestion": "cubic", "set": {"restart": {"at_s": [5], "boot_s": 1, "spool": True}}}
    ]
    with pytest.raises(ScenarioError, match=r"variant\.0.*at 'a' what is stored"):
        parse_scenario(document, source="net.toml")


@pytest.mark.parametrize("key", ["from", "to", "path"])
def test_without_nodes_there_are_no_paths(key: str, minimal: Path) -> None:
    override = "path=[{via=['x']}]" if key == "path" else f"link.0.{key}=earth"
    with pytest.raises(ScenarioError, match=r"needs \[\[node\]\] tables"):
        load_scenario(minimal, [parse_override(override)])


def test_packet_logs_are_refused_where_nodes_end_connections() -> None:
    SIMULATOR.check(network(), load_source(network()), {}, logs=("qlog",))
    with pytest.raises(InputError, match="'a' ends connections, and a packet log is of those from end"):
        SIMULATOR.check(network(**SPLIT), load_source(network(**SPLIT)), {}, logs=("qlog",))


def test_the_second_hop_that_links_had_is_refused_and_shown_as_nodes(minimal: Path) -> None:
    with pytest.raises(ScenarioError, match=r"link\.0\.relay: this key is gone: a relay is a node") as caught:
        load_scenario(minimal, [parse_override("link.0.relay={at=0.9, rate_bps=1e5, queue_bytes=9000}")])
    assert caught.value.exit_code == 2
    said = str(caught.value)
    document = tomllib.loads(minimal.read_text()) | tomllib.loads(said[said.index("[[node]]") :])
    document["scenario"]["duration_s"] = 100.0
    for link, keys in zip(document["link"], ({"delay_s": 4.5}, {"delay_s": 0.5}), strict=True):
        link.update(keys, rate_bps=1e5)
    (path,) = draw_links(Scenario.model_validate(document), 1)
    assert path.delay_ns == (5 * 10**9,) and path.first_delay_ns == (4_500_000_000,)
    assert [hop.line.name for hop in path.onward] == ["onward"]


def test_a_scenario_without_nodes_keeps_its_hash(minimal: Path) -> None:
    """As recorded before there were any."""
    recorded = "cbe228f5cb2ac16925d9fa719b3eb59616c82cec729824661946d589061ce9c6"
    assert content_hash(load_scenario(minimal)) == recorded
