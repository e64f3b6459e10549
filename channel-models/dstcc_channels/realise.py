"""A physical link during one run: what an engine needs, with the weather and the orbit that the seed draws.

::

    delay    of a packet that leaves the spacecraft at t, by the bodies' motion and the relay's distance
    rate     fixed, or the highest that keeps the margin at every usable moment in the planned weather
    Eb/N0    at that rate, of a packet sent at t: elevation, Sun and weather are those of its time at the Earth
    outages  when nothing may be sent, by the sender's time: no station in view, body in between, or Sun too near

Times are seconds after the run's start, at the sending end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dstcc.errors import InputError

from . import geometry
from .chance import generator
from .codes import FAR_DB
from .profiles.model import Direction, FixedUp, PathTable, Profile
from .scintillation import coherence_s, scintillation_index
from .states import link_budget, parts, threshold
from .weather import weather_cd

STEP_S = 60.0
"""Step between rows: a straight line between two is within 0.1 us of the delay and 0.05 dB of the budget at the least
elevation."""
MAX_ROWS = 50_000
"""A month of minutes; longer runs have wider steps."""

_NONE = np.empty(0)


@dataclass(frozen=True)
class LossSchedule:
    """The loss process of one direction over time; ``none`` loses nothing."""

    kind: Literal["none", "frames"]
    frame_bits: int = 0
    """Information bits a frame, which is erased as a whole; 1: bits err independently of each other."""
    t_s: NDArray[np.float64] = field(default_factory=lambda: _NONE)
    """Times of the rows; straight lines between."""
    ebn0_db: NDArray[np.float64] = field(default_factory=lambda: _NONE)
    """Mean over the scintillation, in the seed's weather."""
    scintillation_index: NDArray[np.float64] = field(default_factory=lambda: _NONE)
    curve_ebn0_db: NDArray[np.float64] = field(default_factory=lambda: _NONE)
    """A uniform grid; outside it the curve holds its ends."""
    curve_log10_fer: NDArray[np.float64] = field(default_factory=lambda: _NONE)
    coherence_s: float = 0.0
    """Coherence time of the scintillation."""


@dataclass(frozen=True)
class Realisation:
    """One link of one run."""

    delay_t_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    """One way; straight lines between rows."""
    rate_bps: float
    up_rate_bps: float
    down: LossSchedule
    up: LossSchedule
    outages_s: geometry.Windows
    """When nothing can be sent down, by the spacecraft's clock."""
    up_outages_s: geometry.Windows
    """When nothing can be sent up, by the station's clock."""
    weather_cd: NDArray[np.float64]
    """Percentile of the station's weather when a packet that left the spacecraft at ``delay_t_s`` arrives."""
    notes: tuple[str, ...]
    """Warnings for a reader of the run."""


def realise(profile: Profile, start: datetime, duration_s: float, seed: int) -> Realisation:
    """A physical profile from ``start`` (UTC) on for ``duration_s``, under a seed; the same seed gives the same run.

    Links that share a site share its weather; links to the same orbit share where the spacecraft is. Raises
    :class:`InputError` for an abstract profile or a date outside the ephemeris.
    """
    path, down = parts(profile)
    if not 0 < duration_s < np.inf:
        raise InputError(f"duration_s = {duration_s:g}: must be above 0 and finite")
    rows = min(int(np.ceil(duration_s / STEP_S)) + 1, MAX_ROWS)
    times = np.linspace(0.0, duration_s, max(rows, 2))
    run = _Run(path, profile.weather.cd, start, times, seed)
    delay_s, rate_bps, down_loss, outages, notes = run.direction(down, "down")
    if isinstance(profile.up, FixedUp):
        up_rate_bps, up_loss, up_outages = profile.up.rate_bps, LossSchedule("none"), run.outages("up")
    else:
        _, up_rate_bps, up_loss, up_outages, more = run.direction(parts(profile, up=True)[1], "up")
        notes = (*notes, *more)
    return Realisation(
        delay_t_s=times,
        delay_s=delay_s,
        rate_bps=rate_bps,
        up_rate_bps=up_rate_bps,
        down=down_loss,
        up=up_loss,
        outages_s=outages,
        up_outages_s=up_outages,
        weather_cd=run.weather(times + delay_s),
        notes=tuple(f"{profile.name}: {note}" for note in notes),
    )


def obstacles(
    profile: Profile, start: datetime, duration_s: float, seed: int, way: str
) -> dict[str, geometry.Windows]:
    """What makes a :class:`Realisation`'s outages that way (``down`` or ``up``): the reason in words, and when.

    By the sender's clock; they may overlap. Raises :class:`InputError` as :func:`realise` does.
    """
    path, _ = parts(profile)
    return _Run(path, profile.weather.cd, start, np.array([0.0, duration_s]), seed).obstacles(way)


