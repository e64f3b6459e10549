"""When a link between the Earth and something far away can be used, in the sender's time.

::

    down    leaves at t:  the orbiter sees the Earth at t,   a station sees the planet at t + tau
    up      leaves at t:  a station sees the planet at t,    the orbiter sees the Earth at t + tau
    outages               what is left of the run

Windows at the receiving end are moved back by the light time, so that the result says when to send.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class LinkTimes:
    """When the two ends of a link see each other, by the sender's clock, in seconds after the start of a run."""

    duration_s: float
    far: Windows
    """When a packet may leave as far as the far end goes: no body hides the Earth there, no horizon."""
    near: Windows
    """The same of the stations: one of them sees the far end."""

    @property
    def usable(self) -> Windows:
        """When a packet may leave so that it arrives."""
        return intersection(self.far, self.near)

    @property
    def outages(self) -> Windows:
        """The rest of the run."""
        return complement(self.usable, 0.0, self.duration_s)

    @property
    def far_hidden(self) -> Windows:
        """When no packet may leave for what is in the far end's way. It may overlap with :attr:`near_hidden`."""
        return complement(self.far, 0.0, self.duration_s)

    @property
    def near_hidden(self) -> Windows:
        """When no packet may leave for what is in the stations' way."""
        return complement(self.near, 0.0, self.duration_s)


def link_times(
    far: Far,
    stations: Iterable[str],
    start: datetime,
    duration_s: float,
    *,
    direction: str = "down",
    mask_deg: float = DEFAULT_MASK_DEG,
    ephemeris: str = "kepler",
) -> LinkTimes:
    """When any of ``stations`` and the far end see each other, in a run of ``duration_s`` from ``start``.

    ``mask_deg`` is the least elevation at the stations and at a lander. Raises like :func:`.light_time_s` and
    :func:`.visibility`.
    """
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
    return LinkTimes(duration_s, *((sent, moved) if down else (moved, sent)))
