"""Relay orbiters on circular and elliptic orbits: where they are, and when their planet hides the Earth.

::

    period      T = 2 pi sqrt(a^3 / GM),  a = R + h
    node drift  -3/2 n J2 (R/p)^2 cos i,  p = a (1 - e^2)
    periapsis   drifts with 3/4 n J2 (R/p)^2 (5 cos^2 i - 1)
    ellipse     M = E - e sin E,  r = a (1 - e cos E),  tan(v/2) = sqrt((1 + e)/(1 - e)) tan(E/2)
    hidden      r . u < -sqrt(r^2 - R^2)               u: unit vector from the orbiter to the Earth
    share       f = (1/pi) arccos( sqrt(h^2 + 2 R h) / ((R + h) cos beta) ),  0 where the argument is above 1
    stationary  a = (GM / w^2)^(1/3),  w the rotation of Mars

beta is the angle between the Earth and the orbit's plane. The planet is a sphere of its equatorial radius, without an
atmosphere, and other perturbations are left out (around the Moon the Earth's matter within weeks). The share
is for an Earth that is far away. Source: two-body motion and the first-order drift of D. A. Vallado, "Fundamentals of
Astrodynamics and Applications", section 9.6; the share is the arc of the circle inside the planet's shadow cylinder.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from .bodies import body
from .light_time import sight_m
from .rotation import rotation
from .times import tdb_s
from .windows import Windows, where_above

SAMPLES_PER_ORBIT = 360
"""Samples when windows are computed: a straight line between two errs by 1e-5 of a period."""
MARS = "mars"
KEPLER_ROUNDS = 30
"""Of Newton's method from above the root: each at least halves what is missing, and the last ones double its digits."""
LIMB_EPSILON = 1e-9
"""Least altitude as a share of the radius: an orbit must be above the ground."""


