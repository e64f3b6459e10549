"""When a link between the Earth and something far away can be used, in the sender's time.

::

    down    leaves at t:  the orbiter sees the Earth at t,   a station sees the planet at t + tau
    up      leaves at t:  a station sees the planet at t,    the orbiter sees the Earth at t + tau
    outages               what is left of the run

Windows at the receiving end are moved back by the light time, so that the result says when to send.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import numpy as np

from dstcc.errors import InputError

from .bodies import body
from .light_time import light_time_s
from .orbits import CircularOrbit, occultation
from .sites import Site, earth_windows
from .stations import DEFAULT_MASK_DEG, visibility
from .windows import Windows, complement, intersection, union

Far = str | CircularOrbit | Site
"""The far end: a body (from which the Earth is always visible), an orbiter, or a lander."""
DIRECTIONS = ("down", "up")


def link_windows(
    far: Far,
    stations: Iterable[str],
    start: datetime,
    duration_s: float,
    *,
    direction: str = "down",
    mask_deg: float = DEFAULT_MASK_DEG,
    ephemeris: str = "kepler",
) -> Windows:
    """When a packet may leave, seconds after ``start``, so that any of ``stations`` and the far end see each other.

    ``mask_deg`` is the least elevation at the stations and at a lander. Raises like :func:`.light_time_s` and
    :func:`.visibility`.
    """
    there, here = _ends(
        far, stations, start, duration_s, direction=direction, mask_deg=mask_deg, ephemeris=ephemeris
    )
    leaves, arrives = (there, here) if direction == "down" else (here, there)
    return intersection(leaves, arrives)


def link_obstacles(
    far: Far,
    stations: Iterable[str],
    start: datetime,
    duration_s: float,
    *,
    direction: str = "down",
    mask_deg: float = DEFAULT_MASK_DEG,
    ephemeris: str = "kepler",
) -> tuple[Windows, Windows]:
    """When no packet may leave for what is in the far end's way (its body, or its horizon), and for what is in the
    stations'. The keywords are those of :func:`link_windows`; the two may overlap."""
    there, here = _ends(
        far, stations, start, duration_s, direction=direction, mask_deg=mask_deg, ephemeris=ephemeris
    )
    return complement(there, 0.0, duration_s), complement(here, 0.0, duration_s)


def link_outages(
    far: Far,
    stations: Iterable[str],
    start: datetime,
    duration_s: float,
    *,
    direction: str = "down",
    mask_deg: float = DEFAULT_MASK_DEG,
    ephemeris: str = "kepler",
) -> Windows:
    """When no packet may leave: the rest of the run. The keywords are those of :func:`link_windows`."""
    usable = link_windows(
        far, stations, start, duration_s, direction=direction, mask_deg=mask_deg, ephemeris=ephemeris
    )
    return complement(usable, 0.0, duration_s)


def _ends(
    far: Far,
    stations: Iterable[str],
    start: datetime,
    duration_s: float,
    *,
    direction: str,
    mask_deg: float,
    ephemeris: str,
) -> tuple[Windows, Windows]:
    """When the far end has a view of the Earth and when a station has one of the far end, in the sender's time."""
    if direction not in DIRECTIONS:
        raise InputError(f"direction: {direction!r} is none; allowed: {', '.join(DIRECTIONS)}")
    planet = body(far if isinstance(far, str) else far.body).name
    names = list(stations)

    def at_earth(from_s: float, length_s: float) -> Windows:
        seen = [
            visibility(name, planet, start, length_s, mask_deg=mask_deg, ephemeris=ephemeris, from_s=from_s)
            for name in names
        ]
        return union(*seen)

    def at_far_end(from_s: float, length_s: float) -> Windows:
        if isinstance(far, Site):
            return earth_windows(far, start, length_s, mask_deg=mask_deg, ephemeris=ephemeris, from_s=from_s)
        hidden = (
            occultation(far, start, length_s, ephemeris=ephemeris, from_s=from_s)
            if isinstance(far, CircularOrbit)
            else []
        )
        return complement(hidden, from_s, from_s + length_s)

    down = direction == "down"
    sender, receiver = (planet, "earth") if down else ("earth", planet)
    leaves, arrives = (at_far_end, at_earth) if down else (at_earth, at_far_end)
    ends = np.array([0.0, duration_s])
    first, last = ends + light_time_s(sender, receiver, start, ends, ephemeris=ephemeris, sent=True)
    edges = np.array(arrives(float(first), float(last - first))).reshape(-1, 2)
    edges = edges - light_time_s(receiver, sender, start, edges, ephemeris=ephemeris)
    moved = [(float(one), float(other)) for one, other in edges]
    sent = leaves(0.0, duration_s)
    return (sent, moved) if down else (moved, sent)
