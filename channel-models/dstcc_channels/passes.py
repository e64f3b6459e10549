"""Passes of a station: when it can use a link, and how much fits in each.

::

    pass     above the station's mask, and far enough from the Sun; Earth's time
    rate     the profile's own, or the highest that keeps the margin at the mask, where a pass begins and ends
    volume   rate x length, less what the body hides of an orbiter: at most its longest share of a revolution

A run has one rate, too, that of its worst moment (:mod:`.realise`); there the seed says when the orbiter is hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from . import geometry
from .profiles import Profile
from .states import link_states, parts


@dataclass(frozen=True)
class Pass:
    """One pass of the data's way."""

    from_s: float
    """Seconds after the start, like ``to_s``."""
    to_s: float
    rate_bps: float
    hidden_share: float
    """The most of it that the body can hide the spacecraft; 0 without an orbit."""

    @property
    def most_bytes(self) -> float:
        """What fits if nothing hides the spacecraft."""
        return self.rate_bps * (self.to_s - self.from_s) / 8

    @property
    def least_bytes(self) -> float:
        """What fits if the body hides it as long as it can."""
        return self.most_bytes * (1 - self.hidden_share)


def passes(profile: Profile, start: datetime, duration_s: float) -> list[Pass]:
    """The passes of a physical profile within ``duration_s`` from ``start`` (UTC) on; those at its ends are cut off.

    Raises :class:`InputError` for an abstract profile or dates outside the ephemeris.
    """
    path, _ = parts(profile)
    seen = geometry.visibility(
        path.station, path.body, start, duration_s, mask_deg=path.mask_deg, ephemeris=path.ephemeris
    )
    blinded = geometry.conjunction_windows(
        path.body, start, duration_s, [path.conjunction_deg], ephemeris=path.ephemeris
    )[path.conjunction_deg]
    windows = geometry.intersection(seen, geometry.complement(blinded, 0.0, duration_s))
    if not windows:
        return []
    middles = np.array([(begin + end) / 2 for begin, end in windows])
    rates = link_states(profile, start, middles, elevation_deg=path.mask_deg).rate_bps
    hidden = 0.0 if path.orbit is None else geometry.occultation_share(path.body, path.orbit.altitude_m)
    return [Pass(begin, end, float(rate), hidden) for (begin, end), rate in zip(windows, rates, strict=True)]