@dataclass(frozen=True)
class CircularOrbit:
    """A circular orbit around a body whose rotation is known (``mars``, ``moon``, ``venus``, ``mercury``)."""

    body: str
    altitude_m: float
    """Above the equatorial radius."""
    inclination_deg: float = 0.0
    """To the planet's equator."""
    node_deg: float = 0.0
    """Ascending node at the start, east from where the planet's equator rises through the ICRF's."""
    phase_deg: float = 0.0
    """Place on the orbit at the start, from the node on."""

    def __post_init__(self) -> None:
        rotation(self.body)
        if not self.altitude_m > LIMB_EPSILON * body(self.body).radius_m:
            raise InputError(f"altitude_m: an orbit is above the ground, not at {self.altitude_m:g} m")

    @property
    def radius_m(self) -> float:
        """From the planet's centre."""
        return body(self.body).radius_m + self.altitude_m

    @property
    def rate_rad_s(self) -> float:
        """Angle travelled per second."""
        return float(np.sqrt(body(self.body).gm_m3_s2 / self.radius_m**3))

    @property
    def period_s(self) -> float:
        """Time of one revolution."""
        return float(2 * np.pi / self.rate_rad_s)

    @property
    def haste(self) -> float:
        """The greatest angle travelled per second, over its mean."""
        return 1.0

    @property
    def sample_s(self) -> float:
        """Time between samples when windows are computed."""
        return self.period_s / SAMPLES_PER_ORBIT / self.haste

    @property
    def node_drift_rad_s(self) -> float:
        """How fast the planet's oblateness rotates the orbit's plane: to the east for a retrograde orbit.

        0 for an orbit in the equator's plane, which has no node.
        """
        if self.inclination_deg == 0:
            return 0.0
        planet = body(self.body)
        flat = 1.5 * planet.j2 * (planet.radius_m / self._parameter_m) ** 2
        return float(-flat * self.rate_rad_s * np.cos(np.radians(self.inclination_deg)))

    @property
    def _parameter_m(self) -> float:
        """Of the conic section: half its width at the focus."""
        return self.radius_m

    def position_m(self, start: datetime, t_s: ArrayLike) -> NDArray[np.float64]:
        """From the planet's centre at ``t_s`` seconds after ``start``: ``(n, 3)`` metres, ICRF."""
        along, plane = self._angles(t_s)
        tilt = np.radians(self.inclination_deg)
        cos, sin = np.cos(along), np.sin(along)
        in_equator = np.stack(
            [
                cos * np.cos(plane) - sin * np.cos(tilt) * np.sin(plane),
                cos * np.sin(plane) + sin * np.cos(tilt) * np.cos(plane),
                sin * np.sin(tilt),
            ],
            axis=1,
        )
        return np.asarray(self._distance_m(t_s) * in_equator @ self._equator(start), dtype=np.float64)

    def normal(self, start: datetime, t_s: ArrayLike) -> NDArray[np.float64]:
        """Unit vectors perpendicular to the orbit's plane, ``(n, 3)``, ICRF."""
        _, plane = self._angles(t_s)
        tilt = np.radians(self.inclination_deg)
        in_equator = np.stack(
            [np.sin(tilt) * np.sin(plane), -np.sin(tilt) * np.cos(plane), np.full(plane.shape, np.cos(tilt))],
            axis=1,
        )
        return np.asarray(in_equator @ self._equator(start), dtype=np.float64)

    def _angles(self, t_s: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        times = np.asarray(t_s, dtype=np.float64).ravel()
        along = np.radians(self.phase_deg) + self.rate_rad_s * times
        return along, np.radians(self.node_deg) + self.node_drift_rad_s * times

    def _distance_m(self, t_s: ArrayLike) -> float | NDArray[np.float64]:
        """From the planet's centre, ``(n, 1)``, or the same at all times."""
        return self.radius_m

    def _equator(self, start: datetime) -> NDArray[np.float64]:
        return rotation(self.body).equator(tdb_s(start))  # the pole itself moves 0.001 degrees a year


@dataclass(frozen=True)
class EllipticOrbit(CircularOrbit):
    """The same with an eccentricity: ``altitude_m`` is the mean of the lowest and the highest point's, and
    ``phase_deg`` the place that the orbiter would have if it moved evenly."""

    eccentricity: float = 0.0
    periapsis_deg: float = 0.0
    """The lowest point's place on the orbit at the start, from the node on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.eccentricity < 1:
            raise InputError(
                f"eccentricity: of an ellipse it is from 0 to below 1, not {self.eccentricity:g}"
            )
        lowest_m = self.radius_m * (1 - self.eccentricity)
        if not lowest_m > (1 + LIMB_EPSILON) * body(self.body).radius_m:
            raise InputError(
                f"eccentricity: the lowest point is {lowest_m - body(self.body).radius_m:,.0f} m above the ground"
            )

    @property
    def haste(self) -> float:
        """The greatest angle travelled per second, that of the lowest point, over its mean."""
        return float((1 + self.eccentricity) ** 2 / (1 - self.eccentricity**2) ** 1.5)

    @property
    def periapsis_drift_rad_s(self) -> float:
        """How fast the planet's oblateness turns the ellipse in its plane."""
        planet = body(self.body)
        flat = 0.75 * planet.j2 * (planet.radius_m / self._parameter_m) ** 2
        return float(flat * self.rate_rad_s * (5 * np.cos(np.radians(self.inclination_deg)) ** 2 - 1))

    @property
    def _parameter_m(self) -> float:
        return self.radius_m * (1 - self.eccentricity**2)

    def _anomaly(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """The eccentric one, by Kepler's equation."""
        times = np.asarray(t_s, dtype=np.float64).ravel()
        mean = np.radians(self.phase_deg - self.periapsis_deg) + self.rate_rad_s * times
        turns = np.floor((mean + np.pi) / (2 * np.pi)) * 2 * np.pi
        within = mean - turns
        anomaly = within + self.eccentricity * np.sign(np.sin(within))
        for _ in range(KEPLER_ROUNDS):
            off = anomaly - self.eccentricity * np.sin(anomaly) - within
            anomaly = anomaly - off / (1 - self.eccentricity * np.cos(anomaly))
        return np.asarray(anomaly + turns, dtype=np.float64)

    def _distance_m(self, t_s: ArrayLike) -> NDArray[np.float64]:
        return self.radius_m * (1 - self.eccentricity * np.cos(self._anomaly(t_s)))[:, None]

    def _angles(self, t_s: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        times = np.asarray(t_s, dtype=np.float64).ravel()
        _, plane = super()._angles(t_s)
        half = self._anomaly(t_s) / 2
        e = self.eccentricity
        # The angle from the lowest point, on the same turn as the anomaly.
        true = 2 * (half + np.arctan2(_beta(e) * np.sin(2 * half), 1 - _beta(e) * np.cos(2 * half)))
        return np.radians(self.periapsis_deg) + self.periapsis_drift_rad_s * times + true, plane


def _beta(eccentricity: float) -> float:
    """e / (1 + sqrt(1 - e^2)): v = E + 2 arctan(beta sin E / (1 - beta cos E))."""
    return float(eccentricity / (1 + np.sqrt(1 - eccentricity**2)))


def areostationary_orbit(longitude_deg: float, start: datetime) -> CircularOrbit:
    """The orbit that stays above an east longitude of Mars' equator.

    No other of our bodies has one: Venus rotates backwards, and around Mercury and the Moon the orbit would be so
    high that the Sun or the Earth pulls the spacecraft away.
    """
    planet, turning = body(MARS), rotation(MARS)
    radius_m = (planet.gm_m3_s2 / turning.rate_rad_s**2) ** (1 / 3)
    place_deg = float(np.degrees(turning.meridian_rad(tdb_s(start)))) + longitude_deg
    return CircularOrbit(MARS, radius_m - planet.radius_m, phase_deg=place_deg % 360)


def occultation_share(name: str, altitude_m: float, beta_deg: float = 0.0) -> float:
    """Share of a circular orbit from which the planet hides the Earth, which is ``beta_deg`` off its plane."""
    radius_m = body(name).radius_m
    cos_beta = float(np.cos(np.radians(beta_deg)))
    tangent = float(np.sqrt(altitude_m**2 + 2 * radius_m * altitude_m))
    if tangent >= (radius_m + altitude_m) * cos_beta:
        return 0.0
    return float(np.arccos(tangent / ((radius_m + altitude_m) * cos_beta)) / np.pi)


def beta_deg(
    orbit: CircularOrbit, start: datetime, t_s: ArrayLike, *, ephemeris: str = "kepler"
) -> NDArray[np.float64]:
    """Angle of the Earth above the orbit's plane at ``t_s`` seconds after ``start``; shape of ``t_s``."""
    sight = sight_m(orbit.body, "earth", start, t_s, ephemeris=ephemeris, sent=True)
    sine = np.sum(orbit.normal(start, t_s) * sight, axis=1) / np.linalg.norm(sight, axis=1)
    return np.asarray(np.degrees(np.arcsin(sine)), dtype=np.float64).reshape(np.shape(t_s))


def occultation(
    orbit: CircularOrbit,
    start: datetime,
    duration_s: float,
    *,
    ephemeris: str = "kepler",
    from_s: float = 0.0,
) -> Windows:
    """When the planet hides the Earth from the orbiter: windows in seconds after ``start``, spacecraft time.

    Within ``duration_s`` from ``from_s`` after the start on; the orbit's angles hold at the start itself.
    """
    radius_m = body(orbit.body).radius_m
    tangent = float(np.sqrt(orbit.radius_m**2 - radius_m**2))
    elliptic = isinstance(orbit, EllipticOrbit)

    def behind(times: NDArray[np.float64]) -> NDArray[np.float64]:
        place = orbit.position_m(start, times)
        sight = sight_m(orbit.body, "earth", start, times, ephemeris=ephemeris, sent=True) - place
        depth = -np.sum(place * sight, axis=1) / np.linalg.norm(sight, axis=1)
        if elliptic:
            depth = depth - np.sqrt(np.sum(place * place, axis=1) - radius_m**2)
        return np.asarray(depth, dtype=np.float64)

    return where_above(behind, 0.0 if elliptic else tangent, from_s, duration_s, orbit.sample_s)
