"""What holds on any network of a scenario file: conservation, light, contacts, the bound, the same bytes."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from dstcc.run.trials import Outcome, run_trials
from dstcc.scenario.load import parse_scenario

S = 10**9


def outages(random: Random, end: int) -> list[list[int]]:
    edges = sorted(random.sample(range(0, end, 5), 2 * random.randint(0, 3)))
    return [list(pair) for pair in zip(edges[::2], edges[1::2], strict=True)]


def network(number: int) -> dict[str, Any]:
    """Up to 6 nodes between the ends, in 2 rows, and 1 to 4 paths of one to three links from row to row."""
    random, end = Random(number), 400
    rows = [[f"a{i}" for i in range(random.randint(1, 3))], [f"b{i}" for i in range(random.randint(1, 3))]]
    paths: list[list[str]] = []
    links: dict[str, dict[str, Any]] = {}
    for _ in range(random.randint(1, 4)):
        nodes = ["src", *(random.choice(row) for row in rows if random.random() < 0.8), "dst"]
        via = [f"{tail}-{head}" for tail, head in pairwise(nodes)]
        if via in paths:
            continue
        paths.append(via)
        for name in via:
            tail, head = name.split("-")
            links.setdefault(
                name,
                {
                    "name": name,
                    "from": tail,
                    "to": head,
                    "rate_bps": random.choice((40_000, 80_000, 160_000)),
                    "up_rate_bps": random.choice((4_000, 40_000)),
                    "delay_s": random.choice((0.01, 1.0, 5.0)),
                    "outages": outages(random, end),
                    "loss": {"packet": random.choice((0.0, 0.01))},
                    "cross_traffic": random.choice(([], [], [{"rate_bps": 5_000}])),
                },
            )
    used = {end_ for link in links.values() for end_ in (link["from"], link["to"])}
    on_way = [
        {
            "name": name,
            "storage_bytes": random.choice((0, 6_000, 10**6)),
            "when_full": random.choice(("drop-tail", "drop-head", "lowest-layer")),
            "restart": {"at_s": [random.randint(20, 200)], "boot_s": 5},
            "keeps_over_restart": random.random() < 0.5,
        }
        for name in sorted(used - {"src", "dst"})
    ]
    return {
        "scenario": {"name": f"random {number}", "duration_s": end},
        "video": {"synthetic": {"chunk_s": 2.0, "layer_bps": [10_000, 10_000, 10_000]}, "loop_to_s": 100},
        "node": [{"name": "src"}, {"name": "dst"}, *on_way],
        "link": list(links.values()),
        "path": [{"via": via} for via in paths],
        "transport": random.choice(
            ({"congestion": "cubic"}, {"congestion": "open-loop"}, {"controller": "dstcc"})
        ),
        "playout": {"delay_s": random.choice((60, 150))},
        "run": {"slot_s": 10},
    }


def outcome(number: int) -> Outcome:
    (trial,) = run_trials(parse_scenario(network(number), source="net.toml"), jobs=1)
    assert trial.outcome is not None, trial.error
    return trial.outcome


@pytest.mark.parametrize(
    "number",
    [
        *range(0, 15),
        *(pytest.param(number, marks=pytest.mark.slow) for number in range(15, 30)),
    ],
)
def test_what_holds_on_any_network(number: int) -> None:
    seen = outcome(number)
    result, links = seen.result, seen.setup.links
    for node in result.nodes:
        gone = node.left_packets + node.dropped_packets + node.lost_in_restarts_packets
        assert node.came_packets == gone + node.held_packets
    stored = {hop.node.number: hop.node.storage_bytes for link in links for hop in link.onward}
    assert all(node.most_held_bytes <= stored[node.number] for node in result.nodes)
    objects = result.objects
    light = min(min(link.delay_ns) for link in links)
    came = objects.first_arrival_ns >= 0
    assert (objects.first_arrival_ns[came] >= objects.first_sent_ns[came] + light).all(), (
        "no arrival before light"
    )
    bound = seen.metrics.values["oracle_ratio"]
    assert bound is None or bound <= 1 + 1e-9, "no sender beats what the network can pass"
    dark = {
        hop.number: hop.line.outages_ns for link in links for hop in link.onward if hop.node.storage_bytes
    }
    ends = seen.slot_ends_ns
    for hop in result.hops:
        put = np.diff(hop.slot_sent_packets, prepend=0)
        for begin, end in dark.get(hop.number, ()):
            inside = (ends - seen.setup.slot_ns >= begin) & (ends < end)
            assert (put[inside] == 0).all(), "a node that stores puts nothing on a link that is away"


@pytest.mark.parametrize("number", range(3))
def test_the_same_scenario_gives_the_same_bytes(number: int) -> None:
    one, other = outcome(number).result, outcome(number).result
    for mine, theirs in ((one.objects, other.objects), (one.samples, other.samples)):
        for name, column in vars(mine).items():
            assert np.array_equal(column, getattr(theirs, name)), name
    assert repr(one.nodes) == repr(other.nodes) and repr(one.hops) == repr(other.hops)


@pytest.mark.parametrize(
    ("first_bps", "second_bps"), [(100_000, 60_000), (60_000, 100_000), (80_000, 80_000)]
)
def test_two_hops_with_ample_storage_carry_the_lesser_rate(first_bps: int, second_bps: int) -> None:
    """Stored video of more than fits, from time 0 on: what is on Earth by the end, of the lesser rate less the light
    time, 60 s of 1,000, and the share of headers."""
    document = network(0)
    document["video"] = {
        "synthetic": {"chunk_s": 2.0, "layer_bps": [120_000]},
        "loop_to_s": 1000,
        "source": "stored",
    }
    document["scenario"]["duration_s"] = 1000
    document["node"] = [{"name": "src"}, {"name": "mid", "storage_bytes": 10**8}, {"name": "dst"}]
    document["link"] = [
        {"name": "one", "from": "src", "to": "mid", "rate_bps": first_bps, "delay_s": 30},
        {"name": "two", "from": "mid", "to": "dst", "rate_bps": second_bps, "delay_s": 30},
    ]
    document["path"] = [{"via": ["one", "two"]}]
    document["transport"] = {"congestion": "open-loop", "mode": "coded", "handshake": False}
    document["playout"] = {"delay_s": 10_000}
    (trial,) = run_trials(parse_scenario(document, source="net.toml"), jobs=1)
    assert trial.outcome is not None, trial.error
    hops = {hop.number: hop for hop in trial.outcome.result.hops}
    sent_s = 1000 - 30  # at the node
    assert hops[1].sent_packets * 1500 * 8 >= 0.98 * min(first_bps, second_bps) * sent_s
