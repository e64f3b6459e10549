"""Built-in ephemeris: Keplerian elements that drift, and a short series for the Moon.

::

    a, e, I, L, w~, W   = at J2000 + rate * centuries              (table elements.csv)
    M = L - w~;  M = E - e sin E                                   (Newton)
    r = Rz(W) Rx(I) Rz(w~ - W) [a (cos E - e), a sqrt(1-e^2) sin E, 0]
    Earth = EMB - Moon / (1 + 81.30),  Moon's place = Earth + Moon
    equator = Rx(23.43928 deg) ecliptic                            (J2000, within 0.03" of the ICRF)

Heliocentric, with the Sun at rest: it moves at 16 m/s at most around the barycentre, 16 km or 50 us in 1000 s.

Sources: E. M. Standish, "Keplerian elements for approximate positions of the major planets" (JPL), table 1, best fit
for 1800-2050; O. Montenbruck, E. Gill, "Satellite Orbits" (Springer 2000), section 3.3.2, for the Moon (several
arcminutes, about 500 km). ``python -m bench.geometry`` prints the errors of both against DE421.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..data import rows
from .times import CENTURY_S

AU_M = 149_597_870_700.0
"""Astronomical unit, IAU 2012 resolution B2."""
OBLIQUITY_DEG = 23.43928
"""Obliquity of the ecliptic at J2000, as in the formulas of the elements."""
EARTH_OVER_MOON = 81.3006
"""Ratio of masses, DE421."""
ARCSEC = np.pi / 648_000
KEPLER_TOLERANCE = 1e-13
"""Radians of eccentric anomaly: 2 cm at Jupiter, no more than rounding."""
EMB = "earth-moon"
ELEMENTS = ("a_au", "e", "i_deg", "l_deg", "perihelion_deg", "node_deg")

# Montenbruck and Gill, eqs 3.48-3.50: amplitude, then how often l, l', F, D enter the argument.
LONGITUDE_ARCSEC = (
    (22640, 1, 0, 0, 0),
    (769, 2, 0, 0, 0),
    (-4586, 1, 0, 0, -2),
    (2370, 0, 0, 0, 2),
    (-668, 0, 1, 0, 0),
    (-412, 0, 0, 2, 0),
    (-212, 2, 0, 0, -2),
    (-206, 1, 1, 0, -2),
    (192, 1, 0, 0, 2),
    (-165, 0, 1, 0, -2),
    (148, 1, -1, 0, 0),
    (-125, 0, 0, 0, 1),
    (-110, 1, 1, 0, 0),
    (-55, 0, 0, 2, -2),
)
LATITUDE_ARCSEC = (
    (-526, 0, 0, 1, -2),
    (44, 1, 0, 1, -2),
    (-31, -1, 0, 1, -2),
    (-25, -2, 0, 1, 0),
    (-23, 0, 1, 1, -2),
    (21, -1, 0, 1, 0),
    (11, 0, -1, 1, -2),
)
DISTANCE_KM = (
    (-20905, 1, 0, 0, 0),
    (-3699, -1, 0, 0, 2),
    (-2956, 0, 0, 0, 2),
    (-570, 2, 0, 0, 0),
    (246, 2, 0, 0, -2),
    (-205, 0, 1, 0, -2),
    (-171, 1, 0, 0, 2),
    (-152, 1, 1, 0, -2),
)


def position_m(name: str, tdb_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where a body is, ``(n, 3)`` metres from the Sun in the ICRF, at ``(n,)`` seconds of TDB since J2000."""
    if name == "sun":
        return np.zeros((tdb_s.size, 3))
    centuries = tdb_s / CENTURY_S
    if name not in ("earth", "moon"):
        return _equatorial(_orbit(name, centuries))
    moon = _moon(centuries)
    share = -1 / (1 + EARTH_OVER_MOON) if name == "earth" else EARTH_OVER_MOON / (1 + EARTH_OVER_MOON)
    return _equatorial(_orbit(EMB, centuries) + share * moon)


