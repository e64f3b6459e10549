"""The bodies by name: radius, gravitational parameter, and what the ephemerides call them."""

from __future__ import annotations

from dataclasses import dataclass

from dstcc.errors import InputError

from ..data import nearest, rows


@dataclass(frozen=True)
class Body:
    """A body of the solar system."""

    name: str
    kernel: str
    """Its name in a JPL kernel; for Jupiter and Saturn the system's barycentre (at most 300 km from the centre)."""
    radius_m: float
    """Equatorial radius; altitudes count from it."""
    gm_m3_s2: float
    """Gravitational parameter of the body alone."""
    j2: float
    """Second zonal harmonic: how much the body's oblateness rotates an orbit."""


BODIES: dict[str, Body] = {
    row["name"]: Body(
        row["name"],
        row["kernel"],
        float(row["radius_km"]) * 1e3,
        float(row["gm_km3_s2"]) * 1e9,
        float(row["j2"]),
    )
    for row in rows("bodies.csv")
}
"""Every body, by name; with their sources in ``tables/bodies.csv``."""


def body(name: str) -> Body:
    """The body called ``name`` (case does not matter); ``InputError`` with the nearest names if there is none."""
    match = BODIES.get(str(name).lower())
    if match is None:
        raise InputError(f"no body is called {name!r}: {nearest(name, BODIES)}")
    return match
