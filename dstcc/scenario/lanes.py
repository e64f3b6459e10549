"""``transport.window``: whether each lane has a congestion window, as a connection, or a link's lanes share one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dstcc.algorithms import COUPLED, REDUNDANT, TRANSFERS, schedulers_of, window_of
from dstcc.engine.config import AGENT
from dstcc.extensions import label

from .fields import broken

if TYPE_CHECKING:
    from .model import Scenario, Transport

MAX_WINDOWS_PER_LINK, MAX_WINDOWS = 16, 128
"""Lanes with a window each: of a link's subflow, and of all. Each is a connection."""


def windows_per_link(transport: Transport, congestion: str, scheduler: str) -> int:
    """The number of windows per subflow of a link in a trial of these two labels: its lanes, or one."""
    if transport.mode != "lanes" or congestion in (AGENT, *TRANSFERS):
        return 1
    window_per_lane = (transport.window or window_of(congestion, scheduler)) == "lane"
    return transport.lanes_per_link if window_per_lane else 1


def check_window(transport: Transport) -> None:
    """Raise for a ``window`` that the transport's algorithms do not support."""
    if transport.window is None:
        return
    if transport.mode != "lanes":
        raise broken('needs mode = "lanes"', key="window")
    if transport.window == "link":
        return
    coupled = next((name for name in transport.congestion if name in COUPLED), None)
    if coupled is not None:
        raise broken(
            f"'lane': '{coupled}' couples the subflows of one connection, and lanes with a window each are "
            'connections of their own; use window = "link"',
            key="window",
        )
    if REDUNDANT in transport.scheduler:
        raise broken(
            f"'lane': '{REDUNDANT}' copies to the subflows of one connection, and lanes with a window each are "
            'connections of their own; use window = "link"',
            key="window",
        )


def check_windows(scenario: Scenario) -> None:
    """Raise if there are more lanes with a window each than connections are allowed."""
    transport = scenario.transport
    apart = [
        congestion
        for congestion in transport.congestion
        for scheduler in schedulers_of(congestion, transport.scheduler)
        if windows_per_link(transport, label(congestion), label(scheduler)) > 1
    ]
    if not apart:
        return
    lanes, key = transport.lanes_per_link, "transport.lanes_per_link"
    if lanes > MAX_WINDOWS_PER_LINK:
        raise broken(
            f"{lanes} lanes with a window each under '{apart[0]}'; at most {MAX_WINDOWS_PER_LINK} a subflow of a link: "
            'transport.window = "link" has them share one',
            key=key,
        )
    if scenario.subflows * lanes > MAX_WINDOWS:
        raise broken(
            f"{scenario.subflows * lanes} lanes with a window each under '{apart[0]}' over all links; at most "
            f"{MAX_WINDOWS}",
            key=key,
        )
