"""Where the Sun is in a link: its angle at the Earth and at the spacecraft, conjunctions and oppositions.

::

    Sun-Earth-probe  SEP = angle at the Earth between where it sees the Sun and the probe
    Sun-probe-Earth  SPE = angle at the probe between where it sees the Sun and the Earth

SEP near zero puts the signal through the corona (superior conjunction) or the Sun into the beam (inferior).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .light_time import sight_m
from .windows import Windows, above, moments

STEP_S = 6 * 3600.0
"""Sampling step for turning points: a straight line between two samples errs by 1e-3 degrees for a planet."""
FLAGS_DEG = (5.0, 3.0, 2.0, 1.0)
"""Sun-Earth-probe angles below which a link's conjunction is reported."""


@dataclass(frozen=True)
class Alignment:
    """A turning point of the Sun-Earth-probe angle."""

    kind: str
    """``superior conjunction``, ``inferior conjunction``, ``opposition`` or ``greatest elongation``."""
    t_s: float
    """Seconds after the start."""
    sep_deg: float


def sun_earth_probe_deg(
    target: str, start: datetime, t_s: ArrayLike, *, ephemeris: str = "kepler"
) -> NDArray[np.float64]:
    """Angle at the Earth between the Sun and ``target``, degrees, as seen at ``t_s`` after ``start``."""
    return _separation("earth", "sun", target, (start, t_s), ephemeris)


def sun_probe_earth_deg(
    target: str, start: datetime, t_s: ArrayLike, *, ephemeris: str = "kepler"
) -> NDArray[np.float64]:
    """Angle at ``target`` between the Sun and the Earth, degrees, as seen at ``t_s`` after ``start``."""
    return _separation(target, "sun", "earth", (start, t_s), ephemeris)


def alignments(
    target: str, start: datetime, duration_s: float, *, ephemeris: str = "kepler"
) -> list[Alignment]:
    """Conjunctions, oppositions and greatest elongations of ``target``, in order of time.

    By the turning points of the Sun-Earth-probe angle, to about a minute for conjunctions of planets. A turning
    point at the very ends of the run is not found.
    """
    times = moments(0.0, duration_s, STEP_S)
    sep = sun_earth_probe_deg(target, start, times, ephemeris=ephemeris)
    step = times[1] - times[0]
    turning_points = []
    for i in np.flatnonzero((np.diff(sep[:-1]) * np.diff(sep[1:])) < 0) + 1:
        # The vertex of the parabola through three angles; near a close conjunction that of their squares, which
        # stay smooth where the angle itself has nearly a corner.
        below, here, over = sep[i - 1 : i + 2] ** 2
        off = 0.5 * (below - over) / (below - 2 * here + over)
        at = float(times[i] + off * step)
        angle = float(sun_earth_probe_deg(target, start, at, ephemeris=ephemeris))
        kind = _kind(target, start, at, peak=sep[i] > sep[i - 1], angle=angle, ephemeris=ephemeris)
        turning_points.append(Alignment(kind, at, angle))
    return turning_points


def conjunction_windows(
    target: str,
    start: datetime,
    duration_s: float,
    below_deg: Iterable[float] = FLAGS_DEG,
    *,
    ephemeris: str = "kepler",
) -> dict[float, Windows]:
    """For each angle of ``below_deg`` when the Sun-Earth-probe angle is smaller: windows after ``start``."""
    times = moments(0.0, duration_s, STEP_S)
    sep = sun_earth_probe_deg(target, start, times, ephemeris=ephemeris)
    return {angle: above(-sep, times, -angle) for angle in below_deg}


def _kind(target: str, start: datetime, at: float, *, peak: bool, angle: float, ephemeris: str) -> str:
    if peak:
        return "opposition" if angle > 90 else "greatest elongation"
    probe, sun = (
        float(np.linalg.norm(sight_m("earth", name, start, at, ephemeris=ephemeris)))
        for name in (target, "sun")
    )
    return "superior conjunction" if probe > sun else "inferior conjunction"


def _separation(
    at: str, one: str, other: str, when: tuple[datetime, ArrayLike], ephemeris: str
) -> NDArray[np.float64]:
    """Angle between two lines of sight, by atan2, which stays exact for small ones."""
    a = sight_m(at, one, *when, ephemeris=ephemeris)
    b = sight_m(at, other, *when, ephemeris=ephemeris)
    across = np.linalg.norm(np.cross(a, b), axis=1)
    angle = np.degrees(np.arctan2(across, np.sum(a * b, axis=1)))
    return np.asarray(angle, dtype=np.float64).reshape(np.shape(when[1]))
