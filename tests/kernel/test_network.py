"""Routes of a network's nodes (``network.py``): along the paths, and a tree to each destination."""

from __future__ import annotations

import random

import pytest
from dstcc_kernel.endhosts.naming import hosts_of
from dstcc_kernel.job import of_document
from dstcc_kernel.network import Network

from dstcc.errors import InputError


def network(ends: list[tuple[int, int]], *paths: tuple[int, ...]) -> Network:
    nodes = tuple(f"n{node}" for node in range(1 + max(max(pair) for pair in ends)))
    return Network(
        nodes, tuple(ends), paths, tuple(f"p{p}" for p in range(len(paths))), (0,) * len(nodes), ()
    )


def test_an_ends_packets_go_along_the_first_path() -> None:
    """0 to 3 by 1, though the link 0 to 3 is there; back along the same links."""
    net = network([(0, 3), (0, 1), (1, 3)], (1, 2), (0,))
    assert net.next_links(3) == {0: 1, 1: 2}
    assert net.next_links(0) == {3: 2, 1: 1}
    assert net.next_links(1) == {0: 1, 3: 2}
    assert (net.source, net.sink, net.route(0)) == (0, 3, (0, 1, 3))


def test_paths_that_pass_two_nodes_in_either_order_make_no_loop() -> None:
    net = network([(0, 1), (1, 2), (2, 3), (0, 2), (2, 1), (1, 3)], (0, 1, 2), (3, 4, 5))
    for destination in range(4):
        assert _reaches(net, destination) == {0, 1, 2, 3}


def test_a_node_beside_the_paths_is_reached_and_reaches() -> None:
    net = network([(0, 1), (1, 2), (3, 1)], (0, 1))
    assert net.next_links(3) == {1: 2, 0: 0, 2: 1}
    assert net.next_links(2)[3] == 2


@pytest.mark.parametrize("seed", range(40))
def test_random_networks_have_a_tree_to_each_node(seed: int) -> None:
    """Whoever is joined to a destination comes there over links that are, and meets no node twice."""
    draw = random.Random(seed)
    count = draw.randint(2, 8)
    ends = [(draw.randrange(node), node) for node in range(1, count)]
    ends += [tuple(sorted(draw.sample(range(count), 2))) for _ in range(draw.randint(0, 6))]  # type: ignore[misc]
    paths = list(dict.fromkeys(_walk(ends, count - 1, draw) for _ in range(3)))
    net = network(ends, *paths)
    for destination in range(count):
        assert _reaches(net, destination) == set(range(count))
    assert of_document(
        Network,
        {"nodes": [*net.nodes], "ends": [*map(list, net.ends)], "paths": [*map(list, net.paths)],
         "names": [*net.names], "storage_bytes": [*net.storage_bytes], "config": [], "numbers": []}
    ) == net  # fmt: skip


def _walk(ends: list[tuple[int, int]], sink: int, draw: random.Random) -> tuple[int, ...]:
    """A row of links from node 0 to the last."""
    row: list[int] = []
    node = sink
    while node != 0:
        link = draw.choice([number for number, (_, head) in enumerate(ends) if head == node])
        row.insert(0, link)
        node = ends[link][0]
    return tuple(row)


def _reaches(net: Network, destination: int) -> set[int]:
    """The nodes from which a packet comes there."""
    found = {destination}
    next_links = net.next_links(destination)
    for start in next_links:
        node, seen = start, {start}
        while node != destination:
            assert node in net.ends[next_links[node]]
            node = net.other(node, next_links[node])
            assert node not in seen
            seen.add(node)
        found.add(start)
    return found


def test_draws_and_nodes_of_a_link_are_the_engines() -> None:
    """The first link of a path has its path's number, another 2^20 and its own; ends are no nodes."""
    net = network([(0, 1), (1, 2), (0, 2)], (2,), (0, 1))
    assert net.between(2) == "between 0 -1 -1"
    assert net.between(0) == "between 1 -1 1"
    assert net.between(1) == f"between {(1 << 20) + 1} 1 -1"


def test_names_of_nodes_become_names_of_hosts() -> None:
    assert hosts_of(["Rover №1", "earth", "$(reboot)", "火星"]) == ("rover-1", "earth", "reboot", "node-4")
    assert hosts_of(["a" * 80]) == ("a" * 63,)
    for names, said in (
        (["A b", "a-b"], "its host would be a-b"),
        (["Localhost"], "can be called localhost"),
    ):
        with pytest.raises(InputError, match=said):
            hosts_of(names)
