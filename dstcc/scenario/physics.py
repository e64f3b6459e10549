"""The physics of a link for the engine: profiles, light times between bodies, contact plans, codes.

A key of the scenario takes precedence over a profile and a contact plan. The rate and the delay of a plan are used if
no profile gives them; the contacts of a plan replace a profile's windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from math import log10
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.engine.config import FrameSchedule
from dstcc.engine.config import Loss as EngineLoss
from dstcc.errors import InputError

from .fields import MAX_TIME_S, BodyPair, broken, ns

if TYPE_CHECKING:
    from dstcc_channels.contacts import Plan
    from dstcc_channels.profiles import Profile
    from dstcc_channels.realise import LossSchedule, Realisation
    from numpy.typing import NDArray

    from .model import About, Link, Scenario

ROW_S = 600.0
"""Step between rows of a light time: the cubic between them is within a nanosecond for any pair of planets."""
MAX_ROWS = 50_000
"""A year at ten minutes per row; longer runs have wider steps, and the spline stays within microseconds."""
Outages = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class DelayColumns:
    """A delay over time, in the engine's form."""

    t_ns: tuple[int, ...]
    delay_ns: tuple[int, ...]
    slope: tuple[float, ...] = ()


@dataclass(frozen=True)
class Physics:
    """The values from a link's profile, bodies and contact plan; ``None`` where they give none."""

    delay: DelayColumns | None = None
    rate_bps: float | None = None
    up_rate_bps: float | None = None
    loss: EngineLoss | None = None
    up_loss: EngineLoss | None = None
    outages: Outages | None = None
    up_outages: Outages | None = None
    notes: tuple[str, ...] = ()


def physics(link: Link, about: About, seed: int) -> Physics:
    """Resolve one link of a scenario under a seed."""
    properties = Physics()
    if link.contacts is not None:
        properties = _of_plan(link, about)
    if link.profile is not None and profile_of(link.profile).kind == "physical":
        start, duration_s = _when(about)
        realisation = _realised(link.profile, start, duration_s, seed)
        properties = Physics(
            delay=curve(realisation.delay_t_s, realisation.delay_s),
            rate_bps=realisation.rate_bps,
            up_rate_bps=realisation.up_rate_bps,
            loss=_schedule(realisation.down, _code_of(link.profile, up=False)),
            up_loss=_schedule(realisation.up, _code_of(link.profile, up=True)),
            outages=properties.outages if link.contacts else _windows(realisation.outages_s),
            up_outages=properties.up_outages if link.contacts else _windows(realisation.up_outages_s),
            notes=tuple(f"link {link.name}: {note}" for note in realisation.notes),
        )
    if isinstance(link.delay_s, BodyPair):
        properties = replace(properties, delay=_between(link.delay_s, *_when(about)))
    return properties


def at_rate(loss: EngineLoss, planned_bps: float, given_bps: float) -> EngineLoss:
    """A profile's frame loss at another rate: the energy per bit is proportional to the duration of a bit."""
    if loss.frames is None or given_bps == planned_bps:
        return loss
    shift_db = 10 * log10(planned_bps / given_bps)
    return replace(loss, frames=replace(loss.frames, ebn0_db=loss.frames.ebn0_db + shift_db))


def coded_loss(name: str, ebn0_db: float) -> EngineLoss:
    """A code at a constant Eb/N0: whole frames, or (``uncoded``) independent bits."""
    from dstcc_channels.codes import UNCODED, code

    known = code(name)
    if name == UNCODED:
        return EngineLoss("ber", rate=float(known.frame_error_rate(ebn0_db)))
    grid, log10_fer = known.curve()
    return EngineLoss(
        "frames",
        frames=FrameSchedule(
            frame_bits=known.frame_bits,
            t_ns=np.zeros(1, dtype=np.int64),
            ebn0_db=np.array([ebn0_db]),
            scintillation_index=np.zeros(1),
            coherence_ns=ns(1.0),
            curve_from_db=float(grid[0]),
            curve_step_db=float(grid[1] - grid[0]),
            log10_fer=log10_fer,
            code=name,
        ),
    )


def clamped(name: str, ebn0_db: float) -> str | None:
    """A note on the value used for an Eb/N0 outside a code's table; ``None`` inside."""
    from dstcc_channels.codes import code

    return code(name).outside(ebn0_db)


@lru_cache(maxsize=64)
def profile_of(name_or_path: str) -> Profile:
    """A profile, read once."""
    from dstcc_channels.profiles import load_profile

    return load_profile(name_or_path)


def abstract_keys(name_or_path: object) -> dict[str, Any]:
    """The keys of ``[[link]]`` in an abstract profile; none for a physical one."""
    if not isinstance(name_or_path, str):
        return {}
    with _named_by_key("profile"):
        return dict(profile_of(name_or_path).link or {})