def eccentric_anomaly(mean: NDArray[np.float64], e: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve M = E - e sin E (radians) for eccentricities of planets, below 0.3."""
    anomaly = mean + e * np.sin(mean)
    for _ in range(10):  # squares the error each time: from e^2 to rounding in four
        step = (mean - anomaly + e * np.sin(anomaly)) / (1 - e * np.cos(anomaly))
        anomaly = anomaly + step
        if np.all(np.abs(step) < KEPLER_TOLERANCE):
            break
    return anomaly


@cache
def _elements() -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Per body the elements at J2000 and their rates a century."""
    return {
        row["body"]: (
            np.array([float(row[key]) for key in ELEMENTS]),
            np.array([float(row[f"{key}_cy"]) for key in ELEMENTS]),
        )
        for row in rows("elements.csv")
    }


def _orbit(name: str, centuries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Position on the ellipse of that time, ecliptic, metres from the Sun."""
    at_epoch, rate = _elements()[name]
    a, e, tilt, longitude, perihelion, node = at_epoch[:, None] + rate[:, None] * centuries
    tilt, node, argument = np.radians(tilt), np.radians(node), np.radians(perihelion - node)
    mean = np.radians((longitude - perihelion + 180) % 360 - 180)
    anomaly = eccentric_anomaly(mean, e)
    x = a * (np.cos(anomaly) - e) * AU_M
    y = a * np.sqrt(1 - e**2) * np.sin(anomaly) * AU_M
    along = x * np.cos(argument) - y * np.sin(argument)
    across = x * np.sin(argument) + y * np.cos(argument)
    flat = across * np.cos(tilt)
    return np.stack(
        [
            along * np.cos(node) - flat * np.sin(node),
            along * np.sin(node) + flat * np.cos(node),
            across * np.sin(tilt),
        ],
        axis=1,
    )


def _moon(centuries: NDArray[np.float64]) -> NDArray[np.float64]:
    """From the Earth's centre to the Moon's, metres, ecliptic and equinox of J2000."""
    mean_longitude = np.radians(218.31617 + 481_267.88088 * centuries - 1.3972 * centuries)
    anomaly = np.radians(134.96292 + 477_198.86753 * centuries)
    sun_anomaly = np.radians(357.52543 + 35_999.04944 * centuries)
    node_distance = np.radians(93.27283 + 483_202.01873 * centuries)
    elongation = np.radians(297.85027 + 445_267.11135 * centuries)
    arguments = np.stack([anomaly, sun_anomaly, node_distance, elongation])

    def series(terms: tuple[tuple[int, ...], ...], wave: np.ufunc) -> NDArray[np.float64]:
        table = np.array(terms, dtype=np.float64)
        return np.asarray(table[:, 0] @ wave(table[:, 1:] @ arguments), dtype=np.float64)

    shift = ARCSEC * series(LONGITUDE_ARCSEC, np.sin)
    bend = ARCSEC * (412 * np.sin(2 * node_distance) + 541 * np.sin(sun_anomaly))
    latitude = ARCSEC * (18_520 * np.sin(node_distance + shift + bend) + series(LATITUDE_ARCSEC, np.sin))
    distance = 1e3 * (385_000 + series(DISTANCE_KM, np.cos))
    longitude = mean_longitude + shift
    direction = [
        np.cos(latitude) * np.cos(longitude),
        np.cos(latitude) * np.sin(longitude),
        np.sin(latitude),
    ]
    return np.asarray((distance * np.stack(direction)).T, dtype=np.float64)


def _equatorial(ecliptic: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ecliptic of J2000 to the ICRF's equator."""
    cos, sin = np.cos(np.radians(OBLIQUITY_DEG)), np.sin(np.radians(OBLIQUITY_DEG))
    x, y, z = ecliptic.T
    return np.stack([x, cos * y - sin * z, sin * y + cos * z], axis=1)
