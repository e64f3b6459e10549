"""When two nodes of a network see each other, and the light time between them.

::

    site, orbiter       of one body: the orbiter stands above the site's mask
    orbiter, orbiter    of one body: the line between them stays above its ground
    either, stations    as of a link with the Earth (:mod:`.links`); the light time is that from the place itself

Around one body the light time is the distance over c at the moment of sending: what an end moves meanwhile is below
1e-5 of it. Other pairs (two sites, orbiters of two bodies, two groups of stations) are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from .bodies import body
from .light_time import LIGHT_M_S, sight_m
from .links import link_times
from .orbits import CircularOrbit
from .sites import Site, relay_elevation_deg
from .stations import DEFAULT_MASK_DEG
from .windows import Windows, where_above


@dataclass(frozen=True)
class Stations:
    """Antennas on Earth that take turns, each by its name, or that of its complex."""

    names: tuple[str, ...]


Place = Site | CircularOrbit | Stations


@dataclass(frozen=True)
class Sight:
    """Of what one place sends to another, by the sender's clock, and of what that sends back, by its own."""

    there: Windows
    """When a packet may leave so that it arrives."""
    back: Windows


def sight(
    one: Place,
    other: Place,
    start: datetime,
    duration_s: float,
    *,
    mask_deg: float = DEFAULT_MASK_DEG,
    ephemeris: str = "kepler",
) -> Sight:
    """When two places see each other in a run of ``duration_s`` from ``start``.

    ``mask_deg`` is the least elevation at a site and at stations. Raises ``InputError`` for pairs that have no such
    times here, and like :func:`.link_times`.
    """
    if isinstance(other, Stations) or isinstance(one, Stations):
        down = isinstance(other, Stations)
        far, names = (one, other) if down else (other, one)
        if isinstance(far, Stations) or not isinstance(names, Stations):
            raise InputError("stations see orbiters and sites, not each other")
        seen = [
            link_times(
                far, names.names, start, duration_s, direction=way, mask_deg=mask_deg, ephemeris=ephemeris
            ).usable
            for way in ("down", "up")
        ]
        return Sight(*(seen if down else reversed(seen)))
    _same_body(one, other)
    orbits = [place for place in (one, other) if isinstance(place, CircularOrbit)]
    sites = [place for place in (one, other) if isinstance(place, Site)]
    if not orbits:
        raise InputError("two sites do not see each other here: a relay between them is an orbiter")
    step_s = min(orbit.sample_s for orbit in orbits)
    if sites:
        windows = where_above(
            lambda t_s: relay_elevation_deg(sites[0], orbits[0], start, t_s),
            mask_deg,
            0.0,
            duration_s,
            step_s,
        )
    else:
        windows = where_above(
            lambda t_s: _clearance_m(orbits[0], orbits[1], start, t_s), 0.0, 0.0, duration_s, step_s
        )
    return Sight(windows, windows)


def place_light_time_s(
    one: Place, other: Place, start: datetime, t_s: ArrayLike, *, ephemeris: str = "kepler"
) -> NDArray[np.float64]:
    """Seconds that light takes between two places, for what leaves at ``t_s`` seconds after ``start``; its shape.

    To stations it is that to the Earth's centre (at most 21 ms more).
    """
    times = np.asarray(t_s, dtype=np.float64).ravel()
    if isinstance(one, Stations) or isinstance(other, Stations):
        far = other if isinstance(one, Stations) else one
        if isinstance(far, Stations):
            raise InputError("stations see orbiters and sites, not each other")
        between = sight_m(far.body, "earth", start, times, ephemeris=ephemeris, sent=True)
        between = between - _position_m(far, start, times)
    else:
        _same_body(one, other)
        between = _position_m(one, start, times) - _position_m(other, start, times)
    out: NDArray[np.float64] = (np.linalg.norm(between, axis=1) / LIGHT_M_S).reshape(np.shape(t_s))
    return out


def _position_m(
    place: Site | CircularOrbit, start: datetime, t_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """From the body's centre, ``(n, 3)``, ICRF."""
    if isinstance(place, CircularOrbit):
        return place.position_m(start, t_s)
    return body(place.body).radius_m * place.up(start, t_s)


def _clearance_m(
    one: CircularOrbit, other: CircularOrbit, start: datetime, t_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far above the ground the line between two orbiters passes, at its lowest."""
    first, second = one.position_m(start, t_s), other.position_m(start, t_s)
    along = second - first
    length2 = np.maximum(np.sum(along * along, axis=1), 1e-6)
    nearest = np.clip(-np.sum(first * along, axis=1) / length2, 0.0, 1.0)
    lowest = np.linalg.norm(first + nearest[:, None] * along, axis=1)
    return np.asarray(lowest - body(one.body).radius_m, dtype=np.float64)


def _same_body(one: Site | CircularOrbit, other: Site | CircularOrbit) -> None:
    if body(one.body) != body(other.body):
        raise InputError(f"places at {one.body!r} and {other.body!r} see each other over no link here")
