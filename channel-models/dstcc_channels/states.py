"""The state of a physical link at each moment: distance, Eb/N0, margin, loss, rate, and whether it can be used.

Times are Earth's: the state at ``t_s`` is that of a signal that the station receives (or, upwards, sends) then.
Occultations by the body are not included, since they depend on the spacecraft's position in its orbit;
:mod:`.realise` adds them for a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from . import geometry
from .budget import Budget, space_loss_db
from .codes import FAR_DB, Code, code
from .packets import lost_packets
from .profiles.model import Direction, Down, PathTable, Profile, Up
from .scintillation import scintillation_index
from .spans import ONE_FRAME, spans
from .terminals import atmosphere_db
from .weather import zenith_db

PACKET_BYTES = 1500
"""Default packet size of ``packet_loss``: that of a full Ethernet frame."""


@dataclass(frozen=True)
class LinkStates:
    """A link over time; arrays of the times' shape."""

    t_s: NDArray[np.float64]
    distance_m: NDArray[np.float64]
    one_way_s: NDArray[np.float64]
    elevation_deg: NDArray[np.float64]
    """Elevation of the spacecraft above the station's horizon; below the mask the budget is that at the mask."""
    sun_earth_probe_deg: NDArray[np.float64]
    scintillation_index: NDArray[np.float64]
    ebn0_db: NDArray[np.float64]
    """At ``rate_bps``."""
    margin_db: NDArray[np.float64]
    """Margin over the threshold, at which frames fail at the profile's ``frame_error_rate``."""
    frame_error_rate: NDArray[np.float64]
    """Averaged over the scintillation."""
    packet_loss: NDArray[np.float64]
    """Under one gain a packet."""
    rate_bps: NDArray[np.float64]
    """Fixed, or the highest that keeps the profile's margin at that moment."""
    visible: NDArray[np.bool_]
    """Above the station's mask and away from the Sun."""
    notes: tuple[str, ...]
    """Warnings: Eb/N0 below a code's table, or far above it."""


def link_states(
    profile: Profile,
    start: datetime,
    t_s: ArrayLike,
    *,
    elevation_deg: ArrayLike | None = None,
    weather_cd: ArrayLike | None = None,
    packet_bytes: int = PACKET_BYTES,
    up: bool = False,
    rate_bps: float | None = None,
) -> LinkStates:
    """The states of a physical profile at ``t_s`` seconds after ``start`` (UTC).

    ``elevation_deg`` replaces the elevation at the station (degrees), ``weather_cd`` the profile's percentile,
    ``rate_bps`` its rate; ``up`` selects the other direction. Raises :class:`InputError` for an abstract
    profile, an elevation below the model's, a date outside the ephemeris, or ``up`` without a budget.
    """
    path, direction = parts(profile, up)
    times = np.asarray(t_s, dtype=np.float64)
    one_way_s = geometry.light_time_s("earth", path.body, start, times, ephemeris=path.ephemeris)
    one_way_s = one_way_s + path.extra_m / geometry.LIGHT_M_S
    elevation = _elevation(path, start, times, elevation_deg)
    sep = geometry.sun_earth_probe_deg(path.body, start, times, ephemeris=path.ephemeris)
    cd = profile.weather.cd if weather_cd is None else weather_cd
    budget = link_budget(path, direction, one_way_s * geometry.LIGHT_M_S, elevation, cd)

    known, threshold_db = threshold(direction)
    rate = _rate(direction, budget, threshold_db) if rate_bps is None else np.full(times.shape, rate_bps)
    ebn0_db = budget.ebn0_db(rate)
    index = scintillation_index(sep, path.band)
    outside = known.outside(ebn0_db, FAR_DB)
    return LinkStates(
        t_s=times,
        distance_m=one_way_s * geometry.LIGHT_M_S,
        one_way_s=one_way_s,
        elevation_deg=elevation,
        sun_earth_probe_deg=sep,
        scintillation_index=index,
        ebn0_db=ebn0_db,
        margin_db=ebn0_db - threshold_db,
        frame_error_rate=lost_packets(known.name, ebn0_db, index, ONE_FRAME),
        packet_loss=lost_packets(known.name, ebn0_db, index, spans(packet_bytes, known.frame_bits)),
        rate_bps=rate,
        visible=(elevation >= path.mask_deg) & (sep >= path.conjunction_deg),
        notes=(outside,) if outside else (),
    )


def link_budget(
    path: PathTable, direction: Direction, distance_m: ArrayLike, elevation_deg: ArrayLike, cd: ArrayLike
) -> Budget:
    """One direction's budget over a distance (metres) at an elevation (degrees) in weather of percentile ``cd``.

    Below the mask the station is taken at its mask. The arguments broadcast.
    """
    station = path.terminal
    elevation = np.maximum(elevation_deg, path.mask_deg)
    zenith = zenith_db(station.site, path.band, cd)
    gain = np.asarray(direction.gain_dbi)
    if isinstance(direction, Down):
        eirp = np.asarray(10 * np.log10(direction.power_w) - direction.circuit_loss_db) + gain
        gain, noise = station.gain_dbi(elevation), station.noise_k(elevation, zenith, cd) + path.body_noise_k
    elif isinstance(direction, Up):
        eirp, noise = station.up_eirp_dbw(elevation), np.asarray(direction.noise_k)
    else:
        raise TypeError(type(direction))
    return Budget(
        eirp_dbw=eirp,
        space_loss_db=space_loss_db(distance_m, direction.frequency_hz),
        atmosphere_db=atmosphere_db(elevation, zenith),
        losses_db=direction.pointing_loss_db + direction.polarisation_loss_db,
        gain_dbi=gain,
        noise_k=noise,
        implementation_db=direction.implementation_loss_db,
    )


def parts(profile: Profile, up: bool = False) -> tuple[PathTable, Direction]:
    """The path and one direction of a physical profile. Raises :class:`InputError` if it has none."""
    if profile.path is None or profile.down is None:
        raise InputError(f"{profile.name}: an abstract profile has no budget; it holds a link's keys only")
    if not up:
        return profile.path, profile.down
    if not isinstance(profile.up, Up):
        raise InputError(f"{profile.name}: its way up has a rate and no budget")
    return profile.path, profile.up


def threshold(direction: Direction) -> tuple[Code, float]:
    """The direction's code, and the Eb/N0 (dB) at which frames fail at the profile's ``frame_error_rate``."""
    known = code(direction.code)
    return known, known.required_ebn0_db(direction.frame_error_rate)


def _rate(direction: Direction, budget: Budget, threshold_db: float) -> NDArray[np.float64]:
    if direction.rate_bps is not None:
        return np.full_like(budget.cn0_db, direction.rate_bps)
    return budget.highest_rate_bps(threshold_db, direction.margin_db, direction.max_rate_bps)


def _elevation(
    path: PathTable, start: datetime, times: NDArray[np.float64], given: ArrayLike | None
) -> NDArray[np.float64]:
    if given is None:
        return geometry.elevation_deg(path.station, path.body, start, times, ephemeris=path.ephemeris)
    elevation = np.asarray(given, dtype=np.float64)
    if not np.all((elevation >= -90) & (elevation <= 90)):
        raise InputError("elevation: must be between -90 and 90 degrees")
    return np.broadcast_to(elevation, times.shape).copy()
