"""Stations of the Deep Space Network, and when they see a body.

::

    elevation = asin(up . sight / |sight|),   sight = where the body was - where the station is
    station   = Q(t) Rz(ERA) [x, y, z]        Q takes the pole of date to the ICRF's
    ERA       = 2 pi (0.7790572732640 + 1.00273781191135448 days of UT1 since J2000)

Q is the precession part of the pole's motion, X = 2004.19" T - 0.43" T^2 and Y = -0.03" T - 22.41" T^2; nutation
(under 10") and UT1 - UTC (under 0.9 s) are left out: together below 0.01 degrees. So is refraction, 0.1 degrees at 10.

Sources: IERS Conventions (2010), equations 5.10, 5.15, 5.16; positions: NAIF kernel earthstns_itrf93_201023; WGS 84
for the vertical.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from ..data import nearest, rows
from .light_time import sight_m
from .times import CENTURY_S, DAY_S, tdb_s, ut1_s
from .windows import Windows, where_above

ERA_AT_J2000 = 0.7790572732640
ERA_PER_DAY = 1.00273781191135448
EARTH_RADIUS_M = 6_378_137.0
"""Equatorial, WGS 84."""
EARTH_SQUASH = 1 - 1 / 298.257223563
"""Polar over equatorial radius, WGS 84."""
ARCSEC = np.pi / 648_000
STEP_S = 60.0
"""Sampling step for windows: a straight line between two samples errs by 0.05 s of time where a body rises
or sets steeply; a pass that only grazes the mask for less than this may be missed."""
DEFAULT_MASK_DEG = 10.0
"""Elevation that the DSN's antennas work above (810-005, module 301)."""


@dataclass(frozen=True)
class Station:
    """An antenna on Earth."""

    name: str
    complex: str
    diameter_m: float
    earth_fixed_m: tuple[float, float, float]
    """ITRF93."""

    @property
    def up(self) -> NDArray[np.float64]:
        """The vertical, a unit vector in the Earth-fixed frame."""
        x, y, z = self.earth_fixed_m
        # Bowring (1976): one step from the reduced latitude is exact to 1e-9 rad near the ground.
        across = np.hypot(x, y)
        reduced = np.arctan2(z, EARTH_SQUASH * across)
        over = 1 - EARTH_SQUASH**2
        latitude = np.arctan2(
            z + over / EARTH_SQUASH * EARTH_RADIUS_M * np.sin(reduced) ** 3,
            across - over * EARTH_RADIUS_M * np.cos(reduced) ** 3,
        )
        return np.array([np.cos(latitude) * x / across, np.cos(latitude) * y / across, np.sin(latitude)])


STATIONS: dict[str, Station] = {
    row["name"]: Station(
        row["name"],
        row["complex"],
        float(row["diameter_m"]),
        (float(row["x_m"]), float(row["y_m"]), float(row["z_m"])),
    )
    for row in rows("station-positions.csv")
}
"""Every station by name, each with its source in ``tables/station-positions.csv``."""
COMPLEXES: dict[str, str] = {"goldstone": "dss-14", "madrid": "dss-63", "canberra": "dss-43"}
"""A complex's name stands for its 70 m antenna; the others lie within 25 km."""


def station(name: str) -> Station:
    """A station or a complex by name (case does not matter); ``InputError`` with the nearest if there is none."""
    wanted = str(name).lower()
    match = STATIONS.get(COMPLEXES.get(wanted, wanted))
    if match is None:
        raise InputError(f"no station is called {name!r}: {nearest(wanted, [*COMPLEXES, *STATIONS])}")
    return match


def elevation_deg(
    station_name: str,
    target: str,
    start: datetime,
    t_s: ArrayLike,
    *,
    ephemeris: str = "kepler",
) -> NDArray[np.float64]:
    """Degrees above the station's horizon at which it sees ``target`` (not the Earth), without refraction.

    At ``t_s`` seconds after ``start``, Earth time; shape of ``t_s``. Raises like :func:`.light_time_s`.
    """
    place = station(station_name)
    times = np.asarray(t_s, dtype=np.float64).ravel()
    sight = sight_m("earth", target, start, times, ephemeris=ephemeris)
    era = 2 * np.pi * (ERA_AT_J2000 + ERA_PER_DAY * (ut1_s(start) + times) / DAY_S)
    cos, sin = np.cos(era), np.sin(era)
    x, y, z = _of_date(sight, start, times)
    # The sight in the Earth-fixed frame, then from the station's place instead of the centre.
    px, py, pz = place.earth_fixed_m
    x, y, z = x * cos + y * sin - px, y * cos - x * sin - py, z - pz
    up = place.up
    height = (up[0] * x + up[1] * y + up[2] * z) / np.sqrt(x * x + y * y + z * z)
    return np.asarray(np.degrees(np.arcsin(height)), dtype=np.float64).reshape(np.shape(t_s))


def visibility(
    station_name: str,
    target: str,
    start: datetime,
    duration_s: float,
    *,
    mask_deg: float = DEFAULT_MASK_DEG,
    ephemeris: str = "kepler",
    from_s: float = 0.0,
) -> Windows:
    """When a station sees ``target`` above ``mask_deg``: windows in seconds after ``start``, Earth time.

    Within ``duration_s`` from ``from_s`` after the start on.
    """

    def height(times: NDArray[np.float64]) -> NDArray[np.float64]:
        return elevation_deg(station_name, target, start, times, ephemeris=ephemeris)

    return where_above(height, mask_deg, from_s, duration_s, STEP_S)


def _of_date(
    icrf: NDArray[np.float64], start: datetime, times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Rotation into the frame of the pole of date: IERS eq. 5.10 to the first order of the pole's coordinates X, Y.

    The first term left out is X^2/2, 7e-4 degrees in 2050.
    """
    centuries = (tdb_s(start) + times) / CENTURY_S
    pole_x = (2004.191898 * centuries - 0.4297829 * centuries**2) * ARCSEC
    pole_y = (-0.025896 * centuries - 22.4072747 * centuries**2) * ARCSEC
    x, y, z = icrf.T
    return x - pole_x * z, y - pole_y * z, z + pole_x * x + pole_y * y
