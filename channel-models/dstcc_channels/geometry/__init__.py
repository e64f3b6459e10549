"""Where bodies, stations and spacecraft are, and who sees whom.

Times are seconds after a ``start`` (a ``datetime``, UTC where it names no zone); angles are degrees, lengths metres.
Functions over times take any shape and answer in it. ``ephemeris`` is ``kepler`` (built in) or ``de421`` (exact; the
packages of ``dstcc[ephemeris]``).
"""

from __future__ import annotations

from .angles import (
    FLAGS_DEG,
    Alignment,
    alignments,
    conjunction_windows,
    sun_earth_probe_deg,
    sun_probe_earth_deg,
)
from .bodies import BODIES, Body, body
from .ephemeris import EPHEMERIDES, Ephemeris
from .light_time import LIGHT_M_S, light_time_s, sight_m
from .links import LinkTimes, link_times
from .orbits import (
    CircularOrbit,
    EllipticOrbit,
    areostationary_orbit,
    beta_deg,
    occultation,
    occultation_share,
)
from .sights import Place, Sight, Stations, place_light_time_s, sight
from .sites import Site, earth_windows, relay_elevation_deg, relay_windows, site_elevation_deg
from .stations import COMPLEXES, DEFAULT_MASK_DEG, STATIONS, Station, elevation_deg, station, visibility
from .windows import Windows, above, complement, intersection, total_s, union, windows

__all__ = [
    "BODIES",
    "COMPLEXES",
    "DEFAULT_MASK_DEG",
    "EPHEMERIDES",
    "FLAGS_DEG",
    "LIGHT_M_S",
    "STATIONS",
    "Alignment",
    "Body",
    "CircularOrbit",
    "EllipticOrbit",
    "Ephemeris",
    "LinkTimes",
    "Place",
    "Sight",
    "Site",
    "Station",
    "Stations",
    "Windows",
    "above",
    "alignments",
    "areostationary_orbit",
    "beta_deg",
    "body",
    "complement",
    "conjunction_windows",
    "earth_windows",
    "elevation_deg",
    "intersection",
    "light_time_s",
    "link_times",
    "occultation",
    "occultation_share",
    "place_light_time_s",
    "relay_elevation_deg",
    "relay_windows",
    "sight",
    "sight_m",
    "site_elevation_deg",
    "station",
    "sun_earth_probe_deg",
    "sun_probe_earth_deg",
    "total_s",
    "union",
    "visibility",
    "windows",
]
