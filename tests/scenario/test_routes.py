"""Contact graph routing: beside all rows of contacts on small random plans, and in scenarios without paths."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise, permutations
from random import Random
from typing import Any

import pytest

from dstcc.errors import ScenarioError
from dstcc.scenario import to_toml
from dstcc.scenario.draws import draw_lines
from dstcc.scenario.load import parse_scenario
from dstcc.scenario.network import MAX_PATHS
from dstcc.scenario.routes import MOST_ROUTES, Contact, book, contacts_of, needs_routes, route, simple_rows

from .test_network import TWO

NODES = ("s", "a", "b", "c", "t")


def plan(number: int) -> list[Contact]:
    random = Random(number)
    contacts = []
    for _ in range(random.randint(3, 8)):
        tail, head = random.sample(NODES, 2)
        begin = random.randint(0, 20)
        contacts.append(
            Contact(
                link=f"{tail}{head}",
                tail=tail,
                head=head,
                from_s=float(begin),
                to_s=float(begin + random.randint(1, 8)),
                rate_bps=8.0 * random.choice((1, 2, 4)),
                light_s=float(random.randint(0, 3)),
            )
        )
    return contacts


def first_of_all_rows(contacts: list[Contact], there_s: float, bytes_: float) -> float | None:
    """The earliest arrival at t over every row of up to four contacts."""
    best: float | None = None
    for length in range(1, 5):
        for row in permutations(contacts, length):
            if row[0].tail != "s" or row[-1].head != "t":
                continue
            if any(one.head != other.tail for one, other in pairwise(row)):
                continue
            at: float | None = there_s
            for contact in row:
                start = max(at, contact.booked_until_s)
                over = start + 8 * bytes_ / contact.rate_bps
                at = over + contact.light_s if start < contact.to_s and over <= contact.to_s else None
                if at is None:
                    break
            if at is not None and (best is None or at < best):
                best = at
    return best


@pytest.mark.parametrize("number", range(60))
def test_a_route_arrives_first_of_all_rows_bundle_after_bundle(number: int) -> None:
    contacts, random = plan(number), Random(1000 + number)
    for _ in range(5):
        there_s, bytes_ = float(random.randint(0, 10)), float(random.choice((1, 2, 3)))
        wanted = first_of_all_rows(contacts, there_s, bytes_)
        found = route(contacts, "s", "t", there_s, bytes_)
        assert (found and found[0]) == wanted
        if found is not None:
            assert [found[1][0].tail, *(one.head for one in found[1])][-1] == "t"
            book(found[1], there_s, bytes_)


def test_some_plans_have_routes_and_some_have_none() -> None:
    found = [route(plan(number), "s", "t", 0.0, 1.0) is None for number in range(60)]
    assert 10 < sum(found) < 55


def test_what_is_booked_is_gone() -> None:
    """4 bytes at a byte a second in a contact of 5 s: the second bundle takes the slower way."""
    direct = Contact("st", "s", "t", 0, 5, 8.0, 1.0)
    detour = [Contact("sa", "s", "a", 0, 50, 8.0, 1.0), Contact("at", "a", "t", 0, 50, 8.0, 1.0)]
    contacts = [direct, *detour]
    arrives, row = route(contacts, "s", "t", 0, 4) or (0.0, ())
    assert arrives == 5 and row == (direct,)
    book(row, 0, 4)
    arrives, row = route(contacts, "s", "t", 0, 4) or (0.0, ())
    assert arrives == 10 and row == tuple(detour)


def without_paths(**keys: Any) -> dict[str, Any]:
    document = deepcopy(TWO) | keys
    del document["path"]
    document["link"] = [link for link in document["link"] if link["name"] not in keys.get("without", ())]
    document.pop("without", None)
    return document


def test_a_scenario_without_paths_has_those_that_routing_finds() -> None:
    scenario = parse_scenario(without_paths(), source="net.toml")
    routes = [path.via for path in scenario.path]
    assert ("up-b", "b-earth") in routes, "40 kbit/s fit there, and over a the Earth is away until 250 s"
    assert all(way.links for way in scenario.ways)
    assert parse_scenario(without_paths(), source="net.toml") == scenario
    assert "[[path]]" in to_toml(scenario)


def test_where_no_route_is_it_is_refused_by_name() -> None:
    document = without_paths()
    document["link"] = [{**link, "outages": [[0, 3000]]} for link in document["link"]]
    with pytest.raises(ScenarioError, match=r"net\.toml: path: missing, and no route is found"):
        parse_scenario(document, source="net.toml")


def test_ends_that_are_not_plain_need_paths() -> None:
    document = without_paths()
    document["link"] = [
        *document["link"],
        {"name": "back", "from": "earth", "to": "lander", "rate_bps": 1000, "delay_s": 300},
    ]
    with pytest.raises(
        ScenarioError,
        match=r"path: missing: routes are found from the one .* here these are none and none: give",
    ):
        parse_scenario(document, source="net.toml")


def test_an_unknown_node_is_named_first() -> None:
    document = without_paths()
    document["link"][0]["to"] = "x"
    with pytest.raises(ScenarioError, match=r"link\.0\.to: no node is named 'x'"):
        parse_scenario(document, source="net.toml")


def test_a_link_is_free_while_the_light_travels() -> None:
    """2 s each on the line: the second bundle leaves at 2 s, when the first is still under way."""
    contact = Contact("st", "s", "t", 0, 50, 8.0, 10.0)
    book([contact], 0, 2)
    assert contact.sends(0, 2) == (4, 14)


def links_between(*links: tuple[str, dict[str, Any]], **video: Any) -> dict[str, Any]:
    """100 kbit/s each, hardly any light time; 40 kbit/s of video for 200 s are 200 bundles of 0.4 s each."""
    document = without_paths()
    names = [name for name, _ in links]
    document["node"] = [{"name": one} for one in sorted({end for name in names for end in name})]
    document["link"] = [
        {"name": name, "from": name[0], "to": name[1], "rate_bps": 100_000, "delay_s": 1e-3} | keys
        for name, keys in links
    ]
    document["video"] |= video
    return document


def paths_of(document: dict[str, Any]) -> list[tuple[str, ...]]:
    return [path.via for path in parse_scenario(document, source="net.toml").path]


STORED = {"source": "stored"}


@pytest.mark.parametrize(
    ("outages", "video", "is_found"),
    [
        ([[1.39, 3000]], {}, False),
        ([[1.41, 3000]], {}, True),
        ([[0.401, 3000]], STORED, True),
        ([[0.399, 3000]], STORED, False),
        ([[0, 2999.5], [3500, 4000]], {}, True),
        ([[0, 2999.7], [3500, 4000]], {}, False),
    ],
)
def test_a_bundle_is_there_when_it_is_captured_and_goes_within_the_run(
    outages: list[list[float]], video: dict[str, Any], is_found: bool
) -> None:
    """The first is whole at 1 s, of a stored video all at 0; each takes 0.4 s, and the run ends at 3,000 s."""
    document = links_between(("ab", {"outages": outages}), **video)
    if is_found:
        assert paths_of(document) == [("ab",)]
    else:
        with pytest.raises(ScenarioError, match="no route is found"):
            paths_of(document)


def test_what_most_bundles_take_is_the_first_path() -> None:
    """The quicker way ends after a quarter of the video."""
    quick = {"outages": [[50.9, 3000]]}
    document = links_between(("ab", quick), ("bd", quick), ("ac", {}), ("cd", {"delay_s": 5}))
    assert paths_of(document) == [("ac", "cd"), ("ab", "bd")]


def test_the_light_time_of_a_contact_is_that_of_its_time() -> None:
    grows = {"outages": [[100, 150]], "delay_s": [[0, 1], [60, 1], [150, 100], [3000, 100]]}
    scenario = parse_scenario(links_between(("ab", grows)), source="net.toml")
    contacts = contacts_of(scenario, draw_lines(scenario, 1), 3000)
    assert [(one.from_s, one.to_s, one.light_s) for one in contacts] == [(0, 100, 1), (150, 3000, 100)]


def test_links_that_go_round_are_no_row() -> None:
    document = links_between(("ab", {}), ("bc", {}), ("cb", {}), ("cd", {}))
    assert paths_of(document) == [("ab", "bc", "cd")]


def test_a_link_to_nowhere_is_named_before_ends_are_sought() -> None:
    """Nothing leads to `a` then, as to the lander."""
    document = without_paths(without=("b-a",))
    document["link"][0]["to"] = "x"
    with pytest.raises(ScenarioError, match=r"link\.0\.to: no node is named 'x'"):
        parse_scenario(document, source="net.toml")


def test_of_two_contacts_as_quick_the_first_is_taken() -> None:
    one, other = (Contact(name, "s", "t", 0, 50, 8.0, 1.0) for name in ("one", "other"))
    assert route([one, other], "s", "t", 0, 2) == (3, (one,))


def test_a_contact_is_used_to_its_end() -> None:
    contact = Contact("st", "s", "t", 1, 5, 8.0, 1.0)
    assert contact.sends(0, 4) == (5, 6)
    assert contact.sends(1.5, 4) is None


@pytest.mark.parametrize(("until_s", "is_found"), [(0.49, False), (0.51, True)])
def test_a_video_that_is_not_synthetic_has_half_of_what_the_quickest_link_carries(
    until_s: float, is_found: bool
) -> None:
    """50 kbit/s for 200 s: a bundle takes the 100 kbit/s half a second."""
    slow = {"rate_bps": 10_000, "outages": [[0, 3000]]}
    document = links_between(("ab", {"outages": [[until_s, 3000]]}), ("ac", slow), ("cb", {}), **STORED)
    del document["video"]["synthetic"]
    document["video"]["stream"] = "bunny"
    if is_found:
        assert paths_of(document) == [("ab",)]
    else:
        with pytest.raises(ScenarioError, match="no route is found"):
            paths_of(document)


def test_no_more_rows_of_links_are_sought_than_there_may_be_paths() -> None:
    document = {
        "node": [{"name": "a"}, {"name": "b"}],
        "link": [{"name": f"{n}", "from": "a", "to": "b"} for n in range(70)],
    }
    assert simple_rows(document) == [[f"{n}"] for n in range(MOST_ROUTES)]
    assert MOST_ROUTES == MAX_PATHS


NET: dict[str, Any] = {"node": [{"name": "a"}, {"name": "b"}], "link": [{"from": "a", "to": "b"}]}


@pytest.mark.parametrize(
    ("document", "needs"),
    [
        (NET, True),
        ({**NET, "path": []}, False),
        ({"node": NET["node"]}, False),
        ({**NET, "node": []}, False),
        ({**NET, "link": 5}, False),
        ({**NET, "link": [{"from": "a"}]}, False),
    ],
)
def test_routes_are_sought_for_nodes_and_links_without_paths(document: dict[str, Any], needs: bool) -> None:
    assert needs_routes(document) is needs


def test_a_network_in_two_parts_has_no_row() -> None:
    document = links_between(*((name, {}) for name in ("ab", "be", "eb", "cf", "fc", "cd")))
    with pytest.raises(ScenarioError, match="path: missing, and no links lead from 'a' to 'd'"):
        paths_of(document)


def test_a_later_way_to_a_node_does_not_end_the_search() -> None:
    """Both contacts lead to `a`, the later one is found first; on from there it takes until 21 s."""
    late, soon = (Contact("sa", "s", "a", begin, 50, 8.0, 1.0) for begin in (8, 3))
    on = Contact("at", "a", "t", 18, 50, 8.0, 1.0)
    assert route([late, soon, on], "s", "t", 0, 2) == (21, (soon, on))