@dataclass(frozen=True)
class _Run:
    path: PathTable
    planned_cd: float
    start: datetime
    times: NDArray[np.float64]
    seed: int

    def direction(
        self, direction: Direction, way: str
    ) -> tuple[NDArray[np.float64], float, LossSchedule, geometry.Windows, tuple[str, ...]]:
        """Delay, rate, losses, outages and notes of one direction."""
        path, when = self.path, {"ephemeris": self.path.ephemeris}
        ends = (path.body, "earth") if way == "down" else ("earth", path.body)
        delay_s = geometry.light_time_s(*ends, self.start, self.times, sent=True, **when)
        delay_s = delay_s + path.extra_m / geometry.LIGHT_M_S
        at_earth = self.times + delay_s if way == "down" else self.times
        elevation = geometry.elevation_deg(path.station, path.body, self.start, at_earth, **when)
        sep = geometry.sun_earth_probe_deg(path.body, self.start, at_earth, **when)

        distance_m = delay_s * geometry.LIGHT_M_S
        known, threshold_db = threshold(direction)
        outages = self.outages(way)
        usable = ~inside(np.minimum(self.times, np.nextafter(self.times[-1], 0)), outages)  # the end is open
        notes: list[str] = []
        if direction.rate_bps is not None:
            rate_bps = direction.rate_bps
        else:
            planned = link_budget(path, direction, distance_m, elevation, self.planned_cd)
            allowed = planned.highest_rate_bps(threshold_db, direction.margin_db, direction.max_rate_bps)
            rate_bps = float(allowed[usable].min() if usable.any() else allowed.min())
        if not usable.any():
            notes.append(
                f"the way {way} is never usable in this run: see visibility, occultations and conjunctions"
            )

        budget = link_budget(path, direction, distance_m, elevation, self.weather(at_earth))
        ebn0_db = budget.ebn0_db(rate_bps)
        outside = known.outside(ebn0_db[usable], FAR_DB) if usable.any() else None
        curve_db, curve_log10 = known.curve()
        loss = LossSchedule(
            kind="frames",
            frame_bits=known.frame_bits,
            t_s=self.times,
            ebn0_db=ebn0_db,
            scintillation_index=scintillation_index(sep, path.band),
            curve_ebn0_db=curve_db,
            curve_log10_fer=curve_log10,
            coherence_s=coherence_s(direction.frequency_hz),
        )
        return delay_s, rate_bps, loss, outages, (*notes, *([f"{way}: {outside}"] if outside else []))

    def outages(self, way: str) -> geometry.Windows:
        """When nothing can be sent that way."""
        return geometry.union(*self.obstacles(way).values())

    def obstacles(self, way: str) -> dict[str, geometry.Windows]:
        """What is in the way of what is sent that way, in words, and when; they may overlap."""
        path, duration_s = self.path, float(self.times[-1])
        times = geometry.link_times(
            self._orbit() or path.body,
            [path.station],
            self.start,
            duration_s,
            direction=way,
            mask_deg=path.mask_deg,
            ephemeris=path.ephemeris,
        )
        blinded = geometry.conjunction_windows(
            path.body, self.start, duration_s, [path.conjunction_deg], ephemeris=path.ephemeris
        )
        body = path.body.capitalize()
        return {
            f"{body} below the mask of {path.mask_deg:g} degrees at {path.station}": times.near_hidden,
            f"occulted by {body}": times.far_hidden,
            f"the Sun nearer than {path.conjunction_deg:g} degrees": blinded[path.conjunction_deg],
        }

    def _orbit(self) -> geometry.CircularOrbit | None:
        orbit = self.path.orbit
        if orbit is None:
            return None
        draws = generator("orbit", self.path.body, orbit.altitude_m, orbit.inclination_deg, self.seed)
        node, phase = draws.uniform(0, 360, 2)
        return geometry.CircularOrbit(
            self.path.body,
            orbit.altitude_m,
            orbit.inclination_deg,
            float(node) if orbit.node_deg is None else orbit.node_deg,
            float(phase) if orbit.phase_deg is None else orbit.phase_deg,
        )

    def weather(self, at_earth: NDArray[np.float64]) -> NDArray[np.float64]:
        """The site's percentile at these times: the process on a grid per site, each value held for a step.

        Links to one site thus have the same weather, however far their spacecraft are.
        """
        steps = np.floor(at_earth / STEP_S).astype(np.int64)
        grid: NDArray[np.float64] = STEP_S * np.arange(int(steps.max()) + 1, dtype=np.float64)
        return weather_cd(self.path.terminal.site, grid, self.seed)[steps]


def inside(times: NDArray[np.float64], windows: Iterable[tuple[float, float]]) -> NDArray[np.bool_]:
    """Which times are in one of the windows ``[from, to)``, which are sorted and do not overlap."""
    edges = np.array([edge for window in windows for edge in window])
    return np.asarray(np.searchsorted(edges, times, side="right") % 2 == 1)
