"""A lander's view: the elevation of the Earth and of a relay at a place on a planet.

The body is a sphere of its equatorial radius: the vertical points away from its centre, latitudes are planetocentric
(on Mars at most 0.34 degrees from the plumb line, and 20 km from its ground at the poles). Rotation: :mod:`.rotation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from .bodies import body
from .light_time import sight_m
from .orbits import CircularOrbit
from .rotation import rotation
from .stations import DEFAULT_MASK_DEG
from .times import tdb_s
from .windows import Windows, where_above

STEP_S = 120.0
"""Step between elevations of the Earth: a straight line between two errs by 0.2 s of time where it rises steeply."""


@dataclass(frozen=True)
class Site:
    """A place on a body whose rotation is known (``mars``, ``moon``, ``venus``, ``mercury``)."""

    body: str
    latitude_deg: float
    """North, planetocentric."""
    longitude_deg: float
    """East."""

    def __post_init__(self) -> None:
        rotation(self.body)
        if not -90 <= self.latitude_deg <= 90:
            raise InputError(f"latitude_deg: from -90 to 90, not {self.latitude_deg:g}")

    def up(self, start: datetime, t_s: ArrayLike) -> NDArray[np.float64]:
        """The vertical at ``t_s`` seconds after ``start``: unit vectors ``(n, 3)``, ICRF."""
        turning = rotation(self.body)
        times = tdb_s(start) + np.asarray(t_s, dtype=np.float64).ravel()
        east = turning.meridian_rad(times) + np.radians(self.longitude_deg)
        north = np.radians(self.latitude_deg)
        in_equator = np.stack(
            [np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.full(east.shape, np.sin(north))],
            axis=1,
        )
        return np.asarray(np.einsum("nj,njk->nk", in_equator, turning.equator(times)), dtype=np.float64)


def site_elevation_deg(
    site: Site, target: str, start: datetime, t_s: ArrayLike, *, ephemeris: str = "kepler"
) -> NDArray[np.float64]:
    """Degrees above a lander's horizon of ``target`` (a body) when the lander's signal reaches it; shape as ``t_s``."""
    sight = sight_m(site.body, target, start, t_s, ephemeris=ephemeris, sent=True)
    return _elevation(site, start, t_s, sight).reshape(np.shape(t_s))


def relay_elevation_deg(
    site: Site, orbit: CircularOrbit, start: datetime, t_s: ArrayLike
) -> NDArray[np.float64]:
    """Degrees above a lander's horizon of an orbiter of the same planet; shape of ``t_s``."""
    _same(site, orbit)
    return _elevation(site, start, t_s, orbit.position_m(start, t_s)).reshape(np.shape(t_s))


def earth_windows(
    site: Site,
    start: datetime,
    duration_s: float,
    *,
    mask_deg: float = DEFAULT_MASK_DEG,
    ephemeris: str = "kepler",
    from_s: float = 0.0,
) -> Windows:
    """When a lander has the Earth above ``mask_deg``: windows in seconds after ``start``, the lander's time.

    Within ``duration_s`` from ``from_s`` after the start on.
    """

    def height(times: NDArray[np.float64]) -> NDArray[np.float64]:
        return site_elevation_deg(site, "earth", start, times, ephemeris=ephemeris)

    return where_above(height, mask_deg, from_s, duration_s, STEP_S)


def relay_windows(
    site: Site,
    orbit: CircularOrbit,
    start: datetime,
    duration_s: float,
    *,
    mask_deg: float = DEFAULT_MASK_DEG,
) -> Windows:
    """When an orbiter is above ``mask_deg`` at a lander: windows in seconds after ``start``."""
    _same(site, orbit)
    return where_above(
        lambda times: relay_elevation_deg(site, orbit, start, times),
        mask_deg,
        0.0,
        duration_s,
        orbit.sample_s,
    )


def _elevation(
    site: Site, start: datetime, t_s: ArrayLike, from_centre_m: NDArray[np.float64]
) -> NDArray[np.float64]:
    up = site.up(start, t_s)
    sight = from_centre_m - body(site.body).radius_m * up
    sine = np.sum(sight * up, axis=1) / np.linalg.norm(sight, axis=1)
    return np.asarray(np.degrees(np.arcsin(np.clip(sine, -1, 1))), dtype=np.float64)


def _same(site: Site, orbit: CircularOrbit) -> None:
    if body(site.body) != body(orbit.body):
        raise InputError(f"a relay around {orbit.body!r} serves no site on {site.body!r}")