def sun_earth_probe_deg(link: Link, about: About, t_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The angle between the Sun and a link's far end, as seen from the Earth, of what leaves it at ``t_s``, in degrees.

    ``None`` where the scenario does not say where that end is, or where both ends are elsewhere.
    """
    from dstcc_channels import geometry

    path = profile_of(link.profile).path if link.profile is not None else None
    if path is not None:
        body, ephemeris = path.body, path.ephemeris
    elif isinstance(link.delay_s, BodyPair) and "earth" in link.delay_s.bodies:
        body = next(name for name in link.delay_s.bodies if name != "earth")
        ephemeris = link.delay_s.ephemeris
    else:
        return None
    assert about.start is not None  # held by check
    light_s = geometry.light_time_s(body, "earth", about.start, t_s, ephemeris=ephemeris, sent=True)
    angle = geometry.sun_earth_probe_deg(body, about.start, t_s + light_s, ephemeris=ephemeris)
    return np.asarray(angle, dtype=np.float64)


def check(scenario: Scenario) -> None:
    """Raise pydantic's error for links that could not be drawn."""
    about = scenario.scenario
    for i, link in enumerate(scenario.link):
        physical = link.profile is not None and profile_of(link.profile).kind == "physical"
        for key, needed in (("profile", physical), ("delay_s", isinstance(link.delay_s, BodyPair))):
            for what, value in (("start", about.start), ("duration_s", about.duration_s)):
                if needed and value is None:
                    raise broken(f"needs {what} in [scenario]", key=f"link.{i}.{key}")
        if link.contacts is not None:
            with _named_by_key(f"link.{i}.contacts"):
                _of_plan(link, about)
        with _named_by_key(f"link.{i}.{'profile' if physical else 'delay_s'}"):
            if physical or isinstance(link.delay_s, BodyPair):
                physics(link, about, scenario.run.seed)


@contextmanager
def _named_by_key(key: str) -> Iterator[None]:
    """Turn an input error into one that names its key."""
    try:
        yield
    except InputError as error:
        raise broken(str(error), key=key) from None


def curve(t_s: NDArray[np.float64], delay_s: NDArray[np.float64]) -> DelayColumns:
    """The spline through a delay's rows: its values and slopes at the rows."""
    from scipy.interpolate import CubicSpline

    slopes = CubicSpline(t_s, delay_s)(t_s, 1)
    return DelayColumns(
        tuple(map(ns, t_s.tolist())), tuple(map(ns, delay_s.tolist())), tuple(slopes.tolist())
    )


def _when(about: About) -> tuple[datetime, float]:
    assert about.start is not None and about.duration_s is not None  # held by check
    return about.start, about.duration_s


@lru_cache(maxsize=64)
def _realised(name_or_path: str, start: datetime, duration_s: float, seed: int) -> Realisation:
    """A physical profile realised for a run; cached, as it is the same for every algorithm of a seed."""
    from dstcc_channels.realise import realise

    return realise(profile_of(name_or_path), start, duration_s, seed)


@lru_cache(maxsize=64)
def _between(pair: BodyPair, start: datetime, duration_s: float) -> DelayColumns:
    from dstcc_channels.geometry import light_time_s

    sender, receiver = pair.bodies if pair.bodies[0] != "earth" else pair.bodies[::-1]
    rows = min(int(np.ceil(duration_s / ROW_S)) + 1, MAX_ROWS)
    t_s = np.linspace(0.0, duration_s, max(rows, 3))
    return curve(t_s, light_time_s(sender, receiver, start, t_s, ephemeris=pair.ephemeris, sent=True))


def _of_plan(link: Link, about: About) -> Physics:
    """A contact plan's gaps as outages, and its rate and delay unless the link or its profile gives them."""
    assert link.contacts is not None and link.source is not None and link.destination is not None
    plan = _plan(link.contacts, about.start)
    ways = ((link.source, link.destination), (link.destination, link.source))
    down, up = (_windows(plan.outages(*way, MAX_TIME_S)) for way in ways)
    bare = link.profile is None
    rates = [
        plan.rate_bps(*way) if bare and given is None else None
        for way, given in zip(ways, (link.rate_bps, link.up_rate_bps), strict=True)
    ]
    delay = None
    if bare and link.delay_s is None:
        rows = plan.delay_table(*ways[0])
        delay = DelayColumns(tuple(ns(t) for t, _ in rows), tuple(ns(delay) for _, delay in rows))
    return Physics(delay=delay, rate_bps=rates[0], up_rate_bps=rates[1], outages=down, up_outages=up)


@lru_cache(maxsize=16)
def _plan(path: str, start: datetime | None) -> Plan:
    from dstcc_channels.contacts import read_plan

    return read_plan(path, start)


def _windows(windows: Any) -> Outages:
    """Windows in whole nanoseconds, without those that become empty."""
    rounded = ((ns(start), ns(end)) for start, end in windows)
    return tuple((start, end) for start, end in rounded if end > start)


def _code_of(name_or_path: str, *, up: bool) -> str:
    way = profile_of(name_or_path).up if up else profile_of(name_or_path).down
    return str(getattr(way, "code", ""))


def _schedule(loss: LossSchedule, name: str) -> EngineLoss:
    if loss.kind == "none":
        return EngineLoss()
    return EngineLoss(
        "frames",
        frames=FrameSchedule(
            frame_bits=loss.frame_bits,
            t_ns=np.round(loss.t_s * 1e9).astype(np.int64),
            ebn0_db=loss.ebn0_db,
            scintillation_index=loss.scintillation_index,
            coherence_ns=max(1, ns(loss.coherence_s)),
            curve_from_db=float(loss.curve_ebn0_db[0]),
            curve_step_db=float(loss.curve_ebn0_db[1] - loss.curve_ebn0_db[0]),
            log10_fer=loss.curve_log10_fer,
            code=name,
        ),
    )
