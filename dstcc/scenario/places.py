"""Where the nodes of a network are, and from that when their links are up and their light times.

A link between two nodes with places that has neither a profile nor a contact plan takes its outages and its delay from
:mod:`dstcc_channels.geometry`, unless it gives them itself.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from dstcc.errors import InputError

from .fields import AsTuple, ScenarioTable, broken, given_of

if TYPE_CHECKING:
    from dstcc_channels.geometry import Place, Sight
    from numpy.typing import NDArray

PLACES = ("orbit", "site", "stations")
"""Keys of a node, one of which says where it is."""
MOST_ROWS = 20_000
"""Of a light time."""

_Degrees = Annotated[float, Field(ge=-360, le=360, allow_inf_nan=False)]
_Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], AsTuple, Field(min_length=1)]


class Orbit(ScenarioTable):
    """``orbit = {body = "mars", altitude_m = 400e3, inclination_deg = 93}``: a circle, or an ellipse."""

    body: str
    altitude_m: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    inclination_deg: _Degrees = 0.0
    node_deg: _Degrees = 0.0
    phase_deg: _Degrees = 0.0
    eccentricity: Annotated[float, Field(gt=0, lt=1)] | None = None
    periapsis_deg: _Degrees | None = None
    """Of an ellipse, whose ``altitude_m`` is the mean of its lowest and highest."""


class Ground(ScenarioTable):
    """``site = {body = "moon", latitude_deg = -10, longitude_deg = 180}``."""

    body: str
    latitude_deg: _Degrees
    longitude_deg: _Degrees


class End(ScenarioTable):
    """Where a node is: one of three."""

    orbit: Orbit | None = None
    site: Ground | None = None
    stations: _Names | None = None
    """On Earth, which take turns; or one of them."""

    @model_validator(mode="after")
    def _one(self) -> End:
        given_of(self, PLACES)
        place_of_end(self)
        return self


def place_of_end(end: End) -> Place:
    """The same for the geometry."""
    from dstcc_channels.geometry import CircularOrbit, EllipticOrbit, Site, Stations, station

    try:
        if end.orbit is not None:
            given = end.orbit.model_dump(exclude_none=True)
            if end.orbit.eccentricity is None and end.orbit.periapsis_deg is not None:
                raise broken("periapsis_deg: a circle has no lowest point; needs eccentricity")
            return (CircularOrbit if end.orbit.eccentricity is None else EllipticOrbit)(**given)
        if end.site is not None:
            return Site(**end.site.model_dump())
        names = end.stations or ()
        for name in names:
            station(name)
        return Stations(names)
    except InputError as error:
        raise broken(str(error)) from None


def with_places(document: dict[str, Any]) -> dict[str, Any]:
    """A scenario's document in which links have the places of their nodes, where they have no other physics."""
    nodes, links = document.get("node"), document.get("link")
    if not isinstance(nodes, (list, tuple)) or not isinstance(links, (list, tuple)):
        return document
    places = {
        str(node.get("name")): {key: node[key] for key in PLACES if node.get(key) is not None}
        for node in nodes
        if isinstance(node, dict)
    }
    filled = []
    for link in links:
        ends = [places.get(str(link.get(end))) for end in ("from", "to")] if isinstance(link, dict) else []
        if ends and all(ends) and not (link.get("profile") or link.get("contacts") or link.get("ends")):
            filled.append({**link, "ends": ends})
        else:
            filled.append(link)
    return {**document, "link": filled}


@lru_cache(maxsize=64)
def seen(ends: tuple[End, End], mask_deg: float | None, start: datetime, duration_s: float) -> Sight:
    """When the two ends of a link see each other."""
    from dstcc_channels.geometry import DEFAULT_MASK_DEG, sight

    mask_deg = DEFAULT_MASK_DEG if mask_deg is None else mask_deg
    one, other = map(place_of_end, ends)
    return sight(one, other, start, duration_s, mask_deg=mask_deg)


@lru_cache(maxsize=64)
def light(
    ends: tuple[End, End], start: datetime, duration_s: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times, and the light time between the two ends then: rows close enough for a cubic between them."""
    from dstcc_channels.geometry import CircularOrbit, place_light_time_s

    one, other = map(place_of_end, ends)
    periods = [place.period_s / place.haste for place in (one, other) if isinstance(place, CircularOrbit)]
    step_s = min([600.0, *(period / 48 for period in periods)])
    rows = min(max(int(np.ceil(duration_s / step_s)) + 1, 3), MOST_ROWS)
    t_s = np.linspace(0.0, duration_s, rows)
    return t_s, place_light_time_s(one, other, start, t_s)
