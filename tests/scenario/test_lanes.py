"""``transport.window``: how many windows there are, and how many there may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_core import PydanticCustomError

from dstcc.scenario.lanes import check_window, check_windows, windows_per_link


@dataclass
class Transport:
    mode: str = "lanes"
    window: str | None = None
    lanes_per_link: int = 4
    congestion: tuple[str, ...] = ("cubic",)
    scheduler: tuple[str, ...] = ("minrtt",)


@pytest.mark.parametrize(
    ("congestion", "scheduler", "more", "windows"),
    [
        ("cubic", "minrtt", {}, 4),
        ("cubic", "minrtt", {"mode": "stream"}, 1),
        ("cubic", "minrtt", {"mode": "coded"}, 1),
        ("cubic", "minrtt", {"window": "link"}, 1),
        ("cubic", "redundant", {}, 1),
        ("lia", "minrtt", {}, 1),
        ("fixed", "minrtt", {}, 1),  # it is given its window
        ("fixed", "minrtt", {"window": "lane"}, 4),
        ("ltp", "none", {"window": "lane"}, 1),
        ("agent", "minrtt", {"window": "lane"}, 1),
    ],
)
def test_a_link_has_a_window_or_one_for_each_lane(
    congestion: str, scheduler: str, more: dict[str, Any], windows: int
) -> None:
    transport: Any = Transport(**more)
    assert windows_per_link(transport, congestion, scheduler) == windows


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({}, None),
        ({"mode": "stream"}, None),
        ({"mode": "stream", "window": "lane"}, 'needs mode = "lanes"'),
        ({"window": "link", "congestion": ("lia",), "scheduler": ("redundant",)}, None),
        ({"window": "lane"}, None),
        ({"window": "lane", "congestion": ("cubic", "lia")}, "'lane': 'lia' couples the subflows"),
        (
            {"window": "lane", "scheduler": ("minrtt", "redundant")},
            "'lane': 'redundant' copies to the subflows",
        ),
    ],
)
def test_a_window_for_each_lane_is_of_what_works_over_connections(
    more: dict[str, Any], rule: str | None
) -> None:
    transport: Any = Transport(**more)
    if rule is None:
        check_window(transport)
        return
    with pytest.raises(PydanticCustomError, match=rule):
        check_window(transport)


@dataclass
class Scenario:
    subflows: int
    transport: Transport


@pytest.mark.parametrize(
    ("subflows", "more", "rule"),
    [
        (8, {"lanes_per_link": 16}, None),  # 16 a link, 128 in all
        (
            1,
            {"lanes_per_link": 17},
            "17 lanes with a window each under 'cubic'; at most 16 a subflow of a link",
        ),
        (9, {"lanes_per_link": 15}, "135 lanes with a window each under 'cubic' over all links; at most 128"),
        (43, {"lanes_per_link": 3}, "129 lanes with a window each under 'cubic' over all links"),
        (100, {"lanes_per_link": 1}, None),  # each has one
        (9, {"lanes_per_link": 99, "congestion": ("lia", "fixed")}, None),
        (
            9,
            {"lanes_per_link": 99, "congestion": ("lia", "reno")},
            "^99 lanes with a window each under 'reno'; at most 16",
        ),
        (9, {"lanes_per_link": 99, "window": "link"}, None),
        (9, {"lanes_per_link": 99, "scheduler": ("redundant",)}, None),
        (9, {"lanes_per_link": 99, "scheduler": ("redundant", "minrtt")}, "99 lanes"),
        (9, {"lanes_per_link": 99, "congestion": ("ltp",)}, None),
    ],
)
def test_lanes_with_a_window_each_are_not_too_many(
    subflows: int, more: dict[str, Any], rule: str | None
) -> None:
    scenario: Any = Scenario(subflows, Transport(**more))
    if rule is None:
        check_windows(scenario)
        return
    with pytest.raises(PydanticCustomError, match=rule):
        check_windows(scenario)
